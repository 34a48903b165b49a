/* The andon cord. */
#include "attest/suites.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "attest/drill.h"
#include "attest/own.h"
#include "attest/raw.h"

static struct str text_of(const struct json *object, const char *name)
{
	return json_str(json_get(object, name));
}

static const struct json *outcome_of(struct drill *r, const char *bot, int64_t turn)
{
	return attest_call(r->t, r->d->client, "\"op\":\"result\",\"bot\":\"%s\",\"turn\":%lld",
		bot, (long long)turn);
}

static const struct json *stats(struct drill *r)
{
	return attest_call(r->t, r->d->client, "\"op\":\"stats\"");
}

static bool exists(struct attest *t, void *path)
{
	(void)t;
	return attest_exists(path);
}

/* Each pulls the cord by the command line, as a bot's command would; the third has no sandbox and
 * finds the daemon's own socket. */
static void AG_158_every_agent_can_pull_it(struct attest *t)
{
	static const struct {
		const char *bot, *more;
	} bots[] = {
		{"offline", "\"sandbox\":\"read-only\""                       },
		{"online",  "\"sandbox\":\"workspace-write\",\"network\":true"},
		{"open",    ""						},
	};
	const struct json *done;
	struct drill r;
	int call;

	drill_init(&r, t);
	call = drill_shell(&r, OWN_CLI " pause");
	drill_start(&r, NULL);
	for (size_t i = 0; i < ARRAY_LEN(bots); i++) {
		(void)attest_bot(t, r.d, bots[i].bot, bots[i].more);
		done = attest_wait(t, r.d, bots[i].bot, drill_submit(&r, bots[i].bot, call));
		attest_true(t, str_is(text_of(done, "error"), "paused"),
			"the turn of '%s' ended as " STR_FMT, bots[i].bot,
			STR_ARG(text_of(done, "error")));
		attest_true(t, str_is(text_of(json_get(stats(&r), "paused"), "by"), bots[i].bot),
			"'%s' did not pause the daemon", bots[i].bot);
		(void)attest_call(t, r.d->client, "\"op\":\"resume\"");
		attest_true(t, json_get(stats(&r), "paused")->type == JSON_NULL,
			"the daemon is paused still");
	}
	(void)attest_call(t, r.d->client, "\"op\":\"pause\"");
	attest_true(t, json_get(stats(&r), "paused")->type == JSON_OBJECT,
		"a client did not pause the daemon");
}

static void AG_162_only_the_own_socket_lets_it_go(struct attest *t)
{
	struct own o = {.id = 0};
	int64_t queued;

	own_start(&o, t, NULL);
	(void)attest_call(t, o.c, "\"op\":\"pause\"");
	must(json_i64(json_get(attest_call(t, o.r.d->client,
				       "\"op\":\"submit\",\"bot\":\"b\",\"request_id\":\"later\","
				       "\"prompt\":\"[sh]\",\"delivery\":\"queue\""),
			      "turn"),
		     &queued) == 0);
	(void)attest_refused(t, o.c, "not_permitted", "\"op\":\"resume\"");
	attest_true(t, json_get(stats(&o.r), "paused")->type == JSON_OBJECT,
		"a bot's own socket let the cord go");
	attest_true(t, str_is(text_of(outcome_of(&o.r, "b", queued), "status"), "ready"),
		"what is queued does not wait any more");
	attest_true(t,
		json_is_true(
			json_get(attest_call(t, o.r.d->client, "\"op\":\"resume\""), "resumed")),
		"a client cannot let it go");
	attest_true(t, str_is(text_of(attest_wait(t, o.r.d, "b", queued), "status"), "completed"),
		"what was queued did not start");
}

/* Two commands that ignore every polite signal, and a turn that is parked for a verdict: what has
 * begun, in each of the ways that one can hang on. */
