/*
 * shell: commands inside and outside a sandbox, their output, their end.
 */
#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>

#include "tooling.h"

static const struct json *parsed(struct rig *r)
{
	const struct json *doc;
	struct error err = ERROR_INIT;

	assert_ok(json_parse(&r->arena, r->output, &doc, &err), &err);
	return doc;
}

static struct str member(struct rig *r, const char *name)
{
	return json_str(json_get(parsed(r), name));
}

static void run(struct rig *r, const char *command)
{
	rig_call(r, "shell", arena_printf(&r->arena, "{\"command\":\"%s\"}", command));
}

/* AG-003 */
static void a_command_gives_output_and_status(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	run(&r, "printf hi; printf oh >&2");
	assert_true(str_is(r.output,
		"{\"stdout\":\"hi\",\"stderr\":\"oh\",\"exit_code\":0,\"success\":true}"));
	assert_false(r.failed);
	assert_int_equal(r.judgement.reach, TOOL_OUTSIDE);
	run(&r, "exit 3");
	assert_true(str_is(
		r.output, "{\"stdout\":\"\",\"stderr\":\"\",\"exit_code\":3,\"success\":false}"));
	assert_true(r.failed);
	run(&r, "kill -TERM $$");
	assert_says(&r, "\"exit_code\":143,\"success\":false");
	run(&r, "pwd; cat; test -t 0 || echo none");
	assert_true(
		str_is(member(&r, "stdout"), arena_printf(&r.arena, "%s\nnone\n", r.workspace)));
	run(&r, "echo $FOO $AGENT_BOT $AGENT_SOCKET");
	assert_true(str_is(member(&r, "stdout"), "bar tester /daemon.sock\n"));
	rig_release(&r);
}

static void workdir_is_looked_at(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	must(mkdir(rig_path(&r, r.workspace, "sub"), 0700) == 0);
	rig_put(&r, r.workspace, "file", STR("x"));
	rig_call(&r, "shell", "{\"command\":\"pwd\",\"workdir\":\"sub\"}");
	assert_true(str_is(member(&r, "stdout"), arena_printf(&r.arena, "%s/sub\n", r.workspace)));
	rig_call(&r, "shell", "{\"command\":\"pwd\",\"workdir\":\"/\"}");
	assert_true(str_is(member(&r, "stdout"), "/\n"));
	rig_call(&r, "shell", "{\"command\":\"pwd\",\"workdir\":\"none\"}");
	assert_says(&r, "file_not_found");
	rig_call(&r, "shell", "{\"command\":\"pwd\",\"workdir\":\"file\"}");
	assert_says(&r, "file_not_found");
	must(os_remove_tree(r.workspace, NULL) == 0);
	run(&r, "true");
	assert_says(&r, "{\"error\":\"workspace_missing\"");
	rig_release(&r);
}

static void a_timeout_is_a_result(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_call(&r, "shell",
		"{\"command\":\"printf before; exec tail -f /dev/null\",\"timeout_ms\":150}");
	assert_true(str_is(r.output, "{\"stdout\":\"before\",\"stderr\":\"\",\"exit_code\":null,"
				     "\"success\":false,\"timed_out\":true}"));
	assert_true(r.failed);
	assert_false(r.cancelled);
	rig_release(&r);
}

enum { PATIENCE_MS = 5000 }; /* only a failing test waits this long */

/* Whether a process has ended, or does soon. */
static bool is_gone(pid_t pid)
{
	struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	int ended;

	if (p.fd < 0)
		return errno == ESRCH;
	ended = poll(&p, 1, PATIENCE_MS);
	os_close(p.fd);
	return ended == 1;
}

static pid_t written_pid(struct rig *r)
{
	int64_t pid = 0;

	assert_int_equal(text_i64(str_trim(rig_get(r, r->workspace, "pid")), 2, INT32_MAX, "pid",
				 &pid, NULL),
		0);
	return (pid_t)pid;
}

static void nothing_outlives_its_call(void **state)
{
	static const char orphan[] =
		"rm pid; (setsid sh -c 'echo $$ >pid; exec tail -f pid' &) >o; "
		"until test -s pid; do :; done";
	static const char *const commands[] = {
		"tail -f /dev/null & echo $! > pid",
		"setsid tail -f /dev/null >/dev/null 2>&1 </dev/null & echo $! > pid",
		orphan,
	};
	struct rig r;

	(void)state;
	rig_init(&r);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		run(&r, commands[i]);
		assert_says(&r, "\"exit_code\":0");
		assert_true(is_gone(written_pid(&r)));
	}
	rig_release(&r);
}

