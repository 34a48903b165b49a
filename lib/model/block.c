/*
 * block: the queue of a reply's blocks, and every event that is told. One block is open at a time;
 * what comes for a later one waits in it.
 */
#include "model/internal.h"

static void emit(struct model_decoder *d, const struct model_event *e)
{
	d->told++;
	d->on(d->arg, e);
}

/* What every event has where it says nothing else. */
static struct model_event event_of(const struct model_decoder *d, enum model_event_kind kind)
{
	return (struct model_event){.kind = kind, .usage = d->usage, .retry_ms = -1};
}

void keep_str(struct str *to, struct str from)
{
	free((char *)to->p);
	*to = (struct str){xstrndup(from.p, from.len), from.len};
}

static void block_free(struct block *b)
{
	free((char *)b->call_id.p);
	free((char *)b->name.p);
	buf_release(&b->text);
	buf_release(&b->signature);
	buf_release(&b->item);
	buf_release(&b->aside);
	free(b);
}

void model_blocks_release(struct model_decoder *d)
{
	struct block *next;

	for (struct block *b = d->head; b; b = next) {
		next = b->next;
		block_free(b);
	}
	d->head = NULL;
	for (size_t i = 0; i < d->call_id_count; i++)
		free((char *)d->call_ids[i].p);
	free(d->call_ids);
	d->call_ids = NULL;
	d->call_id_count = 0;
}

struct block *block_last(const struct model_decoder *d)
{
	struct block *b = d->head;

	while (b && b->next)
		b = b->next;
	return b;
}

struct block *block_add(struct model_decoder *d, enum model_block sort, int64_t key, int64_t order,
	struct error *err)
{
	struct block **at = &d->head;
	struct block *b;

	if (d->block_count == MODEL_BLOCKS_MAX) {
		(void)error_set(
			err, &MODEL_LIMIT, "a reply has more than %d blocks", MODEL_BLOCKS_MAX);
		return NULL;
	}
	d->block_count++;
	b = xcalloc(1, sizeof(*b));
	b->key = key;
	b->order = order;
	b->sort = sort;
	b->part = -1;
	b->text.max = b->signature.max = b->item.max = b->aside.max = HELD_MAX_BYTES;
	while (*at && ((*at)->told || (*at)->order <= order))
		at = &(*at)->next;
	b->next = *at;
	*at = b;
	return b;
}

static struct model_event event_of_block(
	const struct model_decoder *d, const struct block *b, enum model_event_kind kind)
{
	struct model_event e = event_of(d, kind);

	e.index = d->next_index;
	e.sort = b->sort;
	e.call_id = b->call_id;
	e.name = b->name;
	return e;
}

static void tell_text(struct model_decoder *d, const struct block *b, struct str text)
{
	struct model_event e = event_of_block(d, b, MODEL_EV_DELTA);

	e.text = text;
	emit(d, &e);
}

static int remember_call(struct model_decoder *d, const struct block *b, struct error *err)
{
	struct str *slot;

	if (b->call_id.len == 0 || b->name.len == 0)
		return error_set(err, &MODEL_STREAM, "a call without an id or a name");
	for (size_t i = 0; i < d->call_id_count; i++) {
		if (str_eq(d->call_ids[i], b->call_id))
			return error_set(err, &MODEL_STREAM, "two calls of one id");
	}
	d->call_ids = xrealloc(d->call_ids, d->call_id_count + 1, sizeof(*d->call_ids));
	slot = &d->call_ids[d->call_id_count++];
	*slot = (struct str){NULL, 0};
	keep_str(slot, b->call_id);
	return 0;
}

static int tell_begin(struct model_decoder *d, struct block *b, struct error *err)
{
	struct model_event e;

	reply_start(d, STR(""), STR(""));
	if (b->sort == MODEL_CALL && remember_call(d, b, err) < 0)
		return -1;
	d->called |= b->sort == MODEL_CALL;
	d->refused |= b->sort == MODEL_REFUSAL;
	e = event_of_block(d, b, MODEL_EV_BLOCK);
	b->told = true;
	emit(d, &e);
	if (b->text.len > 0)
		tell_text(d, b, buf_str(&b->text));
	return 0;
}

static void tell_over(struct model_decoder *d, const struct block *b)
{
	struct model_event e = event_of_block(d, b, MODEL_EV_SIGNATURE);

	if (b->signature.len > 0) {
		e.text = buf_str(&b->signature);
		emit(d, &e);
	}
	e.kind = MODEL_EV_BLOCK_END;
	e.text = buf_str(&b->text);
	if (b->item.len > 0)
		e.item = buf_str(&b->item);
	emit(d, &e);
	d->next_index++;
}

