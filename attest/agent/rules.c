/* Command rules: what a bot's client lets out, has asked about and forbids. */
#include "attest/suites.h"

#include "attest/drill.h"

#include <sys/stat.h>

#define CONFINED           "\"sandbox\":\"workspace-write\""
#define GATED              "\"gates\":[{\"tag\":\"t\",\"tools\":[\"shell\"],\"expire_ms\":null}]"
#define RULE(word, decide) "{\"pattern\":[\"" word "\"],\"decision\":\"" decide "\"}"
#define ALLOW(word)        "\"rules\":[" RULE(word, "allow") "]"

/* A drill whose daemon finds programs of the case first: each leaves a mark where no confined
 * command can write. */
struct ruled {
	struct drill r;
	const char *bin, *marks;
};

static void ruled_init(struct ruled *w, struct attest *t)
{
	static const char *const names[] = {"tool", "other", "git"};

	w->bin = attest_path(t, "%s/bin", attest_home(t));
	w->marks = attest_path(t, "%s/marks", attest_outside(t));
	drill_init(&w->r, t);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)drill_program(t, attest_path(t, "bin/%s", names[i]), "echo \"%s $*\" >> '%s'",
			names[i], w->marks);
}

static void ruled_start_with(struct ruled *w, const char *store, const char *const *args)
{
	const char *env[] = {
		attest_path(w->r.t, "PATH=%s:/usr/local/bin:/usr/bin:/bin", w->bin), NULL};

	drill_start(&w->r, &(struct attest_start){.env = env, .store = store, .args = args});
}

static void ruled_start(struct ruled *w)
{
	ruled_start_with(w, NULL, NULL);
}

static void check_marks(struct ruled *w, const char *what, const char *expected)
{
	struct str marks = attest_read(w->r.t, w->marks);

	attest_true(w->r.t, str_is(marks, expected), "%s: outside ran '" STR_FMT "', not '%s'",
		what, STR_ARG(marks), expected);
}

static struct str events_of(struct ruled *w, const char *bot)
{
	const struct json *page = attest_call(w->r.t, w->r.d->client,
		"\"op\":\"events\",\"bot\":\"%s\",\"after\":0,\"limit\":256", bot);
	struct buf text = BUF_INIT(1024 * 1024);
	struct json_out j = JSON_OUT(&text);
	struct str kept;

	json_put(&j, NULL, json_get(page, "events"));
	kept = (struct str){arena_strndup(attest_arena(w->r.t), text.data, text.len), text.len};
	buf_release(&text);
	return kept;
}

static void check_unasked(struct ruled *w, const char *bot)
{
	attest_lacks(w->r.t, "the events", events_of(w, bot), "approval_requested");
}

static void check_done(struct ruled *w, struct drilled done)
{
	attest_true(w->r.t, done.ran && done.code == 0, "a command failed: " STR_FMT,
		STR_ARG(done.text));
}

/* Each script in a turn of its own; none asks, and none does anything outside. */
static void check_inside(struct attest *t, const char *more, const char *const *scripts)
{
	struct ruled w;
	int count = 0;

	ruled_init(&w, t);
	for (; scripts[count]; count++)
		(void)drill_call(&w.r, "shell", "{\"command\":\"%s\"}", scripts[count]);
	ruled_start(&w);
	(void)attest_bot(t, w.r.d, "b", attest_path(t, CONFINED "," GATED ",%s", more));
	for (int i = 1; i <= count; i++) {
		(void)drill_do(&w.r, "b", i);
		attest_lacks(t, scripts[i - 1], events_of(&w, "b"), "\"sandboxed\":false");
		check_marks(&w, scripts[i - 1], "");
	}
	check_unasked(&w, "b");
}

static void AG_058_an_allowed_command_gets_the_daemons_socket(struct attest *t)
{
	struct drilled done;
	struct ruled w;
	int call;

	ruled_init(&w, t);
	(void)drill_program(t, "bin/helper",
		"echo \"$AGENT_SOCKET\"; '%s' ask \"$AGENT_SOCKET\" "
		"'{\"id\":1,\"op\":\"configure\",\"bot\":\"b\",\"network\":true}'",
		drill_probe(t));
	call = drill_shell(&w.r, "helper");
	ruled_start(&w);
	(void)attest_bot(t, w.r.d, "b", CONFINED "," ALLOW("helper"));
	done = drill_do(&w.r, "b", call);
	check_done(&w, done);
	attest_has(t, "the socket it was given", done.out, attest_path(t, "%s\n", w.r.d->socket));
	attest_true(t,
		json_is_true(
			json_get(attest_call(t, w.r.d->client, "\"op\":\"inspect\",\"bot\":\"b\""),
				"network")),
		"the request had no effect: " STR_FMT, STR_ARG(done.text));
}

