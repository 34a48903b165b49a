/* Answers: heads, error bodies, and what the faults of a script make of them. */
#include "test/harness/answer.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "clock/clock.h"
#include "http/http.h"
#include "test/harness/reply.h"

enum {
	HEAD_MAX_BYTES = 64 * 1024,
	BODY_MAX_BYTES = 192 << 20, /* a text may stand twice in a stream, and grow in JSON */
	FLOOD_BYTES = 64 * 1024,    /* made at once */
};

static const char html_text[] = "<!DOCTYPE html>\n<html><head><title>Bad gateway</title></head>\n"
				"<body><h1>It does not work</h1></body></html>\n";

void answer_init(struct answer *a)
{
	*a = (struct answer){
		.head = BUF_INIT(HEAD_MAX_BYTES),
		.body = BUF_INIT(BODY_MAX_BYTES),
		.stop_at = SIZE_MAX,
	};
}

void answer_release(struct answer *a)
{
	buf_release(&a->head);
	buf_release(&a->body);
	flood_free(a->flood);
	a->flood = NULL;
}

/* Heads */

static struct str moment_text(const struct script_header *h, int64_t now_ms, char out[static 64])
{
	int64_t then_s = now_ms / 1000 + h->after_s;
	time_t then = (time_t)then_s;
	struct tm tm;

	switch (h->as) {
	case SCRIPT_SECONDS:
		(void)snprintf(out, 64, "%lld", (long long)h->after_s);
		break;
	case SCRIPT_UNIX:
		(void)snprintf(out, 64, "%lld", (long long)then_s);
		break;
	case SCRIPT_RFC3339:
		clock_text(then_s * 1000, out);
		break;
	default:
		/* in the C locale, which no one here leaves */
		(void)strftime(out, 64, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&then, &tm));
		break;
	}
	return str_from(out);
}

static void put_headers(struct buf *to, const struct script_headers *list, int64_t now_ms)
{
	char text[64];

	for (size_t i = 0; list && i < list->count; i++) {
		const struct script_header *h = &list->items[i];
		_cleanup_(mem) char *name = xstrndup(h->name.p, h->name.len);

		/* one that cannot be a header is left out */
		(void)http_put_header(to, name,
			h->as == SCRIPT_PLAIN ? h->value : moment_text(h, now_ms, text), NULL);
	}
}

static void put_header(struct buf *to, const char *name, const char *value)
{
	must(http_put_header(to, name, str_from(value), NULL) == 0);
}

void answer_head(struct answer *a, const struct answer_frame *f, int status,
	const struct script_headers *headers)
{
	http_put_response(&a->head, status);
	put_headers(&a->head, f->always, f->now_ms);
	put_headers(&a->head, headers, f->now_ms);
	a->close = f->close;
}

static void end_head(struct answer *a)
{
	if (a->close)
		put_header(&a->head, "Connection", "close");
	http_put_end(&a->head);
}

void answer_with_length(struct answer *a, const struct answer_frame *f, int64_t wrong_by)
{
	int64_t length = (int64_t)a->body.len + wrong_by;

	(void)f;
	http_put_length(&a->head, length < 0 ? 0 : (uint64_t)length);
	end_head(a);
}

void answer_in_chunks(struct answer *a, const struct answer_frame *f)
{
	a->chunked = !f->old;
	a->close |= f->old; /* its end is the connection's */
	if (a->chunked)
		put_header(&a->head, "Transfer-Encoding", "chunked");
	end_head(a);
}

/* Errors */

struct error_row {
	int status;
	const char *openai_type, *openai_code, *claude_type, *message;
};

