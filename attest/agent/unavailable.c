/* Machines where the sandbox cannot be made: nothing runs unconfined instead. */
#include "attest/suites.h"

#include "attest/drill.h"

#define CONFINED "\"sandbox\":\"workspace-write\""
#define CREATE                                                                                     \
	"\"op\":\"create\",\"bot\":\"%s\",\"model\":\"drill/x\",\"instructions\":\"\",\"tools\":"  \
	"[\"shell\",\"write\"],\"workspace\":\"%s\",\"sandbox\":\"%s\""

/* Neither mode can be had, and no bot is left of the trial. */
static void check_refused(struct drill *r)
{
	static const char *const modes[] = {"read-only", "workspace-write"};

	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		(void)attest_refused(r->t, r->d->client, "sandbox_unavailable", CREATE, "b",
			r->d->workspace, modes[i]);
		(void)attest_refused(
			r->t, r->d->client, "bot_not_found", "\"op\":\"inspect\",\"bot\":\"b\"");
	}
	attest_true(r->t,
		!json_get(attest_call(r->t, r->d->client, "\"op\":\"bots\""), "bots")->child,
		"a bot exists");
}

/* Why there is no sandbox. */
static struct str refusal(struct drill *r)
{
	return json_str(json_get(json_get(client_ready(r->d->client), "sandbox"), "detail"));
}

static const char *no_program(struct attest *t)
{
	const char *path = attest_path(t, "%s/no-program", attest_home(t));

	attest_write(t, path, "this is no program\n");
	return path;
}

static const char *failing_program(struct attest *t)
{
	return drill_program(t, "failing", "echo 'no namespaces today' >&2; exit 1");
}

/* The daemon that was linked for another fixed path of bubblewrap (see CMakeLists.txt); NULL where
 * it was not installed. */
static const char *elsewhere(struct attest *t)
{
	const char *path = attest_path(t, "%s", attest_bin("agent-elsewhere"));

	return attest_exists(path) ? path : NULL;
}

/* Runs a script in namespaces of its own, then that daemon in the place of the usual one. */
static const char *const *start_elsewhere(struct attest *t, const char *script)
{
	const char **argv = arena_alloc(attest_arena(t), 7 * sizeof(*argv));

	argv[0] = "unshare";
	argv[1] = "-Urm";
	argv[2] = "/bin/sh";
	argv[3] = "-c";
	argv[4] = attest_path(t, "set -e; %s; shift; exec '%s' \"$@\"", script, elsewhere(t));
	argv[5] = "sh";
	argv[6] = NULL;
	return argv;
}

static void AG_069_without_bubblewrap_no_sandboxed_bot(struct attest *t)
{
	struct attest_start s = {.wrap = drill_mask_bwrap(t, no_program(t))};
	struct drill r;

	drill_init(&r, t);
	drill_start(&r, &s);
	check_refused(&r);
	if (!elsewhere(t)) {
		attest_note(t, "without the test build whose fixed path names nothing");
		return;
	}
	attest_daemon_kill(t, r.d);
	s.wrap = start_elsewhere(t, "test ! -e " ATTEST_ELSEWHERE);
	drill_again(&r, &s);
	check_refused(&r);
}

/* A user namespace in which no further one may be made; or a program that fails. */
static void AG_071_without_namespaces_no_sandboxed_bot(struct attest *t)
{
	static const char none[] = "echo 0 > /proc/sys/user/max_user_namespaces";
	struct attest_start s = {.wrap = drill_mask_bwrap_and(t, drill_copy_bwrap(t), none)};
	struct drill r;

	if (attest_sh(t, "unshare -Ur sh -c '%s'", none).status != 0)
		attest_not_here(t, "/proc/sys/user cannot be written");
	drill_init(&r, t);
	drill_start(&r, &s);
	check_refused(&r);
	attest_has(t, "what the daemon says of it", refusal(&r), "user.max_user_namespaces");
	attest_daemon_kill(t, r.d);
	s.wrap = drill_mask_bwrap(t, failing_program(t));
	drill_again(&r, &s);
	check_refused(&r);
}

/* The calls of a bot that was made where the sandbox could be. */
struct calls {
	int shell, write, edit, patch;
};

static struct calls put_calls(struct drill *r)
{
	return (struct calls){
		.shell = drill_shell(r, "echo x > by-shell; echo x > '%s/ran'", attest_home(r->t)),
		.write = drill_write(r, "by-write", "x\n"),
		.edit = drill_edit(r, "by-edit", "old", "new"),
		.patch = drill_patch(r, "by-patch", "x"),
	};
}

static void check_nothing_ran(struct drill *r, const struct calls *c)
{
	struct attest *t = r->t;
	const int calls[] = {c->shell, c->write, c->edit, c->patch};

	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		(void)drill_refused(r, "b", calls[i], "sandbox_unavailable");
	attest_absent(t, attest_path(t, "%s/ran", attest_home(t)));
	attest_absent(t, attest_path(t, "%s/by-shell", r->d->workspace));
	attest_absent(t, attest_path(t, "%s/by-write", r->d->workspace));
	attest_absent(t, attest_path(t, "%s/by-patch", r->d->workspace));
	attest_true(t,
		str_is(attest_read(t, attest_path(t, "%s/by-edit", r->d->workspace)), "old\n"),
		"a file was edited");
}

