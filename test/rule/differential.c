/*
 * differential: what lib/rule calls plain is run by dash and by bash, and they must do just what it
 * says: these programs, with these words, in this order.
 *
 *	rule_differential FOLDER…                       every file of a corpus
 *	rule_differential --seconds N --seed N          scripts that are made up, and say how many
 *
 * It runs inside the box that run-boxed makes: no network, nothing to write to but an empty folder,
 * and no program but the stubs, which are named as each script needs them. Each script is run with
 * all programs succeeding and with all failing, so that `&&` and `||` are told apart.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock/clock.h"
#include "mem/mem.h"
#include "os/os.h"
#include "rule/rule.h"
#include "test/rule/generate.h"
#include "test/rule/stub.h"

enum {
	LIMIT_MS = 20000, /* ours: nothing in a plain script waits; a busy machine does */
	STUBS_MAX = 2000, /* ours: then the folder of names is made anew */
	RECORDS_MAX_BYTES = 1 << 22,
	TEXT_MAX_BYTES = 1 << 20,
};

#define BIN "/tmp/bin"
#define CWD "/tmp/cwd"

struct shell {
	const char *name, *path, *as, *locale;
};
static const struct shell shells[] = {
	{"dash",       "/box/dash", "sh",   "LC_ALL=C"      },
	{"bash",       "/box/bash", "bash", "LC_ALL=C.UTF-8"},
	{"bash as sh", "/box/bash", "sh",   "LC_ALL=C"      },
};

struct tried {
	int records; /* a file in memory that the stubs append to */
	size_t stubs;
	size_t scripts, plain, run;
};

static void die(const char *what) __attribute__((noreturn));
static void die(const char *what)
{
	perror(what);
	exit(EXIT_FAILURE);
}

/*
 * What is expected.
 */
struct expected {
	struct buf records; /* as the stubs write them */
	bool ordered;       /* no two programs run at once */
	bool sure;          /* else what runs is a part of it */
};

enum outcome { SUCCEEDS, FAILS, EITHER };

static bool is_builtin(struct str name, enum outcome *ret)
{
	static const struct {
		const char *name;
		enum outcome outcome;
	} rows[] = {
		{":",      SUCCEEDS},
		{"true",   SUCCEEDS},
		{"echo",   SUCCEEDS},
		{"false",  FAILS   },
		{"cd",     EITHER  },
		{"exit",   EITHER  },
		{"kill",   EITHER  },
		{"pwd",    EITHER  },
		{"test",   EITHER  },
		{"[",      EITHER  },
		{"times",  EITHER  },
		{"type",   EITHER  },
		{"umask",  EITHER  },
		{"ulimit", EITHER  },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (str_is(name, rows[i].name)) {
			*ret = rows[i].outcome;
			return true;
		}
	}
	return false;
}

/* A program's name that a stub can have; the others are not there. */
static bool is_stub(struct str name)
{
	return !memchr(name.p, '/', name.len) && name.len <= 255 && !str_is(name, "..");
}

static enum outcome expect_command(const struct rule_command *c, bool failing, struct expected *to)
{
	const struct str name = c->words.items[0];
	enum outcome outcome;

	if (is_builtin(name, &outcome)) {
		/* POSIX has a shell end when a special builtin is used wrongly */
		if (str_is(name, "exit") || str_is(name, "times"))
			to->sure = false;
		return outcome;
	}
	if (!is_stub(name))
		return FAILS;
	for (size_t i = 0; i < c->words.count; i++) {
		must(buf_put_str(&to->records, c->words.items[i]) == 0);
		must(buf_putc(&to->records, '\0') == 0);
	}
	must(buf_putc(&to->records, STUB_END) == 0);
	return failing ? FAILS : SUCCEEDS;
}

/* Pipelines from left to right: what was unsure decides nothing any more, so all may run. */
static void expect(const struct rule_script *s, bool failing, struct expected *to)
{
	enum outcome last = SUCCEEDS;

	*to = (struct expected){BUF_INIT(RECORDS_MAX_BYTES), true, true};
	for (size_t i = 0; i < s->count;) {
		const enum rule_join join = s->commands[i].join;
		const bool skipped = (join == RULE_AND && last == FAILS) ||
				     (join == RULE_OR && last == SUCCEEDS);
		enum outcome outcome = last;

		if ((join == RULE_AND || join == RULE_OR) && last == EITHER)
			to->sure = false;
		do {
			if (!skipped)
				outcome = expect_command(&s->commands[i], failing, to);
			i++;
			if (i < s->count && s->commands[i].join == RULE_PIPE && !skipped)
				to->ordered = false;
		} while (i < s->count && s->commands[i].join == RULE_PIPE);
		last = to->sure ? outcome : EITHER;
	}
}

/*
 * Comparing.
 */
static int by_bytes(const void *a, const void *b)
{
	const struct str *x = a, *y = b;
	const int rc = memcmp(x->p, y->p, x->len < y->len ? x->len : y->len);

	return rc ? rc : (x->len > y->len) - (x->len < y->len);
}

