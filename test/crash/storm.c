/*
 * crash_storm: kill -9 of the daemon at random moments under load, over and over on one store.
 *
 *	crash_storm [--rounds N] [--seed S] [--bots N] [--bin DIR]
 *
 * Each round submits turns whose shell calls write to a ledger, follows the events and notes
 * everything the daemon acknowledged, kills it 5 to 400 ms into the load, starts it again on the
 * same store and checks that all of it still holds and that nothing ran twice. Every few rounds the
 * daemon dies while it starts, and every few the load goes on where the last one was killed.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/crash/events.h"
#include "test/crash/history.h"
#include "test/crash/rig.h"
#include "test/crash/turns.h"

enum {
	BOTS_MAX = 32,
	SENDERS = 4,
	FOLLOWERS = 3,  /* two of all, one of a bot */
	ASKED_MAX = 16, /* requests of one sender under way; a power of two */
	KILL_LEAST_MS = 5,
	KILL_MOST_MS = 400,
	START_KILL_MOST_MS = 60 * RIG_SLOW,
	SURVIVE_MS = 3000 * RIG_SLOW,
	SETTLE_MS = 60000 * RIG_SLOW,
	INTEGRITY_EVERY = 10, /* rounds: the copy takes longer than a round */
	LOAD_PER_BOT = 2,
	NEAR_EVENTS = 1500, /* how far back most random cursors lie */
	RESUBMIT_OLD = 3,
};

/* The model. No two calls between two ends of a turn have one mark, wherever a turn begins. */
static const char script[] =
	"{\"rehearsal\":1,\"repeat\":true}\n"
	"{\"say\":\"first\",\"calls\":[" /* two calls a reply, a slow one */
	"{\"tool\":\"shell\",\"arguments\":{\"command\":"
	"\"echo \\\"$AGENT_BOT $AGENT_TURN 1\\\" >> ledger; exec sleep 0.03\"}},"
	"{\"tool\":\"echo\",\"arguments\":{\"text\":\"between\"}}]}\n"
	"{\"calls\":["
	"{\"tool\":\"shell\",\"arguments\":{\"command\":"
	"\"echo \\\"$AGENT_BOT $AGENT_TURN 2\\\" >> ledger\"}},"
	"{\"tool\":\"shell\",\"arguments\":{\"command\":" /* leaves things running */
	"\"trap '' TERM HUP; setsid sleep 60 & (sleep 60 &) ; "
	"echo \\\"$AGENT_BOT $AGENT_TURN 3\\\" >> ledger\"}}]}\n"
	"{\"say\":\"done with the first kind\"}\n"
	"{\"calls\":[{\"tool\":\"echo\",\"arguments\":{\"text\":\"x\"}},"
	"{\"tool\":\"shell\",\"arguments\":{\"command\":"
	"\"echo \\\"$AGENT_BOT $AGENT_TURN 4\\\" >> ledger\"}}]}\n"
	"{\"say\":\"a longer text in pieces, so that a kill falls into a stream\","
	"\"chunk_bytes\":3,\"delay_ms\":5}\n"
	"{\"calls\":[{\"tool\":\"shell\",\"arguments\":{\"command\":" /* an artifact */
	"\"echo \\\"$AGENT_BOT $AGENT_TURN 5\\\" >> ledger; head -c 70000 /dev/zero | tr '\\\\0' "
	"x\"}}]}\n"
	"{\"calls\":[{\"tool\":\"shell\",\"arguments\":{\"command\":" /* fails */
	"\"echo \\\"$AGENT_BOT $AGENT_TURN 6\\\" >> ledger; exit 3\"}},"
	"{\"tool\":\"shell\",\"arguments\":{\"command\":"
	"\"echo \\\"$AGENT_BOT $AGENT_TURN 7\\\" >> ledger\"}}]}\n"
	"{\"say\":\"and then the stream\",\"cut\":true}\n"            /* the turn fails */
	"{\"calls\":[{\"tool\":\"shell\",\"arguments\":{\"command\":" /* goes on behind its result
								       */
	"\"setsid sleep 60 & exec sleep 0.05\",\"background\":true}},"
	"{\"tool\":\"wait\",\"arguments\":{\"handles\":[\"proc:1\",\"turn:bot-0.0/1\"],"
	"\"timeout_ms\":40}}]}\n"
	"{\"say\":\"just a word\"}\n";

