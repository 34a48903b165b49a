/* Tools at work, processes and connections. */
#include "attest/suites.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attest/script.h"
#include "attest/space.h"
#include "attest/trace.h"
#include "clock/clock.h"

/* The outcome of a bot's only turn, which must have ended with this text. */
static void ends_with(struct attest *t, const struct json *outcome, const char *text)
{
	attest_true(t, str_is(json_str(json_get(outcome, "status")), "completed"),
		"the turn ended as " STR_FMT " (" STR_FMT ")",
		STR_ARG(json_str(json_get(outcome, "status"))),
		STR_ARG(json_str(json_get(outcome, "error"))));
	attest_true(t, str_is(attest_said(outcome), text), "the model said '" STR_FMT "', not '%s'",
		STR_ARG(attest_said(outcome)), text);
}

static const struct json *result_json(struct attest *t, struct str output)
{
	const struct json *result = NULL;
	struct error err = ERROR_INIT;

	if (json_parse(attest_arena(t), output, &result, &err) < 0)
		attest_broken(t, "a result is not JSON (%s): " STR_FMT, err.text, STR_ARG(output));
	return result;
}

static void AG_003_a_bot_runs_shell_commands(struct attest *t)
{
	struct attest_daemon *d = attest_daemon_start(t,
		&(struct attest_start){
			.script = SHELL("printf hi; printf there >&2") IF_RESULT("hi", "saw it")});
	const struct json *result;
	int64_t code = -1;

	(void)attest_bot(t, d, "b", "");
	ends_with(t, attest_turn(t, d, "b", "go"), "saw it");
	result = result_json(t, attest_output(t, d, "b", 0));
	attest_true(t, str_is(json_str(json_get(result, "stdout")), "hi"), "stdout is not 'hi'");
	attest_true(
		t, str_is(json_str(json_get(result, "stderr")), "there"), "stderr is not 'there'");
	attest_true(t, json_i64(json_get(result, "exit_code"), &code) == 0 && code == 0,
		"the exit code is not 0");
}

static void AG_004_a_bot_reads_writes_and_edits(struct attest *t)
{
	struct attest_daemon *d = attest_daemon_start(t,
		&(struct attest_start){
			.script = CALL("write",
				"{\"path\":\"new/notes.txt\",\"content\":\"one\\ntwo\\nthree\\n\"}")
				CALL("read", "{\"path\":\"new/notes.txt\"}") CALL("edit",
					"{\"path\":\"new/notes.txt\",\"old\":\"two\","
					"\"new\":\"2 of \\u00e4\"}") CALL("edit",
					"{\"path\":\"new/notes.txt\",\"old\":\"absent\","
					"\"new\":\"x\"}") CALL("read",
					"{\"path\":\"new/notes.txt\",\"offset\":2}") SAY("done")});

	(void)attest_bot(t, d, "b", "");
	ends_with(t, attest_turn(t, d, "b", "go"), "done");
	attest_lacks(t, "write", attest_output(t, d, "b", 0), "\"error\"");
	attest_has(
		t, "read", attest_output(t, d, "b", 1), "     1\tone\n     2\ttwo\n     3\tthree");
	attest_lacks(t, "edit", attest_output(t, d, "b", 2), "\"error\"");
	attest_has(t, "an edit of what is not there", attest_output(t, d, "b", 3),
		"edit_target_not_found");
	attest_has(t, "read", attest_output(t, d, "b", 4), "     2\t2 of ä\n     3\tthree");
	attest_lacks(t, "read from line 2", attest_output(t, d, "b", 4), "one");
	attest_true(t,
		str_is(attest_read(t, attest_path(t, "%s/new/notes.txt", d->workspace)),
			"one\n2 of ä\nthree\n"),
		"the file is not what the calls make of it");
}

static bool started(struct attest *t, void *path)
{
	(void)t;
	return attest_exists(path);
}

/* The command writes its chain of parents down, from itself up. */
#define ANCESTORS                                                                                  \
	"p=$$; while [ \\\"$p\\\" -gt 1 ]; do echo \\\"<$p>\\\"; "                                 \
	"p=$(awk '/^PPid:/ {print $2}' /proc/$p/status); done; : > ran"