static void on_cancel_timer(void *arg)
{
	struct rig *r = arg;

	tool_find(STR("shell"))->cancel(r->run);
}

static void a_cancelled_command_says_what_it_wrote(void **state)
{
	struct loop_timer *timer;
	struct rig r;

	(void)state;
	rig_init(&r);
	timer = loop_timer_new(r.loop, on_cancel_timer, &r);
	assert_true(rig_start(&r, "shell",
		"{\"command\":\"echo $$ > pid; printf before; exec tail -f /dev/null\"}", false));
	loop_timer_set(timer, 300);
	rig_finish(&r, "shell");
	assert_true(r.cancelled);
	assert_says(&r, "\"stdout\":\"before\"");
	assert_says(&r, "\"error\":\"cancelled\"");
	assert_true(is_gone(written_pid(&r)));
	loop_timer_free(timer);
	rig_release(&r);
}

static void a_freed_run_ends_silently(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	assert_true(rig_start(&r, "shell", "{\"command\":\"exec tail -f /dev/null\"}", false));
	tool_find(STR("shell"))->free(r.run);
	loop_run(r.loop);
	assert_int_equal(r.dones, 0);
	rig_release(&r);
}

static void long_output_is_cut_and_kept(void **state)
{
	struct rig r;
	struct str shown;

	(void)state;
	rig_init(&r);
	/* 3 bytes a character: neither cut falls on a border by luck alone */
	run(&r, "i=0; while [ $i -lt 3000 ]; do printf '€€€€€€€€%06d\\\\n' $i; i=$((i+1)); done");
	shown = member(&r, "stdout");
	assert_true(shown.len > 65000 && shown.len < 66000);
	assert_true(utf8_valid(shown));
	assert_true(str_find(shown, STR("\xef\xbf\xbd"), 0) < 0);
	assert_true(str_find(shown, STR("€000000\n"), 0) >= 0);
	assert_true(str_find(shown, STR("€002999\n"), 0) >= 0);
	assert_true(str_find(shown, STR("\n["), 0) >= 0);
	assert_true(str_find(shown,
			    STR("bytes are left out here; read them in artifact 12/r1-1/stdout]\n"),
			    0) > 0);
	assert_says(&r, "\"artifacts\":[\"12/r1-1/stdout\"]");
	assert_int_equal(r.artifact.len, 3000 * 31);
	assert_false(r.failed);
	rig_release(&r);
}

static void too_much_output_ends_the_command(void **state)
{
	struct rig r;
	const struct json *doc;

	(void)state;
	rig_init(&r);
	run(&r, "echo $$ > pid; while :; do echo "
		"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done");
	doc = parsed(&r);
	assert_true(str_is(json_str(json_get(doc, "error")), "shell_output_limit"));
	assert_true(json_str(json_get(doc, "stdout")).len > 65000);
	assert_int_equal(r.artifact.len, 1048576);
	assert_true(r.failed);
	assert_false(r.cancelled);
	assert_true(is_gone(written_pid(&r)));
	rig_release(&r);
}

static void bytes_that_are_no_text_are_shown_as_such(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	run(&r, "printf 'a\\\\377b\\\\000c'");
	assert_true(str_is(r.output, "{\"stdout\":\"a\xef\xbf\xbd"
				     "b\\u0000c\",\"stderr\":\"\","
				     "\"exit_code\":0,\"success\":true}"));
	run(&r, "head -c 70000 /dev/zero | tr '\\\\000' '\\\\200'");
	assert_true(utf8_valid(r.output));
	assert_int_equal(r.artifact.len, 70000);
	assert_int_equal((unsigned char)r.artifact.p[0], 0x80); /* raw */
	rig_release(&r);
}

/* AG-178, AG-180, AG-181, AG-182 */
static void secrets_are_taken_out_as_they_stream(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	run(&r, "printf 'x sk-very-sec'; tail -f /dev/null & p=$!; kill $p; printf 'ret-0123456789 "
		"y'");
	assert_true(str_is(member(&r, "stdout"), "x [REDACTED] y"));
	run(&r, "echo " SECRET_VALUE " >&2");
	assert_true(str_is(member(&r, "stderr"), "[REDACTED]\n"));
	run(&r, "echo password=hunter22; echo api_key: abcdef123");
	assert_says(&r, "password=");
	assert_false(rig_says(&r, "hunter22"));
	assert_false(rig_says(&r, "abcdef123"));
	run(&r, "echo -----BEGIN PRIVATE KEY-----; echo MIIEvQIBADANBg; echo -----END PRIVATE "
		"KEY-----");
	assert_false(rig_says(&r, "MIIEvQIBADANBg"));
	run(&r, "echo c2stdmVyeS1zZWNyZXQtMDEyMzQ1Njc4OQ=="); /* an encoded copy is not caught */
	assert_says(&r, "c2stdmVyeS1zZWNyZXQtMDEyMzQ1Njc4OQ==");
	/* The cut to head and tail comes after: no half of it is shown. */
	run(&r, "head -c 32760 /dev/zero | tr '\\\\000' x; printf " SECRET_VALUE
		"; head -c 40000 /dev/zero | tr '\\\\000' y");
	assert_false(rig_says(&r, "sk-very"));
	assert_false(rig_says(&r, "0123456789"));
	assert_true(str_find(r.artifact, STR("sk-very"), 0) < 0);
	rig_release(&r);
}

