/* A case's own world: its home, the files and programs in it, how it ends. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attest/internal.h"
#include "clock/clock.h"
#include "os/os.h"
#include "suite_config.h"

enum {
	FILE_MAX_BYTES = 64 * 1024 * 1024,
	RUN_LIMIT_MS = 30000,
	UNTIL_MS = 10000,
	LOOK_MS = 5, /* between two looks at something that has no descriptor to wait for */
};

/* Kills every child there is: a subreaper also gets what a case left behind, such as the daemons
 * that a command line started. -1 where the kernel does not list them. */
static int kill_children(void)
{
	_cleanup_(mem) char *path = xasprintf("/proc/self/task/%d/children", (int)getpid());
	_cleanup_(buf) struct buf list = BUF_INIT(65536);
	struct str rest, word;
	uint64_t pid;

	if (os_read_file(path, &list, NULL) < 0)
		return -1;
	for (rest = buf_str(&list); str_next(&rest, ' ', &word);) {
		if (word.len > 0 && text_u64(word, INT32_MAX, "pid", &pid, NULL) == 0)
			(void)kill((pid_t)pid, SIGKILL); /* a zombie: reaped all the same */
	}
	return 0;
}

static void end_world(const struct attest_left *left)
{
	int wait;

	for (size_t i = 0; i < left->child_count && i < CHILDREN_MAX; i++) {
		(void)kill(-left->children[i], SIGKILL); /* gone already, most of them */
		(void)kill(left->children[i], SIGKILL);
	}
	do {
		wait = kill_children() == 0 ? 0 : WNOHANG;
	} while (waitpid(-1, NULL, wait) > 0 || errno == EINTR);
	if (left->home[0])
		(void)os_remove_tree(left->home, NULL); /* a leftover below /var/tmp harms nobody */
	if (left->outside[0])
		(void)os_remove_tree(left->outside, NULL);
	if (left->tmp[0])
		(void)os_remove_tree(left->tmp, NULL);
}

