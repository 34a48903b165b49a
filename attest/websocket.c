/* The server's side of a WebSocket. */
#include "attest/websocket.h"

#include <errno.h>
#include <openssl/evp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "os/os.h"

enum {
	WAIT_MS = 10000,
	MESSAGE_MAX_BYTES = 4 * 1024 * 1024,
	FIN_TEXT = 0x81, /* RFC 6455 5.2 */
	MASKED = 0x80,
	LENGTH_16 = 126,
	LENGTH_64 = 127,
	MASK_BYTES = 4,
};
#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11" /* RFC 6455 1.3 */

static struct str header(struct str raw, const char *name)
{
	ptrdiff_t at = str_find(raw, str_from(name), 0), end;

	if (at < 0)
		return (struct str){NULL, 0};
	at += (ptrdiff_t)strlen(name);
	end = str_find(raw, STR("\r\n"), (size_t)at);
	return str_trim((struct str){raw.p + at, (size_t)(end - at)});
}

void websocket_accept(struct attest *t, const struct played_request *q)
{
	struct str key = header(q->raw, "\r\nsec-websocket-key:");
	unsigned char sum[EVP_MAX_MD_SIZE], accept[64];
	unsigned int len = 0;
	const char *text;
	struct error err = ERROR_INIT;

	attest_true(t, str_starts(q->raw, STR("GET ")), "the handshake is no GET");
	attest_true(
		t, str_is(header(q->raw, "\r\nupgrade:"), "websocket"), "no upgrade is asked for");
	attest_lacks(t, "the handshake", q->raw, "sec-websocket-extensions");
	text = attest_path(t, STR_FMT GUID, STR_ARG(key));
	attest_true(t, EVP_Digest(text, strlen(text), sum, &len, EVP_sha1(), NULL) == 1,
		"attest: no SHA-1");
	(void)EVP_EncodeBlock(accept, sum, (int)len);
	text = attest_path(t,
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
		"Sec-WebSocket-Accept: %s\r\n\r\n",
		(const char *)accept);
	attest_true(
		t, os_write_all(q->conn, text, strlen(text), &err) == 0, "attest: %s", err.text);
}

static void take(struct attest *t, int conn, void *to, size_t len)
{
	for (size_t have = 0; have < len;) {
		struct pollfd one = {.fd = conn, .events = POLLIN};
		ssize_t n = -1;

		if (poll(&one, 1, WAIT_MS) == 1)
			n = recv(conn, (char *)to + have, len - have, 0);
		attest_true(
			t, n > 0, "the client of the WebSocket says nothing: %s", strerror(errno));
		have += (size_t)n;
	}
}

struct str websocket_read(struct attest *t, int conn)
{
	unsigned char head[2], more[8], mask[MASK_BYTES];
	uint64_t len;
	char *text;

	take(t, conn, head, sizeof(head));
	attest_true(t, head[0] == FIN_TEXT, "a frame that begins with 0x%02x", head[0]);
	attest_true(t, head[1] & MASKED, "a client's frame without a mask");
	len = head[1] & ~MASKED;
	if (len >= LENGTH_16) {
		size_t bytes = len == LENGTH_16 ? 2 : 8;

		take(t, conn, more, bytes);
		len = 0;
		for (size_t i = 0; i < bytes; i++)
			len = len << 8 | more[i];
	}
	attest_true(
		t, len <= MESSAGE_MAX_BYTES, "a message of %llu bytes", (unsigned long long)len);
	take(t, conn, mask, sizeof(mask));
	text = arena_alloc(attest_arena(t), (size_t)len + 1);
	take(t, conn, text, (size_t)len);
	for (size_t i = 0; i < len; i++)
		text[i] = (char)(text[i] ^ mask[i % MASK_BYTES]);
	return (struct str){text, (size_t)len};
}

void websocket_write(struct attest *t, int conn, const char *text)
{
	const size_t len = strlen(text), bytes = len < LENGTH_16 ? 2 : 4;
	unsigned char head[4] = {FIN_TEXT, (unsigned char)len};
	struct error err = ERROR_INIT;

	attest_true(t, len <= UINT16_MAX, "attest: a message of %zu bytes", len);
	if (bytes == 4) {
		head[1] = LENGTH_16;
		head[2] = (unsigned char)(len >> 8);
		head[3] = (unsigned char)len;
	}
	attest_true(t,
		os_write_all(conn, head, bytes, &err) == 0 &&
			os_write_all(conn, text, len, &err) == 0,
		"attest: %s", err.text);
}
