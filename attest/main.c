/* attest: runs every case of a policy and prints a row per promise. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attest/drills.h"
#include "attest/internal.h"
#include "attest/suites.h"
#include "cli/cli.h"
#include "clock/clock.h"
#include "os/os.h"
#include "suite_config.h"

enum {
	JOBS_DEFAULT = 2,
	JOBS_MAX = 64,
	CASE_LIMIT_MS = 60000, /* one policy in under five minutes */
	CLEAN_UP_MS = 10000,   /* for a case past its limit to end what it started */
	LINE_MAX_BYTES = 4096, /* of a case's reason */
	ID_WIDTH = 9,          /* of a promise, "AG-REL-01" */
};

enum result { HELD, BROKEN, PENDING, NOT_HERE, RESULTS };
static const char *const result_names[RESULTS] = {"held", "broken", "pending", "not here"};

struct options {
	bool json, verbose, rough;
	struct cli_number jobs;
	const char *one; /* runs this case here, for the runner itself */
};

static const struct cli_option options[] = {
	CLI_OPT_FLAG(struct options, json, "json", "one JSON object per promise"),
	CLI_OPT_FLAG(struct options, verbose, "verbose", "what each case notes on its way"),
	CLI_OPT_FLAG(struct options, rough, "rough", "also cases that can hurt a machine"),
	CLI_OPT_NUMBER(struct options, jobs, "jobs", "N", 1, JOBS_MAX, "cases at once (2)"),
	CLI_OPT_TEXT(struct options, one, "case", "ID", "run one case by itself"),
};

struct row {
	const struct promise *promise;
	const struct attest_case *test;
	enum result result;
	char *why; /* owned, may be NULL */
	int64_t took_ms;
	pid_t pid; /* running */
	int out;
	int64_t started_ms;
	struct buf said;
};

struct run {
	const struct options *o;
	const struct suite *suite;
	struct row *rows;
	size_t count, next, running, printed;
	int id_width; /* of the column */
	int64_t totals[RESULTS];
};

static int64_t now(void)
{
	return clock_mono_ms(clock_system());
}

static void print_row(const struct run *run, const struct row *r)
{
	struct buf line = BUF_INIT(65536);
	struct json_out j = JSON_OUT(&line);

	if (run->o->json) {
		json_open(&j, '{');
		json_put_cstr(&j, "id", r->promise->id);
		json_put_cstr(&j, "result", result_names[r->result]);
		json_put_cstr(&j, "why", r->why);
		json_put_i64(&j, "took_ms", r->took_ms);
		json_put_cstr(&j, "promise", r->promise->text);
		json_close(&j, '}');
		(void)printf("%s\n", line.data); /* a failed write shows in main's fflush */
	} else {
		(void)text_put_line(&line, str_from(r->why ? r->why : r->promise->text));
		(void)printf("%-*s %-9s %s\n", run->id_width, r->promise->id,
			result_names[r->result], buf_str(&line).p);
	}
	buf_release(&line);
}

/* In order, as far as known. */
static void print_known(struct run *run)
{
	while (run->printed < run->next && run->rows[run->printed].pid == 0)
		print_row(run, &run->rows[run->printed++]);
	(void)fflush(stdout); /* checked at the end */
}