static void AG_072_the_lack_of_a_sandbox_runs_nothing(struct attest *t)
{
	struct attest_start missing = {.wrap = drill_mask_bwrap(t, no_program(t))};
	struct attest_start failing = {.wrap = drill_mask_bwrap(t, failing_program(t))};
	struct calls calls;
	struct drill r;

	drill_init(&r, t);
	calls = put_calls(&r);
	attest_write(t, attest_path(t, "%s/ws/by-edit", attest_home(t)), "old\n");
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b", CONFINED);
	(void)drill_works(&r, "b", "true");
	attest_daemon_stop(t, r.d);
	drill_again(&r, &missing);
	check_nothing_ran(&r, &calls);
	attest_daemon_kill(t, r.d);
	drill_again(&r, &failing);
	check_nothing_ran(&r, &calls);
}

/* Bubblewraps that tell of their use and are first on PATH. */
static void AG_073_bubblewrap_is_never_found_on_path(struct attest *t)
{
	const char *used = attest_path(t, "%s/used", attest_home(t));
	const char *env[] = {attest_path(t, "PATH=%s/fake:/usr/bin:/bin", attest_home(t)), NULL};
	struct attest_start s = {.env = env};
	struct drill r;

	(void)drill_program(t, "fake/bwrap", "echo used >> '%s'; exec /usr/bin/bwrap \"$@\"", used);
	drill_init(&r, t);
	drill_start(&r, &s);
	(void)attest_bot(t, r.d, "b", CONFINED);
	attest_has(t, "a shell's own search", drill_works(&r, "b", "command -v bwrap"), "/fake/");
	attest_absent(t, used);
	attest_daemon_stop(t, r.d);
	s.wrap = drill_mask_bwrap(t, no_program(t));
	drill_again(&r, &s);
	(void)attest_refused(t, r.d->client, "sandbox_unavailable", CREATE, "c", r.d->workspace,
		"workspace-write");
	attest_absent(t, used);
}

static size_t lines(struct attest *t, const char *path)
{
	struct str rest = attest_read(t, path), line;
	size_t count = 0;

	while (str_next(&rest, '\n', &line))
		count += line.len > 0;
	return count;
}

/* What lies at the system's paths would fail. */
static void AG_074_a_build_fixes_another_path(struct attest *t)
{
	const char *used = attest_path(t, "%s/used", attest_home(t));
	const char *real = drill_copy_bwrap(t);
	const char *wrapper = drill_program(
		t, "wrapper", "echo used >> '%s'; exec '%s' \"$@\"", used, real);
	struct attest_start s = {0};
	struct drill r;
	size_t before;

	if (!elsewhere(t))
		attest_not_here(t, "the test build of the daemon with another fixed path");
	s.wrap = start_elsewhere(
		t, attest_path(t,
			   "mount -t tmpfs none /mnt; cp '%s' %s; mount --bind '%s' /usr/bin/bwrap",
			   wrapper, ATTEST_ELSEWHERE, failing_program(t)));
	drill_init(&r, t);
	drill_start(&r, &s);
	(void)attest_bot(t, r.d, "b", CONFINED);
	before = lines(t, used);
	(void)drill_works(&r, "b", "true");
	(void)drill_works(&r, "b", "true");
	attest_true(t, before > 0 && lines(t, used) == before + 2,
		"the wrapper ran %zu times for two commands", lines(t, used) - before);
}

/* A confined bot on a machine that lost its sandbox: its commands run no more, its history is there
 * all the same. */
static void AG_141_history_is_not_confined(struct attest *t)
{
	const struct attest_start without = {.wrap = drill_mask_bwrap(t, no_program(t))};
	int command, history;
	struct drill r;

	drill_init(&r, t);
	command = drill_shell(&r, "echo MARKER-$((40+2))");
	history = drill_call(&r, "history", "{\"turn\":1}");
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b", CONFINED);
	(void)drill_done(&r, "b", command);
	attest_daemon_stop(t, r.d);
	drill_again(&r, &without);
	(void)drill_refused(&r, "b", command, "sandbox_unavailable");
	attest_has(t, "the history of turn 1", drill_done(&r, "b", history), "MARKER-42");
}

const struct attest_case attest_agent_unavailable[] = {
	{"AG-069", NEEDS_NAMESPACE,                 AG_069_without_bubblewrap_no_sandboxed_bot},
	{"AG-071", NEEDS_NAMESPACE,                 AG_071_without_namespaces_no_sandboxed_bot},
	{"AG-072", NEEDS_SANDBOX | NEEDS_NAMESPACE, AG_072_the_lack_of_a_sandbox_runs_nothing },
	{"AG-073", NEEDS_SANDBOX | NEEDS_NAMESPACE, AG_073_bubblewrap_is_never_found_on_path  },
	{"AG-074", NEEDS_SANDBOX | NEEDS_NAMESPACE, AG_074_a_build_fixes_another_path         },
	{"AG-141", NEEDS_SANDBOX | NEEDS_NAMESPACE, AG_141_history_is_not_confined            },
	{NULL,     0,			       NULL				      },
};
