/* The loopback provider as a child of a test. */
#include "test/harness/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"

const struct error_kind HARNESS_FAILED = {"harness_failed", ERROR_CLASS_IO};

enum {
	ARGS_MAX = 16,
	READY_MS = 60 * 1000, /* sanitizers on a busy machine */
	LINE_MAX_BYTES = 256,
	RECORD_MAX_BYTES = 512 << 20,
};

struct row {
	const struct json *json;
};

struct harness {
	struct arena arena;
	char *dir, *script, *record, *url, *authority, *certificate;
	pid_t pid;
	int port;
	int input; /* of the child: closing it ends it, should all else fail */
	struct row *rows;
	size_t count, cap, read_bytes;
};

/* Files */

static int write_file(const char *path, const char *content, struct error *err)
{
	return os_replace_file(path, str_from(content), 0600, err);
}

static int make_files(struct harness *h, const struct harness_start *start, struct error *err)
{
	struct harness_certificate of = {
		start->tls_names, start->tls_from_days, start->tls_to_days};

	if (start->script && write_file(h->script, start->script, err) < 0)
		return -1;
	if (!start->no_record && write_file(h->record, "", err) < 0)
		return -1;
	if (!start->tls_names)
		return 0;
	if (harness_make_authority(h->authority, err) < 0)
		return -1;
	return harness_make_certificate(h->certificate, h->authority, &of, err);
}

/* The child */

static void become(char *const *argv, const int *in, const int *out, pid_t test)
{
	/* a test that is ended by force takes it along */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != test)
		_exit(127);
	(void)signal(SIGPIPE, SIG_DFL);
	if (dup2(in[0], STDIN_FILENO) < 0 || dup2(out[1], STDOUT_FILENO) < 0)
		_exit(127);
	(void)execv(argv[0], argv);
	_exit(127);
}

static char **make_arguments(struct harness *h, const struct harness_start *start)
{
	char **argv = arena_alloc(&h->arena, ARGS_MAX * sizeof(*argv));
	size_t n = 0;

	argv[n++] = arena_printf(
		&h->arena, "%s", start->program ? start->program : HARNESS_LOOPBACK);
	argv[n++] = arena_printf(&h->arena, "--port");
	argv[n++] = arena_printf(&h->arena, "%d", start->port);
	argv[n++] = arena_printf(&h->arena, "--latency-ms");
	argv[n++] = arena_printf(&h->arena, "%d", start->latency_ms);
	if (start->script || start->script_file) {
		argv[n++] = arena_printf(&h->arena, "--script");
		argv[n++] = arena_printf(
			&h->arena, "%s", start->script_file ? start->script_file : h->script);
	}
	if (!start->no_record) {
		argv[n++] = arena_printf(&h->arena, "--record");
		argv[n++] = h->record;
	}
	if (start->tls_names) {
		argv[n++] = arena_printf(&h->arena, "--tls");
		argv[n++] = arena_printf(&h->arena, "%s.pem", h->certificate);
		argv[n++] = arena_printf(&h->arena, "%s.key", h->certificate);
	}
	must(n < ARGS_MAX);
	return argv;
}

static int spawn(struct harness *h, char *const *argv, int *ret_out, struct error *err)
{
	int in[2], out[2];
	pid_t test = getpid();

	if (pipe2(in, O_CLOEXEC) < 0)
		return error_sys(err, "make a pipe");
	if (pipe2(out, O_CLOEXEC) < 0) {
		os_close(in[0]);
		os_close(in[1]);
		return error_sys(err, "make a pipe");
	}
	h->pid = fork(); /* always to exec */
	if (h->pid == 0)
		become(argv, in, out, test);
	os_close(in[0]);
	os_close(out[1]);
	h->input = in[1];
	*ret_out = out[0];
	return h->pid < 0 ? error_sys(err, "start %s", argv[0]) : 0;
}

/* The line that says that it listens. */
static int read_ready(struct harness *h, int out, struct error *err)
{
	struct pollfd look = {.fd = out, .events = POLLIN};
	char line[LINE_MAX_BYTES] = "";
	size_t len = 0;
	ssize_t n = 1;
	const struct json *ready;
	int64_t port;

	while (n > 0 && len < sizeof(line) && !memchr(line, '\n', len)) {
		if (poll(&look, 1, READY_MS) == 0)
			return error_set(err, &HARNESS_FAILED, "it does not start");
		n = read(out, line + len, sizeof(line) - len);
		if (n < 0 && errno == EINTR)
			n = 1;
		else
			len += n > 0 ? (size_t)n : 0;
	}
	if (json_parse(&h->arena, (struct str){line, len}, &ready, NULL) < 0 ||
		json_i64(json_get(ready, "port"), &port) < 0)
		return error_set(
			err, &HARNESS_FAILED, "it ended before it listened: see its errors above");
	h->port = (int)port;
	return 0;
}