struct bot {
	char name[32];
	int64_t id;
	bool asked, made; /* create was sent; acknowledged, or seen to be there */
	bool sandboxed;
	int64_t checked_node; /* of its history */
};

enum outcome { ASKED, TAKEN, REFUSED };
struct submission {
	char *bot, *request_id;
	bool queue, steer; /* delivery; neither: reject */
	enum outcome outcome;
	int64_t turn, round;
};

enum asked_sort { ASK_NOTHING, ASK_CREATE, ASK_SUBMIT, ASK_INTERRUPT };
struct asked {
	enum asked_sort sort;
	size_t at; /* which bot, which submission */
	int64_t turn;
};
struct sender {
	struct client *c;
	struct asked asked[ASKED_MAX]; /* by id */
	size_t open;
};

/* A turn that was asked to stop; of one whose reply was lost only the bot is known. */
struct interrupt {
	int64_t turn, after;
	char bot[32];
};

static struct storm {
	struct rig rig;
	struct dice dice;
	struct events seen;
	struct turns turns;
	int64_t verified;     /* all events up to here were read back after a crash */
	int64_t acknowledged; /* the highest cursor in a reply */
	struct bot bots[BOTS_MAX];
	size_t bot_count, bots_made;
	struct submission *subs;
	size_t sub_count, sub_cap;
	size_t resubmit_from; /* what is older was resubmitted already */
	struct interrupt *interrupts;
	size_t interrupt_count;
	struct sender senders[SENDERS];
	struct follower followers[FOLLOWERS];
	int64_t round;
	int64_t ledger_at[BOTS_MAX];
	int64_t checked_turn;
	int64_t forks, start_kills, cut_followers, slowest_start_ms, duplicates;
	bool have_sqlite;
} storm;

static char *workspace_of(size_t slot)
{
	/* two bots share one: placeholders are counted across commands */
	return rig_keep(&storm.rig, "%s/ws%zu", storm.rig.home, slot / 2);
}

/*
 * Load.
 */
static void new_bot(size_t slot)
{
	struct bot *b = &storm.bots[slot];

	*b = (struct bot){.sandboxed = slot % 2 == 0};
	(void)snprintf(b->name, sizeof(b->name), "bot-%zu.%zu", slot, storm.bots_made++);
}

static struct submission *new_submission(const struct bot *b)
{
	struct submission *s;

	if (storm.sub_count == storm.sub_cap) {
		storm.sub_cap = storm.sub_cap ? storm.sub_cap * 2 : 256;
		storm.subs = xrealloc(storm.subs, storm.sub_cap, sizeof(*storm.subs));
	}
	s = &storm.subs[storm.sub_count];
	*s = (struct submission){.bot = xstrdup(b->name),
		.request_id = xasprintf("r%zu", storm.sub_count),
		.queue = dice(&storm.dice, 0, 9) > 0,
		.round = storm.round};
	s->steer = s->queue && dice(&storm.dice, 0, 3) == 0;
	storm.sub_count++;
	return s;
}

/* Every `echo` of such a bot parks its turn until the gate expires. */
static const char gated[] = ",\"approval_hold_ms\":0,\"gates\":[{\"tag\":\"nobody\",\"tools\":["
			    "\"echo\"],\"expire_ms\":30}]";

/* A bot that is there, with the same workspace. */
static const struct bot *source_of(size_t slot)
{
	const struct bot *other = &storm.bots[slot ^ 1];

	return (slot ^ 1) < storm.bot_count && other->made ? other : NULL;
}

static char *fork_body(const struct bot *b, const struct bot *source)
{
	return xasprintf("\"op\":\"fork\",\"source\":\"%s\",\"bot\":\"%s\"", source->name, b->name);
}

static char *create_body(const struct bot *b, size_t slot)
{
	return xasprintf("\"op\":\"create\",\"bot\":\"%s\",\"model\":\"drill/x\",\"instructions\":"
			 "\"storm\",\"tools\":[\"shell\",\"echo\",\"wait\"],\"workspace\":\"%s\"%s",
		b->name, workspace_of(slot),
		b->sandboxed ? ",\"sandbox\":\"workspace-write\"" : gated);
}

