/* Model providers: who calls them, and with which key. */
#include "attest/suites.h"

#include <sys/stat.h>

#include "attest/provider.h"
#include "attest/site.h"

#define KEY "sk-saffron-ibis-4471"

/* A daemon with the provider `web` on loopback, whose key the variable names. */
static struct attest_daemon *start(
	struct attest *t, const struct played *p, const char *variable, const char *const *env)
{
	const char *args[] = {
		"--provider", attest_path(t, "web=chat,%s,%s", p->url, variable), NULL};

	return attest_daemon_start(t, &(struct attest_start){.args = args, .env = env});
}

static int64_t submit(struct attest *t, struct attest_daemon *d)
{
	const struct json *r;
	int64_t turn = 0;

	(void)attest_call(t, d->client,
		"\"op\":\"create\",\"bot\":\"b\",\"model\":\"web/m\",\"instructions\":\"i\","
		"\"tools\":[\"echo\"]");
	r = attest_call(t, d->client,
		"\"op\":\"submit\",\"bot\":\"b\",\"request_id\":\"r1\",\"prompt\":\"hello\"");
	attest_true(t, json_i64(json_get(r, "turn"), &turn) == 0, "no turn");
	return turn;
}

static void check_completed(
	struct attest *t, struct attest_daemon *d, int64_t turn, const char *said)
{
	const struct json *outcome = attest_wait(t, d, "b", turn);

	attest_true(t, str_is(json_str(json_get(outcome, "status")), "completed"),
		"the turn did not complete: " STR_FMT,
		STR_ARG(json_str(json_get(outcome, "detail"))));
	attest_true(t, str_is(attest_said(outcome), said), "it said '" STR_FMT "'",
		STR_ARG(attest_said(outcome)));
}

/* One turn, its request looked at. */
static void check_key(struct attest *t, const char *variable, const char *const *env)
{
	struct played p;
	struct attest_daemon *d;
	struct played_request q;
	int64_t turn;

	played_open(t, &p);
	d = start(t, &p, variable, env);
	attest_true(t, !played_is_asked(&p), "a provider was contacted before a turn asked it");
	turn = submit(t, d);
	q = played_next(t, &p);
	attest_has(t, "the request", q.raw, "\r\nauthorization: Bearer " KEY "\r\n");
	played_say(t, &q, "well");
	check_completed(t, d, turn, "well");
}

static void AG_163_a_key_is_taken_from_the_environment(struct attest *t)
{
	static const char *const env[] = {"ATTEST_WEB_KEY=" KEY, NULL};

	check_key(t, "ATTEST_WEB_KEY", env);
}

static void AG_164_a_key_is_taken_from_the_env_file(struct attest *t)
{
	const char *file = attest_path(t, "%s/.agent/env", attest_home(t));

	attest_write(t, file, "# keys\nATTEST_WEB_KEY=" KEY "\n");
	attest_true(t, chmod(file, 0600) == 0, "attest: no mode");
	check_key(t, "ATTEST_WEB_KEY", NULL);
}

/* The bytes that went over the wire hold it. */
static void AG_189_over_http_a_key_goes_in_the_clear(struct attest *t)
{
	static const char *const env[] = {"ATTEST_WEB_KEY=" KEY, NULL};
	struct played p;
	struct attest_daemon *d;
	struct played_request q;
	const struct json *web;
	int64_t turn;

	played_open(t, &p);
	d = start(t, &p, "ATTEST_WEB_KEY", env);
	web = json_get(json_get(client_ready(d->client), "providers"), "web");
	attest_true(t, str_starts(json_str(json_get(web, "url")), STR("http://")),
		"the spec was not taken as it is");
	turn = submit(t, d);
	q = played_next(t, &p);
	attest_true(t, str_starts(q.raw, STR("POST /v1/chat/completions HTTP/1.1\r\n")),
		"the request is not in the clear");
	attest_has(t, "the bytes on the wire", q.raw, KEY);
	played_say(t, &q, "well");
	check_completed(t, d, turn, "well");
}

