/* A provider played by hand. */
#include "attest/provider.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attest/drill.h"
#include "os/os.h"

enum {
	WAIT_MS = 10000,
	MOMENT_MS = 300,
	REQUEST_MAX_BYTES = 4 * 1024 * 1024,
	READ_BYTES = 65536,
};

void played_open(struct attest *t, struct played *p)
{
	p->listener = drill_listen_tcp(t, &p->port);
	p->url = attest_path(t, "http://127.0.0.1:%d/v1", p->port);
}

static bool is_readable(int fd, int ms)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};

	return poll(&one, 1, ms) == 1;
}

bool played_is_asked(const struct played *p)
{
	return is_readable(p->listener, MOMENT_MS);
}

/* How many bytes the request has, or 0 when its head is not there yet. */
static size_t whole_size(struct attest *t, struct str have)
{
	static const struct str name = {"\r\ncontent-length: ", 18};
	ptrdiff_t end = str_find(have, STR("\r\n\r\n"), 0), at = str_find(have, name, 0);
	uint64_t length = 0;
	size_t from, to;

	if (end < 0)
		return 0;
	if (at < 0 || at > end)
		at = str_find(have, STR("\r\nContent-Length: "), 0);
	if (at < 0 || at > end)
		return (size_t)end + 4;
	from = to = (size_t)at + name.len;
	while (to < have.len && have.p[to] >= '0' && have.p[to] <= '9')
		to++;
	attest_true(t,
		text_u64((struct str){have.p + from, to - from}, REQUEST_MAX_BYTES, "length",
			&length, NULL) == 0,
		"attest: a request without a length");
	return (size_t)end + 4 + (size_t)length;
}

struct played_request played_next(struct attest *t, const struct played *p)
{
	struct played_request q = {.conn = -1};
	struct buf b = BUF_INIT(REQUEST_MAX_BYTES);
	size_t whole = 0;

	attest_true(t, is_readable(p->listener, WAIT_MS), "the provider was not asked");
	q.conn = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
	attest_true(t, q.conn >= 0, "attest: accept: %s", strerror(errno));
	while (whole == 0 || b.len < whole) {
		ssize_t n;

		attest_true(t, buf_reserve(&b, READ_BYTES) == 0 && is_readable(q.conn, WAIT_MS),
			"attest: a request that does not end");
		n = recv(q.conn, b.data + b.len, READ_BYTES, 0);
		attest_true(t, n > 0, "attest: a request that was cut");
		b.len += (size_t)n;
		whole = whole_size(t, buf_str(&b));
	}
	q.raw = (struct str){arena_strndup(attest_arena(t), b.data, b.len), b.len};
	q.body = (struct str){q.raw.p + str_find(q.raw, STR("\r\n\r\n"), 0) + 4, 0};
	q.body.len = q.raw.len - (size_t)(q.body.p - q.raw.p);
	buf_release(&b);
	return q;
}

/* One event of a stream with this delta, then its end. */
static void answer(
	struct attest *t, const struct played_request *q, const char *delta, const char *reason)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
				   "Connection: close\r\n\r\n";
	const char *text = attest_path(t,
		"%sdata: "
		"{\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":null}]"
		"}\n\ndata: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":"
		"\"%s\"}]}\n\ndata: [DONE]\n\n",
		head, delta, reason);
	struct error err = ERROR_INIT;

	attest_true(
		t, os_write_all(q->conn, text, strlen(text), &err) == 0, "attest: %s", err.text);
	os_close(q->conn);
}

static const char *quoted(struct attest *t, const char *text)
{
	_cleanup_(buf) struct buf b = BUF_INIT(READ_BYTES);
	struct json_out j = JSON_OUT(&b);

	json_put_cstr(&j, NULL, text);
	return attest_path(t, STR_FMT, STR_ARG(buf_str(&b)));
}

void played_say(struct attest *t, const struct played_request *q, const char *text)
{
	answer(t, q, attest_path(t, "{\"role\":\"assistant\",\"content\":%s}", quoted(t, text)),
		"stop");
}

void played_call(
	struct attest *t, const struct played_request *q, const char *tool, const char *arguments)
{
	answer(t, q,
		attest_path(t,
			"{\"role\":\"assistant\",\"tool_calls\":[{\"index\":0,\"id\":\"call_1\","
			"\"type\":\"function\",\"function\":{\"name\":\"%s\",\"arguments\":%s}}]}",
			tool, quoted(t, arguments)),
		"tool_calls");
}
