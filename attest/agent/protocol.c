/* The daemon, its socket, its protocol. */
#include "attest/suites.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "attest/raw.h"
#include "attest/script.h"
#include "os/os.h"

static void AG_001_one_daemon_runs_many_bots(struct attest *t)
{
	struct attest_daemon *d = attest_daemon_start(
		t, &(struct attest_start){.script = REPEAT SAY("ok")});
	const char *second[] = {"serve", NULL};
	int64_t pid = 0;

	for (int i = 0; i < 50; i++) {
		char *name = attest_path(t, "bot-%d", i);

		(void)attest_bot(t, d, name, "");
		attest_has(t, name, json_str(json_get(attest_turn(t, d, name, "go"), "status")),
			"completed");
	}
	must(json_i64(json_get(client_ready(attest_connect(t, d->socket)), "pid"), &pid) == 0);
	attest_true(t, pid == d->pid, "another process answers: %lld", (long long)pid);
	attest_true(t, attest_agent(t, d, second, NULL).status == 75,
		"a second daemon on the store did not exit 75");
}

/* Whoever answers on the path. */
static void answers_at(struct attest *t, const char *path)
{
	(void)attest_call(t, attest_connect(t, path), "\"op\":\"stats\"");
}

static void AG_008_the_socket_lies_beside_the_store(struct attest *t)
{
	char *script = attest_path(t, "%s/drill.jsonl", attest_home(t));
	char *provider = attest_path(t, "drill=rehearsal,%s", script);
	char *store = attest_path(t, "%s/elsewhere/x.db", attest_home(t));
	const char *plain[] = {"start", "--provider", provider, NULL};
	const char *placed[] = {"start", "--provider", provider, "--store", store, NULL};
	struct attest_ran ran;

	attest_write(t, script, SAY("ok"));
	ran = attest_agent(t, NULL, plain, NULL);
	attest_true(t, ran.status == 0, "agent start: " STR_FMT, STR_ARG(ran.err));
	attest_true(t, attest_exists(attest_path(t, "%s/.agent/state.sqlite", attest_home(t))),
		"no store at ~/.agent/state.sqlite");
	answers_at(t, attest_path(t, "%s/.agent/state.sqlite.sock", attest_home(t)));

	attest_write(t, attest_path(t, "%s/elsewhere/made", attest_home(t)), "");
	ran = attest_agent(t, NULL, placed, NULL);
	attest_true(t, ran.status == 0, "agent start --store: " STR_FMT, STR_ARG(ran.err));
	attest_true(t, attest_exists(store), "no store at the path given");
	answers_at(t, attest_path(t, "%s.sock", store));
}

/* The requests of AG-009, each with an id of its own, and what the reply must hold. */
static const struct {
	const char *line, *id;
	bool refused;
} odd_requests[] = {
	{"{\"id\":1,\"op\":\"stats\"}\n",                                    "1",         false},
	{"{\"op\":\"bots\",\"id\":\"two\"}\n",                               "\"two\"",   false},
	{"{\"id\":3,\"op\":\"no-such-operation\"}\n",                        "3",         true },
	{"{\"id\":\"\\u00e4\\n\",\"op\":\"inspect\",\"bot\":\"missing\"}\n", "\"ä\\n\"", true },
	{"  {\"id\" : 5 ,\t\"op\":\"bots\", \"limit\":1}  \n",               "5",         false},
	{"{\"id\":6,\"op\":\"stats\",\"unknown\":true}\n",                   "6",         true },
	{"{\"id\":7,\"op\":\"stats\",\"op\":\"stats\"}\n",                   NULL,        true },
	{"not JSON\n",						       NULL,        true },
	{"{\"id\":9,\"op\":\"stats\"}\n",                                    "9",         false},
};

/* The reply to each request, in order, one line of JSON each, with its id. */
static void expect_odd_replies(struct attest *t, struct raw *r, size_t chunk)
{
	for (size_t i = 0; i < ARRAY_LEN(odd_requests); i++) {
		struct buf id = BUF_INIT(1024);
		struct json_out j = JSON_OUT(&id);
		const struct json *reply = raw_json(t, r);

		attest_true(t, reply && reply->type == JSON_OBJECT,
			"cut at %zu: no object answers request %zu", chunk, i);
		json_put(&j, NULL, json_get(reply, "id"));
		attest_true(t,
			str_is(buf_str(&id), odd_requests[i].id ? odd_requests[i].id : "null"),
			"cut at %zu: request %zu is answered with id " STR_FMT, chunk, i,
			STR_ARG(buf_str(&id)));
		attest_true(t, (json_get(reply, "error") != NULL) == odd_requests[i].refused,
			"cut at %zu: request %zu was %s", chunk, i,
			odd_requests[i].refused ? "not refused" : "refused");
		buf_release(&id);
	}
}

