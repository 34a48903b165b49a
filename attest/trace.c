/* Reading strace's output (strace -f -ttt -o FILE). */
#include "attest/trace.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "attest/internal.h"

enum {
	CALLS_MAX = 100000,    /* of one trace */
	THREADS_MAX = 4096,    /* with an unfinished call */
	STRINGS_BYTES = 65536, /* strace's -s: nothing is cut */
};

/* Calls that make processes and threads: trace_is_of needs them. */
static const char makers[] = "clone,clone3,fork,vfork";

const char *const *trace_argv(struct attest *t, const char *file, const char *calls)
{
	const char **argv = arena_alloc(&t->arena, 12 * sizeof(*argv));
	size_t n = 0;

	argv[n++] = "strace";
	argv[n++] = "-f";
	argv[n++] = "-qq";
	argv[n++] = "-ttt";
	argv[n++] = attest_path(t, "-s%d", STRINGS_BYTES);
	argv[n++] = "-e";
	argv[n++] = attest_path(t, "trace=%s,%s", makers, calls);
	argv[n++] = "-o";
	argv[n++] = file;
	argv[n] = NULL;
	return argv;
}

struct attest_daemon *trace_daemon(
	struct attest *t, const struct attest_start *s, const char *file, const char *calls)
{
	struct attest_start traced = *s;
	const char **env = arena_alloc(&t->arena, 32 * sizeof(*env));
	size_t n = 0;

	env[n++] = "ASAN_OPTIONS=detect_leaks=0"; /* LeakSanitizer fails where ptrace is in use */
	for (size_t i = 0; s->env && s->env[i]; i++) {
		must(n < 31);
		env[n++] = s->env[i];
	}
	traced.env = env;
	traced.wrap = trace_argv(t, file, calls);
	return attest_daemon_start(t, &traced);
}

pid_t trace_pid(struct attest *t, const struct attest_daemon *d)
{
	int64_t pid = 0;

	(void)t;
	must(json_i64(json_get(client_ready(d->client), "pid"), &pid) == 0);
	return (pid_t)pid;
}

void trace_stop(struct attest *t, struct attest_daemon *d)
{
	int status;

	(void)kill(trace_pid(t, d), SIGTERM); /* gone already: the status says so */
	status = attest_daemon_wait(t, d);
	attest_true(t, status == 0, "the traced daemon ended with %d: " STR_FMT, status,
		STR_ARG(attest_read(t, d->log)));
}

/*
 * Reading.
 */
struct unfinished {
	pid_t thread;
	const char *name;
	struct str args;
};

struct reading {
	struct attest *t;
	struct trace_call *calls;
	size_t count;
	struct unfinished open[THREADS_MAX];
	size_t open_count;
	struct str line; /* for what is said about it */
};

static void unreadable(const struct reading *r) __attribute__((noreturn));

static void unreadable(const struct reading *r)
{
	attest_broken(r->t, "attest: strace wrote a line that is not understood: %.*s",
		(int)str_cut(r->line, 900).len, r->line.p);
}

static struct str from(struct str s, size_t at)
{
	return (struct str){s.p + at, s.len - at};
}

static struct str skip_blanks(struct str s)
{
	while (s.len > 0 && s.p[0] == ' ')
		s = from(s, 1);
	return s;
}

static struct str take_word(const struct reading *r, struct str *rest)
{
	struct str s = skip_blanks(*rest);
	ptrdiff_t end = str_find(s, STR(" "), 0);

	if (end <= 0)
		unreadable(r);
	*rest = skip_blanks(from(s, (size_t)end));
	return (struct str){s.p, (size_t)end};
}

static pid_t take_thread(const struct reading *r, struct str *rest)
{
	uint64_t id;

	if (text_u64(take_word(r, rest), INT32_MAX, "thread", &id, NULL) < 0)
		unreadable(r);
	return (pid_t)id;
}

