/* Where credentials must not turn up, and what the repository says. */
#include "attest/suites.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attest/raw.h"
#include "attest/script.h"

/*
 * AG-187
 */
/* A value for every place a credential comes from. Put together here: the repository's own check
 * for credentials must not find them. */
static const struct {
	const char *name, *value;
	bool in_file; /* ~/.agent/env, else the environment */
	bool sent;    /* a model's service is given it, and may repeat it */
} sources[] = {
	{"OPENAI_API_KEY",
         "sk-"
		"Mark3rOpenA1qWzXcVbN0001",		    false, true },
	{"AWS_ACCESS_KEY_ID",
         "AKIA"
		"M4RK3RQWZXCVBNM1",			    false, true },
	{"AWS_SECRET_ACCESS_KEY",
         "M4rk3rSecretQwZxCvBn/0002"
		"+PlKjHgFdSaQwEr",			     false, true },
	{"AWS_SESSION_TOKEN",     "M4rk3rSessionQwZxCvBn0003", false, true },
	{"ANTHROPIC_API_KEY",
         "sk-ant-"
		"Mark3rAnthr0p1cQwZx0004",		     true,  true },
	{"OPENROUTER_API_KEY",
         "sk-or-"
		"Mark3r0penR0uterQwZx0005",		    true,  true },
	{"SOME_OTHER_SECRET",     "M4rk3r0therSecretQwZx0006", true,  false},
};

static void no_source_in(struct attest *t, const char *what, struct str text)
{
	for (size_t i = 0; i < ARRAY_LEN(sources); i++)
		attest_true(t, str_find(text, str_from(sources[i].value), 0) < 0,
			"%s holds the value of %s", what, sources[i].name);
}

/* Requests with a credential for a value where it does not belong. (A name that is none, of a
 * member, an operation or a tool, is repeated to whoever sent it.) */
static void misplaced_requests(struct attest *t, struct attest_daemon *d)
{
	static const char *const shapes[] = {
		"{\"id\":1,\"op\":\"inspect\",\"bot\":\"missing\",\"key\":\"%s\"}\n",
		"{\"id\":1,\"op\":\"stats\",\"api_key\":\"%s\"}\n",
		"{\"id\":1,\"op\":\"create\",\"bot\":\"%s/\",\"model\":\"drill/x\"}\n",
		"{\"id\":1,\"op\":\"create\",\"bot\":\"c\",\"model\":\"%s\",\"instructions\":\"\","
		"\"tools\":[]}\n",
		"{\"id\":1,\"op\":\"submit\",\"bot\":\"b\",\"request_id\":\"q\",\"prompt\":\"p\","
		"\"delivery\":\"%s\"}\n",
		"Authorization: Bearer %s\n",
	};
	struct raw *r = raw_open(t, d->socket);
	struct str line;

	(void)raw_line(t, r, &line);
	no_source_in(t, "ready", line);
	for (size_t i = 0; i < ARRAY_LEN(shapes) * ARRAY_LEN(sources); i++) {
		const char *value = sources[i % ARRAY_LEN(sources)].value;
		const char *shape = shapes[i / ARRAY_LEN(sources)];
		char *half = attest_path(t, "%s", shape), *at = strstr(half, "%s");

		*at = '\0';
		raw_puts(t, r, attest_path(t, "%s%s%s", half, value, at + 2));
		attest_true(t, raw_line(t, r, &line), "the daemon hung up");
		attest_has(t, shape, line, "\"error\"");
		no_source_in(t, attest_path(t, "the refusal of %s", half), line);
	}
}

static void no_source_in_events(struct attest *t, struct attest_daemon *d, const char *bot)
{
	struct raw *r = raw_open(t, d->socket);
	struct str line;
	int lines = 0;

	(void)raw_line(t, r, &line);
	raw_puts(t, r,
		attest_path(t, "{\"id\":1,\"op\":\"follow\",\"bot\":\"%s\",\"after\":0}\n", bot));
	while (raw_line(t, r, &line) && str_find(line, STR("follow_live"), 0) < 0) {
		no_source_in(t, "an event", line);
		lines++;
	}
	attest_true(t, lines > 5, "only %d events", lines);
}

/* The environment and ~/.agent/env with a marker in each. */
static const char *const *marked_environment(struct attest *t)
{
	const char **env = arena_alloc(attest_arena(t), (ARRAY_LEN(sources) + 1) * sizeof(*env));
	char *file = attest_path(t, "%s/.agent/env", attest_home(t));
	struct buf lines = BUF_INIT(65536);
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
		if (sources[i].in_file)
			must(buf_printf(&lines, "%s=%s\n", sources[i].name, sources[i].value) == 0);
		else
			env[count++] = attest_path(t, "%s=%s", sources[i].name, sources[i].value);
	}
	attest_write(t, file, attest_path(t, STR_FMT, STR_ARG(buf_str(&lines))));
	buf_release(&lines);
	attest_true(t, chmod(file, 0600) == 0, "attest: chmod");
	return env;
}

/* Calls and model calls that fail and that succeed, with every marker in the text that a tool or a
 * model's service hands back. */