static char *submit_body(const struct submission *s, const char *prompt)
{
	return xasprintf("\"op\":\"submit\",\"bot\":\"%s\",\"request_id\":\"%s\",\"prompt\":\"%s "
			 "%s\",\"delivery\":\"%s\"",
		s->bot, s->request_id, prompt, s->request_id,
		s->steer   ? "steer"
		: s->queue ? "queue"
			   : "reject");
}

static void ask(struct sender *s, struct asked what, char *body)
{
	struct error err = ERROR_INIT;
	int64_t id;

	if (client_send(s->c, str_from(body), &id, &err) == 0) {
		s->asked[id % ASKED_MAX] = what;
		s->open++;
	} /* else the daemon is gone, which shows on reading */
	free(body);
}

static void ask_something(struct sender *s)
{
	size_t slot = (size_t)dice(&storm.dice, 0, (int64_t)storm.bot_count - 1);
	struct bot *b = &storm.bots[slot];

	if (!b->asked) {
		const struct bot *source = dice(&storm.dice, 0, 1) ? source_of(slot) : NULL;

		b->asked = true;
		storm.forks += source != NULL;
		ask(s, (struct asked){ASK_CREATE, slot, 0},
			source ? fork_body(b, source) : create_body(b, slot));
	} else if (b->made && dice(&storm.dice, 0, 19) == 0 && storm.turns.last > 0) {
		ask(s, (struct asked){ASK_INTERRUPT, slot, 0},
			xasprintf("\"op\":\"interrupt\",\"bot\":\"%s\"", b->name));
	} else if (b->made) {
		struct submission *sub = new_submission(b);

		ask(s, (struct asked){ASK_SUBMIT, storm.sub_count - 1, 0},
			submit_body(sub, "work"));
	}
}

static void note_cursor(const struct json *result)
{
	int64_t cursor = rig_i64(result, "cursor");

	storm.acknowledged = cursor > storm.acknowledged ? cursor : storm.acknowledged;
}

/* What a submission's reply says must be what earlier ones said. */
static void take_submitted(struct submission *s, const struct json *line, bool again)
{
	const struct json *result = json_get(line, "result");
	struct str code = json_str(json_get(line, "error"));
	bool duplicate = json_is_true(json_get(result, "duplicate"));
	int64_t turn;

	if (!result) {
		rig_true(str_is(code, "bot_busy") && !s->queue && s->outcome != TAKEN,
			"submission %s of %s (%s): " STR_FMT, s->request_id, s->bot,
			s->outcome == TAKEN ? "acknowledged before" : "new", STR_ARG(code));
		s->outcome = REFUSED;
		return;
	}
	turn = rig_i64(result, "turn");
	rig_true(duplicate || s->outcome != TAKEN,
		"submission %s of %s was turn %lld, which is lost: it is turn %lld now",
		s->request_id, s->bot, (long long)s->turn, (long long)turn);
	rig_true(!duplicate || again, "submission %s is said to be a duplicate", s->request_id);
	rig_true(!duplicate || s->outcome != REFUSED,
		"submission %s was refused, and there all the "
		"same",
		s->request_id);
	rig_true(s->outcome != TAKEN || turn == s->turn, "submission %s was turn %lld, now %lld",
		s->request_id, (long long)s->turn, (long long)turn);
	s->outcome = TAKEN;
	s->turn = turn;
	storm.duplicates += duplicate;
	if (!duplicate)
		note_cursor(result);
}

static void take_created(struct bot *b, const struct json *line)
{
	const struct json *result = json_get(line, "result");
	struct str code = json_str(json_get(line, "error"));

	rig_true(result || str_is(code, "bot_exists"), "create %s: " STR_FMT, b->name,
		STR_ARG(code));
	rig_true(result || b->id == 0, "create %s twice", b->name);
	b->made = true;
	if (result)
		b->id = rig_i64(result, "id");
}

static void note_interrupt(const struct interrupt *i)
{
	storm.interrupts = xrealloc(
		storm.interrupts, storm.interrupt_count + 1, sizeof(*storm.interrupts));
	storm.interrupts[storm.interrupt_count++] = *i;
}

static bool was_interrupted(const struct turn *t)
{
	for (size_t i = 0; i < storm.interrupt_count; i++) {
		const struct interrupt *stop = &storm.interrupts[i];

		if (stop->turn == t->id ||
			(stop->turn == 0 && t->id > stop->after && !strcmp(stop->bot, t->bot)))
			return true;
	}
	return false;
}