/* Tells what can be told now, from the front of the queue. */
static int advance(struct model_decoder *d, struct error *err)
{
	struct block *b;

	while ((b = d->head)) {
		if (!b->ready)
			return 0;
		if (!b->told && tell_begin(d, b, err) < 0)
			return -1;
		if (!b->over)
			return 0;
		tell_over(d, b);
		d->head = b->next;
		block_free(b);
	}
	return 0;
}

int block_ready(struct model_decoder *d, struct block *b, struct error *err)
{
	b->ready = true;
	return advance(d, err);
}

int block_put(struct model_decoder *d, struct block *b, struct str text, struct error *err)
{
	if (text.len == 0)
		return 0;
	if (buf_put_str(&b->text, text) < 0)
		return error_set(
			err, &MODEL_LIMIT, "a block is longer than %d bytes", HELD_MAX_BYTES);
	if (b->told)
		tell_text(d, b, text);
	return 0;
}

int block_end(struct model_decoder *d, struct block *b, struct error *err)
{
	must(b->ready);
	if (b->text.full || b->signature.full || b->item.full || b->aside.full)
		return error_set(
			err, &MODEL_LIMIT, "a block is longer than %d bytes", HELD_MAX_BYTES);
	if (b->sort == MODEL_CALL && str_trim(buf_str(&b->text)).len == 0 &&
		block_put(d, b, STR("{}"), err) < 0)
		return -1;
	b->over = true;
	return advance(d, err);
}

int block_drop(struct model_decoder *d, struct block *b, struct error *err)
{
	struct block **at = &d->head;

	must(!b->told);
	while (*at != b)
		at = &(*at)->next;
	*at = b->next;
	block_free(b);
	return advance(d, err);
}

/* FNV-1a: any number that the id alone decides will do. */
static uint64_t hash_of(struct str s)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < s.len; i++)
		h = (h ^ (unsigned char)s.p[i]) * UINT64_C(0x100000001b3);
	return h;
}

void reply_start(struct model_decoder *d, struct str id, struct str model)
{
	struct model_event e = event_of(d, MODEL_EV_START);

	if (d->started)
		return;
	d->started = true;
	d->id_seed = hash_of(id);
	e.text = id.p ? id : STR("");
	e.name = model.p ? model : STR("");
	emit(d, &e);
}

void reply_usage(struct model_decoder *d)
{
	struct model_event e = event_of(d, MODEL_EV_USAGE);

	if (!d->usage_news)
		return;
	d->usage_news = false;
	emit(d, &e);
}

/* What the wire calls an end is a call for tools when there are calls; a call for tools without any
 * is an end. */
static enum model_stop stop_of(const struct model_decoder *d, enum model_stop stop)
{
	if (stop == MODEL_STOP_CALLS && !d->called)
		stop = MODEL_STOP_END;
	if (stop == MODEL_STOP_END && d->called)
		return MODEL_STOP_CALLS;
	if (stop == MODEL_STOP_END && d->refused)
		return MODEL_STOP_REFUSAL;
	return stop;
}

void reply_end(struct model_decoder *d, enum model_stop stop, struct str stop_text)
{
	struct model_event e = event_of(d, MODEL_EV_STOP);

	must(!d->head);
	reply_start(d, STR(""), STR(""));
	reply_usage(d);
	e.stop = stop_of(d, stop);
	e.text = stop_text.len > 0 ? stop_text : (struct str){NULL, 0};
	emit(d, &e);
	e = event_of(d, MODEL_EV_END);
	d->over = true;
	emit(d, &e);
}

void reply_fault(struct model_decoder *d, const struct json *root, int status)
{
	struct model_event e = event_of(d, MODEL_EV_FAULT);
	struct fault f;

	reply_usage(d);
	fault_read(root, status, &f);
	e.fault = f.fault;
	e.name = f.name;
	e.text = f.text;
	e.retry_ms = f.retry_ms;
	d->over = true;
	emit(d, &e);
}

void reply_fault_named(
	struct model_decoder *d, enum model_fault fault, struct str name, struct str text)
{
	struct model_event e = event_of(d, MODEL_EV_FAULT);

	reply_usage(d);
	e.fault = fault;
	e.name = name;
	e.text = text;
	d->over = true;
	emit(d, &e);
}

void reply_keepalive(struct model_decoder *d)
{
	const struct model_event e = event_of(d, MODEL_EV_KEEPALIVE);

	emit(d, &e);
}
