/*
 * history: pages of one turn of the bot's own conversation (spec 5.7), as JSON Lines, for turns
 * that are no longer in the context.
 *
 * It runs in the daemon, out of the store, and no sandbox confines it (AG-141). A worker drops what
 * is for the provider alone, redacts and cuts: redacted before it is cut, so that no page's border
 * splits a secret.
 */
#include "agent/tool/entries.h"
#include "agent/tool/internal.h"

static const struct error_kind HISTORY_PAGE = {"invalid_history_page", ERROR_CLASS_USAGE};
static const struct error_kind HISTORY_EXHAUSTED = {"history_context_exhausted", ERROR_CLASS_LIMIT};

enum {
	PAGE_MIN_BYTES = 4, /* spec 5.7: the longest character */
	PAGE_MAX_SHOWN_BYTES = 65536,
	PAGE_DEFAULT_BYTES = 16384, /* ours */
	/* ours: a turn as large as the largest context, and redaction makes text grow a little */
	TURN_MAX_BYTES = 128 * 1024 * 1024,
	REPLY_MAX_BYTES = 8 * PAGE_MAX_SHOWN_BYTES, /* every byte of a page escaped */
};

struct history_args {
	int64_t turn, offset, limit;
};

static const struct json_field history_fields[] = {
	JSON_I64(struct history_args, turn, .required = true, .min = 1, .max = INT32_MAX),
	JSON_I64(struct history_args, offset, .max = INT32_MAX),
	JSON_I64(struct history_args, limit, .min = PAGE_MIN_BYTES, .max = PAGE_MAX_SHOWN_BYTES),
};

/* What the worker owns until it is back. */
struct history_run {
	struct tool_run run;
	const struct secret_set *secrets; /* the host's, as long as the daemon */
	struct arena arena;
	struct str_list items;
	struct history_args args;
	int64_t room_bytes;
	struct str output;
	struct error err;
	int rc;
};

static void history_release(struct tool_run *r)
{
	struct history_run *h = container_of(r, struct history_run, run);

	arena_release(&h->arena);
	free(h);
}

/* A member that only the provider reads. */
static const char hidden[] = "encrypted_content";

static void put_shown(struct json_out *j, const struct json *object)
{
	json_open(j, '{');
	json_for_each (member, object) {
		if (!str_is(member->key, hidden))
			json_put_member(j, member->key, member);
	}
	json_close(j, '}');
}

/* One line: the item, without what is hidden. */
static int put_item(struct history_run *h, struct str item, struct buf *to)
{
	_cleanup_(arena) struct arena scratch = {0};
	_cleanup_(buf) struct buf line = BUF_INIT(TURN_MAX_BYTES);
	struct json_out j = JSON_OUT(&line);
	const struct json *doc;

	if (str_find(item, STR(hidden), 0) >= 0 && json_parse(&scratch, item, &doc, NULL) == 0 &&
		doc->type == JSON_OBJECT) {
		put_shown(&j, doc);
		item = buf_str(&line);
	}
	return line.full || secret_redact(h->secrets, item, to) < 0 || buf_putc(to, '\n') < 0 ? -1
											      : 0;
}

/* Bytes that a text takes as a string of JSON. */
static size_t as_string_bytes(struct str text)
{
	_cleanup_(buf) struct buf b = BUF_INIT(6 * REPLY_MAX_BYTES + 2);
	struct json_out j = JSON_OUT(&b);

	json_put_str(&j, NULL, text);
	return b.len;
}

static void write_page(struct buf *to, struct str page, size_t at, size_t total)
{
	struct json_out j = JSON_OUT(to);

	json_open(&j, '{');
	json_put_str(&j, "text", page);
	json_put_u64(&j, "next_offset", at + page.len);
	json_put_u64(&j, "total_bytes", total);
	json_put_bool(&j, "done", at + page.len == total);
	json_close(&j, '}');
}

