/*
 * crash_points: kill -9 of the daemon before each call that makes something durable or tells it.
 *
 *	crash_points log|sync|start|say [--bin DIR]
 *
 * One scene is played over and over: a bot is made, a turn asks to leave its sandbox twice, is
 * denied once and allowed once, parked both times, runs a confined command and writes a file, waits
 * parked for a command in the background, while a second turn is queued; both end and the daemon is
 *told to go. strace counts the calls of a first playing; then the daemon is killed on entering the
 *nth of them, for each n that matters:
 *
 *	log    writes to the write-ahead log and the store: the first, a middle and the last of
 *	       each commit, the last being the one that commits
 *	sync   every fdatasync: all is written, nothing is confirmed to anybody
 *	start  the same calls while the store is made and opened
 *	say    every write and every new process of the loop: replies, events, the log, commands
 *
 * After each death the daemon starts again without strace, and what stands in its store is compared
 * with what it had said (agent spec 4.1) and with what was really done.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"
#include "test/crash/events.h"
#include "test/crash/history.h"
#include "test/crash/rig.h"
#include "test/crash/turns.h"

enum {
	POINTS_MAX = 2048,
	SCENE_MS = 20000 * RIG_SLOW, /* for each wait in it */
	SURVIVE_MS = 5000 * RIG_SLOW,
	SETTLE_MS = 20000 * RIG_SLOW,
	START_STRIDE = 4, /* every which write while starting is a point; every fdatasync is */
	DENIED = 1,       /* marks in the ledger */
	ALLOWED = 2,
	CONFINED = 3,
};

static const char script[] =
	"{\"rehearsal\":1}\n"
	"{\"when\":{\"prompt_has\":\"first\"},\"calls\":[{\"tool\":\"shell\",\"arguments\":{"
	"\"command\":\"echo \\\"$AGENT_BOT $AGENT_TURN 1\\\" >> ledger\",\"sandbox_permissions\":"
	"\"require_escalated\",\"justification\":\"to be denied\"}}]}\n"
	"{\"when\":{\"prompt_has\":\"first\"},\"calls\":[{\"tool\":\"shell\",\"arguments\":{"
	"\"command\":\"echo \\\"$AGENT_BOT $AGENT_TURN 2\\\" >> ledger\",\"sandbox_permissions\":"
	"\"require_escalated\",\"justification\":\"to be allowed\"}}]}\n"
	"{\"when\":{\"prompt_has\":\"first\"},\"calls\":[{\"tool\":\"shell\",\"arguments\":{"
	"\"command\":\"echo \\\"$AGENT_BOT $AGENT_TURN 3\\\" >> ledger\"}},"
	"{\"tool\":\"write\",\"arguments\":{\"path\":\"made.txt\",\"content\":\"all of "
	"it\\n\"}}]}\n"
	"{\"when\":{\"prompt_has\":\"first\"},\"calls\":[{\"tool\":\"shell\",\"arguments\":{"
	"\"command\":\"sleep 0.1; echo behind\",\"background\":true}},{\"tool\":\"wait\","
	"\"arguments\":{\"handles\":[\"proc:1\"]}}]}\n"
	"{\"when\":{\"prompt_has\":\"first\"},\"say\":\"one is done\"}\n"
	"{\"when\":{\"prompt_has\":\"second\"},\"calls\":[{\"tool\":\"echo\",\"arguments\":{"
	"\"text\":\"x\"}}]}\n"
	"{\"when\":{\"prompt_has\":\"second\"},\"say\":\"two is done\"}\n";
static const char content[] = "all of it\n";

/* What the daemon said before it died. */
struct scene {
	struct client *c;
	struct follower f;
	struct events seen;
	struct turns turns;
	bool dead;
	bool created, denied, allowed;
	int64_t first, second; /* turns, 0: not acknowledged */
	char *ended[2];        /* their outcomes as `wait` gave them */
	int approvals;
	char call[64]; /* the newest one to judge */
	int64_t request, call_turn;
};

static struct rig rig;
static char *workspace;

/*
 * The scene.
 */
static const struct json *ask(struct scene *s, const char *body, ...)
	__attribute__((format(printf, 2, 3)));