static void asking_to_escalate_leaves_the_sandbox(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.bot.set.sandbox = SANDBOX_WORKSPACE_WRITE;
	r.host.sandbox = NULL;
	/* Judged without a sandbox at hand; outside nothing needs one. */
	rig_call_as(&r, "shell",
		"{\"command\":\"echo out > "
		"../out/f\",\"sandbox_permissions\":\"require_escalated\","
		"\"justification\":\"why not\"}",
		true);
	assert_int_equal(r.judgement.reach, TOOL_LEAVES);
	assert_string_equal(r.judgement.why, "require_escalated");
	assert_true(str_is(r.judgement.justification, "why not"));
	assert_true(str_is(rig_get(&r, r.outside, "f"), "out\n"));
	/* Without a sandbox there is nothing to leave. */
	r.bot.set.sandbox = SANDBOX_FULL_ACCESS;
	rig_call(&r, "shell",
		"{\"command\":\"true\",\"sandbox_permissions\":\"require_escalated\"}");
	assert_int_equal(r.judgement.reach, TOOL_OUTSIDE);
	rig_release(&r);
}

/* AG-065, AG-066 */
static void a_sandbox_confines(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	if (!rig_confine(&r, SANDBOX_WORKSPACE_WRITE)) {
		rig_release(&r);
		skip();
		return; /* never: skip() jumps, which no analyser knows */
	}
	run(&r, "echo in > f && cat f; echo $AGENT_SOCKET; echo out > ../out/f");
	assert_int_equal(r.judgement.reach, TOOL_CONFINED);
	assert_true(str_is(member(&r, "stdout"), "in\n\n"));
	assert_true(r.failed);
	assert_null(rig_get(&r, r.outside, "f").p);
	assert_true(str_is(rig_get(&r, r.workspace, "f"), "in\n"));
	rig_call(&r, "shell", "{\"command\":\"pwd\",\"workdir\":\"/etc\"}");
	assert_true(str_is(member(&r, "stdout"), "/etc\n"));
	(void)rig_confine(&r, SANDBOX_READ_ONLY);
	run(&r, "cat f; echo again > f");
	assert_true(str_is(member(&r, "stdout"), "in\n"));
	assert_true(r.failed);
	assert_true(str_is(rig_get(&r, r.workspace, "f"), "in\n"));
	rig_release(&r);
}

static void a_sandbox_ends_with_its_command(void **state)
{
	struct pollfd held = {.fd = -1};
	struct rig r;

	(void)state;
	rig_init(&r);
	if (!rig_confine(&r, SANDBOX_WORKSPACE_WRITE)) {
		rig_release(&r);
		skip();
		return; /* never: skip() jumps, which no analyser knows */
	}
	/* Inside, a process has another number: what tells is the pipe that it holds open. */
	must(mkfifo(rig_path(&r, r.workspace, "held"), 0600) == 0);
	must(os_open(rig_path(&r, r.workspace, "held"), O_RDONLY | O_NONBLOCK, 0, &held.fd, NULL) ==
		0);
	run(&r, "setsid sh -c 'exec 3>held; touch holds; exec tail -f /dev/null' >/dev/null 2>&1 "
		"</dev/null & until test -e holds; do :; done");
	assert_says(&r, "\"exit_code\":0");
	assert_int_equal(poll(&held, 1, PATIENCE_MS), 1);
	assert_true(held.revents & POLLHUP);
	os_close(held.fd);
	rig_call(&r, "shell", "{\"command\":\"printf x; tail -f /dev/null\",\"timeout_ms\":300}");
	assert_says(&r, "\"timed_out\":true");
	assert_true(str_is(member(&r, "stdout"), "x"));
	rig_release(&r);
}

static void put_repository(struct rig *r)
{
	static const char *const folders[] = {"sub", "sub/.git", "sub/.git/hooks"};

	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		must(mkdir(rig_path(r, r->workspace, folders[i]), 0755) == 0);
	rig_put(r, r->workspace, "sub/.git/config", STR("[core]\n"));
}

