/*
 * A long day: bots of five roles, each turn after the other, while the daemon's memory is looked at
 * every second.
 *
 *	bench_soak [--bots N] [--minutes N] [--seconds N] [--pause-ms N] [--growth-percent N]
 *
 * Exit status 1 when a turn failed that the script did not order to fail, one did not that it did,
 * or memory grew by more than --growth-percent from the first quarter to the last.
 */
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"
#include "measure.h"

enum {
	BOTS = 192,
	BOTS_MAX = 4096,
	PAUSE_MS = 2000,  /* between two turns of a bot */
	KEEP_TURNS = 4,   /* what a bot keeps: without an end memory grows with the talk */
	ANSWER_MS = 2500, /* longer than a turn is held before it parks */
	TICK_MS = 20,
	SAMPLES_MAX = 24 * 3600,
	GROWTH_PERCENT = 10,
	CALL_ID_BYTES = 128,
	SETTLE_MS = 60000,
};

static const char script[] =
	"{\"text\":[{\"say\":{\"repeat\":[\"word \",60]}}],"
	"\"tool\":[{\"calls\":[{\"tool\":\"shell\",\"arguments\":{\"command\":\"echo hi\"}}]},"
	"{\"say\":[\"It said: \",{\"from\":\"result\"}]}],"
	"\"steered\":[{\"delay_ms\":200,\"calls\":[{\"tool\":\"echo\",\"arguments\":{\"text\":"
	"\"x\"}}]},"
	"{\"say\":\"done\"}],"
	"\"gated\":[{\"calls\":[{\"tool\":\"echo\",\"arguments\":{\"text\":\"may I\"}}]},"
	"{\"say\":\"done\"}],"
	"\"bad\":[{\"fault\":400}]}";

static const struct role {
	const char *conversation;
	const char *status;   /* of every turn */
	const char *settings; /* at its creation */
	bool steers;
} roles[] = {
	{"text",    "completed", ",\"tools\":[]",                                          false},
	{"tool",    "completed", ",\"tools\":[\"shell\"],\"sandbox\":\"workspace-write\"", false},
	{"steered", "completed", ",\"tools\":[\"echo\"]",                                  true },
	{"gated",   "completed",
         ",\"tools\":[\"echo\"],\"gates\":[{\"tag\":\"person\",\"tools\":[\"echo\"],"
		"\"expire_ms\":60000}]",						   false},
	{"bad",     "failed",    ",\"tools\":[]",                                          false},
};

struct bot {
	const struct role *role;
	double next_ms;   /* when it is given work; 0: it has some */
	double answer_ms; /* when its call is judged; 0: none waits */
	int64_t turn, request;
	char call_id[CALL_ID_BYTES];
};

struct soak {
	struct lab lab;
	struct client *sender, *follower;
	struct bot bots[BOTS_MAX];
	int64_t bot_count, pause_ms, requests;
	int64_t finished, unordered, steers, answers, late, cut, cursor;
	bool ending; /* no more work */
	double rss_kib[SAMPLES_MAX];
	size_t samples;
};

static void send_body(struct soak *s, char *body)
{
	struct error err = ERROR_INIT;
	int64_t id;

	if (client_send(s->sender, str_from(body), &id, &err) < 0)
		measure_fail("%s", err.text);
	free(body);
}

static void submit(struct soak *s, int64_t bot, const char *conversation, const char *delivery)
{
	send_body(s, xasprintf("\"op\":\"submit\",\"bot\":\"bot-%lld\",\"request_id\":\"r%lld\","
			       "\"prompt\":\"#%s go\",\"delivery\":\"%s\"",
			     (long long)bot, (long long)s->requests++, conversation, delivery));
}

static void answer(struct soak *s, int64_t number)
{
	const struct bot *b = &s->bots[number];

	send_body(s,
		xasprintf("\"op\":\"answer\",\"bot\":\"bot-%lld\",\"turn\":%lld,\"call_id\":"
			  "\"%s\",\"request\":%lld,\"decision\":\"allow\",\"tag\":\"person\"",
			(long long)number, (long long)b->turn, b->call_id, (long long)b->request));
	s->answers++;
}

/* What is due now. */
static void act(struct soak *s)
{
	const double now = lab_now_ms();

	for (int64_t i = 0; i < s->bot_count; i++) {
		struct bot *b = &s->bots[i];

		if (b->answer_ms > 0 && now >= b->answer_ms) {
			b->answer_ms = 0;
			answer(s, i);
		}
		if (b->next_ms > 0 && now >= b->next_ms && !s->ending) {
			b->next_ms = 0;
			submit(s, i, b->role->conversation, "queue");
		}
	}
}