static size_t cut_records(struct str text, struct str **ret)
{
	struct str one, rest = text;
	size_t n = 0, cap = 0;

	*ret = NULL;
	while (str_next(&rest, STUB_END, &one)) {
		if (one.len == 0)
			continue;
		if (n == cap) {
			cap = cap ? 2 * cap : 16;
			*ret = xrealloc(*ret, cap, sizeof(**ret));
		}
		(*ret)[n++] = one;
	}
	return n;
}

static bool same(struct str got, const struct expected *e)
{
	_cleanup_(mem) struct str *a = NULL, *b = NULL;
	const size_t n = cut_records(got, &a), m = cut_records(buf_str(&e->records), &b);
	size_t k = 0;

	if (e->sure && n != m)
		return false;
	if (!e->ordered || !e->sure) {
		if (n > 0)
			qsort(a, n, sizeof(*a), by_bytes);
		if (m > 0)
			qsort(b, m, sizeof(*b), by_bytes);
	}
	for (size_t i = 0; i < n; i++, k++) {
		while (!e->sure && k < m && !str_eq(a[i], b[k]))
			k++;
		if (k >= m || !str_eq(a[i], b[k]))
			return false;
	}
	return true;
}

static void show(const char *what, struct str text)
{
	_cleanup_(buf) struct buf b = BUF_INIT(8 * RECORDS_MAX_BYTES);

	(void)text_put_line(&b, text); /* it fits, or nothing is shown */
	(void)fprintf(stderr, "%s: %s\n", what, buf_str(&b).p);
}

/*
 * Running.
 */
/* The exit status, or 128 + signal; a shell that does not end is a failure of its own. */
static int wait_for(pid_t pid)
{
	_cleanup_(fd) int fd = pidfd_open(pid, 0);
	struct pollfd p = {fd, POLLIN, 0};
	int status, rc;

	if (fd < 0)
		die("pidfd_open");
	do
		rc = poll(&p, 1, LIMIT_MS);
	while (rc < 0 && errno == EINTR);
	if (rc == 0) {
		(void)fprintf(stderr, "a shell does not end\n");
		(void)kill(pid, SIGKILL);
	}
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_shell(
	const struct tried *t, const struct shell *sh, bool check, bool failing, const char *script)
{
	const char *const status = failing ? STUB_STATUS "=1" : STUB_STATUS "=0";
	const char *const argv[] = {sh->as, check ? "-nc" : "-c", script, NULL};
	const char *const env[] = {"PATH=" BIN, "HOME=" CWD, sh->locale, status, NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int rc;

	must(posix_spawn_file_actions_init(&actions) == 0);
	must(posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0) == 0);
	must(posix_spawn_file_actions_adddup2(&actions, 0, 1) == 0);
	must(posix_spawn_file_actions_adddup2(&actions, 0, 2) == 0);
	must(posix_spawn_file_actions_adddup2(&actions, t->records, STUB_FD) == 0);
	rc = posix_spawn(&pid, sh->path, &actions, NULL, (char *const *)argv, (char *const *)env);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (rc != 0) {
		errno = rc;
		die(sh->path);
	}
	return wait_for(pid);
}

static void remove_entries(const char *folder)
{
	DIR *d = opendir(folder);
	const struct dirent *e;

	if (!d)
		die(folder);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.' || (e->d_name[1] && strcmp(e->d_name, "..") != 0))
			(void)unlinkat(dirfd(d), e->d_name, 0); /* links of ours, nothing else */
	(void)closedir(d);
}

static bool is_empty(const char *folder)
{
	DIR *d = opendir(folder);
	size_t n = 0;

	if (!d)
		die(folder);
	while (readdir(d))
		n++;
	(void)closedir(d);
	return n == 2;
}

static void make_stubs(struct tried *t, const struct rule_script *s)
{
	enum outcome outcome;

	if (t->stubs > STUBS_MAX) {
		remove_entries(BIN);
		t->stubs = 0;
	}
	for (size_t i = 0; i < s->count; i++) {
		const struct str name = s->commands[i].words.items[0];
		_cleanup_(mem) char *path = xasprintf(BIN "/%s", name.p);

		if (is_builtin(name, &outcome) || !is_stub(name))
			continue;
		if (symlink("/box/stub", path) == 0)
			t->stubs++;
		else if (errno != EEXIST)
			die(path);
	}
}

/* kill would end all of this, and a program that is there would do what it does. */
static bool is_harmless(const struct rule_script *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct str name = s->commands[i].words.items[0];

		if (str_is(name, "kill"))
			return false;
		if (memchr(name.p, '/', name.len) && access(name.p, F_OK) == 0)
			return false;
	}
	return true;
}