static void take_interrupted(const struct json *line)
{
	const struct json *result = json_get(line, "result");
	struct str code = json_str(json_get(line, "error"));

	rig_true(result || str_is(code, "no_active_turn"), "interrupt: " STR_FMT, STR_ARG(code));
	if (result)
		note_interrupt(&(struct interrupt){.turn = rig_i64(result, "turn")});
}

static void take_reply(struct sender *s, const struct json *line)
{
	int64_t id = rig_i64(line, "id");
	struct asked what = s->asked[id % ASKED_MAX];

	s->asked[id % ASKED_MAX].sort = ASK_NOTHING;
	s->open--;
	if (what.sort == ASK_CREATE)
		take_created(&storm.bots[what.at], line);
	else if (what.sort == ASK_SUBMIT)
		take_submitted(&storm.subs[what.at], line, false);
	else if (what.sort == ASK_INTERRUPT)
		take_interrupted(line);
	else
		rig_broken("a reply to no request: id %lld", (long long)id);
}

/* False: the daemon is gone. */
static bool read_sender(struct sender *s)
{
	const struct json *line;
	struct error err = ERROR_INIT;
	int rc;

	while ((rc = client_next(s->c, 0, &line, &err)) == 1)
		take_reply(s, line);
	rig_true(rc == 0 || !strstr(err.text, "JSON"), "a sender: %s", err.text);
	return rc == 0;
}

static void wait_readable(int ms)
{
	struct pollfd fds[SENDERS + FOLLOWERS];
	nfds_t count = 0;

	for (size_t i = 0; i < SENDERS; i++)
		fds[count++] = (struct pollfd){client_fd(storm.senders[i].c), POLLIN, 0};
	for (size_t i = 0; i < FOLLOWERS; i++)
		fds[count++] = (struct pollfd){client_fd(storm.followers[i].c), POLLIN, 0};
	(void)poll(fds, count, ms); /* a signal only shortens it */
}

static void start_follower(struct follower *f, const char *bot, int64_t after)
{
	follower_start(f, rig_connect(&storm.rig), &storm.seen, bot, after);
}

static void open_clients(void)
{
	for (size_t i = 0; i < SENDERS; i++)
		storm.senders[i] = (struct sender){.c = rig_connect(&storm.rig)};
	for (size_t i = 0; i < FOLLOWERS; i++) {
		bool all = i + 1 < FOLLOWERS || !storm.bots[0].made;

		start_follower(&storm.followers[i], all ? "*" : storm.bots[0].name, storm.verified);
	}
}

/* A reader that was too slow is cut off and comes back with its cursor. */
static void follow_on(struct follower *f)
{
	int64_t cursor = f->cursor;
	char bot[sizeof(f->bot)];

	memcpy(bot, f->bot, sizeof(bot));
	storm.cut_followers++;
	follower_check(f);
	follower_release(f);
	start_follower(f, bot, cursor);
}

static void load(int64_t for_ms)
{
	int64_t until = rig_now_ms() + for_ms;
	size_t left = storm.bot_count * LOAD_PER_BOT;
	int64_t now;

	while ((now = rig_now_ms()) < until) {
		struct sender *s = &storm.senders[dice(&storm.dice, 0, SENDERS - 1)];

		if (left > 0 && s->open < ASKED_MAX / 2) {
			ask_something(s);
			left--;
		}
		wait_readable(left > 0 ? 1 : (int)(until - now));
		for (size_t i = 0; i < SENDERS; i++)
			rig_true(read_sender(&storm.senders[i]), "the daemon cut a sender off");
		for (size_t i = 0; i < FOLLOWERS; i++) {
			if (!follower_read(&storm.followers[i], 0))
				follow_on(&storm.followers[i]);
		}
	}
}

/* Whether these were heard is not known. */
static void give_up_requests(struct sender *s)
{
	for (size_t i = 0; i < ASKED_MAX; i++) {
		struct interrupt stop = {.after = storm.checked_turn};

		if (s->asked[i].sort != ASK_INTERRUPT)
			continue;
		memcpy(stop.bot, storm.bots[s->asked[i].at].name, sizeof(stop.bot));
		note_interrupt(&stop);
	}
}