static void on_finished(struct soak *s, int64_t bot, const struct json *data)
{
	struct bot *b = &s->bots[bot];
	struct str status = json_str(json_get(data, "status"));

	if (b->role->steers && str_is(status, "steered"))
		return; /* the steer's own end */
	s->finished++;
	b->next_ms = lab_now_ms() + (double)s->pause_ms;
	if (str_is(status, b->role->status))
		return;
	s->unordered++;
	(void)fprintf(stderr, "soak: a turn of role %s ended as " STR_FMT ": " STR_FMT "\n",
		b->role->conversation, STR_ARG(status), STR_ARG(json_str(json_get(data, "error"))));
}

static const struct json *first_of(const struct json *array)
{
	return array ? array->child : NULL;
}

static void on_requested(struct bot *b, int64_t turn, const struct json *data)
{
	const struct json *call = first_of(json_get(data, "calls"));
	struct str id = json_str(json_get(call, "call_id"));

	if (id.len >= sizeof(b->call_id))
		measure_fail("a call's id of %zu bytes", id.len);
	memcpy(b->call_id, id.p, id.len);
	b->call_id[id.len] = '\0';
	b->turn = turn;
	b->request = lab_i64(call, "request");
	b->answer_ms = lab_now_ms() + ANSWER_MS;
}

static void on_event(struct soak *s, const struct json *line)
{
	struct str kind = json_str(json_get(line, "event"));
	struct str name = json_str(json_get(line, "bot"));
	const struct json *data = json_get(line, "data");
	uint64_t bot;

	if (!str_starts(name, STR("bot-")) ||
		text_u64((struct str){name.p + 4, name.len - 4}, (uint64_t)s->bot_count - 1, "bot",
			&bot, NULL) < 0)
		return; /* not of a bot */
	if (str_is(kind, "turn_finished")) {
		on_finished(s, (int64_t)bot, data);
	} else if (str_is(kind, "approval_requested")) {
		on_requested(&s->bots[bot], lab_i64(line, "turn"), data);
	} else if (str_is(kind, "accepted") && s->bots[bot].role->steers && !s->ending) {
		submit(s, (int64_t)bot, "text", "steer");
		s->steers++;
	}
}

/* A steer may come too late; everything else must be taken. */
static void on_reply(struct soak *s, const struct json *line)
{
	struct str code = json_str(json_get(line, "error"));

	if (json_get(line, "result"))
		return;
	if (!str_is(code, "no_active_turn") && !str_is(code, "turn_not_active"))
		measure_fail("refused: " STR_FMT ": " STR_FMT, STR_ARG(code),
			STR_ARG(json_str(json_get(line, "detail"))));
	s->late++;
}

/* From the last event that was heard. */
static void follow(struct soak *s)
{
	s->follower = lab_client(&s->lab);
	(void)lab_call(s->follower, "\"op\":\"follow\",\"bot\":\"*\",\"after\":%lld",
		(long long)s->cursor);
}

static void read_events(struct soak *s)
{
	const struct json *line;
	struct error err = ERROR_INIT;
	int rc;

	while ((rc = client_next(s->follower, 0, &line, &err)) == 1) {
		(void)json_i64(
			json_get(line, "cursor"), &s->cursor); /* what has none moves nothing */
		on_event(s, line);
	}
	if (rc == 0)
		return;
	/* On a machine so busy that we did not run for a while the daemon lets a follower go. */
	s->cut++;
	client_free(s->follower);
	follow(s);
}

static void read_all(struct soak *s, int wait_ms)
{
	struct pollfd fds[] = {
		{client_fd(s->sender),   POLLIN, 0},
                {client_fd(s->follower), POLLIN, 0}
        };
	const struct json *line;
	struct error err = ERROR_INIT;
	int rc;

	(void)poll(fds, ARRAY_LEN(fds), wait_ms); /* a signal only shortens it */
	read_events(s);
	while ((rc = client_next(s->sender, 0, &line, &err)) == 1)
		on_reply(s, line);
	if (rc < 0)
		measure_fail("%s", err.text);
}

static double count_descriptors(pid_t pid)
{
	_cleanup_(mem) char *path = xasprintf("/proc/%d/fd", (int)pid);
	DIR *dir = opendir(path);
	double count = -2; /* . and .. */

	while (dir && readdir(dir))
		count++;
	if (dir)
		(void)closedir(dir); /* only read */
	return count;
}