static void AG_116_every_command_has_to_be_allowed(struct attest *t)
{
	struct ruled w;
	int both, escalated, mixed;

	ruled_init(&w, t);
	both = drill_shell(&w.r, "tool a && tool b");
	escalated = drill_escalated(&w.r, "tool c");
	mixed = drill_shell(&w.r, "tool a && other");
	ruled_start(&w);
	(void)attest_bot(t, w.r.d, "b", CONFINED "," GATED "," ALLOW("tool"));
	check_done(&w, drill_do(&w.r, "b", both));
	check_marks(&w, "two allowed commands", "tool a\ntool b\n");
	check_done(&w, drill_do(&w.r, "b", escalated));
	check_marks(&w, "one that asks besides", "tool a\ntool b\ntool c\n");
	(void)drill_do(&w.r, "b", mixed);
	check_marks(&w, "one of two allowed", "tool a\ntool b\ntool c\n");
	check_unasked(&w, "b");
}

static void configure(struct ruled *w, const char *members)
{
	(void)attest_call(w->r.t, w->r.d->client, "\"op\":\"configure\",\"bot\":\"b\",%s", members);
}

static bool is_running(struct attest *t, void *arg)
{
	const struct ruled *w = arg;
	int64_t count = 0;

	must(json_i64(json_get(attest_call(t, w->r.d->client, "\"op\":\"stats\""),
			      "running_processes"),
		     &count) == 0);
	return count == 1;
}

static bool is_queued(struct attest *t, void *arg)
{
	const struct ruled *w = arg;
	int64_t count = 0;

	must(json_i64(json_get(attest_call(t, w->r.d->client, "\"op\":\"stats\""),
			      "queued_processes"),
		     &count) == 0);
	return count == 1;
}

/* A call that was decided, and waits for another command to end: what is configured meanwhile
 * counts. */
static void check_queued(struct attest *t, const char *before)
{
	const char *args[] = {"--max-processes", "1", NULL};
	const char *gate = attest_path(t, "%s/gate", attest_home(t));
	struct ruled w;
	int64_t first, second;
	int call, blocked;

	ruled_init(&w, t);
	must(attest_sh(t, "mkfifo '%s'", gate).status == 0);
	blocked = drill_shell(&w.r, "cat '%s'", gate);
	call = drill_shell(&w.r, "tool late");
	ruled_start_with(&w, attest_path(t, "%s/.second/state.sqlite", attest_home(t)), args);
	(void)attest_bot(t, w.r.d, "a", CONFINED);
	(void)attest_bot(t, w.r.d, "b", CONFINED "," ALLOW("tool"));
	first = drill_submit(&w.r, "a", blocked);
	attest_until(t, "the first command runs", is_running, &w);
	second = drill_submit(&w.r, "b", call);
	attest_until(t, "the second command waits", is_queued, &w);
	configure(&w, "\"rules\":[]");
	must(attest_sh(t, "echo go > '%s'", gate).status == 0);
	check_done(&w, drill_end(&w.r, "a", first));
	(void)drill_end(&w.r, "b", second);
	check_marks(&w, "a rule that was taken back", before);
}