/* NULL: the daemon is dead. */
static const struct json *ask(struct scene *s, const char *body, ...)
{
	_cleanup_(mem) char *text = NULL;
	const struct json *result = NULL;
	struct error err = ERROR_INIT;
	va_list args;

	if (s->dead)
		return NULL;
	va_start(args, body);
	text = xvasprintf(body, args);
	va_end(args);
	if (client_call(s->c, str_from(text), SCENE_MS, &result, &err) == 0)
		return result;
	rig_true(error_is(&err, &CLIENT_LOST), "%.100s: %s: %s", text,
		error_is(&err, &CLIENT_REMOTE) ? client_remote_code(s->c) : error_code(&err),
		err.text);
	s->dead = true;
	return NULL;
}

static void note_approval(void *arg, const struct json *line)
{
	struct scene *s = arg;
	const struct json *call;
	struct str id;

	if (!str_is(json_str(json_get(line, "event")), "approval_requested"))
		return;
	call = json_get(json_get(line, "data"), "calls")->child;
	id = json_str(json_get(call, "call_id"));
	must(id.len < sizeof(s->call));
	memcpy(s->call, id.p, id.len + 1); /* a parsed string has its NUL */
	s->request = rig_i64(call, "request");
	s->call_turn = rig_i64(line, "turn");
	s->approvals++;
}

static void await_approval(struct scene *s, int nth)
{
	int64_t until = rig_now_ms() + SCENE_MS;

	while (!s->dead && s->approvals < nth) {
		s->dead = !follower_read(&s->f, 100);
		rig_true(rig_now_ms() < until, "approval %d is not asked for", nth);
	}
}

static bool answer(struct scene *s, const char *decision)
{
	return ask(s,
		       "\"op\":\"answer\",\"bot\":\"ada\",\"turn\":%lld,\"call_id\":\"%s\","
		       "\"request\":%lld,\"by\":\"tester\",\"decision\":\"%s\"",
		       (long long)s->call_turn, s->call, (long long)s->request, decision) != NULL;
}

static int64_t submit(struct scene *s, const char *id, const char *prompt)
{
	const struct json *result = ask(s,
		"\"op\":\"submit\",\"bot\":\"ada\",\"request_id\":\"%s\",\"prompt\":\"%s\","
		"\"delivery\":\"queue\"",
		id, prompt);

	return result ? rig_i64(result, "turn") : 0;
}

static void await_end(struct scene *s, int which, int64_t turn)
{
	_cleanup_(mem) char *handle = xasprintf("turn:ada/%lld", (long long)turn);
	const struct json *result = ask(s, "\"op\":\"wait\",\"handles\":[\"%s\"]", handle);
	struct buf text = BUF_INIT(65536);
	struct json_out j = JSON_OUT(&text);

	if (!result)
		return;
	json_put(&j, NULL, json_get(json_get(result, "results"), handle));
	s->ended[which] = buf_take(&text);
}

static void open_scene(struct scene *s)
{
	int status = 0;
	struct client *f;

	s->c = rig_try_connect(&rig, &status);
	f = s->c ? rig_try_connect(&rig, &status) : NULL;
	if (!f) {
		s->dead = true;
		return;
	}
	follower_start(&s->f, f, &s->seen, "*", 0);
	s->f.event = note_approval;
	s->f.arg = s;
}

static const char create[] =
	"\"op\":\"create\",\"bot\":\"ada\",\"model\":\"drill/x\",\"instructions\":\"\",\"tools\":["
	"\"shell\",\"write\",\"echo\",\"wait\"],\"approval_hold_ms\":0,\"sandbox\":\"workspace-"
	"write\",\"gates\":[{\"tag\":"
	"\"person\",\"tools\":[\"shell\",\"write\"],\"expire_ms\":null}],\"workspace\":\"%s\"";

static void play(struct scene *s)
{
	open_scene(s);
	s->created = ask(s, create, workspace) != NULL;
	s->first = submit(s, "r1", "the first");
	await_approval(s, 1);
	s->denied = answer(s, "deny");
	await_approval(s, 2);
	s->second = submit(s, "r2", "the second");
	s->allowed = answer(s, "allow");
	await_end(s, 0, s->first);
	await_end(s, 1, s->second);
	(void)ask(s, "\"op\":\"shutdown\"");
	if (rig.child > 0)
		(void)rig_wait(&rig, SCENE_MS); /* strace repeats the daemon's end */
	while (s->f.c && follower_read(&s->f, 0))
		rig_pause(1);
	client_free(mem_take(&s->c));
	if (s->f.c)
		follower_release(&s->f);
}