static void reap(struct harness *h)
{
	while (h->pid > 0 && waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
	h->pid = 0;
}

int harness_start(const struct harness_start *start, struct harness **ret, struct error *err)
{
	struct harness *h = xcalloc(1, sizeof(*h));
	_cleanup_(fd) int out = -1;

	h->input = -1;
	if (os_temp_dir("/var/tmp/consort-harness-", &h->dir, err) < 0) {
		harness_stop(h);
		return -1;
	}
	h->script = arena_printf(&h->arena, "%s/script.json", h->dir);
	h->record = arena_printf(&h->arena, "%s/record.jsonl", h->dir);
	h->authority = arena_printf(&h->arena, "%s/authority", h->dir);
	h->certificate = arena_printf(&h->arena, "%s/server", h->dir);
	if (make_files(h, start, err) < 0 || spawn(h, make_arguments(h, start), &out, err) < 0 ||
		read_ready(h, out, err) < 0) {
		harness_stop(h);
		return -1;
	}
	h->url = arena_printf(
		&h->arena, "http%s://127.0.0.1:%d/v1", start->tls_names ? "s" : "", h->port);
	h->authority = start->tls_names ? arena_printf(&h->arena, "%s/authority.pem", h->dir)
					: NULL;
	*ret = h;
	return 0;
}

void harness_stop(struct harness *h)
{
	if (!h)
		return;
	if (h->pid > 0)
		(void)kill(h->pid, SIGTERM); /* not reaped, so it is there */
	os_close(h->input);
	reap(h);
	if (h->dir)
		(void)os_remove_tree(h->dir, NULL); /* a leftover harms nobody */
	free(h->dir);
	free(h->rows);
	arena_release(&h->arena);
	free(h);
}

int harness_port(const struct harness *h)
{
	return h->port;
}

pid_t harness_pid(const struct harness *h)
{
	return h->pid;
}

const char *harness_url(const struct harness *h)
{
	return h->url;
}

const char *harness_dir(const struct harness *h)
{
	return h->dir;
}

const char *harness_authority(const struct harness *h)
{
	return h->authority;
}

/* The record */

static int add_row(struct harness *h, struct str line, struct error *err)
{
	if (h->count == h->cap) {
		h->cap = h->cap ? 2 * h->cap : 64;
		h->rows = xrealloc(h->rows, h->cap, sizeof(*h->rows));
	}
	if (json_parse(&h->arena, line, &h->rows[h->count].json, err) < 0)
		return error_prefix(err, "row %zu of the record", h->count);
	h->count++;
	return 0;
}

int harness_read(struct harness *h, struct error *err)
{
	_cleanup_(buf) struct buf text = BUF_INIT(RECORD_MAX_BYTES);
	struct str rest, line;

	if (os_read_file(h->record, &text, err) < 0)
		return -1;
	rest = buf_str(&text);
	rest.p += h->read_bytes;
	rest.len -= h->read_bytes;
	/* a row without its end is still being written */
	while (rest.p && memchr(rest.p, '\n', rest.len) && str_next(&rest, '\n', &line)) {
		h->read_bytes += line.len + 1;
		if (add_row(h, line, err) < 0)
			return -1;
	}
	return 0;
}

size_t harness_count(const struct harness *h)
{
	return h->count;
}

const struct json *harness_row(const struct harness *h, size_t i)
{
	return i < h->count ? h->rows[i].json : NULL;
}

static int64_t now_ms(void)
{
	struct timespec t;

	must(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int harness_wait(struct harness *h, size_t count, int timeout_ms, struct error *err)
{
	_cleanup_(fd) int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	struct pollfd look = {.fd = watch, .events = POLLIN};
	int64_t until = now_ms() + timeout_ms, left;
	char events[4096];

	if (watch < 0 || inotify_add_watch(watch, h->record, IN_MODIFY) < 0)
		return error_sys(err, "watch the record");
	for (;;) {
		if (harness_read(h, err) < 0)
			return -1;
		if (h->count >= count)
			return 0;
		left = until - now_ms();
		if (left <= 0)
			return error_set(err, &HARNESS_FAILED,
				"%zu of %zu rows are there after %d ms", h->count, count,
				timeout_ms);
		(void)poll(&look, 1, (int)left); /* what it saw is looked at in any case */
		while (read(watch, events, sizeof(events)) > 0)
			;
	}
}

struct str harness_header(const struct json *row, const char *name)
{
	return json_str(json_get(json_get(row, "headers"), name));
}