static void AG_009_the_protocol_is_json_lines(struct attest *t)
{
	/* 1: a byte at a time; the last: all of them in one piece. */
	static const size_t chunks[] = {1, 2, 3, 7, 31, 64, 4096};
	struct attest_daemon *d = attest_daemon_start(t, &(struct attest_start){0});
	struct buf all = BUF_INIT(65536);

	for (size_t i = 0; i < ARRAY_LEN(odd_requests); i++)
		must(buf_puts(&all, odd_requests[i].line) == 0);
	for (size_t i = 0; i < ARRAY_LEN(chunks); i++) {
		struct raw *r = raw_open(t, d->socket);
		const struct json *ready = raw_json(t, r);

		attest_true(t, str_is(json_str(json_get(ready, "event")), "ready"),
			"the first line is not ready");
		for (size_t at = 0; at < all.len; at += chunks[i])
			raw_send(t, r, all.data + at,
				all.len - at < chunks[i] ? all.len - at : chunks[i]);
		expect_odd_replies(t, r, chunks[i]);
		raw_close(r);
	}
	buf_release(&all);
}

static void AG_021_no_web_socket_is_answered(struct attest *t)
{
	static const char upgrade[] =
		"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
		"Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
		"Sec-WebSocket-Version: 13\r\n\r\n";
	struct attest_daemon *d = attest_daemon_start(t, &(struct attest_start){0});
	struct raw *r = raw_open(t, d->socket);
	struct str line;
	size_t lines = 0;

	(void)raw_json(t, r); /* ready */
	raw_puts(t, r, upgrade);
	/* A request that is one afterwards shows where the answers to the upgrade end. */
	raw_puts(t, r, "{\"id\":\"after\",\"op\":\"stats\"}\n");
	while (raw_line(t, r, &line)) {
		const struct json *reply = NULL;

		attest_lacks(t, "the answer to an upgrade", line, "101");
		attest_lacks(t, "the answer to an upgrade", line, "HTTP/");
		attest_true(t, json_parse(&(struct arena){.blocks = NULL}, line, &reply, NULL) == 0,
			"the answer is not JSON: " STR_FMT, STR_ARG(line));
		if (str_is(json_str(json_get(reply, "id")), "after"))
			break;
		attest_has(t, "the answer to an upgrade", json_str(json_get(reply, "error")),
			"invalid_request");
		lines++;
	}
	attest_true(t, lines > 0, "nothing answers the upgrade");
	answers_at(t, d->socket);
}

/*
 * AG-231: an operation, a command or a flag that is in none of these lists has not been looked at.
 */
static const char *const known_ops[] = {
	"create",
	"inspect",
	"bots",
	"configure",
	"fork",
	"delete",
	"prune",
	"submit",
	"interrupt",
	"turns",
	"result",
	"wait",
	"events",
	"follow",
	"unfollow",
	"history_nodes",
	"history_items",
	"item",
	"artifact",
	"stats",
	"models",
	"answer",
	"approvals",
	"serve_approvals",
	"renew",
	"serve_tools",
	"tool_result",
	"approve_step",
	"step_result",
	"pause",
	"resume",
	"companions",
	"receipts",
	"shutdown",
};
static const char *const known_commands[] = {
	"run",
	"follow",
	"fork",
	"interrupt",
	"ls",
	"turns",
	"result",
	"wait",
	"rm",
	"prune",
	"approvals",
	"answer",
	"approver",
	"models",
	"start",
	"stats",
	"shutdown",
	"pause",
	"resume",
	"login chatgpt",
	"serve",
	"rehearse",
	"rules check",
	"receipts verify",
	"help",
	"inspect",
	"configure",
	"log",
};
/* Words of a flag that would lead off this machine or to another daemon. `login` has the sign-in's
 * own port, and is left out. */
static const char *const foreign_words[] = {"host", "port", "listen", "bind", "peer", "join",
	"remote", "cluster", "migrate", "move", "export", "import", "tcp", "address", "ssh", "node",
	"sync", "replica"};

static bool in_list(struct str s, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (str_is(s, list[i]))
			return true;
	}
	return false;
}

static struct str help_of(struct attest *t, const char *command)
{
	const char *argv[] = {attest_path(t, "%s", attest_bin("agent")), NULL, NULL, NULL, NULL};
	struct str words = str_from(command), word;
	struct attest_ran ran;
	size_t n = 1;

