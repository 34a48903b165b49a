/* What failed calls mean: which code, and whether another try makes sense. */
#include <ctype.h>
#include <stdio.h>

#include "agent/io/provider_http.h"

const struct error_kind PROVIDER_CONNECTION = {
	"provider_connection_failed", ERROR_CLASS_UNAVAILABLE};
const struct error_kind PROVIDER_EXPECTED_SSE = {"provider_expected_sse", ERROR_CLASS_IO};
const struct error_kind PROVIDER_STALLED = {"provider_stream_stalled", ERROR_CLASS_UNAVAILABLE};
const struct error_kind PROVIDER_QUOTA = {"provider_quota_exhausted", ERROR_CLASS_LIMIT};
const struct error_kind PROVIDER_RATE_LIMITED = {"provider_rate_limited", ERROR_CLASS_LIMIT};

enum {
	STATUS_FIRST = 100,
	STATUS_LAST = 599,
	STATUS_TOO_MANY = 429,
	STATUS_OVERLOADED = 529, /* Anthropic's */
	FAULT_KEEP_BYTES = 2 * HTTP_ERROR_BODY_BYTES,
	ERROR_MESSAGE_MAX_BYTES = 256 * 1024, /* ours: an error over WebSocket */
};

/* Errors keep pointers to kinds: these live as long as the program, made when first met. */
const struct error_kind *http_status_kind(int status)
{
	static struct {
		char code[24];
		struct error_kind kind;
	} kinds[STATUS_LAST - STATUS_FIRST + 1];
	size_t i = (size_t)(status - STATUS_FIRST);

	must(status >= STATUS_FIRST && status <= STATUS_LAST);
	if (!kinds[i].kind.code) {
		(void)snprintf(kinds[i].code, sizeof(kinds[i].code), "provider_http_%d", status);
		kinds[i].kind.code = kinds[i].code;
		kinds[i].kind.class = ERROR_CLASS_UNAVAILABLE;
	}
	return &kinds[i].kind;
}

static void set(struct provider_failure *f, const struct error_kind *kind, struct str code,
	struct str words)
{
	struct str shown = str_cut(words, HTTP_DETAIL_CHARS);

	if (code.len > 0 && shown.len > 0)
		(void)error_set(&f->err, kind, STR_FMT ": " STR_FMT, STR_ARG(code), STR_ARG(shown));
	else if (shown.len > 0)
		(void)error_set(&f->err, kind, STR_FMT, STR_ARG(shown));
	else
		(void)error_set(&f->err, kind, "the provider said no more");
}

static enum provider_retry retry_of_status(int status)
{
	if (status == STATUS_TOO_MANY || status == STATUS_OVERLOADED)
		return PROVIDER_RETRY_PACE;
	return status >= 500 ? PROVIDER_RETRY_BACKOFF : PROVIDER_RETRY_NEVER;
}

void http_read_refusal(
	enum model_family f, const struct http_refusal *r, struct provider_failure *ret)
{
	_cleanup_(buf) struct buf keep = BUF_INIT(FAULT_KEEP_BYTES);
	struct model_event e;

	*ret = (struct provider_failure){
		.retry = retry_of_status(r->status), .delay_ms = r->retry_ms};
	model_read_fault(f, r->status, r->body, &keep, &e);
	if (e.fault == MODEL_FAULT_QUOTA) {
		ret->retry = PROVIDER_RETRY_NEVER;
		set(ret, &PROVIDER_QUOTA, e.name, e.text);
		return;
	}
	if (ret->delay_ms < 0 && ret->retry == PROVIDER_RETRY_PACE)
		ret->delay_ms = e.retry_ms;
	set(ret, http_status_kind(r->status), e.name, e.text);
}

void http_read_fault(const struct model_event *e, struct provider_failure *ret)
{
	const struct error_kind *kind = &PROVIDER_STREAM_FAILED;

	*ret = (struct provider_failure){.retry = PROVIDER_RETRY_NEVER, .delay_ms = -1};
	switch (e->fault) {
	case MODEL_FAULT_RATE:
	case MODEL_FAULT_OVERLOADED:
		kind = &PROVIDER_RATE_LIMITED;
		ret->retry = PROVIDER_RETRY_PACE;
		ret->delay_ms = e->retry_ms;
		break;
	case MODEL_FAULT_QUOTA:
		kind = &PROVIDER_QUOTA;
		break;
	case MODEL_FAULT_OTHER:
		ret->retry = PROVIDER_RETRY_BACKOFF;
		break;
	default: /* what was asked is at fault: it will not be better */
		break;
	}
	set(ret, kind, e->name, e->text);
}

