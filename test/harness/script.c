/* The script of the loopback provider. */
#include "test/harness/script.h"

#include <string.h>

#include "mem/mem.h"
#include "table/table.h"

enum {
	LIST_MAX = 4096,
	DELAY_MAX_MS = 600 * 1000,
	CHUNK_MAX_BYTES = 1 << 20,
	TIMES_MAX = 1 << 20,
	MOMENT_MAX_S = 10 * 365 * 86400,
};

struct script {
	struct arena arena;
	struct table *conversations, *pages;
	struct script_settings settings;
};

static struct script_piece done_piece = {
	.text = {"done", 4},
          .times = 1
};
static const struct script_round done_round = {
	.say = {&done_piece, 1},
	.usage = {-1,           -1, -1, -1, -1, -1},
	.stop = -1,
	.fault = {.kind = FAULT_NONE},
};

/* Texts */

static int read_piece(const struct json *j, struct script_piece *ret, struct error *err)
{
	const struct json *repeat = json_get(j, "repeat"), *from = json_get(j, "from");

	*ret = (struct script_piece){.times = 1};
	if (j->type == JSON_STRING) {
		ret->text = j->text;
		return 0;
	}
	if (from && j->count == 1 && str_is(json_str(from), "user")) {
		ret->from = SCRIPT_USER;
		return 0;
	}
	if (from && j->count == 1 && str_is(json_str(from), "result")) {
		ret->from = SCRIPT_RESULT;
		return 0;
	}
	if (!repeat || j->count != 1 || repeat->type != JSON_ARRAY || repeat->count != 2 ||
		repeat->child->type != JSON_STRING ||
		json_i64(repeat->child->next, &ret->times) < 0)
		return error_set(err, &JSON_FIELD,
			"a text is a string, {\"repeat\":[STRING, N]}, {\"from\":\"user\"}, "
			"{\"from\":\"result\"}, or an array of these");
	ret->text = repeat->child->text;
	if (ret->times < 0 ||
		(ret->text.len > 0 && ret->times > SCRIPT_TEXT_MAX_BYTES / (int64_t)ret->text.len))
		return error_set(err, &JSON_FIELD, "repeat: over %d bytes", SCRIPT_TEXT_MAX_BYTES);
	return 0;
}

static int read_text(struct arena *a, const struct json *j, const char *name,
	struct script_text *ret, struct error *err)
{
	size_t count = 1, i = 0;

	if (!j)
		return 0;
	if (j->type == JSON_ARRAY)
		count = j->count;
	ret->pieces = arena_alloc(a, (count + 1) * sizeof(*ret->pieces));
	ret->count = count ? count : 1;
	ret->pieces[0] = (struct script_piece){.text = STR("")};
	if (j->type != JSON_ARRAY)
		return read_piece(j, &ret->pieces[0], err) < 0 ? error_prefix(err, "%s", name) : 0;
	json_for_each (item, j) {
		if (read_piece(item, &ret->pieces[i++], err) < 0)
			return error_prefix(err, "%s", name);
	}
	return 0;
}

void script_put_text(
	struct buf *to, const struct script_text *t, struct str user, struct str result)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct script_piece *p = &t->pieces[i];
		struct str s = p->from == SCRIPT_USER     ? user
			       : p->from == SCRIPT_RESULT ? result
							  : p->text;

		for (int64_t n = 0; n < p->times; n++)
			(void)buf_put_str(to, s); /* full shows in the buffer */
	}
}

/* Lists and headers */

static int read_strings(struct arena *a, const struct json *j, const char *name,
	struct str_list *ret, struct error *err)
{
	size_t i = 0;

	if (!j)
		return 0;
	ret->items = arena_alloc(a, (j->count + 1) * sizeof(*ret->items));
	if (j->type == JSON_STRING) {
		ret->items[ret->count++] = j->text;
		return 0;
	}
	if (j->type != JSON_ARRAY || j->count > LIST_MAX)
		return error_set(err, &JSON_FIELD, "%s: is no list of strings", name);
	json_for_each (item, j) {
		if (item->type != JSON_STRING)
			return error_set(err, &JSON_FIELD, "%s[%zu]: is no string", name, i);
		ret->items[i++] = item->text;
	}
	ret->count = i;
	return 0;
}