/* text_u64 refuses zeros in front. */
static struct str without_zeros(struct str s)
{
	while (s.len > 1 && s.p[0] == '0')
		s = from(s, 1);
	return s;
}

/* SECONDS.MICROSECONDS */
static int64_t take_time(const struct reading *r, struct str *rest)
{
	struct str word = take_word(r, rest), seconds;
	uint64_t s, us;

	if (!str_next(&word, '.', &seconds) ||
		text_u64(seconds, 1ULL << 40, "time", &s, NULL) < 0 ||
		text_u64(without_zeros(word), 999999, "time", &us, NULL) < 0)
		unreadable(r);
	return (int64_t)(s * 1000000 + us);
}

/* The equals sign of the result: the last one that follows a bracket and blanks. */
static ptrdiff_t find_result(struct str s)
{
	for (size_t i = s.len; i-- > 2;) {
		size_t k = i;

		if (s.p[i] != '=' || s.p[i - 1] != ' ' || i + 1 >= s.len || s.p[i + 1] != ' ')
			continue;
		while (k > 0 && s.p[k - 1] == ' ')
			k--;
		if (k > 0 && s.p[k - 1] == ')')
			return (ptrdiff_t)i;
	}
	return -1;
}

static int64_t read_value(const struct reading *r, struct str after)
{
	struct str word = after, rest = after;
	uint64_t number;
	bool negative;

	if (str_next(&rest, ' ', &word) && str_is(word, "?"))
		return TRACE_NO_VALUE;
	if (str_starts(word, STR("0x"))) {
		char *text = arena_strndup(&r->t->arena, word.p, word.len), *end;

		number = 0;
		for (end = text + 2; *end; end++) {
			const char *digit = strchr("0123456789abcdef", *end);

			if (!digit)
				unreadable(r);
			number = number * 16 + (uint64_t)(digit - "0123456789abcdef");
		}
		return (int64_t)number;
	}
	negative = word.len > 0 && word.p[0] == '-';
	if (negative)
		word = from(word, 1);
	/* octal, as of umask: see `after` */
	if (text_u64(without_zeros(word), INT64_MAX, "value", &number, NULL) < 0)
		unreadable(r);
	return negative ? -(int64_t)number : (int64_t)number;
}

static void add(struct reading *r, pid_t thread, int64_t at_us, const char *name, struct str args,
	struct str after)
{
	if (r->count >= CALLS_MAX)
		attest_broken(r->t, "attest: the trace has more than %d calls", CALLS_MAX);
	r->calls[r->count++] = (struct trace_call){
		.thread = thread,
		.at_us = at_us,
		.name = name,
		.args = args,
		.after = after,
		.value = after.p ? read_value(r, after) : TRACE_NO_VALUE,
	};
}

static struct str joined(struct reading *r, struct str a, struct str b)
{
	char *text = arena_alloc(&r->t->arena, a.len + b.len + 1);

	memcpy(text, a.p, a.len);
	memcpy(text + a.len, b.p, b.len);
	return (struct str){text, a.len + b.len};
}

/* "args) = result" */
static void take_end(struct reading *r, pid_t thread, int64_t at_us, const char *name,
	struct str before, struct str rest)
{
	ptrdiff_t equals = find_result(rest);
	struct str args;

	if (equals < 0)
		unreadable(r);
	args = str_trim((struct str){rest.p, (size_t)equals});
	args.len--; /* the bracket */
	add(r, thread, at_us, name, joined(r, before, args),
		str_trim(from(rest, (size_t)equals + 1)));
}

static void take_resumed(struct reading *r, pid_t thread, int64_t at_us, struct str rest)
{
	ptrdiff_t end = str_find(rest, STR(" resumed>"), 0);
	size_t i = 0;
	struct unfinished u;

	while (i < r->open_count && r->open[i].thread != thread)
		i++;
	if (end < 0 || i == r->open_count)
		unreadable(r);
	u = r->open[i];
	r->open[i] = r->open[--r->open_count];
	if (!str_is((struct str){rest.p + 5, (size_t)end - 5}, u.name))
		unreadable(r);
	take_end(r, thread, at_us, u.name, u.args, from(rest, (size_t)end + strlen(" resumed>")));
}