static void AG_117_rules_come_from_the_client(struct attest *t)
{
	struct drilled done;
	struct ruled w;
	int64_t turn;
	int call, file;

	ruled_init(&w, t);
	call = drill_shell(&w.r, "tool x");
	file = drill_shell(&w.r, "touch made");
	ruled_start(&w);
	(void)attest_bot(t, w.r.d, "b", CONFINED "," GATED "," ALLOW("tool"));
	check_done(&w, drill_do(&w.r, "b", call));
	check_marks(&w, "rules of create", "tool x\n");
	configure(&w, "\"rules\":[]");
	(void)drill_do(&w.r, "b", call);
	check_marks(&w, "no rules", "tool x\n");
	configure(&w, ALLOW("tool"));
	check_done(&w, drill_do(&w.r, "b", call));
	check_marks(&w, "rules of configure", "tool x\ntool x\n");
	/* and at the next call of a turn that is under way: the one that waits */
	configure(&w, "\"rules\":[" RULE("touch", "prompt") "]");
	turn = drill_submit(&w.r, "b", file);
	(void)attest_pending(t, w.r.d, "b");
	configure(&w, "\"rules\":[" RULE("touch", "forbidden") "]");
	attest_answer(t, w.r.d, attest_pending(t, w.r.d, "b"), "allow", "");
	done = drill_end(&w.r, "b", turn);
	attest_true(t, str_is(done.error, "rule_forbidden"), "the newer rules: " STR_FMT,
		STR_ARG(done.text));
	attest_absent(t, attest_path(t, "%s/made", w.r.d->workspace));
	attest_daemon_stop(t, w.r.d);
	check_queued(t, "tool x\ntool x\n");
}

/* Outside, as a script's text names it inside a JSON string. */
static char *outside(struct attest *t, const char *name)
{
	return attest_path(t, "%s/%s", attest_outside(t), name);
}

static void AG_118_a_substitution_stays_inside(struct attest *t)
{
	const char *file = outside(t, "made");
	const char *scripts[] = {
		attest_path(t, "echo $(touch '%s')", file),
		attest_path(t, "echo `touch '%s'`", file),
		"echo $HOME",
		attest_path(t, "echo <(touch '%s')", file),
		"tool $(true)",
		"tool `true`",
		"tool $HOME",
		"tool ${HOME}",
		"tool \\\"$HOME\\\"",
		"tool <(true)",
		NULL,
	};

	check_inside(t, "\"rules\":[" RULE("echo", "allow") "," RULE("tool", "allow") "]", scripts);
	attest_absent(t, file);
}

static void AG_119_a_redirection_stays_inside(struct attest *t)
{
	const char *file = outside(t, "made");
	const char *scripts[] = {
		attest_path(t, "echo x > '%s'", file),
		attest_path(t, "echo x >> '%s'", file),
		attest_path(t, "echo x 2> '%s'", file),
		attest_path(t, "echo x <> '%s'", file),
		attest_path(t, "echo x > '%s' <<E\\nE\\n", file),
		"tool x > /dev/null",
		"tool x >> /dev/null",
		"tool x 2> /dev/null",
		"tool x < /dev/null",
		"tool <<E\\nE\\n",
		NULL,
	};

	check_inside(t, "\"rules\":[" RULE("echo", "allow") "," RULE("tool", "allow") "]", scripts);
	attest_absent(t, file);
}

static void AG_120_an_unmatched_command_keeps_all_inside(struct attest *t)
{
	static const char *const joins[] = {";", " && ", " || ", " | ", "\\n", " & "};
	const char *scripts[2 * ARRAY_LEN(joins) + 1];
	const char *file = outside(t, "made");

	for (size_t i = 0; i < ARRAY_LEN(joins); i++) {
		scripts[2 * i] = attest_path(t, "tool%stouch '%s'", joins[i], file);
		scripts[2 * i + 1] = attest_path(t, "touch '%s'%stool", file, joins[i]);
	}
	scripts[2 * ARRAY_LEN(joins)] = NULL;
	check_inside(t, ALLOW("tool"), scripts);
	attest_absent(t, file);
}

static void AG_121_a_forbidden_rule_stops_it(struct attest *t)
{
	static const char *const scripts[] = {"touch made", "touch made > /dev/null",
		"true && touch made", "env touch made", "sh -c 'touch made'", "echo $(touch made)"};
	static const char *const modes[] = {"workspace-write", "danger-full-access"};
	struct ruled w;

	ruled_init(&w, t);
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		(void)drill_shell(&w.r, "%s", scripts[i]);
		(void)drill_escalated(&w.r, "%s", scripts[i]);
	}
	ruled_start(&w);
	for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
		(void)attest_bot(t, w.r.d, modes[m],
			attest_path(t,
				"\"sandbox\":\"%s\"," GATED ",\"rules\":[" RULE(
					"touch", "allow") "," RULE("touch", "forbidden") "]",
				modes[m]));
		for (int i = 1; i <= w.r.calls; i++)
			(void)drill_refused(&w.r, modes[m], i, "rule_forbidden");
		check_unasked(&w, modes[m]);
	}
	attest_absent(t, attest_path(t, "%s/made", w.r.d->workspace));
}

