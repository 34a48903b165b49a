/* Ending a daemon and waiting until its process is gone. */
#include "agent/cmd/gone.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/cmd/ask.h"
#include "clock/clock.h"
#include "os/os.h"

const struct error_kind GONE_TIMEOUT = {"daemon_shutdown_timeout", ERROR_CLASS_UNAVAILABLE};

enum { GONE_MS = 30000 /* spec 12: beyond the grace */ };

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

int gone_shutdown(struct client *c, int64_t grace_ms, int64_t *ret_pid, struct error *err)
{
	_cleanup_(fd) int pidfd = -1;
	const struct json *result;
	int64_t pid = 0;
	struct ask a;
	int gone;

	if (json_i64(json_get(client_ready(c), "pid"), &pid) == 0 && pid > 0)
		pidfd = open_process((pid_t)pid); /* while it is sure to be the daemon's */
	ask_begin(&a, "shutdown");
	json_put_i64(&a.j, "grace_ms", grace_ms);
	if (ask_call(&a, c, &result, err) < 0)
		return -1;
	gone = pidfd >= 0 ? wait_gone(pidfd, GONE_MS + grace_ms)
			  : wait_closed(c, GONE_MS + grace_ms);
	if (!gone)
		return error_set(err, &GONE_TIMEOUT,
			"the daemon, process %" PRId64 ", has not ended after %" PRId64 " s", pid,
			(GONE_MS + grace_ms) / 1000);
	*ret_pid = pid;
	return 0;
}

void gone_force(struct client *c)
{
	_cleanup_(fd) int pidfd = -1;
	int64_t pid = 0;

	if (json_i64(json_get(client_ready(c), "pid"), &pid) == 0 && pid > 0)
		pidfd = open_process((pid_t)pid);
	if (gone_shutdown(c, 0, &pid, NULL) < 0 && pidfd >= 0) {
		/* gone meanwhile is as good */
		(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
		(void)wait_gone(pidfd, GONE_MS);
	}
}