static void say(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
static void say(const char *format, va_list args)
{
	(void)vprintf(format, args); /* to the runner */
	(void)printf("\n");
	(void)fflush(stdout);
}

void attest_broken(struct attest *t, const char *format, ...)
{
	va_list args;

	(void)t;
	va_start(args, format);
	say(format, args);
	va_end(args);
	_exit(EXIT_BROKEN); /* what it started is its keeper's to end */
}

void attest_not_here(struct attest *t, const char *format, ...)
{
	va_list args;

	(void)t;
	va_start(args, format);
	say(format, args);
	va_end(args);
	_exit(EXIT_NOT_HERE);
}

void attest_note(struct attest *t, const char *format, ...)
{
	va_list args;

	if (!t->verbose)
		return;
	va_start(args, format);
	(void)fprintf(stderr, "%s: ", t->row->id);
	(void)vfprintf(stderr, format, args);
	(void)fprintf(stderr, "\n");
	va_end(args);
}

static void run_case(struct attest *t)
{
	const char *missing = attest_missing(t, t->row->needs);

	if (missing)
		attest_not_here(t, "%s", missing);
	t->row->run(t);
	(void)fflush(stdout);
	arena_release(&t->arena);
	_exit(EXIT_HELD);
}

/* Until the case has ended, or is to end: its exit status. */
static int wait_for_case(pid_t pid, const sigset_t *signals)
{
	int signum = SIGCHLD, status;
	bool told = false;

	while (waitpid(pid, &status, WNOHANG) != pid) {
		(void)sigwait(signals, &signum); /* fails for no such signals only */
		told = told || signum != SIGCHLD;
		if (told)
			(void)kill(pid, SIGKILL); /* not reaped, so it is there */
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (!told)
		(void)printf("the case died of signal %d\n", WTERMSIG(status)); /* to the runner */
	(void)fflush(stdout);
	return EXIT_BROKEN;
}

int attest_case_main(const struct attest_case *row, bool verbose, bool rough)
{
	static struct attest world;
	struct attest_left *left;
	pid_t keeper = getpid(), pid;
	sigset_t signals, before;
	int status;

	/* shared, so that the keeper knows of it whatever becomes of the case */
	// cppcheck-suppress invalidFunctionArg ; because -1 is what MAP_ANONYMOUS takes
	left = mmap(NULL, sizeof(*left), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(left != MAP_FAILED);
	world = (struct attest){.row = row, .verbose = verbose, .rough = rough, .left = left};
	(void)sigemptyset(&signals); /* these fail for no such signal only */
	(void)sigaddset(&signals, SIGCHLD);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &signals, &before);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* see kill_children */
	pid = fork();                           /* one thread, and only to run the case */
	must(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != keeper)
			_exit(EXIT_BROKEN);
		(void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* cases look for what daemons leave */
		(void)sigprocmask(SIG_SETMASK, &before, NULL);
		run_case(&world);
	}
	status = wait_for_case(pid, &signals);
	end_world(left);
	return status;
}

static void temp_dir(struct attest *t, const char *prefix, char to[FOLDER_MAX_BYTES])
{
	_cleanup_(mem) char *path = NULL;
	struct error err = ERROR_INIT;

	if (os_temp_dir(prefix, &path, &err) < 0)
		attest_broken(t, "attest: %s", err.text);
	must(strlen(path) < FOLDER_MAX_BYTES);
	(void)snprintf(to, FOLDER_MAX_BYTES, "%s", path); /* fits */
}

const char *attest_home(struct attest *t)
{
	if (!t->left->home[0])
		temp_dir(t, "/var/tmp/attest-", t->left->home);
	return t->left->home;
}

const char *attest_outside(struct attest *t)
{
	if (!t->left->outside[0])
		temp_dir(t, "/var/tmp/attest-", t->left->outside);
	return t->left->outside;
}

const char *attest_tmp(struct attest *t)
{
	if (!t->left->tmp[0])
		temp_dir(t, "/tmp/attest-", t->left->tmp);
	return t->left->tmp;
}

const char *attest_bin(const char *program)
{
	static char path[4096];
	char *dir = NULL;

	/* what is too long is not found, which shows */
	must(os_program_dir(&dir, NULL) == 0);
	(void)snprintf(path, sizeof(path), "%s/%s", dir, program);
	if (!attest_exists(path)) /* a helper, once it is installed */
		(void)snprintf(path, sizeof(path), "%s/../libexec/consort/%s", dir, program);
	if (!attest_exists(path))
		(void)snprintf(path, sizeof(path), "%s/%s", SUITE_LIBEXEC, program);
	free(dir);
	return path;
}

const char *attest_id(const struct attest *t)
{
	return t->row->id;
}

struct arena *attest_arena(struct attest *t)
{
	return &t->arena;
}

char *attest_path(struct attest *t, const char *format, ...)
{
	char *text, *kept;
	va_list args;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	kept = arena_strndup(&t->arena, text, strlen(text));
	free(text);
	return kept;
}

static void make_parents(struct attest *t, const char *path)
{
	char *copy = attest_path(t, "%s", path);

	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(copy, 0755) < 0 && errno != EEXIST)
			attest_broken(t, "attest: make '%s': %s", copy, strerror(errno));
		*slash = '/';
	}
}

void attest_write(struct attest *t, const char *path, const char *content)
{
	struct error err = ERROR_INIT;
	int fd = -1;

	make_parents(t, path);
	if (os_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644, &fd, &err) < 0 ||
		os_write_all(fd, content, strlen(content), &err) < 0)
		attest_broken(t, "attest: %s", err.text);
	os_close(fd);
}

struct str attest_read(struct attest *t, const char *path)
{
	struct buf content = BUF_INIT(FILE_MAX_BYTES);
	struct str kept = STR("");

	if (os_read_file(path, &content, NULL) == 0 && content.len > 0)
		kept = (struct str){
			arena_strndup(&t->arena, content.data, content.len), content.len};
	buf_release(&content);
	return kept;
}

bool attest_exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

void attest_mode(struct attest *t, const char *what, const char *path, mode_t mode)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		attest_broken(t, "%s: '%s' is not there", what, path);
	attest_true(t, (st.st_mode & 07777) == mode, "%s: the mode of '%s' is %04o, not %04o", what,
		path, st.st_mode & 07777, mode);
}

void attest_absent(struct attest *t, const char *path)
{
	attest_true(t, !attest_exists(path), "'%s' is there", path);
}

void attest_has(struct attest *t, const char *what, struct str text, const char *needle)
{
	attest_true(t, str_find(text, str_from(needle), 0) >= 0, "%s: no '%s' in: %.*s", what,
		needle, (int)str_cut(text, 1000).len, text.p);
}

void attest_lacks(struct attest *t, const char *what, struct str text, const char *needle)
{
	attest_true(t, str_find(text, str_from(needle), 0) < 0, "%s: '%s' stands in: %.*s", what,
		needle, (int)str_cut(text, 1000).len, text.p);
}