static void AG_122_a_prompt_rule_asks_although_confined(struct attest *t)
{
	const struct json *approval, *why, *rule;
	const char *made;
	struct ruled w;
	int64_t turn;
	int call;

	ruled_init(&w, t);
	call = drill_shell(&w.r, "touch made; touch '%s' || true", outside(t, "made"));
	ruled_start(&w);
	made = attest_path(t, "%s/made", w.r.d->workspace);
	(void)attest_bot(t, w.r.d, "b",
		CONFINED "," GATED ",\"rules\":[{\"pattern\":[[\"touch\",\"tap\"]],\"decision\":"
			 "\"prompt\",\"justification\":\"it makes files\"}]");
	turn = drill_submit(&w.r, "b", call);
	approval = attest_pending(t, w.r.d, "b");
	attest_absent(t, made);
	why = json_get(approval, "escalation");
	rule = json_get(why, "rule");
	attest_true(t, str_is(json_str(json_get(why, "kind")), "rule"), "the kind is another one");
	attest_true(t, !json_is_true(json_get(why, "outside")), "it is said to leave the sandbox");
	attest_has(t, "the rule", json_str(json_get(rule, "justification")), "it makes files");
	attest_true(t, json_get(rule, "pattern") && json_get(rule, "pattern")->count == 1,
		"the pattern is not shown");
	attest_answer(t, w.r.d, approval, "allow", "");
	check_done(&w, drill_end(&w.r, "b", turn));
	attest_true(t, attest_exists(made), "allowed, it did not run");
	attest_absent(t, outside(t, "made"));
	/* denied, and where nothing would confine it either */
	must(attest_sh(t, "rm '%s'", made).status == 0);
	configure(&w, "\"sandbox\":\"danger-full-access\"");
	turn = drill_submit(&w.r, "b", call);
	attest_answer(t, w.r.d, attest_pending(t, w.r.d, "b"), "deny", "");
	attest_true(t, str_is(drill_end(&w.r, "b", turn).error, "approval_denied"),
		"a denied call is not denied");
	attest_absent(t, made);
}

static void AG_123_without_a_gate_a_prompt_rule_refuses(struct attest *t)
{
	static const char *const modes[] = {"read-only", "workspace-write", "danger-full-access"};
	struct ruled w;
	int call;

	ruled_init(&w, t);
	call = drill_shell(&w.r, "touch made");
	ruled_start(&w);
	for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
		struct str text;

		(void)attest_bot(t, w.r.d, modes[m],
			attest_path(t, "\"sandbox\":\"%s\",\"rules\":[" RULE("touch", "prompt") "]",
				modes[m]));
		text = drill_refused(&w.r, modes[m], call, "rule_no_gate");
		attest_has(t, "what the model is told", text, "touch");
		check_unasked(&w, modes[m]);
	}
	attest_absent(t, attest_path(t, "%s/made", w.r.d->workspace));
}

static void AG_127_unreadable_rules_refuse_everything(struct attest *t)
{
	static const char *const modes[] = {"workspace-write", "danger-full-access"};
	const struct json *record;
	struct ruled w;
	int plain, escalated;

	ruled_init(&w, t);
	plain = drill_shell(&w.r, "true");
	escalated = drill_escalated(&w.r, "true");
	ruled_start(&w);
	for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
		struct str text;

		(void)attest_bot(t, w.r.d, modes[m],
			attest_path(t,
				"\"sandbox\":\"%s\"," GATED
				",\"rules\":{\"unreadable\":\"a.rules:3: no decision\"}",
				modes[m]));
		text = drill_refused(&w.r, modes[m], plain, "rules_unreadable");
		attest_has(t, "what the model is told", text, "a.rules:3: no decision");
		(void)drill_refused(&w.r, modes[m], escalated, "rules_unreadable");
		check_unasked(&w, modes[m]);
	}
	/* a fork goes by them as well; given rules that can be read, it works */
	record = attest_call(
		t, w.r.d->client, "\"op\":\"fork\",\"source\":\"workspace-write\",\"bot\":\"b\"");
	attest_has(t, "where the fork's rules are from", json_str(json_get(record, "rules_source")),
		"unreadable");
	(void)drill_refused(&w.r, "b", plain, "rules_unreadable");
	configure(&w, "\"rules\":[]");
	check_done(&w, drill_do(&w.r, "b", plain));
}

