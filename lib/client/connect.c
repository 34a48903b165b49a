/*
 * client: connecting, and starting a daemon when none answers.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock/clock.h"
#include "internal.h"
#include "os/os.h"

const struct error_kind CLIENT_NO_DAEMON = {"daemon_not_running", ERROR_CLASS_UNAVAILABLE};
const struct error_kind CLIENT_START_TIMEOUT = {"daemon_start_timeout", ERROR_CLASS_UNAVAILABLE};
const struct error_kind CLIENT_START_FAILED = {"daemon_start_failed", ERROR_CLASS_UNAVAILABLE};
const struct error_kind CLIENT_REFUSED = {"session_limit", ERROR_CLASS_LIMIT};
const struct error_kind CLIENT_MISMATCH = {"daemon_configuration_mismatch", ERROR_CLASS_CONFLICT};

enum {
	POLL_MS = 10,      /* ours: between two looks for a daemon that is starting */
	CONNECT_MS = 1000, /* ours: a daemon that listens accepts at once */
	IN_MAX_BYTES = 2 * WIRE_LINE_MAX_BYTES + 65536,
	LOST_RACE = 75, /* agent spec 12: serve lost the ownership race */
};

void client_free(struct client *c)
{
	if (!c)
		return;
	os_close(c->fd);
	arena_release(&c->ready_arena);
	arena_release(&c->line_arena);
	buf_release(&c->in);
	free(c);
}
MEM_CLEANUP(client, struct client *, client_free)

int client_fd(const struct client *c)
{
	return c->fd;
}

const struct json *client_ready(const struct client *c)
{
	return c->ready;
}

static struct client *client_new(int taken_fd)
{
	struct client *c = xcalloc(1, sizeof(*c));

	c->fd = taken_fd;
	c->in = (struct buf)BUF_INIT(IN_MAX_BYTES);
	return c;
}

/* The first line: ready, or why not. `where` is for people. */
static int read_ready(struct client *c, const char *where, int timeout_ms, struct error *err)
{
	struct str line, code;
	int rc = client_line(c, timeout_ms, &line, err);

	if (rc == 0)
		return error_set(
			err, &CLIENT_START_TIMEOUT, "'%s' accepts but says nothing", where);
	if (rc < 0)
		return -1;
	if (json_parse(&c->ready_arena, line, &c->ready, NULL) < 0 || c->ready->type != JSON_OBJECT)
		c->ready = NULL;
	code = json_str(c->ready ? json_get(c->ready, "error") : NULL);
	if (str_is(code, CLIENT_REFUSED.code))
		return error_set(err, &CLIENT_REFUSED, "the daemon gives no session: " STR_FMT,
			STR_ARG(json_str(json_get(c->ready, "detail"))));
	if (!c->ready || !str_is(json_str(json_get(c->ready, "event")), "ready"))
		return error_set(
			err, &CLIENT_LOST, "what listens on '%s' is no agent daemon", where);
	return 0;
}

int client_of_fd(int fd, const char *where, struct client **ret, struct error *err)
{
	_cleanup_(client) struct client *c = client_new(fd);

	if (read_ready(c, where, CLIENT_START_MS, err) < 0)
		return -1;
	*ret = mem_take(&c);
	return 0;
}

/* Connected and the ready line read. 1, 0 nobody is there (yet), -1. */
static int try_open(const char *socket, int timeout_ms, struct client **ret, struct error *err)
{
	_cleanup_(client) struct client *c = client_new(-1);
	struct error why = ERROR_INIT;

	if (os_connect_unix(
		    socket, timeout_ms < CONNECT_MS ? timeout_ms : CONNECT_MS, &c->fd, &why) < 0) {
		if (why.sys == ENOENT || why.sys == ECONNREFUSED)
			return 0;
		if (err)
			*err = why;
		return error_prefix(err, "connect to '%s'", socket);
	}
	if (read_ready(c, socket, timeout_ms, err) < 0)
		return -1;
	*ret = mem_take(&c);
	return 1;
}

/* The log is 0600 from its first moment and tightened when it was looser (AG-195). */
static int open_log(const char *path, int *ret_fd, struct error *err)
{
	_cleanup_(fd) int fd = -1;

	if (os_open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600, &fd, err) < 0)
		return error_prefix(err, "the daemon's log");
	if (fchmod(fd, 0600) < 0)
		return error_sys(err, "set the mode of '%s'", path);
	*ret_fd = fd_take(&fd);
	return 0;
}

/* In a session of its own, its standard error the log. */
static int start_daemon(const struct client_start *start, pid_t *ret_pid, struct error *err)
{
	_cleanup_(fd) int log = -1;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int rc;

	if (open_log(start->log, &log, err) < 0)
		return -1;
	(void)sigemptyset(&none); /* these cannot fail with valid arguments */
	(void)sigfillset(&all);
	must(posix_spawn_file_actions_init(&files) == 0 && posix_spawnattr_init(&attr) == 0);
	must(posix_spawnattr_setflags(&attr,
		     POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) == 0);
	must(posix_spawnattr_setsigmask(&attr, &none) == 0 &&
		posix_spawnattr_setsigdefault(&attr, &all) == 0);
	must(posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0) == 0);
	must(posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0) == 0);
	must(posix_spawn_file_actions_adddup2(&files, log, 2) == 0);
	rc = posix_spawn(ret_pid, start->program, &files, &attr, start->argv, environ);
	(void)posix_spawn_file_actions_destroy(&files);
	(void)posix_spawnattr_destroy(&attr);
	if (rc != 0) {
		errno = rc;
		return error_sys_kind(err, &CLIENT_START_FAILED, "start '%s'", start->program);
	}
	return 0;
}

/* A daemon that ended before it answered: lost the race (the winner will answer) or failed. */
static int look_at_child(pid_t *pid, const struct client_start *start, struct error *err)
{
	int status;

	if (*pid <= 0 || waitpid(*pid, &status, WNOHANG) != *pid)
		return 0;
	*pid = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == LOST_RACE)
		return 0;
	return error_set(
		err, &CLIENT_START_FAILED, "the daemon ended at once: see '%s'", start->log);
}

static int start_and_open(const char *socket, const struct client_start *start, struct client **ret,
	struct error *err)
{
	int64_t until = clock_mono_ms(clock_system()) + CLIENT_START_MS;
	pid_t pid = 0;

	if (start_daemon(start, &pid, err) < 0)
		return -1;
	for (;;) {
		int64_t left = until - clock_mono_ms(clock_system());
		int rc = left > 0 ? try_open(socket, (int)left, ret, err) : 0;

		if (rc != 0)
			return rc < 0 ? -1 : 0;
		if (left <= 0)
			return error_set(err, &CLIENT_START_TIMEOUT,
				"no daemon answered within %d s: see '%s'", CLIENT_START_MS / 1000,
				start->log);
		if (look_at_child(&pid, start, err) < 0)
			return -1;
		(void)poll(NULL, 0, POLL_MS); /* a signal only shortens it */
	}
}

int client_open(const char *socket, const struct client_start *start, struct client **ret,
	struct error *err)
{
	int rc;

	if (client_socket_is_fallback(socket) &&
		client_check_fallback_dir(socket, start && start->argv, err) < 0)
		return -1;
	rc = try_open(socket, CLIENT_START_MS, ret, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (!start || !start->argv)
		return error_set(err, &CLIENT_NO_DAEMON, "no daemon listens on '%s'", socket);
	return start_and_open(socket, start, ret, err);
}