static int read_header(
	struct arena *a, const struct json *j, struct script_header *ret, struct error *err)
{
	static const char *const moments[] = {"seconds", "unix", "http_date", "rfc3339", NULL};
	struct moment {
		int64_t after_s;
		int as;
	} m = {.as = 0};
	static const struct json_field fields[] = {
		JSON_I64(struct moment, after_s, .required = true, .min = -MOMENT_MAX_S,
			.max = MOMENT_MAX_S),
		JSON_ENUM(struct moment, as, moments, .required = true),
	};
	static const struct json_table table = {fields, ARRAY_LEN(fields), NULL, NULL};

	ret->name = j->key;
	if (j->type == JSON_STRING) {
		ret->value = j->text;
		return 0;
	}
	if (json_decode(a, j, &table, &m, NULL, err) < 0)
		return -1;
	ret->as = SCRIPT_SECONDS + (unsigned)m.as;
	ret->after_s = m.after_s;
	return 0;
}

static int read_headers(
	struct arena *a, const struct json *j, struct script_headers *ret, struct error *err)
{
	if (!j)
		return 0;
	if (j->type != JSON_OBJECT || j->count > LIST_MAX)
		return error_set(err, &JSON_FIELD, "headers: is no object");
	ret->items = arena_alloc(a, (j->count + 1) * sizeof(*ret->items));
	json_for_each (item, j) {
		if (read_header(a, item, &ret->items[ret->count++], err) < 0)
			return error_prefix(err, "headers." STR_FMT, STR_ARG(item->key));
	}
	return 0;
}

/* Faults */

static const char *const fault_names[] = {"status", "redirect", "html", "json", "empty_body",
	"empty_reply", "garbage", "length", "reset", "cut", "truncate", "silence", "endless",
	"error_event", "duplicate_ids", "empty_ids", "unknown", "usage_backwards", "invalid_utf8",
	"no_end", NULL};

struct fault_json {
	int kind, as;
	int64_t status, bytes, by;
	bool html;
	struct str code, message, body, location;
	const struct json *after;
};

static int read_after(const struct json *j, struct script_fault *f, struct error *err)
{
	if (!j)
		return 0;
	if (str_is(json_str(j), "head")) {
		f->after = SCRIPT_HEAD;
		return 0;
	}
	if (str_is(json_str(j), "call")) {
		f->after = SCRIPT_CALL;
		return 0;
	}
	f->after = SCRIPT_BYTES;
	if (json_i64(j, &f->after_bytes) < 0 || f->after_bytes < 0)
		return error_set(err, &JSON_FIELD, "after: is no number, \"head\" or \"call\"");
	return 0;
}

static int fault_by_name(struct str name, struct script_fault *f, struct error *err)
{
	for (int i = 0; fault_names[i]; i++) {
		if (str_is(name, fault_names[i])) {
			f->kind = (enum script_fault_kind)i;
			return 0;
		}
	}
	return error_set(err, &JSON_FIELD, "fault: there is no such kind");
}

static int fault_by_object(
	struct arena *a, const struct json *j, struct script_fault *f, struct error *err)
{
	static const char *const floods[] = {"deltas", "comments", "line", NULL};
	static const struct json_field fields[] = {
		JSON_ENUM(struct fault_json, kind, fault_names, .required = true),
		JSON_ENUM(struct fault_json, as, floods),
		JSON_I64(struct fault_json, status, .min = 200, .max = 599),
		JSON_I64(struct fault_json, bytes),
		JSON_I64(struct fault_json, by, .min = -(1 << 20), .max = 1 << 20),
		JSON_BOOL(struct fault_json, html),
		JSON_STR(struct fault_json, code),
		JSON_STR(struct fault_json, message),
		JSON_STR(struct fault_json, body),
		JSON_STR(struct fault_json, location),
		JSON_NODE(struct fault_json, after),
	};
	static const struct json_table table = {fields, ARRAY_LEN(fields), "fault", NULL};
	struct fault_json r = {.status = f->status, .by = f->by};