static void AG_226_an_allowed_command_may_all_the_daemon_may(struct attest *t)
{
	struct ruled w;
	int call;

	ruled_init(&w, t);
	must(attest_sh(t, "ln -s '%s' bin/agent", attest_bin("agent")).status == 0);
	call = drill_shell(&w.r, "agent shutdown");
	ruled_start(&w);
	(void)attest_bot(t, w.r.d, "b", CONFINED "," ALLOW("agent"));
	(void)drill_submit(&w.r, "b", call);
	attest_true(t, attest_daemon_wait(t, w.r.d) == 0, "the daemon ended otherwise");
}

static void AG_227_rules_look_at_first_words(struct attest *t)
{
	struct ruled w;
	int one, two, path;

	ruled_init(&w, t);
	one = drill_shell(&w.r, "git status");
	two = drill_shell(&w.r, "git push --force");
	path = drill_shell(&w.r, "%s/git status", w.bin);
	ruled_start(&w);
	(void)attest_bot(t, w.r.d, "b", CONFINED "," ALLOW("git"));
	check_done(&w, drill_do(&w.r, "b", one));
	check_done(&w, drill_do(&w.r, "b", two));
	check_marks(&w, "two subcommands", "git status\ngit push --force\n");
	(void)drill_do(&w.r, "b", path);
	check_marks(&w, "the program by its path", "git status\ngit push --force\n");
}

static void AG_228_the_daemons_path_finds_the_program(struct attest *t)
{
	const char *second = attest_path(t, "%s/second", attest_home(t));
	const char *path = attest_path(t, "PATH=%s:/usr/bin:/bin", second);
	const char *scripts[] = {
		attest_path(t, "%s tool", path),
		attest_path(t, "%s; tool", path),
		attest_path(t, "%s && export PATH && tool", path),
		attest_path(t, "export %s; tool", path),
		attest_path(t, "env %s tool", path),
	};
	struct ruled w;
	int call;

	ruled_init(&w, t);
	(void)drill_program(t, "second/tool", "echo 'the wrong one' >> '%s'", w.marks);
	call = drill_shell(&w.r, "tool by its name");
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++)
		(void)drill_shell(&w.r, "%s", scripts[i]);
	ruled_start(&w);
	(void)attest_bot(t, w.r.d, "b", CONFINED "," ALLOW("tool"));
	check_done(&w, drill_do(&w.r, "b", call));
	check_marks(&w, "the first on the daemon's PATH", "tool by its name\n");
	for (int i = 1; i <= (int)ARRAY_LEN(scripts); i++) {
		(void)drill_do(&w.r, "b", call + i);
		check_marks(&w, scripts[i - 1], "tool by its name\n");
	}
}

const struct attest_case attest_agent_rules[] = {
	{"AG-058", NEEDS_SANDBOX, AG_058_an_allowed_command_gets_the_daemons_socket},
	{"AG-116", NEEDS_SANDBOX, AG_116_every_command_has_to_be_allowed           },
	{"AG-117", NEEDS_SANDBOX, AG_117_rules_come_from_the_client                },
	{"AG-118", NEEDS_SANDBOX, AG_118_a_substitution_stays_inside               },
	{"AG-119", NEEDS_SANDBOX, AG_119_a_redirection_stays_inside                },
	{"AG-120", NEEDS_SANDBOX, AG_120_an_unmatched_command_keeps_all_inside     },
	{"AG-121", NEEDS_SANDBOX, AG_121_a_forbidden_rule_stops_it                 },
	{"AG-122", NEEDS_SANDBOX, AG_122_a_prompt_rule_asks_although_confined      },
	{"AG-123", NEEDS_SANDBOX, AG_123_without_a_gate_a_prompt_rule_refuses      },
	{"AG-127", NEEDS_SANDBOX, AG_127_unreadable_rules_refuse_everything        },
	{"AG-226", NEEDS_SANDBOX, AG_226_an_allowed_command_may_all_the_daemon_may },
	{"AG-227", NEEDS_SANDBOX, AG_227_rules_look_at_first_words                 },
	{"AG-228", NEEDS_SANDBOX, AG_228_the_daemons_path_finds_the_program        },
	{NULL,     0,             NULL					     },
};
