/*
 * Many at once: 32 submissions over 32 connections, and 1,024 turns in flight.
 *
 *	bench_burst [--bots N] [--turns N]
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lab.h"
#include "measure.h"

enum {
	BOTS = 1024,
	TURNS = 8, /* of each */
	CLIENTS = 32,
	WINDOW = 16, /* requests under way on one connection */
	BURSTS = 15,
	WANTED_OVER_MS = 4, /* DESIGN, and those below */
	WANTED_MIB = 45,
	WANTED_PER_S = 2500,
	LOOK_MS = 5,
};
static const double wanted_cpu_ms = 0.6;

/* `held` keeps all of them in flight until the last has begun. */
static const char script[] = "{\"held\":[{\"delay_ms\":1500,\"say\":\"done\"}],"
			     "\"text\":[{\"say\":\"done\"}]}";

struct burst {
	struct lab lab;
	struct client *clients[CLIENTS];
	int64_t bots, turns, requests;
};

static void send_body(struct client *c, char *body)
{
	struct error err = ERROR_INIT;
	int64_t id;

	if (client_send(c, str_from(body), &id, &err) < 0)
		measure_fail("%s", err.text);
	free(body);
}

static void take_reply(struct client *c)
{
	const struct json *line;
	struct error err = ERROR_INIT;

	if (client_next(c, -1, &line, &err) != 1)
		measure_fail("%s", err.text);
	if (!json_get(line, "result"))
		measure_fail("refused: " STR_FMT, STR_ARG(json_str(json_get(line, "detail"))));
}

static char *create_body(struct burst *b, int64_t bot)
{
	(void)b;
	return xasprintf("\"op\":\"create\",\"bot\":\"bot-%lld\",\"model\":\"chat/"
			 "model\",\"instructions\":\"Be brief.\",\"tools\":[]",
		(long long)bot);
}

static char *submit_body(struct burst *b, int64_t bot, const char *conversation)
{
	return xasprintf("\"op\":\"submit\",\"bot\":\"bot-%lld\",\"request_id\":\"r%lld\","
			 "\"prompt\":\"#%s go\",\"delivery\":\"queue\"",
		(long long)bot, (long long)b->requests++, conversation);
}

/* One request per bot over all connections, a window of each under way. NULL: creates. */
static void ask_all(struct burst *b, const char *conversation)
{
	for (int64_t from = 0; from < b->bots; from += (int64_t)CLIENTS * WINDOW) {
		const int64_t left = b->bots - from;
		const int64_t count = left < (int64_t)CLIENTS * WINDOW ? left
								       : (int64_t)CLIENTS * WINDOW;

		for (int64_t i = 0; i < count; i++)
			send_body(b->clients[i % CLIENTS],
				conversation ? submit_body(b, from + i, conversation)
					     : create_body(b, from + i));
		for (int64_t i = 0; i < count; i++)
			take_reply(b->clients[i % CLIENTS]);
	}
}

static int64_t active_turns(struct burst *b)
{
	return lab_i64(lab_call(b->clients[0], "\"op\":\"stats\""), "active_turns");
}

static void wait_idle(struct burst *b)
{
	for (;;) {
		const struct json *stats = lab_call(b->clients[0], "\"op\":\"stats\"");

		if (lab_i64(stats, "active_turns") == 0 && lab_i64(stats, "queued_turns") == 0)
			return;
		(void)poll(NULL, 0, LOOK_MS); /* a signal only shortens it */
	}
}

static double one_burst(struct burst *b)
{
	char *bodies[CLIENTS];
	double start, took;

	for (int64_t i = 0; i < CLIENTS; i++)
		bodies[i] = submit_body(b, i, "held");
	start = lab_now_ms();
	for (int64_t i = 0; i < CLIENTS; i++)
		send_body(b->clients[i], bodies[i]);
	for (int64_t i = 0; i < CLIENTS; i++)
		take_reply(b->clients[i]);
	took = lab_now_ms() - start;
	wait_idle(b);
	return took;
}

static void measure_bursts(struct burst *b)
{
	double over[BURSTS], sync[BURSTS], sync_ms;

	for (int i = 0; i < BURSTS; i++) {
		sync[i] = lab_fsync_ms(&b->lab);
		over[i] = one_burst(b) - sync[i];
	}
	sync_ms = measure_median(sync, BURSTS);
	measure_note("burst: one fsync here", sync_ms, "ms");
	measure_row("burst: last of 32 replies, over one fsync", measure_median(over, BURSTS), "ms",
		MEASURE_MOST, WANTED_OVER_MS, "target");
}

static void measure_flight(struct burst *b)
{
	int64_t most = 0, now;
	long peak_kib = 0;

	ask_all(b, "held");
	while ((now = active_turns(b)) > 0) {
		const long kib = measure_rss_kib(b->lab.daemon, "VmRSS");

		most = now > most ? now : most;
		peak_kib = kib > peak_kib ? kib : peak_kib;
		(void)poll(NULL, 0, LOOK_MS); /* a signal only shortens it */
	}
	measure_note("burst: turns in flight at once", (double)most, "turns");
	measure_row("burst: memory of the daemon with them", (double)peak_kib / 1024, "MiB",
		MEASURE_MOST, WANTED_MIB, "target");
}

static void measure_rate(struct burst *b)
{
	const double cpu = measure_cpu_ms(b->lab.daemon), start = lab_now_ms();
	const double count = (double)(b->bots * b->turns);
	const double model_cpu = measure_cpu_ms(harness_pid(b->lab.model));
	double took_s;

	for (int64_t i = 0; i < b->turns; i++)
		ask_all(b, "text");
	wait_idle(b);
	took_s = (lab_now_ms() - start) / 1e3;
	measure_row("burst: turns per second", count / took_s, "/s", MEASURE_LEAST, WANTED_PER_S,
		"target");
	measure_row("burst: processor time of the daemon, per turn",
		(measure_cpu_ms(b->lab.daemon) - cpu) / count, "ms", MEASURE_MOST, wanted_cpu_ms,
		"target");
	measure_note("burst: processor time of the model, per turn",
		(measure_cpu_ms(harness_pid(b->lab.model)) - model_cpu) / count, "ms");
	measure_note("burst: memory of the daemon, at most",
		(double)measure_rss_kib(b->lab.daemon, "VmHWM") / 1024, "MiB");
}

int main(int argc, char **argv)
{
	struct burst b = {.bots = lab_flag(argc, argv, "bots", BOTS),
		.turns = lab_flag(argc, argv, "turns", TURNS)};

	if (b.bots < CLIENTS || b.turns < 1)
		measure_fail("--bots: at least %d; --turns: at least 1", CLIENTS);
	lab_init(&b.lab, script);
	(void)lab_start(&b.lab, NULL);
	for (int i = 0; i < CLIENTS; i++)
		b.clients[i] = lab_client(&b.lab);
	ask_all(&b, NULL);
	measure_bursts(&b);
	measure_flight(&b);
	measure_rate(&b);
	for (int i = 0; i < CLIENTS; i++)
		client_free(b.clients[i]);
	lab_end(&b.lab);
	return 0;
}
