/* Where the store and its socket are. */
#include "testing.h"

#include <sys/stat.h>

#include "client/client.h"
#include "os/os.h"

static void the_socket_lies_beside_the_store(void **state)
{
	_cleanup_(mem) char *socket = client_socket_path("/home/me/.agent/state.sqlite");

	(void)state;
	assert_string_equal(socket, "/home/me/.agent/state.sqlite.sock");
	assert_false(client_socket_is_fallback(socket));
}

/* The last length that leaves room for ".sock.d/" and 19 digits, and the first that does not. */
static void a_long_store_moves_the_socket_to_tmp(void **state)
{
	static const struct {
		const char *name;
		size_t len;
		bool fallback;
	} rows[] = {
		{"fits",         108 - 5 - 2 - 20 - 1, false},
		{"one too long", 108 - 5 - 2 - 20,     true },
		{"two hundred",  200,                  true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char store[256];
		_cleanup_(mem) char *socket = NULL;

		memset(store, 'a', sizeof(store));
		store[0] = '/';
		store[rows[i].len] = '\0';
		socket = client_socket_path(store);
		if (client_socket_is_fallback(socket) != rows[i].fallback)
			fail_msg("%s: %s", rows[i].name, socket);
		assert_true(strlen(socket) < os_socket_path_max());
	}
}

/* Two stores, two names of one length. */
static void the_fallback_name_is_the_hash_of_the_path(void **state)
{
	char store[200];
	_cleanup_(mem) char *one = NULL, *two = NULL;

	(void)state;
	memset(store, 'b', sizeof(store) - 1);
	store[0] = '/';
	store[sizeof(store) - 1] = '\0';
	one = client_socket_path(store);
	store[100] = 'c';
	two = client_socket_path(store);
	assert_string_not_equal(one, two);
	assert_int_equal(strlen(strrchr(one, '/')), strlen("/v1-.sock") + 32);
}

static void a_store_given_is_made_canonical(void **state)
{
	_cleanup_(mem) char *dir = testing_dir(), *link = NULL, *given = NULL, *got = NULL,
			    *wanted = NULL;
	struct error err = ERROR_INIT;

	(void)state;
	link = xasprintf("%s/link", dir);
	assert_int_equal(symlink(dir, link), 0);
	given = xasprintf("%s/./x.db", link);
	wanted = xasprintf("%s/x.db", dir);
	assert_ok(client_store_path(given, &got, &err), &err);
	assert_string_equal(got, wanted);
	assert_fails(client_store_path("", &got, &err), &err, ERROR_INVALID);
	assert_ok(os_remove_tree(dir, &err), &err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_socket_lies_beside_the_store),
		cmocka_unit_test(a_long_store_moves_the_socket_to_tmp),
		cmocka_unit_test(the_fallback_name_is_the_hash_of_the_path),
		cmocka_unit_test(a_store_given_is_made_canonical),
	};

	return cmocka_run_group_tests_name("client.path", tests, NULL, NULL);
}
