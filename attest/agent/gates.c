/* Approval gates: which calls wait, for whom, and what an answer does. */
#include "attest/suites.h"

#include "attest/drill.h"

#define CONFINED        "\"sandbox\":\"workspace-write\""
#define SHELL_GATE(tag) "{\"tag\":\"" tag "\",\"tools\":[\"shell\"],\"expire_ms\":null}"
#define GATED           "\"gates\":[" SHELL_GATE("t") "]"
#define TWICE           "\"gates\":[" SHELL_GATE("one") "," SHELL_GATE("two") "]"

static const char *target(struct attest *t, const char *name)
{
	return attest_path(t, "%s/%s", attest_outside(t), name);
}

static const struct json *approvals(struct attest *t, struct drill *r, const char *bot)
{
	return json_get(attest_call(t, r->d->client, "\"op\":\"approvals\",\"bot\":\"%s\"", bot),
		"approvals");
}

static void check_none_pending(struct attest *t, struct drill *r, const char *bot)
{
	attest_true(t, !approvals(t, r, bot)->child, "a verdict of %s is waited for", bot);
}

/* The members of an answer to one gate of an approval. */
static const char *answer_to(
	struct attest *t, const struct json *approval, const char *decision, const char *more)
{
	int64_t turn = 0, request = 0;

	must(json_i64(json_get(approval, "turn"), &turn) == 0);
	must(json_i64(json_get(approval, "request"), &request) == 0);
	return attest_path(t,
		"\"op\":\"answer\",\"bot\":\"" STR_FMT "\",\"turn\":%lld,\"call_id\":\"" STR_FMT
		"\",\"request\":%lld,\"decision\":\"%s\"%s",
		STR_ARG(json_str(json_get(approval, "bot"))), (long long)turn,
		STR_ARG(json_str(json_get(approval, "call_id"))), (long long)request, decision,
		more);
}

static void check_done(struct attest *t, struct drilled done)
{
	attest_true(t, done.ran && done.code == 0, "an allowed command failed: " STR_FMT,
		STR_ARG(done.text));
}

static void check_denied(struct attest *t, struct drilled done)
{
	attest_true(t, str_is(done.error, "approval_denied"), "a denied call: " STR_FMT,
		STR_ARG(done.text));
}

/* An escalated call of a gated bot that is made and waits: nothing has run. */
struct escalated {
	struct drill r;
	const char *file;
	int64_t turn;
	const struct json *approval;
};

static void escalate(struct escalated *e, struct attest *t, const char *more)
{
	int call;

	*e = (struct escalated){.file = target(t, "ran")};
	drill_init(&e->r, t);
	call = drill_escalated(&e->r, "echo x > '%s'", e->file);
	drill_start(&e->r, NULL);
	(void)attest_bot(t, e->r.d, "b", attest_path(t, CONFINED ",%s", more));
	e->turn = drill_submit(&e->r, "b", call);
	e->approval = attest_pending(t, e->r.d, "b");
	attest_absent(t, e->file);
}

static void AG_110_an_escalated_call_waits(struct attest *t)
{
	const struct json *why;
	struct escalated e;

	escalate(&e, t, GATED);
	why = json_get(e.approval, "escalation");
	attest_has(t, "the kind", json_str(json_get(why, "kind")), "require_escalated");
	attest_has(t, "the justification", json_str(json_get(why, "justification")),
		"the case asks for it");
	(void)attest_call(t, e.r.d->client, "\"op\":\"stats\"");
	attest_true(t, approvals(t, &e.r, "b")->child, "it waits no more");
	attest_absent(t, e.file);
}

static void AG_111_allowed_it_runs_outside(struct attest *t)
{
	struct escalated e;

	escalate(&e, t, GATED);
	attest_answer(t, e.r.d, e.approval, "allow", "");
	check_done(t, drill_end(&e.r, "b", e.turn));
	attest_true(t, attest_exists(e.file), "it did not write outside");
}

static void AG_112_denied_it_does_not_run(struct attest *t)
{
	struct drilled done;
	struct escalated e;

	escalate(&e, t, GATED);
	attest_answer(t, e.r.d, e.approval, "deny", "\"reason\":\"not on a Sunday\"");
	done = drill_end(&e.r, "b", e.turn);
	check_denied(t, done);
	attest_has(t, "what the model is told", done.text, "not on a Sunday");
	attest_absent(t, e.file);
}

