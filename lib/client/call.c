/*
 * client: lines in and out, requests and their replies.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "clock/clock.h"
#include "internal.h"
#include "os/os.h"

const struct error_kind CLIENT_LOST = {"connection_lost", ERROR_CLASS_UNAVAILABLE};
const struct error_kind CLIENT_REMOTE = {"daemon_error", ERROR_CLASS_CONFLICT};

enum { READ_BYTES = 65536 };

static int lost(struct error *err, const char *how)
{
	return error_set(err, &CLIENT_LOST, "%s", how);
}

/* One line of what is there already. */
static bool take_line(struct client *c, struct str *ret)
{
	struct str have = buf_str(&c->in);
	ptrdiff_t end = str_find(have, STR("\n"), c->at);

	if (end < 0) {
		buf_consume(&c->in, c->at);
		c->at = 0;
		return false;
	}
	*ret = (struct str){have.p + c->at, (size_t)end - c->at};
	c->at = (size_t)end + 1;
	return true;
}

static int read_more(struct client *c, struct error *err)
{
	ssize_t n;

	if (buf_reserve(&c->in, READ_BYTES) < 0)
		return lost(err, "the daemon sent a line that is too long");
	do {
		n = read(c->fd, c->in.data + c->in.len, READ_BYTES);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_sys_kind(err, &CLIENT_LOST, "read from the daemon");
	if (n == 0)
		return lost(err, "the daemon closed the connection");
	c->in.len += (size_t)n;
	return 0;
}

/* 1 readable, 0 the time is over, -1. */
static int wait_readable(int fd, int64_t until_ms, struct error *err)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	for (;;) {
		int64_t left = until_ms - clock_mono_ms(clock_system());
		int rc = poll(&p, 1, until_ms < 0 ? -1 : left < 0 ? 0 : (int)left);

		if (rc < 0 && errno == EINTR)
			continue;
		if (rc < 0)
			return error_sys_kind(err, &CLIENT_LOST, "wait for the daemon");
		return rc;
	}
}

int client_line(struct client *c, int timeout_ms, struct str *ret, struct error *err)
{
	int64_t until = timeout_ms < 0 ? -1 : clock_mono_ms(clock_system()) + timeout_ms;

	while (!take_line(c, ret)) {
		int rc = wait_readable(c->fd, until, err);

		if (rc <= 0)
			return rc;
		if (read_more(c, err) < 0)
			return -1;
	}
	return 1;
}

int client_next(struct client *c, int timeout_ms, const struct json **ret, struct error *err)
{
	struct str line;
	int rc = client_line(c, timeout_ms, &line, err);

	if (rc <= 0)
		return rc;
	arena_release(&c->line_arena);
	if (json_parse(&c->line_arena, line, ret, err) < 0)
		return error_set(err, &CLIENT_LOST, "the daemon sent a line that is not JSON");
	return 1;
}

int client_send(struct client *c, struct str body, int64_t *ret_id, struct error *err)
{
	_cleanup_(buf) struct buf line = BUF_INIT(WIRE_LINE_MAX_BYTES);

	c->last_id++;
	(void)buf_printf(&line, "{\"id\":%lld,", (long long)c->last_id);
	(void)buf_put_str(&line, body);
	(void)buf_puts(&line, "}\n"); /* the buffer remembers that something did not fit */
	if (line.full)
		return error_set(
			err, &ERROR_LIMIT, "the request is over %d bytes", WIRE_LINE_MAX_BYTES);
	if (os_write_all(c->fd, line.data, line.len, err) < 0) {
		(void)error_prefix(err, "write to the daemon");
		if (err)
			err->kind = &CLIENT_LOST;
		return -1;
	}
	*ret_id = c->last_id;
	return 0;
}

static int remote_error(struct client *c, const struct json *line, struct error *err)
{
	struct str code = json_str(json_get(line, "error"));
	struct str detail = json_str(json_get(line, "detail"));

	(void)snprintf(
		c->remote_code, sizeof(c->remote_code), STR_FMT, STR_ARG(code)); /* cut at worst */
	if (detail.p)
		return error_set(err, &CLIENT_REMOTE, STR_FMT, STR_ARG(detail));
	return error_set(err, &CLIENT_REMOTE, STR_FMT, STR_ARG(code));
}

/* The reply to id; a protocol error that the daemon could not tie to an id (null) ends the call
 * too. */
static bool answers(const struct json *line, int64_t id)
{
	const struct json *given = json_get(line, "id");
	int64_t value;

	if (!given)
		return false;
	if (given->type == JSON_NULL)
		return json_get(line, "error") != NULL;
	return json_i64(given, &value) == 0 && value == id;
}

void client_on_event(struct client *c, void (*event)(void *arg, const struct json *line), void *arg)
{
	c->event = event;
	c->event_arg = arg;
}

int client_call(struct client *c, struct str body, int timeout_ms, const struct json **ret,
	struct error *err)
{
	int64_t until = timeout_ms < 0 ? -1 : clock_mono_ms(clock_system()) + timeout_ms;
	const struct json *line;
	int64_t id;

	if (client_send(c, body, &id, err) < 0)
		return -1;
	for (;;) {
		int64_t left = until < 0 ? -1 : until - clock_mono_ms(clock_system());
		int rc = client_next(c, until >= 0 && left < 0 ? 0 : (int)left, &line, err);

		if (rc < 0)
			return -1;
		if (rc == 0)
			return lost(err, "the daemon did not answer in time");
		if (answers(line, id))
			break;
		if (c->event && json_get(line, "event"))
			c->event(c->event_arg, line);
	}
	if (json_get(line, "error"))
		return remote_error(c, line, err);
	*ret = json_get(line, "result");
	return 0;
}

const char *client_remote_code(const struct client *c)
{
	return c->remote_code;
}
