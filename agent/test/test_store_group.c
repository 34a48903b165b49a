/*
 * Group commit: what shares a commit, what fails alone and what together, what the loop sees and
 * when.
 */
#include <semaphore.h>

#include "test_store.h"

/* A line per thing that happened on the loop. */
struct trace {
	struct bench *b;
	struct buf text;
};

static void trace_published(void *arg, const struct store_event *e)
{
	struct trace *t = arg;

	(void)buf_printf(&t->text, "event %lld\n", (long long)e->id);
}

/* A job of this test: it may wait, record events, fail, or spoil the commit. */
struct job {
	struct trace *t;
	const char *name;
	sem_t *started, *go, *ended; /* posted in run, waited for in run, posted in done */
	int events;
	bool fail, spoil;
	int64_t saw; /* the newest cursor, from inside */
};

/* A row without its parent, which only the COMMIT complains of. */
static int spoil_commit(struct store_tx *tx, struct error *err)
{
	struct db_stmt *s = db_prepare(tx->view.db, "PRAGMA defer_foreign_keys = ON");

	if (db_run(s, err) < 0)
		return -1;
	s = store_stmt(&tx->view, SQL_EVENT_INSERT);
	db_bind_i64(s, 1, 999);
	db_bind_str(s, 3, STR("orphan"));
	db_bind_str(s, 4, STR("{}"));
	return db_run(s, err);
}

static int job_run(struct store_tx *tx, void *arg, struct error *err)
{
	const struct store_place none = {0};
	_cleanup_(buf) struct buf data = BUF_INIT(EVENT_MAX_BYTES);
	struct job *j = arg;

	(void)buf_puts(&data, "{}");
	if (j->started)
		must(sem_post(j->started) == 0);
	if (j->go)
		must(sem_wait(j->go) == 0);
	for (int i = 0; i < j->events; i++) {
		if (store_record(tx, &none, "tick", &data, err) < 0)
			return -1;
	}
	if (store_cursor(store_tx_view(tx), &j->saw, err) < 0)
		return -1;
	if (j->spoil)
		return spoil_commit(tx, err);
	return j->fail ? error_set(err, &ERROR_INVALID, "told to") : 0;
}

static void job_done(void *arg, int rc, const struct error *err)
{
	struct job *j = arg;

	(void)buf_printf(&j->t->text, "%s %s\n", j->name, rc < 0 ? error_code(err) : "ok");
	if (j->ended)
		must(sem_post(j->ended) == 0);
}

static void open_traced(struct trace *t, struct bench *b)
{
	const struct store_options o = {
		.path = b->path,
		.loop = b->loop,
		.clock = &b->clock.clock,
		.published = trace_published,
		.arg = t,
	};
	struct error err = ERROR_INIT;

	*t = (struct trace){.b = b, .text = BUF_INIT(1 << 20)};
	assert_ok(store_open(&o, &b->store, &b->recovery, &err), &err);
}

/* Queues jobs behind one that waits, so that they share a group; then lets go and delivers. */
static void run_together(struct trace *t, struct job *jobs, size_t count)
{
	sem_t started, go;
	struct job first = {.t = t, .name = "first", .started = &started, .go = &go};

	assert_int_equal(sem_init(&started, 0, 0), 0);
	assert_int_equal(sem_init(&go, 0, 0), 0);
	store_write(t->b->store, job_run, job_done, &first);
	assert_int_equal(sem_wait(&started), 0);
	for (size_t i = 0; i < count; i++) {
		jobs[i].t = t;
		store_write(t->b->store, job_run, job_done, &jobs[i]);
	}
	assert_int_equal(sem_post(&go), 0);
	loop_run(t->b->loop);
	assert_int_equal(sem_destroy(&started), 0);
	assert_int_equal(sem_destroy(&go), 0);
}

static void events_come_before_their_done_in_commit_order(void **state)
{
	_cleanup_(bench) struct bench *b = bench_new();
	struct job jobs[] = {
		{.name = "a",  .events = 2},
                {.name = "b" },
                {.name = "c", .events = 1           }
        };
	struct store_counts counts;
	struct trace t;

	(void)state;
	open_traced(&t, b);
	run_together(&t, jobs, ARRAY_LEN(jobs));
	assert_string_equal(t.text.data, "first ok\nevent 1\nevent 2\na ok\nb ok\nevent 3\nc ok\n");
	assert_int_equal(jobs[1].saw, 2); /* sees what its group did before it */
	store_counts(b->store, &counts);
	assert_int_equal(counts.jobs, 4);
	assert_int_equal(counts.groups, 2);
	assert_int_equal(counts.group_sizes[0], 1);
	assert_int_equal(counts.group_sizes[1], 1);
	buf_release(&t.text);
}

