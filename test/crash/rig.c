/* The home and the daemon of a crash test. */
#include "test/crash/rig.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock/clock.h"
#include "os/os.h"

enum {
	ARGS_MAX = 48,
	READY_MS = 15000 * RIG_SLOW,
	STOP_MS = 10000 * RIG_SLOW,
	CALL_MS = 30000 * RIG_SLOW,
	LOOK_MS = 2, /* between two looks at what has no descriptor to wait for */
	BODY_MAX_BYTES = 1024 * 1024,
	FILE_MAX_BYTES = 256 * 1024 * 1024,
};

/* The rig of this process, for whoever has to end it. */
static struct rig *current;

static void kill_children(void)
{
	_cleanup_(mem) char *path = xasprintf("/proc/self/task/%d/children", (int)getpid());
	_cleanup_(buf) struct buf list = BUF_INIT(65536);
	struct str rest, word;
	uint64_t pid;

	if (os_read_file(path, &list, NULL) < 0)
		return;
	for (rest = buf_str(&list); str_next(&rest, ' ', &word);) {
		if (word.len > 0 && text_u64(word, INT32_MAX, "pid", &pid, NULL) == 0)
			(void)kill((pid_t)pid, SIGKILL); /* a zombie: reaped all the same */
	}
}

static void end_everything(void)
{
	do {
		kill_children();
	} while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);
}

static void leave_home(void)
{
	if (!current || !current->home)
		return;
	if (getenv("CRASH_KEEP"))
		(void)fprintf(stderr, "left in place: %s\n", current->home);
	else
		(void)os_remove_tree(current->home, NULL); /* a leftover harms nobody */
}

static void show_log_end(void)
{
	_cleanup_(buf) struct buf log = BUF_INIT(FILE_MAX_BYTES);
	const size_t shown = 3000;

	if (!current || !current->log || os_read_file(current->log, &log, NULL) < 0)
		return;
	if (log.len > shown)
		buf_consume(&log, log.len - shown);
	(void)fprintf(
		stderr, "--- the end of the daemon's log\n%s\n---\n", log.len ? log.data : "");
}

void rig_broken(const char *format, ...)
{
	va_list args;

	(void)fflush(stdout);
	(void)fprintf(stderr, "broken: ");
	va_start(args, format);
	(void)vfprintf(stderr, format, args);
	va_end(args);
	(void)fprintf(stderr, "\n");
	show_log_end();
	end_everything();
	leave_home();
	_exit(1);
}

void rig_not_here(const char *format, ...)
{
	va_list args;

	(void)printf("not here: ");
	va_start(args, format);
	(void)vprintf(format, args);
	va_end(args);
	(void)printf("\n");
	(void)fflush(stdout);
	end_everything();
	leave_home();
	_exit(RIG_SKIP);
}

char *rig_keep(struct rig *r, const char *format, ...)
{
	_cleanup_(mem) char *text = NULL;
	va_list args;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	return arena_strndup(&r->arena, text, strlen(text));
}

void rig_init(struct rig *r, const char *bin)
{
	_cleanup_(mem) char *dir = NULL, *home = NULL, *agent = NULL, *socket = NULL;
	struct error err = ERROR_INIT;

	*r = (struct rig){.child = 0};
	current = r;
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* without it rig_no_survivors sees less */
	(void)signal(SIGPIPE, SIG_IGN);         /* fails for no such signal only */
	if (os_program_dir(&dir, &err) < 0 ||
		os_temp_dir("/var/tmp/consort-crash-", &home, &err) < 0)
		rig_broken("%s", err.text);
	r->home = rig_keep(r, "%s", home);
	r->bin = bin ? rig_keep(r, "%s", bin) : rig_keep(r, "%s/../bin", dir);
	r->script = rig_keep(r, "%s/drill.jsonl", home);
	r->store = rig_keep(r, "%s/.agent/state.sqlite", home);
	r->log = rig_keep(r, "%s/daemon.log", home);
	socket = client_socket_path(r->store);
	r->socket = rig_keep(r, "%s", socket);
	agent = xasprintf("%s/agent", r->bin);
	if (os_is_program(agent, NULL) != 1)
		rig_broken("there is no program '%s'", agent);
}