static void make_bots(struct soak *s)
{
	struct client *c = lab_client(&s->lab);

	for (int64_t i = 0; i < s->bot_count; i++) {
		struct bot *b = &s->bots[i];

		b->role = &roles[i % (int64_t)ARRAY_LEN(roles)];
		b->next_ms = lab_now_ms() + (double)s->pause_ms * (double)i / (double)s->bot_count;
		(void)lab_call(c,
			"\"op\":\"create\",\"bot\":\"bot-%lld\",\"model\":\"chat/model\","
			"\"instructions\":\"Be brief.\",\"retain_turns\":%d,\"workspace\":\"%s\"%s",
			(long long)i, KEEP_TURNS, s->lab.workspace, b->role->settings);
	}
	client_free(c);
}

static bool all_done(const struct soak *s)
{
	for (int64_t i = 0; i < s->bot_count; i++) {
		if (s->bots[i].next_ms == 0)
			return false;
	}
	return true;
}

static void run(struct soak *s, int64_t seconds)
{
	const double start = lab_now_ms();
	double now;

	while ((now = lab_now_ms() - start) < (double)seconds * 1e3) {
		if (now >= (double)s->samples * 1e3 && s->samples < SAMPLES_MAX)
			s->rss_kib[s->samples++] = (double)measure_rss_kib(s->lab.daemon, "VmRSS");
		act(s);
		read_all(s, TICK_MS);
	}
	s->ending = true;
	while (!all_done(s)) {
		if (lab_now_ms() - start > (double)seconds * 1e3 + SETTLE_MS)
			measure_fail("turns did not end");
		act(s);
		read_all(s, TICK_MS);
	}
}

static int report(struct soak *s, int64_t growth_max)
{
	/* the first third fills caches, pools and what bots keep */
	const size_t warm = s->samples / 3, quarter = (s->samples - warm) / 4;
	double first, last, growth;

	if (quarter == 0)
		measure_fail("too short: six seconds at least");
	first = measure_median(s->rss_kib + warm, quarter);
	last = measure_median(s->rss_kib + s->samples - quarter, quarter);
	growth = (last / first - 1) * 100;
	measure_note("soak: turns", (double)s->finished, "turns");
	measure_note(
		"soak: steers, answers of calls", (double)(s->steers + s->answers), "requests");
	measure_note("soak: times the follower was let go", (double)s->cut, "times");
	measure_note("soak: memory, median of the first quarter", first / 1024, "MiB");
	measure_note("soak: memory, median of the last", last / 1024, "MiB");
	measure_row("soak: its growth", growth, "%", MEASURE_MOST, (double)growth_max, "target");
	(void)printf("soak: turns that ended otherwise than ordered\t%lld\t<= 0 (target)\t%s\n",
		(long long)s->unordered, s->unordered ? "broken" : "held");
	return s->unordered == 0 && growth <= (double)growth_max ? 0 : 1;
}

int main(int argc, char **argv)
{
	static struct soak s;
	const int64_t seconds = lab_flag(
		argc, argv, "seconds", lab_flag(argc, argv, "minutes", 1) * 60);
	const int64_t growth_max = lab_flag(argc, argv, "growth-percent", GROWTH_PERCENT);
	double descriptors, store;
	int status;

	s.bot_count = lab_flag(argc, argv, "bots", BOTS);
	s.pause_ms = lab_flag(argc, argv, "pause-ms", PAUSE_MS);
	if (s.bot_count < (int64_t)ARRAY_LEN(roles) || s.bot_count > BOTS_MAX || s.pause_ms < 1)
		measure_fail(
			"--bots: %zu to %d; --pause-ms: at least 1", ARRAY_LEN(roles), BOTS_MAX);
	lab_init(&s.lab, script);
	(void)lab_start(&s.lab, NULL);
	make_bots(&s);
	s.sender = lab_client(&s.lab);
	follow(&s);
	descriptors = count_descriptors(s.lab.daemon);
	store = lab_store_bytes(&s.lab);
	run(&s, seconds);
	status = report(&s, growth_max);
	measure_note("soak: the store's growth, per turn",
		(lab_store_bytes(&s.lab) - store) / (double)s.finished, "B");
	measure_note("soak: descriptors before", descriptors, "");
	measure_note("soak: descriptors after", count_descriptors(s.lab.daemon), "");
	client_free(s.sender);
	client_free(s.follower);
	lab_end(&s.lab);
	return status;
}