static void start(struct run *run, struct row *r)
{
	int ends[2];
	pid_t pid;

	if (pipe(ends) < 0) {
		r->result = BROKEN;
		r->why = xstrdup("attest: no pipe");
		return;
	}
	pid = fork(); /* one thread, and only to run a case */
	if (pid == 0) {
		(void)setpgid(0, 0);                    /* so that the limit ends all of it */
		(void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* it cleans up when we are killed */
		(void)dup2(ends[1], STDOUT_FILENO);
		os_close(ends[0]);
		os_close(ends[1]);
		_exit(attest_case_main(r->test, run->o->verbose, run->o->rough));
	}
	os_close(ends[1]);
	if (pid < 0) {
		os_close(ends[0]);
		r->result = BROKEN;
		r->why = xstrdup("attest: no process");
		return;
	}
	r->pid = pid;
	r->out = ends[0];
	r->started_ms = now();
	r->said = (struct buf)BUF_INIT(LINE_MAX_BYTES);
	run->running++;
}

static void finish(struct run *run, struct row *r, int status, bool late)
{
	struct str said = str_trim(buf_str(&r->said));

	os_close(r->out);
	r->pid = 0;
	run->running--;
	r->took_ms = now() - r->started_ms;
	r->result = BROKEN;
	if (!late && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_HELD)
		r->result = HELD;
	else if (!late && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NOT_HERE)
		r->result = NOT_HERE;
	if (late)
		r->why = xasprintf("the case did not end within %d s; " STR_FMT,
			CASE_LIMIT_MS / 1000, STR_ARG(said));
	else if (r->result == BROKEN && !WIFEXITED(status))
		r->why = xasprintf(
			"the case died of signal %d; " STR_FMT, WTERMSIG(status), STR_ARG(said));
	else if (r->result != HELD)
		r->why = xstrndup(said.p, said.len);
	buf_release(&r->said);
}

/* Takes what the case said; true at the end of it. */
static bool listen_to(struct row *r)
{
	char bytes[512];
	ssize_t n = read(r->out, bytes, sizeof(bytes));

	if (n > 0)
		(void)buf_put(&r->said, bytes, (size_t)n); /* a reason past the limit is cut */
	return n == 0 || (n < 0 && errno != EINTR);
}

static void look_at(struct run *run, struct row *r, bool readable)
{
	int status;

	int64_t over_ms = now() - r->started_ms - CASE_LIMIT_MS;

	if (over_ms > CLEAN_UP_MS) {
		(void)kill(-r->pid, SIGKILL); /* gone already: reaped below */
		(void)waitpid(r->pid, &status, 0);
		finish(run, r, status, true);
	} else if (readable && listen_to(r)) {
		(void)waitpid(r->pid, &status, 0); /* it closed its end: it is about to go */
		finish(run, r, status, over_ms > 0);
	} else if (over_ms > 0) {
		(void)kill(r->pid, SIGTERM); /* it ends what it started, and removes its home */
	}
}

static void wait_some(struct run *run)
{
	struct pollfd polls[JOBS_MAX];
	struct row *rows[JOBS_MAX];
	nfds_t count = 0;

	for (size_t i = run->printed; i < run->next; i++) {
		if (run->rows[i].pid == 0)
			continue;
		rows[count] = &run->rows[i];
		polls[count++] = (struct pollfd){.fd = run->rows[i].out, .events = POLLIN};
	}
	(void)poll(polls, count, 1000); /* the limits are looked at every second anyway */
	for (nfds_t i = 0; i < count; i++)
		look_at(run, rows[i], polls[i].revents != 0);
}

static void begin(struct run *run, struct row *r)
{
	if (r->test) {
		start(run, r);
		return;
	}
	r->result = PENDING;
	r->why = xstrdup(r->promise->pending ? r->promise->pending : "no case");
}

static void run_rows(struct run *run)
{
	size_t jobs = run->o->jobs.set ? (size_t)run->o->jobs.value : JOBS_DEFAULT;

	while (run->next < run->count || run->running > 0) {
		while (run->next < run->count && run->running < jobs)
			begin(run, &run->rows[run->next++]);
		print_known(run);
		if (run->running > 0)
			wait_some(run);
	}
	print_known(run);
}

static bool wanted(const char *id, char **ids, int count)
{
	for (int i = 0; i < count; i++) {
		if (strcmp(id, ids[i]) == 0)
			return true;
	}
	return count == 0;
}

static const struct promise *find_promise(const struct suite *s, const char *id)
{
	for (const struct promise *p = s->promises; p->id; p++) {
		if (strcmp(p->id, id) == 0)
			return p;
	}
	return NULL;
}

static void collect(struct run *run, char **ids, int count)
{
	size_t all = 0;

	while (run->suite->promises[all].id)
		all++;
	run->rows = xcalloc(all + 1, sizeof(*run->rows));
	run->id_width = ID_WIDTH;
	for (size_t i = 0; i < all; i++) {
		const struct promise *p = &run->suite->promises[i];

		if (strlen(p->id) > (size_t)run->id_width)
			run->id_width = (int)strlen(p->id);
		if (wanted(p->id, ids, count))
			run->rows[run->count++] = (struct row){
				.promise = p, .test = suite_case(run->suite, p->id)};
	}
}

static int summary(struct run *run)
{
	for (size_t i = 0; i < run->count; i++) {
		run->totals[run->rows[i].result]++;
		free(run->rows[i].why);
	}
	free(run->rows);
	if (!run->o->json)
		(void)printf("%s: %lld held, %lld broken, %lld not here, %lld pending\n",
			run->suite->name, (long long)run->totals[HELD],
			(long long)run->totals[BROKEN], (long long)run->totals[NOT_HERE],
			(long long)run->totals[PENDING]);
	if (fflush(stdout) != 0)
		return CLI_FAILED;
	return run->totals[BROKEN] > 0 ? CLI_FAILED : CLI_OK;
}

static int run_one(const struct options *o, const struct suite *s)
{
	const struct attest_case *c = suite_case(s, o->one);

	if (!c)
		return cli_usage(s->name, "there is no case for '%s'", o->one);
	_exit(attest_case_main(
		c, o->verbose, o->rough)); /* what a case has goes with its process */
}

static int run_suite(const struct suite *suite, void *raw, char **ids, int count)
{
	struct run run = {.o = raw, .suite = suite};

	if (run.o->one)
		return run_one(run.o, run.suite);
	for (int i = 0; i < count; i++) {
		if (!find_promise(run.suite, ids[i]))
			return cli_usage(suite->name, "there is no '%s'", ids[i]);
	}
	collect(&run, ids, count);
	run_rows(&run);
	return summary(&run);
}

static int run_agent(void *raw, char **ids, int count)
{
	return run_suite(&suites[0], raw, ids, count);
}

static int run_drills(void *raw, char **names, int count)
{
	struct error err = ERROR_INIT;
	const struct suite *suite = drills_suite(&err);

	if (suite)
		return run_suite(suite, raw, names, count);
	(void)fprintf(stderr, "attest drills: %s: %s\n", error_code(&err), err.text);
	return CLI_FAILED;
}

static const struct cli_command agent_command = {
	.name = "agent",
	.arguments = "[ID…]",
	.args_max = -1,
	.purpose = "the promises of the daemon and its command line",
	.about = "Runs each promise's case against the agent program beside this one and prints a "
		 "row per promise: "
		 "held, broken, not here (with what is missing) or pending (no case yet). Exit "
		 "status 1 when one is "
		 "broken.",
	.groups = {{NULL, options, ARRAY_LEN(options), 0}},
	.options_size = sizeof(struct options),
	.run = run_agent,
};

static const struct cli_command drills_command = {
	.name = "drills",
	.arguments = "[NAME…]",
	.args_max = -1,
	.purpose = "the drills: hostile and clumsy scripts of a model",
	.about = "Has the agent program beside this one rehearse each drill that ships with the "
		 "suite, and prints a row per drill: held when it ended as it states, broken, or "
		 "not here. Those that can hurt a machine only with --rough. Exit status 1 when "
		 "one is broken.",
	.groups = {{NULL, options, ARRAY_LEN(options), 0}},
	.options_size = sizeof(struct options),
	.run = run_drills,
};

static const struct cli_command *const commands[] = {&agent_command, &drills_command};

int main(int argc, char **argv)
{
	static const struct cli_program program = {
		.name = "attest",
		.version = SUITE_VERSION,
		.purpose = "run the promises of the security policies on this machine",
		.commands = commands,
		.count = ARRAY_LEN(commands),
		.footer = NULL,
	};

	return cli_main(&program, argc, argv);
}
