/* The bots' own sockets: one for each sandboxed bot, what it answers, and that nobody takes its
 * place. */
#include "attest/own.h"
#include "attest/suites.h"

#define GATE "\"gates\":[{\"tag\":\"person\",\"tools\":[\"shell\"],\"expire_ms\":null}]"

static void AG_036_every_bot_has_one_to_itself(struct attest *t)
{
	static const struct {
		const char *name, *more;
		bool by_name; /* it may make sockets */
	} rows[] = {
		{"first",  "\"sandbox\":\"workspace-write\",\"network\":true", true },
		{"second", "\"sandbox\":\"read-only\"",                        false},
	};
	struct drill r;

	drill_init(&r, t);
	drill_start(&r, NULL);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t id = attest_bot(t, r.d, rows[i].name, rows[i].more);
		char *own = attest_path(t, "%s.d/%lld", r.d->socket, (long long)id);
		char *ask = attest_path(
			t, "{\"id\":1,\"op\":\"inspect\",\"bot\":\"%s\"}", rows[i].name);
		char *answer = attest_path(t, "\"id\":%lld", (long long)id);

		attest_absent(t, own);
		attest_has(t, "AGENT_SOCKET",
			drill_works(&r, rows[i].name, "printf '<%%s>' \"$AGENT_SOCKET\""),
			attest_path(t, "<%s>", own));
		attest_mode(t, "the bot's socket", own, 0600);
		attest_has(t, "what the inherited descriptor answers",
			drill_works(&r, rows[i].name, "'%s' door '%s'", drill_probe(t), ask),
			answer);
		attest_has(t, "what the command line is told",
			drill_works(&r, rows[i].name, OWN_CLI " inspect --bot %s", rows[i].name),
			answer);
		if (rows[i].by_name)
			attest_has(t, "what the socket answers",
				drill_works(&r, rows[i].name, "'%s' ask \"$AGENT_SOCKET\" '%s'",
					drill_probe(t), ask),
				answer);
	}
}

static void AG_037_their_folder_is_private(struct attest *t)
{
	struct drill r;
	int64_t id;

	drill_init(&r, t);
	drill_start(&r, &(struct attest_start){.umask = ATTEST_UMASK_NONE});
	id = attest_bot(t, r.d, "b", "\"sandbox\":\"workspace-write\"");
	(void)drill_works(&r, "b", "true");
	attest_mode(t, "SOCKET.d", attest_path(t, "%s.d", r.d->socket), 0700);
	attest_mode(t, "the bot's socket", attest_path(t, "%s.d/%lld", r.d->socket, (long long)id),
		0600);
	attest_daemon_stop(t, r.d);
	attest_absent(t, attest_path(t, "%s.d/%lld", r.d->socket, (long long)id));
}

/* The text that the bot was last given begins with who said it. */
static void check_sender(struct own *o, const char *bot)
{
	struct str items = attest_items_text(o->r.t, o->r.d->client, bot);

	attest_has(o->r.t, "the message", items,
		attest_path(o->r.t, "[message from bot b (id %lld), turn ", (long long)o->id));
}

static void AG_038_it_answers_as_the_bot(struct attest *t)
{
	const struct json *as, *child, *turn;
	struct own o = {.id = 0};

	own_start(&o, t, NULL);
	as = json_get(client_ready(o.c), "as");
	attest_true(t, as && own_number(as, "bot_id") == o.id && str_is(own_text(as, "bot"), "b"),
		"the ready line does not say whom the session acts as");
	child = attest_call(t, o.c, "%s", own_create(t, "child", ""));
	attest_true(t,
		own_number(child, "created_by_id") == o.id &&
			str_is(own_text(child, "created_by"), "b"),
		"the child is not b's");
	(void)attest_call(t, o.c,
		"\"op\":\"submit\",\"bot\":\"other\",\"request_id\":\"r1\",\"prompt\":\"hello\"");
	(void)attest_wait(t, o.r.d, "other", attest_last_turn(t, o.r.d, "other"));
	check_sender(&o, "other");
	turn = attest_call(t, o.c, "\"op\":\"turns\",\"bot\":\"other\"");
	json_for_each (one, turn) {
		const struct json *from = json_get(one, "from");

		attest_true(t, from && own_number(from, "bot_id") == o.id, "its turn is not b's");
	}
}