static void a_failing_job_rolls_back_alone(void **state)
{
	_cleanup_(bench) struct bench *b = bench_new();
	struct job jobs[] = {
		{.name = "a", .events = 1},
		{.name = "b", .events = 3, .fail = true},
		{.name = "c",           .events = 1           },
	};
	struct trace t;

	(void)state;
	open_traced(&t, b);
	run_together(&t, jobs, ARRAY_LEN(jobs));
	assert_string_equal(
		t.text.data, "first ok\nevent 1\na ok\nb invalid_value\nevent 2\nc ok\n");
	assert_int_equal(jobs[2].saw, 2);
	buf_release(&t.text);
}

static void a_failing_commit_fails_all_and_publishes_nothing(void **state)
{
	_cleanup_(bench) struct bench *b = bench_new();
	struct job jobs[] = {
		{.name = "a", .events = 1},
		{.name = "b", .events = 1, .fail = true},
		{.name = "c",           .spoil = true           },
		{.name = "d",           .events = 1},
	};
	struct job after = {.name = "after", .events = 1};
	struct trace t;

	(void)state;
	open_traced(&t, b);
	run_together(&t, jobs, ARRAY_LEN(jobs));
	assert_string_equal(t.text.data,
		"first ok\na storage_error\nb invalid_value\nc storage_error\nd storage_error\n");
	buf_clear(&t.text);
	run_together(&t, &after, 1);
	assert_string_equal(t.text.data, "first ok\nevent 1\nafter ok\n");
	buf_release(&t.text);
}

static void a_group_holds_at_most_32(void **state)
{
	_cleanup_(bench) struct bench *b = bench_new();
	struct job jobs[70] = {0};
	struct store_counts counts;
	struct trace t;

	(void)state;
	open_traced(&t, b);
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
		jobs[i].name = "j";
	run_together(&t, jobs, ARRAY_LEN(jobs));
	store_counts(b->store, &counts);
	assert_int_equal(counts.jobs, 71);
	assert_int_equal(counts.groups, 4); /* 1, 32, 32, 6 */
	assert_int_equal(counts.group_sizes[5], 2);
	assert_int_equal(counts.group_sizes[2], 1);
	assert_int_equal(counts.queued_jobs, 0);
	assert_true(counts.file_bytes > 0);
	assert_true(counts.wal_bytes > 0);
	buf_release(&t.text);
}

/* Reading */

/* Looks twice, with a wait in between. */
struct peek {
	sem_t between, go;
	int64_t first, second;
};

static int peek_run(struct store_view *v, void *arg, struct error *err)
{
	struct peek *p = arg;

	if (store_cursor(v, &p->first, err) < 0)
		return -1;
	must(sem_post(&p->between) == 0);
	must(sem_wait(&p->go) == 0);
	return store_cursor(v, &p->second, err);
}

static void a_reader_sees_one_state_while_others_commit(void **state)
{
	_cleanup_(bench) struct bench *b = bench_new();
	struct peek peek = {.first = -1, .second = -1};
	struct job writing = {.name = "w", .events = 2, .ended = &peek.go};
	struct trace t;

	(void)state;
	open_traced(&t, b);
	writing.t = &t;
	for (int64_t round = 0; round < 2; round++) {
		assert_int_equal(sem_init(&peek.between, 0, 0), 0);
		assert_int_equal(sem_init(&peek.go, 0, 0), 0);
		store_read(b->store, peek_run, NULL, &peek);
		assert_int_equal(sem_wait(&peek.between), 0);
		/* Its done() lets the reader go on: it commits while the snapshot is held. */
		store_write(b->store, job_run, job_done, &writing);
		loop_run(b->loop);
		assert_int_equal(peek.first, round * 2);
		assert_int_equal(peek.second, round * 2);
	}
	buf_release(&t.text);
}

/*
 * A follower: replays in a writing job everything after its cursor and is live from that job's
 * done(). Whatever others commit meanwhile, it must see every event once, in order (spec 2.4).
 */
struct follower {
	struct bench *b;
	struct arena a;
	int64_t from; /* replays what is after it */
	bool live;
	int64_t *seen;
	size_t count;
	struct store_event *page;
	size_t page_count;
};
enum { FOLLOWERS = 12, WRITERS = 8, WRITES_EACH = 40 };
struct crowd {
	struct bench *b;
	struct follower followers[FOLLOWERS];
	size_t started;
	struct writer {
		struct crowd *crowd;
		int left;
	} writers[WRITERS];
	int64_t published;
};

static void see(struct follower *f, int64_t id)
{
	f->seen = xrealloc(f->seen, f->count + 1, sizeof(*f->seen));
	f->seen[f->count++] = id;
}

static int follow_run(struct store_tx *tx, void *arg, struct error *err)
{
	struct follower *f = arg;
	bool more;

	return store_events(
		store_tx_view(tx), 0, f->from, 100000, &f->a, &f->page, &f->page_count, &more, err);
}

