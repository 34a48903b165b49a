#ifndef AGENT_IO_PROVIDER_HTTP_H
#define AGENT_IO_PROVIDER_HTTP_H
/*
 * What the files of the families over HTTP share: a provider (provider_http.c), a call to it
 * (http_call.c), what a failed one means (http_fault.c), a listing (http_list.c).
 */
#include "agent/io/body.h"
#include "agent/io/gather.h"
#include "agent/io/pace.h"
#include "agent/io/provider.h"
#include "agent/io/provider_auth.h"
#include "agent/io/turn_state.h"
#include "agent/io/ws_lines.h"
#include "fetch/fetch.h"
#include "model/model.h"
#include "url/url.h"

/* What differs between the families. */
struct http_family {
	enum item_family items;
	enum model_family model;
	const char *path; /* behind the base URL */
	/* Headers of its own, beside the credential's. At most HTTP_OWN_HEADERS. */
	size_t (*headers)(const struct provider_request *r, struct http_header *to);
	const char *list_query; /* of its listing, or "" */
	bool socket;            /* asked over WebSocket */
};
enum { HTTP_OWN_HEADERS = 3 };

struct http_provider {
	struct loop *loop;
	struct provider_net *net;
	const struct http_family *family;
	char *base; /* its URL; ws:// as http://, wss:// as https:// */
	struct url url;
	const struct provider_auth *auth;
	const struct secret *key;
	struct pace *pace;
	struct turn_states *turn_states; /* of the ChatGPT backend; NULL: another */
	struct ws_lines *lines;          /* NULL: not over WebSocket */
	struct list calls;
};

/* The headers of a request: content type, the family's, the credential. */
struct http_headers {
	struct http_header items[AUTH_HEADERS_MAX + HTTP_OWN_HEADERS + 3];
	size_t count;
	struct auth_headers auth;
};
/* The request without its headers: what is asked, and of what sort its body is. */
struct auth_request http_auth_request(
	const char *method, const struct url *url, const struct str *body, size_t body_count);
/* `g` NULL: its key is all that proves it. */
int http_headers_make(struct http_provider *p, const struct auth_grant *g,
	const struct auth_request *what, const struct provider_request *r, struct http_headers *ret,
	struct error *err);
/* The base URL with more behind it, in `text`, which the URL borrows from. */
int http_url(const struct http_provider *p, const char *path, struct buf *text, struct url *ret,
	struct error *err);

/* http_call.c */
int http_start(void *state, const struct provider_request *r, const struct provider_callbacks *cb,
	void *arg, void **ret_call, struct error *err);
void http_cancel(void *call);
void http_calls_end(struct http_provider *p); /* those whose reply is told and whose end is not */

/* http_list.c */
int http_list(void *state, provider_on_listing done, void *arg, void **ret_call, struct error *err);
void http_list_cancel(void *call);

/* http_fault.c */
enum {
	HTTP_ERROR_BODY_BYTES = 4096, /* agent spec 8.4 */
	HTTP_DETAIL_CHARS = 512,      /* agent spec 8.4 */
};
extern const struct error_kind PROVIDER_CONNECTION;    /* provider_connection_failed */
extern const struct error_kind PROVIDER_EXPECTED_SSE;  /* provider_expected_sse */
extern const struct error_kind PROVIDER_STALLED;       /* provider_stream_stalled */
extern const struct error_kind PROVIDER_QUOTA;         /* provider_quota_exhausted */
extern const struct error_kind PROVIDER_RATE_LIMITED;  /* provider_rate_limited */
const struct error_kind *http_status_kind(int status); /* provider_http_N */

/* A reply that is no success: status, Retry-After, body. */
struct http_refusal {
	int status;
	int64_t retry_ms; /* -1: not said */
	struct str body;
};
void http_read_refusal(
	enum model_family f, const struct http_refusal *r, struct provider_failure *ret);
/* A fault inside the stream. */
void http_read_fault(const struct model_event *e, struct provider_failure *ret);
/* The transport's end; `headed`: the reply's head had come. */
void http_read_broken(const struct error *err, bool headed, struct provider_failure *ret);
/* An error as a message over WebSocket, its members in the arena; false: it is none. */
struct http_message_error {
	struct str code;
	int64_t status; /* 0: not said */
};
bool http_read_message_error(struct arena *a, struct str json, struct http_message_error *ret);
/* The one document that answers a request that wants no reply: what it cost. Of a failure *ret is
 * filled. */
int http_read_warm(enum model_family f, struct str json, struct provider_usage *ret_usage,
	struct provider_failure *ret);
/* The stream's own fault. */
void http_read_stream(const struct error *err, struct provider_failure *ret);
/* Whether it says that what the model wrote earlier (thinking, reasoning) cannot be used. */
bool http_blames_thinking(enum model_family f, const struct http_refusal *r);

#endif