static const struct error_row *find_error(int status)
{
	static const struct error_row rows[] = {
		{400, "invalid_request_error", NULL,                  "invalid_request_error",
                 "The request is wrong."										   },
		{401, "invalid_request_error", "invalid_api_key",     "authentication_error",
                 "The API key is wrong."										   },
		{402, "insufficient_quota",    "insufficient_quota",  "billing_error",
                 "There is nothing left to spend."									 },
		{403, "invalid_request_error", "permission_denied",   "permission_error",
                 "This key may not do that."									       },
		{404, "invalid_request_error", "model_not_found",     "not_found_error",
                 "There is no such model."										 },
		{405, "invalid_request_error", "method_not_allowed",  "invalid_request_error",
                 "There is no such method here."									   },
		{413, "invalid_request_error", "request_too_large",   "request_too_large",
                 "The request is too large."									       },
		{429, "requests",              "rate_limit_exceeded", "rate_limit_error",      "Too many requests."        },
		{500, "server_error",          "server_error",        "api_error",             "Something went wrong here."},
		{503, "server_error",          "overloaded",          "overloaded_error",      "Busy. Try again later."    },
		{529, "server_error",          "overloaded",          "overloaded_error",      "Busy. Try again later."    },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].status == status)
			return &rows[i];
	}
	return &rows[status >= 500 ? 8 : 0];
}

void answer_put_error(struct buf *to, enum model_family family, const struct answer_error *e)
{
	const struct error_row *row = find_error(e->status);
	struct str message = e->message.p ? e->message : str_from(row->message);
	struct json_out j = JSON_OUT(to);

	json_open(&j, '{');
	if (family == MODEL_MESSAGES)
		json_put_cstr(&j, "type", "error");
	json_open_key(&j, "error", '{');
	if (family == MODEL_MESSAGES) {
		json_put_str(&j, "type", e->code.p ? e->code : str_from(row->claude_type));
		json_put_str(&j, "message", message);
	} else {
		json_put_str(&j, "message", message);
		json_put_cstr(&j, "type", row->openai_type);
		json_put_null(&j, "param");
		json_put_str(&j, "code", e->code.p ? e->code : str_from(row->openai_code));
	}
	json_close(&j, '}');
	if (family == MODEL_MESSAGES)
		json_put_cstr(&j, "request_id", "req_loopback");
	json_close(&j, '}');
}

void answer_error(struct answer *a, const struct answer_frame *f, enum model_family family,
	const struct answer_error *e)
{
	answer_head(a, f, e->status, NULL);
	put_header(&a->head, "Content-Type", "application/json");
	answer_put_error(&a->body, family, e);
	answer_with_length(a, f, 0);
}

void answer_html(struct answer *a, const struct answer_frame *f, int status,
	const struct script_headers *headers)
{
	answer_head(a, f, status, headers);
	put_header(&a->head, "Content-Type", "text/html; charset=utf-8");
	(void)buf_puts(&a->body, html_text); /* fits */
	answer_with_length(a, f, 0);
}

/* Faults that stand in place of the answer */

static void answer_status(struct answer *a, const struct answer_frame *f,
	const struct answer_reply *r, const struct script_fault *fault)
{
	struct answer_error e = {
		fault->status ? (int)fault->status : 500, fault->code, fault->message};

	if (fault->html) {
		answer_html(a, f, e.status, &r->round->headers);
		return;
	}
	answer_head(a, f, e.status, &r->round->headers);
	put_header(&a->head, "Content-Type", "application/json");
	if (fault->body.p)
		(void)buf_put_str(&a->body, fault->body); /* fits: of the script */
	else
		answer_put_error(&a->body, r->ask->family, &e);
	answer_with_length(a, f, 0);
}

static void answer_redirect(struct answer *a, const struct answer_frame *f,
	const struct script_headers *headers, const struct script_fault *fault)
{
	_cleanup_(mem) char *to = fault->location.p
					  ? xstrndup(fault->location.p, fault->location.len)
					  : xstrdup("/elsewhere");

	answer_head(a, f, fault->status ? (int)fault->status : 302, headers);
	(void)http_put_header(&a->head, "Location", str_from(to), NULL); /* left out when bad */
	answer_with_length(a, f, 0);
}

