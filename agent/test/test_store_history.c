/*
 * Reading the conversation: pages of the lineage, items; pages of events.
 */
#include "test_store.h"

/* A bot with `turns` turns of `rounds` answers each: 1 + rounds nodes a turn, ids from 1 on. */
static struct bot talked(struct bench *b, int turns, int rounds)
{
	struct bot bot = make_bot(b, "ada");

	for (int i = 0; i < turns; i++) {
		const char *request = arena_printf(&b->a, "r%d", i);
		int64_t turn = submit(b, "ada", request).turn.id;

		for (int r = 0; r < rounds; r++)
			append(b, bot.id, turn, arena_printf(&b->a, "answer %d.%d", i, r), NULL, 0);
		finish(b, bot.id, turn);
	}
	return bot;
}

struct op_history {
	int64_t bot, from, min_node;
	int limit;
	bool oldest_first;
	struct store_node *ret;
	size_t count;
	int64_t next;
};

static int op_history(struct store_view *v, struct bench *b, void *arg, struct error *err)
{
	struct op_history *op = arg;

	return store_history(v, op->bot, op->from, op->min_node, op->limit, op->oldest_first, &b->a,
		&op->ret, &op->count, &op->next, err);
}

static void assert_page(struct bench *b, struct op_history *op, const char *ids, int64_t next)
{
	_cleanup_(buf) struct buf text = BUF_INIT(4096);
	struct error err = ERROR_INIT;

	assert_ok(bench_read(b, op_history, op, &err), &err);
	(void)buf_puts(&text, "");
	for (size_t i = 0; i < op->count; i++)
		(void)buf_printf(&text, "%s%lld", i ? " " : "", (long long)op->ret[i].id);
	assert_string_equal(text.data ? text.data : "", ids);
	assert_int_equal(op->next, next);
}

static void pages_newest_first(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct op_history op = {.bot = talked(b, 3, 2).id, .limit = 4};

	(void)state;
	assert_page(b, &op, "9 8 7 6", 5);
	assert_int_equal(op.ret[0].turn, 3);
	assert_int_equal(op.ret[3].turn, 2);
	assert_null(op.ret[0].item.p);
	op.from = op.next;
	assert_page(b, &op, "5 4 3 2", 1);
	op.from = op.next;
	assert_page(b, &op, "1", 0);
	op.from = 4;
	assert_page(b, &op, "4 3 2 1", 0);
	op.from = 0;
	op.min_node = 7;
	assert_page(b, &op, "9 8 7", 0);
	op.limit = 2;
	assert_page(b, &op, "9 8", 7);
	op.min_node = 10;
	assert_page(b, &op, "", 0);
}

static void pages_oldest_first(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct op_history op = {.bot = talked(b, 3, 2).id, .limit = 4, .oldest_first = true};

	(void)state;
	assert_page(b, &op, "1 2 3 4", 5);
	op.min_node = op.next;
	assert_page(b, &op, "5 6 7 8", 9);
	op.min_node = op.next;
	assert_page(b, &op, "9", 0);
	op.min_node = 6;
	assert_page(b, &op, "6 7 8 9", 0);
	op.limit = 9;
	op.min_node = 0;
	assert_page(b, &op, "1 2 3 4 5 6 7 8 9", 0);
	op.limit = 1;
	assert_page(b, &op, "1", 2);
	op.limit = 5;
	assert_page(b, &op, "1 2 3 4 5", 6);
}

static void an_empty_history_is_no_error(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct op_history op = {.bot = make_bot(b, "ada").id, .limit = 4};
	struct error err = ERROR_INIT;

	(void)state;
	assert_page(b, &op, "", 0);
	op.oldest_first = true;
	assert_page(b, &op, "", 0);
	op.bot = 9;
	assert_fails(bench_read(b, op_history, &op, &err), &err, STORE_BOT_NOT_FOUND);
}

struct op_items {
	int64_t bot;
	const int64_t *nodes;
	size_t count;
	struct store_node *ret;
};

static int op_items(struct store_view *v, struct bench *b, void *arg, struct error *err)
{
	struct op_items *op = arg;

	return store_items(v, op->bot, op->nodes, op->count, &b->a, &op->ret, err);
}

static void reads_items_of_its_own_lineage_only(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	int64_t nodes[] = {3, 1};
	struct bot ada = talked(b, 2, 1), bea = make_bot(b, "bea");
	struct op_items op = {.bot = ada.id, .nodes = nodes, .count = 2};
	struct op_history page = {.bot = ada.id, .from = 5, .limit = 4};
	struct error err = ERROR_INIT;

	(void)state;
	submit(b, "bea", "r1"); /* node 5 */
	assert_ok(bench_read(b, op_items, &op, &err), &err);
	assert_int_equal(op.ret[0].id, 3);
	assert_int_equal(op.ret[0].turn, 2);
	assert_string_equal(
		text_of(b, op.ret[1].item), "{\"role\":\"user\",\"content\":\"please mend it\"}");
	for (int64_t wrong = -1; wrong < 8; wrong++) {
		nodes[0] = wrong;
		if (wrong >= 1 && wrong <= 4)
			continue;
		assert_fails(bench_read(b, op_items, &op, &err), &err, STORE_NODE_NOT_FOUND);
	}
	assert_fails(bench_read(b, op_history, &page, &err), &err, STORE_NODE_NOT_FOUND);
	nodes[0] = nodes[1] = 1;
	op.bot = bea.id;
	assert_fails(bench_read(b, op_items, &op, &err), &err, STORE_NODE_NOT_FOUND);
}