static void AG_039_no_configure(struct attest *t)
{
	struct own o = {.id = 0};

	own_start(&o, t, NULL);
	(void)attest_refused(
		t, o.c, "not_permitted", "\"op\":\"configure\",\"bot\":\"b\",\"network\":true");
	(void)attest_refused(
		t, o.c, "not_permitted", "\"op\":\"configure\",\"bot\":\"other\",\"network\":true");
	attest_true(t,
		!json_is_true(json_get(own_inspect(&o, "b"), "network")) &&
			!json_is_true(json_get(own_inspect(&o, "other"), "network")),
		"a bot was configured");
}

static void AG_040_no_answer(struct attest *t)
{
	const struct json *approval;
	struct own o = {.id = 0};
	int call;

	drill_init(&o.r, t);
	call = drill_escalated(&o.r, "true");
	own_begin(&o, "\"sandbox\":\"workspace-write\"," GATE);
	(void)drill_submit(&o.r, "b", call);
	approval = attest_pending(t, o.r.d, "b");
	(void)attest_refused(t, o.c, "not_permitted",
		"\"op\":\"answer\",\"bot\":\"b\",\"turn\":%lld,\"call_id\":\"" STR_FMT
		"\",\"request\":%lld,\"decision\":\"allow\"",
		(long long)own_number(approval, "turn"), STR_ARG(own_text(approval, "call_id")),
		(long long)own_number(approval, "request"));
	(void)attest_pending(t, o.r.d, "b");
}

#define SERVED                                                                                     \
	"\"sandbox\":\"workspace-write\",\"served_tools\":[{\"name\":\"act\",\"description\":"     \
	"\"Acts.\","                                                                               \
	"\"host\":\"here\",\"gate\":false,\"parameters\":{\"type\":\"object\",\"properties\":{}}}" \
	"]"

/* A served call of b's that its host was sent and has not answered. */
struct waiting {
	struct own o;
	struct client *host;
	char *members; /* of a request that names it */
	int64_t turn;
};

static void wait_for_call(struct waiting *w, const char *lease)
{
	struct attest *t = w->o.r.t;
	struct error err = ERROR_INIT;
	const struct json *line;

	do {
		attest_true(t, client_next(w->host, 10000, &line, &err) == 1,
			"the host was sent no call: %s", err.text);
	} while (!str_is(json_str(json_get(line, "event")), "tool_call"));
	w->members = attest_path(t,
		"\"bot\":\"b\",\"turn\":%lld,\"call_id\":\"" STR_FMT "\",\"lease\":\"%s\"",
		(long long)w->turn, STR_ARG(json_str(json_get(json_get(line, "data"), "call_id"))),
		lease);
}

static void start_waiting(struct waiting *w, struct attest *t)
{
	struct str lease;
	int call;

	drill_init(&w->o.r, t);
	call = drill_call(&w->o.r, "act", "{}");
	own_begin(&w->o, SERVED);
	w->host = attest_connect(t, w->o.r.d->socket);
	lease = own_text(attest_call(t, w->host,
				 "\"op\":\"serve_tools\",\"tag\":\"here\",\"lease_ms\":60000"),
		"lease");
	w->turn = drill_submit(&w->o.r, "b", call);
	wait_for_call(w, attest_path(t, STR_FMT, STR_ARG(lease)));
}

/* It still waits: its host may end it, once. */
static void end_waiting(struct waiting *w)
{
	(void)attest_call(w->o.r.t, w->host, "\"op\":\"tool_result\",%s,\"output\":\"by the host\"",
		w->members);
	attest_has(w->o.r.t, "what the model is given", drill_end(&w->o.r, "b", w->turn).text,
		"by the host");
}

static void AG_041_no_tool_result(struct attest *t)
{
	struct waiting w;

	start_waiting(&w, t);
	(void)attest_refused(t, w.o.c, "not_permitted",
		"\"op\":\"tool_result\",%s,\"output\":\"by the bot\"", w.members);
	end_waiting(&w);
}

