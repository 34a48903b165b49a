/*
 * Finding bubblewrap and trying it once. A sandbox that cannot be made must be known before a bot
 * counts on it, and why, in words that a person can act on.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"
#include "os/os.h"

enum {
	PROBE_TIMEOUT_MS = 5000, /* ours: a thousand times what it takes */
	PROBE_OUTPUT_MAX_BYTES = 4096,
	KNOB_MAX_BYTES = 64,
};

/* One short run of bubblewrap. */
struct run {
	const char *program;
	char *const *argv;
	const struct sandbox_fd *fds;
	size_t fd_count;
	struct buf said; /* stdout and stderr */
	int status;      /* of waitpid */
	bool late;
};

static int run_spawn(struct run *r, int out, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	int rc;

	(void)posix_spawn_file_actions_init(&actions); /* glibc: fails for want of memory only */
	(void)posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&actions, out, 1);
	(void)posix_spawn_file_actions_adddup2(&actions, out, 2);
	for (size_t i = 0; i < r->fd_count; i++)
		(void)posix_spawn_file_actions_adddup2(&actions, r->fds[i].fd, r->fds[i].as);
	rc = posix_spawn(ret_pid, r->program, &actions, NULL, r->argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return rc;
}

static int64_t now_ms(void)
{
	struct timespec t;

	must(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
	return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

/* Reads until the end of output; what is past the ceiling is dropped. false: not by the deadline.
 */
static bool run_read(struct run *r, int from, int64_t deadline_ms)
{
	for (;;) {
		struct pollfd p = {.fd = from, .events = POLLIN};
		int64_t left = deadline_ms - now_ms();
		char chunk[1024];
		ssize_t n;

		if (left <= 0)
			return false;
		if (poll(&p, 1, (int)left) <= 0)
			continue;
		n = read(from, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return true;
		(void)buf_put(&r->said, chunk, (size_t)n);
	}
}

/* The output may end before the process does: waits for that one too. */
static bool run_wait(pid_t pid, int64_t deadline_ms)
{
	_cleanup_(fd) int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int64_t left = deadline_ms - now_ms();

		if (left <= 0)
			return false;
		if (fd < 0 || poll(&p, 1, (int)left) > 0)
			return true;
	}
}

/* 0 when it ran, whatever came of it; else the errno. */
static int run(struct run *r)
{
	int64_t deadline_ms = now_ms() + PROBE_TIMEOUT_MS;
	_cleanup_(fd) int in = -1;
	int ends[2], rc;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return errno;
	in = ends[0];
	rc = run_spawn(r, ends[1], &pid);
	os_close(ends[1]);
	if (rc != 0)
		return rc;
	r->late = !run_read(r, in, deadline_ms) || !run_wait(pid, deadline_ms);
	if (r->late)
		(void)kill(pid, SIGKILL); /* its sandbox dies with it */
	while (waitpid(pid, &r->status, 0) < 0) {
		if (errno != EINTR)
			return errno;
	}
	return 0;
}

/* NULL: this file may be run as bubblewrap. Who can write it could run anything unconfined. */
static char *refusal(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return xasprintf("'%s': %s", path, strerrordesc_np(errno));
	if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0)
		return xasprintf("'%s' is no program", path);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return xasprintf("'%s' belongs to user %u", path, (unsigned)st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return xasprintf("'%s' may be written by others than its owner", path);
	return NULL;
}

char *probe_find(const char *const *paths, char **ret_why)
{
	_cleanup_(buf) struct buf why = BUF_INIT(PROBE_OUTPUT_MAX_BYTES);

	for (size_t i = 0; paths[i]; i++) {
		_cleanup_(mem) char *no = refusal(paths[i]);

		if (!no)
			return xstrdup(paths[i]);
		(void)buf_printf(&why, "%s%s", i > 0 ? "; " : "", no); /* cut when absurdly long */
	}
	*ret_why = xasprintf(
		"no usable bubblewrap (%s): install the package bubblewrap", buf_str(&why).p);
	return NULL;
}

char *probe_version(const char *program)
{
	static char name[] = "bwrap", option[] = "--version";
	char *const argv[] = {name, option, NULL};
	struct run r = {.program = program, .argv = argv, .said = BUF_INIT(PROBE_OUTPUT_MAX_BYTES)};
	char *version = NULL;
	struct str said;

	if (run(&r) == 0 && !r.late && r.status == 0) {
		said = str_trim(buf_str(&r.said));
		if (said.len > 0 && utf8_valid(said) && !memchr(said.p, '\n', said.len))
			version = xstrndup(said.p, said.len);
	}
	buf_release(&r.said);
	return version;
}

/* A number in a file of /proc/sys; -1 when it is not there. */
static int64_t knob(const char *path)
{
	char text[KNOB_MAX_BYTES];
	_cleanup_(fd) int fd = -1;
	size_t len = 0;
	int64_t value;

	if (os_open(path, O_RDONLY, 0, &fd, NULL) < 0 ||
		os_read_full(fd, text, sizeof(text), &len, NULL) < 0)
		return -1;
	return text_i64(str_trim((struct str){text, len}), INT32_MIN, INT32_MAX, path, &value,
		       NULL) < 0
		       ? -1
		       : value;
}

char *probe_explain(struct str said, const struct probe_knobs *k)
{
	if (k->max_user_namespaces == 0)
		return xstrdup("user namespaces are turned off: set user.max_user_namespaces "
			       "above 0 (sysctl -w user.max_user_namespaces=15000)");
	if (k->userns_clone == 0)
		return xstrdup("this kernel lets only root make user namespaces: set "
			       "kernel.unprivileged_userns_clone to 1 "
			       "(sysctl -w kernel.unprivileged_userns_clone=1)");
	if (k->apparmor == 1)
		return xstrdup("AppArmor keeps unconfined programs from making user namespaces: "
			       "give bubblewrap a profile that allows 'userns', or set "
			       "kernel.apparmor_restrict_unprivileged_userns to 0");
	if (str_find(said, STR("Can't mount proc"), 0) >= 0)
		return xstrdup("a new /proc cannot be mounted, as in a container that masks parts "
			       "of its own: start the container with unmasked paths (docker: "
			       "--security-opt systempaths=unconfined)");
	if (str_find(said, STR("bind-fd"), 0) >= 0)
		return xstrdup("this bubblewrap has no --bind-fd: it needs 0.10, or an older one "
			       "with the fix for CVE-2024-42472 (Debian: 0.8.0-2+deb12u1)");
	return xstrdup("in a container, allow it to make user namespaces (docker: --security-opt "
		       "seccomp=unconfined)");
}

static char *explain(const struct run *r, const char *program)
{
	const struct probe_knobs k = {
		.userns_clone = (int)knob("/proc/sys/kernel/unprivileged_userns_clone"),
		.apparmor = (int)knob("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
		.max_user_namespaces = knob("/proc/sys/user/max_user_namespaces"),
	};
	struct str said = str_trim(buf_str(&r->said)), line;
	_cleanup_(mem) char *hint = probe_explain(said, &k);

	(void)str_next(&said, '\n', &line);
	return xasprintf("'%s' cannot make its namespaces (" STR_FMT "): %s", program,
		STR_ARG(str_cut(line, ERROR_TEXT_MAX / 4)), hint);
}

char *probe_run(const char *program, int filter_fd)
{
	static char folder_name[] = "/tmp", true_program[] = "/bin/true";
	char *const inner[] = {true_program, NULL};
	const struct mount folder = {MOUNT_WRITABLE, folder_name, -1, NULL};
	_cleanup_(fd) int folder_fd = -1;
	_cleanup_(path_list) struct path_list args = {0};
	struct run r = {.program = program, .said = BUF_INIT(PROBE_OUTPUT_MAX_BYTES)};
	char *why = NULL;
	int rc;

	if (guard_open_folder(folder.path, &folder_fd, NULL) < 0)
		return xasprintf("'%s' is no folder", folder.path);
	const struct sandbox_fd fds[] = {
		{filter_fd, SANDBOX_FD_FIRST    },
                {folder_fd, SANDBOX_FD_FIRST + 1}
        };
	command_args_base(&args, false);
	command_args_mount(&args, &folder, SANDBOX_FD_FIRST + 1);
	command_args_inner(&args, "/", inner);
	r.argv = args.items;
	r.fds = fds;
	r.fd_count = ARRAY_LEN(fds);
	rc = run(&r);
	if (rc != 0)
		why = xasprintf("start '%s': %s", program, strerrordesc_np(rc));
	else if (r.late)
		why = xasprintf("'%s' did not end within %d ms", program, PROBE_TIMEOUT_MS);
	else if (r.status != 0)
		why = explain(&r, program);
	buf_release(&r.said);
	return why;
}