static void AG_013_the_daemon_runs_the_tools(struct attest *t)
{
	struct attest_daemon *d = attest_daemon_start(t,
		&(struct attest_start){
			.script = "{\"delay_ms\":300,\"calls\":[{\"tool\":\"shell\",\"arguments\":"
				  "{\"command\":\"" ANCESTORS "\"}}]}\n" SAY("done")});
	char *ran = attest_path(t, "%s/ran", d->workspace);

	(void)attest_bot(t, d, "b", "");
	(void)attest_submit(t, d, "b", "go");
	attest_disconnect(t, d); /* every client there is */
	attest_true(t, !attest_exists(ran), "the command ran before the client was gone");
	attest_until(t, "the command runs", started, ran);
	d->client = attest_connect(t, d->socket);
	(void)attest_wait(t, d, "b", attest_last_turn(t, d, "b"));
	attest_has(t, "the parents of the command", attest_output(t, d, "b", 0),
		attest_path(t, "<%d>", (int)d->pid));
}

static void AG_015_tools_run_as_the_person(struct attest *t)
{
	struct attest_daemon *d = attest_daemon_start(
		t, &(struct attest_start){
			   .script = SHELL("id -u; id -ru; id -g; id -G; umask") SAY("done")});
	struct attest_ran mine = attest_sh(t, "id -u; id -ru; id -g; id -G; umask");
	const struct json *result;

	(void)attest_bot(t, d, "b", "");
	ends_with(t, attest_turn(t, d, "b", "go"), "done");
	result = result_json(t, attest_output(t, d, "b", 0));
	attest_true(t, str_eq(json_str(json_get(result, "stdout")), mine.out),
		"the command's identity is " STR_FMT ", the person's " STR_FMT,
		STR_ARG(json_str(json_get(result, "stdout"))), STR_ARG(mine.out));
}

/*
 * AG-017
 */
static const char confining[] =
	"unshare,setns,chroot,pivot_root,mount,umount2,seccomp,prctl,landlock_restrict_self,capset,"
	"setuid,setgid,setreuid,setregid,setresuid,setresgid,setgroups,setfsuid,setfsgid,execve";

/* What may be called without confining anything. */
static bool harmless(const struct trace_call *c)
{
	if (trace_names(c, "execve"))
		return true; /* the first one, of the daemon itself */
	if (trace_names(c, "prctl"))
		return !trace_has(c, "PR_SET_SECCOMP") && !trace_has(c, "PR_SET_NO_NEW_PRIVS") &&
		       !trace_has(c, "PR_CAPBSET_DROP") && !trace_has(c, "PR_CAP_AMBIENT") &&
		       !trace_has(c, "PR_SET_SECUREBITS");
	if (trace_names(c, "seccomp")) /* libseccomp asks what the kernel knows, with no filter */
		return !trace_has(c, "SECCOMP_SET_MODE") || c->value < 0;
	return false;
}

static void AG_017_nothing_isolates_the_daemon(struct attest *t)
{
	char *file = attest_path(t, "%s/trace", attest_home(t));
	char *far = attest_path(t, "%s/far.txt", attest_outside(t));
	const char *script = attest_path(t,
		CALL("read", "{\"path\":\"%s\"}") SHELL("true") CALL("echo", "{\"text\":\"x\"}")
			IF_RESULT("x", "done"),
		far);
	struct attest_daemon *d;
	struct trace tr;
	pid_t pid;
	size_t own = 0;

	attest_write(t, far, "MARKER-FAR\n");
	d = trace_daemon(t, &(struct attest_start){.script = script}, file, confining);
	pid = trace_pid(t, d);
	(void)attest_bot(t, d, "b", "");
	ends_with(t, attest_turn(t, d, "b", "go"), "done");
	attest_has(t, "read of a file outside", attest_output(t, d, "b", 0), "MARKER-FAR");
	trace_stop(t, d);
	tr = trace_read(t, file);
	for (size_t i = 0; i < tr.count; i++) {
		const struct trace_call *c = &tr.calls[i];

		if (trace_makes_thread(c) || !trace_is_of(&tr, c, pid))
			continue;
		own++;
		attest_true(t, harmless(c), "the daemon calls %s(" STR_FMT ") = " STR_FMT, c->name,
			STR_ARG(str_cut(c->args, 200)), STR_ARG(c->after));
	}
	attest_true(t, own > 0, "the trace holds no call of the daemon itself");
	attest_true(t, trace_find(&tr, 0, "execve", "/bin/sh") >= 0, "no command was traced");
}