void attest_until(
	struct attest *t, const char *what, bool (*try)(struct attest *t, void *arg), void *arg)
{
	int64_t until = clock_mono_ms(clock_system()) + UNTIL_MS;

	while (!try(t, arg)) {
		attest_true(t, clock_mono_ms(clock_system()) < until, "%s: not within %d s", what,
			UNTIL_MS / 1000);
		(void)poll(NULL, 0, LOOK_MS); /* a signal only shortens it */
	}
}

/*
 * Programs.
 */
static bool names(const char *entry, const char *name_of)
{
	size_t len = strcspn(name_of, "=");

	return strncmp(entry, name_of, len) == 0 && entry[len] == '=';
}

char **attest_environ(struct attest *t, const char *const *more)
{
	const char *path = getenv("PATH"), *asan = getenv("ASAN_OPTIONS");
	char **env = arena_alloc(&t->arena, 64 * sizeof(*env));
	size_t count = 0;

	env[count++] = attest_path(t, "HOME=%s", attest_home(t));
	env[count++] = attest_path(t, "PATH=%s", path ? path : "/usr/bin:/bin");
	env[count++] = attest_path(t, "LANG=C.UTF-8");
	if (asan)
		env[count++] = attest_path(t, "ASAN_OPTIONS=%s", asan);
	for (size_t i = 0; more && more[i]; i++) {
		size_t at = 0;

		while (at < count && !names(env[at], more[i]))
			at++;
		must(at < 63);
		env[at] = attest_path(t, "%s", more[i]);
		count = at == count ? count + 1 : count;
	}
	return env;
}

pid_t attest_spawn(struct attest *t, const char *const *argv, char *const *env,
	const struct attest_setting *in)
{
	pid_t pid = fork(); /* one thread, always to exec */

	if (pid < 0)
		attest_broken(t, "attest: no process: %s", strerror(errno));
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		(void)setpgid(0, 0); /* a failure shows: the group cannot be ended */
		(void)umask(in->mask);
		(void)signal(SIGPIPE, SIG_DFL);
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(in->out >= 0 ? in->out : null, STDOUT_FILENO);
		(void)dup2(in->err >= 0 ? in->err : null, STDERR_FILENO);
		if (!in->cwd || chdir(in->cwd) == 0)
			(void)execvpe(argv[0], (char *const *)argv, env);
		_exit(127);
	}
	(void)setpgid(pid, pid); /* whoever of the two is first */
	must(t->left->child_count < CHILDREN_MAX);
	t->left->children[t->left->child_count++] = pid;
	return pid;
}

int attest_reap(struct attest *t, pid_t pid, const char *what, int limit_ms)
{
	int64_t until = clock_mono_ms(clock_system()) + limit_ms;
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		attest_true(t, clock_mono_ms(clock_system()) < until, "%s: did not end within %d s",
			what, limit_ms / 1000);
		(void)poll(NULL, 0, LOOK_MS); /* a signal only shortens it */
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct attest_ran attest_run(struct attest *t, const char *const *argv, const char *const *env)
{
	char *out_path = attest_path(t, "%s/.out-%zu", attest_home(t), t->left->child_count);
	char *err_path = attest_path(t, "%s/.err-%zu", attest_home(t), t->left->child_count);
	struct attest_ran ran;
	int out = -1, err = -1;
	pid_t pid;

	if (os_open(out_path, O_RDWR | O_CREAT | O_TRUNC, 0600, &out, NULL) < 0 ||
		os_open(err_path, O_RDWR | O_CREAT | O_TRUNC, 0600, &err, NULL) < 0)
		attest_broken(t, "attest: no file for the output of '%s'", argv[0]);
	pid = attest_spawn(t, argv, attest_environ(t, env),
		&(struct attest_setting){attest_home(t), out, err, 0022});
	os_close(out);
	os_close(err);
	ran.status = attest_reap(t, pid, argv[0], RUN_LIMIT_MS);
	(void)kill(-pid, SIGKILL); /* what it left behind */
	ran.out = attest_read(t, out_path);
	ran.err = attest_read(t, err_path);
	(void)unlink(out_path); /* the home goes as a whole */
	(void)unlink(err_path);
	return ran;
}

struct attest_ran attest_sh(struct attest *t, const char *script, ...)
{
	const char *argv[] = {"/bin/sh", "-c", NULL, NULL};
	va_list args;
	char *text;

	va_start(args, script);
	text = xvasprintf(script, args);
	va_end(args);
	argv[2] = arena_strndup(&t->arena, text, strlen(text));
	free(text);
	return attest_run(t, argv, NULL);
}
