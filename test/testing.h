#ifndef TESTING_H
#define TESTING_H
/*
 * testing: what every unit test needs: cmocka with its headers, a private folder, and asserts on
 * errors.
 *
 *	static void cuts_at_a_character(void **state) { … }
 *	int main(void)
 *	{
 *		const struct CMUnitTest tests[] = {cmocka_unit_test(cuts_at_a_character)};
 *		return cmocka_run_group_tests_name("text", tests, NULL, NULL);
 *	}
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "error/error.h"
#include "mem/mem.h"

/* The call must succeed; its error is shown when it does not. */
#define assert_ok(call, err)                                                                       \
	do {                                                                                       \
		if ((call) != 0)                                                                   \
			fail_msg("%s: %s: %s", #call, error_code(err), (err)->text);               \
	} while (0)

/* The call must fail with this kind. */
#define assert_fails(call, err, expected)                                                          \
	do {                                                                                       \
		error_clear(err);                                                                  \
		if ((call) != -1)                                                                  \
			fail_msg("%s: did not fail", #call);                                       \
		if (!error_is(err, &(expected)))                                                   \
			fail_msg("%s: failed with %s: %s", #call, error_code(err), (err)->text);   \
	} while (0)

/* A new private folder under /var/tmp; the caller removes it (os_remove_tree), frees the name. */
static inline char *testing_dir(void)
{
	char *path = xstrdup("/var/tmp/consort-test-XXXXXX");

	must(mkdtemp(path));
	return path;
}

#endif