void rig_end(struct rig *r)
{
	if (r->child > 0)
		rig_stop(r);
	end_everything();
	leave_home();
	arena_release(&r->arena);
	current = NULL;
}

void rig_write(const char *path, const char *content)
{
	struct error err = ERROR_INIT;
	int fd = -1;

	if (os_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644, &fd, &err) < 0 ||
		os_write_all(fd, content, strlen(content), &err) < 0)
		rig_broken("%s", err.text);
	os_close(fd);
}

struct str rig_read(struct rig *r, const char *path)
{
	_cleanup_(buf) struct buf content = BUF_INIT(FILE_MAX_BYTES);

	if (os_read_file(path, &content, NULL) < 0)
		return STR("");
	return (struct str){arena_strndup(&r->arena, content.data ? content.data : "", content.len),
		content.len};
}

int64_t rig_now_ms(void)
{
	return clock_mono_ms(clock_system());
}

void rig_pause(int ms)
{
	(void)poll(NULL, 0, ms); /* a signal only shortens it */
}

/*
 * The daemon.
 */
static char *const *make_environ(struct rig *r)
{
	static const char *const passed[] = {"PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS"};
	char **env = arena_alloc(&r->arena, 32 * sizeof(*env));
	size_t count = 0;

	env[count++] = rig_keep(r, "HOME=%s", r->home);
	env[count++] = rig_keep(r, "LANG=C.UTF-8");
	for (size_t i = 0; i < ARRAY_LEN(passed); i++) {
		if (getenv(passed[i]))
			env[count++] = rig_keep(r, "%s=%s", passed[i], getenv(passed[i]));
	}
	for (size_t i = 0; r->env && r->env[i]; i++) {
		size_t len = strcspn(r->env[i], "=") + 1, at = 0;

		while (at < count && strncmp(env[at], r->env[i], len) != 0)
			at++;
		must(at < 31);
		env[at] = rig_keep(r, "%s", r->env[i]);
		count = at == count ? count + 1 : count;
	}
	return env;
}

static void become(char *const *argv, char *const *env, const char *log, pid_t test)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	/* a test that is ended by force takes the daemon along, and the daemon its commands */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != test)
		_exit(127);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)dup2(null, STDIN_FILENO);
	(void)dup2(null, STDOUT_FILENO);
	(void)dup2(out, STDERR_FILENO);
	(void)execvpe(argv[0], argv, env);
	_exit(127);
}

static size_t add_all(const char **argv, size_t count, const char *const *more)
{
	for (size_t i = 0; more && more[i]; i++) {
		must(count < ARGS_MAX - 8);
		argv[count++] = more[i];
	}
	return count;
}

void rig_start(struct rig *r, const char *const *wrap, const char *const *args)
{
	const char *argv[ARGS_MAX];
	size_t count = add_all(argv, 0, wrap);
	char *const *env = make_environ(r);
	pid_t test;

	must(r->child == 0);
	argv[count++] = rig_keep(r, "%s/agent", r->bin);
	argv[count++] = "serve";
	argv[count++] = "--provider";
	argv[count++] = rig_keep(r, "drill=rehearsal,%s", r->script);
	count = add_all(argv, count, args);
	argv[count] = NULL;
	test = getpid();
	r->child = fork(); /* one thread, always to exec */
	rig_true(r->child >= 0, "fork: %s", strerror(errno));
	if (r->child == 0)
		become((char *const *)argv, env, r->log, test);
}

static int plain_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool rig_has_ended(struct rig *r, int *ret_status)
{
	int status;

	if (r->child <= 0 || waitpid(r->child, &status, WNOHANG) != r->child)
		return false;
	r->child = 0;
	*ret_status = plain_status(status);
	return true;
}

struct client *rig_try_connect(struct rig *r, int *ret_status)
{
	int64_t until = rig_now_ms() + READY_MS;
	struct client *c = NULL;
	struct error err = ERROR_INIT;

