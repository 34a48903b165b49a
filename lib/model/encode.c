/*
 * encode: events as a stream again. What the families do alike: what is remembered from one event
 * to the next, and the frame around each.
 */
#include "model/encode.h"

static const struct encoder_family *const families[] = {
	[MODEL_RESPONSES] = &encode_responses,
	[MODEL_CHAT] = &encode_chat,
	[MODEL_MESSAGES] = &encode_messages,
};

struct model_encoder *model_encoder_new(enum model_family f)
{
	struct model_encoder *e = xcalloc(1, sizeof(*e));

	e->family = families[f];
	e->usage = (struct model_usage){-1, -1, -1, -1, -1, -1};
	e->output.max = HELD_MAX_BYTES;
	keep_str(&e->id, STR(""));
	keep_str(&e->model, STR(""));
	return e;
}

void model_encoder_free(struct model_encoder *e)
{
	if (!e)
		return;
	free((char *)e->id.p);
	free((char *)e->model.p);
	free((char *)e->call_id.p);
	free((char *)e->name.p);
	free((char *)e->stop_text.p);
	buf_release(&e->output);
	free(e);
}

void put_raw_line(struct json_out *j, const char *name, struct str text)
{
	_cleanup_(mem) char *line = xstrndup(text.p, text.len);

	for (size_t i = 0; i < text.len; i++) {
		if (line[i] == '\n' || line[i] == '\r')
			line[i] = ' '; /* in a string they would be escaped */
	}
	json_put_raw(j, name, (struct str){line, text.len});
}

void encode_open(struct json_out *j, struct buf *to, const char *name)
{
	if (name) {
		(void)buf_puts(to, "event: "); /* here and below: a full buffer says so itself */
		(void)buf_puts(to, name);
		(void)buf_putc(to, '\n');
	}
	(void)buf_puts(to, "data: ");
	*j = (struct json_out)JSON_OUT(to);
	json_open(j, '{');
	if (name)
		json_put_cstr(j, "type", name);
}

void encode_close(struct json_out *j)
{
	json_close(j, '}');
	(void)buf_puts(j->to, "\n\n");
}

void encode_count(struct json_out *j, const char *name, int64_t count)
{
	json_put_i64(j, name, count > 0 ? count : 0);
}

static void encode_start(struct model_encoder *e, const struct model_event *ev, struct buf *to)
{
	keep_str(&e->id, ev->text.p ? ev->text : STR(""));
	keep_str(&e->model, ev->name.p ? ev->name : STR(""));
	if (e->family->start)
		e->family->start(e, to);
}

static void encode_block(struct model_encoder *e, const struct model_event *ev, struct buf *to)
{
	e->sort = ev->sort;
	e->refused |= ev->sort == MODEL_REFUSAL;
	e->called |= ev->sort == MODEL_CALL;
	e->written = false;
	if (ev->sort == MODEL_CALL) {
		keep_str(&e->call_id, ev->call_id);
		keep_str(&e->name, ev->name);
	}
	e->family->block(e, to);
}

void model_encode(struct model_encoder *e, const struct model_event *ev, struct buf *to)
{
	const struct encoder_family *f = e->family;

	switch (ev->kind) {
	case MODEL_EV_START:
		encode_start(e, ev, to);
		break;
	case MODEL_EV_BLOCK:
		encode_block(e, ev, to);
		break;
	case MODEL_EV_DELTA:
		f->delta(e, ev->text, to);
		break;
	case MODEL_EV_SIGNATURE:
		if (f->signature)
			f->signature(e, ev->text, to);
		break;
	case MODEL_EV_BLOCK_END:
		f->block_end(e, ev->text.p ? ev->text : STR(""), ev->item, to);
		break;
	case MODEL_EV_USAGE:
		e->usage = ev->usage;
		e->counted = true;
		if (f->usage)
			f->usage(e, to);
		break;
	case MODEL_EV_STOP:
		e->stop = ev->stop;
		if (ev->text.p)
			keep_str(&e->stop_text, ev->text);
		break;
	case MODEL_EV_END:
		f->end(e, to);
		break;
	case MODEL_EV_FAULT:
		f->fault(e, ev, to);
		break;
	case MODEL_EV_KEEPALIVE:
		f->keepalive(e, to);
		break;
	}
}
