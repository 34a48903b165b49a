/* The home, the model and the daemon of a benchmark. */
#include "lab.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"
#include "os/os.h"

enum {
	ARGS_MAX = 32,
	READY_MS = 60000,
	CALL_MS = 120000,
	SYNCS = 31,
	SYNC_BYTES = 4096, /* a page of the store */
};

double lab_now_ms(void)
{
	struct timespec t;

	must(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

void lab_init(struct lab *l, const char *script)
{
	_cleanup_(mem) char *here = NULL;
	const struct harness_start start = {.script = script, .no_record = true};
	struct error err = ERROR_INIT;

	*l = (struct lab){.daemon = 0};
	must(os_program_dir(&here, NULL) == 0);
	l->agent = xasprintf("%s/../bin/agent", here);
	if (os_temp_dir("/var/tmp/consort-bench-", &l->dir, &err) < 0 ||
		harness_start(&start, &l->model, &err) < 0)
		measure_fail("%s", err.text);
	l->workspace = xasprintf("%s/ws", l->dir);
	must(mkdir(l->workspace, 0755) == 0);
	l->store = xasprintf("%s/.agent/state.sqlite", l->dir);
	l->socket = client_socket_path(l->store);
	l->log = xasprintf("%s/log", l->dir);
	l->env[0] = xasprintf("HOME=%s", l->dir);
	l->env[1] = xasprintf("PATH=/usr/bin:/bin");
}

void lab_end(struct lab *l)
{
	if (l->daemon > 0)
		lab_stop(l);
	harness_stop(l->model);
	(void)os_remove_tree(l->dir, NULL); /* a leftover below /var/tmp harms nobody */
	free(l->dir);
	free(l->workspace);
	free(l->agent);
	free(l->store);
	free(l->socket);
	free(l->log);
	for (size_t i = 0; i < ARRAY_LEN(l->env); i++)
		free(l->env[i]);
}

static void become_daemon(const struct lab *l, char *const *argv, pid_t bench)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int log = open(l->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != bench)
		_exit(127);
	if (dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(log, 2) < 0)
		_exit(127);
	(void)execve(argv[0], argv, l->env);
	_exit(127);
}

/* Not open yet; a pause shorter than what is measured. */
static struct client *connect_to(struct lab *l)
{
	const double until = lab_now_ms() + READY_MS;
	const struct timespec pause = {.tv_nsec = 200000};
	struct client *c = NULL;

	for (;;) {
		struct error err = ERROR_INIT;

		if (client_open(l->socket, NULL, &c, &err) == 0)
			return c;
		if (waitpid(l->daemon, NULL, WNOHANG) != 0)
			measure_fail("the daemon ended; its log: %s", l->log);
		if (lab_now_ms() > until)
			measure_fail("no daemon: %s", err.text);
		(void)ppoll(NULL, 0, &pause, NULL); /* a signal only shortens it */
	}
}

double lab_start(struct lab *l, const char *const *more)
{
	static const char *const families[] = {"chat", "responses", "anthropic"};
	_cleanup_(arena) struct arena a = {0};
	const char *argv[ARGS_MAX] = {l->agent, "serve"};
	size_t count = 2;
	const pid_t bench = getpid();
	const double start = lab_now_ms();

	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		argv[count++] = "--provider";
		argv[count++] = arena_printf(
			&a, "%s=%s,%s", families[i], families[i], harness_url(l->model));
	}
	for (size_t i = 0; more && more[i]; i++) {
		must(count + 1 < ARGS_MAX);
		argv[count++] = more[i];
	}
	must(l->daemon == 0);
	l->daemon = fork(); /* one thread, always to exec */
	must(l->daemon >= 0);
	if (l->daemon == 0)
		become_daemon(l, (char *const *)argv, bench);
	client_free(connect_to(l));
	return lab_now_ms() - start;
}

void lab_stop(struct lab *l)
{
	int status = 0;

	(void)kill(l->daemon, SIGTERM); /* ours, not reaped */
	if (waitpid(l->daemon, &status, 0) != l->daemon || status != 0)
		measure_fail("the daemon ended with status %d; its log: %s", status, l->log);
	l->daemon = 0;
}

struct client *lab_client(struct lab *l)
{
	return connect_to(l);
}

const struct json *lab_call(struct client *c, const char *body, ...)
{
	_cleanup_(mem) char *text = NULL;
	const struct json *result = NULL;
	struct error err = ERROR_INIT;
	va_list args;

	va_start(args, body);
	text = xvasprintf(body, args);
	va_end(args);
	if (client_call(c, str_from(text), CALL_MS, &result, &err) < 0)
		measure_fail("%s: %s", text, err.text);
	return result;
}

int64_t lab_i64(const struct json *object, const char *name)
{
	int64_t value = 0;

	if (json_i64(json_get(object, name), &value) < 0)
		measure_fail("no number '%s' in a reply", name);
	return value;
}

double lab_store_bytes(const struct lab *l)
{
	static const char *const ends[] = {"", "-wal", "-shm"};
	double bytes = 0;

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		_cleanup_(mem) char *path = xasprintf("%s%s", l->store, ends[i]);
		struct stat st;

		if (stat(path, &st) == 0)
			bytes += (double)st.st_size;
	}
	return bytes;
}

double lab_fsync_ms(const struct lab *l)
{
	static const char page[SYNC_BYTES] = "sync";
	_cleanup_(mem) char *path = xasprintf("%s/sync", l->dir);
	_cleanup_(fd) int fd = -1;
	double ms[SYNCS];

	if (os_open(path, O_WRONLY | O_CREAT | O_APPEND, 0600, &fd, NULL) < 0)
		measure_fail("cannot write '%s'", path);
	for (int i = 0; i < SYNCS; i++) {
		const double start = lab_now_ms();

		must(write(fd, page, sizeof(page)) == SYNC_BYTES && fsync(fd) == 0);
		ms[i] = lab_now_ms() - start;
	}
	(void)unlink(path); /* goes with the home otherwise */
	return measure_median(ms, SYNCS);
}

const char *lab_text(int argc, char **argv, const char *name)
{
	for (int i = 1; i + 1 < argc; i += 2) {
		if (strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, name) == 0)
			return argv[i + 1];
	}
	return NULL;
}

int64_t lab_flag(int argc, char **argv, const char *name, int64_t usual)
{
	const char *text = lab_text(argc, argv, name);
	struct error err = ERROR_INIT;
	uint64_t value = (uint64_t)usual;

	if (text && text_u64(str_from(text), INT32_MAX, name, &value, &err) < 0)
		measure_fail("%s", err.text);
	return (int64_t)value;
}