static void scene_release(struct scene *s)
{
	for (size_t i = 0; i < ARRAY_LEN(s->ended); i++)
		free(s->ended[i]);
	events_release(&s->seen);
	turns_release(&s->turns);
}

/*
 * What is left.
 */
static void check_again(
	struct client *c, struct scene *s, const char *id, const char *prompt, int64_t turn)
{
	const struct json *result = rig_ask(c,
		"\"op\":\"submit\",\"bot\":\"ada\",\"request_id\":\"%s\",\"prompt\":\"%s\","
		"\"delivery\":\"queue\"",
		id, prompt);

	(void)s;
	rig_true(result, "submission %s: %s", id, client_remote_code(c));
	rig_true(turn == 0 || (json_is_true(json_get(result, "duplicate")) &&
				      rig_i64(result, "turn") == turn),
		"submission %s was acknowledged as turn %lld and is turn %lld now", id,
		(long long)turn, (long long)rig_i64(result, "turn"));
}

static void check_outcome(struct client *c, struct scene *s, int which, int64_t turn)
{
	_cleanup_(buf) struct buf text = BUF_INIT(65536);
	struct json_out j = JSON_OUT(&text);

	if (!s->ended[which])
		return;
	json_put(&j, NULL,
		rig_call(c, "\"op\":\"result\",\"bot\":\"ada\",\"turn\":%lld", (long long)turn));
	rig_true(strcmp(text.data, s->ended[which]) == 0,
		"turn %lld ended as\n  %s\nand is now\n  %s", (long long)turn, s->ended[which],
		text.data);
}

static bool was_seen(const struct events *e, const char *one, const char *other)
{
	for (int64_t i = 1; i <= e->last; i++) {
		if (e->rows[i].text && strstr(e->rows[i].text, one) &&
			strstr(e->rows[i].text, other))
			return true;
	}
	return false;
}

static const struct call *find_mark(const struct turns *t, int64_t mark)
{
	for (int64_t i = 1; i <= t->last; i++) {
		for (size_t k = 0; k < t->rows[i].call_count; k++) {
			if (t->rows[i].calls[k].mark == mark)
				return &t->rows[i].calls[k];
		}
	}
	return NULL;
}

/* Verdicts: a denied call never started; an allowed one starts with its verdict on record. */
static void check_verdicts(const struct scene *s, bool finished)
{
	const struct call *allowed = find_mark(&s->turns, ALLOWED);

	rig_true(!find_mark(&s->turns, DENIED), "the denied call started");
	rig_true(!allowed || was_seen(&s->seen, "$AGENT_TURN 2", "\"by\":\"tester\""),
		"the allowed call started without its verdict");
	rig_true(!finished || (allowed && allowed->lines == 1 &&
				      was_seen(&s->seen, "\"denied\":true", "\"by\":\"tester\"")),
		"the turn completed without both verdicts");
}

/* Nothing half-written, nothing of ours left in the workspace. */
static void check_workspace(const struct scene *s)
{
	static const char *const usual[] = {".", "..", "ledger", "made.txt"};
	_cleanup_(mem) char *made = xasprintf("%s/made.txt", workspace);
	struct str text = rig_read(&rig, made);
	DIR *dir = opendir(workspace);
	struct dirent *d;

	must(dir);
	while ((d = readdir(dir))) {
		bool known = false;

		for (size_t i = 0; i < ARRAY_LEN(usual); i++)
			known = known || strcmp(d->d_name, usual[i]) == 0;
		rig_true(known, "'%s' was left in the workspace", d->d_name);
	}
	(void)closedir(dir);
	rig_true(text.len == 0 || str_is(text, content), "made.txt holds '" STR_FMT "'",
		STR_ARG(text));
	rig_true(text.len == 0 || was_seen(&s->seen, "\"tool_started\"", "\"name\":\"write\""),
		"made.txt is there and no write has started");
}