static void AG_159_it_cancels_running_turns(struct attest *t)
{
	static const char *const bots[] = {"a", "b", "c"};
	const struct json *one, *paused;
	int64_t turns[3], later;
	struct drill r;
	int calls[3], next;

	drill_init(&r, t);
	for (int i = 0; i < 2; i++)
		calls[i] = drill_shell(&r,
			"trap '' TERM INT HUP; : > up-%s; sleep 600; : > late-%s", bots[i],
			bots[i]);
	calls[2] = drill_shell(&r, ": > ran-c");
	next = drill_shell(&r, ": > ran-next");
	drill_start(&r, NULL);
	for (int i = 0; i < 3; i++) {
		(void)attest_bot(t, r.d, bots[i],
			i < 2 ? ""
			      : "\"approval_hold_ms\":0,\"gates\":[{\"tag\":\"person\","
				"\"tools\":[\"shell\"],\"expire_ms\":null}]");
		turns[i] = drill_submit(&r, bots[i], calls[i]);
	}
	for (int i = 0; i < 2; i++)
		attest_until(t, "the command runs", exists,
			attest_path(t, "%s/up-%s", r.d->workspace, bots[i]));
	(void)attest_pending(t, r.d, "c");
	paused = attest_call(t, r.d->client, "\"op\":\"pause\",\"reason\":\"a drill\"");
	attest_true(t, str_is(text_of(json_get(paused, "paused"), "reason"), "a drill"),
		"the pause does not give its reason back");
	(void)attest_refused(t, r.d->client, "daemon_paused",
		"\"op\":\"submit\",\"bot\":\"a\",\"request_id\":\"now\",\"prompt\":\"[%d]\"", next);
	must(json_i64(json_get(attest_call(t, r.d->client,
				       "\"op\":\"submit\",\"bot\":\"a\",\"request_id\":\"later\","
				       "\"prompt\":\"[%d]\",\"delivery\":\"queue\"",
				       next),
			      "turn"),
		     &later) == 0);
	for (int i = 0; i < 3; i++) {
		one = attest_wait(t, r.d, bots[i], turns[i]);
		attest_true(t,
			str_is(text_of(one, "status"), "interrupted") &&
				str_is(text_of(one, "error"), "paused"),
			"turn %d ended as " STR_FMT " (" STR_FMT ")", i,
			STR_ARG(text_of(one, "status")), STR_ARG(text_of(one, "error")));
	}
	one = outcome_of(&r, "a", later);
	attest_true(t, str_is(text_of(one, "status"), "ready"), "a turn is " STR_FMT " in a pause",
		STR_ARG(text_of(one, "status")));
	attest_absent(t, attest_path(t, "%s/ran-c", r.d->workspace));
	attest_absent(t, attest_path(t, "%s/ran-next", r.d->workspace));
	attest_daemon_kill(t, r.d); /* the next daemon starts it no more than this one */
	drill_again(&r, NULL);
	(void)attest_bot(t, r.d, "d", ""); /* committed behind a start of the daemon's own accord */
	one = outcome_of(&r, "a", later);
	attest_true(t, str_is(text_of(one, "status"), "ready"),
		"a turn is " STR_FMT " in the daemon after the pause",
		STR_ARG(text_of(one, "status")));
	attest_true(t,
		json_is_true(json_get(attest_call(t, r.d->client, "\"op\":\"resume\""), "resumed")),
		"the daemon was not paused any more");
	one = attest_wait(t, r.d, "a", later);
	attest_true(t, str_is(text_of(one, "status"), "completed"),
		"what was queued ended as " STR_FMT, STR_ARG(text_of(one, "status")));
	attest_true(t, attest_exists(attest_path(t, "%s/ran-next", r.d->workspace)),
		"what was queued did not run");
}

/* No process has the text in its arguments. */
static bool is_gone(struct attest *t, void *text)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	bool found = false;

	must(proc);
	while (!found && (entry = readdir(proc))) {
		char *path = attest_path(t, "/proc/%s/cmdline", entry->d_name);

		found = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
			str_find(attest_read(t, path), str_from(text), 0) >= 0;
	}
	(void)closedir(proc); /* only read */
	return !found;
}

