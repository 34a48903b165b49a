/* One WebSocket connection. */
#include "agent/io/ws.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <wslay/wslay.h>

#include "mem/mem.h"
#include "os/os.h"

const struct error_kind WS_HANDSHAKE = {"ws_handshake_failed", ERROR_CLASS_IO};
const struct error_kind WS_INVALID = {"ws_invalid", ERROR_CLASS_IO};
const struct error_kind WS_LIMIT = {"ws_limit", ERROR_CLASS_LIMIT};
const struct error_kind WS_CLOSED = {"ws_closed", ERROR_CLASS_UNAVAILABLE};

enum {
	KEY_BYTES = 16,   /* RFC 6455 4.1 */
	KEY_SIZE = 25,    /* of 16 bytes in base64, with the NUL */
	ACCEPT_SIZE = 29, /* of a SHA-1 in base64, with the NUL */
	HEADERS_MAX = 24, /* ours: four of the handshake and what the caller gives */
	HANDSHAKE_HEADERS = 4,
	REASON_SHOWN_BYTES = 100, /* ours */
};
#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11" /* RFC 6455 1.3 */

struct ws {
	struct loop *loop;
	struct fetch_call *call;
	const struct ws_callbacks *cb;
	void *arg;
	struct wslay_event_context *frames; /* NULL: not open */
	struct str in;                      /* what is being read */
	char accept[ACCEPT_SIZE];
	size_t message_max_bytes;
	bool over;         /* nothing is told any more */
	bool sent_failed;  /* random bytes were not to be had */
	bool binary;       /* a message of another sort came */
	uint16_t code;     /* of the server's close */
	struct buf reason; /* … in its words */
};

static void ws_free(void *arg)
{
	struct ws *w = arg;

	if (w->frames)
		wslay_event_context_free(w->frames);
	buf_release(&w->reason);
	free(w);
}

static void end(struct ws *w)
{
	w->over = true;
	fetch_cancel(mem_take(&w->call));
	loop_defer(w->loop, ws_free, w);
}

static void tell_over(struct ws *w, const struct error *err)
{
	const struct ws_callbacks *cb = w->cb;
	void *arg = w->arg;

	end(w);
	cb->over(arg, err);
}

/*
 * Frames.
 */
static ssize_t take_bytes(
	struct wslay_event_context *c, uint8_t *to, size_t len, int flags, void *arg)
{
	struct ws *w = arg;
	size_t n = w->in.len < len ? w->in.len : len;

	(void)flags;
	if (n == 0 || w->over) {
		wslay_event_set_error(c, WSLAY_ERR_WOULDBLOCK);
		return -1;
	}
	memcpy(to, w->in.p, n);
	w->in = (struct str){w->in.p + n, w->in.len - n};
	return (ssize_t)n;
}

static ssize_t put_bytes(
	struct wslay_event_context *c, const uint8_t *p, size_t len, int flags, void *arg)
{
	struct ws *w = arg;

	(void)c;
	(void)flags;
	fetch_write(w->call, (struct str){(const char *)p, len}); /* takes all */
	return (ssize_t)len;
}

static int put_mask(struct wslay_event_context *c, uint8_t *to, size_t len, void *arg)
{
	struct ws *w = arg;

	if (os_random(to, len, NULL) == 0)
		return 0;
	w->sent_failed = true;
	wslay_event_set_error(c, WSLAY_ERR_CALLBACK_FAILURE);
	return -1;
}

static void on_message(
	struct wslay_event_context *c, const struct wslay_event_on_msg_recv_arg *m, void *arg)
{
	struct ws *w = arg;
	struct str text = {m->msg_length > 0 ? (const char *)m->msg : "", m->msg_length};