	for (; n <= 2 && str_next(&words, ' ', &word); n += word.len > 0) /* of one word or two */
		argv[n] = arena_strndup(attest_arena(t), word.p, word.len);
	argv[command[0] ? n : 1] = "--help";
	ran = attest_run(t, argv, NULL);
	attest_true(t, ran.status == 0 && ran.out.len > 0, "agent %s --help fails", command);
	return ran.out;
}

static void check_flags(struct attest *t, struct str command)
{
	struct str help = help_of(t, arena_strndup(attest_arena(t), command.p, command.len)), line;
	size_t flags = 0;

	while (str_next(&help, '\n', &line)) {
		struct str flag = str_trim(line), words, word;

		if (!str_starts(line, STR("  --")))
			continue;
		(void)str_next(&flag, ' ', &word);
		flags++;
		for (words = word; str_next(&words, '-', &word);)
			attest_true(t,
				str_is(command, "login chatgpt") ||
					!in_list(word, foreign_words, ARRAY_LEN(foreign_words)),
				"agent " STR_FMT " has a flag with '" STR_FMT "'", STR_ARG(command),
				STR_ARG(word));
	}
	attest_true(t, flags > 0, "agent " STR_FMT " --help shows no flag", STR_ARG(command));
}

static void check_commands(struct attest *t)
{
	struct str help = help_of(t, ""), line, word;
	ptrdiff_t at = str_find(help, STR("Commands:\n"), 0);
	size_t commands = 0;

	attest_true(t, at >= 0, "agent --help lists no commands");
	help = (struct str){help.p + at, help.len - (size_t)at};
	(void)str_next(&help, '\n', &line);
	while (str_next(&help, '\n', &line) && str_starts(line, STR("  "))) {
		line = str_trim(line);
		word = (struct str){line.p, (size_t)str_find(line, STR("  "), 0)};
		attest_true(t, in_list(word, known_commands, ARRAY_LEN(known_commands)),
			"the command '" STR_FMT "' has not been looked at", STR_ARG(word));
		check_flags(t, word);
		commands++;
	}
	attest_true(t, commands >= 5, "agent --help lists %zu commands", commands);
}

/* --socket 127.0.0.1:PORT is a file of that name, to the daemon and to a client. */
static void check_socket_is_a_path(struct attest *t)
{
	int port = 0, listener = raw_tcp_listener(t, &port);
	char *name = attest_path(t, "127.0.0.1:%d", port);
	const char *ask[] = {"start", "--no-spawn", "--socket", name, NULL};
	const char *serve[] = {"--socket", name, NULL};
	struct attest_daemon *d;

	attest_true(t, attest_agent(t, NULL, ask, NULL).status != 0,
		"agent start talked to something that is no socket");
	d = attest_daemon_start(t, &(struct attest_start){.args = serve, .expect_failure = true});
	attest_until(
		t, "a socket of that name", raw_is_socket, attest_path(t, "%s/%s", d->home, name));
	attest_true(t, attest_agent(t, NULL, ask, NULL).status == 0,
		"agent start does not find the socket by its name");
	attest_true(t, !raw_tcp_called(listener), "a TCP connection was made to %s", name);
	attest_daemon_stop(t, d);
}

static void AG_231_no_daemons_together_and_no_way_from_outside(struct attest *t)
{
	struct attest_daemon *d = attest_daemon_start(t, &(struct attest_start){0});
	const char *second[] = {"serve", "--socket", NULL, NULL};
	const struct json *ops = json_get(client_ready(d->client), "capabilities");

	attest_true(t, ops && ops->count >= 15, "ready lists too few operations");
	json_for_each (op, ops)
		attest_true(t, in_list(json_str(op), known_ops, ARRAY_LEN(known_ops)),
			"the operation '" STR_FMT "' has not been looked at",
			STR_ARG(json_str(op)));
	check_commands(t);
	second[2] = attest_path(t, "%s/other.sock", d->home);
	attest_true(
		t, attest_agent(t, d, second, NULL).status == 75, "two daemons run on one store");
	attest_daemon_stop(t, d);
	check_socket_is_a_path(t);
}

const struct attest_case attest_agent_protocol[] = {
	{"AG-001", NEEDS_NOTHING, AG_001_one_daemon_runs_many_bots                  },
	{"AG-008", NEEDS_NOTHING, AG_008_the_socket_lies_beside_the_store           },
	{"AG-009", NEEDS_NOTHING, AG_009_the_protocol_is_json_lines                 },
	{"AG-021", NEEDS_NOTHING, AG_021_no_web_socket_is_answered                  },
	{"AG-231", NEEDS_NOTHING, AG_231_no_daemons_together_and_no_way_from_outside},
	{NULL,     0,             NULL					      },
};