static void AG_114_without_a_gate_it_is_refused(struct attest *t)
{
	const char *file = target(t, "ran");
	struct drill r;
	int call;

	drill_init(&r, t);
	call = drill_escalated(&r, "echo x > '%s'", file);
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b", CONFINED);
	(void)attest_bot(t, r.d, "other", /* a gate of another tool is none */
		CONFINED ",\"gates\":[{\"tag\":\"t\",\"tools\":[\"write\"],\"expire_ms\":null}]");
	(void)drill_refused(&r, "b", call, "sandbox_no_gate");
	(void)drill_refused(&r, "other", call, "sandbox_no_gate");
	check_none_pending(t, &r, "b");
	attest_absent(t, file);
}

/* An unsandboxed bot whose one call writes a file. */
static int64_t start_gated(
	struct drill *r, struct attest *t, const char *gates, const char **ret_file)
{
	int call;

	*ret_file = target(t, "ran");
	drill_init(r, t);
	call = drill_shell(r, "echo x > '%s'", *ret_file);
	drill_start(r, NULL);
	(void)attest_bot(t, r->d, "b", gates);
	return drill_submit(r, "b", call);
}

static void AG_143_a_gated_call_waits_for_its_tag(struct attest *t)
{
	const struct json *approval;
	const char *file;
	struct drill r;
	int64_t turn = start_gated(&r, t, GATED, &file);

	approval = attest_pending(t, r.d, "b");
	(void)attest_refused(t, r.d->client, "no_pending_approval", "%s",
		answer_to(t, approval, "allow", ",\"tag\":\"another\""));
	attest_true(t, approvals(t, &r, "b")->child, "it waits no more");
	attest_absent(t, file);
	attest_answer(t, r.d, approval, "allow", "\"tag\":\"t\"");
	check_done(t, drill_end(&r, "b", turn));
	attest_true(t, attest_exists(file), "it did not run");
}

static void AG_144_a_call_no_gate_names_does_not_wait(struct attest *t)
{
	const char *file = target(t, "text");
	struct drill r;
	int call;

	attest_write(t, file, "some text\n");
	drill_init(&r, t);
	call = drill_call(&r, "read", "{\"path\":\"%s\"}", file);
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b", GATED);
	attest_has(t, "`read`", drill_done(&r, "b", call), "some text");
}

static void AG_145_the_daemon_follows_every_verdict(struct attest *t)
{
	const char *kept = target(t, "kept");
	struct drill r;
	int dangerous, harmless;
	int64_t turn;

	attest_write(t, kept, "x\n");
	drill_init(&r, t);
	dangerous = drill_shell(&r, "rm -rf '%s'", kept);
	harmless = drill_shell(&r, "true");
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b", GATED);
	turn = drill_submit(&r, "b", dangerous);
	attest_answer(t, r.d, attest_pending(t, r.d, "b"), "allow", "");
	check_done(t, drill_end(&r, "b", turn));
	attest_absent(t, kept);
	turn = drill_submit(&r, "b", harmless);
	attest_answer(t, r.d, attest_pending(t, r.d, "b"), "deny", "");
	check_denied(t, drill_end(&r, "b", turn));
}

static void AG_146_every_gate_has_to_allow(struct attest *t)
{
	const struct json *approval;
	const char *file;
	struct drill r;
	int64_t turn = start_gated(&r, t, TWICE, &file);

	approval = attest_pending(t, r.d, "b");
	attest_answer(t, r.d, approval, "allow", "\"tag\":\"two\"");
	attest_true(t, approvals(t, &r, "b")->child, "one of two gates was enough");
	attest_absent(t, file);
	(void)attest_refused(t, r.d->client, "approval_already_answered", "%s",
		answer_to(t, approval, "allow", ",\"tag\":\"two\""));
	attest_true(t, approvals(t, &r, "b")->child, "one gate answered twice was enough");
	attest_answer(t, r.d, approval, "allow", "\"tag\":\"one\"");
	check_done(t, drill_end(&r, "b", turn));
	attest_true(t, attest_exists(file), "it did not run");
}

static void AG_147_the_first_deny_denies(struct attest *t)
{
	const struct json *approval;
	const char *file;
	struct drill r;
	int64_t turn = start_gated(&r, t, TWICE, &file);

	approval = attest_pending(t, r.d, "b");
	attest_answer(t, r.d, approval, "deny", "\"tag\":\"two\"");
	check_denied(t, drill_end(&r, "b", turn));
	(void)attest_refused(t, r.d->client, "stale_turn", "%s",
		answer_to(t, approval, "allow", ",\"tag\":\"one\""));
	attest_absent(t, file);
}