	if (json_decode(a, j, &table, &r, NULL, err) < 0)
		return -1;
	f->kind = (enum script_fault_kind)r.kind;
	f->as = (enum script_flood)r.as;
	f->status = r.status;
	f->bytes = r.bytes;
	f->by = r.by;
	f->html = r.html;
	f->code = r.code;
	f->message = r.message;
	f->body = r.body;
	f->location = r.location;
	return read_after(r.after, f, err) < 0 ? error_prefix(err, "fault") : 0;
}

static int read_fault(
	struct arena *a, const struct json *j, struct script_fault *f, struct error *err)
{
	*f = (struct script_fault){.kind = FAULT_NONE, .by = 10};
	if (!j)
		return 0;
	if (j->type == JSON_STRING)
		return fault_by_name(j->text, f, err);
	if (j->type == JSON_NUMBER) {
		f->kind = FAULT_STATUS;
		if (json_i64(j, &f->status) < 0 || f->status < 200 || f->status > 599)
			return error_set(err, &JSON_FIELD, "fault: is no status");
		return 0;
	}
	return fault_by_object(a, j, f, err);
}

/* Rounds */

static int read_call(
	struct arena *a, const struct json *j, struct script_call *ret, struct error *err)
{
	struct call_json {
		struct str tool, id;
		const struct json *arguments, *raw;
	} r = {.arguments = NULL};
	static const struct json_field fields[] = {
		JSON_STR(struct call_json, tool, .required = true),
		JSON_STR(struct call_json, id),
		JSON_NODE(struct call_json, arguments),
		JSON_NODE(struct call_json, raw),
	};
	static const struct json_table table = {fields, ARRAY_LEN(fields), NULL, NULL};
	_cleanup_(buf) struct buf text = BUF_INIT(SCRIPT_FILE_MAX_BYTES);
	struct json_out out = JSON_OUT(&text);

	if (json_decode(a, j, &table, &r, NULL, err) < 0)
		return -1;
	if (r.arguments && r.raw)
		return error_set(err, &JSON_FIELD, "raw: stands beside arguments");
	ret->tool = r.tool;
	ret->id = r.id;
	if (r.arguments)
		json_put(&out, NULL, r.arguments);
	else
		(void)buf_puts(&text, "{}"); /* fits */
	ret->arguments = (struct str){arena_strndup(a, text.data, text.len), text.len};
	return read_text(a, r.raw, "raw", &ret->raw, err);
}

static int read_calls(
	struct arena *a, const struct json *j, struct script_round *r, struct error *err)
{
	if (!j)
		return 0;
	if (j->type != JSON_ARRAY || j->count > MODEL_BLOCKS_MAX)
		return error_set(err, &JSON_FIELD, "calls: is no list of at most %d calls",
			MODEL_BLOCKS_MAX);
	r->calls = arena_alloc(a, (j->count + 1) * sizeof(*r->calls));
	json_for_each (item, j) {
		if (read_call(a, item, &r->calls[r->call_count++], err) < 0)
			return error_prefix(err, "calls[%zu]", r->call_count - 1);
	}
	return 0;
}

static int read_usage(
	struct arena *a, const struct json *j, struct model_usage *u, struct error *err)
{
	static const struct json_field fields[] = {
		JSON_I64(struct model_usage, input),
		JSON_I64(struct model_usage, output),
		JSON_I64(struct model_usage, cached),
		JSON_I64(struct model_usage, cache_write),
		JSON_I64(struct model_usage, cache_write_1h),
		JSON_I64(struct model_usage, reasoning),
	};
	static const struct json_table table = {fields, ARRAY_LEN(fields), "usage", NULL};

	*u = (struct model_usage){-1, -1, -1, -1, -1, -1};
	return j ? json_decode(a, j, &table, u, NULL, err) : 0;
}

static int read_expect(
	struct arena *a, const struct json *j, struct script_expect *ret, struct error *err)
{
	struct expect_json {
		const struct json *contains, *lacks, *headers;
	} r = {.contains = NULL};
	static const struct json_field fields[] = {
		JSON_NODE(struct expect_json, contains),
		JSON_NODE(struct expect_json, lacks),
		JSON_NODE(struct expect_json, headers),
	};
	static const struct json_table table = {fields, ARRAY_LEN(fields), "expect", NULL};

