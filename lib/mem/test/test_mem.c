/* mem: what the allocators promise at their edges, and lists. */
#include <signal.h>
#include <sys/wait.h>

#include "testing.h"

struct item {
	int n;
	struct list link;
};

/* Runs f in a child whose stderr is closed; returns the signal that ended it, or 0. */
static int signal_of(void (*f)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)signal(SIGABRT, SIG_DFL);
		(void)close(STDERR_FILENO);
		f();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void overflow_calloc(void)
{
	free(xcalloc(SIZE_MAX / 2, 3));
}

static void overflow_realloc(void)
{
	free(xrealloc(NULL, SIZE_MAX / 2, 3));
}

static void break_invariant(void)
{
	must(1 + 1 == 3);
}

static void keep_invariant(void)
{
	must(1 + 1 == 2);
}

static void overflow_and_broken_invariants_abort(void **state)
{
	(void)state;
	assert_int_equal(signal_of(overflow_calloc), SIGABRT);
	assert_int_equal(signal_of(overflow_realloc), SIGABRT);
	assert_int_equal(signal_of(break_invariant), SIGABRT);
	assert_int_equal(signal_of(keep_invariant), 0);
}

static void zero_sizes_give_pointers(void **state)
{
	void *a = xmalloc(0), *b = xcalloc(0, 8), *c = xrealloc(NULL, 0, 8), *d = xmemdup(NULL, 0);

	(void)state;
	assert_true(a && b && c && d);
	c = xrealloc(c, 0, 0);
	assert_non_null(c);
	free(a);
	free(b);
	free(c);
	free(d);
}

static void calloc_zeroes(void **state)
{
	_cleanup_(mem) unsigned char *p = xcalloc(100, 3);

	(void)state;
	for (size_t i = 0; i < 300; i++)
		assert_int_equal(p[i], 0);
}

static void strings_are_copied(void **state)
{
	_cleanup_(mem) char *whole = xstrdup("abc");
	_cleanup_(mem) char *part = xstrndup("a\0bc", 3);
	_cleanup_(mem) char *none = xstrndup(NULL, 0);
	_cleanup_(mem) char *made = xasprintf("%d-%s", 7, "x");

	(void)state;
	assert_string_equal(whole, "abc");
	assert_memory_equal(part, "a\0b", 4);
	assert_string_equal(none, "");
	assert_string_equal(made, "7-x");
	assert_null(xstrdup(NULL));
}

static void take_leaves_null(void **state)
{
	_cleanup_(mem) char *p = xstrdup("x");
	char *taken = mem_take(&p);

	(void)state;
	assert_null(p);
	assert_string_equal(taken, "x");
	free(taken);
}

static void lists_keep_order_and_unlink(void **state)
{
	struct list head = LIST_INIT(head);
	struct item items[4];
	int seen = 0;

	(void)state;
	assert_true(list_empty(&head));
	for (int i = 0; i < 4; i++) {
		items[i].n = i;
		list_init(&items[i].link);
		list_remove(&items[i].link); /* unlinked: nothing happens */
	}
	list_add_tail(&head, &items[1].link);
	list_add_tail(&head, &items[2].link);
	list_add_head(&head, &items[0].link);
	list_add_tail(&head, &items[3].link);
	assert_ptr_equal(list_first(&head, struct item, link), &items[0]);
	list_for_each (it, &head, struct item, link)
		assert_int_equal(it->n, seen++);
	assert_int_equal(seen, 4);
	list_for_each_safe (it, &head, struct item, link)
		if (it->n % 2)
			list_remove(&it->link);
	seen = 0;
	list_for_each (it, &head, struct item, link)
		seen = seen * 10 + it->n + 1;
	assert_int_equal(seen, 13);
	list_remove(&items[0].link);
	list_remove(&items[2].link);
	assert_true(list_empty(&head));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overflow_and_broken_invariants_abort),
		cmocka_unit_test(zero_sizes_give_pointers),
		cmocka_unit_test(calloc_zeroes),
		cmocka_unit_test(strings_are_copied),
		cmocka_unit_test(take_leaves_null),
		cmocka_unit_test(lists_keep_order_and_unlink),
	};

	return cmocka_run_group_tests_name("mem", tests, NULL, NULL);
}
