/*
 * decode: what every family's decoder does alike: framing, limits, parsing, and the end.
 */
#include "model/internal.h"

const struct error_kind MODEL_STREAM = {"model_stream_invalid", ERROR_CLASS_IO};
const struct error_kind MODEL_CUT = {"model_stream_cut", ERROR_CLASS_IO};
const struct error_kind MODEL_MISMATCH = {"stream_terminal_mismatch", ERROR_CLASS_IO};
const struct error_kind MODEL_LIMIT = {"model_stream_limit", ERROR_CLASS_LIMIT};

static const struct dialect *const dialects[] = {
	[MODEL_RESPONSES] = &model_responses,
	[MODEL_CHAT] = &model_chat,
	[MODEL_MESSAGES] = &model_messages,
};

struct model_decoder *model_decoder_new(enum model_family f)
{
	struct model_decoder *d = xcalloc(1, sizeof(*d));

	d->dialect = dialects[f];
	d->usage = (struct model_usage){-1, -1, -1, -1, -1, -1};
	if (d->dialect->init)
		d->dialect->init(d);
	return d;
}

/* All memory but the decoder's own. */
static void release_all(struct model_decoder *d)
{
	model_sse_free(d->sse);
	d->sse = NULL;
	model_blocks_release(d);
	d->dialect->release(d);
}

void model_decoder_free(struct model_decoder *d)
{
	if (!d)
		return;
	release_all(d);
	free(d);
}

/* Tokens that were counted before the stream went wrong were spent. */
static int give_up(struct model_decoder *d)
{
	d->failed = true;
	reply_usage(d);
	release_all(d);
	return -1;
}

static int fail_again(struct error *err)
{
	return error_set(err, &MODEL_STREAM, "the stream had failed before");
}

static int parse(struct model_decoder *d, struct arena *a, struct str text,
	const struct json **ret_root, struct error *err)
{
	struct error why = ERROR_INIT;

	/* The parser's words may repeat a key of the document: they stay here. */
	if (json_parse(a, text, ret_root, &why) < 0) {
		if (error_is(&why, &JSON_LIMIT))
			return error_set(err, &MODEL_LIMIT,
				"event %llu has too many or too deep values",
				(unsigned long long)d->events);
		return error_set(err, &MODEL_STREAM, "event %llu is not JSON",
			(unsigned long long)d->events);
	}
	if ((*ret_root)->type != JSON_OBJECT)
		return error_set(err, &MODEL_STREAM, "event %llu is no JSON object",
			(unsigned long long)d->events);
	return 0;
}

static int take_message(
	struct model_decoder *d, struct str name, struct str text, struct error *err)
{
	_cleanup_(arena) struct arena a = {NULL};
	const struct json *root;
	struct str type;

	if (parse(d, &a, text, &root, err) < 0)
		return -1;
	type = json_str(json_get(root, "type"));
	if (type.len == 0 && !str_is(name, "message")) /* which is the name of those without */
		type = name;
	return d->dialect->event(d, type, root, err);
}

/* One event, or a comment. What tells nothing is a sign of life. */
static int on_event(void *arg, struct str name, struct str data, struct error *err)
{
	struct model_decoder *d = arg;
	const uint64_t told = d->told;
	int rc = 0;

	if (d->over)
		return 0;
	if (data.p)
		data = str_trim(data);
	d->events++;
	if (str_is(data, "[DONE]")) {
		if (d->dialect->done)
			rc = d->dialect->done(d, err);
	} else if (data.len > 0) {
		rc = take_message(d, name, data, err);
	}
	if (rc == 0 && d->told == told)
		reply_keepalive(d);
	return rc;
}

/* Counts n bytes; fewer are left of the limit when it returns less. */
static size_t count_bytes(struct model_decoder *d, size_t n)
{
	const size_t room = MODEL_STREAM_MAX_BYTES - d->bytes;

	if (n > room)
		n = room;
	d->bytes += n;
	return n;
}

static int over_limit(struct error *err)
{
	return error_set(
		err, &MODEL_LIMIT, "a reply is longer than %d bytes", MODEL_STREAM_MAX_BYTES);
}

int model_decode(
	struct model_decoder *d, struct str bytes, model_on_event on, void *arg, struct error *err)
{
	const size_t wanted = bytes.len;
	struct error why = ERROR_INIT;
	int rc;

	if (d->failed)
		return fail_again(err);
	if (d->over || bytes.len == 0)
		return 0;
	d->on = on;
	d->arg = arg;
	if (!d->sse)
		d->sse = model_sse_new(MODEL_FRAME_MAX_BYTES);
	bytes.len = count_bytes(d, bytes.len);
	rc = model_sse_feed(d->sse, bytes, on_event, d, &why);
	if (d->over) { /* what follows an end is not looked at, even if it came with it */
		release_all(d);
		return 0;
	}
	if (rc < 0) {
		if (err)
			*err = why;
		return give_up(d);
	}
	if (bytes.len < wanted) {
		(void)over_limit(err);
		return give_up(d);
	}
	return 0;
}

int model_decode_message(
	struct model_decoder *d, struct str json, model_on_event on, void *arg, struct error *err)
{
	if (d->failed)
		return fail_again(err);
	if (d->over)
		return 0;
	d->on = on;
	d->arg = arg;
	if (json.len > MODEL_FRAME_MAX_BYTES) {
		(void)error_set(err, &MODEL_LIMIT, "an event is longer than %d bytes",
			MODEL_FRAME_MAX_BYTES);
		return give_up(d);
	}
	if (count_bytes(d, json.len) < json.len) {
		(void)over_limit(err);
		return give_up(d);
	}
	if (on_event(d, STR(""), json.p ? json : STR(""), err) < 0)
		return give_up(d);
	if (d->over)
		release_all(d);
	return 0;
}

/* What the body's last bytes hold, then what its end means. */
static int finish(struct model_decoder *d, struct error *err)
{
	struct error why = ERROR_INIT;

	if (d->sse && model_sse_end(d->sse, on_event, d, &why) < 0) {
		/* An event without its end that cannot be read was cut. */
		if (!error_is(&why, &MODEL_STREAM)) {
			if (err)
				*err = why;
			return -1;
		}
	} else if (d->over || (d->dialect->end && d->dialect->end(d, &why) == 0)) {
		return 0;
	} else if (why.kind) {
		if (err)
			*err = why;
		return -1;
	}
	return error_set(err, &MODEL_CUT,
		"the stream ended before the reply did, after %llu events",
		(unsigned long long)d->events);
}

int model_decode_end(struct model_decoder *d, model_on_event on, void *arg, struct error *err)
{
	if (d->failed)
		return fail_again(err);
	if (d->over)
		return 0;
	d->on = on;
	d->arg = arg;
	if (finish(d, err) < 0)
		return give_up(d);
	release_all(d);
	return 0;
}