/* What it said before it died counts too. */
static void drain_clients(void)
{
	for (size_t i = 0; i < SENDERS; i++) {
		while (read_sender(&storm.senders[i]))
			rig_pause(1);
		give_up_requests(&storm.senders[i]);
		client_free(mem_take(&storm.senders[i].c));
	}
	for (size_t i = 0; i < FOLLOWERS; i++) {
		while (follower_read(&storm.followers[i], 0))
			rig_pause(1);
		follower_check(&storm.followers[i]);
		follower_release(&storm.followers[i]);
	}
}

/*
 * Afterwards.
 */

/* Every event up to the newest, in order; nothing that was acknowledged may be missing. */
static void read_back(void)
{
	struct follower f;

	start_follower(&f, "*", storm.verified);
	f.event = turns_event;
	f.arg = &storm.turns;
	follower_catch_up(&f);
	rig_true(f.cursor >= storm.seen.last && f.cursor >= storm.acknowledged,
		"the store ends at cursor %lld; %lld was published and %lld acknowledged",
		(long long)f.cursor, (long long)storm.seen.last, (long long)storm.acknowledged);
	storm.verified = f.cursor;
	follower_release(&f);
}

static void check_end(const struct turn *t)
{
	if (strcmp(t->status, "interrupted") == 0)
		rig_true(strcmp(t->error, "process_interrupted") == 0 ||
				 (strcmp(t->error, "cancelled") == 0 && was_interrupted(t)),
			"turn %lld ended as interrupted/%s", (long long)t->id, t->error);
	else if (strcmp(t->status, "failed") == 0)
		rig_true(strcmp(t->error, "provider_stream_failed") == 0,
			"turn %lld failed with %s", (long long)t->id, t->error);
	else
		rig_true(strcmp(t->status, "completed") == 0 || strcmp(t->status, "steered") == 0,
			"turn %lld ended as %s", (long long)t->id, t->status);
}

/* What had begun by this cursor, before the daemon died, is over, and says why. */
static void check_recovered(int64_t cursor)
{
	for (int64_t i = storm.checked_turn + 1; i <= storm.turns.last; i++) {
		const struct turn *t = turns_get(&storm.turns, i);

		if (!t)
			continue;
		rig_true(!t->accepted || t->accepted_at > cursor || t->finished || t->parked ||
				 t->resumed_at > cursor,
			"turn %lld began before the kill and is not over", (long long)i);
		if (t->finished)
			check_end(t);
	}
}

static void follow_from_anywhere(void)
{
	struct follower f;
	int64_t low = storm.verified - NEAR_EVENTS;
	const char *bot = "*";

	if (low < 0 || dice(&storm.dice, 0, 19) == 0)
		low = 0;
	if (dice(&storm.dice, 0, 1) && storm.bots[1].made)
		bot = storm.bots[1].name;
	start_follower(&f, bot, dice(&storm.dice, low, storm.verified));
	follower_catch_up(&f);
	follower_check(&f);
	follower_release(&f);
}

static const struct json *reply_to(struct client *c, char *body, int64_t *id)
{
	const struct json *line = NULL;
	struct error err = ERROR_INIT;

	if (client_send(c, str_from(body), id, &err) < 0 || client_next(c, 20000, &line, &err) != 1)
		rig_broken("%s: %s", body, err.text);
	free(body);
	return line;
}

/* The same again: what was acknowledged is there, and is not done twice. */
static void resubmit(struct client *c)
{
	int64_t id;

	for (size_t i = storm.resubmit_from; i < storm.sub_count; i++)
		take_submitted(&storm.subs[i],
			reply_to(c, submit_body(&storm.subs[i], "work"), &id), true);
	for (int i = 0; i < RESUBMIT_OLD && storm.sub_count > 0; i++) {
		struct submission *s =
			&storm.subs[dice(&storm.dice, 0, (int64_t)storm.sub_count - 1)];
		const struct json *line;

		if (s->outcome != TAKEN)
			continue;
		take_submitted(s, reply_to(c, submit_body(s, "work"), &id), true);
		line = reply_to(c, submit_body(s, "other work"), &id);
		rig_true(str_is(json_str(json_get(line, "error")), "idempotency_conflict"),
			"submission %s with another prompt was taken", s->request_id);
	}
	storm.resubmit_from = storm.sub_count;
}