/* Nobody but the daemon is left when the provider answers, and nobody else was given the key. */
static void AG_012_the_daemon_calls_the_providers(struct attest *t)
{
	static const char *const env[] = {"ATTEST_WEB_KEY=" KEY, NULL};
	struct played p;
	struct attest_daemon *d;
	struct played_request q;
	int64_t turn;

	played_open(t, &p);
	d = start(t, &p, "ATTEST_WEB_KEY", env);
	turn = submit(t, d);
	attest_disconnect(t, d);
	q = played_next(t, &p);
	attest_has(t, "the first request", q.raw, "Bearer " KEY "\r\n");
	attest_has(t, "the first request", q.body, "hello");
	played_call(t, &q, "echo", "{\"text\":\"mauve-okapi\"}");
	q = played_next(t, &p);
	attest_has(t, "the next request", q.raw, "Bearer " KEY "\r\n");
	attest_has(t, "the next request", q.body,
		"{\"role\":\"tool\",\"tool_call_id\":\"call_1\",\"content\":\"mauve-okapi\"}");
	played_say(t, &q, "done so");
	d->client = attest_connect(t, d->socket);
	check_completed(t, d, turn, "done so");
}

/* A file that holds the key, and a page whose address does not show it. */
static const char shifted_key[] = "tl-tbggspo-jcjt-4471";

/* The next request of the model: the key signs it, and is nowhere else in it. */
static struct played_request next_clean(struct attest *t, const struct played *p, const char *holds)
{
	struct played_request q = played_next(t, p);

	attest_has(t, "the head of a request", q.raw, "Bearer " KEY "\r\n");
	attest_lacks(t, "the body of a request", q.body, KEY);
	attest_has(t, "the body of a request", q.body, holds);
	return q;
}

/* Answers the call of the served tool. */
static void serve(struct attest *t, struct attest_daemon *d, const char *output)
{
	struct client *host = attest_connect(t, d->socket);
	const struct json *served = attest_call(
		t, host, "\"op\":\"serve_tools\",\"tag\":\"here\",\"lease_ms\":60000");
	struct str lease = json_str(json_get(served, "lease"));
	char *kept = arena_strndup(attest_arena(t), lease.p, lease.len);
	const struct json *line;
	struct error err = ERROR_INIT;
	int64_t turn = 0;

	do {
		if (client_next(host, 10000, &line, &err) != 1)
			attest_broken(t, "the host was sent no call: %s", err.text);
	} while (!str_is(json_str(json_get(line, "event")), "tool_call"));
	must(json_i64(json_get(line, "turn"), &turn) == 0);
	(void)attest_call(t, host,
		"\"op\":\"tool_result\",\"bot\":\"b\",\"turn\":%lld,\"call_id\":\"" STR_FMT
		"\",\"lease\":\"%s\",\"output\":\"%s\"",
		(long long)turn, STR_ARG(json_str(json_get(json_get(line, "data"), "call_id"))),
		kept, output);
}

/* What a client is shown of a bot: events, the conversation, an artifact. */
static void check_shown(struct attest *t, struct attest_daemon *d, int64_t turn)
{
	const struct json *all[] = {
		attest_call(t, d->client, "\"op\":\"events\",\"bot\":\"b\",\"limit\":256"),
		attest_call(t, d->client,
			"\"op\":\"artifact\",\"bot\":\"b\",\"turn\":%lld,\"call_id\":\"call_1\","
			"\"stream\":\"stdout\",\"limit\":65536",
			(long long)turn)};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		_cleanup_(buf) struct buf text = BUF_INIT(4 * 1024 * 1024);
		struct json_out j = JSON_OUT(&text);

		json_put(&j, NULL, all[i]);
		attest_lacks(t, i ? "an artifact" : "the events", buf_str(&text), KEY);
		if (i)
			attest_has(t, "an artifact", buf_str(&text), "[REDACTED]");
	}
	attest_lacks(t, "the conversation", attest_items_text(t, d->client, "b"), KEY);
}

/* A bot with every tool that reads what others wrote. */
static void create_reader(struct attest *t, struct attest_daemon *d)
{
	(void)attest_call(t, d->client,
		"\"op\":\"create\",\"bot\":\"b\",\"model\":\"web/m\",\"instructions\":\"i\","
		"\"workspace\":\"%s\",\"tools\":[\"shell\",\"read\",\"web_fetch\"],"
		"\"served_tools\":[{\"name\":\"act\",\"description\":\"Acts.\",\"host\":\"here\","
		"\"gate\":false,\"parameters\":{\"type\":\"object\",\"properties\":{}}}]",
		d->workspace);
}

/* more: members that start with a comma, or nothing. */
static int64_t submit_more(struct attest *t, struct attest_daemon *d, const char *id,
	const char *prompt, const char *more)
{
	const struct json *r = attest_call(t, d->client,
		"\"op\":\"submit\",\"bot\":\"b\",\"request_id\":\"%s\",\"prompt\":\"%s\"%s", id,
		prompt, more);
	int64_t turn = 0;

	must(json_i64(json_get(r, "turn"), &turn) == 0);
	return turn;
}

