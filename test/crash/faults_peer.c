/* Faults of peers: half lines, long lines, readers that stop, sessions that come and go. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/os.h"
#include "test/crash/events.h"
#include "test/crash/faults.h"

enum {
	TURN_MS = 20000,
	LINE_MAX_BYTES = 1024 * 1024, /* agent spec 2.1, with the newline */
	LINES_AT_ONCE = 8,
	SESSIONS = 500,
	BOTS = 32,
	TURNS_EACH = 3,
	STALLED = 20,
	/* with readers that stopped, against without: more is a wait for one of them */
	SLOWER_TIMES = 3,
	SLOWER_MS = 1000,
};

static const char quick_script[] =
	"{\"rehearsal\":1,\"repeat\":true}\n"
	"{\"say\":\"a text of some length that is sent in many pieces\",\"chunk_bytes\":2,"
	"\"calls\":[{\"tool\":\"echo\",\"arguments\":{\"text\":\"x\"}}]}\n"
	"{\"say\":\"done\"}\n";

static void put_raw(struct client *c, const char *p, size_t len)
{
	struct error err = ERROR_INIT;

	rig_true(os_write_all(client_fd(c), p, len, &err) == 0, "write: %s", err.text);
}

static const struct json *next(struct client *c)
{
	const struct json *line = NULL;
	struct error err = ERROR_INIT;

	rig_true(client_next(c, TURN_MS, &line, &err) == 1, "no line comes: %s", err.text);
	return line;
}

/* The last line says why, then the session is over. */
static void expect_cut(struct client *c)
{
	const struct json *line = next(c);
	struct error err = ERROR_INIT;

	rig_true(str_is(json_str(json_get(line, "error")), "input_line_limit_or_truncation") &&
			 json_get(line, "id")->type == JSON_NULL &&
			 json_str(json_get(line, "detail")).len > 0,
		"a line that cannot be taken has another answer");
	rig_true(client_next(c, TURN_MS, &line, &err) < 0, "the session goes on after it");
}

static void check_alive(struct client *c)
{
	(void)rig_call(c, "\"op\":\"stats\"");
}

static void half_line(struct rig *r)
{
	static const char half[] = "{\"id\":1,\"op\":\"cre";
	static const char whole_and_half[] =
		"{\"id\":7,\"op\":\"stats\"}\n{\"id\":8,\"op\":\"shutdown\"}";
	struct client *c = fault_start(r, quick_script), *peer;

	peer = rig_connect(r);
	put_raw(peer, half, sizeof(half) - 1);
	rig_true(shutdown(client_fd(peer), SHUT_WR) == 0, "shutdown");
	expect_cut(peer);
	client_free(peer);
	/* what lacks its newline is not carried out, whatever came before it */
	peer = rig_connect(r);
	put_raw(peer, whole_and_half, sizeof(whole_and_half) - 1);
	rig_true(shutdown(client_fd(peer), SHUT_WR) == 0, "shutdown");
	expect_cut(peer);
	client_free(peer);
	check_alive(c);
	for (int i = 0; i < 50; i++) { /* hang-ups at once */
		peer = rig_connect(r);
		put_raw(peer, half, (size_t)i % sizeof(half));
		client_free(peer);
		check_alive(c);
	}
	client_free(c);
	rig_stop(r);
}

static void put_long(struct client *c, size_t bytes, bool newline)
{
	static const char head[] = "{\"id\":1,\"op\":\"stats\"}";
	_cleanup_(mem) char *line = xmalloc(bytes);

	memset(line, ' ', bytes);
	memcpy(line, head, sizeof(head) - 1);
	if (newline)
		line[bytes - 1] = '\n';
	/* the daemon may hang up before it has all */
	(void)os_write_all(client_fd(c), line, bytes, NULL);
}

static void long_lines(struct rig *r)
{
	struct client *c = fault_start(r, quick_script), *peers[LINES_AT_ONCE];
	char *folder = fault_folder(r, "ws");

	fault_bot(c, "ada", folder, "");
	for (int i = 0; i < LINES_AT_ONCE; i++) {
		peers[i] = rig_connect(r);
		put_long(peers[i], LINE_MAX_BYTES, true);
	}
	for (int i = 0; i < LINES_AT_ONCE; i++) {
		rig_true(json_get(next(peers[i]), "result"), "a line of just 1 MiB is refused");
		put_long(peers[i], LINE_MAX_BYTES + 1 + (size_t)i, i % 2 == 0);
		check_alive(c);
	}
	for (int i = 0; i < LINES_AT_ONCE; i++) {
		expect_cut(peers[i]);
		client_free(peers[i]);
	}
	rig_true(
		strcmp(fault_ended(r, c, "ada", fault_submit(c, "ada"), TURN_MS), "completed") == 0,
		"no turn runs after long lines");
	client_free(c);
	rig_stop(r);
}