void http_read_broken(const struct error *err, bool headed, struct provider_failure *ret)
{
	/* a certificate that is not good will not be better the next second */
	bool again = !error_is(err, &FETCH_TLS);

	*ret = (struct provider_failure){
		.retry = again ? PROVIDER_RETRY_BACKOFF : PROVIDER_RETRY_NEVER, .delay_ms = -1};
	if (error_is(err, &WS_LIMIT)) {
		ret->retry = PROVIDER_RETRY_NEVER;
		set(ret, &PROVIDER_RESPONSE_LIMIT, (struct str){NULL, 0}, str_from(err->text));
		return;
	}
	set(ret, headed ? &PROVIDER_STREAM_FAILED : &PROVIDER_CONNECTION, (struct str){NULL, 0},
		str_from(err->text));
}

void http_read_stream(const struct error *err, struct provider_failure *ret)
{
	*ret = (struct provider_failure){.retry = PROVIDER_RETRY_NEVER, .delay_ms = -1};
	if (error_is(err, &MODEL_CUT) || error_is(err, &MODEL_STREAM)) {
		ret->retry = PROVIDER_RETRY_BACKOFF;
		set(ret, &PROVIDER_STREAM_FAILED, (struct str){NULL, 0}, str_from(err->text));
	} else if (error_is(err, &MODEL_LIMIT)) {
		set(ret, &PROVIDER_RESPONSE_LIMIT, (struct str){NULL, 0}, str_from(err->text));
	} else {
		ret->err = *err; /* stream_terminal_mismatch, and those of gather.h */
	}
}

static bool says(struct str words, const char *what)
{
	struct str w = str_from(what);

	for (size_t i = 0; i + w.len <= words.len; i++) {
		size_t n = 0;

		while (n < w.len && tolower((unsigned char)words.p[i + n]) == w.p[n])
			n++;
		if (n == w.len)
			return true;
	}
	return false;
}

bool http_blames_thinking(enum model_family f, const struct http_refusal *r)
{
	static const char *const words[] = {"thinking", "signature"};
	static const char *const others[] = {"encrypted_content", "encrypted content", "reasoning"};

	if (r->status != 400 || f == MODEL_CHAT)
		return false;
	for (size_t i = 0; f == MODEL_MESSAGES && i < ARRAY_LEN(words); i++) {
		if (says(r->body, words[i]))
			return true;
	}
	for (size_t i = 0; f == MODEL_RESPONSES && i < ARRAY_LEN(others); i++) {
		if (says(r->body, others[i]))
			return true;
	}
	return false;
}

/*
 * Answers that are one document.
 */
bool http_read_message_error(struct arena *a, struct str json, struct http_message_error *ret)
{
	const struct json *root, *error;
	int64_t status = 0;

	if (json.len > ERROR_MESSAGE_MAX_BYTES || str_find(json, STR("\"error\""), 0) < 0 ||
		json_parse(a, json, &root, NULL) < 0 ||
		!str_is(json_str(json_get(root, "type")), "error"))
		return false;
	error = json_get(root, "error");
	if (json_i64(json_get(root, "status"), &status) < 0)
		(void)json_i64(json_get(root, "status_code"), &status); /* or it has none */
	*ret = (struct http_message_error){
		json_str(json_get(error ? error : root, "code")), status};
	return true;
}

struct warm_answer {
	struct gather gather;
	struct provider_failure *failure;
	bool has_fault;
};

static void on_warm_event(void *arg, const struct model_event *e)
{
	struct warm_answer *w = arg;
	struct error err = ERROR_INIT;

	if (e->kind == MODEL_EV_FAULT) {
		w->has_fault = true;
		http_read_fault(e, w->failure);
	} else {
		(void)gather_take(&w->gather, e, &err); /* its usage is all that counts */
	}
}

int http_read_warm(enum model_family f, struct str json, struct provider_usage *ret_usage,
	struct provider_failure *ret)
{
	struct model_decoder *d = model_decoder_new(f);
	struct warm_answer w = {.failure = ret};
	struct error err = ERROR_INIT;
	int rc;

	gather_init(&w.gather, f);
	rc = model_decode_message(d, json, on_warm_event, &w, &err);
	if (w.gather.has_usage && !w.has_fault)
		rc = 0; /* no reply is wanted: how it ends is all the same */
	else if (!w.has_fault && rc < 0)
		http_read_stream(&err, ret);
	if (rc == 0 && !w.has_fault)
		*ret_usage = gather_usage(&w.gather);
	gather_release(&w.gather);
	model_decoder_free(d);
	return rc < 0 || w.has_fault ? -1 : 0;
}