static void take_unfinished(struct reading *r, pid_t thread, const char *name, struct str args)
{
	if (r->open_count == THREADS_MAX)
		attest_broken(r->t, "attest: too many unfinished calls");
	args.len -= strlen("<unfinished ...>");
	while (args.len > 0 && args.p[args.len - 1] == ' ')
		args.len--;
	r->open[r->open_count++] = (struct unfinished){thread, name, args};
}

static void take_line(struct reading *r)
{
	struct str rest = r->line;
	pid_t thread = take_thread(r, &rest);
	int64_t at_us = take_time(r, &rest);
	ptrdiff_t open;
	const char *name;

	if (str_starts(rest, STR("+++ ")) || str_starts(rest, STR("--- ")))
		return; /* the end of a thread, a signal */
	if (str_starts(rest, STR("<... "))) {
		take_resumed(r, thread, at_us, rest);
		return;
	}
	open = str_find(rest, STR("("), 0);
	if (open <= 0)
		unreadable(r);
	name = arena_strndup(&r->t->arena, rest.p, (size_t)open);
	rest = from(rest, (size_t)open + 1);
	if (str_ends(rest, STR("<unfinished ...>")))
		take_unfinished(r, thread, name, rest);
	else
		take_end(r, thread, at_us, name, STR(""), rest);
}

struct trace trace_read(struct attest *t, const char *file)
{
	struct reading *r = arena_alloc(&t->arena, sizeof(*r));
	struct str rest = attest_read(t, file);

	r->t = t;
	r->calls = arena_alloc(&t->arena, CALLS_MAX * sizeof(*r->calls));
	while (str_next(&rest, '\n', &r->line)) {
		if (r->line.len > 0)
			take_line(r);
	}
	for (size_t i = 0; i < r->open_count; i++)
		add(r, r->open[i].thread, 0, r->open[i].name, r->open[i].args,
			(struct str){NULL, 0});
	attest_true(t, r->count > 0, "attest: strace wrote nothing");
	return (struct trace){r->calls, r->count};
}

/*
 * Asking.
 */
bool trace_names(const struct trace_call *c, const char *name)
{
	return strcmp(c->name, name) == 0;
}

bool trace_makes_thread(const struct trace_call *c)
{
	return trace_names(c, "clone") || trace_names(c, "clone3") || trace_names(c, "fork") ||
	       trace_names(c, "vfork");
}

bool trace_has(const struct trace_call *c, const char *needle)
{
	return str_find(c->args, str_from(needle), 0) >= 0;
}

/* The call that made this thread, in the process that has it. */
static const struct trace_call *maker_of(const struct trace *tr, pid_t thread)
{
	for (size_t i = 0; i < tr->count; i++) {
		const struct trace_call *c = &tr->calls[i];

		if (c->value == thread && (trace_names(c, "clone") || trace_names(c, "clone3")) &&
			trace_has(c, "CLONE_THREAD"))
			return c;
	}
	return NULL;
}

bool trace_is_of(const struct trace *tr, const struct trace_call *c, pid_t process)
{
	pid_t thread = c->thread;

	for (const struct trace_call *maker; thread != process; thread = maker->thread) {
		maker = maker_of(tr, thread);
		if (!maker)
			return false;
	}
	return true;
}

ptrdiff_t trace_find(const struct trace *tr, size_t at, const char *name, const char *needle)
{
	for (size_t i = at; i < tr->count; i++) {
		if (trace_names(&tr->calls[i], name) &&
			(!needle || trace_has(&tr->calls[i], needle)))
			return (ptrdiff_t)i;
	}
	return -1;
}
