/*
 * What goes into a model call: long conversations, step by step as a turn takes them, and what must
 * hold of every two calls in a row.
 */
#include "test_store.h"

#include "agent/core/stub.h"
#include "agent/io/store_context.h"

struct op_window {
	struct store_ask ask;
	struct store_window ret;
};

static int op_window(struct store_view *v, struct bench *b, void *arg, struct error *err)
{
	struct op_window *op = arg;

	return store_window(v, &op->ask, &b->a, &op->ret, err);
}

struct op_set {
	int64_t turn;
	const struct store_window *w;
};

static int op_set(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	const struct op_set *op = arg;

	(void)b;
	return store_window_set(tx, op->turn, op->w, err);
}

static int op_compact(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	(void)b;
	return store_compact(tx, arg, err);
}

/* What was done on the way to a window that fits. */
struct doings {
	int begins, elisions, summaries;
};

static void summarise(struct bench *b, int64_t turn, const struct store_window *w, int number)
{
	struct store_compaction c = {
		.bot = w->now.id,
		.turn = turn,
		.usage = {.input_tokens = 30, .output_tokens = 3, .sent_ms = START_MS},
		.has_usage = true,
		.model = STR("drill/one"),
		.text = str_from(arena_printf(&b->a, "summary %d", number)),
		.coverage = w->coverage,
		.context_before = w->bytes,
	};
	struct error err = ERROR_INIT;

	assert_ok(bench_write(b, op_compact, &c, &err), &err);
}

/* As a turn does it: until the model could be asked. -1 with the error. */
static int settle(struct bench *b, int64_t bot, int64_t turn, bool compact,
	struct store_window *ret, struct doings *ret_did, struct error *err)
{
	for (int steps = 0; steps < 10; steps++) {
		struct op_window op = {
			.ask = {.bot = bot, .compact_from_bytes = compact ? 0 : INT64_MAX}
                };

		if (bench_read(b, op_window, &op, err) < 0)
			return -1;
		*ret = op.ret;
		if (op.ret.need == STORE_FITS)
			return 0;
		if (op.ret.need == STORE_COMPACT) {
			summarise(b, turn, &op.ret, ++ret_did->summaries);
			continue;
		}
		ret_did->begins += op.ret.need == STORE_BEGIN;
		ret_did->elisions += op.ret.need == STORE_ELIDE;
		assert_ok(bench_write(b, op_set, &(struct op_set){turn, &op.ret}, err), err);
	}
	fail_msg("the context does not settle");
	return -1;
}

static struct store_window window_of(struct bench *b, int64_t bot, int64_t turn)
{
	struct store_window w;
	struct doings did = {0};
	struct error err = ERROR_INIT;

	assert_ok(settle(b, bot, turn, false, &w, &did, &err), &err);
	return w;
}

static struct bot bot_of(struct bench *b, const char *name, int64_t bytes, int64_t items)
{
	struct store_create c = plain_bot(name);

	bot_limits_init(&c.set.limits);
	c.set.limits.context_bytes = bytes;
	c.set.limits.context_items = items;
	c.set.compaction_instructions = STR("Summarise.");
	return make_bot_of(b, &c);
}

static int64_t begin(struct bench *b, const char *bot, int number, const char *prompt)
{
	struct store_submit s = plain_submit(bot, arena_printf(&b->a, "r%d", number));
	struct store_submitted ret;
	struct error err = ERROR_INIT;

	s.prompt = str_from(prompt);
	assert_ok(try_submit(b, &s, &ret, &err), &err);
	return ret.turn.id;
}

static void round_of(
	struct bench *b, int64_t bot, int64_t turn, const char *call_id, const char *output)
{
	struct store_call call = shell_call(call_id);

	append(b, bot, turn, "look", &call, 1);
	tool_start(b, bot, turn, call_id);
	tool_finish(b, bot, turn, call_id, output);
}

static char *text(struct bench *b, size_t len, unsigned seed)
{
	char *s = arena_alloc(&b->a, len + 1);

	for (size_t i = 0; i < len; i++)
		s[i] = (char)('a' + (seed + i * 7 + i / 50) % 26);
	return s;
}