static void check_bots(struct client *c)
{
	for (size_t i = 0; i < storm.bot_count; i++) {
		struct bot *b = &storm.bots[i];
		const struct json *record;

		if (!b->asked)
			continue;
		record = rig_ask(c, "\"op\":\"inspect\",\"bot\":\"%s\"", b->name);
		rig_true(record || !b->made, "bot %s was made and is gone", b->name);
		if (!record) {
			b->asked = false; /* the request never arrived */
			continue;
		}
		rig_true(b->id == 0 || b->id == rig_i64(record, "id"), "bot %s has another id",
			b->name);
		b->id = rig_i64(record, "id");
		b->made = true;
	}
}

/* The result that the model is given of a call that has none of its own. */
static void check_results(struct client *c)
{
	for (int64_t i = storm.checked_turn + 1; i <= storm.turns.last; i++) {
		const struct turn *t = turns_get(&storm.turns, i);

		for (size_t k = 0; t && k < t->call_count; k++) {
			const struct call *call = &t->calls[k];
			const struct json *item;
			struct str said;

			if (!call->unknown && !call->cancelled)
				continue;
			item = rig_call(c, "\"op\":\"item\",\"bot\":\"%s\",\"node\":%lld", t->bot,
				(long long)call->node);
			said = json_str(json_get(item, "content"));
			rig_true(str_is(json_str(json_get(item, "tool_call_id")), call->id),
				"the result of call %s names another", call->id);
			if (call->unknown)
				rig_true(str_find(said, STR("tool_outcome_unknown"), 0) > 0,
					"an unknown call's result: " STR_FMT, STR_ARG(said));
			else if (!call->started)
				rig_true(str_is(said, "{\"error\":\"cancelled\"}") ||
						 was_interrupted(t),
					"a call that never started has: " STR_FMT, STR_ARG(said));
			else
				rig_true(was_interrupted(t),
					"call %s of turn %lld ran and is said to be cancelled",
					call->id, (long long)i);
			rig_true(call->started || call->lines == 0,
				"call %s of turn %lld never started and wrote", call->id,
				(long long)i);
		}
	}
}

static void check_placeholders(void)
{
	static const char *const names[] = {".git", ".agents", ".codex"};

	for (size_t slot = 0; slot < storm.bot_count; slot += 2) {
		for (size_t i = 0; i < ARRAY_LEN(names); i++) {
			_cleanup_(mem) char *path = xasprintf(
				"%s/ws%zu/%s", storm.rig.home, slot / 2, names[i]);
			struct stat st;

			rig_true(lstat(path, &st) < 0 && errno == ENOENT,
				"'%s' was left in the workspace", path);
		}
	}
}

/* All turns are over: what is recorded and what was really done agree. */
static void settle(struct client *c)
{
	history_wait_idle(c, SETTLE_MS);
	read_back();
	for (size_t slot = 0; slot < storm.bot_count; slot += 2) {
		_cleanup_(mem) char *ledger = xasprintf(
			"%s/ws%zu/ledger", storm.rig.home, slot / 2);

		turns_read_ledger(&storm.turns, ledger, &storm.ledger_at[slot]);
	}
	check_recovered(storm.verified);
	turns_check_ledger(&storm.turns, storm.checked_turn + 1);
	check_results(c);
	for (size_t i = 0; i < storm.bot_count; i++) {
		if (storm.bots[i].made)
			storm.bots[i].checked_node = history_check(
				c, storm.bots[i].name, storm.bots[i].checked_node);
	}
	check_placeholders();
	storm.checked_turn = storm.turns.last;
}

/* Starts and kills at once. */
static void kill_while_starting(void)
{
	rig_start(&storm.rig, NULL, NULL);
	rig_pause((int)dice(&storm.dice, 0, START_KILL_MOST_MS));
	rig_kill(&storm.rig);
	rig_no_survivors(&storm.rig, SURVIVE_MS);
	storm.start_kills++;
}

/* Everything that was acknowledged before the last kill. */
static void check_after(struct client *c)
{
	int64_t last = storm.seen.last > storm.acknowledged ? storm.seen.last : storm.acknowledged;

	read_back();
	check_recovered(last);
	check_bots(c);
	resubmit(c);
	follow_from_anywhere();
	follow_from_anywhere();
}