	if (w->over || w->binary)
		return;
	if (m->opcode == WSLAY_TEXT_FRAME) {
		w->cb->message(w->arg, text); /* may close it */
	} else if (m->opcode == WSLAY_BINARY_FRAME) {
		w->binary = true;
		(void)wslay_event_queue_close(c, WSLAY_CODE_UNSUPPORTED_DATA, NULL, 0);
		wslay_event_shutdown_read(c);
	} else if (m->opcode == WSLAY_CONNECTION_CLOSE) {
		w->code = m->status_code;
		if (text.len > 2) /* behind the code; wslay has looked at both */
			(void)buf_put_str(
				&w->reason, str_cut((struct str){text.p + 2, text.len - 2},
						    REASON_SHOWN_BYTES));
	}
}

static const struct wslay_event_callbacks frame_callbacks = {
	.recv_callback = take_bytes,
	.send_callback = put_bytes,
	.genmask_callback = put_mask,
	.on_msg_recv_callback = on_message,
};

static int flush(struct ws *w)
{
	return wslay_event_want_write(w->frames) ? wslay_event_send(w->frames) : 0;
}

/* Why nothing is read any more. */
static void why_over(const struct ws *w, struct error *err)
{
	uint16_t sent = wslay_event_get_status_code_sent(w->frames);

	if (w->sent_failed)
		(void)error_set(err, &WS_INVALID, "no random bytes were to be had");
	else if (w->binary)
		(void)error_set(err, &WS_INVALID, "a binary message came where text is spoken");
	else if (wslay_event_get_close_received(w->frames) && w->code != 0)
		(void)error_set(err, &WS_CLOSED, "the server closed the connection: %u%s" STR_FMT,
			(unsigned)w->code, w->reason.len > 0 ? " " : "",
			STR_ARG(buf_str(&w->reason)));
	else if (wslay_event_get_close_received(w->frames))
		(void)error_set(err, &WS_CLOSED, "the server closed the connection");
	else if (sent == WSLAY_CODE_MESSAGE_TOO_BIG)
		(void)error_set(
			err, &WS_LIMIT, "a message of more than %zu bytes", w->message_max_bytes);
	else if (sent == WSLAY_CODE_INVALID_FRAME_PAYLOAD_DATA)
		(void)error_set(err, &WS_INVALID, "a message that is not UTF-8");
	else
		(void)error_set(err, &WS_INVALID, "what came are no frames of a WebSocket");
}

static void read_frames(struct ws *w, struct str bytes)
{
	struct error err = ERROR_INIT;
	int rc;

	w->in = bytes;
	rc = wslay_event_recv(w->frames);
	if (w->over)
		return;
	if (flush(w) != 0)
		rc = -1;
	if (rc == 0 && wslay_event_get_read_enabled(w->frames))
		return;
	why_over(w, &err);
	tell_over(w, &err);
}

/*
 * The handshake.
 */
static int make_key(struct ws *w, char key[KEY_SIZE], struct error *err)
{
	unsigned char random[KEY_BYTES], sum[EVP_MAX_MD_SIZE];
	char text[KEY_SIZE - 1 + sizeof(GUID)];
	unsigned int len = 0;

	if (os_random(random, sizeof(random), err) < 0)
		return -1;
	must(EVP_EncodeBlock((unsigned char *)key, random, KEY_BYTES) == KEY_SIZE - 1);
	memcpy(text, key, KEY_SIZE - 1);
	memcpy(text + KEY_SIZE - 1, GUID, sizeof(GUID));
	must(EVP_Digest(text, sizeof(text) - 1, sum, &len, EVP_sha1(), NULL) == 1);
	must(EVP_EncodeBlock((unsigned char *)w->accept, sum, (int)len) == ACCEPT_SIZE - 1);
	return 0;
}