static void all_goes_while_it_fits(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot bot = bot_of(b, "ada", 1 << 20, 100);
	int64_t turn = 0;
	struct store_window w;

	(void)state;
	for (int i = 0; i < 5; i++) {
		turn = begin(b, "ada", i, "go on");
		append(b, bot.id, turn, "done", NULL, 0);
		w = window_of(b, bot.id, turn);
		finish(b, bot.id, turn);
	}
	assert_int_equal(w.item_count, 10);
	assert_null(w.omitted.p);
	assert_null(w.summary.p);
	assert_int_equal(get_bot(b, bot.id).context_start, 0);
}

/* The window moves by whole turns and says what is gone. */
static void what_is_left_out_is_told(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot bot = bot_of(b, "ada", 4000, 4096);
	int64_t turn = 0;
	struct store_window w;

	(void)state;
	for (int i = 0; i < 30; i++) {
		turn = begin(b, "ada", i,
			arena_printf(&b->a, "number %d\nand more of it that is not shown", i));
		append(b, bot.id, turn, text(b, 150, (unsigned)i), NULL, 0);
		w = window_of(b, bot.id, turn);
		finish(b, bot.id, turn);
	}
	assert_true(w.bytes <= 4000);
	assert_int_equal(w.item_count % 2, 0);
	assert_true(str_starts(w.omitted, STR("[")));
	assert_true(str_find(w.omitted,
			    str_from(arena_printf(&b->a, "\nturn %lld: number %lld",
				    30 - (long long)w.item_count / 2,
				    29 - (long long)w.item_count / 2)),
			    0) > 0);
	assert_true(str_find(w.omitted, STR("and more"), 0) < 0);
	assert_true(str_starts(w.omitted,
		str_from(arena_printf(&b->a, "[%lld earlier turns of this conversation are not",
			30 - (long long)w.item_count / 2))));
}

/* Whatever the budget: whole turns within both bounds, the newest among them, or an error. */
static void any_budget_gives_whole_turns(void **state)
{
	static const int64_t budgets[] = {1024, 1500, 2000, 2500, 3000, 4000, 6000, 100000};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(budgets); i++) {
		for (int64_t items = 2; items < 20; items += 5) {
			_cleanup_(bench) struct bench *b = bench_start();
			struct bot bot = bot_of(b, "ada", budgets[i], items);
			struct error err = ERROR_INIT;
			struct doings did = {0};
			struct store_window w;
			int64_t turn = 0;
			int rc = 0;

			for (int k = 0; k < 6; k++) {
				turn = begin(b, "ada", k, "go on");
				append(b, bot.id, turn, text(b, 400, 1), NULL, 0);
				append(b, bot.id, turn, text(b, 400, 2), NULL, 0);
				rc = settle(b, bot.id, turn, false, &w, &did, &err);
				finish(b, bot.id, turn);
			}
			if (rc < 0) {
				assert_ptr_equal(err.kind, &STORE_CONTEXT_LIMIT);
				assert_true(budgets[i] < 1500 || items < 3);
				continue;
			}
			assert_true(w.bytes <= budgets[i]);
			assert_true((int64_t)w.item_count <= items);
			assert_int_equal(w.item_count % 3, 0);
		}
	}
}

/*
 * What must hold of every call.
 */
struct view {
	char **items;
	size_t count;
	char *before; /* summary, note and what was left out */
};

static struct view keep_view(struct bench *b, const struct store_window *w)
{
	struct view v = {.items = arena_alloc(&b->a, (w->item_count + 1) * sizeof(char *)),
		.count = w->item_count};

	for (size_t i = 0; i < w->item_count; i++)
		v.items[i] = arena_strndup(&b->a, w->items[i].p, w->items[i].len);
	v.before = arena_printf(&b->a, STR_FMT "|" STR_FMT "|" STR_FMT, STR_ARG(w->summary),
		STR_ARG(w->note), STR_ARG(w->omitted));
	return v;
}

static void assert_begins_alike(const struct view *was, const struct view *is)
{
	assert_string_equal(was->before, is->before);
	assert_true(is->count >= was->count);
	for (size_t i = 0; i < was->count; i++)
		assert_string_equal(was->items[i], is->items[i]);
}