static void AG_178_no_tool_returns_a_providers_key(struct attest *t)
{
	static const char *const env[] = {"ATTEST_WEB_KEY=" KEY, NULL};
	const char *file = attest_path(t, "%s/notes", attest_outside(t));
	struct site *s = site_start(t, "127.0.0.1");
	struct played p;
	struct attest_daemon *d;
	struct played_request q;
	int64_t turn;

	attest_write(t, file, "it is " KEY "\n");
	played_open(t, &p);
	d = start(t, &p, "ATTEST_WEB_KEY", env);
	create_reader(t, d);
	turn = submit_more(t, d, "r1", "hello", "");
	q = next_clean(t, &p, "hello");
	/* the first line and the last are shown; all of it is an artifact */
	played_call(t, &q, "shell",
		attest_path(t,
			"{\"command\":\"cat '%s'; head -c 100000 /dev/zero | tr '\\\\0' x; echo; "
			"cat "
			"'%s'\"}",
			file, file));
	q = next_clean(t, &p, "it is [REDACTED]");
	played_call(t, &q, "read", attest_path(t, "{\"path\":\"%s\"}", file));
	q = next_clean(t, &p, "1\\tit is [REDACTED]");
	played_call(t, &q, "web_fetch",
		attest_path(t, "{\"url\":\"%s\"}",
			site_url(t, s, attest_path(t, "/caesar/%s", shifted_key))));
	q = next_clean(t, &p, "page [REDACTED]");
	played_call(t, &q, "act", "{}");
	serve(t, d, "it is " KEY);
	q = next_clean(t, &p, "\"content\":\"it is [REDACTED]\"");
	played_say(t, &q, "done so");
	check_completed(t, d, turn, "done so");
	check_shown(t, d, turn);
}

static void AG_018_what_others_wrote_gets_to_the_model(struct attest *t)
{
	static const char *const env[] = {"ATTEST_WEB_KEY=" KEY, NULL};
	const char *file = attest_path(t, "%s/README", attest_outside(t));
	struct site *s = site_start(t, "127.0.0.1");
	struct played p;
	struct attest_daemon *d;
	struct played_request q;
	int64_t turn, other;

	attest_write(t, file, "marker-of-a-file\n");
	played_open(t, &p);
	d = start(t, &p, "ATTEST_WEB_KEY", env);
	create_reader(t, d);
	other = attest_bot(t, d, "other", "");
	turn = submit_more(t, d, "r1", "marker-of-an-event",
		",\"origin\":{\"kind\":\"lookout\",\"name\":\"mail\"}");
	q = next_clean(t, &p, "marker-of-an-event");
	played_call(t, &q, "shell", "{\"command\":\"printf marker-; echo of-a-command\"}");
	q = next_clean(t, &p, "marker-of-a-command");
	played_call(t, &q, "read", attest_path(t, "{\"path\":\"%s\"}", file));
	q = next_clean(t, &p, "marker-of-a-file");
	played_call(t, &q, "web_fetch",
		attest_path(t, "{\"url\":\"%s\"}", site_url(t, s, "/caesar/nbslfs-pg-b-qbhf")));
	q = next_clean(t, &p, "marker-of-a-page");
	played_call(t, &q, "act", "{}");
	serve(t, d, "marker-of-a-server");
	q = next_clean(t, &p, "marker-of-a-server");
	played_say(t, &q, "done so");
	check_completed(t, d, turn, "done so");
	turn = submit_more(t, d, "r2", "marker-of-a-bot",
		attest_path(t, ",\"from\":{\"bot\":\"other\",\"bot_id\":%lld,\"turn\":1}",
			(long long)other));
	q = next_clean(t, &p, "marker-of-a-bot");
	played_say(t, &q, "done too");
	check_completed(t, d, turn, "done too");
}

const struct attest_case attest_agent_providers[] = {
	{"AG-012", NEEDS_NOTHING, AG_012_the_daemon_calls_the_providers     },
	{"AG-018", NEEDS_NOTHING, AG_018_what_others_wrote_gets_to_the_model},
	{"AG-163", NEEDS_NOTHING, AG_163_a_key_is_taken_from_the_environment},
	{"AG-164", NEEDS_NOTHING, AG_164_a_key_is_taken_from_the_env_file   },
	{"AG-178", NEEDS_NOTHING, AG_178_no_tool_returns_a_providers_key    },
	{"AG-189", NEEDS_NOTHING, AG_189_over_http_a_key_goes_in_the_clear  },
	{NULL,     0,             NULL				      },
};
