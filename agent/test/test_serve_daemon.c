/*
 * What the daemon says of itself, and artifacts by their references: parts of the daemon on a real
 * store, without its socket.
 */
#include "agent/core/limits.h"
#include "agent/serve/artifact.h"
#include "agent/serve/daemon.h"
#include "agent/serve/ready.h"
#include "suite_config.h"
#include "test_store.h"

enum { LINE_MAX_BYTES = 1024 * 1024 };

/* Only what these parts look at. */
struct rig {
	struct bench *bench;
	struct daemon_options options;
	struct daemon d;
};

static struct rig *rig_new(void)
{
	static const char *const walls[] = {"/srv/wall", NULL};
	struct rig *r = xcalloc(1, sizeof(*r));

	r->bench = bench_start();
	r->options = (struct daemon_options){
		.store = r->bench->path, .walls = walls, .max_processes = 3, .max_active = 5};
	r->d.o = &r->options;
	r->d.loop = r->bench->loop;
	r->d.store = r->bench->store;
	r->d.providers = providers_new(r->d.loop);
	r->d.sandbox = sandbox_new(&(struct sandbox_host){.store = r->bench->path});
	r->d.live = table_new();
	r->d.sched = (struct schedule){.active = 1, .active_max = 5, .processes_max = 3};
	return r;
}

static void rig_free(struct rig *r)
{
	if (!r)
		return;
	table_free(r->d.live);
	sandbox_free(r->d.sandbox);
	providers_free(r->d.providers);
	bench_end(r->bench);
	free(r);
}
MEM_CLEANUP(rig, struct rig *, rig_free)

static const struct json *parse(struct arena *a, struct str text)
{
	const struct json *doc;
	struct error err = ERROR_INIT;

	assert_ok(json_parse(a, text, &doc, &err), &err);
	return doc;
}

static int64_t number(const struct json *doc, const char *name)
{
	int64_t value = INT64_MIN;

	if (json_i64(json_get(doc, name), &value) < 0)
		fail_msg("%s is no number", name);
	return value;
}

static void assert_members(const struct json *doc, const char *const *names, size_t count)
{
	assert_non_null(doc);
	for (size_t i = 0; i < count; i++) {
		if (!json_get(doc, names[i]))
			fail_msg("%s is missing", names[i]);
	}
	assert_int_equal(doc->count, count);
}

static void ready_says_what_it_is_and_has(void **state)
{
	static const char *const names[] = {"event", "protocol", "version", "pid", "store",
		"capabilities", "limits", "schema", "tools", "providers", "durability",
		"partial_text_durable", "sandbox", "walls", "protected_paths", "not_by_default",
		"paused"};
	static const char *const limits[] = {"processes", "active", "pending", "pending_bytes",
		"idle_exit_seconds", "connecting", "stall_timeout_seconds"};
	_cleanup_(rig) struct rig *r = rig_new();
	_cleanup_(buf) struct buf line = BUF_INIT(LINE_MAX_BYTES);
	_cleanup_(arena) struct arena a = {NULL};
	const struct json *doc, *part;

	(void)state;
	ready_put(&r->d, NULL, &line);
	assert_true(str_find(buf_str(&line), STR("\n"), 0) < 0);
	doc = parse(&a, buf_str(&line));
	assert_members(doc, names, ARRAY_LEN(names));
	assert_true(str_is(json_str(json_get(doc, "event")), "ready"));
	assert_int_equal(number(doc, "protocol"), PROTOCOL_VERSION);
	assert_true(str_is(json_str(json_get(doc, "version")), SUITE_VERSION));
	assert_int_equal(number(doc, "pid"), getpid());
	assert_int_equal(json_str(json_get(json_get(doc, "store"), "identity")).len, 32);
	assert_int_equal(json_str(json_get(json_get(doc, "store"), "lineage")).len, 16);
	part = json_get(doc, "limits");
	assert_members(part, limits, ARRAY_LEN(limits));
	assert_int_equal(number(part, "active"), 5);
	assert_int_equal(json_get(part, "pending")->type, JSON_NULL); /* there is none */
	part = json_get(doc, "walls");
	assert_int_equal(part->count, 1);
	assert_true(str_is(json_str(part->child), "/srv/wall"));
	assert_int_equal(json_get(doc, "protected_paths")->count, 0);
	assert_int_equal(json_get(doc, "providers")->count, 0);
}