/* It begins with a prompt; every result stands after its call, every call has its result. */
static void assert_whole_exchanges(struct bench *b, const struct store_window *w)
{
	const char *open = NULL;

	for (size_t i = 0; i < w->item_count; i++) {
		struct error err = ERROR_INIT;
		struct item it;

		assert_ok(item_read(&b->a, w->items[i], &it, &err), &err);
		if (i == 0)
			assert_int_equal(it.role, ITEM_USER);
		if (it.role == ITEM_RESULT) {
			assert_non_null(open);
			assert_true(str_is(it.call_id, open));
			open = NULL;
			continue;
		}
		assert_null(open);
		if (it.call_count > 0)
			open = text_of(b, it.calls[0].call_id);
	}
	assert_null(open);
}

struct op_stored {
	const struct view *said;
};

/* Stubs are what the stored results give, and the stored results are what was said. */
static int op_stored(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	const struct op_stored *op = arg;
	struct db_stmt *s = db_prepare(tx->view.db,
		"SELECT n.id, n.item, s.item, s.bytes FROM nodes n"
		" LEFT JOIN stubs s ON s.node = n.id ORDER BY n.id");
	size_t at = 0;
	int rc;

	while ((rc = db_step(s, err)) == 1) {
		struct str item = db_col_str(s, 1), stub = db_col_str(s, 2), made;

		assert_true(at < op->said->count);
		assert_true(str_is(item, op->said->items[at++]));
		if (!stub.p)
			continue;
		assert_true(stub_make(&b->a, item, db_col_i64(s, 0), &made));
		assert_true(str_eq(made, stub));
		assert_int_equal(db_col_i64(s, 3), stub.len);
	}
	assert_int_equal(at, op->said->count);
	return rc;
}

struct talk {
	struct bench *b;
	struct bot bot;
	struct view said; /* all items as they were committed */
	struct view last;
	struct doings did;
	int calls;
	bool compact;
	uint32_t seed;
	int64_t turn;
};

static uint32_t draw(struct talk *t, uint32_t below)
{
	t->seed = t->seed * 1664525 + 1013904223;
	return (t->seed >> 8) % below;
}

static void said(struct talk *t, struct str item)
{
	t->said.items = xrealloc(t->said.items, t->said.count + 1, sizeof(*t->said.items));
	t->said.items[t->said.count++] = arena_strndup(&t->b->a, item.p, item.len);
}

/* Before a model call. */
static void look(struct talk *t)
{
	struct doings before = t->did;
	struct error err = ERROR_INIT;
	struct store_window w;
	struct view v;
	bool moved;

	t->calls++;
	assert_ok(settle(t->b, t->bot.id, t->turn, t->compact, &w, &t->did, &err), &err);
	v = keep_view(t->b, &w);
	moved = memcmp(&before, &t->did, sizeof(before)) != 0;
	if (!moved)
		assert_begins_alike(&t->last, &v);
	assert_whole_exchanges(t->b, &w);
	assert_true(w.bytes <= t->bot.set.limits.context_bytes);
	assert_true((int64_t)w.item_count <= t->bot.set.limits.context_items);
	t->last = v;
}

static void talk_turn(struct talk *t, int number)
{
	struct bench *b = t->b;
	const char *prompt = text(b, 20 + draw(t, 200), draw(t, 26));
	int rounds = (int)draw(t, 12);

	t->turn = begin(b, "ada", number, prompt);
	said(t, item_user(&b->a, ITEM_CHAT, str_from(prompt), NULL, 0));
	for (int r = 0; r < rounds; r++) {
		struct store_call call = shell_call(arena_printf(&b->a, "c%d-%d", number, r));
		struct item_call made = {call.call_id, call.name, call.arguments};
		const char *output = text(b, draw(t, 3) ? draw(t, 300) : 2000 + draw(t, 3000), 3);

		look(t);
		append(b, t->bot.id, t->turn, "look", &call, 1);
		said(t, item_assistant(&b->a, STR("look"), &made, 1));
		tool_start(b, t->bot.id, t->turn, call.call_id.p);
		tool_finish(b, t->bot.id, t->turn, call.call_id.p, output);
		said(t, item_result(&b->a, ITEM_CHAT, call.call_id, str_from(output), NULL, 0));
	}
	look(t);
	append(b, t->bot.id, t->turn, "done", NULL, 0);
	said(t, item_assistant(&b->a, STR("done"), NULL, 0));
	finish(b, t->bot.id, t->turn);
}