	for (;;) {
		error_clear(&err);
		if (client_open(r->socket, NULL, &c, &err) == 0)
			return c;
		if (rig_has_ended(r, ret_status))
			return NULL;
		/* lost: it was killed in the middle of the ready line, and is reaped soon */
		rig_true(error_is(&err, &CLIENT_NO_DAEMON) || error_is(&err, &CLIENT_LOST) ||
				 err.sys == ECONNRESET,
			"connect: %s: %s", error_code(&err), err.text);
		rig_true(rig_now_ms() < until, "the daemon did not answer within %d s",
			READY_MS / 1000);
		rig_pause(LOOK_MS);
	}
}

struct client *rig_connect(struct rig *r)
{
	int status = 0;
	struct client *c = rig_try_connect(r, &status);

	if (!c)
		rig_broken("the daemon ended with %d instead of starting", status);
	return c;
}

int rig_wait(struct rig *r, int limit_ms)
{
	int64_t until = rig_now_ms() + limit_ms;
	int status = 0;

	while (!rig_has_ended(r, &status)) {
		rig_true(rig_now_ms() < until, "the daemon did not end within %d ms", limit_ms);
		rig_pause(LOOK_MS);
	}
	return status;
}

void rig_kill(struct rig *r)
{
	int status = 0;

	if (rig_has_ended(r, &status))
		rig_broken("the daemon ended by itself, with %d", status);
	(void)kill(r->child, SIGKILL); /* not reaped, so it is there */
	status = rig_wait(r, STOP_MS);
	rig_true(status == 128 + SIGKILL, "the daemon ended with %d before it was killed", status);
}

void rig_stop(struct rig *r)
{
	int status;

	(void)kill(r->child, SIGTERM); /* gone already: the status says so */
	status = rig_wait(r, STOP_MS);
	rig_true(status == 0, "the daemon ended with %d after SIGTERM", status);
	rig_check_log(r);
}