/* A turn that was parked for a verdict waits for it in the next daemon too. */
static bool judge_pending(struct client *c)
{
	const struct json *list = json_get(rig_call(c, "\"op\":\"approvals\""), "approvals");
	const struct json *one = list->child;
	struct str why;

	if (!one)
		return false;
	why = json_str(json_get(json_get(one, "escalation"), "justification"));
	(void)rig_ask(c, /* it may be judged by the scene's answer by now */
		"\"op\":\"answer\",\"bot\":\"ada\",\"turn\":%lld,\"call_id\":\"%s\",\"request\":%"
		"lld,"
		"\"by\":\"tester\",\"decision\":\"%s\"",
		(long long)rig_i64(one, "turn"), json_str(json_get(one, "call_id")).p,
		(long long)rig_i64(one, "request"), str_is(why, "to be denied") ? "deny" : "allow");
	return true;
}

static bool is_idle(struct client *c)
{
	const struct json *stats = rig_call(c, "\"op\":\"stats\"");

	return rig_i64(stats, "active_turns") == 0 && rig_i64(stats, "queued_turns") == 0 &&
	       rig_i64(stats, "waiting_turns") == 0;
}

static void judge_all(struct client *c)
{
	int64_t until = rig_now_ms() + SETTLE_MS;

	while (!is_idle(c)) {
		if (!judge_pending(c))
			rig_pause(5);
		rig_true(rig_now_ms() < until, "turns do not end");
	}
}

static void check_store(struct client *c, struct scene *s)
{
	_cleanup_(mem) char *ledger = xasprintf("%s/ledger", workspace);
	int64_t last = s->seen.last, offset = 0;
	struct turn *first;
	struct follower f;

	judge_all(c);
	follower_start(&f, rig_connect(&rig), &s->seen, "*", 0);
	f.event = turns_event;
	f.arg = &s->turns;
	follower_catch_up(&f);
	rig_true(f.cursor >= last, "event %lld was published; the store ends at %lld",
		(long long)last, (long long)f.cursor);
	follower_release(&f);
	turns_read_ledger(&s->turns, ledger, &offset);
	turns_check_ledger(&s->turns, 1);
	first = turns_get(&s->turns, 1);
	check_verdicts(s, first && strcmp(first->status, "completed") == 0);
	rig_true(!s->denied || !first || was_seen(&s->seen, "\"denied\":true", "tool_completed") ||
			 strcmp(first->status, "interrupted") == 0,
		"the denial was acknowledged and the turn went on without it");
	(void)history_check(c, "ada", 0);
}

static void check_ends(const struct scene *s, bool was_killed)
{
	for (int64_t i = 1; i <= s->turns.last; i++) {
		const struct turn *t = &s->turns.rows[i];

		rig_true(strcmp(t->status, "completed") == 0 ||
				 (was_killed && strcmp(t->status, "interrupted") == 0 &&
					 strcmp(t->error, "process_interrupted") == 0),
			"turn %lld ended as %s/%s", (long long)i, t->status, t->error);
	}
}

static void check_after(struct scene *s, bool was_killed)
{
	struct client *c;
	const struct json *record;

	rig_no_survivors(&rig, SURVIVE_MS);
	rig_start(&rig, NULL, NULL);
	c = rig_connect(&rig);
	record = rig_ask(c, "\"op\":\"inspect\",\"bot\":\"ada\"");
	rig_true(record || !s->created, "the bot was made and is gone");
	if (record) {
		check_store(c, s);
		check_workspace(s);
		check_ends(s, was_killed);
		check_outcome(c, s, 0, s->first);
		check_outcome(c, s, 1, s->second);
		/* one that was never acknowledged may run only now: it asks nobody */
		if (s->first > 0)
			check_again(c, s, "r1", "the first", s->first);
		check_again(c, s, "r2", "the second", s->second);
		history_wait_idle(c, SETTLE_MS);
	} else {
		(void)rig_call(c, create, workspace); /* an empty store is one that works */
	}
	client_free(c);
	rig_stop(&rig);
}

/*
 * Points.
 */
struct sort {
	const char *name;
	const char *calls; /* as strace takes them */
	bool loop_only;    /* the first thread alone; not what it starts */
	bool store_only;   /* calls on the store's files */
	bool fresh;        /* the store is made, not found */
};
static const struct sort sorts[] = {
	{"log",   "pwrite64",			    false, true,  false},
	{"sync",  "fdatasync",                           false, true,  false},
	{"start", "pwrite64,fdatasync,ftruncate,unlink", false, true,  true },
	{"say",   "write,writev,sendmsg,clone",          true,  false, false},
};

