#ifndef SANDBOX_TEST_CONFINED_H
#define SANDBOX_TEST_CONFINED_H
/*
 * Shell commands under real bubblewrap in a world.
 */
#include "world.h"

static inline void export_names(const struct world *w)
{
	must(setenv("TRY", TRIES, 1) == 0 && setenv("WORK", w->work, 1) == 0);
	must(setenv("OUT", w->outside, 1) == 0 && setenv("AGENT", w->agent, 1) == 0);
	must(setenv("STORE", w->store, 1) == 0 && setenv("SOCK", w->socket, 1) == 0);
	must(setenv("WALL", w->wall, 1) == 0 && setenv("T", w->tmp, 1) == 0);
	must(setenv("KEPT", w->kept, 1) == 0);
}

static inline int set_up_in(void **state, const char *work)
{
	struct world *w = world_new(work);

	export_names(w);
	w->sandbox = sandbox_new(&w->host);
	*state = w;
	return 0;
}

static inline int tear_down(void **state)
{
	world_free(*state);
	return 0;
}

/* One command on its way. */
struct job {
	struct sandbox_command *command;
	pid_t pid;
	int output;
};

static inline int job_prepare(struct job *j, struct world *w, const struct sandbox_policy *p,
	const char *script, struct error *err)
{
	static char sh[] = "/bin/sh", option[] = "-c";
	_cleanup_(mem) char *text = xstrdup(script);
	char *const inner[] = {sh, option, text, NULL};

	return sandbox_command_new(w->sandbox, p, p->workspace, inner, &j->command, err);
}

static inline void job_spawn(struct job *j)
{
	const struct sandbox_command *c = j->command;
	posix_spawn_file_actions_t actions;
	int ends[2];

	must(pipe2(ends, O_CLOEXEC) == 0);
	must(posix_spawn_file_actions_init(&actions) == 0);
	must(posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) == 0);
	must(posix_spawn_file_actions_adddup2(&actions, ends[1], 1) == 0);
	must(posix_spawn_file_actions_adddup2(&actions, ends[1], 2) == 0);
	for (size_t i = 0; i < c->fd_count; i++)
		must(posix_spawn_file_actions_adddup2(&actions, c->fds[i].fd, c->fds[i].as) == 0);
	for (int fd = 3; fd < SANDBOX_FD_FIRST; fd++) /* what whoever runs the tests left open */
		must(posix_spawn_file_actions_addclose(&actions, fd) == 0);
	must(posix_spawn_file_actions_addclosefrom_np(
		     &actions, SANDBOX_FD_FIRST + (int)c->fd_count) == 0);
	must(posix_spawn(&j->pid, c->program, &actions, NULL, c->argv, environ) == 0);
	must(posix_spawn_file_actions_destroy(&actions) == 0);
	must(close(ends[1]) == 0);
	j->output = ends[0];
}

/* Its output, which the caller frees. *ret_status may be NULL. */
static inline char *job_finish(struct job *j, int *ret_status)
{
	struct buf b = BUF_INIT(OUTPUT_MAX_BYTES);
	int status;
	ssize_t n;

	do {
		must(buf_reserve(&b, 4096) == 0);
		n = read(j->output, b.data + b.len, 4096);
		b.len += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	must(buf_putc(&b, '\0') == 0 && close(j->output) == 0);
	must(waitpid(j->pid, &status, 0) == j->pid);
	sandbox_command_free(j->command);
	if (ret_status)
		*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
	return buf_take(&b);
}

static inline char *run(
	struct world *w, const struct sandbox_policy *p, const char *script, int *ret_status)
{
	struct error err = ERROR_INIT;
	struct job j;

	assert_ok(job_prepare(&j, w, p, script, &err), &err);
	job_spawn(&j);
	return job_finish(&j, ret_status);
}

static inline void assert_says(
	struct world *w, const struct sandbox_policy *p, const char *script, const char *expected)
{
	_cleanup_(mem) char *got = run(w, p, script, NULL);

	if (strcmp(got, expected) != 0)
		fail_msg("%s\nsays: %s\nnot: %s", script, got, expected);
}

/* A script that the person runs, and that must work. */
static inline void person(const char *script)
{
	static char sh[] = "/bin/sh", option[] = "-c";
	_cleanup_(mem) char *text = xstrdup(script);
	char *argv[] = {sh, option, text, NULL};
	int status;
	pid_t pid;

	must(posix_spawn(&pid, sh, NULL, NULL, argv, environ) == 0);
	must(waitpid(pid, &status, 0) == pid);
	if (status != 0)
		fail_msg("%s: status %d", script, status);
}

/* Asked once: whether there is a sandbox to test at all. */
static inline bool confined_is_here(void)
{
	struct world *w = world_new("task");
	struct error err = ERROR_INIT;
	bool here;

	w->sandbox = sandbox_new(&w->host);
	here = sandbox_available(w->sandbox, &err) == 0;
	if (!here)
		print_message("not here: %s\n", err.text);
	world_free(w);
	return here;
}

#endif