static void ready_gives_a_reason_where_there_is_no_sandbox(void **state)
{
	_cleanup_(rig) struct rig *r = rig_new();
	_cleanup_(buf) struct buf line = BUF_INIT(LINE_MAX_BYTES);
	_cleanup_(arena) struct arena a = {NULL};
	const struct json *part;
	const bool there = sandbox_available(r->d.sandbox, NULL) == 0;

	(void)state;
	ready_put(&r->d, NULL, &line);
	part = json_get(parse(&a, buf_str(&line)), "sandbox");
	assert_true(json_is_true(json_get(part, "available")) == there);
	assert_int_equal(json_get(part, "detail")->type, there ? JSON_NULL : JSON_STRING);
}

static void stats_count_what_is_there(void **state)
{
	_cleanup_(rig) struct rig *r = rig_new();
	_cleanup_(buf) struct buf b = BUF_INIT(LINE_MAX_BYTES);
	_cleanup_(arena) struct arena a = {NULL};
	struct json_out j = JSON_OUT(&b);
	const struct json *doc, *store;

	(void)state;
	(void)make_bot(r->bench, "one"); /* a job of the store */
	r->d.session_count = 4;
	r->d.draining = true;
	json_open(&j, '{');
	stats_open(&r->d, &j, "result");
	json_put_i64(&j, "queued_turns", 0); /* it is left open for the caller's own */
	json_close(&j, '}');
	json_close(&j, '}');
	doc = json_get(parse(&a, buf_str(&b)), "result");
	assert_int_equal(number(doc, "sessions"), 4);
	assert_int_equal(number(doc, "active_turns"), 1);
	assert_int_equal(number(doc, "active_limit"), 5);
	assert_int_equal(number(doc, "process_limit"), 3);
	assert_int_equal(number(doc, "approval_requests"), 0);
	assert_int_equal(number(doc, "queued_turns"), 0);
	assert_true(json_is_true(json_get(doc, "draining")));
	store = json_get(doc, "store");
	assert_int_equal(number(store, "jobs"), 1);
	assert_int_equal(number(store, "queued_jobs"), 0);
	assert_true(number(store, "file_bytes") + number(store, "wal_bytes") > 0);
	assert_int_equal(json_get(store, "group_sizes")->count, 6);
}

/* An answer to a reference, as it came. */
struct answer {
	char *bytes;
	size_t len;
	struct error err;
	int count;
};

static void take_answer(void *run, const struct tool_text *text, const struct error *err)
{
	struct answer *a = run;
	struct str bytes = text ? text->bytes : (struct str){NULL, 0};

	a->count++;
	a->bytes = bytes.p ? xstrndup(bytes.p, bytes.len) : NULL;
	a->len = bytes.len;
	if (err)
		a->err = *err;
}

static struct answer fetch(struct rig *r, int64_t bot, struct str reference)
{
	struct answer a = {.count = 0};

	artifact_fetch(&r->d, bot, reference, 1, &a, take_answer);
	assert_int_equal(a.count, 0); /* never inside the call */
	loop_run(r->d.loop);
	assert_int_equal(a.count, 1);
	return a;
}

/* A call whose id has a slash, with both streams. Returns the result's node. */
static int64_t run_call(struct rig *r, const struct bot *bot, int64_t turn)
{
	static const char id[] = "call/1";
	const struct store_call call = shell_call(id);
	const struct store_artifact artifacts[] = {
		{STR("stdout"), {"out\0put", 7}},
		{STR("stderr"), STR("")        },
	};
	struct op_result op = {
		.bot = bot->id,
		.turn = turn,
		.r = {.call_id = str_from(id),
                      .item = item_result(
				&r->bench->a, ITEM_CHAT, str_from(id), STR("the result"), NULL, 0),
                      .artifacts = artifacts,
                      .artifact_count = ARRAY_LEN(artifacts)},
	};
	struct error err = ERROR_INIT;

	(void)append(r->bench, bot->id, turn, "look", &call, 1);
	tool_start(r->bench, bot->id, turn, id);
	assert_ok(bench_write(r->bench, op_result, &op, &err), &err);
	return op.node;
}