static void fresh_home(const struct sort *sort)
{
	_cleanup_(mem) char *state = xasprintf("%s/.agent", rig.home);

	if (os_remove_tree(state, NULL) < 0 || os_remove_tree(workspace, NULL) < 0 ||
		mkdir(workspace, 0755) < 0)
		rig_broken("no workspace: %s", strerror(errno));
	(void)unlink(rig.log); /* the log of this playing alone is shown */
	if (sort->fresh)
		return;
	rig_start(&rig, NULL, NULL);
	client_free(rig_connect(&rig));
	rig_stop(&rig);
}

static void start_traced(const struct sort *sort, const char *output, const char *inject)
{
	const char *wrap[24] = {"strace", "-qq", "-o", output};
	size_t n = 4;

	if (!sort->loop_only)
		wrap[n++] = "-f"; /* without --seccomp-bpf, which makes `when` miscount (6.1) */
	wrap[n++] = rig_keep(&rig, "--trace=%s", sort->calls);
	for (int i = 0; sort->store_only && i < 2; i++) {
		wrap[n++] = "-P";
		wrap[n++] = rig_keep(&rig, "%s%s", rig.store, i ? "-wal" : "");
	}
	if (inject)
		wrap[n++] = inject;
	rig_start(&rig, wrap, NULL);
}

/* The calls of each kind that the busiest thread makes, in their order: "pwrite64" …. */
struct trace {
	char *names[POINTS_MAX];
	size_t count;
};

static void trace_release(struct trace *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->names[i]);
	t->count = 0;
}

/* "PID name(args) = value", or without the PID when one thread was traced. */
static bool read_call(struct str line, bool with_pid, struct str *ret_thread, struct str *ret_name)
{
	struct str rest = line, thread = STR("");
	size_t len = 0;

	if (with_pid) {
		if (!str_next(&rest, ' ', &thread) || !rest.p)
			return false;
		rest = str_trim(rest);
	}
	while (len < rest.len && rest.p[len] != '(')
		len++;
	if (len == rest.len || len == 0 || rest.p[0] == '<' || rest.p[0] == '-' || rest.p[0] == '+')
		return false; /* the second half of a call, a signal, an end */
	*ret_thread = thread;
	*ret_name = (struct str){rest.p, len};
	return true;
}

static void take_thread(struct str text, bool with_pid, struct str wanted, struct trace *t)
{
	struct str rest = text, line, thread, name;

	trace_release(t);
	while (str_next(&rest, '\n', &line)) {
		if (!read_call(line, with_pid, &thread, &name) || !str_eq(thread, wanted))
			continue;
		rig_true(t->count < POINTS_MAX, "more than %d calls", POINTS_MAX);
		t->names[t->count++] = xstrndup(name.p, name.len);
	}
}

/* The thread with most calls of the sort: the store's writer, or, while starting, the first. */
static void count_calls(const struct sort *sort, const char *path, struct trace *t)
{
	struct str text = rig_read(&rig, path), rest = text, line, thread, name, best = STR("");
	struct trace one = {.count = 0};
	size_t most = 0;
	bool with_pid = !sort->loop_only;

	while (str_next(&rest, '\n', &line)) {
		if (!read_call(line, with_pid, &thread, &name) ||
			(most > 0 && str_eq(thread, best)))
			continue;
		take_thread(text, with_pid, thread, &one);
		if (one.count > most) {
			most = one.count;
			best = thread;
		}
		if (sort->fresh || sort->loop_only)
			break;
	}
	trace_release(&one);
	rig_true(most > 0, "strace saw no call of %s", sort->calls);
	take_thread(text, with_pid, best, t);
}

/* strace is here and may trace; LeakSanitizer cannot work under it. */
static void look_for_strace(void)
{
	const char *const argv[] = {
		"/bin/sh", "-c", "exec strace -qq -o /dev/null -f true 2>/dev/null", NULL};

	if (rig_run(argv) != 0)
		rig_not_here("strace is missing or may not trace");
}