/* Every event of the bot as text, a line each. */
static struct str events_of(struct attest *t, struct drill *r, const char *bot)
{
	const struct json *page = attest_call(
		t, r->d->client, "\"op\":\"events\",\"bot\":\"%s\",\"after\":0,\"limit\":256", bot);
	struct buf text = BUF_INIT(1024 * 1024);
	struct json_out j = JSON_OUT(&text);
	struct str kept;

	json_put(&j, NULL, json_get(page, "events"));
	kept = (struct str){arena_strndup(attest_arena(t), text.data, text.len), text.len};
	buf_release(&text);
	return kept;
}

static const struct json *event_with(
	const struct json *events, const char *kind, const char *call_id)
{
	json_for_each (e, events) {
		if (str_is(json_str(json_get(e, "event")), kind) &&
			str_is(json_str(json_get(json_get(e, "data"), "call_id")), call_id))
			return e;
	}
	return NULL;
}

/* That the event names who decided, for one gate each. */
static void check_by(struct attest *t, const struct json *event, const char *member,
	const char *const *tags, const char *const *bys)
{
	const struct json *list = event ? json_get(json_get(event, "data"), member) : NULL;
	size_t i = 0;

	attest_true(t, list, "no event of the call has '%s'", member);
	json_for_each (a, list) {
		attest_true(t, tags[i] && str_is(json_str(json_get(a, "tag")), tags[i]),
			"a gate nobody asked for stands in the record");
		attest_true(t, str_is(json_str(json_get(a, "by")), bys[i]),
			"the record of gate '%s' names '" STR_FMT "', not '%s'", tags[i],
			STR_ARG(json_str(json_get(a, "by"))), bys[i]);
		i++;
	}
	attest_true(t, !tags[i], "the record names %zu gates only", i);
}

static const char *const both_tags[] = {"one", "two", NULL};
static const char *const both_bys[] = {"ada", "grace", NULL};
static const char *const deny_tags[] = {"two", NULL};
static const char *const deny_bys[] = {"grace", NULL};

static void check_records(
	struct attest *t, const struct json *events, const char *allowed, const char *denied)
{
	check_by(t, event_with(events, "tool_started", allowed), "approvals", both_tags, both_bys);
	check_by(t, event_with(events, "tool_completed", denied), "verdicts", deny_tags, deny_bys);
	attest_true(t, !event_with(events, "tool_started", denied), "the denied call started");
}

/* The next live event of that kind and call. */
static const struct json *live_event(
	struct attest *t, struct client *c, const char *kind, const char *call_id)
{
	struct error err = ERROR_INIT;
	const struct json *line;

	while (client_next(c, 10000, &line, &err) == 1) {
		if (str_is(json_str(json_get(line, "event")), kind) &&
			str_is(json_str(json_get(json_get(line, "data"), "call_id")), call_id))
			return line;
	}
	attest_broken(t, "no live %s of call %s: %s", kind, call_id, err.text);
}

static const char *call_of(struct attest *t, const struct json *approval)
{
	return attest_path(t, STR_FMT, STR_ARG(json_str(json_get(approval, "call_id"))));
}

static void AG_148_a_record_tells_who_decided(struct attest *t)
{
	const struct json *approval, *page;
	const char *allowed, *denied;
	struct client *follower;
	struct drill r;
	int64_t turn;
	int call;

	drill_init(&r, t);
	call = drill_shell(&r, "true");
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b", TWICE);
	follower = attest_connect(t, r.d->socket);
	(void)attest_call(t, follower, "\"op\":\"follow\",\"bot\":\"b\",\"after\":0");
	turn = drill_submit(&r, "b", call);
	approval = attest_pending(t, r.d, "b");
	allowed = call_of(t, approval);
	attest_answer(t, r.d, approval, "allow", "\"tag\":\"one\",\"by\":\"ada\"");
	attest_answer(t, r.d, approval, "allow", "\"tag\":\"two\",\"by\":\"grace\"");
	check_done(t, drill_end(&r, "b", turn));
	check_by(t, live_event(t, follower, "tool_started", allowed), "approvals", both_tags,
		both_bys);
	turn = drill_submit(&r, "b", call);
	approval = attest_pending(t, r.d, "b");
	denied = call_of(t, approval);
	attest_answer(t, r.d, approval, "deny", "\"tag\":\"two\",\"by\":\"grace\"");
	check_denied(t, drill_end(&r, "b", turn));
	check_by(t, live_event(t, follower, "tool_completed", denied), "verdicts", deny_tags,
		deny_bys);
	for (int pass = 0; pass < 2; pass++) {
		page = attest_call(t, r.d->client,
			"\"op\":\"events\",\"bot\":\"b\",\"after\":0,\"limit\":256");
		check_records(t, json_get(page, "events"), allowed, denied);
		if (pass > 0)
			break;
		attest_daemon_stop(t, r.d);
		drill_again(&r, NULL);
	}
}