static void answer_garbage(struct answer *a)
{
	(void)buf_puts(&a->body, "\x16\x03\x01 220 this is no web server\r\n"); /* fits */
	a->close = true;
}

/* True when nothing is left to do. */
static bool answer_instead(
	struct answer *a, const struct answer_frame *f, const struct answer_reply *r)
{
	const struct script_fault *fault = r->fault;

	switch (fault ? fault->kind : FAULT_NONE) {
	case FAULT_STATUS:
		answer_status(a, f, r, fault);
		return true;
	case FAULT_REDIRECT:
		answer_redirect(a, f, &r->round->headers, fault);
		return true;
	case FAULT_HTML:
		answer_html(a, f, 200, &r->round->headers);
		return true;
	case FAULT_GARBAGE:
		answer_garbage(a);
		return true;
	default:
		return false;
	}
}

/* Where and how it breaks off. */
static void break_off(struct answer *a, const struct script_fault *fault, size_t call_at)
{
	static const enum answer_end ends[] = {
		[FAULT_RESET] = ANSWER_RESET,
		[FAULT_CUT] = ANSWER_CUT,
		[FAULT_TRUNCATE] = ANSWER_WHOLE,
		[FAULT_SILENCE] = ANSWER_SILENT,
	};

	if (!fault || fault->kind < FAULT_RESET || fault->kind > FAULT_SILENCE)
		return;
	a->end = ends[fault->kind];
	if (a->end == ANSWER_WHOLE && !a->chunked)
		a->end = ANSWER_CUT; /* a length was said */
	a->stop_at = a->body.len / 2;
	if (fault->after == SCRIPT_BYTES)
		a->stop_at = (size_t)fault->after_bytes;
	else if (fault->after == SCRIPT_CALL)
		a->stop_at = call_at;
	else if (fault->after == SCRIPT_HEAD)
		a->stop_at = 0;
	if (a->stop_at > a->body.len)
		a->stop_at = a->body.len;
	if (fault->after == SCRIPT_HEAD)
		buf_clear(&a->head);
}

/* Floods */

struct flood {
	struct model_encoder *encoder;
	enum script_flood as;
	uint64_t left; /* UINT64_MAX: no end */
	struct model_event delta;
	bool started;
};

static struct flood *flood_new(const struct answer_reply *r, struct buf *body)
{
	struct flood *f = xcalloc(1, sizeof(*f));
	struct model_event e = {.kind = MODEL_EV_START,
		.text = STR("resp_000000000000_0_flood"),
		.name = r->ask->model};

	f->as = r->fault->as;
	f->left = r->fault->bytes > 0 ? (uint64_t)r->fault->bytes : UINT64_MAX;
	f->encoder = model_encoder_new(r->ask->family);
	model_encode(f->encoder, &e, body);
	e = (struct model_event){.kind = MODEL_EV_BLOCK, .sort = MODEL_TEXT};
	model_encode(f->encoder, &e, body);
	f->delta = (struct model_event){
		.kind = MODEL_EV_DELTA, .sort = MODEL_TEXT, .text = STR("and on, and on. ")};
	return f;
}

void flood_free(struct flood *f)
{
	if (!f)
		return;
	model_encoder_free(f->encoder);
	free(f);
}

bool flood_more(struct flood *f, struct buf *body)
{
	if (f->left == 0)
		return false;
	buf_clear(body);
	if (f->as == SCRIPT_LINE && !f->started)
		(void)buf_puts(body, "data: {\"type\":\""); /* fits, as all here */
	f->started = true;
	while (body->len < FLOOD_BYTES) {
		if (f->as == SCRIPT_DELTAS)
			model_encode(f->encoder, &f->delta, body);
		else
			(void)buf_puts(body,
				f->as == SCRIPT_LINE ? "and on and on and " : ": still here\n\n");
	}
	if (f->left != UINT64_MAX) {
		if (body->len > f->left)
			body->len = (size_t)f->left;
		f->left -= body->len;
	}
	return true;
}

