/* loop: rounds, deferred calls, posts from threads, blocking work. */
#include "loop/loop.h"

#include <pthread.h>

#include "testing.h"

enum {
	POSTERS = 4,
	POSTS_EACH = 5000,
};

struct trace {
	struct loop *loop;
	char said[64];
	size_t len;
};

static void say(struct trace *t, char c)
{
	if (t->len < sizeof(t->said) - 1)
		t->said[t->len++] = c;
}

static void say_a(void *arg)
{
	say(arg, 'a');
}

static void say_b(void *arg)
{
	say(arg, 'b');
}

static void say_then_defer(void *arg)
{
	struct trace *t = arg;

	say(t, '1');
	loop_defer(t->loop, say_a, t);
	say(t, '2');
}

static void an_empty_loop_ends(void **state)
{
	struct loop *l = loop_new();

	(void)state;
	loop_run(l);
	loop_run(l);
	loop_free(l);
	loop_free(NULL);
}

static void deferred_calls_keep_their_order(void **state)
{
	struct trace t = {.loop = loop_new()};

	(void)state;
	loop_defer(t.loop, say_then_defer, &t);
	loop_defer(t.loop, say_b, &t);
	assert_string_equal(t.said, ""); /* nothing runs inside the call */
	loop_run(t.loop);
	assert_string_equal(t.said, "12ba");
	loop_free(t.loop);
}

static void what_is_deferred_runs_even_when_the_loop_is_only_freed(void **state)
{
	struct trace t = {.loop = loop_new()};

	(void)state;
	loop_defer(t.loop, free, xmalloc(100));
	loop_defer(t.loop, say_then_defer, &t);
	loop_stop(t.loop);
	loop_free(t.loop);
	assert_string_equal(t.said, "12a");
}

struct stopper {
	struct loop *loop;
	struct loop_timer *forever;
	int calls;
};

static void stop_it(void *arg)
{
	struct stopper *s = arg;

	s->calls++;
	loop_stop(s->loop);
}

static void never(void *arg)
{
	(void)arg;
	fail_msg("this must not run");
}

static void a_stop_leaves_what_is_open_and_run_goes_on(void **state)
{
	struct stopper s = {.loop = loop_new()};

	(void)state;
	s.forever = loop_timer_new(s.loop, never, NULL);
	loop_timer_set(s.forever, 3600000);
	for (int i = 1; i <= 3; i++) {
		loop_defer(s.loop, stop_it, &s);
		loop_run(s.loop);
		assert_int_equal(s.calls, i);
	}
	loop_timer_free(s.forever);
	loop_free(s.loop);
}

struct orphan {
	struct loop_exit *exit;
	struct loop_timer *timer;
	int closed;
};

static void close_orphan(void *arg)
{
	struct orphan *o = arg;

	o->closed++;
	loop_timer_free(o->timer);
	loop_exit_free(o->exit); /* inside its own call */
}

static void what_nobody_owns_is_closed_with_the_loop(void **state)
{
	struct loop *l = loop_new();
	struct orphan kept = {.closed = 0}, gone = {.closed = 0};

	(void)state;
	kept.timer = loop_timer_new(l, never, NULL);
	loop_timer_set(kept.timer, 3600000);
	kept.exit = loop_exit_new(l, close_orphan, &kept);
	gone.exit = loop_exit_new(l, close_orphan, &gone);
	loop_exit_free(gone.exit);
	loop_exit_free(NULL);
	loop_free(l);
	assert_int_equal(kept.closed, 1);
	assert_int_equal(gone.closed, 0);
}

/* Posts */

struct poster {
	struct collector *to;
	int number;
};

struct posted {
	struct collector *to;
	int poster, seq;
};

struct collector {
	struct loop *loop;
	int next[POSTERS];
	int out_of_order, left;
	pthread_t loop_thread;
};

static void collect(void *arg)
{
	struct posted *p = arg;
	struct collector *c = p->to;

	must(pthread_equal(pthread_self(), c->loop_thread));
	if (c->next[p->poster]++ != p->seq)
		c->out_of_order++;
	if (--c->left == 0)
		loop_unhold(c->loop);
	free(p);
}

static void *post_many(void *arg)
{
	const struct poster *me = arg;

	for (int i = 0; i < POSTS_EACH; i++) {
		struct posted *p = xcalloc(1, sizeof(*p));

		*p = (struct posted){me->to, me->number, i};
		loop_post(me->to->loop, collect, p);
	}
	return NULL;
}

static void posts_of_four_threads_come_in_each_threads_order(void **state)
{
	struct collector c = {.loop = loop_new(), .left = POSTERS * POSTS_EACH};
	struct poster posters[POSTERS];
	pthread_t threads[POSTERS];

	(void)state;
	c.loop_thread = pthread_self();
	loop_hold(c.loop);
	for (int i = 0; i < POSTERS; i++) {
		posters[i] = (struct poster){&c, i};
		assert_int_equal(pthread_create(&threads[i], NULL, post_many, &posters[i]), 0);
	}
	loop_run(c.loop); /* ends when the last one released its hold */
	for (int i = 0; i < POSTERS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(c.next[i], POSTS_EACH);
	}
	assert_int_equal(c.out_of_order, 0);
	assert_int_equal(c.left, 0);
	loop_free(c.loop);
}

static void a_post_alone_does_not_keep_the_loop(void **state)
{
	struct trace t = {.loop = loop_new()};

	(void)state;
	loop_post(t.loop, say_a, &t);
	loop_hold(t.loop);
	loop_unhold(t.loop);
	loop_run(t.loop); /* returns: nothing is waited for */
	loop_post(t.loop, say_b, &t);
	loop_free(t.loop); /* run or dropped, never leaked, never later */
	loop_free(NULL);
}

/* Work */

struct job {
	struct loop *loop;
	pthread_t ran_on;
	int done;
};

static void work(void *arg)
{
	struct job *j = arg;

	j->ran_on = pthread_self();
}

static void work_done(void *arg)
{
	struct job *j = arg;

	j->done++;
}

static void work_runs_elsewhere_and_is_told_here(void **state)
{
	struct job j = {.loop = loop_new()};

	(void)state;
	loop_work(j.loop, work, work_done, &j);
	assert_int_equal(j.done, 0);
	loop_run(j.loop);
	assert_int_equal(j.done, 1);
	assert_false(pthread_equal(j.ran_on, pthread_self()));
	loop_free(j.loop);
}

static void freeing_waits_for_work_under_way(void **state)
{
	struct job j = {.loop = loop_new()};

	(void)state;
	for (int i = 0; i < 20; i++)
		loop_work(j.loop, work, work_done, &j);
	loop_free(j.loop);
	assert_int_equal(j.done, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_loop_ends),
		cmocka_unit_test(deferred_calls_keep_their_order),
		cmocka_unit_test(what_is_deferred_runs_even_when_the_loop_is_only_freed),
		cmocka_unit_test(a_stop_leaves_what_is_open_and_run_goes_on),
		cmocka_unit_test(what_nobody_owns_is_closed_with_the_loop),
		cmocka_unit_test(posts_of_four_threads_come_in_each_threads_order),
		cmocka_unit_test(a_post_alone_does_not_keep_the_loop),
		cmocka_unit_test(work_runs_elsewhere_and_is_told_here),
		cmocka_unit_test(freeing_waits_for_work_under_way),
	};

	return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