struct awaited {
	struct drill *r;
	const char *bot;
};

static bool is_waiting(struct attest *t, void *arg)
{
	const struct awaited *a = arg;
	const struct json *record = attest_call(
		t, a->r->d->client, "\"op\":\"inspect\",\"bot\":\"%s\"", a->bot);

	return str_is(json_str(json_get(record, "status")), "waiting");
}

static void await_parked(struct attest *t, struct drill *r, const char *bot)
{
	struct awaited a = {r, bot};

	attest_until(t, "the turn is parked", is_waiting, &a);
}

#define EXPIRES(ms)                                                                                \
	"\"approval_hold_ms\":0,\"gates\":[{\"tag\":\"t\",\"tools\":[\"shell\"],\"expire_ms\":" ms \
	"}]"

static void check_not_reviewed(struct attest *t, struct drill *r, int64_t turn, const char *file)
{
	struct drilled done = drill_end(r, "b", turn);

	check_denied(t, done);
	attest_has(t, "what the model is told", done.text, "not reviewed");
	attest_absent(t, file);
}

static void AG_149_what_nobody_judged_is_denied(struct attest *t)
{
	const struct json *approval;
	const char *file;
	struct drill r;
	int64_t turn = start_gated(&r, t, EXPIRES("200"), &file), other;

	check_not_reviewed(t, &r, turn, file);
	/* the daemon dies while the gate's time runs, and the gate's time is over in the next one
	 */
	(void)attest_call(t, r.d->client, "\"op\":\"configure\",\"bot\":\"b\"," EXPIRES("1500"));
	(void)attest_bot(t, r.d, "other", EXPIRES("null"));
	turn = drill_submit(&r, "b", 1);
	other = drill_submit(&r, "other", 1);
	await_parked(t, &r, "b");
	await_parked(t, &r, "other");
	attest_daemon_kill(t, r.d);
	drill_again(&r, NULL);
	check_not_reviewed(t, &r, turn, file);
	/* one without an expiry waits on, and is judged in the next daemon */
	approval = attest_pending(t, r.d, "other");
	attest_absent(t, file);
	attest_answer(t, r.d, approval, "allow", "");
	check_done(t, drill_end(&r, "other", other));
	attest_true(t, attest_exists(file), "it did not run");
}

static void AG_150_a_bot_gets_no_gate_unasked(struct attest *t)
{
	const char *file;
	struct drill r;
	int64_t turn = start_gated(&r, t, "", &file);
	const struct json *record, *gates;

	check_done(t, drill_end(&r, "b", turn));
	attest_true(t, attest_exists(file), "it did not run");
	attest_lacks(t, "the events", events_of(t, &r, "b"), "approval_requested");
	record = attest_call(t, r.d->client, "\"op\":\"inspect\",\"bot\":\"b\"");
	gates = json_get(record, "gates");
	attest_true(t, gates && !gates->child, "the bot has a gate");
}

static void AG_151_a_client_sets_and_replaces_gates(struct attest *t)
{
	struct drill r;
	int64_t turn;
	int call;

	drill_init(&r, t);
	call = drill_shell(&r, "true");
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b", "");
	check_done(t, drill_do(&r, "b", call));
	(void)attest_call(t, r.d->client, "\"op\":\"configure\",\"bot\":\"b\"," GATED);
	turn = drill_submit(&r, "b", call);
	attest_answer(t, r.d, attest_pending(t, r.d, "b"), "deny", "\"tag\":\"t\"");
	check_denied(t, drill_end(&r, "b", turn));
	(void)attest_call(t, r.d->client,
		"\"op\":\"configure\",\"bot\":\"b\",\"gates\":[" SHELL_GATE("other") "]");
	turn = drill_submit(&r, "b", call);
	attest_answer(t, r.d, attest_pending(t, r.d, "b"), "allow", "\"tag\":\"other\"");
	check_done(t, drill_end(&r, "b", turn));
	(void)attest_call(t, r.d->client, "\"op\":\"configure\",\"bot\":\"b\",\"gates\":[]");
	check_done(t, drill_do(&r, "b", call));
}

