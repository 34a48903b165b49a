/* Requests, bots and turns of a case. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attest/internal.h"

enum {
	CALL_MS = 30000,
	TURN_MS = 40000,
	NODES_MAX = 400,
	BODY_MAX_BYTES = 1024 * 1024,
};

static int call(struct attest *t, struct client *c, const char *body, va_list args,
	const struct json **ret, struct error *err) __attribute__((format(printf, 3, 0)));

static int call(struct attest *t, struct client *c, const char *body, va_list args,
	const struct json **ret, struct error *err)
{
	char *text = xvasprintf(body, args);
	int rc;

	attest_note(t, "> %s", text);
	rc = client_call(c, str_from(text), CALL_MS, ret, err);
	free(text);
	return rc;
}

/* What a client hands out dies with its next call: a case keeps it. */
static const struct json *keep(struct attest *t, const struct json *value)
{
	struct buf text = BUF_INIT(2 * BODY_MAX_BYTES);
	struct json_out j = JSON_OUT(&text);
	const struct json *kept = NULL;
	struct error err = ERROR_INIT;

	if (!value)
		return NULL;
	json_put(&j, NULL, value);
	if (json_parse(&t->arena, buf_str(&text), &kept, &err) < 0)
		attest_broken(t, "attest: %s", err.text);
	buf_release(&text);
	return kept;
}

const struct json *attest_call(struct attest *t, struct client *c, const char *body, ...)
{
	const struct json *result = NULL;
	struct error err = ERROR_INIT;
	va_list args;
	int rc;

	va_start(args, body);
	rc = call(t, c, body, args, &result, &err);
	va_end(args);
	if (rc < 0)
		attest_broken(t, "%.200s: %s: %s", body,
			error_is(&err, &CLIENT_REMOTE) ? client_remote_code(c) : error_code(&err),
			err.text);
	return keep(t, result);
}

const char *attest_refused(
	struct attest *t, struct client *c, const char *code, const char *body, ...)
{
	const struct json *result = NULL;
	struct error err = ERROR_INIT;
	va_list args;
	int rc;

	va_start(args, body);
	rc = call(t, c, body, args, &result, &err);
	va_end(args);
	attest_true(t, rc < 0, "%.200s: was not refused", body);
	attest_true(t, error_is(&err, &CLIENT_REMOTE), "%.200s: %s", body, err.text);
	attest_true(t, strcmp(client_remote_code(c), code) == 0,
		"%.200s: refused with %s, not %s: %s", body, client_remote_code(c), code, err.text);
	return attest_path(t, "%s", err.text);
}

static char *quoted(struct attest *t, const char *s)
{
	struct buf text = BUF_INIT(BODY_MAX_BYTES);
	struct json_out j = JSON_OUT(&text);
	char *kept;

	json_put_cstr(&j, NULL, s);
	kept = arena_strndup(&t->arena, text.data, text.len);
	buf_release(&text);
	return kept;
}

int64_t attest_last_turn(struct attest *t, struct attest_daemon *d, const char *bot)
{
	const struct json *turns = attest_call(
		t, d->client, "\"op\":\"turns\",\"bot\":\"%s\",\"limit\":256", bot);
	int64_t last = 0;

	json_for_each (turn, turns) {
		int64_t id = 0;

		must(json_i64(json_get(turn, "turn"), &id) == 0);
		last = id > last ? id : last;
	}
	attest_true(t, last > 0, "%s has no turn", bot);
	return last;
}

/* Every tool that the daemon says it has. */
static char *all_tools(struct attest *t, struct client *c)
{
	struct buf text = BUF_INIT(4096);
	struct json_out j = JSON_OUT(&text);
	char *kept;

	json_put(&j, NULL, json_get(client_ready(c), "tools"));
	kept = arena_strndup(&t->arena, text.data, text.len);
	buf_release(&text);
	return kept;
}

/* Whether the members `more` have this one (a gate's tools are not a bot's). */
static bool names_member(struct attest *t, const char *more, const char *name)
{
	const struct json *object = NULL;
	struct error err = ERROR_INIT;

	if (json_parse(&t->arena, str_from(attest_path(t, "{%s}", more)), &object, &err) < 0)
		attest_broken(t, "attest: %s: %s", more, err.text);
	return json_get(object, name) != NULL;
}

int64_t attest_bot(struct attest *t, struct attest_daemon *d, const char *name, const char *more)
{
	bool placed = names_member(t, more, "workspace");
	bool tooled = names_member(t, more, "tools");
	const struct json *record;
	int64_t id = 0;

	record = attest_call(t, d->client,
		"\"op\":\"create\",\"bot\":\"%s\",\"model\":\"drill/"
		"x\",\"instructions\":\"\"%s%s%s%s%s%s",
		name, tooled ? "" : ",\"tools\":", tooled ? "" : all_tools(t, d->client),
		placed ? "" : ",\"workspace\":", placed ? "" : quoted(t, d->workspace),
		more[0] ? "," : "", more);
	must(json_i64(json_get(record, "id"), &id) == 0);
	return id;
}

int64_t attest_submit(
	struct attest *t, struct attest_daemon *d, const char *bot, const char *prompt)
{
	static int requests;
	const struct json *reply;
	int64_t turn = 0;

	reply = attest_call(t, d->client,
		"\"op\":\"submit\",\"bot\":\"%s\",\"request_id\":\"attest-%d-%d\",\"prompt\":%s",
		bot, (int)d->pid, ++requests, quoted(t, prompt));
	must(json_i64(json_get(reply, "turn"), &turn) == 0);
	return turn;
}