static void assert_fetched(
	struct rig *r, int64_t bot, const char *reference, const char *bytes, size_t len)
{
	struct answer a = fetch(r, bot, str_from(reference));

	if (!a.bytes || a.len != len || memcmp(a.bytes, bytes, len) != 0)
		fail_msg("%s: %s: %s", reference, error_code(&a.err), a.err.text);
	free(a.bytes);
}

static void assert_none(struct rig *r, int64_t bot, struct str reference)
{
	struct answer a = fetch(r, bot, reference);

	if (a.bytes || !a.err.kind || a.err.kind->class != ERROR_CLASS_NOT_FOUND)
		fail_msg("'" STR_FMT "': %s", STR_ARG(reference),
			a.bytes ? "was found" : error_code(&a.err));
	free(a.bytes);
}

static void an_artifact_is_fetched_by_its_reference(void **state)
{
	_cleanup_(rig) struct rig *r = rig_new();
	const struct bot bot = make_bot(r->bench, "one"), other = make_bot(r->bench, "two");
	const int64_t turn = submit(r->bench, "one", "r1").turn.id;
	const int64_t node = run_call(r, &bot, turn);
	_cleanup_(mem) char *out = xasprintf("%lld/call/1/stdout", (long long)turn);
	_cleanup_(mem) char *errors = xasprintf("%lld/call/1/stderr", (long long)turn);
	_cleanup_(mem) char *result = xasprintf("result/%lld", (long long)node);
	_cleanup_(mem) char *said = xasprintf("result/%lld", (long long)node - 1);

	(void)state;
	assert_fetched(r, bot.id, out, "out\0put", 7);
	assert_fetched(r, bot.id, errors, "", 0);
	assert_fetched(r, bot.id, result, "the result", 10);
	assert_none(r, bot.id, str_from(said));  /* a message is no result */
	assert_none(r, other.id, str_from(out)); /* another bot's */
	assert_none(r, other.id, str_from(result));
}

static void what_is_no_reference_finds_nothing(void **state)
{
	static const struct str rows[] = {
		{"",				   0 },
		{"/",				  1 },
		{"//",				 2 },
		{"stdout",			     6 },
		{"1/stdout",                           8 },
		{"1//stdout",                          9 },
		{"/call/1/stdout",                     14},
		{"1/call/1/",                          9 },
		{"1/call/1/stdin",                     14},
		{"1/call/1/stdout/",                   16},
		{"1/call/1/stdout\0",                  16},
		{"01/call/1/stdout",                   16},
		{"+1/call/1/stdout",                   16},
		{"-1/call/1/stdout",                   16},
		{"2/call/1/stdout",                    15},
		{"18446744073709551617/call/1/stdout", 34},
		{"result",			     6 },
		{"result/",			    7 },
		{"result/0",                           8 },
		{"result/-1",                          9 },
		{"result/99",                          9 },
		{"result/1/2",                         10},
		{"result/call/stdout",                 18},
		{"../../etc/passwd",                   16},
	};
	_cleanup_(rig) struct rig *r = rig_new();
	const struct bot bot = make_bot(r->bench, "one");

	(void)state;
	assert_int_equal(submit(r->bench, "one", "r1").turn.id, 1); /* the rows count on it */
	(void)run_call(r, &bot, 1);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_none(r, bot.id, rows[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ready_says_what_it_is_and_has),
		cmocka_unit_test(ready_gives_a_reason_where_there_is_no_sandbox),
		cmocka_unit_test(stats_count_what_is_there),
		cmocka_unit_test(an_artifact_is_fetched_by_its_reference),
		cmocka_unit_test(what_is_no_reference_finds_nothing),
	};

	return cmocka_run_group_tests_name("agent.serve_daemon", tests, NULL, NULL);
}