/* What a session has said when it leaves. */
static const char *const last_words[] = {
	"",
	"{\"id\":1,\"op\":\"stats\"}\n",
	"{\"id\":1,\"op\":\"follow\",\"bot\":\"*\"}\n",
	"{\"id\":1,\"op\":\"wait\",\"handles\":[\"turn:ada/1\"]}\n",
	"{\"id\":1,\"op\":\"submit\",\"bot\":\"ada\",\"request_id\":\"s\",\"prompt\":\"\"}\n",
	"{\"id\":1",
};

static void many_sessions(struct rig *r)
{
	struct client *c = fault_start(r, quick_script);
	char *folder = fault_folder(r, "ws");
	int64_t until;

	fault_bot(c, "ada", folder, "");
	for (int i = 0; i < SESSIONS; i++) {
		const char *bytes = last_words[i % (int)ARRAY_LEN(last_words)];
		struct client *peer = rig_connect(r);

		put_raw(peer, bytes, strlen(bytes));
		if (i % 3 == 0)
			(void)shutdown(
				client_fd(peer), SHUT_WR); /* fails if it was cut off already */
		client_free(peer);
	}
	until = rig_now_ms() + TURN_MS;
	while (rig_i64(rig_call(c, "\"op\":\"stats\""), "sessions") != 1) {
		rig_true(rig_now_ms() < until, "sessions that left are still counted");
		rig_pause(5);
	}
	rig_true(strcmp(fault_ended(r, c, "ada", 1, TURN_MS), "completed") == 0,
		"the turn of a session that left does not complete");
	fault_check_events(r);
	client_free(c);
	rig_stop(r);
}

/* How long the turns of all bots take. */
static int64_t run_turns(struct client *c, int round)
{
	int64_t began = rig_now_ms();
	int64_t turns[BOTS];

	for (int t = 0; t < TURNS_EACH; t++) {
		for (int i = 0; i < BOTS; i++) {
			_cleanup_(mem) char *bot = xasprintf("b%d", i);

			turns[i] = fault_submit(c, bot);
		}
	}
	for (int i = 0; i < BOTS; i++) {
		_cleanup_(mem) char *bot = xasprintf("b%d", i);
		const struct json *outcome = fault_wait(c, bot, turns[i], TURN_MS);

		rig_true(str_is(json_str(json_get(outcome, "status")), "completed"),
			"a turn of round %d failed", round);
	}
	return rig_now_ms() - began;
}

/*
 * Readers that follow everything and stop reading, while 32 bots work: nobody waits for them; they
 * are cut off, and one that comes back with its cursor misses nothing.
 */
static void stalled_readers(struct rig *r)
{
	struct client *c = fault_start(r, quick_script), *stalled[STALLED];
	char *folder = fault_folder(r, "ws");
	struct events seen = {.cap = 0};
	struct follower f;
	int64_t alone, along, cursor;
	int cut = 0;

	for (int i = 0; i < BOTS; i++) {
		_cleanup_(mem) char *bot = xasprintf("b%d", i);

		fault_bot(c, bot, folder, "");
	}
	(void)run_turns(c, 0); /* warm */
	alone = run_turns(c, 1);
	follower_start(&f, rig_connect(r), &seen, "*", 0);
	follower_catch_up(&f);
	cursor = f.cursor;
	for (int i = 0; i < STALLED; i++) {
		_cleanup_(mem) char *follow = xasprintf(
			"{\"id\":1,\"op\":\"follow\",\"bot\":\"*\",\"after\":%lld}\n",
			(long long)cursor);

		stalled[i] = rig_connect(r);
		put_raw(stalled[i], follow, strlen(follow));
	}
	along = run_turns(c, 2);
	rig_true(along <= alone * SLOWER_TIMES + SLOWER_MS * RIG_SLOW,
		"turns took %lld ms alone and %lld ms beside readers that stopped",
		(long long)alone, (long long)along);
	for (int i = 0; i < STALLED; i++) {
		const struct json *line;
		struct error err = ERROR_INIT;
		int rc;

		while ((rc = client_next(stalled[i], 50, &line, &err)) == 1) {
		}
		cut += rc < 0;
		client_free(stalled[i]);
	}
	(void)follower_read(&f, 0); /* may have been cut off too: it did not read either */
	cursor = f.cursor;
	follower_release(&f);
	follower_start(&f, rig_connect(r), &seen, "*", cursor);
	follower_catch_up(&f);
	follower_release(&f);
	events_release(&seen);
	(void)printf(
		"%d bots, %d turns each: %lld ms, beside %d stalled readers %lld ms (%d of them "
		"cut off)\n",
		BOTS, TURNS_EACH, (long long)alone, STALLED, (long long)along, cut);
	rig_true(cut > 0, "no reader that stopped was cut off");
	fault_check_events(r);
	client_free(c);
	rig_stop(r);
}

const struct fault peer_faults[] = {
	{"half_line",       half_line      },
	{"long_lines",      long_lines     },
	{"many_sessions",   many_sessions  },
	{"stalled_readers", stalled_readers},
	{NULL,              NULL           },
};
