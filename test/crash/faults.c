/*
 * crash_faults: faults from outside, by name.
 *
 *	crash_faults NAME... [--bin DIR]
 *	crash_faults --list
 */
#include "test/crash/faults.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "os/os.h"
#include "test/crash/events.h"
#include "test/crash/history.h"
#include "test/crash/turns.h"

enum {
	LOOK_MS = 5,
	ITEMS_MAX = 400,
};

struct client *fault_start(struct rig *r, const char *script)
{
	rig_write(r->script, script);
	rig_start(r, NULL, NULL);
	return rig_connect(r);
}

char *fault_folder(struct rig *r, const char *name)
{
	char *path = rig_keep(r, "%s/%s", r->home, name);

	rig_true(mkdir(path, 0755) == 0, "no folder '%s'", path);
	return path;
}

void fault_bot(struct client *c, const char *name, const char *folder, const char *more)
{
	(void)rig_call(c,
		"\"op\":\"create\",\"bot\":\"%s\",\"model\":\"drill/x\",\"instructions\":\"\","
		"\"tools\":[\"shell\",\"read\",\"write\",\"echo\"],\"workspace\":\"%s\"%s%s",
		name, folder, more[0] ? "," : "", more);
}

int64_t fault_submit(struct client *c, const char *bot)
{
	static int requests;

	return rig_i64(rig_call(c,
			       "\"op\":\"submit\",\"bot\":\"%s\",\"request_id\":\"f%d\","
			       "\"prompt\":\"go\",\"delivery\":\"queue\"",
			       bot, ++requests),
		"turn");
}

const struct json *fault_wait(struct client *c, const char *bot, int64_t turn, int limit_ms)
{
	_cleanup_(mem) char *handle = xasprintf("turn:%s/%lld", bot, (long long)turn);
	const struct json *reply = rig_call(c,
		"\"op\":\"wait\",\"handles\":[\"%s\"],\"timeout_ms\":%d", handle,
		limit_ms * RIG_SLOW);
	const struct json *outcome = json_get(json_get(reply, "results"), handle);

	rig_true(outcome && !json_get(outcome, "pending"),
		"turn %lld of %s does not end within %d ms", (long long)turn, bot,
		limit_ms * RIG_SLOW);
	return outcome;
}

const char *fault_ended(
	struct rig *r, struct client *c, const char *bot, int64_t turn, int limit_ms)
{
	const struct json *outcome = fault_wait(c, bot, turn, limit_ms);
	struct str status = json_str(json_get(outcome, "status"));
	struct str error = json_str(json_get(outcome, "error"));

	if (!error.p)
		return rig_keep(r, STR_FMT, STR_ARG(status));
	return rig_keep(r, STR_FMT "/" STR_FMT, STR_ARG(status), STR_ARG(error));
}

struct str fault_output(struct rig *r, struct client *c, const char *bot, int nth)
{
	const struct json *page = rig_call(c,
		"\"op\":\"history_nodes\",\"bot\":\"%s\",\"limit\":%d,\"oldest_first\":true", bot,
		ITEMS_MAX);
	int64_t nodes[ITEMS_MAX];
	size_t count = 0;

	json_for_each (n, json_get(page, "nodes"))
		nodes[count++] = rig_i64(n, "node");
	for (size_t i = 0; i < count; i++) {
		const struct json *item = rig_call(c,
			"\"op\":\"item\",\"bot\":\"%s\",\"node\":%lld", bot, (long long)nodes[i]);
		struct str said = json_str(json_get(item, "content"));

		if (str_is(json_str(json_get(item, "role")), "tool") && nth-- == 0)
			return str_from(rig_keep(r, STR_FMT, STR_ARG(said)));
	}
	rig_broken("bot %s has too few results", bot);
}

void fault_check_events(struct rig *r)
{
	struct events seen = {.cap = 0};
	struct turns turns = {.cap = 0};
	struct follower f;

	follower_start(&f, rig_connect(r), &seen, "*", 0);
	f.event = turns_event;
	f.arg = &turns;
	follower_catch_up(&f);
	for (int64_t i = 1; i <= turns.last; i++) {
		const struct turn *t = turns_get(&turns, i);

		rig_true(!t || t->finished, "turn %lld never ends", (long long)i);
	}
	follower_release(&f);
	turns_release(&turns);
	events_release(&seen);
}

void fault_await_file(const char *path, int limit_ms)
{
	int64_t until = rig_now_ms() + (int64_t)limit_ms * RIG_SLOW;

	while (os_exists(path, NULL) != 1) {
		rig_true(rig_now_ms() < until, "'%s' does not appear", path);
		rig_pause(LOOK_MS);
	}
}

static const struct fault *const tables[] = {store_faults, peer_faults, work_faults, spill_faults};

static const struct fault *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		for (const struct fault *f = tables[i]; f->name; f++) {
			if (strcmp(f->name, name) == 0)
				return f;
		}
	}
	return NULL;
}

static int list(void)
{
	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		for (const struct fault *f = tables[i]; f->name; f++)
			(void)printf("%s\n", f->name);
	}
	return 0;
}

static void run(const struct fault *f, const char *bin)
{
	struct rig r;

	rig_init(&r, bin);
	f->run(&r);
	rig_end(&r);
	(void)printf("%s: held\n", f->name);
	(void)fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *bin = NULL;

	if (argc > 1 && strcmp(argv[1], "--list") == 0)
		return list();
	if (argc > 3 && strcmp(argv[argc - 2], "--bin") == 0) {
		bin = argv[argc - 1];
		argc -= 2;
	}
	for (int i = 1; i < argc; i++) {
		const struct fault *f = find(argv[i]);

		if (!f) {
			(void)fprintf(stderr, "crash_faults: no fault '%s'; see --list\n", argv[i]);
			return 2;
		}
		run(f, bin);
	}
	return 0;
}