static void talk_long(struct talk *t, int turns)
{
	struct error err = ERROR_INIT;

	t->bot = bot_of(t->b, "ada", 40000, 200);
	t->last.before = "||";
	for (int i = 0; i < turns; i++)
		talk_turn(t, i);
	assert_ok(bench_write(t->b, op_stored, &(struct op_stored){&t->said}, &err), &err);
	free(t->said.items);
}

static void calls_in_a_row_begin_alike(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct talk t = {.b = b, .seed = 7};

	(void)state;
	talk_long(&t, 30);
	assert_true(t.did.begins > 0);
	assert_true(t.did.elisions > 0);
	/* it moves rarely: most calls begin as the one before did */
	assert_true((t.did.begins + t.did.elisions) * 5 < t.calls);
}

static void summaries_divide_no_exchange(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct talk t = {.b = b, .seed = 11, .compact = true};

	(void)state;
	talk_long(&t, 30);
	assert_true(t.did.summaries > 2);
	assert_true(strstr(t.last.before, "summary") != NULL);
}

/* A turn that outgrows the budget by itself goes on by its own summary, with its prompt. */
static void a_long_turn_is_divided_but_not_its_prompt(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot bot = bot_of(b, "ada", 8000, 4096);
	int64_t turn = begin(b, "ada", 0, "the task");
	struct doings did = {0};
	struct error err = ERROR_INIT;
	struct store_window w;

	(void)state;
	for (int i = 0; i < 40; i++) {
		round_of(b, bot.id, turn, arena_printf(&b->a, "c%d", i), text(b, 700, 5));
		assert_ok(settle(b, bot.id, turn, true, &w, &did, &err), &err);
		assert_true(w.bytes <= 8000);
		assert_true(str_find(w.items[0], STR("the task"), 0) > 0);
		assert_whole_exchanges(b, &w);
	}
	assert_true(did.summaries > 3);
	assert_null(w.omitted.p ? (w.omitted.len ? w.omitted.p : NULL) : NULL);
	/* without a summary such a turn ends */
	bot = bot_of(b, "bea", 8000, 4096);
	turn = begin(b, "bea", 1, "the task");
	for (int i = 0; i < 40; i++)
		round_of(b, bot.id, turn, arena_printf(&b->a, "c%d", i), text(b, 700, 5));
	assert_fails(settle(b, bot.id, turn, false, &w, &did, &err), &err, STORE_CONTEXT_LIMIT);
}

/* Results that no reply has followed go whole, however large. */
static void what_was_not_read_yet_goes_whole(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot bot = bot_of(b, "ada", 20000, 4096);
	int64_t turn = begin(b, "ada", 0, "look");
	struct store_window w;

	(void)state;
	round_of(b, bot.id, turn, "c1", text(b, 8000, 1));
	round_of(b, bot.id, turn, "c2", text(b, 9000, 2));
	w = window_of(b, bot.id, turn);
	assert_int_equal(w.item_count, 5);
	assert_true(w.items[2].len < 1000);
	assert_true(str_find(w.items[2], STR("result/3"), 0) > 0);
	assert_true(w.items[4].len > 9000);
	assert_non_null(strstr(last_seen(b, "elided")->data, "\"results\":1"));
}

static void without_read_nothing_goes_as_a_stub(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct str tools[] = {STR("shell")};
	struct store_create c = plain_bot("ada");
	struct store_window w;
	struct bot bot;
	int64_t turn;

	(void)state;
	bot_limits_init(&c.set.limits);
	c.set.limits.context_bytes = 20000;
	c.set.tools = (struct str_list){tools, 1};
	bot = make_bot_of(b, &c);
	turn = begin(b, "ada", 0, "look");
	round_of(b, bot.id, turn, "c1", text(b, 8000, 1));
	round_of(b, bot.id, turn, "c2", text(b, 9000, 2));
	w = window_of(b, bot.id, turn);
	assert_true(w.items[2].len > 8000);
}

/* The note */

static void pin(struct bench *b, int64_t bot, int64_t turn, const char *call_id, const char *note)
{
	struct store_call call = shell_call(call_id);
	struct op_result op = {
		.bot = bot,
		.turn = turn,
		.r = {.call_id = str_from(call_id),
                      .item = item_result(
				&b->a, ITEM_CHAT, str_from(call_id), STR("noted"), NULL, 0),
                      .pin = str_from(note)},
	};
	struct error err = ERROR_INIT;

	append(b, bot, turn, "note", &call, 1);
	tool_start(b, bot, turn, call_id);
	assert_ok(bench_write(b, op_result, &op, &err), &err);
}

