/*
 * The set while it changes: what filters know, and that it can be read meanwhile.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "redact_testing.h"

MEM_CLEANUP(one, struct secret *, secret_free)

static void values_come_and_go(void **state)
{
	_cleanup_(set) struct secret_set *set = secret_set_new();
	_cleanup_(one) struct secret *first = secret_new(STR("token"), STR(" amber-heron "));
	_cleanup_(one) struct secret *second = secret_new(STR("token"), STR("ochre-tapir"));

	(void)state;
	secret_set_add_secret(set, first);
	becomes(set, "amber-heron ochre-tapir", "[REDACTED] ochre-tapir");
	secret_set_add_secret(set, second);
	becomes(set, "amber-heron ochre-tapir", "[REDACTED] [REDACTED]");
	secret_set_remove_secret(set, first);
	becomes(set, "amber-heron ochre-tapir", "amber-heron [REDACTED]");
	secret_set_remove_secret(set, first); /* is not there */
	secret_set_remove_secret(set, second);
	stays(set, "amber-heron ochre-tapir");
}

static void a_value_added_twice_goes_with_the_second_removal(void **state)
{
	_cleanup_(set) struct secret_set *set = secret_set_new();
	_cleanup_(one) struct secret *value = secret_new(STR("token"), STR("amber-heron"));

	(void)state;
	secret_set_add_secret(set, value);
	secret_set_add(set, STR("amber-heron\n"));
	secret_set_remove_secret(set, value);
	becomes(set, "amber-heron", "[REDACTED]");
	secret_set_remove_secret(set, value);
	stays(set, "amber-heron");
}

static void a_filter_keeps_what_it_was_made_with(void **state)
{
	struct secret_set *set = secret_set_new();
	_cleanup_(one) struct secret *value = secret_new(STR("token"), STR("amber-heron"));
	_cleanup_(buf) struct buf out = BUF_INIT(1024);
	struct secret_filter *f;

	(void)state;
	secret_set_add_secret(set, value);
	f = secret_filter_new(set);
	assert_int_equal(secret_filter_put(f, "<amber-", 7, &out), 0);
	secret_set_remove_secret(set, value);
	secret_set_add(set, STR("something else"));
	secret_set_free(set); /* and it outlives the set */
	assert_int_equal(secret_filter_put(f, "heron>", 6, &out), 0);
	assert_int_equal(secret_filter_end(f, &out), 0);
	assert_true(str_is(buf_str(&out), "<[REDACTED]>"));
	secret_filter_free(f);
}

enum { READERS = 3, CHANGES = 300 };
static atomic_bool over;

/* One value is there all the time. */
static void *read_on(void *arg)
{
	const struct secret_set *set = arg;

	while (!atomic_load(&over)) {
		_cleanup_(buf) struct buf out = BUF_INIT(1024);

		must(secret_redact(set, STR("amber-heron"), &out) == 0);
		must(str_is(buf_str(&out), "[REDACTED]"));
	}
	return NULL;
}

static void other_threads_read_while_it_changes(void **state)
{
	_cleanup_(set) struct secret_set *set = secret_set_new();
	pthread_t threads[READERS];

	(void)state;
	secret_set_add(set, STR("amber-heron"));
	atomic_store(&over, false);
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_on, set), 0);
	for (int i = 0; i < CHANGES; i++) {
		char text[32];
		_cleanup_(one) struct secret *value = NULL;

		(void)snprintf(text, sizeof(text), "token-%03d-number", i);
		value = secret_new(STR("token"), str_from(text));
		secret_set_add_secret(set, value);
		if (i % 2)
			secret_set_remove_secret(set, value);
		becomes(set, text, i % 2 ? text : "[REDACTED]");
	}
	atomic_store(&over, true);
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_come_and_go),
		cmocka_unit_test(a_value_added_twice_goes_with_the_second_removal),
		cmocka_unit_test(a_filter_keeps_what_it_was_made_with),
		cmocka_unit_test(other_threads_read_while_it_changes),
	};

	return cmocka_run_group_tests_name("secret.set", tests, NULL, NULL);
}