	if (!j)
		return 0;
	if (json_decode(a, j, &table, &r, NULL, err) < 0)
		return -1;
	if (read_strings(a, r.contains, "contains", &ret->contains, err) < 0 ||
		read_strings(a, r.lacks, "lacks", &ret->lacks, err) < 0 ||
		read_headers(a, r.headers, &ret->headers, err) < 0)
		return error_prefix(err, "expect");
	return 0;
}

struct round_json {
	const struct json *say, *think, *refuse, *calls, *usage, *fault, *headers, *expect, *body;
	int64_t delay_ms, chunk_bytes, chunk_delay_ms, times, status;
	int stop;
};

static int read_round_fields(
	struct arena *a, const struct json *j, bool page, struct round_json *ret, struct error *err)
{
	static const char *const stops[] = {
		"end", "calls", "length", "sequence", "refusal", "pause", "context", NULL};
	static const struct json_field fields[] = {
		JSON_NODE(struct round_json, fault),
		JSON_NODE(struct round_json, headers),
		JSON_I64(struct round_json, delay_ms, .max = DELAY_MAX_MS),
		JSON_I64(struct round_json, chunk_bytes, .max = CHUNK_MAX_BYTES),
		JSON_I64(struct round_json, chunk_delay_ms, .max = DELAY_MAX_MS),
		JSON_I64(struct round_json, times, .max = TIMES_MAX),
		JSON_NODE(struct round_json, expect),
		/* of pages only */
		JSON_I64(struct round_json, status, .min = 200, .max = 599),
		JSON_NODE(struct round_json, body),
		/* of rounds only */
		JSON_NODE(struct round_json, say),
		JSON_NODE(struct round_json, think),
		JSON_NODE(struct round_json, refuse),
		JSON_NODE(struct round_json, calls),
		JSON_NODE(struct round_json, usage),
		JSON_ENUM(struct round_json, stop, stops),
	};
	enum { SHARED = 7, OF_PAGES = 2 };
	static const struct json_table page_table = {fields, SHARED + OF_PAGES, NULL, NULL};
	struct json_field own[ARRAY_LEN(fields) - OF_PAGES];
	struct json_table round_table = {own, ARRAY_LEN(own), NULL, NULL};

	memcpy(own, fields, SHARED * sizeof(*own));
	memcpy(own + SHARED, fields + SHARED + OF_PAGES, sizeof(own) - SHARED * sizeof(*own));
	return json_decode(a, j, page ? &page_table : &round_table, ret, NULL, err);
}

static int read_round(
	struct arena *a, const struct json *j, bool page, struct script_round *r, struct error *err)
{
	struct round_json f = {.stop = -1, .status = 200};

	if (read_round_fields(a, j, page, &f, err) < 0 ||
		read_text(a, f.say, "say", &r->say, err) < 0 ||
		read_text(a, f.think, "think", &r->think, err) < 0 ||
		read_text(a, f.refuse, "refuse", &r->refuse, err) < 0 ||
		read_text(a, f.body, "body", &r->body, err) < 0 ||
		read_calls(a, f.calls, r, err) < 0 || read_usage(a, f.usage, &r->usage, err) < 0 ||
		read_fault(a, f.fault, &r->fault, err) < 0 ||
		read_headers(a, f.headers, &r->headers, err) < 0 ||
		read_expect(a, f.expect, &r->expect, err) < 0)
		return -1;
	r->delay_ms = f.delay_ms;
	r->chunk_bytes = f.chunk_bytes;
	r->chunk_delay_ms = f.chunk_delay_ms;
	r->times = f.times;
	r->status = f.status;
	r->stop = f.stop;
	return 0;
}

/* The file */

static bool name_is_good(struct str s)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_-.";

	for (size_t i = 0; i < s.len; i++) {
		if (!memchr(allowed, s.p[i], sizeof(allowed) - 1))
			return false;
	}
	return s.len > 0 && s.len <= SCRIPT_NAME_MAX;
}