struct op_fork {
	struct bot source;
	int64_t point, fork;
};

static int op_fork(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	const struct op_fork *op = arg;
	struct db_stmt *s = db_prepare(tx->view.db, "UPDATE bots SET head = ?2 WHERE id = ?1");

	(void)b;
	db_bind_i64(s, 1, op->fork);
	db_bind_i64(s, 2, op->point);
	if (db_run(s, err) < 0)
		return -1;
	return store_views_fork(tx, &op->source, op->point, op->fork, err);
}

static void fork_at(struct bench *b, int64_t source, int64_t point, int64_t fork)
{
	struct op_fork op = {.source = get_bot(b, source), .point = point, .fork = fork};
	struct error err = ERROR_INIT;

	assert_ok(bench_write(b, op_fork, &op, &err), &err);
}

static struct store_window read_window(struct bench *b, int64_t bot)
{
	struct op_window op = {
		.ask = {.bot = bot, .compact_from_bytes = INT64_MAX}
        };
	struct error err = ERROR_INIT;

	assert_ok(bench_read(b, op_window, &op, &err), &err);
	return op.ret;
}

static void a_fork_takes_the_versions_of_its_point(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot ada = bot_of(b, "ada", 100000, 4096), bea = bot_of(b, "bea", 100000, 4096);
	int64_t turn = begin(b, "ada", 0, "one"), first, second;

	(void)state;
	pin(b, ada.id, turn, "c1", "first note");
	first = get_bot(b, ada.id).head;
	pin(b, ada.id, turn, "c2", "second note");
	second = get_bot(b, ada.id).head;
	finish(b, ada.id, turn);
	assert_true(str_is(read_window(b, ada.id).note, "second note"));
	fork_at(b, ada.id, second, bea.id);
	assert_true(str_is(read_window(b, bea.id).note, "second note"));
	fork_at(b, ada.id, first, bea.id);
	assert_true(str_is(read_window(b, bea.id).note, "first note"));
	fork_at(b, ada.id, 1, bea.id);
	assert_null(read_window(b, bea.id).note.p);
}

/* One from before a summary sees what the summary stands for. */
static void a_fork_from_before_a_summary_has_it_not(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot ada = bot_of(b, "ada", 8000, 4096), bea = bot_of(b, "bea", 100000, 4096);
	int64_t turn = begin(b, "ada", 0, "the task"), early;
	struct doings did = {0};
	struct error err = ERROR_INIT;
	struct store_window w;

	(void)state;
	round_of(b, ada.id, turn, "c0", "early");
	early = get_bot(b, ada.id).head;
	for (int i = 1; i < 12; i++) {
		round_of(b, ada.id, turn, arena_printf(&b->a, "c%d", i), text(b, 700, 5));
		assert_ok(settle(b, ada.id, turn, true, &w, &did, &err), &err);
	}
	assert_true(did.summaries > 0);
	fork_at(b, ada.id, get_bot(b, ada.id).head, bea.id);
	w = read_window(b, bea.id);
	assert_true(str_is(w.summary, arena_printf(&b->a, "summary %d", did.summaries)));
	fork_at(b, ada.id, early, bea.id);
	w = read_window(b, bea.id);
	assert_null(w.summary.p);
	assert_int_equal(w.item_count, 3);
}

/* A summary's cost is recorded whatever becomes of it. */
static void a_failed_summary_is_billed_and_changes_nothing(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot bot = bot_of(b, "ada", 8000, 4096);
	int64_t turn = begin(b, "ada", 0, "the task");
	struct store_compaction c = {
		.bot = bot.id,
		.turn = turn,
		.usage = {.input_tokens = 30, .output_tokens = 3},
		.has_usage = true,
	};
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(bench_write(b, op_compact, &c, &err), &err);
	bot = get_bot(b, bot.id);
	assert_int_equal(bot.compaction, 0);
	assert_int_equal(bot.tokens_used, 33);
	assert_int_equal(get_turn(b, bot.id, turn).input_tokens, 30);
	assert_int_equal(get_turn(b, bot.id, turn).rounds, 0);
	assert_non_null(strstr(last_seen(b, "usage")->data, "\"purpose\":\"compaction\""));
	finish(b, bot.id, turn);
	assert_fails(bench_write(b, op_compact, &c, &err), &err, STORE_STALE_TURN);
}