static int64_t pending_approvals(struct own *o)
{
	const struct json *stats_now = attest_call(o->r.t, o->r.d->client, "\"op\":\"stats\"");

	return own_number(stats_now, "approval_requests");
}

static void AG_042_no_approve_step(struct attest *t)
{
	struct waiting w;

	start_waiting(&w, t);
	(void)attest_refused(
		t, w.o.c, "not_permitted", "\"op\":\"approve_step\",%s,\"step\":\"s1\"", w.members);
	attest_true(t, pending_approvals(&w.o) == 0, "a step was announced");
	end_waiting(&w);
}

static void AG_043_no_step_result(struct attest *t)
{
	struct waiting w;

	start_waiting(&w, t);
	(void)attest_refused(
		t, w.o.c, "not_permitted", "\"op\":\"step_result\",%s,\"step\":\"s1\"", w.members);
	end_waiting(&w);
}

static void AG_045_no_companions(struct attest *t)
{
	struct own o = {.id = 0};
	char *touched = attest_path(t, "%s/touched", attest_home(t));
	const char *program = drill_program(t, "companion", "touch '%s'; exec sleep 600", touched);

	own_start(&o, t, NULL);
	(void)attest_refused(t, o.c, "not_permitted",
		"\"op\":\"companions\",\"set\":[{\"name\":\"c\",\"argv\":[\"%s\"]}]", program);
	(void)attest_refused(t, o.c, "not_permitted", "\"op\":\"companions\",\"list\":true");
	attest_daemon_stop(t, o.r.d); /* all that it would have started is over */
	attest_absent(t, touched);
}

static void AG_044_no_serving_of_approvals(struct attest *t)
{
	struct own o = {.id = 0};

	own_start(&o, t, "\"sandbox\":\"workspace-write\"," GATE);
	(void)attest_refused(
		t, o.c, "not_permitted", "\"op\":\"serve_approvals\",\"tag\":\"person\"");
	(void)attest_refused(t, o.c, "not_permitted", "\"op\":\"renew\",\"tag\":\"person\"");
}

static void AG_046_no_resume(struct attest *t)
{
	struct own o = {.id = 0};

	own_start(&o, t, NULL);
	(void)attest_call(t, o.r.d->client, "\"op\":\"pause\"");
	(void)attest_refused(t, o.c, "not_permitted", "\"op\":\"resume\"");
	(void)attest_refused(t, o.r.d->client, "daemon_paused",
		"\"op\":\"submit\",\"bot\":\"b\",\"request_id\":\"p1\",\"prompt\":\"hello\"");
	(void)attest_call(t, o.r.d->client, "\"op\":\"resume\"");
}

static void AG_047_no_shutdown(struct attest *t)
{
	struct own o = {.id = 0};

	own_start(&o, t, NULL);
	(void)attest_refused(t, o.c, "not_permitted", "\"op\":\"shutdown\"");
	(void)attest_call(t, o.r.d->client, "\"op\":\"stats\"");
	(void)attest_call(t, o.c, "\"op\":\"stats\"");
}

static void AG_048_no_bot_of_anothers(struct attest *t)
{
	const struct json *child;
	struct own o = {.id = 0};

	own_start(&o, t, NULL);
	(void)attest_refused(t, o.c, "not_permitted", "%s",
		own_create(t, "no1",
			attest_path(t, ",\"created_by\":\"other\",\"created_by_id\":%lld",
				(long long)own_number(own_inspect(&o, "other"), "id"))));
	(void)attest_refused(t, o.c, "not_permitted", "%s",
		own_create(t, "no2", ",\"created_by\":\"nobody\",\"created_by_id\":99"));
	(void)attest_refused(t, o.c, "not_permitted", "%s",
		own_create(t, "no3", ",\"created_by\":\"b\",\"created_by_id\":99"));
	own_absent(&o, "no1");
	own_absent(&o, "no2");
	own_absent(&o, "no3");
	child = attest_call(t, o.c, "%s", own_create(t, "child", ""));
	attest_true(t,
		own_number(child, "created_by_id") == o.id &&
			str_is(own_text(child, "sandbox"), "workspace-write"),
		"the child is not b's, or not under its sandbox");
}