static bool has_children(void)
{
	siginfo_t info = {.si_pid = 0};

	while (waitpid(-1, NULL, WNOHANG) > 0) {
	}
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static void describe_children(struct buf *to)
{
	_cleanup_(mem) char *path = xasprintf("/proc/self/task/%d/children", (int)getpid());
	_cleanup_(buf) struct buf list = BUF_INIT(65536);
	struct str rest, word;

	if (os_read_file(path, &list, NULL) < 0)
		return;
	for (rest = buf_str(&list); str_next(&rest, ' ', &word);) {
		_cleanup_(mem) char *name = xasprintf("/proc/" STR_FMT "/cmdline", STR_ARG(word));
		_cleanup_(buf) struct buf line = BUF_INIT(65536);

		if (word.len == 0 || os_read_file(name, &line, NULL) < 0)
			continue;
		for (size_t i = 0; i < line.len; i++)
			line.data[i] = (char)(line.data[i] ? line.data[i] : ' ');
		(void)buf_printf(
			to, "\n  " STR_FMT ": %.300s", STR_ARG(word), line.len ? line.data : "");
	}
}

void rig_no_survivors(struct rig *r, int limit_ms)
{
	int64_t until = rig_now_ms() + limit_ms;

	must(r->child == 0);
	while (has_children()) {
		_cleanup_(buf) struct buf who = BUF_INIT(65536);

		if (rig_now_ms() < until) {
			rig_pause(LOOK_MS);
			continue;
		}
		describe_children(&who);
		rig_broken("%d ms after the daemon's death this still runs:%s", limit_ms,
			who.len ? who.data : "");
	}
}

void rig_check_log(struct rig *r)
{
	static const char *const signs[] = {
		"Sanitizer", "runtime error:", "must hold:", "Assertion"};
	_cleanup_(buf) struct buf log = BUF_INIT(FILE_MAX_BYTES);

	if (os_read_file(r->log, &log, NULL) < 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
		ptrdiff_t at = str_find(buf_str(&log), str_from(signs[i]), 0);

		rig_true(at < 0, "the daemon's log holds '%s': %.2000s", signs[i], log.data + at);
	}
}

int rig_run(const char *const *argv)
{
	pid_t pid = fork();
	int status = 0;

	rig_true(pid >= 0, "fork: %s", strerror(errno));
	if (pid == 0) {
		(void)execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0)
		rig_true(errno == EINTR, "waitpid: %s", strerror(errno));
	return plain_status(status);
}

/* A copy, so that sqlite3 does not mend what the daemon has to find as it is. */
bool rig_integrity(struct rig *r)
{
	static const char script[] = "command -v sqlite3 >/dev/null || exit 127\n"
				     "cd \"$1\" && mkdir -p copy && rm -f copy/* || exit 2\n"
				     "for f in state.sqlite state.sqlite-wal; do\n"
				     "\t[ ! -e .agent/$f ] || cp .agent/$f copy/ || exit 2\n"
				     "done\n"
				     "[ -s copy/state.sqlite ] || exit 0\n"
				     "said=$(sqlite3 copy/state.sqlite 'PRAGMA integrity_check; "
				     "PRAGMA foreign_key_check')\n"
				     "[ \"$said\" = ok ] || { echo \"$said\" >&2; exit 1; }\n";
	const char *const argv[] = {"/bin/sh", "-c", script, "sh", r->home, NULL};
	int status = rig_run(argv);

	if (status == 127)
		return false;
	rig_true(status == 0, "the store's integrity check ended with %d", status);
	return true;
}

/*
 * Requests.
 */
static int call(struct client *c, const char *body, va_list args, const struct json **ret,
	struct error *err) __attribute__((format(printf, 2, 0)));
static int call(struct client *c, const char *body, va_list args, const struct json **ret,
	struct error *err)
{
	_cleanup_(mem) char *text = xvasprintf(body, args);

	return client_call(c, str_from(text), CALL_MS, ret, err);
}

const struct json *rig_call(struct client *c, const char *body, ...)
{
	const struct json *result = NULL;
	struct error err = ERROR_INIT;
	va_list args;
	int rc;

	va_start(args, body);
	rc = call(c, body, args, &result, &err);
	va_end(args);
	if (rc < 0)
		rig_broken("%.200s: %s: %s", body,
			error_is(&err, &CLIENT_REMOTE) ? client_remote_code(c) : error_code(&err),
			err.text);
	return result;
}

const struct json *rig_ask(struct client *c, const char *body, ...)
{
	const struct json *result = NULL;
	struct error err = ERROR_INIT;
	va_list args;
	int rc;

	va_start(args, body);
	rc = call(c, body, args, &result, &err);
	va_end(args);
	rig_true(rc == 0 || error_is(&err, &CLIENT_REMOTE), "%.200s: %s: %s", body,
		error_code(&err), err.text);
	return rc == 0 ? result : NULL;
}

void rig_refused(struct client *c, const char *code, const char *body, ...)
{
	const struct json *result = NULL;
	struct error err = ERROR_INIT;
	va_list args;
	int rc;

	va_start(args, body);
	rc = call(c, body, args, &result, &err);
	va_end(args);
	rig_true(rc < 0, "%.200s: was not refused with %s", body, code);
	rig_true(
		error_is(&err, &CLIENT_REMOTE), "%.200s: %s: %s", body, error_code(&err), err.text);
	rig_true(strcmp(client_remote_code(c), code) == 0, "%.200s: %s, not %s: %s", body,
		client_remote_code(c), code, err.text);
	rig_true(err.text[0] && strcmp(err.text, code) != 0, "%.200s: %s without a detail", body,
		code);
}

int64_t rig_i64(const struct json *object, const char *name)
{
	int64_t value = 0;

	rig_true(json_i64(json_get(object, name), &value) == 0, "no number '%s' in a reply", name);
	return value;
}

void dice_init(struct dice *d, uint64_t seed)
{
	d->state = seed * 0x9e3779b97f4a7c15u + 1;
}

/* xorshift64* */
int64_t dice(struct dice *d, int64_t low, int64_t high)
{
	d->state ^= d->state >> 12;
	d->state ^= d->state << 25;
	d->state ^= d->state >> 27;
	return low + (int64_t)((d->state * 0x2545f4914f6cdd1du >> 16) % (uint64_t)(high - low + 1));
}