struct op_items {
	int64_t bot, turn;
	struct store_turn_items ret;
};

static int op_items(struct store_view *v, struct bench *b, void *arg, struct error *err)
{
	struct op_items *op = arg;

	return store_turn_items(v, op->bot, op->turn, &b->a, &op->ret, err);
}

static void a_turn_of_the_history_is_read_whole(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot bot = bot_of(b, "ada", 40000, 4096), other = bot_of(b, "bea", 40000, 4096);
	int64_t first = begin(b, "ada", 0, "one"), second, mid;
	struct op_items op = {.bot = bot.id, .turn = first};
	struct error err = ERROR_INIT;

	(void)state;
	round_of(b, bot.id, first, "c1", "seen");
	mid = get_bot(b, bot.id).head;
	append(b, bot.id, first, "done", NULL, 0);
	finish(b, bot.id, first);
	second = begin(b, "ada", 1, "two");
	assert_ok(bench_read(b, op_items, &op, &err), &err);
	assert_int_equal(op.ret.count, 4);
	assert_true(op.ret.room_bytes > 29000 && op.ret.room_bytes < 30000);
	op.turn = second;
	assert_ok(bench_read(b, op_items, &op, &err), &err);
	assert_int_equal(op.ret.count, 1);
	op.turn = 99;
	assert_fails(bench_read(b, op_items, &op, &err), &err, STORE_TURN_NOT_IN_HISTORY);
	op = (struct op_items){.bot = other.id, .turn = first};
	assert_fails(bench_read(b, op_items, &op, &err), &err, STORE_TURN_NOT_IN_HISTORY);
	/* a fork from the middle of the turn has its first part */
	fork_at(b, bot.id, mid, other.id);
	assert_ok(bench_read(b, op_items, &op, &err), &err);
	assert_int_equal(op.ret.count, 3);
}

/* A script is shown all, whatever a model would be. */
static void the_whole_conversation_is_there_for_a_script(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot bot = bot_of(b, "ada", 8000, 4096);
	int64_t turn = begin(b, "ada", 0, "the task");
	struct op_window op = {
		.ask = {.bot = bot.id, .whole = true, .compact_from_bytes = 0}
        };
	struct doings did = {0};
	struct error err = ERROR_INIT;
	struct store_window w;

	(void)state;
	assert_ok(bench_read(b, op_window, &op, &err), &err);
	assert_int_equal(op.ret.whole_count, 0); /* the items are it */
	for (int i = 0; i < 12; i++) {
		round_of(b, bot.id, turn, arena_printf(&b->a, "c%d", i), text(b, 1700, 5));
		assert_ok(settle(b, bot.id, turn, true, &w, &did, &err), &err);
	}
	assert_ok(bench_read(b, op_window, &op, &err), &err);
	assert_int_equal(op.ret.whole_count, 25);
	assert_true(op.ret.item_count < 25);
	assert_true(op.ret.whole[2].len > 1700);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_goes_while_it_fits),
		cmocka_unit_test(what_is_left_out_is_told),
		cmocka_unit_test(any_budget_gives_whole_turns),
		cmocka_unit_test(calls_in_a_row_begin_alike),
		cmocka_unit_test(summaries_divide_no_exchange),
		cmocka_unit_test(a_long_turn_is_divided_but_not_its_prompt),
		cmocka_unit_test(what_was_not_read_yet_goes_whole),
		cmocka_unit_test(without_read_nothing_goes_as_a_stub),
		cmocka_unit_test(a_fork_takes_the_versions_of_its_point),
		cmocka_unit_test(a_fork_from_before_a_summary_has_it_not),
		cmocka_unit_test(a_failed_summary_is_billed_and_changes_nothing),
		cmocka_unit_test(a_turn_of_the_history_is_read_whole),
		cmocka_unit_test(the_whole_conversation_is_there_for_a_script),
	};

	return cmocka_run_group_tests_name("store_context", tests, NULL, NULL);
}