static void AG_049_no_fork_of_anothers(struct attest *t)
{
	const struct json *fork;
	struct own o = {.id = 0};

	own_start(&o, t, NULL);
	(void)attest_refused(
		t, o.c, "not_permitted", "\"op\":\"fork\",\"source\":\"other\",\"bot\":\"no1\"");
	own_absent(&o, "no1");
	fork = attest_call(t, o.c, "\"op\":\"fork\",\"source\":\"b\",\"bot\":\"twin\"");
	attest_true(t, own_number(fork, "created_by_id") == o.id, "the fork is not b's");
	(void)attest_call(t, o.c, "\"op\":\"fork\",\"source\":\"twin\",\"bot\":\"third\"");
}

#define SUBMIT(bot, request, more)                                                                 \
	"\"op\":\"submit\",\"bot\":\"" bot "\",\"request_id\":\"" request                          \
	"\",\"prompt\":\"hello\"" more

static int64_t turns_of(struct own *o, const char *bot)
{
	const struct json *turns = attest_call(
		o->r.t, o->r.d->client, "\"op\":\"turns\",\"bot\":\"%s\"", bot);

	return turns->count;
}

static void AG_050_no_words_of_the_person(struct attest *t)
{
	struct own o = {.id = 0};

	own_start(&o, t, NULL);
	(void)attest_refused(t, o.c, "invalid_request", SUBMIT("other", "r1", ",\"from\":null"));
	(void)attest_refused(t, o.c, "not_permitted",
		SUBMIT("other", "r2", ",\"origin\":{\"kind\":\"trigger\",\"name\":\"daily\"}"));
	attest_true(t, turns_of(&o, "other") == 0, "something was submitted");
	(void)attest_call(t, o.c, SUBMIT("other", "r3", ""));
	(void)attest_wait(t, o.r.d, "other", attest_last_turn(t, o.r.d, "other"));
	check_sender(&o, "other");
}

static void AG_051_no_words_of_another_bot(struct attest *t)
{
	struct own o = {.id = 0};
	int64_t other;

	own_start(&o, t, NULL);
	other = own_number(own_inspect(&o, "other"), "id");
	(void)attest_refused(t, o.c, "not_permitted",
		SUBMIT("other", "r1", ",\"from\":{\"bot\":\"other\",\"bot_id\":%lld,\"turn\":1}"),
		(long long)other);
	(void)attest_refused(t, o.c, "not_permitted",
		SUBMIT("other", "r2", ",\"from\":{\"bot\":\"b\",\"bot_id\":%lld,\"turn\":1}"),
		(long long)other);
	(void)attest_refused(t, o.c, "not_permitted",
		SUBMIT("other", "r3", ",\"from\":{\"bot\":\"b\",\"bot_id\":%lld,\"turn\":9999}"),
		(long long)o.id);
	attest_true(t, turns_of(&o, "other") == 0, "something was submitted");
}

static void AG_052_no_end_of_anothers(struct attest *t)
{
	struct own o = {.id = 0};

	own_start(&o, t, NULL);
	(void)attest_refused(t, o.c, "not_permitted", "\"op\":\"delete\",\"bot\":\"other\"");
	(void)attest_refused(t, o.c, "not_permitted", "\"op\":\"delete\",\"bot\":\"b\"");
	(void)attest_refused(
		t, o.c, "not_permitted", "\"op\":\"prune\",\"bot\":\"b\",\"keep_turns\":1");
	(void)own_inspect(&o, "other");
	(void)attest_call(t, o.c, "%s", own_create(t, "child", ""));
	(void)attest_call(t, o.c, "\"op\":\"prune\",\"bot\":\"child\",\"keep_turns\":1");
	(void)attest_call(t, o.c, "\"op\":\"delete\",\"bot\":\"child\"");
	own_absent(&o, "child");
}

