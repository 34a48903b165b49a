/* artifact: pages of what a command wrote. */
#include <stdlib.h>

#include "agent/serve/op.h"

static const struct error_kind STREAM_REQUIRED = {"artifact_stream_required", ERROR_CLASS_USAGE};

enum {
	PAGE_LEAST_BYTES = 4,    /* agent spec 2.3: any character of UTF-8 fits */
	PAGE_MOST_BYTES = 65536, /* agent spec 2.3 */
	/* ours: all streams in one reply stay below a line's 1 MiB, every byte escaped to six */
	EACH_BYTES = 32768,
};

struct artifact_args {
	struct str bot, call_id, stream;
	int64_t turn, offset, limit;
};
enum artifact_field { A_BOT, A_TURN, A_CALL, A_STREAM, A_OFFSET, A_LIMIT };
static const struct json_field artifact_fields[] = {
	[A_BOT] = JSON_STR(struct artifact_args, bot, .required = true),
	[A_TURN] = JSON_I64(struct artifact_args, turn, .required = true, .min = 1),
	[A_CALL] = JSON_STR(struct artifact_args, call_id, .required = true, .min = 1,
		.max = STORE_CALL_NAME_MAX_BYTES),
	[A_STREAM] = JSON_STR(struct artifact_args, stream, .min = 1, .max = 64),
	[A_OFFSET] = JSON_I64(struct artifact_args, offset),
	[A_LIMIT] = JSON_I64(
		struct artifact_args, limit, .min = PAGE_LEAST_BYTES, .max = PAGE_MOST_BYTES),
};

struct artifact_work {
	struct str_list streams; /* one, or all that there are */
	struct store_page *pages;
	bool all;
};

static bool given(const struct request *r, int field)
{
	return (r->seen >> field & 1) != 0;
}

static int run_artifact(struct store_view *v, struct request *r, struct error *err)
{
	const struct artifact_args *args = r->args;
	struct artifact_work *w = r->work;
	struct store_artifact_ref ref = {.turn = args->turn, .call_id = args->call_id};
	int64_t limit = w->all ? EACH_BYTES : args->limit ? args->limit : PAGE_MOST_BYTES;
	struct bot b;

	if (store_bot_get(v, args->bot, &r->arena, &b, err) < 0)
		return -1;
	ref.bot = b.id;
	if (w->all && store_artifact_streams(v, &ref, &r->arena, &w->streams, err) < 0)
		return -1;
	w->pages = arena_alloc(&r->arena, w->streams.count * sizeof(*w->pages));
	for (size_t i = 0; i < w->streams.count; i++) {
		ref.stream = w->streams.items[i];
		if (store_artifact_page(
			    v, &ref, args->offset, limit, &r->arena, &w->pages[i], err) < 0)
			return -1;
	}
	return 0;
}

/* Without a character that was cut at its end: the next page begins with it. */
static struct str whole_characters(struct str s)
{
	size_t back = 0;

	while (back < 3 && back < s.len && ((unsigned char)s.p[s.len - 1 - back] & 0xc0) == 0x80)
		back++;
	if (back < s.len) {
		unsigned char lead = (unsigned char)s.p[s.len - 1 - back];
		size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;

		if (size > back + 1 && s.len > back + 1)
			s.len -= back + 1;
	}
	return s;
}

static void put_page(
	struct json_out *j, const char *name, int64_t offset, const struct store_page *p)
{
	struct str text = p->bytes;
	int64_t next;

	if (offset + (int64_t)text.len < p->total)
		text = whole_characters(text);
	next = offset + (int64_t)text.len;
	json_open_key(j, name, '{');
	json_put_str(j, "text", text);
	json_put_i64(j, "next_offset", next);
	json_put_i64(j, "total_bytes", p->total);
	json_put_bool(j, "done", next >= p->total);
	if (p->running)
		json_put_bool(j, "running", true);
	json_close(j, '}');
}

static void answer_artifact(struct request *r)
{
	const struct artifact_args *args = r->args;
	const struct artifact_work *w = r->work;
	struct json_out j = request_begin(r);

	if (!w->all) {
		put_page(&j, "result", args->offset, &w->pages[0]);
		request_end(r, &j);
		return;
	}
	json_open_key(&j, "result", '{');
	json_open_key(&j, "streams", '{');
	for (size_t i = 0; i < w->streams.count; i++) {
		_cleanup_(mem) char *name = xstrndup(
			w->streams.items[i].p, w->streams.items[i].len);

		put_page(&j, name, 0, &w->pages[i]);
	}
	json_close(&j, '}');
	json_close(&j, '}');
	request_end(r, &j);
}

static int prepare(struct request *r, const struct artifact_args *args, struct artifact_work *w,
	struct error *err)
{
	if (bot_check_name(args->bot, "bot", err) < 0)
		return -1;
	w->all = !given(r, A_STREAM);
	if (w->all && (given(r, A_OFFSET) || given(r, A_LIMIT)))
		return error_set(
			err, &STREAM_REQUIRED, "stream: offset and limit are those of one stream");
	if (!w->all) {
		w->streams.items = arena_alloc(&r->arena, sizeof(struct str));
		w->streams.items[0] = args->stream;
		w->streams.count = 1;
	}
	return 0;
}

static void op_artifact(struct request *r, const void *raw)
{
	struct artifact_work *w = arena_alloc(&r->arena, sizeof(*w));
	struct error err = ERROR_INIT;

	*w = (struct artifact_work){.pages = NULL};
	r->work = w;
	if (prepare(r, raw, w, &err) < 0)
		request_fail(r, &err);
	else
		op_read(r, run_artifact, answer_artifact);
}

const struct request_row artifact_requests[] = {
	{"artifact",                  artifact_fields, ARRAY_LEN(artifact_fields), sizeof(struct artifact_args),
         op_artifact, REQUEST_READS, false},
	{.op = NULL},
};
