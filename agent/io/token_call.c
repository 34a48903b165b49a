/* One request to an issuer's token endpoint. */
#include "agent/io/token_call.h"

#include <stdlib.h>

#include "mem/mem.h"
#include "secret/secret.h"
#include "url/url.h"

enum { CALL_MS = 30 * 1000 /* ours: name, connection and answer together */ };

const struct error_kind TOKEN_CALL_REFUSED = {"signin_refused", ERROR_CLASS_DENIED};
const struct error_kind TOKEN_CALL_UNAVAILABLE = {"signin_unavailable", ERROR_CLASS_UNAVAILABLE};

struct token_call {
	struct fetch_call *fetch;
	const struct clock *clock;
	struct buf form, body;
	struct str piece; /* the form, for the request */
	int status;
	token_call_done done;
	void *arg;
};

static void call_free(struct token_call *c)
{
	fetch_cancel(c->fetch);
	secret_buf_cleanup(&c->form);
	secret_buf_cleanup(&c->body);
	free(c);
}

static void on_head(void *arg, const struct http_head *h)
{
	struct token_call *c = arg;

	c->status = h->status;
}

static void on_body(void *arg, struct str bytes)
{
	struct token_call *c = arg;

	(void)buf_put_str(&c->body, bytes); /* full: see read_answer */
}

/* 4xx but the few that only mean "not now". */
static bool is_refusal(int status)
{
	return status >= 400 && status < 500 && status != 408 && status != 425 && status != 429;
}

static int refused(const struct token_call *c, struct error *err)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	struct str word = oauth_read_refusal(&a, buf_str(&c->body));
	const struct error_kind *kind = is_refusal(c->status) ? &TOKEN_CALL_REFUSED
							      : &TOKEN_CALL_UNAVAILABLE;

	return error_set(err, kind, "the issuer answered %d%s" STR_FMT, c->status,
		word.len > 0 ? " " : "", (int)word.len, word.len > 0 ? word.p : "");
}

static int read_answer(
	const struct token_call *c, struct arena *a, struct oauth_answer *ret, struct error *err)
{
	int64_t now_s = clock_real_ms(c->clock) / 1000;

	if (c->status != 200)
		return refused(c, err);
	if (c->body.full)
		return error_set(err, &OAUTH_INVALID, "the issuer's answer is over %d bytes",
			OAUTH_ANSWER_MAX_BYTES);
	return oauth_read_answer(a, buf_str(&c->body), now_s, ret, err);
}

static void on_done(void *arg, const struct error *failed)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	struct token_call *c = arg;
	struct oauth_answer answer;
	struct error err = ERROR_INIT;

	c->fetch = NULL;
	if (failed) {
		(void)error_set(&err, &TOKEN_CALL_UNAVAILABLE, "ask the issuer: %s: %s",
			error_code(failed), failed->text);
		c->done(c->arg, NULL, &err);
	} else if (read_answer(c, &a, &answer, &err) < 0) {
		c->done(c->arg, NULL, &err);
	} else {
		c->done(c->arg, &answer, NULL);
	}
	call_free(c);
}

int token_call_start(const struct token_request *q, struct token_call **ret, struct error *err)
{
	static const struct fetch_callbacks callbacks = {NULL, on_head, on_body, on_done};
	static const struct http_header headers[] = {
		{{"content-type", 12}, {"application/x-www-form-urlencoded", 33}},
		{{"accept", 6},        {"application/json", 16}                 },
	};
	_cleanup_(buf) struct buf text = BUF_INIT(URL_MAX_BYTES);
	struct token_call *c = xcalloc(1, sizeof(*c));
	struct url url;
	struct fetch_request r = {.method = "POST",
		.url = &url,
		.headers = headers,
		.header_count = ARRAY_LEN(headers),
		.body = &c->piece,
		.body_count = 1,
		.total_ms = CALL_MS};

	c->form = *q->form;
	*q->form = (struct buf)BUF_INIT(0);
	c->piece = buf_str(&c->form);
	c->body = (struct buf)BUF_INIT(OAUTH_ANSWER_MAX_BYTES);
	c->clock = q->clock;
	c->done = q->done;
	c->arg = q->arg;
	oauth_put_token_url(&text, q->issuer);
	if (url_parse(buf_str(&text), &url, err) < 0 ||
		fetch_start(q->fetch, &r, &callbacks, c, &c->fetch, err) < 0) {
		call_free(c);
		return error_prefix(err, "ask the issuer");
	}
	*ret = c;
	return 0;
}

void token_call_cancel(struct token_call *c)
{
	if (c)
		call_free(c);
}