/* A second name of a file, made before the command, is how one gets at it all the same. */
static void what_git_would_run_and_has_changed_is_an_incident(void **state)
{
	const char *config;
	struct rig r;

	(void)state;
	rig_init(&r);
	if (!rig_confine(&r, SANDBOX_WORKSPACE_WRITE)) {
		rig_release(&r);
		skip();
		return; /* never: skip() jumps, which no analyser knows */
	}
	put_repository(&r);
	config = rig_path(&r, r.workspace, "sub/.git/config");
	must(link(config, rig_path(&r, r.workspace, "other")) == 0);
	run(&r, "echo x >sub/.git/config || echo x >sub/.git/hooks/x || mv sub z || echo kept");
	assert_true(str_is(member(&r, "stdout"), "kept\n"));
	assert_false(rig_says(&r, "incidents"));
	assert_false(r.failed);
	run(&r, "echo x >>other");
	assert_says(&r, arena_printf(&r.arena, "\"success\":true,\"incidents\":[\"%s\"]}", config));
	assert_true(r.failed);
	assert_int_equal(r.incidents, 1);
	(void)rig_confine(&r, SANDBOX_READ_ONLY);
	run(&r, "echo x >>other");
	assert_false(rig_says(&r, "incidents"));
	rig_release(&r);
}

static void a_survey_that_was_cut_is_said(void **state)
{
	char deep[64] = "";
	struct rig r;

	(void)state;
	rig_init(&r);
	if (!rig_confine(&r, SANDBOX_WORKSPACE_WRITE)) {
		rig_release(&r);
		skip();
		return; /* never: skip() jumps, which no analyser knows */
	}
	for (size_t i = 0; i < 20; i++) {
		memcpy(deep + 2 * i, "/d", 3);
		must(mkdir(rig_path(&r, r.workspace, deep), 0755) == 0);
	}
	run(&r, "echo ran");
	assert_true(str_is(r.output,
		"{\"stdout\":\"ran\\n\",\"stderr\":\"\",\"exit_code\":0,\"success\":true,"
		"\"protection_cut\":true}"));
	rig_release(&r);
}

/* Before it has started anything: the worker still looks at the folders. */
static void a_command_can_be_cancelled_before_it_starts(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	if (!rig_confine(&r, SANDBOX_WORKSPACE_WRITE)) {
		rig_release(&r);
		skip();
		return; /* never: skip() jumps, which no analyser knows */
	}
	must(rig_start(&r, "shell", "{\"command\":\"touch ran\"}", false));
	tool_find(STR("shell"))->cancel(r.run);
	rig_finish(&r, "shell");
	assert_true(r.cancelled);
	must(rig_start(&r, "shell", "{\"command\":\"touch ran\"}", false));
	tool_find(STR("shell"))->free(r.run);
	loop_run(r.loop);
	assert_null(rig_get(&r, r.workspace, "ran").p);
	rig_release(&r);
}

static void without_a_sandbox_nothing_runs(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	if (rig_confine(&r, SANDBOX_WORKSPACE_WRITE)) {
		rig_release(&r);
		skip(); /* only to be seen where none can be made; see attest for the rest */
		return; /* never: skip() jumps, which no analyser knows */
	}
	run(&r, "echo ran > f");
	assert_says(&r, "sandbox_unavailable");
	assert_null(rig_get(&r, r.workspace, "f").p);
	rig_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_gives_output_and_status),
		cmocka_unit_test(workdir_is_looked_at),
		cmocka_unit_test(a_timeout_is_a_result),
		cmocka_unit_test(nothing_outlives_its_call),
		cmocka_unit_test(a_cancelled_command_says_what_it_wrote),
		cmocka_unit_test(a_freed_run_ends_silently),
		cmocka_unit_test(long_output_is_cut_and_kept),
		cmocka_unit_test(too_much_output_ends_the_command),
		cmocka_unit_test(bytes_that_are_no_text_are_shown_as_such),
		cmocka_unit_test(secrets_are_taken_out_as_they_stream),
		cmocka_unit_test(asking_to_escalate_leaves_the_sandbox),
		cmocka_unit_test(a_sandbox_confines),
		cmocka_unit_test(a_sandbox_ends_with_its_command),
		cmocka_unit_test(what_git_would_run_and_has_changed_is_an_incident),
		cmocka_unit_test(a_survey_that_was_cut_is_said),
		cmocka_unit_test(a_command_can_be_cancelled_before_it_starts),
		cmocka_unit_test(without_a_sandbox_nothing_runs),
	};

	return cmocka_run_group_tests_name("tool_shell", tests, NULL, NULL);
}