static void AG_155_only_what_leaves_the_sandbox_is_judged(struct attest *t)
{
	struct drill r;
	int confined, escalated;
	int64_t turn;

	drill_init(&r, t);
	confined = drill_shell(&r, "true");
	escalated = drill_escalated(&r, "true");
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b", CONFINED "," GATED);
	check_done(t, drill_do(&r, "b", confined));
	attest_lacks(t, "the events", events_of(t, &r, "b"), "approval_requested");
	turn = drill_submit(&r, "b", escalated);
	attest_answer(t, r.d, attest_pending(t, r.d, "b"), "allow", "");
	check_done(t, drill_end(&r, "b", turn));
	attest_has(t, "the events", events_of(t, &r, "b"), "approval_requested");
}

static void AG_156_a_confined_call_needs_no_verdict(struct attest *t)
{
	struct drill r;
	int calls[4];

	drill_init(&r, t);
	calls[0] = drill_shell(&r, "echo old > file");
	calls[1] = drill_write(&r, "written", "x\n");
	calls[2] = drill_edit(&r, "file", "old", "new");
	calls[3] = drill_patch(&r, "patched", "x");
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b",
		CONFINED ",\"gates\":[{\"tag\":\"t\",\"tools\":[\"shell\",\"write\",\"edit\","
			 "\"apply_patch\"],\"expire_ms\":null}]");
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		(void)drill_done(&r, "b", calls[i]);
	attest_has(t, "the file", attest_read(t, attest_path(t, "%s/file", r.d->workspace)), "new");
	attest_lacks(t, "the events", events_of(t, &r, "b"), "approval_requested");
}

static void AG_225_an_escalation_hands_over_the_daemons_socket(struct attest *t)
{
	const struct json *record;
	struct drill r;
	int64_t turn;
	int call;

	drill_init(&r, t);
	call = drill_escalated(&r,
		"'%s' ask \"$AGENT_SOCKET\" "
		"'{\"id\":1,\"op\":\"configure\",\"bot\":\"b\",\"gates\":[],"
		"\"sandbox\":\"danger-full-access\"}'",
		drill_probe(t));
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b", CONFINED "," GATED);
	turn = drill_submit(&r, "b", call);
	attest_answer(t, r.d, attest_pending(t, r.d, "b"), "allow", "");
	check_done(t, drill_end(&r, "b", turn));
	record = attest_call(t, r.d->client, "\"op\":\"inspect\",\"bot\":\"b\"");
	attest_has(t, "the bot's sandbox", json_str(json_get(record, "sandbox")),
		"danger-full-access");
	attest_true(t, !json_get(record, "gates")->child, "the bot has its gate still");
}

const struct attest_case attest_agent_gates[] = {
	{"AG-110", NEEDS_SANDBOX, AG_110_an_escalated_call_waits                    },
	{"AG-111", NEEDS_SANDBOX, AG_111_allowed_it_runs_outside                    },
	{"AG-112", NEEDS_SANDBOX, AG_112_denied_it_does_not_run                     },
	{"AG-114", NEEDS_SANDBOX, AG_114_without_a_gate_it_is_refused               },
	{"AG-143", NEEDS_NOTHING, AG_143_a_gated_call_waits_for_its_tag             },
	{"AG-144", NEEDS_NOTHING, AG_144_a_call_no_gate_names_does_not_wait         },
	{"AG-145", NEEDS_NOTHING, AG_145_the_daemon_follows_every_verdict           },
	{"AG-146", NEEDS_NOTHING, AG_146_every_gate_has_to_allow                    },
	{"AG-147", NEEDS_NOTHING, AG_147_the_first_deny_denies                      },
	{"AG-148", NEEDS_NOTHING, AG_148_a_record_tells_who_decided                 },
	{"AG-149", NEEDS_NOTHING, AG_149_what_nobody_judged_is_denied               },
	{"AG-150", NEEDS_NOTHING, AG_150_a_bot_gets_no_gate_unasked                 },
	{"AG-151", NEEDS_NOTHING, AG_151_a_client_sets_and_replaces_gates           },
	{"AG-155", NEEDS_SANDBOX, AG_155_only_what_leaves_the_sandbox_is_judged     },
	{"AG-156", NEEDS_SANDBOX, AG_156_a_confined_call_needs_no_verdict           },
	{"AG-225", NEEDS_SANDBOX, AG_225_an_escalation_hands_over_the_daemons_socket},
	{NULL,     0,             NULL					      },
};