static void AG_053_no_stop_of_anothers(struct attest *t)
{
	struct own o = {.id = 0};
	int64_t turn;
	int call;

	drill_init(&o.r, t);
	call = drill_escalated(&o.r, "true");
	own_begin(&o, "\"sandbox\":\"workspace-write\"," GATE);
	(void)attest_bot(t, o.r.d, "busy", "\"sandbox\":\"workspace-write\"," GATE);
	turn = drill_submit(&o.r, "busy", call);
	(void)attest_pending(t, o.r.d, "busy");
	(void)attest_refused(t, o.c, "not_permitted", "\"op\":\"interrupt\",\"bot\":\"busy\"");
	(void)attest_refused(t, o.c, "not_permitted",
		"\"op\":\"interrupt\",\"bot\":\"busy\",\"turn\":%lld", (long long)turn);
	(void)attest_refused(t, o.c, "not_permitted", "\"op\":\"interrupt\",\"bot\":\"b\"");
	(void)attest_pending(t, o.r.d, "busy");
	(void)attest_call(t, o.c, "%s", own_create(t, "child", ""));
	turn = drill_submit(&o.r, "child", call);
	(void)attest_pending(t, o.r.d, "child");
	(void)attest_call(t, o.c, "\"op\":\"interrupt\",\"bot\":\"child\"");
	attest_true(t,
		str_is(own_text(attest_wait(t, o.r.d, "child", turn), "status"), "interrupted"),
		"its own child's turn was not ended");
}

/* Every operation there is, and what a bot's own socket says to it. One that is not here breaks the
 * case until somebody has thought about it. */
enum expected { OPEN, REFUSED };
static const struct {
	const char *op, *members;
	enum expected expected;
} operations[] = {
	{"create",
         "\"bot\":\"kid\",\"model\":\"drill/x\",\"instructions\":\"\",\"tools\":[\"shell\"]", OPEN   },
	{"inspect",         "\"bot\":\"other\"",					      OPEN   },
	{"bots",            "",							       OPEN   },
	{"configure",       "\"bot\":\"kid\",\"sandbox\":\"read-only\"",                      REFUSED},
	{"fork",            "\"source\":\"b\",\"bot\":\"twin\"",                              OPEN   },
	{"submit",          "\"bot\":\"kid\",\"request_id\":\"k1\",\"prompt\":\"hello\"",     OPEN   },
	{"interrupt",       "\"bot\":\"other\"",					      REFUSED},
	{"turns",           "\"bot\":\"other\"",					      OPEN   },
	{"result",          "\"bot\":\"b\",\"turn\":1",                                       OPEN   },
	{"wait",            "\"handles\":[\"turn:b/1\"],\"timeout_ms\":0",                    OPEN   },
	{"events",          "\"bot\":\"b\",\"after\":0",                                      OPEN   },
	{"history_nodes",   "\"bot\":\"b\"",						  OPEN   },
	{"history_items",   "\"bot\":\"b\",\"nodes\":[1]",                                    OPEN   },
	{"item",            "\"bot\":\"b\",\"node\":1",                                       OPEN   },
	{"artifact",        "\"bot\":\"b\",\"turn\":1,\"call_id\":\"none\"",                  OPEN   },
	{"follow",          "\"bot\":\"*\"",						  OPEN   },
	{"unfollow",        "\"bot\":\"*\"",						  OPEN   },
	{"approvals",       "",							       OPEN   },
	{"answer",
         "\"bot\":\"b\",\"turn\":1,\"call_id\":\"c\",\"request\":1,\"decision\":\"allow\"",   REFUSED},
	{"stats",           "",							       OPEN   },
	{"models",          "",							       OPEN   },
	{"delete",          "\"bot\":\"other\"",					      REFUSED},
	{"prune",           "\"bot\":\"other\",\"keep_turns\":1",                             REFUSED},
	{"shutdown",        "",							       REFUSED},
	{"receipts",        "\"after\":0",						    REFUSED},
 /* not all of these are there yet */
	{"serve_approvals", "\"tag\":\"person\"",                                             REFUSED},
	{"renew",           "\"tag\":\"person\"",					     REFUSED},
	{"serve_tools",     "\"tools\":[]",						   REFUSED},
	{"tool_result",     "\"bot\":\"b\"",						  REFUSED},
	{"approve_step",    "\"bot\":\"b\"",						  REFUSED},
	{"step_result",     "\"bot\":\"b\"",						  REFUSED},
	{"companions",      "\"list\":true",						  REFUSED},
	{"resume",          "",							       REFUSED},
	{"pause",           "",							       OPEN   },
};

