/* Forks, deletion, retention: what a bot's end leaves, and for whom. */
#include "attest/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attest/raw.h"
#include "attest/script.h"

/* The answer of a stock sqlite3 to a query of the store, which is opened read-only. */
static struct str query(struct attest *t, const struct attest_daemon *d, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static struct str query(struct attest *t, const struct attest_daemon *d, const char *format, ...)
{
	va_list args;
	char *sql;
	const char *argv[] = {"sqlite3", "-readonly", "-noheader", d->store, NULL, NULL};
	struct attest_ran ran;

	va_start(args, format);
	sql = xvasprintf(format, args);
	va_end(args);
	argv[4] = sql;
	ran = attest_run(t, argv, NULL);
	free(sql);
	attest_true(t, ran.status == 0, "sqlite3: " STR_FMT, STR_ARG(ran.err));
	return ran.out;
}

static struct str items_now(struct attest *t, struct attest_daemon *d, const char *bot)
{
	return attest_items_text(t, attest_connect(t, d->socket), bot);
}

static struct str text_of(struct attest *t, const struct json *value)
{
	struct buf b = BUF_INIT(1 << 20);
	struct json_out j = JSON_OUT(&b);
	struct str s;

	json_put(&j, NULL, value);
	s = (struct str){arena_strndup(attest_arena(t), b.data, b.len), b.len};
	buf_release(&b);
	return s;
}

static struct str record_now(struct attest *t, struct attest_daemon *d, const char *bot)
{
	return text_of(t, attest_call(t, d->client, "\"op\":\"inspect\",\"bot\":\"%s\"", bot));
}

static int64_t number_of(struct attest *t, const struct json *object, const char *name)
{
	int64_t n = -1;

	attest_true(t, json_i64(json_get(object, name), &n) == 0, "no number '%s' in " STR_FMT,
		name, STR_ARG(text_of(t, object)));
	return n;
}

static void same(struct attest *t, const char *what, struct str a, struct str b)
{
	attest_true(t, str_eq(a, b), "%s differs: " STR_FMT " and " STR_FMT, what, STR_ARG(a),
		STR_ARG(b));
}

/*
 * AG-010: one client is the program `agent`, the other a bare socket.
 */
static const struct json *ask(struct attest *t, struct raw *r, const char *body)
{
	raw_puts(t, r, attest_path(t, "{\"id\":7,%s}\n", body));
	for (;;) {
		const struct json *line = raw_json(t, r);

		if (json_get(line, "id"))
			return line;
	}
}

static const struct json *done(struct attest *t, struct raw *r, const char *body)
{
	const struct json *reply = ask(t, r, body);

	attest_true(t, json_get(reply, "result"), "%s: " STR_FMT, body, STR_ARG(text_of(t, reply)));
	return json_get(reply, "result");
}

static struct str agent(struct attest *t, struct attest_daemon *d, const char *const *args)
{
	struct attest_ran ran = attest_agent(t, d, args, NULL);

	attest_true(t, ran.status == 0, "agent %s: " STR_FMT, args[0], STR_ARG(ran.err));
	return ran.out;
}

/* The kinds of the bot's events, one after the other, as its follower gets them. */
static struct str kinds_by_raw(struct attest *t, struct raw *r, const char *bot)
{
	struct buf b = BUF_INIT(65536);
	const struct json *line;
	struct str kinds;

	(void)done(t, r, attest_path(t, "\"op\":\"follow\",\"bot\":\"%s\",\"after\":0", bot));
	while (line = raw_json(t, r), !str_is(json_str(json_get(line, "event")), "follow_live"))
		(void)buf_printf(&b, STR_FMT " ", STR_ARG(json_str(json_get(line, "event"))));
	(void)done(t, r, attest_path(t, "\"op\":\"unfollow\",\"bot\":\"%s\"", bot));
	kinds = (struct str){arena_strndup(attest_arena(t), b.data, b.len), b.len};
	buf_release(&b);
	return kinds;
}

static struct str kinds_by_agent(struct attest *t, struct attest_daemon *d, const char *bot)
{
	const char *args[] = {"follow", "--bot", bot, "--after", "0", NULL};
	struct buf b = BUF_INIT(65536);
	struct str rest = agent(t, d, args), line, kinds;

	while (str_next(&rest, '\n', &line)) {
		const struct json *event;

		if (json_parse(attest_arena(t), line, &event, NULL) == 0 &&
			json_get(event, "cursor"))
			(void)buf_printf(
				&b, STR_FMT " ", STR_ARG(json_str(json_get(event, "event"))));
	}
	kinds = (struct str){arena_strndup(attest_arena(t), b.data, b.len), b.len};
	buf_release(&b);
	return kinds;
}

/* A turn that only an interrupt ends; how it ended. */
static struct str stop_turn(
	struct attest *t, struct attest_daemon *d, const char *bot, struct raw *r)
{
	const char *args[] = {"interrupt", "--bot", bot, NULL};
	int64_t turn = attest_submit(t, d, bot, "LONG");

	if (r)
		(void)done(t, r, attest_path(t, "\"op\":\"interrupt\",\"bot\":\"%s\"", bot));
	else
		(void)agent(t, d, args);
	return json_str(json_get(attest_wait(t, d, bot, turn), "error"));
}

static void shut_down(struct attest *t, struct attest_daemon *d, bool raw)
{
	const char *args[] = {"shutdown", NULL};

	if (raw)
		(void)done(t, raw_open(t, d->socket), "\"op\":\"shutdown\"");
	else
		(void)agent(t, d, args);
	attest_true(t, attest_daemon_wait(t, d) == 0, "the daemon does not end well");
}

static void AG_010_the_command_line_is_one_client_among_others(struct attest *t)
{
	const struct attest_start start = {
		.script = REPEAT
		"{\"when\":{\"prompt_has\":\"LONG\"},\"calls\":[{\"tool\":\"shell\","
		"\"arguments\":{\"command\":\"sleep 60\"}}]}\n" IF_PROMPT("go", "ok")};
	struct attest_daemon *d = attest_daemon_start(t, &start);
	struct raw *r = raw_open(t, d->socket);
	const char *run[] = {"run", "--no-spawn", "--new", "--bot", "cli", "--model", "drill/x",
		"--tools", "shell", "--instructions", "be", "--workspace", d->workspace, "--", "go",
		NULL};
	const char *fork[] = {"fork", "--source", "cli", "--bot", "cli-fork", NULL};
	const char *rm[] = {"rm", "--bot", "cli-fork", NULL};
	const char *result[] = {"result", "--bot", "cli", "--turn", NULL, NULL};
	const struct json *reply, *removed;
	int64_t turn;

	(void)raw_json(t, r); /* ready */
	(void)agent(t, d, run);
	(void)done(t, r,
		attest_path(t,
			"\"op\":\"create\",\"bot\":\"raw\",\"model\":\"drill/x\",\"instructions\":"
			"\"be\",\"tools\":[\"shell\"],\"workspace\":\"%s\"",
			d->workspace));
	reply = done(
		t, r, "\"op\":\"submit\",\"bot\":\"raw\",\"request_id\":\"r1\",\"prompt\":\"go\"");
	turn = number_of(t, reply, "turn");
	(void)attest_wait(t, d, "raw", turn);
	same(t, "what is stored", items_now(t, d, "raw"), items_now(t, d, "cli"));
	same(t, "what followers get", kinds_by_raw(t, r, "raw"), kinds_by_agent(t, d, "cli"));
	same(t, "what one says of the other's", kinds_by_raw(t, r, "cli"),
		kinds_by_agent(t, d, "raw"));
	result[4] = attest_path(t, "%lld", (long long)attest_last_turn(t, d, "cli"));
	attest_has(t, "agent result", agent(t, d, result), "\"completed\"");
	(void)agent(t, d, fork);
	(void)done(t, r, "\"op\":\"fork\",\"source\":\"raw\",\"bot\":\"raw-fork\"");
	same(t, "a fork's history", items_now(t, d, "raw-fork"), items_now(t, d, "cli-fork"));
	same(t, "what a fork's followers get", kinds_by_raw(t, r, "raw-fork"),
		kinds_by_raw(t, r, "cli-fork"));
	same(t, "an interrupted turn", stop_turn(t, d, "raw", r), stop_turn(t, d, "cli", NULL));
	same(t, "an interrupted turn", stop_turn(t, d, "raw", NULL), STR("cancelled"));
	attest_true(t, json_parse(attest_arena(t), agent(t, d, rm), &removed, NULL) == 0,
		"agent rm prints no JSON");
	same(t, "what a deletion says",
		text_of(t, done(t, r, "\"op\":\"delete\",\"bot\":\"raw-fork\"")),
		text_of(t, removed));
	(void)attest_refused(
		t, d->client, "bot_not_found", "\"op\":\"inspect\",\"bot\":\"raw-fork\"");
	(void)attest_refused(
		t, d->client, "bot_not_found", "\"op\":\"inspect\",\"bot\":\"cli-fork\"");
	shut_down(t, d, false);
	attest_daemon_again(t, d, &start);
	shut_down(t, d, true);
}

/*
 * Forks.
 */
static const char *const gate =
	"\"gates\":[{\"tag\":\"keeper\",\"tools\":[\"shell\"],\"expire_ms\":60000}]";

static void AG_153_a_fork_has_its_sources_gates(struct attest *t)
{
	struct attest_daemon *d = attest_daemon_start(t,
		&(struct attest_start){
			.script = SAY("first") SHELL("touch ran") IF_RESULT("exit_code", "done")});
	char *ran = attest_path(t, "%s/ran", d->workspace);
	const struct json *record, *approval;
	int64_t turn;

	(void)attest_bot(t, d, "b", gate);
	(void)attest_turn(t, d, "b", "hello");
	record = attest_call(t, d->client, "\"op\":\"fork\",\"source\":\"b\",\"bot\":\"f\"");
	attest_true(t, json_get(record, "gates"), "the fork's record has no gates");
	record = attest_call(t, d->client, "\"op\":\"inspect\",\"bot\":\"f\"");
	same(t, "the gates", text_of(t, json_get(record, "gates")),
		STR("[{\"tag\":\"keeper\",\"tools\":[\"shell\"],\"expire_ms\":60000}]"));
	turn = attest_submit(t, d, "f", "go");
	approval = attest_pending(t, d, "f");
	attest_has(t, "the waiting call", text_of(t, approval), "\"keeper\"");
	attest_absent(t, ran);
	attest_answer(t, d, approval, "allow", "");
	attest_true(t, str_is(attest_said(attest_wait(t, d, "f", turn)), "done"),
		"an allowed call of the fork did not run");
	attest_true(t, attest_exists(ran), "an allowed call of the fork did not run");
}

static void AG_205_a_fork_is_a_new_identity(struct attest *t)
{
	struct attest_daemon *d = attest_daemon_start(
		t, &(struct attest_start){.script = REPEAT SAY("ok")});
	static const char again[] =
		"\"op\":\"submit\",\"bot\":\"%s\",\"request_id\":\"same\",\"prompt\":\"go\"";
	int64_t id = attest_bot(t, d, "b", ""), turn;
	const struct json *fork, *reply;
	struct str record, items;

	turn = number_of(t, attest_call(t, d->client, again, "b"), "turn");
	(void)attest_wait(t, d, "b", turn);
	record = record_now(t, d, "b");
	items = items_now(t, d, "b");
	fork = attest_call(t, d->client, "\"op\":\"fork\",\"source\":\"b\",\"bot\":\"f\"");
	attest_true(t, number_of(t, fork, "id") > id, "the fork has no new id");
	attest_true(t, number_of(t, fork, "tokens_used") == 0, "the fork begins with tokens used");
	same(t, "the fork's history", items_now(t, d, "f"), items);
	same(t, "the source", record_now(t, d, "b"), record);
	reply = attest_call(t, d->client, again, "b");
	attest_true(t, json_is_true(json_get(reply, "duplicate")), "the source forgot a request");
	reply = attest_call(t, d->client, again, "f");
	attest_true(t, !json_is_true(json_get(reply, "duplicate")),
		"the fork has its source's request ids");
	(void)attest_wait(t, d, "f", number_of(t, reply, "turn"));
	same(t, "the source", record_now(t, d, "b"), record);
	same(t, "the source's history", items_now(t, d, "b"), items);
}

/*
 * Deleting.
 */
#define MUCH "seq 1 20000" /* over what a result shows: an artifact */

/* No row of a table that has a bot or a turn is this one's. */
static void no_row_is_of(struct attest *t, struct attest_daemon *d, int64_t id)
{
	struct str tables = query(t, d,
		"SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c"
		" WHERE m.type = 'table' AND c.name = 'bot'");
	struct str table;
	int seen = 0;

	while (str_next(&tables, '\n', &table) && table.len > 0) {
		struct str rows = query(t, d, "SELECT count(*) FROM " STR_FMT " WHERE bot = %lld",
			STR_ARG(table), (long long)id);

		attest_true(t, str_is(rows, "0\n"), STR_FMT " has " STR_FMT " rows of it",
			STR_ARG(table), STR_ARG(str_trim(rows)));
		seen++;
	}
	attest_true(t, seen >= 3, "only %d tables were looked at", seen);
	tables = query(t, d,
		"SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c"
		" WHERE m.type = 'table' AND c.name = 'turn' AND m.name <> 'nodes'");
	while (str_next(&tables, '\n', &table) && table.len > 0) {
		struct str rows = query(t, d,
			"SELECT count(*) FROM " STR_FMT
			" WHERE turn IS NOT NULL AND turn NOT IN (SELECT id FROM turns)",
			STR_ARG(table));

		attest_true(t, str_is(rows, "0\n"), STR_FMT " has rows of turns that are gone",
			STR_ARG(table));
	}
	attest_true(t,
		str_is(query(t, d, "SELECT count(*) FROM bots WHERE id = %lld", (long long)id),
			"0\n"),
		"the bot's own row is there");
}

static void AG_199_rm_deletes_a_bots_rows(struct attest *t)
{
	struct attest_daemon *d = attest_daemon_start(t,
		&(struct attest_start){
			.script = SHELL(MUCH) SAY("one") SHELL(MUCH) SAY("two") SAY("fork's own")});
	const char *rm[] = {"rm", "--bot", "b", NULL};
	int64_t id = attest_bot(t, d, "b", "");
	struct str shared, nodes;

	(void)attest_turn(t, d, "b", "go");
	(void)attest_call(t, d->client, "\"op\":\"fork\",\"source\":\"b\",\"bot\":\"f\"");
	shared = items_now(t, d, "f");
	attest_true(t, shared.len > 0, "the fork has no history");
	nodes = query(t, d, "SELECT count(*) FROM nodes");
	(void)attest_turn(t, d, "b", "again");
	(void)agent(t, d, rm);
	(void)attest_refused(t, d->client, "bot_not_found", "\"op\":\"inspect\",\"bot\":\"b\"");
	no_row_is_of(t, d, id);
	same(t, "the number of nodes", query(t, d, "SELECT count(*) FROM nodes"), nodes);
	same(t, "the fork's history", items_now(t, d, "f"), shared);
	attest_true(t,
		str_is(json_str(json_get(attest_turn(t, d, "f", "on"), "status")), "completed"),
		"the fork does not go on");
	(void)attest_call(t, d->client, "\"op\":\"delete\",\"bot\":\"f\"");
	attest_true(t, str_is(query(t, d, "SELECT count(*) FROM nodes"), "0\n"),
		"nodes are left that no bot has");
}

static void AG_202_deleting_scrubs_nothing(struct attest *t)
{
	struct attest_daemon *d = attest_daemon_start(
		t, &(struct attest_start){.script = REPEAT SAY("ok")});
	const char *rm[] = {"rm", "--bot", "b", NULL}, *help[] = {"rm", "--help", NULL};
	const char *source = getenv("ATTEST_SOURCE");
	static const char marker[] = "MARKER-7f3a-IN-THE-CLEAR";
	bool left;

	(void)attest_bot(t, d, "b", "");
	(void)attest_turn(t, d, "b", marker);
	(void)agent(t, d, rm);
	left = str_find(attest_read(t, d->store), str_from(marker), 0) >= 0 ||
	       str_find(attest_read(t, attest_path(t, "%s-wal", d->store)), str_from(marker), 0) >=
		       0;
	attest_true(t, left, "the deleted bot's bytes are neither in the store nor in its log");
	attest_has(t, "agent rm --help", attest_agent(t, NULL, help, NULL).out, "not overwritten");
	if (source)
		attest_has(t, "agent(1)", attest_read(t, attest_path(t, "%s/man/agent.1", source)),
			"Rows are deleted, not overwritten");
}

static void AG_204_a_bot_that_is_gone_stays_gone(struct attest *t)
{
	struct attest_daemon *d = attest_daemon_start(
		t, &(struct attest_start){.script = REPEAT SAY("ok")});
	const char *run[] = {"run", "--no-spawn", "--bot", "MISSING", "--", "go", NULL};
	static const char submit[] = "\"op\":\"submit\",\"bot\":\"b\",\"request_id\":\"r%d\","
				     "\"prompt\":\"p\"%s";
	int64_t id = attest_bot(t, d, "b", "");
	const struct json *bots;
	struct attest_ran ran;
	char *by_id = attest_path(t, ",\"bot_id\":%lld", (long long)id);

	(void)attest_turn(t, d, "b", "go");
	ran = attest_agent(t, d, run, NULL);
	attest_true(t, ran.status == 1, "agent run on a missing bot exits %d", ran.status);
	attest_has(t, "what it says", ran.err, "bot_not_found");
	(void)attest_call(t, d->client, "\"op\":\"delete\",\"bot\":\"b\"");
	(void)attest_refused(t, d->client, "bot_not_found", submit, 1, "");
	(void)attest_refused(t, d->client, "bot_not_found", submit, 2, by_id);
	bots = json_get(attest_call(t, d->client, "\"op\":\"bots\""), "bots");
	attest_true(t, bots && bots->count == 0, "there are %u bots", bots ? bots->count : 0);
	attest_true(t, attest_bot(t, d, "b", "") > id, "an id was used again");
	(void)attest_refused(t, d->client, "bot_not_found", submit, 3, by_id);
}

/*
 * Pruning.
 */
static void AG_200_prune_deletes_rows_and_keeps_the_history(struct attest *t)
{
	struct attest_daemon *d = attest_daemon_start(
		t, &(struct attest_start){.script = SHELL(MUCH) SAY("one") SHELL(MUCH) SAY("two")
						  SHELL(MUCH) SAY("three")});
	const char *prune[] = {"prune", "--bot", "b", "--keep-turns", "1", NULL};
	int64_t last, first;
	struct str items, call;

	(void)attest_bot(t, d, "b", "");
	for (int i = 0; i < 3; i++)
		(void)attest_turn(t, d, "b", "go");
	last = attest_last_turn(t, d, "b");
	first = last - 2;
	items = items_now(t, d, "b");
	call = str_trim(
		query(t, d, "SELECT call_id FROM tools WHERE turn = %lld", (long long)first));
	attest_true(t, str_is(query(t, d, "SELECT count(*) FROM artifacts"), "3\n"),
		"the turns have no artifacts");
	(void)attest_call(t, d->client,
		"\"op\":\"artifact\",\"bot\":\"b\",\"turn\":%lld,\"call_id\":\"" STR_FMT "\"",
		(long long)first, STR_ARG(call));
	(void)agent(t, d, prune);
	for (size_t i = 0; i < 3; i++) {
		static const char *const tables[] = {"events", "tools", "artifacts"};
		struct str turns = query(
			t, d, "SELECT DISTINCT turn FROM %s WHERE turn IS NOT NULL", tables[i]);

		same(t, tables[i], turns, str_from(attest_path(t, "%lld\n", (long long)last)));
	}
	(void)attest_refused(t, d->client, "artifact_pruned",
		"\"op\":\"artifact\",\"bot\":\"b\",\"turn\":%lld,\"call_id\":\"" STR_FMT "\"",
		(long long)first, STR_ARG(call));
	same(t, "the history", items_now(t, d, "b"), items);
	attest_true(t, str_is(query(t, d, "SELECT count(*) FROM turns"), "3\n"),
		"the turns themselves are gone");
}

static void AG_201_the_newest_turns_keep_their_records(struct attest *t)
{
	struct attest_daemon *d = attest_daemon_start(
		t, &(struct attest_start){.script = REPEAT SAY("ok")});
	const char *prune[] = {"prune", "--bot", "b", "--keep-turns", "2", NULL};
	const struct json *page, *line;
	struct raw *r = raw_open(t, d->socket);
	int64_t turns[5], before;

	(void)attest_bot(t, d, "b", "");
	for (int i = 0; i < 5; i++) {
		turns[i] = attest_submit(t, d, "b", "go");
		(void)attest_wait(t, d, "b", turns[i]);
	}
	(void)agent(t, d, prune);
	same(t, "the turns with events",
		query(t, d,
			"SELECT DISTINCT turn FROM events WHERE turn IS NOT NULL ORDER BY turn"),
		str_from(attest_path(t, "%lld\n%lld\n", (long long)turns[3], (long long)turns[4])));
	page = attest_call(t, d->client, "\"op\":\"events\",\"bot\":\"b\",\"after\":0");
	before = number_of(t, page, "pruned_before");
	json_for_each (event, json_get(page, "events")) {
		if (json_get(event, "turn")->type == JSON_NUMBER)
			attest_true(t, number_of(t, event, "turn") >= turns[3],
				"an event of turn %lld is there",
				(long long)number_of(t, event, "turn"));
	}
	page = attest_call(
		t, d->client, "\"op\":\"events\",\"bot\":\"b\",\"after\":%lld", (long long)before);
	attest_true(t, !json_get(page, "pruned_before"), "a gap is told of where there is none");
	(void)raw_json(t, r); /* ready */
	(void)done(t, r, "\"op\":\"follow\",\"bot\":\"b\",\"after\":0");
	line = raw_json(t, r);
	attest_true(t, str_is(json_str(json_get(line, "event")), "pruned"),
		"a replay from 0 begins with " STR_FMT, STR_ARG(text_of(t, line)));
	attest_true(t, number_of(t, json_get(line, "data"), "pruned_before") == before,
		"the follower is told of another gap");
}

const struct attest_case attest_agent_life[] = {
	{"AG-010", NEEDS_NOTHING, AG_010_the_command_line_is_one_client_among_others},
	{"AG-153", NEEDS_NOTHING, AG_153_a_fork_has_its_sources_gates               },
	{"AG-199", NEEDS_SQLITE3, AG_199_rm_deletes_a_bots_rows                     },
	{"AG-200", NEEDS_SQLITE3, AG_200_prune_deletes_rows_and_keeps_the_history   },
	{"AG-201", NEEDS_SQLITE3, AG_201_the_newest_turns_keep_their_records        },
	{"AG-202", NEEDS_NOTHING, AG_202_deleting_scrubs_nothing                    },
	{"AG-204", NEEDS_NOTHING, AG_204_a_bot_that_is_gone_stays_gone              },
	{"AG-205", NEEDS_NOTHING, AG_205_a_fork_is_a_new_identity                   },
	{NULL,     0,             NULL					      },
};
