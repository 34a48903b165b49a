/* agent shutdown: ends the daemon and returns when its process is gone. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/cmd/ask.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/connect.h"
#include "agent/cmd/output.h"
#include "clock/clock.h"
#include "mem/mem.h"
#include "os/os.h"

static const struct error_kind SHUTDOWN_TIMEOUT = {
	"daemon_shutdown_timeout", ERROR_CLASS_UNAVAILABLE};

enum {
	GRACE_MAX_S = 86400, /* spec 2.3 */
	GONE_MS = 30000,     /* spec 12: beyond the grace */
};

struct options {
	struct place_options place;
	struct cli_number grace;
	bool pretty;
};

static const struct cli_option own[] = {
	CLI_OPT_NUMBER(struct options, grace, "grace", "SECONDS", 0, GRACE_MAX_S,
		"let running turns go on for so long first (0)"),
	CLI_OPT_FLAG(struct options, pretty, "pretty", "print a sentence instead of JSON"),
};

static int open_process(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Until a pidfd is readable: 1, or the time is over: 0. */
static int wait_gone(int pidfd, int64_t timeout_ms)
{
	int64_t until = clock_mono_ms(clock_system()) + timeout_ms;
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	for (;;) {
		int64_t left = until - clock_mono_ms(clock_system());
		int rc = left > 0 ? poll(&p, 1, left > INT32_MAX ? INT32_MAX : (int)left) : 0;

		if (rc > 0)
			return 1;
		if (left <= 0)
			return 0;
		if (rc < 0 && errno != EINTR)
			return 0;
	}
}

/* Where its process cannot be seen the end of its connection has to do. */
static int wait_closed(struct client *c, int64_t timeout_ms)
{
	int64_t until = clock_mono_ms(clock_system()) + timeout_ms;
	const struct json *line;

	for (;;) {
		int64_t left = until - clock_mono_ms(clock_system());
		int rc = client_next(
			c, left > 0 ? (int)(left > INT32_MAX ? INT32_MAX : left) : 0, &line, NULL);

		if (rc <= 0)
			return rc < 0 ? 1 : 0;
	}
}

static int shut_down(struct connection *c, int64_t grace_ms, int64_t *ret_pid, struct error *err)
{
	_cleanup_(fd) int pidfd = -1;
	const struct json *result;
	int64_t pid = 0;
	struct ask a;
	int gone;

	if (json_i64(json_get(client_ready(c->client), "pid"), &pid) == 0 && pid > 0)
		pidfd = open_process((pid_t)pid); /* while it is sure to be the daemon's */
	ask_begin(&a, "shutdown");
	json_put_i64(&a.j, "grace_ms", grace_ms);
	if (ask_call(&a, c->client, &result, err) < 0)
		return -1;
	gone = pidfd >= 0 ? wait_gone(pidfd, GONE_MS + grace_ms)
			  : wait_closed(c->client, GONE_MS + grace_ms);
	if (!gone)
		return error_set(err, &SHUTDOWN_TIMEOUT,
			"the daemon, process %" PRId64 ", has not ended after %" PRId64 " s", pid,
			(GONE_MS + grace_ms) / 1000);
	*ret_pid = pid;
	return 0;
}

static void print(int64_t pid, bool pretty)
{
	_cleanup_(buf) struct buf b = BUF_INIT(1024);
	struct json_out j = JSON_OUT(&b);

	if (pretty) {
		(void)buf_printf(&b, "the daemon, pid %" PRId64 ", has ended", pid);
	} else {
		json_open(&j, '{');
		json_put_bool(&j, "shut_down", true);
		json_put_i64(&j, "pid", pid);
		json_close(&j, '}');
	}
	(void)buf_putc(&b, '\n');
	output_buf(&b);
}

static int run(void *options, char **args, int count)
{
	struct options *o = options;
	_cleanup_(connection) struct connection c = {.client = NULL};
	struct error err = ERROR_INIT;
	int64_t pid;

	(void)args;
	(void)count;
	if (connect_open(&o->place, NULL, CONNECT_ONLY, &c, &err) < 0 ||
		shut_down(&c, o->grace.value * 1000, &pid, &err) < 0)
		return ask_failed("shutdown", c.client, &err);
	print(pid, o->pretty);
	return output_end("shutdown", CLI_OK);
}

const struct cli_command cmd_shutdown = {
	.name = "shutdown",
	.arguments = "",
	.purpose = "end the daemon",
	.about = "Running turns are interrupted and say so; with --grace they may go on for a "
		 "while, and "
		 "no new one starts. Returns when the process is gone.",
	.groups = {{NULL, own, ARRAY_LEN(own), 0},
		   {"Place", place_options, ARRAY_LEN(place_options),
			offsetof(struct options, place)}},
	.options_size = sizeof(struct options),
	.run = run,
};