/* A wrong argument is an answer too: it was listened to. */
static void try_one(struct own *o, size_t at)
{
	struct attest *t = o->r.t;
	const char *members = operations[at].members;
	char *body = attest_path(
		t, "\"op\":\"%s\"%s%s", operations[at].op, members[0] ? "," : "", members);
	const struct json *result = NULL;
	struct error err = ERROR_INIT;
	bool refused;

	if (operations[at].expected == REFUSED) {
		(void)attest_refused(t, o->c, "not_permitted", "%s", body);
		return;
	}
	refused = client_call(o->c, str_from(body), 10000, &result, &err) < 0;
	attest_true(t, !refused || error_is(&err, &CLIENT_REMOTE), "%s: %s", body, err.text);
	attest_true(t, !refused || strcmp(client_remote_code(o->c), "not_permitted") != 0,
		"%s: is refused: %s", operations[at].op, err.text);
}

static void AG_054_no_other_way_to_widen(struct attest *t)
{
	struct own o = {.id = 0};

	own_start(&o, t, NULL);
	json_for_each (op, json_get(client_ready(o.c), "capabilities")) {
		bool known = false;

		for (size_t i = 0; i < ARRAY_LEN(operations); i++)
			known = known || str_is(json_str(op), operations[i].op);
		attest_true(t, known, "nobody has said what a bot's socket answers to " STR_FMT,
			STR_ARG(json_str(op)));
	}
	(void)attest_call(t, o.c, "%s", own_create(t, "kid", ""));
	(void)attest_refused(t, o.c, "sandbox_widens", SUBMIT("b", "w1", ",\"workspace\":\"%s\""),
		attest_outside(t));
	(void)attest_refused(t, o.c, "sandbox_widens", SUBMIT("kid", "w2", ",\"workspace\":\"%s\""),
		attest_outside(t));
	(void)attest_refused(t, o.c, "sandbox_widens",
		SUBMIT("other", "w3", ",\"workspace\":\"%s\""), attest_home(t));
	attest_write(t, attest_path(t, "%s/.git/hooks/.keep", o.r.d->workspace), "");
	(void)attest_refused(t, o.c, "sandbox_widens",
		SUBMIT("b", "w4", ",\"workspace\":\"%s/.git/hooks\""), o.r.d->workspace);
	attest_write(t, attest_path(t, "%s/sub/.keep", o.r.d->workspace), "");
	(void)attest_call(
		t, o.c, SUBMIT("kid", "w5", ",\"workspace\":\"%s/sub\""), o.r.d->workspace);
	for (size_t i = 0; i < ARRAY_LEN(operations); i++) {
		if (attest_has_op(o.c, operations[i].op))
			try_one(&o, i);
	}
}

/* A daemon with two bots that could write all of the person's home, the network on. */
static struct client *start_neighbours(struct own *o, struct attest *t, char **ret_other)
{
	char *more;
	int64_t id;

	drill_init(&o->r, t);
	more = attest_path(t,
		"\"sandbox\":\"workspace-write\",\"network\":true,\"writable_roots\":[\"%s\"]",
		attest_home(t));
	own_begin(o, more);
	id = attest_bot(t, o->r.d, "neighbour", more);
	*ret_other = attest_path(t, "%s.d/%lld", o->r.d->socket, (long long)id);
	return own_connect(&o->r, "neighbour", id);
}

static const char stats[] = "{\"id\":1,\"op\":\"stats\"}";