/* The bytes [offset, offset + limit) on whole characters. */
static int cut_page(struct history_run *h, struct str text, struct error *err)
{
	_cleanup_(buf) struct buf out = BUF_INIT(REPLY_MAX_BYTES);
	struct str page;
	size_t at, needs;

	if (h->args.offset > (int64_t)text.len)
		return error_set(err, &HISTORY_PAGE, "offset: the turn has %zu bytes", text.len);
	at = (size_t)h->args.offset;
	if (at < text.len && ((unsigned char)text.p[at] & 0xc0) == 0x80)
		return error_set(err, &HISTORY_PAGE, "offset: is in the middle of a character");
	page = str_cut((struct str){text.p + at, text.len - at}, (size_t)h->args.limit);
	write_page(&out, page, at, text.len);
	needs = as_string_bytes(buf_str(&out)); /* as the item of the result */
	if ((int64_t)needs > h->room_bytes)
		return error_set(err, &HISTORY_EXHAUSTED,
			"the page takes %zu bytes, and %lld are left of this turn's context", needs,
			(long long)h->room_bytes);
	h->output = (struct str){arena_strndup(&h->run.arena, out.data, out.len), out.len};
	return 0;
}

/* On a worker. */
static void work(void *arg)
{
	struct history_run *h = arg;
	_cleanup_(buf) struct buf text = BUF_INIT(TURN_MAX_BYTES);

	h->rc = 0;
	for (size_t i = 0; i < h->items.count && h->rc == 0; i++) {
		h->rc = put_item(h, h->items.items[i], &text);
		if (h->rc < 0)
			(void)error_set(
				&h->err, &ERROR_LIMIT, "the turn is over %d bytes", TURN_MAX_BYTES);
	}
	if (h->rc == 0)
		h->rc = cut_page(h, buf_str(&text), &h->err);
	arena_release(&h->arena);
}

static void worked(void *arg)
{
	struct history_run *h = arg;

	if (tool_run_back(&h->run))
		return;
	if (h->rc < 0)
		tool_run_fail(&h->run, &h->err);
	else
		tool_run_finish(&h->run, h->output, false);
}

static void got_items(
	void *run, const struct str_list *items, int64_t room_bytes, const struct error *err)
{
	struct history_run *h = run;

	if (tool_run_back(&h->run) || h->run.over)
		return;
	if (err) {
		tool_run_fail(&h->run, err);
		return;
	}
	h->items.items = arena_alloc(&h->arena, (items->count + 1) * sizeof(*items->items));
	for (size_t i = 0; i < items->count; i++)
		h->items.items[i] = (struct str){
			arena_strndup(&h->arena, items->items[i].p, items->items[i].len),
			items->items[i].len};
	h->items.count = items->count;
	h->room_bytes = room_bytes;
	h->run.busy = true;
	loop_work(h->run.context->host->loop, work, worked, h);
}

static int history_start(const struct tool_context *c, struct arena *a, const void *args,
	const struct tool_order *o, struct tool_run **ret, struct error *err)
{
	const struct history_args *in = args;
	struct history_run *h;

	(void)a;
	if (!c->host->history)
		return error_set(err, &GUARD_NOT_FOUND, "the history cannot be read here");
	h = xcalloc(1, sizeof(*h));
	tool_run_init(&h->run, c, o, history_release);
	h->secrets = c->host->secrets;
	h->args = *in;
	if (h->args.limit == 0)
		h->args.limit = PAGE_DEFAULT_BYTES;
	h->run.busy = true;
	c->host->history(c->host->history_arg, c->bot->id, in->turn, h, got_items);
	*ret = &h->run;
	return 0;
}

const struct tool tool_history = {
	.name = "history",
	.description =
		"Shows one earlier turn of this conversation, as JSON Lines of its messages, calls "
		"and results. Long turns come in pages: go on with next_offset until done.",
	.parameters = "{\"type\":\"object\",\"properties\":{"
		      "\"turn\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":2147483647,"
		      "\"description\":\"The turn's number.\"},"
		      "\"offset\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":2147483647,"
		      "\"description\":\"The byte to begin with; 0 when left out.\"},"
		      "\"limit\":{\"type\":\"integer\",\"minimum\":4,\"maximum\":65536,"
		      "\"description\":\"How many bytes at most; 16384 when left out.\"}"
		      "},\"required\":[\"turn\"],\"additionalProperties\":false}",
	.fields = history_fields,
	.field_count = ARRAY_LEN(history_fields),
	.args_size = sizeof(struct history_args),
	.start = history_start,
	.cancel = tool_run_cancel,
	.free = tool_run_free,
};