static int check_handshake(const struct ws *w, const struct http_head *h, struct error *err)
{
	if (!http_header_has(h, "upgrade", "websocket") ||
		!http_header_has(h, "connection", "upgrade"))
		return error_set(err, &WS_HANDSHAKE, "the server changes to another protocol");
	if (http_header_count(h, "sec-websocket-accept") != 1 ||
		!str_is(http_header_get(h, "sec-websocket-accept"), w->accept))
		return error_set(err, &WS_HANDSHAKE,
			"the server's Sec-WebSocket-Accept is not that of our key");
	if (http_header_count(h, "sec-websocket-extensions") > 0)
		return error_set(
			err, &WS_HANDSHAKE, "the server takes an extension nobody offered");
	if (http_header_count(h, "sec-websocket-protocol") > 0)
		return error_set(err, &WS_HANDSHAKE, "the server takes a protocol nobody offered");
	return 0;
}

static void on_head(void *arg, const struct http_head *h)
{
	struct ws *w = arg;
	struct error err = ERROR_INIT;

	if (h->status != 101) {
		w->cb->refused(w->arg, h);
		return;
	}
	if (check_handshake(w, h, &err) < 0) {
		tell_over(w, &err);
		return;
	}
	must(wslay_event_context_client_init(&w->frames, &frame_callbacks, w) == 0);
	wslay_event_config_set_max_recv_msg_length(w->frames, w->message_max_bytes);
	w->cb->open(w->arg, h);
}

static void on_body(void *arg, struct str bytes)
{
	struct ws *w = arg;

	if (w->frames)
		read_frames(w, bytes);
	else
		w->cb->body(w->arg, bytes);
}

static void on_done(void *arg, const struct error *failed)
{
	struct ws *w = arg;
	struct error err = ERROR_INIT;

	w->call = NULL;
	if (!failed && w->frames) {
		(void)error_set(&err, &WS_CLOSED, "the server ended the connection without a word");
		failed = &err;
	}
	tell_over(w, failed);
}

int ws_open(const struct ws_options *o, const struct ws_callbacks *cb, void *arg, struct ws **ret,
	struct error *err)
{
	static const struct fetch_callbacks callbacks = {NULL, on_head, on_body, on_done};
	struct ws *w = xcalloc(1, sizeof(*w));
	struct http_header headers[HEADERS_MAX];
	struct fetch_request q = {
		.method = "GET", .url = o->url, .headers = headers, .upgrade = true};
	char key[KEY_SIZE];

	must(o->header_count + HANDSHAKE_HEADERS <= HEADERS_MAX);
	w->loop = o->loop;
	w->cb = cb;
	w->arg = arg;
	w->message_max_bytes = o->message_max_bytes;
	w->reason = (struct buf)BUF_INIT(REASON_SHOWN_BYTES);
	if (make_key(w, key, err) < 0) {
		ws_free(w);
		return -1;
	}
	headers[q.header_count++] = (struct http_header){STR("upgrade"), STR("websocket")};
	headers[q.header_count++] = (struct http_header){STR("connection"), STR("Upgrade")};
	headers[q.header_count++] = (struct http_header){STR("sec-websocket-version"), STR("13")};
	headers[q.header_count++] = (struct http_header){
		STR("sec-websocket-key"), {key, KEY_SIZE - 1}
        };
	for (size_t i = 0; i < o->header_count; i++)
		headers[q.header_count++] = o->headers[i];
	if (fetch_start(o->fetch, &q, &callbacks, w, &w->call, err) < 0) {
		ws_free(w);
		return -1;
	}
	*ret = w;
	return 0;
}

void ws_send(struct ws *w, struct str text)
{
	const struct wslay_event_msg m = {WSLAY_TEXT_FRAME, (const uint8_t *)text.p, text.len};

	must(w->frames && !w->over);
	/* -1 once a close is on its way: what reads next tells so */
	if (wslay_event_queue_msg(w->frames, &m) == 0)
		(void)flush(w);
}

void ws_close(struct ws *w)
{
	if (!w || w->over)
		return;
	if (w->frames &&
		wslay_event_queue_close(w->frames, WSLAY_CODE_NORMAL_CLOSURE, NULL, 0) == 0)
		(void)flush(w); /* a courtesy */
	end(w);
}
