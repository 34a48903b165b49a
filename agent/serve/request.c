/* From a line to a running request. */
#include "agent/serve/request.h"

#include <stdlib.h>

#include "agent/serve/daemon.h"
#include "agent/serve/session.h"
#include "wire/wire.h"

const struct error_kind REQUEST_INVALID = {"invalid_request", ERROR_CLASS_USAGE};
const struct error_kind REQUEST_TOO_LONG = {"input_line_limit_or_truncation", ERROR_CLASS_LIMIT};
const struct error_kind REQUEST_REPLY_LIMIT = {"response_size_limit", ERROR_CLASS_LIMIT};
const struct error_kind REQUEST_NOT_PERMITTED = {"not_permitted", ERROR_CLASS_DENIED};
const struct error_kind REQUEST_INVALID_PAGE = {"invalid_event_page", ERROR_CLASS_USAGE};
const struct error_kind REQUEST_INVALID_BOT_PAGE = {"invalid_bot_page", ERROR_CLASS_USAGE};

enum { ID_MAX_BYTES = 256 /* ours: an id is echoed in every reply */ };

static const struct request_row *const tables[] = {
	bot_requests,
	life_requests,
	turn_requests,
	read_requests,
	artifact_requests,
	follow_requests,
	approval_requests,
	receipt_requests,
	pause_requests,
	served_requests,
	companion_requests,
	daemon_requests,
};

/* Stands for a request whose operation is not known, so that its refusal keeps its place. */
static const struct request_row no_row = {.op = NULL};

const struct request_row *request_find(struct str op)
{
	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		for (const struct request_row *row = tables[i]; row->op; row++) {
			if (str_is(op, row->op))
				return row;
		}
	}
	return NULL;
}

void request_put_names(struct json_out *j, const char *name)
{
	json_open_key(j, name, '[');
	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		for (const struct request_row *row = tables[i]; row->op; row++)
			json_put_cstr(j, NULL, row->op);
	}
	json_close(j, ']');
}

/* A string or a non-negative integer (spec 2.1); *ret_text is its JSON text. */
static int read_id(struct arena *a, const struct json *id, struct str *ret_text, struct error *err)
{
	struct buf text = BUF_INIT(ID_MAX_BYTES);
	struct json_out j = JSON_OUT(&text);
	int64_t number;

	if (!id)
		return error_set(err, &REQUEST_INVALID, "id: is missing");
	if (id->type != JSON_STRING &&
		(id->type != JSON_NUMBER || json_i64(id, &number) < 0 || number < 0))
		return error_set(
			err, &REQUEST_INVALID, "id: must be a string or a whole number from 0");
	json_put(&j, NULL, id);
	if (text.full) {
		buf_release(&text);
		return error_set(err, &REQUEST_INVALID, "id: is over %d bytes", ID_MAX_BYTES - 2);
	}
	*ret_text = (struct str){arena_strndup(a, text.data, text.len), text.len};
	buf_release(&text);
	return 0;
}

static struct request *request_new(struct session *s)
{
	struct request *r = xcalloc(1, sizeof(*r));

	r->d = s->d;
	r->session = s;
	r->as = s->as;
	r->row = &no_row;
	r->id = STR("null");
	r->reply = (struct buf)BUF_INIT(WIRE_LINE_MAX_BYTES - 1);
	list_add_tail(&s->requests, &r->in_session);
	s->request_count++;
	return r;
}

static int parse(struct request *r, struct str line, struct error *err)
{
	static const char *const skip[] = {"id", "op", NULL};
	struct json_table table = {.skip = skip};
	const struct json *doc;
	struct str op;

	if (json_parse(&r->arena, line, &doc, err) < 0)
		return -1;
	if (doc->type != JSON_OBJECT)
		return error_set(err, &REQUEST_INVALID, "a request is a JSON object");
	if (read_id(&r->arena, json_get(doc, "id"), &r->id, err) < 0)
		return -1;
	op = json_str(json_get(doc, "op"));
	if (!op.p)
		return error_set(err, &REQUEST_INVALID, "op: must be a string");
	r->row = request_find(op);
	if (!r->row) {
		r->row = &no_row;
		return error_set(err, &REQUEST_INVALID, "op: there is no operation '%.*s'",
			(int)str_cut(op, 64).len, op.p);
	}
	if (r->as.id > 0 && r->row->access == REQUEST_OWNER) {
		return error_set(err, &REQUEST_NOT_PERMITTED,
			"%s: a bot's own socket does not answer it", r->row->op);
	}
	r->args = arena_alloc(&r->arena, r->row->args_size + 1);
	table.fields = r->row->fields;
	table.count = r->row->field_count;
	table.where = r->row->op;
	return json_decode(&r->arena, doc, &table, r->args, &r->seen, err);
}

void request_take(struct session *s, struct str line)
{
	struct request *r = request_new(s);
	struct error err = ERROR_INIT;

	if (s->request_count >= SESSION_REQUESTS_MAX && !s->paused) {
		s->paused = true;
		wire_peer_pause(s->peer);
	}
	if (parse(r, line, &err) < 0) {
		if (!error_is(&err, &REQUEST_NOT_PERMITTED))
			err.kind = &REQUEST_INVALID; /* whatever the reader called it; the text
							says what and where */
		request_fail(r, &err);
		return;
	}
	must(r->row->handle); /* only no_row has none */
	r->row->handle(r, r->args);
}