static void AG_160_it_ends_background_processes(struct attest *t)
{
	static const char *const bots[] = {"a", "b"};
	char *marks[2];
	const struct json *results;
	struct drill r;
	int calls[2];

	drill_init(&r, t);
	for (int i = 0; i < 2; i++) {
		marks[i] = attest_path(t, "6%d00.%lld", i, (long long)getpid());
		calls[i] = drill_call(&r, "shell",
			"{\"command\":\"trap '' TERM; setsid sleep %s & sleep %s\","
			"\"background\":true}",
			marks[i], marks[i]);
	}
	drill_start(&r, NULL);
	for (int i = 0; i < 2; i++) {
		(void)attest_bot(t, r.d, bots[i], "");
		(void)drill_do(&r, bots[i], calls[i]);
		attest_true(t, !is_gone(t, marks[i]), "sleep %s does not run", marks[i]);
	}
	(void)attest_call(t, r.d->client, "\"op\":\"pause\"");
	for (int i = 0; i < 2; i++)
		attest_until(t, "the processes are gone", is_gone, marks[i]);
	results = json_get(attest_call(t, r.d->client,
				   "\"op\":\"wait\",\"handles\":[\"proc:1\",\"proc:2\"],"
				   "\"timeout_ms\":10000"),
		"results");
	for (int i = 1; i <= 2; i++) {
		const struct json *one = json_get(results, attest_path(t, "proc:%d", i));

		attest_true(t, str_is(text_of(one, "error"), "cancelled"),
			"the handle proc:%d resolves to " STR_FMT, i,
			STR_ARG(text_of(one, "error")));
	}
}

/* The newest event of that kind, from the log of all bots. */
static const struct json *newest_event(struct drill *r, const char *kind)
{
	struct raw *raw = raw_open(r->t, r->d->socket);
	const struct json *line, *found = NULL;

	(void)raw_json(r->t, raw); /* ready */
	raw_puts(r->t, raw, "{\"id\":1,\"op\":\"follow\",\"bot\":\"*\"}\n");
	while ((line = raw_json(r->t, raw))) {
		if (str_is(text_of(line, "event"), kind))
			found = line;
		if (str_is(text_of(line, "event"), "follow_live"))
			break;
	}
	raw_close(raw);
	attest_true(r->t, found, "there is no event '%s'", kind);
	return found;
}

static void check_author(
	struct drill *r, const char *where, const struct json *paused, const char *name, int64_t id)
{
	int64_t by_id = 0;

	attest_true(r->t,
		str_is(text_of(paused, "by"), name) &&
			json_i64(json_get(paused, "by_id"), &by_id) == 0 && by_id == id,
		"%s says '" STR_FMT "' (%lld) pulled the cord, not '%s' (%lld)", where,
		STR_ARG(text_of(paused, "by")), (long long)by_id, name, (long long)id);
}

static void AG_161_it_bears_the_name_of_who_pulled_it(struct attest *t)
{
	const struct json *done;
	struct drill r;
	int64_t id;
	int call;

	drill_init(&r, t);
	call = drill_shell(&r, "'%s' pause --reason 'too hot'", attest_bin("agent"));
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "other", "");
	id = attest_bot(t, r.d, "puller", "");
	done = attest_wait(t, r.d, "puller", drill_submit(&r, "puller", call));
	attest_true(t, str_is(text_of(done, "error"), "paused"),
		"the puller's own turn ended as " STR_FMT, STR_ARG(text_of(done, "error")));
	check_author(&r, "stats", json_get(stats(&r), "paused"), "puller", id);
	/* whoever comes second changes nothing of that */
	attest_true(t,
		json_is_true(json_get(attest_call(t, r.d->client, "\"op\":\"pause\""), "already")),
		"a second pause is a first one");
	check_author(&r, "the event", json_get(newest_event(&r, "paused"), "data"), "puller", id);
	attest_true(t,
		str_is(text_of(json_get(newest_event(&r, "paused"), "data"), "reason"), "too hot"),
		"the event gives another reason");
	attest_daemon_stop(t, r.d);
	drill_again(&r, NULL);
	check_author(&r, "stats after a restart", json_get(stats(&r), "paused"), "puller", id);
	check_author(&r, "ready after a restart", json_get(client_ready(r.d->client), "paused"),
		"puller", id);
}

const struct attest_case attest_agent_pause[] = {
	{"AG-158", NEEDS_SANDBOX, AG_158_every_agent_can_pull_it           },
	{"AG-159", NEEDS_NOTHING, AG_159_it_cancels_running_turns          },
	{"AG-160", NEEDS_NOTHING, AG_160_it_ends_background_processes      },
	{"AG-161", NEEDS_NOTHING, AG_161_it_bears_the_name_of_who_pulled_it},
	{"AG-162", NEEDS_SANDBOX, AG_162_only_the_own_socket_lets_it_go    },
	{NULL,     0,             NULL				     },
};