static void play_counted(const struct sort *sort, struct trace *t)
{
	static const char *const env[] = {"ASAN_OPTIONS=detect_leaks=0", NULL};
	_cleanup_(mem) char *path = xasprintf("%s/trace", rig.home);
	struct scene s = {.dead = false};

	fresh_home(sort);
	rig.env = env;
	start_traced(sort, path, NULL);
	play(&s);
	rig_true(!s.dead && s.ended[0] && s.ended[1], "the scene was not played to its end");
	rig_true(strstr(s.ended[0], "one is done") && strstr(s.ended[1], "two is done"),
		"the scene ended as %s and %s", s.ended[0], s.ended[1]);
	rig.env = NULL;
	check_after(&s, false);
	scene_release(&s);
	count_calls(sort, path, t);
}

/* Whether it died: near the end a later playing may make a call less. */
static bool play_killed(const struct sort *sort, const char *call, size_t nth)
{
	static const char *const env[] = {"ASAN_OPTIONS=detect_leaks=0", NULL};
	_cleanup_(mem) char *inject = xasprintf("--inject=%s:signal=SIGKILL:when=%zu", call, nth);
	struct scene s = {.dead = false};

	fresh_home(sort);
	rig.env = env;
	start_traced(sort, "/dev/null", inject);
	play(&s);
	rig.env = NULL;
	check_after(&s, s.dead);
	scene_release(&s);
	return s.dead;
}

/* Whether call `at` is worth dying at, of a sort that has too many. */
static bool is_point(const struct sort *sort, const struct trace *t, const bool *synced, size_t at)
{
	size_t first = at, last = at;

	if (sort->fresh)
		return strcmp(t->names[at], "pwrite64") != 0 || at % START_STRIDE == 0;
	if (!synced)
		return true;
	while (first > 0 && !synced[first - 1])
		first--;
	while (last + 1 < t->count && !synced[last])
		last++;
	return at == first || at == last || at == first + (last - first) / 2;
}

/* Which writes are the last before a sync: a playing with both calls traced. */
static bool *mark_commits(const struct trace *both, struct trace *t)
{
	bool *synced = xcalloc(both->count + 1, sizeof(*synced));

	t->count = 0;
	for (size_t i = 0; i < both->count; i++) {
		if (strcmp(both->names[i], "fdatasync") != 0)
			t->names[t->count++] = xstrdup(both->names[i]);
		else if (t->count > 0)
			synced[t->count - 1] = true;
	}
	return synced;
}

/* The how-many-th call of its name this is, from 1: that is how strace counts. */
static size_t number_of(const struct trace *t, size_t at)
{
	size_t n = 0;

	for (size_t i = 0; i <= at; i++)
		n += strcmp(t->names[i], t->names[at]) == 0;
	return n;
}

static void sweep(const struct sort *sort)
{
	static struct trace counted, t;
	struct sort count_by = *sort;
	bool *synced = NULL;
	size_t played = 0, died = 0;

	if (strcmp(sort->name, "log") == 0)
		count_by.calls = "pwrite64,fdatasync";
	play_counted(&count_by, &counted);
	if (strcmp(sort->name, "log") == 0)
		synced = mark_commits(&counted, &t);
	else
		t = counted;
	for (size_t at = 0; at < t.count; at++) {
		if (!is_point(sort, &t, synced, at))
			continue;
		died += play_killed(sort, t.names[at], number_of(&t, at));
		played++;
	}
	(void)printf("%s: %zu calls counted, %zu tried, the daemon died at %zu\n", sort->name,
		t.count, played, died);
	rig_true(died * 10 >= played * 8, "the daemon died at %zu of %zu points", died, played);
	if (synced)
		trace_release(&counted);
	trace_release(&t);
	free(synced);
}

int main(int argc, char **argv)
{
	const char *bin = argc > 3 && strcmp(argv[2], "--bin") == 0 ? argv[3] : NULL;
	const struct sort *sort = NULL;

	for (size_t i = 0; argc > 1 && i < ARRAY_LEN(sorts); i++) {
		if (strcmp(argv[1], sorts[i].name) == 0)
			sort = &sorts[i];
	}
	if (!sort) {
		(void)fprintf(stderr, "usage: crash_points log|sync|start|say [--bin DIR]\n");
		return 2;
	}
	rig_init(&rig, bin);
	look_for_strace();
	workspace = rig_keep(&rig, "%s/ws", rig.home);
	rig_write(rig.script, script);
	sweep(sort);
	rig_end(&rig);
	return 0;
}