/* Replies */

static void answer_document(struct answer *a, const struct answer_frame *f,
	const struct answer_reply *r, const struct reply *reply)
{
	reply_whole(reply, f->now_ms, &a->body);
	answer_head(a, f, 200, &r->round->headers);
	put_header(&a->head, "Content-Type", "application/json");
	answer_with_length(a, f, r->fault && r->fault->kind == FAULT_LENGTH ? r->fault->by : 0);
	a->close |= r->fault && r->fault->kind == FAULT_LENGTH;
	break_off(a, r->fault, a->body.len / 2);
}

static void answer_stream(struct answer *a, const struct answer_frame *f,
	const struct answer_reply *r, const struct reply *reply)
{
	enum script_fault_kind kind = r->fault ? r->fault->kind : FAULT_NONE;
	size_t call_at = 0;

	if (kind == FAULT_ENDLESS)
		a->flood = flood_new(r, &a->body);
	else if (kind != FAULT_EMPTY_BODY)
		reply_stream(reply, r->fault, &a->body, &call_at);
	answer_head(a, f, 200, &r->round->headers);
	put_header(&a->head, "Content-Type", "text/event-stream; charset=utf-8");
	put_header(&a->head, "Cache-Control", "no-cache");
	if (kind == FAULT_LENGTH) {
		a->close = true;
		answer_with_length(a, f, r->fault->by);
	} else {
		answer_in_chunks(a, f);
	}
	break_off(a, r->fault, call_at);
}

void answer_reply(struct answer *a, const struct answer_frame *f, const struct answer_reply *r)
{
	struct reply reply;

	a->delay_ms += r->round->delay_ms;
	a->chunk_bytes = r->round->chunk_bytes;
	a->chunk_delay_ms = r->round->chunk_delay_ms;
	if (answer_instead(a, f, r))
		return;
	reply_init(&reply, r->ask, r->round, r->fault);
	reply_estimate(&reply, r->body_bytes);
	if (r->ask->stream && (!r->fault || r->fault->kind != FAULT_JSON))
		answer_stream(a, f, r, &reply);
	else
		answer_document(a, f, r, &reply);
	reply_release(&reply);
}

/* Pages */

static bool has_header(const struct script_headers *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].name.len == strlen(name) &&
			strncasecmp(list->items[i].name.p, name, strlen(name)) == 0)
			return true;
	}
	return false;
}

void answer_page(struct answer *a, const struct answer_frame *f, const struct script_round *page,
	const struct script_fault *fault)
{
	const struct ask ask = {.family = MODEL_CHAT, .model = STR("loopback")};
	const struct answer_reply r = {.ask = &ask, .round = page, .fault = fault};
	bool wrong = fault && fault->kind == FAULT_LENGTH;

	a->delay_ms += page->delay_ms;
	a->chunk_bytes = page->chunk_bytes;
	a->chunk_delay_ms = page->chunk_delay_ms;
	if (answer_instead(a, f, &r))
		return;
	answer_head(a, f, (int)page->status, &page->headers);
	if (!has_header(&page->headers, "content-type"))
		put_header(&a->head, "Content-Type", "text/plain; charset=utf-8");
	if (fault && fault->kind == FAULT_ENDLESS) {
		a->flood = flood_new(&r, &a->body);
		answer_in_chunks(a, f);
		return;
	}
	if (!fault || fault->kind != FAULT_EMPTY_BODY)
		script_put_text(&a->body, &page->body, STR(""), STR(""));
	a->close |= wrong;
	if (page->chunk_bytes > 0 && !wrong)
		answer_in_chunks(a, f);
	else
		answer_with_length(a, f, wrong ? fault->by : 0);
	break_off(a, fault, a->body.len / 2);
}