static void AG_056_nobody_takes_its_place(struct attest *t)
{
	struct client *other;
	struct own o = {.id = 0};
	char *path;

	other = start_neighbours(&o, t, &path);
	drill_kept(&o.r, "b", "'%s' bind '%s'", drill_probe(t), path);
	drill_kept(&o.r, "b", "touch '%s'", path);
	(void)drill_sh(&o.r, "b", "rm -f '%s'; mv '%s' '%s.mine'", path, path, path);
	drill_kept(&o.r, "b", "mv '%s.d' '%s.gone'", o.r.d->socket, o.r.d->socket);
	drill_kept(&o.r, "b", "mv '%s/.agent' '%s/gone'", attest_home(t), attest_home(t));
	attest_mode(t, "the other bot's socket", path, 0600);
	(void)attest_call(t, other, "\"op\":\"stats\"");
	attest_has(t, "what the other bot is told",
		drill_works(&o.r, "neighbour", "'%s' ask \"$AGENT_SOCKET\" '%s'", drill_probe(t),
			stats),
		"\"result\"");
}

static void AG_087_they_are_read_only(struct attest *t)
{
	char *paths[2];
	struct own o = {.id = 0};

	(void)start_neighbours(&o, t, &paths[1]);
	paths[0] = o.path;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		drill_kept(&o.r, "b", "'%s' bind '%s'", drill_probe(t), paths[i]);
		attest_true(
			t, drill_sh(&o.r, "b", "rm '%s'", paths[i]).code != 0, "it was removed");
		attest_true(t, drill_sh(&o.r, "b", "mv '%s' '%s.x'", paths[i], paths[i]).code != 0,
			"it was renamed");
		attest_true(t, drill_sh(&o.r, "b", "chmod 777 '%s'", paths[i]).code != 0,
			"its mode was changed");
		attest_mode(t, "the bot's socket", paths[i], 0600);
	}
}

static void AG_098_with_the_network_on_only_its_own(struct attest *t)
{
	struct drilled done;
	struct own o = {.id = 0};
	char *other;

	(void)start_neighbours(&o, t, &other);
	done = drill_sh(&o.r, "b", "'%s' connect '%s'", drill_probe(t), other);
	attest_true(t, done.ran && done.code != 0, "it connected to another bot's socket");
	attest_has(t, "the other bot's socket", done.out, "ENOENT");
	(void)drill_works(&o.r, "b", "'%s' connect '%s'", drill_probe(t), o.path);
}

const struct attest_case attest_agent_bot_sockets[] = {
	{"AG-036", NEEDS_SANDBOX, AG_036_every_bot_has_one_to_itself     },
	{"AG-037", NEEDS_SANDBOX, AG_037_their_folder_is_private         },
	{"AG-038", NEEDS_SANDBOX, AG_038_it_answers_as_the_bot           },
	{"AG-039", NEEDS_SANDBOX, AG_039_no_configure                    },
	{"AG-040", NEEDS_SANDBOX, AG_040_no_answer                       },
	{"AG-041", NEEDS_SANDBOX, AG_041_no_tool_result                  },
	{"AG-042", NEEDS_SANDBOX, AG_042_no_approve_step                 },
	{"AG-043", NEEDS_SANDBOX, AG_043_no_step_result                  },
	{"AG-045", NEEDS_SANDBOX, AG_045_no_companions                   },
	{"AG-044", NEEDS_SANDBOX, AG_044_no_serving_of_approvals         },
	{"AG-046", NEEDS_SANDBOX, AG_046_no_resume                       },
	{"AG-047", NEEDS_SANDBOX, AG_047_no_shutdown                     },
	{"AG-048", NEEDS_SANDBOX, AG_048_no_bot_of_anothers              },
	{"AG-049", NEEDS_SANDBOX, AG_049_no_fork_of_anothers             },
	{"AG-050", NEEDS_SANDBOX, AG_050_no_words_of_the_person          },
	{"AG-051", NEEDS_SANDBOX, AG_051_no_words_of_another_bot         },
	{"AG-052", NEEDS_SANDBOX, AG_052_no_end_of_anothers              },
	{"AG-053", NEEDS_SANDBOX, AG_053_no_stop_of_anothers             },
	{"AG-054", NEEDS_SANDBOX, AG_054_no_other_way_to_widen           },
	{"AG-056", NEEDS_SANDBOX, AG_056_nobody_takes_its_place          },
	{"AG-087", NEEDS_SANDBOX, AG_087_they_are_read_only              },
	{"AG-098", NEEDS_SANDBOX, AG_098_with_the_network_on_only_its_own},
	{NULL,     0,             NULL				   },
};