static int compare(const struct tried *t, const struct shell *sh, const struct rule_script *s,
	bool failing, const char *script)
{
	_cleanup_(mem) char *got = xmalloc(RECORDS_MAX_BYTES);
	struct error err = ERROR_INIT;
	struct expected e;
	size_t len = 0;
	int rc = 0;

	if (ftruncate(t->records, 0) < 0)
		die("empty the records");
	(void)run_shell(t, sh, false, failing, script); /* a status of the script's own */
	if (lseek(t->records, 0, SEEK_SET) < 0 ||
		os_read_full(t->records, got, RECORDS_MAX_BYTES, &len, &err) < 0)
		die("read the records");
	expect(s, failing, &e);
	if (!same((struct str){got, len}, &e)) {
		(void)fprintf(stderr, "%s, programs %s:\n", sh->name, failing ? "fail" : "succeed");
		show("  expected", buf_str(&e.records));
		show("  ran", (struct str){got, len});
		rc = -1;
	}
	if (!is_empty(CWD)) {
		(void)fprintf(stderr, "%s has written a file\n", sh->name);
		rc = -1;
	}
	buf_release(&e.records);
	return rc;
}

static int try_plain(struct tried *t, const struct rule_script *s, const char *script)
{
	if (!is_harmless(s))
		return 0;
	t->run++;
	make_stubs(t, s);
	for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
		if (run_shell(t, &shells[i], true, false, script) != 0) {
			(void)fprintf(stderr, "%s does not parse it\n", shells[i].name);
			return -1;
		}
		if (compare(t, &shells[i], s, false, script) < 0 ||
			compare(t, &shells[i], s, true, script) < 0)
			return -1;
	}
	return 0;
}

static int try_script(struct tried *t, struct str text)
{
	_cleanup_(arena) struct arena a = {NULL};
	_cleanup_(mem) char *script = xstrndup(text.p, text.len);
	struct rule_script s;
	struct rule_doubt doubt;

	t->scripts++;
	if (!rule_script_read(&a, text, &s, &doubt))
		return 0;
	t->plain++;
	if (try_plain(t, &s, script) == 0)
		return 0;
	show("the script", text);
	return -1;
}

/* Up to the byte that parts the fields of the fuzz target's input. */
static int try_file(struct tried *t, const char *path)
{
	_cleanup_(buf) struct buf b = BUF_INIT(TEXT_MAX_BYTES);
	struct error err = ERROR_INIT;
	struct str rest, script = STR("");

	if (os_read_file(path, &b, &err) < 0) {
		(void)fprintf(stderr, "%s: %s\n", path, err.text);
		return -1;
	}
	rest = buf_str(&b);
	(void)str_next(&rest, '\x1e', &script);
	return try_script(t, script);
}

static int try_folder(struct tried *t, const char *folder)
{
	DIR *d = opendir(folder);
	const struct dirent *e;
	int rc = 0;

	if (!d)
		die(folder);
	while (rc == 0 && (e = readdir(d))) {
		_cleanup_(mem) char *path = xasprintf("%s/%s", folder, e->d_name);

		if (e->d_name[0] != '.')
			rc = try_file(t, path);
	}
	(void)closedir(d);
	return rc;
}

static int try_made_up(struct tried *t, int64_t seconds, uint64_t seed)
{
	const int64_t end = clock_mono_ms(clock_system()) + seconds * 1000;
	struct generator g = {seed};

	while (clock_mono_ms(clock_system()) < end) {
		_cleanup_(buf) struct buf b = BUF_INIT(TEXT_MAX_BYTES);

		generate_script(&g, &b);
		if (try_script(t, buf_str(&b)) < 0)
			return -1;
	}
	return 0;
}

static int64_t number(const char *text)
{
	struct error err = ERROR_INIT;
	int64_t value;

	if (text && text_i64(str_from(text), 0, 1 << 30, "number", &value, &err) == 0)
		return value;
	(void)fprintf(stderr, "rule_differential: %s\n", text ? err.text : "a number is missing");
	exit(2);
}

static void set_up(struct tried *t)
{
	const int fd = memfd_create("records", MFD_CLOEXEC);

	*t = (struct tried){.records = -1};
	if (fd < 0 || fcntl(fd, F_SETFL, O_APPEND) < 0)
		die("make room for records");
	t->records = fcntl(
		fd, F_DUPFD_CLOEXEC, STUB_FD + 1); /* so that adddup2 changes the number */
	if (t->records < 0 || close(fd) < 0)
		die("make room for records");
	if (mkdir(BIN, 0700) < 0 || mkdir(CWD, 0700) < 0 || chdir(CWD) < 0)
		die("make the folders; run-boxed starts this");
}

int main(int argc, char **argv)
{
	int64_t seconds = 0, seed = 1;
	struct tried t;
	int rc = 0;

	set_up(&t);
	for (int i = 1; i < argc && rc == 0; i++) {
		if (strcmp(argv[i], "--seconds") == 0)
			seconds = number(argv[++i]);
		else if (strcmp(argv[i], "--seed") == 0)
			seed = number(argv[++i]);
		else
			rc = try_folder(&t, argv[i]);
	}
	if (rc == 0)
		rc = try_made_up(&t, seconds, (uint64_t)seed);
	(void)printf("%zu scripts, %zu plain, %zu run\n", t.scripts, t.plain, t.run);
	if (rc == 0 && t.run == 0) {
		(void)fprintf(stderr, "nothing was run\n");
		rc = -1;
	}
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