static void follow_done(void *arg, int rc, const struct error *err)
{
	struct follower *f = arg;

	(void)err;
	assert_int_equal(rc, 0);
	for (size_t i = 0; i < f->page_count; i++)
		see(f, f->page[i].id);
	f->live = true;
}

static void crowd_published(void *arg, const struct store_event *e)
{
	struct crowd *c = arg;

	assert_true(e->id > c->published);
	c->published = e->id;
	for (size_t i = 0; i < c->started; i++) {
		if (c->followers[i].live)
			see(&c->followers[i], e->id);
	}
}

static int tick_run(struct store_tx *tx, void *arg, struct error *err)
{
	const struct store_place none = {0};
	_cleanup_(buf) struct buf data = BUF_INIT(EVENT_MAX_BYTES);
	const struct writer *w = arg;

	(void)buf_puts(&data, "{}");
	for (int i = 0; i < w->left % 3; i++) {
		if (store_record(tx, &none, "tick", &data, err) < 0)
			return -1;
	}
	/* Some fail after they recorded: nobody may hear of it. */
	return w->left % 7 == 0 ? error_set(err, &ERROR_INVALID, "told to") : 0;
}

static void tick_done(void *arg, int rc, const struct error *err)
{
	struct writer *w = arg;
	struct crowd *c = w->crowd;

	(void)rc;
	(void)err;
	/* A new follower every so often, from some place in the past. */
	if (w->left % 25 == 3 && c->started < FOLLOWERS) {
		struct follower *f = &c->followers[c->started++];

		f->from = c->published / 2;
		store_write(c->b->store, follow_run, follow_done, f);
	}
	if (--w->left > 0)
		store_write(c->b->store, tick_run, tick_done, w);
}

static void a_follower_misses_nothing_and_sees_nothing_twice(void **state)
{
	_cleanup_(bench) struct bench *b = bench_new();
	struct crowd c = {.b = b};
	const struct store_options o = {
		.path = b->path,
		.loop = b->loop,
		.clock = &b->clock.clock,
		.published = crowd_published,
		.arg = &c,
	};
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(store_open(&o, &b->store, &b->recovery, &err), &err);
	for (int i = 0; i < WRITERS; i++) {
		c.writers[i] = (struct writer){.crowd = &c, .left = WRITES_EACH + i};
		store_write(b->store, tick_run, tick_done, &c.writers[i]);
	}
	loop_run(b->loop);
	assert_true(c.started > 4);
	assert_true(c.published > 100);
	for (size_t i = 0; i < c.started; i++) {
		struct follower *f = &c.followers[i];

		assert_true(f->live);
		assert_int_equal(f->count, c.published - f->from);
		for (size_t k = 0; k < f->count; k++)
			assert_int_equal(f->seen[k], f->from + 1 + (int64_t)k);
		arena_release(&f->a);
		free(f->seen);
	}
}

/* Closing */

static void close_commits_what_is_queued(void **state)
{
	_cleanup_(bench) struct bench *b = bench_new();
	struct job jobs[40] = {0};
	struct trace t;

	(void)state;
	open_traced(&t, b);
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
		jobs[i] = (struct job){.t = &t, .name = "j", .events = 1};
		store_write(b->store, job_run, job_done, &jobs[i]);
	}
	bench_close(b);
	assert_int_equal(t.text.len, 0); /* nothing is called from inside close … */
	loop_run(b->loop);               /* … but by a loop that still runs */
	assert_int_equal(jobs[39].saw, 40);
	assert_non_null(strstr(t.text.data, "event 40\nj ok\n"));
	bench_open(b);
	assert_int_equal(get_events(b, 0, 0, 100).count, 40);
	buf_release(&t.text);
}

static void a_loop_that_ends_drops_the_answers_not_the_work(void **state)
{
	_cleanup_(bench) struct bench *b = bench_new();
	struct job job = {.name = "j", .events = 1};
	struct trace t;

	(void)state;
	open_traced(&t, b);
	job.t = &t;
	store_write(b->store, job_run, job_done, &job);
	bench_close(b);
	loop_free(b->loop);
	b->loop = loop_new();
	bench_open(b);
	assert_int_equal(get_events(b, 0, 0, 100).count, 1);
	assert_int_equal(t.text.len, 0);
	buf_release(&t.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_come_before_their_done_in_commit_order),
		cmocka_unit_test(a_failing_job_rolls_back_alone),
		cmocka_unit_test(a_failing_commit_fails_all_and_publishes_nothing),
		cmocka_unit_test(a_group_holds_at_most_32),
		cmocka_unit_test(a_reader_sees_one_state_while_others_commit),
		cmocka_unit_test(a_follower_misses_nothing_and_sees_nothing_twice),
		cmocka_unit_test(close_commits_what_is_queued),
		cmocka_unit_test(a_loop_that_ends_drops_the_answers_not_the_work),
	};

	return cmocka_run_group_tests_name("store_group", tests, NULL, NULL);
}
