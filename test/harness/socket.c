/* The server's side of a WebSocket. */
#include "test/harness/socket.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <wslay/wslay.h>

#include "mem/mem.h"

enum {
	MESSAGE_MAX_BYTES = 64 << 20, /* as of a body */
	SHORT_MAX = 125, /* RFC 6455 5.2: longer ones have their length in 2 or 8 bytes */
	MIDDLE_MAX = 65535,
	FIN = 0x80,
};
#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

bool socket_wanted(const struct http_head *h)
{
	return http_header_has(h, "upgrade", "websocket") &&
	       http_header_has(h, "connection", "upgrade") &&
	       str_is(http_header_get(h, "sec-websocket-version"), "13") &&
	       http_header_get(h, "sec-websocket-key").len == 24;
}

void socket_put_handshake(
	struct buf *to, const struct http_head *h, const struct script_socket *how)
{
	_cleanup_(buf) struct buf text = BUF_INIT(256);
	unsigned char sum[EVP_MAX_MD_SIZE], accept[64];
	unsigned int len = 0;

	(void)buf_put_str(&text, http_header_get(h, "sec-websocket-key"));
	(void)buf_puts(&text, how->bad_accept ? "another" : GUID);
	must(EVP_Digest(text.data, text.len, sum, &len, EVP_sha1(), NULL) == 1);
	(void)EVP_EncodeBlock(accept, sum, (int)len);
	http_put_response(to, 101);
	must(http_put_header(to, "Upgrade", STR("websocket"), NULL) == 0);
	must(http_put_header(to, "Connection", STR("Upgrade"), NULL) == 0);
	must(http_put_header(to, "Sec-WebSocket-Accept", str_from((char *)accept), NULL) == 0);
	if (how->extension)
		must(http_put_header(
			     to, "Sec-WebSocket-Extensions", STR("permessage-deflate"), NULL) == 0);
	http_put_end(to);
}

struct socket {
	struct wslay_event_context *frames;
	const struct socket_callbacks *cb;
	void *arg;
	struct str in;
};

static ssize_t take_bytes(
	struct wslay_event_context *c, uint8_t *to, size_t len, int flags, void *arg)
{
	struct socket *s = arg;
	size_t n = s->in.len < len ? s->in.len : len;

	(void)flags;
	if (n == 0) {
		wslay_event_set_error(c, WSLAY_ERR_WOULDBLOCK);
		return -1;
	}
	memcpy(to, s->in.p, n);
	s->in = (struct str){s->in.p + n, s->in.len - n};
	return (ssize_t)n;
}

static ssize_t put_bytes(
	struct wslay_event_context *c, const uint8_t *p, size_t len, int flags, void *arg)
{
	struct socket *s = arg;

	(void)c;
	(void)flags;
	s->cb->send(s->arg, (struct str){(const char *)p, len});
	return (ssize_t)len;
}

static void on_message(
	struct wslay_event_context *c, const struct wslay_event_on_msg_recv_arg *m, void *arg)
{
	struct socket *s = arg;

	(void)c;
	if (m->opcode == WSLAY_TEXT_FRAME)
		s->cb->message(s->arg,
			(struct str){m->msg_length ? (const char *)m->msg : "", m->msg_length});
}

struct socket *socket_new(const struct socket_callbacks *cb, void *arg)
{
	static const struct wslay_event_callbacks callbacks = {.recv_callback = take_bytes,
		.send_callback = put_bytes,
		.on_msg_recv_callback = on_message};
	struct socket *s = xcalloc(1, sizeof(*s));

	s->cb = cb;
	s->arg = arg;
	must(wslay_event_context_server_init(&s->frames, &callbacks, s) == 0);
	wslay_event_config_set_max_recv_msg_length(s->frames, MESSAGE_MAX_BYTES);
	return s;
}

void socket_free(struct socket *s)
{
	if (!s)
		return;
	wslay_event_context_free(s->frames);
	free(s);
}

int socket_take(struct socket *s, struct str bytes, const char **ret_why)
{
	int rc;

	s->in = bytes;
	rc = wslay_event_recv(s->frames);
	if (wslay_event_want_write(s->frames))
		(void)wslay_event_send(s->frames); /* put_bytes takes all */
	*ret_why = NULL;
	if (rc == 0 && wslay_event_get_read_enabled(s->frames))
		return 0;
	if (!wslay_event_get_close_received(s->frames))
		*ret_why = "what came are no frames of a WebSocket";
	return -1;
}

/* Frames of a server are not masked. */
static void put_frame(struct buf *to, unsigned first, struct str payload)
{
	int bytes = 0;

	(void)buf_putc(to, (char)first);
	if (payload.len <= SHORT_MAX) {
		(void)buf_putc(to, (char)payload.len);
	} else {
		bytes = payload.len <= MIDDLE_MAX ? 2 : 8;
		(void)buf_putc(to, (char)(bytes == 2 ? 126 : 127));
	}
	for (int i = bytes - 1; i >= 0; i--)
		(void)buf_putc(to, (char)(payload.len >> (8 * i)));
	(void)buf_put_str(to, payload);
}

void socket_put_text(struct buf *to, struct str text, size_t frame_bytes, bool pings)
{
	unsigned opcode = WSLAY_TEXT_FRAME;

	do {
		size_t len = frame_bytes > 0 && frame_bytes < text.len ? frame_bytes : text.len;
		unsigned last = len == text.len ? FIN : 0;

		if (pings)
			put_frame(to, FIN | WSLAY_PING, STR("are you there"));
		put_frame(to, last | opcode, (struct str){text.p, len});
		text = (struct str){text.p + len, text.len - len};
		opcode = WSLAY_CONTINUATION_FRAME;
	} while (text.len > 0);
}

void socket_put_close(struct buf *to, uint16_t code)
{
	char payload[2] = {(char)(code >> 8), (char)code};

	put_frame(to, FIN | WSLAY_CONNECTION_CLOSE, (struct str){payload, sizeof(payload)});
}