static int read_conversation(struct script *s, const struct json *j, struct error *err)
{
	struct script_conversation *c = arena_alloc(&s->arena, sizeof(*c));

	if (!name_is_good(j->key))
		return error_set(err, &JSON_FIELD,
			"a conversation's name is 1 to %d of A-Z a-z 0-9 _ - .", SCRIPT_NAME_MAX);
	if (j->type != JSON_ARRAY)
		return error_set(
			err, &JSON_FIELD, STR_FMT ": is no list of rounds", STR_ARG(j->key));
	c->name = j->key;
	c->rounds = arena_alloc(&s->arena, (j->count + 1) * sizeof(*c->rounds));
	json_for_each (item, j) {
		if (read_round(&s->arena, item, false, &c->rounds[c->count++], err) < 0)
			return error_prefix(err, STR_FMT "[%zu]", STR_ARG(j->key), c->count - 1);
	}
	(void)table_set(s->conversations, c->name, c); /* names differ: no duplicate keys */
	return 0;
}

static int read_pages(struct script *s, const struct json *j, struct error *err)
{
	if (j->type != JSON_OBJECT)
		return error_set(err, &JSON_FIELD, "pages: is no object");
	json_for_each (item, j) {
		struct script_round *page = arena_alloc(&s->arena, sizeof(*page));

		if (read_round(&s->arena, item, true, page, err) < 0)
			return error_prefix(err, "pages." STR_FMT, STR_ARG(item->key));
		(void)table_set(s->pages, item->key, page); /* as above */
	}
	return 0;
}

static int read_socket(const struct json *j, struct script_socket *to, struct error *err)
{
	static const struct json_field fields[] = {
		JSON_BOOL(struct script_socket, bad_accept),
		JSON_BOOL(struct script_socket, extension),
		JSON_BOOL(struct script_socket, pings),
		JSON_BOOL(struct script_socket, forgets),
		JSON_I64(struct script_socket, responses),
		JSON_I64(struct script_socket, status, .max = 599),
	};
	const struct json_table table = {fields, ARRAY_LEN(fields), "socket", NULL};

	return json_decode(NULL, j, &table, to, NULL, err);
}

static int read_member(struct script *s, const struct json *j, struct error *err)
{
	struct script_settings *to = &s->settings;

	if (str_is(j->key, "refuse_text"))
		return read_strings(&s->arena, j, "refuse_text", &to->refuse_text, err);
	if (str_is(j->key, "models"))
		return read_strings(&s->arena, j, "models", &to->models, err);
	if (str_is(j->key, "keys"))
		return read_strings(&s->arena, j, "keys", &to->keys, err);
	if (str_is(j->key, "headers"))
		return read_headers(&s->arena, j, &to->headers, err);
	if (str_is(j->key, "pages"))
		return read_pages(s, j, err);
	if (str_is(j->key, "socket"))
		return read_socket(j, &to->socket, err);
	if (str_is(j->key, "lenient")) {
		to->lenient = json_is_true(j);
		return 0;
	}
	return read_conversation(s, j, err);
}

static int read_members(struct script *s, struct str text, struct error *err)
{
	const struct json *top;

	if (json_parse(&s->arena, text, &top, err) < 0)
		return -1;
	if (top->type != JSON_OBJECT)
		return error_set(err, &JSON_FIELD, "a script is an object");
	json_for_each (item, top) {
		if (read_member(s, item, err) < 0)
			return -1;
	}
	return 0;
}

int script_read(struct str text, struct script **ret, struct error *err)
{
	static struct str loopback = {"loopback", 8};
	struct script *s = xcalloc(1, sizeof(*s));

	s->conversations = table_new();
	s->pages = table_new();
	if (text.len > 0 && read_members(s, text, err) < 0) {
		script_free(s);
		return -1;
	}
	if (s->settings.models.count == 0)
		s->settings.models = (struct str_list){&loopback, 1};
	*ret = s;
	return 0;
}

void script_free(struct script *s)
{
	if (!s)
		return;
	table_free(s->conversations);
	table_free(s->pages);
	arena_release(&s->arena);
	free(s);
}

const struct script_conversation *script_find(const struct script *s, struct str name)
{
	return table_get(s->conversations, name);
}

const struct script_round *script_round(const struct script_conversation *c, size_t round)
{
	return c && round < c->count ? &c->rounds[round] : &done_round;
}

const struct script_round *script_page(const struct script *s, struct str path)
{
	return table_get(s->pages, path);
}

const struct script_settings *script_settings(const struct script *s)
{
	return &s->settings;
}
