/* The record of requests. */
#include "test/harness/record.h"

#include <fcntl.h>
#include <stdio.h>
#include <strings.h>

#include "os/os.h"

enum {
	ROW_MAX_BYTES = 160 << 20,
	KEPT_BYTES = 1 << 20, /* between two rows */
};

struct record {
	int fd;
	struct buf row;
};

int record_open(const char *path, struct record **ret, struct error *err)
{
	struct record *r = xcalloc(1, sizeof(*r));

	r->row = (struct buf)BUF_INIT(ROW_MAX_BYTES);
	if (os_open(path, O_WRONLY | O_CREAT | O_APPEND, 0600, &r->fd, err) < 0) {
		free(r);
		return -1;
	}
	*ret = r;
	return 0;
}

void record_free(struct record *r)
{
	if (!r)
		return;
	os_close(r->fd);
	buf_release(&r->row);
	free(r);
}

static void write_row(struct record *r)
{
	struct error err = ERROR_INIT;

	(void)buf_putc(&r->row, '\n'); /* full shows below */
	if (r->row.full)
		(void)fprintf(stderr, "loopback: a row of the record is too long\n");
	else if (os_write_all(r->fd, r->row.data, r->row.len, &err) < 0)
		(void)fprintf(stderr, "loopback: write the record: %s\n", err.text);
	if (r->row.cap > KEPT_BYTES)
		buf_release(&r->row);
	buf_clear(&r->row);
}

/* Names in lower case; the values of one that comes several times in one text. */
static void put_headers(struct json_out *j, const struct http_head *h)
{
	_cleanup_(buf) struct buf name = BUF_INIT(HTTP_HEAD_MAX_BYTES);
	_cleanup_(buf) struct buf value = BUF_INIT(2 * HTTP_HEAD_MAX_BYTES);

	json_open_key(j, "headers", '{');
	for (size_t i = 0; i < h->header_count; i++) {
		size_t first = i;

		buf_clear(&name);
		buf_clear(&value);
		for (size_t k = 0; k < h->headers[i].name.len; k++) {
			char c = h->headers[i].name.p[k];

			if (c >= 'A' && c <= 'Z')
				c ^= 0x20;
			(void)buf_putc(&name, c); /* fits */
		}
		for (size_t k = 0; k < h->header_count; k++) {
			if (h->headers[k].name.len != name.len ||
				strncasecmp(h->headers[k].name.p, name.data, name.len) != 0)
				continue;
			first = k < first ? k : first;
			if (value.len > 0)
				(void)buf_puts(&value, ", ");
			(void)utf8_put_clean(&value, h->headers[k].value);
		}
		if (first == i)
			json_put_str(j, name.data, buf_str(&value));
	}
	json_close(j, '}');
}

/* As received, on one line: a line's end in JSON is never inside a string. */
static void put_body(struct record *r, struct json_out *j, const struct record_request *q)
{
	size_t start = r->row.len;

	if (!q->body_is_json) {
		json_put_str(j, "body", q->body);
		return;
	}
	json_put_raw(j, "body", q->body);
	for (size_t i = start; i < r->row.len; i++) {
		if (r->row.data[i] == '\n' || r->row.data[i] == '\r')
			r->row.data[i] = ' ';
	}
}

void record_request(struct record *r, uint64_t n, const struct record_request *q)
{
	struct json_out j;

	if (!r)
		return;
	j = (struct json_out)JSON_OUT(&r->row);
	json_open(&j, '{');
	json_put_u64(&j, "n", n);
	json_put_i64(&j, "at_ms", q->now_ms);
	json_put_u64(&j, "connection", q->connection);
	json_put_bool(&j, "tls", q->tls);
	if (q->socket)
		json_put_bool(&j, "socket", true);
	json_put_str(&j, "method", q->head->method);
	json_put_str(&j, "path", q->head->target);
	if (q->conversation.p) {
		json_put_str(&j, "conversation", q->conversation);
		json_put_u64(&j, "round", q->round);
	}
	if (q->fault.p)
		json_put_str(&j, "refused", q->fault);
	put_headers(&j, q->head);
	put_body(r, &j, q);
	json_close(&j, '}');
	write_row(r);
}

void record_left(struct record *r, uint64_t n, uint64_t after_bytes)
{
	struct json_out j;

	if (!r)
		return;
	j = (struct json_out)JSON_OUT(&r->row);
	json_open(&j, '{');
	json_put_u64(&j, "n", n);
	json_put_bool(&j, "left", true);
	json_put_u64(&j, "after_bytes", after_bytes);
	json_close(&j, '}');
	write_row(r);
}

void record_bad(struct record *r, uint64_t n, uint64_t connection, const char *why)
{
	struct json_out j;

	if (!r)
		return;
	j = (struct json_out)JSON_OUT(&r->row);
	json_open(&j, '{');
	json_put_u64(&j, "n", n);
	json_put_u64(&j, "connection", connection);
	json_put_cstr(&j, "bad", why);
	json_close(&j, '}');
	write_row(r);
}