/* A fork is a bot whose head lies in another's history. */
static int op_share(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	const int64_t *ids = arg; /* bot, head */
	struct db_stmt *s = store_stmt(&tx->view, SQL_BOT_SET_HEAD);

	(void)b;
	db_bind_i64(s, 1, ids[0]);
	db_bind_i64(s, 2, ids[1]);
	return db_run(s, err);
}

static void a_shared_prefix_belongs_to_both(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	int64_t nodes[] = {3};
	int64_t bot, share[2];
	struct op_items op = {.nodes = nodes, .count = 1};
	struct op_history page = {.limit = 9};
	struct error err = ERROR_INIT;

	(void)state;
	talked(b, 3, 1);
	bot = make_bot(b, "fork").id;
	share[0] = op.bot = page.bot = bot;
	share[1] = 4;
	assert_ok(bench_write(b, op_share, share, &err), &err);
	submit(b, "fork", "r1"); /* node 7 on top of 4 */
	assert_page(b, &page, "7 4 3 2 1", 0);
	assert_ok(bench_read(b, op_items, &op, &err), &err);
	nodes[0] = 5; /* came after the fork */
	assert_fails(bench_read(b, op_items, &op, &err), &err, STORE_NODE_NOT_FOUND);
}

static void stops_reading_items_at_a_page(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot bot = make_bot(b, "ada");
	int64_t turn = submit(b, "ada", "r1").turn.id;
	int64_t nodes[] = {2, 3, 4, 1};
	struct op_items op = {.bot = bot.id, .nodes = nodes, .count = 4};
	struct error err = ERROR_INIT;
	char *text = arena_alloc(&b->a, 300 * 1024 + 1);

	(void)state;
	memset(text, 'x', 300 * 1024);
	for (int i = 0; i < 3; i++)
		append(b, bot.id, turn, text, NULL, 0);
	assert_ok(bench_read(b, op_items, &op, &err), &err);
	assert_non_null(op.ret[0].item.p);
	assert_non_null(op.ret[1].item.p);
	assert_null(op.ret[2].item.p);
	assert_null(op.ret[3].item.p);
	assert_int_equal(op.ret[3].id, 1);
}

/* Events */

static void pages_events_without_gap_or_repeat(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot ada = talked(b, 3, 2), bea = make_bot(b, "bea");
	size_t total = b->event_count;
	int64_t after = 0;
	size_t seen = 0;

	(void)state;
	for (;;) {
		struct op_events page = get_events(b, 0, after, 4);

		for (size_t i = 0; i < page.count; i++, seen++) {
			const struct seen *was = &b->events[seen];

			assert_int_equal(page.ret[i].id, was->id);
			assert_int_equal(page.ret[i].bot, was->bot);
			assert_int_equal(page.ret[i].turn, was->turn);
			assert_true(str_is(page.ret[i].bot_name, was->bot_name));
			assert_true(str_is(page.ret[i].kind, was->kind));
			assert_true(str_is(page.ret[i].data, was->data));
			after = page.ret[i].id;
		}
		if (!page.more)
			break;
		assert_int_equal(page.count, 4);
	}
	assert_int_equal(seen, total);
	assert_int_equal(get_events(b, bea.id, 0, 256).count, 1);
	assert_int_equal(get_events(b, ada.id, 0, 256).count, total - 1);
	assert_false(get_events(b, ada.id, 0, (int)total - 1).more);
	assert_true(get_events(b, ada.id, 0, (int)total - 2).more);
	assert_int_equal(get_events(b, 77, 0, 5).count, 0);
}

struct op_note {
	int64_t bot, turn;
	struct str data;
};

static int op_note(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	const struct op_note *op = arg;
	const struct store_place at = {.bot = op->bot, .turn = 0, .bot_name = STR("ada")};
	_cleanup_(buf) struct buf data = BUF_INIT(EVENT_MAX_BYTES);

	(void)b;
	(void)buf_put_str(&data, op->data);
	return store_record(tx, &at, "note", &data, err);
}

static void ends_a_page_of_events_at_its_bytes(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot bot = make_bot(b, "ada");
	size_t size = 300 * 1024;
	char *text = arena_alloc(&b->a, EVENT_MAX_BYTES + 2);
	struct op_note op = {
		.bot = bot.id, .data = {text, size}
        };
	struct op_events page;
	struct error err = ERROR_INIT;

	(void)state;
	memset(text, ' ', EVENT_MAX_BYTES + 1);
	for (int i = 0; i < 3; i++)
		assert_ok(bench_write(b, op_note, &op, &err), &err);
	page = get_events(b, bot.id, 1, 256);
	assert_int_equal(page.count, 1);
	assert_true(page.more);
	page = get_events(b, bot.id, 2, 256);
	assert_int_equal(page.count, 1);
	page = get_events(b, bot.id, 3, 256);
	assert_int_equal(page.count, 1);
	assert_false(page.more);
	op.data.len = EVENT_MAX_BYTES;
	assert_ok(bench_write(b, op_note, &op, &err), &err);
	page = get_events(b, bot.id, 4, 256);
	assert_int_equal(page.count, 1);
	assert_int_equal(page.ret[0].data.len, EVENT_MAX_BYTES);
	op.data.len++;
	assert_fails(bench_write(b, op_note, &op, &err), &err, STORE_EVENT_TOO_LARGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_newest_first),
		cmocka_unit_test(pages_oldest_first),
		cmocka_unit_test(an_empty_history_is_no_error),
		cmocka_unit_test(reads_items_of_its_own_lineage_only),
		cmocka_unit_test(a_shared_prefix_belongs_to_both),
		cmocka_unit_test(stops_reading_items_at_a_page),
		cmocka_unit_test(pages_events_without_gap_or_repeat),
		cmocka_unit_test(ends_a_page_of_events_at_its_bytes),
	};

	return cmocka_run_group_tests_name("store_history", tests, NULL, NULL);
}