static char *marked_script(struct attest *t)
{
	struct buf script = BUF_INIT(65536);

	must(buf_puts(&script, SHELL("cat ~/.agent/env; env; exit 1") SHELL(
				       "cat ~/.agent/env >&2; env | sort") CALL("read",
				       "{\"path\":\"../.agent/env\"}") CALL("read",
				       "{\"path\":\"absent\"}") "{\"calls\":[{\"tool\":\"shell\","
								"\"arguments_text\":\"{not "
								"JSON\"}]}\n" CALL("no_such_tool",
									"{}") SAY("done")) == 0);
	for (size_t i = 0; i < ARRAY_LEN(sources) && sources[i].sent; i++)
		must(buf_printf(&script,
			     "{\"error\":{\"code\":\"provider_http_401\",\"detail\":\"the key %s "
			     "is "
			     "wrong\"}}\n",
			     sources[i].value) == 0);
	must(!script.full);
	return attest_path(t, STR_FMT, STR_ARG(buf_str(&script)));
}

static void AG_187_the_log_holds_no_credential(struct attest *t)
{
	const char *const *env = marked_environment(t);
	char *script = attest_path(t, "%s/drill.jsonl", attest_home(t));
	const char *start[] = {
		"start", attest_path(t, "--provider=drill=rehearsal,%s", script), NULL};
	const char *stats[] = {"stats", NULL}, *stop[] = {"shutdown", NULL};
	const char *const *const commands[] = {start, stats, stop};
	struct attest_daemon d = {.home = attest_path(t, "%s", attest_home(t)),
		.workspace = attest_path(t, "%s/ws", attest_home(t))};
	struct attest_ran ran;

	attest_write(t, script, marked_script(t));
	attest_write(t, attest_path(t, "%s/made", d.workspace), "");
	d.store = attest_path(t, "%s/.agent/state.sqlite", d.home);
	d.socket = client_socket_path(d.store);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		ran = attest_agent(t, NULL, commands[i], env);
		attest_true(
			t, ran.status == 0, "agent %s: " STR_FMT, commands[i][0], STR_ARG(ran.err));
		no_source_in(t, commands[i][0], ran.out);
		no_source_in(t, commands[i][0], ran.err);
		if (i > 0)
			continue;
		d.client = attest_connect(t, d.socket);
		(void)attest_bot(t, &d, "b", "");
		attest_has(t, "the turn", attest_said(attest_turn(t, &d, "b", "go")), "done");
		for (size_t k = 0; k < ARRAY_LEN(sources); k++)
			no_source_in(t, "a failed turn's detail",
				json_str(json_get(attest_turn(t, &d, "b", "more"), "detail")));
		misplaced_requests(t, &d);
		no_source_in_events(t, &d, "b");
	}
	ran.out = attest_read(t, attest_path(t, "%s.log", d.store));
	attest_has(t, "the log", ran.out, "daemon.ready");
	no_source_in(t, "the log", ran.out);
}

/*
 * The repository.
 */
static const char *source(void)
{
	return getenv("ATTEST_SOURCE"); /* there: the row needs it */
}

static void AG_188_the_repository_holds_no_credential(struct attest *t)
{
	struct attest_ran ran = attest_sh(t, "'%s/tools/check-secrets'", source());
	char *scratch = attest_path(t, "%s/scratch", attest_home(t));

	attest_true(t, ran.status == 0, "the checker: " STR_FMT STR_FMT, STR_ARG(ran.out),
		STR_ARG(ran.err));
	ran = attest_sh(t,
		"set -e; mkdir '%s'; cd '%s'; git init -q .; printf 'key = sk-%%s%%s\\n' "
		"q7Rk2mZx9T "
		"bW4vN8pLcY6hJ > planted; git add planted; git -c user.name=a -c user.email=a@b.c "
		"-c commit.gpgsign=false commit -q -m planted; git rm -q planted; "
		"git -c user.name=a -c user.email=a@b.c -c commit.gpgsign=false commit -q -m gone; "
		"! '%s/tools/check-secrets' . && '%s/tools/check-secrets' . | grep -q history",
		scratch, scratch, source(), source());
	attest_true(t, ran.status == 0, "the checker finds no credential in a history: " STR_FMT,
		STR_ARG(ran.err));
}

static void AG_REL_21_reports_are_asked_for_in_private(struct attest *t)
{
	static const char *const points[] = {
		"GitHub private vulnerability reporting",
		"revision",
		"the access an attack needs",
		"impact",
		"smallest reproduction",
		"Leave out real credentials, tokens, transcripts and private data",
		"do not open a public issue",
	};
	struct str policy = attest_read(t, attest_path(t, "%s/SECURITY.md", source()));
	struct attest_ran ran;

	attest_true(t, policy.len > 0, "there is no SECURITY.md");
	for (size_t i = 0; i < ARRAY_LEN(points); i++)
		attest_has(t, "SECURITY.md", policy, points[i]);
	/* A template may name security only to send the reader to the private channel. */
	ran = attest_sh(t,
		"cd '%s' && find . -ipath '*issue_template*' -type f ! -path './build/*' "
		"-exec grep -liE 'vulnerab|security|exploit' {} +",
		source());
	for (struct str file; str_next(&ran.out, '\n', &file);) {
		if (file.len > 0)
			attest_has(t, "an issue template that speaks of security",
				attest_read(
					t, attest_path(t, "%s/" STR_FMT, source(), STR_ARG(file))),
				"private vulnerability reporting");
	}
}

const struct attest_case attest_agent_leaks[] = {
	{"AG-187",    NEEDS_NOTHING,            AG_187_the_log_holds_no_credential        },
	{"AG-188",    NEEDS_SOURCE | NEEDS_GIT, AG_188_the_repository_holds_no_credential },
	{"AG-REL-21", NEEDS_SOURCE,             AG_REL_21_reports_are_asked_for_in_private},
	{NULL,        0,			NULL				      },
};
