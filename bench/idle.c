/*
 * Many bots that do nothing: how fast they are made, what they cost in memory, and how long a
 * daemon takes to be ready with them.
 *
 *	bench_idle [--bots N]
 */
#include <stdio.h>
#include <stdlib.h>

#include "lab.h"
#include "measure.h"

enum {
	BOTS = 10000,
	WINDOW = 64, /* requests under way */
	RESTARTS = 5,
	WANTED_MIB = 16, /* DESIGN */
	WANTED_READY_MS = 60,
};

static void send_create(struct lab *l, struct client *c, int64_t number)
{
	_cleanup_(mem) char *body = xasprintf(
		"\"op\":\"create\",\"bot\":\"idle-%lld\",\"model\":\"chat/model\","
		"\"instructions\":\"You wait.\",\"tools\":[\"shell\",\"read\",\"write\"],"
		"\"workspace\":\"%s\",\"sandbox\":\"workspace-write\"",
		(long long)number, l->workspace);
	struct error err = ERROR_INIT;
	int64_t id;

	if (client_send(c, str_from(body), &id, &err) < 0)
		measure_fail("%s", err.text);
}

static void take_created(struct client *c)
{
	const struct json *line;
	struct error err = ERROR_INIT;

	if (client_next(c, -1, &line, &err) != 1)
		measure_fail("%s", err.text);
	if (!json_get(line, "result"))
		measure_fail("a bot was not made: " STR_FMT,
			STR_ARG(json_str(json_get(line, "detail"))));
}

static void create(struct lab *l, int64_t bots)
{
	struct client *c = lab_client(l);
	const double start = lab_now_ms();
	double took_s;

	for (int64_t i = 0; i < bots + WINDOW; i++) {
		if (i < bots)
			send_create(l, c, i);
		if (i >= WINDOW)
			take_created(c);
	}
	took_s = (lab_now_ms() - start) / 1e3;
	measure_note("idle: bots made on one connection, per second", (double)bots / took_s, "/s");
	client_free(c);
}

int main(int argc, char **argv)
{
	const int64_t bots = lab_flag(argc, argv, "bots", BOTS);
	double ready[RESTARTS];
	struct lab l;

	if (bots < WINDOW)
		measure_fail("--bots: at least %d", WINDOW);
	lab_init(&l, NULL);
	measure_note("idle: start to ready without a bot", lab_start(&l, NULL), "ms");
	create(&l, bots);
	measure_row("idle: memory of the daemon that made them",
		(double)measure_rss_kib(l.daemon, "VmRSS") / 1024, "MiB", MEASURE_MOST, WANTED_MIB,
		"target");
	for (int i = 0; i < RESTARTS; i++) {
		lab_stop(&l);
		ready[i] = lab_start(&l, NULL);
	}
	measure_row("idle: restart to ready", measure_median(ready, RESTARTS), "ms", MEASURE_MOST,
		WANTED_READY_MS, "target");
	measure_row("idle: memory after a restart",
		(double)measure_rss_kib(l.daemon, "VmRSS") / 1024, "MiB", MEASURE_MOST, WANTED_MIB,
		"target");
	measure_note("idle: the store, per bot", lab_store_bytes(&l) / (double)bots, "B");
	lab_end(&l);
	return 0;
}