static void AG_068_what_a_confined_command_reads_goes_to_the_model(struct attest *t)
{
	char *far = attest_path(t, "%s/far.txt", attest_outside(t));
	struct attest_daemon *d;

	attest_write(t, far, "MARKER-FAR\n");
	d = attest_daemon_start(
		t, &(struct attest_start){
			   .script = attest_path(t,
				   REPEAT SHELL("cat %s") IF_RESULT("MARKER-FAR", "saw it"), far)});
	(void)attest_bot(t, d, "r", "\"sandbox\":\"read-only\"");
	(void)attest_bot(t, d, "w", "\"sandbox\":\"workspace-write\"");
	ends_with(t, attest_turn(t, d, "r", "go"), "saw it");
	ends_with(t, attest_turn(t, d, "w", "go"), "saw it");
}

static void AG_140_read_is_not_confined(struct attest *t)
{
	char *file = attest_path(t, "%s/trace", attest_home(t));
	char *far = attest_path(t, "%s/far.txt", attest_outside(t));
	const char *script = attest_path(t,
		SHELL("true") SAY("warm") CALL("read", "{\"path\":\"%s\"}")
			IF_RESULT("MARKER-FAR", "saw it") SHELL("true") SAY("again"),
		far);
	struct attest_daemon *d;
	struct trace tr;
	int64_t from_us, until_us;
	size_t before = 0, during = 0, after = 0;

	attest_write(t, far, "MARKER-FAR\n");
	d = trace_daemon(t, &(struct attest_start){.script = script}, file, "execve");
	(void)attest_bot(t, d, "b", "\"sandbox\":\"read-only\"");
	ends_with(t, attest_turn(t, d, "b", "one"), "warm");
	from_us = clock_real_ms(clock_system()) * 1000;
	ends_with(t, attest_turn(t, d, "b", "two"), "saw it");
	until_us = clock_real_ms(clock_system()) * 1000;
	ends_with(t, attest_turn(t, d, "b", "three"), "again");
	trace_stop(t, d);
	tr = trace_read(t, file);
	for (size_t i = 0; i < tr.count; i++) {
		const struct trace_call *c = &tr.calls[i];

		if (!trace_names(c, "execve"))
			continue;
		if (c->at_us < from_us)
			before += trace_has(c, "bwrap");
		else if (c->at_us > until_us + 999)
			after += trace_has(c, "bwrap");
		else
			during++;
	}
	attest_true(t, before > 0 && after > 0, "the confined commands started no bwrap");
	attest_true(t, during == 0, "%zu programs were started while 'read' ran", during);
}

const struct attest_case attest_agent_processes[] = {
	{"AG-003", NEEDS_NOTHING,                AG_003_a_bot_runs_shell_commands                      },
	{"AG-004", NEEDS_NOTHING,                AG_004_a_bot_reads_writes_and_edits                   },
	{"AG-013", NEEDS_NOTHING,                AG_013_the_daemon_runs_the_tools                      },
	{"AG-015", NEEDS_NOTHING,                AG_015_tools_run_as_the_person                        },
	{"AG-017", NEEDS_STRACE,                 AG_017_nothing_isolates_the_daemon                    },
	{"AG-068", NEEDS_SANDBOX,                AG_068_what_a_confined_command_reads_goes_to_the_model},
	{"AG-140", NEEDS_SANDBOX | NEEDS_STRACE, AG_140_read_is_not_confined                           },
	{NULL,     0,			    NULL						  },
};