const struct json *attest_wait(
	struct attest *t, struct attest_daemon *d, const char *bot, int64_t turn)
{
	char *handle = attest_path(t, "turn:%s/%lld", bot, (long long)turn);
	const struct json *reply, *outcome;

	reply = attest_call(t, d->client, "\"op\":\"wait\",\"handles\":[\"%s\"],\"timeout_ms\":%d",
		handle, CALL_MS - 5000);
	outcome = json_get(json_get(reply, "results"), handle);
	attest_true(t, !json_get(outcome, "pending"), "turn %lld of %s does not end",
		(long long)turn, bot);
	return outcome;
}

const struct json *attest_turn(
	struct attest *t, struct attest_daemon *d, const char *bot, const char *prompt)
{
	return attest_wait(t, d, bot, attest_submit(t, d, bot, prompt));
}

struct str attest_output(struct attest *t, struct attest_daemon *d, const char *bot, int nth)
{
	const struct json *nodes = attest_call(t, d->client,
		"\"op\":\"history_nodes\",\"bot\":\"%s\",\"limit\":%d,\"oldest_first\":true", bot,
		NODES_MAX);

	json_for_each (n, json_get(nodes, "nodes")) {
		int64_t id = 0;
		const struct json *item;

		must(json_i64(json_get(n, "node"), &id) == 0);
		item = attest_call(t, d->client, "\"op\":\"item\",\"bot\":\"%s\",\"node\":%lld",
			bot, (long long)id);
		if (str_is(json_str(json_get(item, "role")), "tool") && nth-- == 0)
			return json_str(json_get(item, "content"));
	}
	attest_broken(t, "the conversation of %s has too few tool results", bot);
}

const struct json *attest_items(struct attest *t, struct client *c, const char *bot)
{
	const struct json *nodes = attest_call(t, c,
		"\"op\":\"history_nodes\",\"bot\":\"%s\",\"limit\":%d,\"oldest_first\":true", bot,
		NODES_MAX);
	struct buf ids = BUF_INIT(BODY_MAX_BYTES);
	const struct json *reply;
	size_t count = 0, given = 0;

	json_for_each (n, json_get(nodes, "nodes")) {
		int64_t id = 0;

		must(json_i64(json_get(n, "node"), &id) == 0);
		must(buf_printf(&ids, "%s%lld", count++ > 0 ? "," : "", (long long)id) == 0);
	}
	attest_true(t, count > 0, "%s has no history", bot);
	reply = attest_call(t, c, "\"op\":\"history_items\",\"bot\":\"%s\",\"nodes\":[" STR_FMT "]",
		bot, STR_ARG(buf_str(&ids)));
	buf_release(&ids);
	json_for_each (item, json_get(reply, "items"))
		given += json_get(item, "item") != NULL;
	attest_true(t, given == count, "history_items gave %zu of %zu items", given, count);
	return json_get(reply, "items");
}

struct str attest_items_text(struct attest *t, struct client *c, const char *bot)
{
	struct buf text = BUF_INIT(2 * BODY_MAX_BYTES);
	struct str kept;

	json_for_each (item, attest_items(t, c, bot)) {
		struct json_out j = JSON_OUT(&text);

		json_put(&j, NULL, json_get(item, "item"));
		must(buf_putc(&text, '\n') == 0);
	}
	kept = (struct str){arena_strndup(&t->arena, text.data, text.len), text.len};
	buf_release(&text);
	return kept;
}

struct str attest_said(const struct json *outcome)
{
	return json_str(json_get(outcome, "text"));
}

bool attest_has_op(const struct client *c, const char *op)
{
	const struct json *ops = json_get(client_ready(c), "capabilities");

	must(ops);
	json_for_each (o, ops) {
		if (str_is(json_str(o), op))
			return true;
	}
	return false;
}

char *attest_script_shell(struct attest *t, const char *const *commands, size_t count)
{
	struct buf text = BUF_INIT(BODY_MAX_BYTES);
	char *kept;

	for (size_t i = 0; i < count; i++)
		(void)buf_printf(&text,
			"{\"calls\":[{\"tool\":\"shell\",\"arguments\":{\"command\":%s}}]}\n{"
			"\"say\":\"done\"}\n",
			quoted(t, commands[i]));
	must(!text.full);
	kept = arena_strndup(&t->arena, text.data, text.len);
	buf_release(&text);
	return kept;
}

struct pending {
	struct attest_daemon *d;
	const char *bot;
	const struct json *approval;
};

static bool has_pending(struct attest *t, void *arg)
{
	struct pending *p = arg;
	const struct json *reply = attest_call(
		t, p->d->client, "\"op\":\"approvals\",\"bot\":\"%s\"", p->bot);

	p->approval = json_get(reply, "approvals") ? json_get(reply, "approvals")->child : NULL;
	return p->approval != NULL;
}

const struct json *attest_pending(struct attest *t, struct attest_daemon *d, const char *bot)
{
	struct pending p = {.d = d, .bot = bot};

	attest_until(t, "an approval is asked for", has_pending, &p);
	return p.approval;
}

void attest_answer(struct attest *t, struct attest_daemon *d, const struct json *approval,
	const char *decision, const char *more)
{
	int64_t turn = 0, request = 0;

	must(json_i64(json_get(approval, "turn"), &turn) == 0);
	must(json_i64(json_get(approval, "request"), &request) == 0);
	(void)attest_call(t, d->client,
		"\"op\":\"answer\",\"bot\":\"%s\",\"turn\":%lld,\"call_id\":\"%s\",\"request\":%"
		"lld,\"decision\":\"%s\"%s%s",
		json_str(json_get(approval, "bot")).p, (long long)turn,
		json_str(json_get(approval, "call_id")).p, (long long)request, decision,
		more[0] ? "," : "", more);
}