static void one_round(void)
{
	struct client *c;
	int64_t began;

	if (dice(&storm.dice, 0, 3) == 0)
		kill_while_starting();
	if (storm.round % INTEGRITY_EVERY == 1)
		storm.have_sqlite = rig_integrity(&storm.rig);
	began = rig_now_ms();
	rig_start(&storm.rig, NULL, NULL);
	c = rig_connect(&storm.rig);
	if (rig_now_ms() - began > storm.slowest_start_ms)
		storm.slowest_start_ms = rig_now_ms() - began;
	check_after(c);
	if (dice(&storm.dice, 0, 2) > 0)
		settle(c);
	client_free(c);
	if (dice(&storm.dice, 0, 3) == 0)
		new_bot((size_t)dice(&storm.dice, 0, (int64_t)storm.bot_count - 1));
	open_clients();
	load(dice(&storm.dice, KILL_LEAST_MS, KILL_MOST_MS));
	rig_kill(&storm.rig);
	drain_clients();
	rig_no_survivors(&storm.rig, SURVIVE_MS);
	rig_check_log(&storm.rig);
}

static void last_look(void)
{
	struct client *c;
	struct follower f;

	rig_start(&storm.rig, NULL, NULL);
	c = rig_connect(&storm.rig);
	check_after(c);
	settle(c);
	start_follower(&f, "*", 0);
	follower_catch_up(&f); /* compares each event with what was seen of it */
	rig_true(f.cursor == storm.verified, "a replay ends at %lld, not %lld", (long long)f.cursor,
		(long long)storm.verified);
	follower_release(&f);
	client_free(c);
	rig_stop(&storm.rig);
	storm.have_sqlite = rig_integrity(&storm.rig);
}

static void release(void)
{
	for (size_t i = 0; i < storm.sub_count; i++) {
		free(storm.subs[i].bot);
		free(storm.subs[i].request_id);
	}
	free(storm.subs);
	free(storm.interrupts);
	turns_release(&storm.turns);
	events_release(&storm.seen);
	rig_end(&storm.rig);
}

static uint64_t number(const char *text, uint64_t max)
{
	uint64_t value;
	struct error err = ERROR_INIT;

	if (text_u64(str_from(text), max, "argument", &value, &err) == 0)
		return value;
	(void)fprintf(stderr, "crash_storm: %s\n", err.text);
	exit(2);
}

int main(int argc, char **argv)
{
	uint64_t rounds = 12, seed = 1, bots = 12;
	const char *bin = NULL;
	int64_t began = rig_now_ms();

	for (int i = 1; i < argc; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (strcmp(argv[i], "--rounds") == 0)
			rounds = number(value, 1000000);
		else if (strcmp(argv[i], "--seed") == 0)
			seed = number(value, INT64_MAX);
		else if (strcmp(argv[i], "--bots") == 0)
			bots = number(value, BOTS_MAX);
		else if (strcmp(argv[i], "--bin") == 0)
			bin = value;
		else
			number("", 0);
	}
	rig_init(&storm.rig, bin);
	dice_init(&storm.dice, seed);
	storm.bot_count = bots < 2 ? 2 : bots;
	rig_write(storm.rig.script, script);
	for (size_t i = 0; i < storm.bot_count; i++) {
		new_bot(i);
		if (i % 2 == 0)
			rig_true(mkdir(workspace_of(i), 0755) == 0, "no workspace");
	}
	for (storm.round = 1; storm.round <= (int64_t)rounds; storm.round++) {
		one_round();
		if (storm.round % 20 == 0)
			(void)printf("round %lld: %lld events, %lld turns, %.1f s\n",
				(long long)storm.round, (long long)storm.verified,
				(long long)storm.turns.last, (double)(rig_now_ms() - began) / 1000);
		(void)fflush(stdout);
	}
	last_look();
	(void)printf(
		"%llu kills under load, %lld while starting (seed %llu): %lld events, %lld turns "
		"(%lld interrupted), %lld calls started (%lld of unknown outcome, %lld "
		"cancelled), %lld parks, %lld duplicates, %lld forks, slowest start %lld ms, "
		"followers cut "
		"%lld%s\n",
		(unsigned long long)rounds, (long long)storm.start_kills, (unsigned long long)seed,
		(long long)storm.verified, (long long)storm.turns.finished,
		(long long)storm.turns.interrupted, (long long)storm.turns.started,
		(long long)storm.turns.unknown, (long long)storm.turns.cancelled,
		(long long)storm.turns.parks, (long long)storm.duplicates, (long long)storm.forks,
		(long long)storm.slowest_start_ms, (long long)storm.cut_followers,
		storm.have_sqlite ? "" : "; no sqlite3 here");
	release();
	return 0;
}
