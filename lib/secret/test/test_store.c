/*
 * Secrets by name: the environment first, then an env file that is private and well formed.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "os/os.h"
#include "secret/secret.h"
#include "testing.h"

MEM_CLEANUP(store, struct secret_store *, secret_store_free)

struct fixture {
	char *dir, *path;
};

static int set_up(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->dir = testing_dir();
	f->path = xasprintf("%s/env", f->dir);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	int rc = os_remove_tree(f->dir, NULL);

	free(f->dir);
	free(f->path);
	free(f);
	return rc;
}

static void write_env(const struct fixture *f, struct str content, mode_t mode)
{
	_cleanup_(fd) int fd = open(f->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_true(write(fd, content.p, content.len) == (ssize_t)content.len);
	assert_return_code(fchmod(fd, mode), 0);
}

static void assert_value(struct secret_store *s, const char *name, const char *value)
{
	const struct secret *got = secret_store_get(s, name);

	if (!value) {
		assert_null(got);
		return;
	}
	if (!got)
		fail_msg("no %s", name);
	if (!str_is(secret_expose(got), value))
		fail_msg("%s is '" STR_FMT "'", name, STR_ARG(secret_expose(got)));
}

static void lines_are_read(void **state)
{
	static const char content[] = "# comment\n"
				      "\n"
				      "  \t\n"
				      "T_BARE=sk-abc#def=\n"
				      "export T_EXPORT=v1   # comment\n"
				      "\texport\tT_TAB=v2\r\n"
				      "T_SINGLE='a \"b\" \\n # c'\n"
				      "T_DOUBLE=\"a 'b' \\\"c\\\" \\\\ \\$d \\` \\n\\t\\r\" # e\n"
				      "T_EMPTY=\n"
				      "T_QUOTED_EMPTY=''\n"
				      "T_TWICE=first\n"
				      "T_TWICE=second\n"
				      "export=named\n"
				      "_t9=\xc3\xa9\xff\n"
				      "T_LAST=end";
	const struct fixture *f = *state;
	_cleanup_(store) struct secret_store *s = secret_store_new();
	struct error err = ERROR_INIT;

	write_env(f, STR(content), 0600);
	assert_ok(secret_store_load_env(s, f->path, &err), &err);
	assert_value(s, "T_BARE", "sk-abc#def=");
	assert_value(s, "T_EXPORT", "v1");
	assert_value(s, "T_TAB", "v2");
	assert_value(s, "T_SINGLE", "a \"b\" \\n # c");
	assert_value(s, "T_DOUBLE", "a 'b' \"c\" \\ $d ` \n\t\r");
	assert_value(s, "T_EMPTY", NULL);
	assert_value(s, "T_QUOTED_EMPTY", NULL);
	assert_value(s, "T_TWICE", "second");
	assert_value(s, "export", "named");
	assert_value(s, "_t9", "\xc3\xa9\xff");
	assert_value(s, "T_LAST", "end");
	assert_value(s, "T_MISSING", NULL);
}

static void bad_lines_are_refused_by_number_without_the_value(void **state)
{
	static const char *const bad[] = {"hunter2", "=hunter2", "9A=hunter2", "A B=hunter2",
		"A =hunter2", "A= hunter2", "A=hunter2 more", "A=hunt\"er2\"", "A=hunt\\er2",
		"A='hunter2", "A=\"hunter2", "A=\"hunter2\\", "A=\"hunter2\\x\"", "A='hunter2'x",
		"A=\"hunter2\"'x'", "export hunter2", "A=hunter2\x01", "A='hunter2\x7f'",
		"A-B=hunter2", "A=hunter2\rB=2", "export A",
		("\xef\xbb\xbf"
		 "A=hunter2")};
	const struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_(store) struct secret_store *s = secret_store_new();
		_cleanup_(mem) char *content = xasprintf(
			"T_GOOD=1234567\n\n%s\nT_MORE=2\n", bad[i]);
		struct error err = ERROR_INIT;

		write_env(f, str_from(content), 0600);
		assert_fails(secret_store_load_env(s, f->path, &err), &err, SECRET_ENV_INVALID);
		assert_non_null(strstr(err.text, "line 3"));
		assert_non_null(strstr(err.text, f->path));
		assert_null(strstr(err.text, "hunt"));
		assert_value(s, "T_GOOD", NULL); /* all or nothing */
	}
}

static void nul_is_refused(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(store) struct secret_store *s = secret_store_new();
	struct error err = ERROR_INIT;

	write_env(f, (struct str){"A=hun\0ter\n", 10}, 0600);
	assert_fails(secret_store_load_env(s, f->path, &err), &err, SECRET_ENV_INVALID);
}

static void file_that_others_can_read_is_refused(void **state)
{
	static const mode_t loose[] = {0640, 0604, 0644, 0660, 0620, 0602, 0601, 0677};
	static const mode_t tight[] = {0600, 0400, 0700};
	const struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(loose); i++) {
		_cleanup_(store) struct secret_store *s = secret_store_new();
		_cleanup_(mem) char *mode = xasprintf("%04o", (unsigned)loose[i]);
		struct error err = ERROR_INIT;

		write_env(f, STR("T_KEY=hunter2\n"), loose[i]);
		assert_fails(secret_store_load_env(s, f->path, &err), &err, SECRET_ENV_PERMISSIONS);
		assert_non_null(strstr(err.text, f->path));
		assert_non_null(strstr(err.text, mode));
		assert_null(strstr(err.text, "hunter2"));
		assert_value(s, "T_KEY", NULL);
	}
	for (size_t i = 0; i < ARRAY_LEN(tight); i++) {
		_cleanup_(store) struct secret_store *s = secret_store_new();
		struct error err = ERROR_INIT;

		(void)unlink(f->path); /* 0400 keeps a normal user from writing it anew */
		write_env(f, STR("T_KEY=hunter2\n"), tight[i]);
		assert_ok(secret_store_load_env(s, f->path, &err), &err);
		assert_value(s, "T_KEY", "hunter2");
	}
}

static void missing_file_is_none_and_odd_ones_are_refused(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(store) struct secret_store *s = secret_store_new();
	struct error err = ERROR_INIT;

	assert_ok(secret_store_load_env(s, f->path, &err), &err);
	assert_value(s, "T_KEY", NULL);
	assert_return_code(mkfifo(f->path, 0600), 0);
	assert_fails(secret_store_load_env(s, f->path, &err), &err, SECRET_ENV_INVALID);
	assert_return_code(unlink(f->path), 0);
	assert_return_code(mkdir(f->path, 0700), 0);
	assert_fails(secret_store_load_env(s, f->path, &err), &err, SECRET_ENV_INVALID);
	assert_return_code(rmdir(f->path), 0);
}

static void size_is_limited(void **state)
{
	enum { MAX = 256 * 1024 };
	const struct fixture *f = *state;
	_cleanup_(store) struct secret_store *s = secret_store_new();
	_cleanup_(mem) char *content = xmalloc(MAX + 1);
	struct error err = ERROR_INIT;

	memset(content, 'x', MAX + 1);
	memcpy(content, "A=", 2);
	write_env(f, (struct str){content, MAX}, 0600);
	assert_ok(secret_store_load_env(s, f->path, &err), &err);
	assert_int_equal(secret_expose(secret_store_get(s, "A")).len, MAX - 2);
	write_env(f, (struct str){content, MAX + 1}, 0600);
	assert_fails(secret_store_load_env(s, f->path, &err), &err, SECRET_ENV_INVALID);
	assert_int_equal(secret_expose(secret_store_get(s, "A")).len, MAX - 2);
}

static void environment_comes_first(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(store) struct secret_store *s = secret_store_new();
	struct error err = ERROR_INIT;

	assert_int_equal(setenv("CONSORT_TEST_KEY", "from env", 1), 0);
	assert_int_equal(setenv("CONSORT_TEST_OFF", "", 1), 0);
	write_env(f, STR("CONSORT_TEST_KEY=file1\nCONSORT_TEST_OFF=file2\n"), 0600);
	assert_ok(secret_store_load_env(s, f->path, &err), &err);
	assert_value(s, "CONSORT_TEST_KEY", "from env");
	assert_value(s, "CONSORT_TEST_OFF", "file2");
	assert_ptr_equal(
		secret_store_get(s, "CONSORT_TEST_KEY"), secret_store_get(s, "CONSORT_TEST_KEY"));
	assert_int_equal(unsetenv("CONSORT_TEST_KEY"), 0);
	assert_int_equal(unsetenv("CONSORT_TEST_OFF"), 0);
}

static void reading_again_replaces_and_keeps_what_was_handed_out(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(store) struct secret_store *s = secret_store_new();
	struct error err = ERROR_INIT;
	const struct secret *old;

	write_env(f, STR("T_KEY=old value\n"), 0600);
	assert_fails(secret_store_load_env(s, f->path, &err), &err, SECRET_ENV_INVALID);
	write_env(f, STR("T_KEY='old value'\nT_GONE=1\n"), 0600);
	assert_ok(secret_store_load_env(s, f->path, &err), &err);
	old = secret_store_get(s, "T_KEY");
	write_env(f, STR("T_KEY=new\nbroken\n"), 0600);
	assert_fails(secret_store_load_env(s, f->path, &err), &err, SECRET_ENV_INVALID);
	assert_ptr_equal(secret_store_get(s, "T_KEY"), old);
	write_env(f, STR("T_KEY=new\n"), 0600);
	assert_ok(secret_store_load_env(s, f->path, &err), &err);
	assert_value(s, "T_KEY", "new");
	assert_value(s, "T_GONE", NULL);
	assert_true(str_is(secret_expose(old), "old value"));
}

static void secret_goes_into_a_set(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(store) struct secret_store *s = secret_store_new();
	struct secret_set *set = secret_set_new();
	_cleanup_(buf) struct buf out = BUF_INIT(1024);
	struct error err = ERROR_INIT;

	write_env(f, STR("T_KEY=hunter22\n"), 0600);
	assert_ok(secret_store_load_env(s, f->path, &err), &err);
	secret_set_add_secret(set, secret_store_get(s, "T_KEY"));
	assert_int_equal(secret_redact(set, STR("it is hunter22."), &out), 0);
	assert_true(str_is(buf_str(&out), "it is [REDACTED]."));
	secret_set_free(set);
	secret_set_free(NULL);
	secret_filter_free(NULL);
	secret_store_free(NULL);
}

#ifdef CONSORT_SANITIZED
static void failing_calls_are_told(void **state)
{
	const struct fixture *f = *state;
	unsigned nth = 0;

	write_env(f, STR("T_KEY=hunter22\n"), 0600);
	for (bool failed = true; failed;) {
		_cleanup_(store) struct secret_store *s = secret_store_new();
		struct error err = ERROR_INIT;
		int rc;

		os_fault_at(++nth, EIO);
		rc = secret_store_load_env(s, f->path, &err);
		failed = os_fault_calls() >= nth;
		os_fault_at(0, 0);
		assert_int_equal(rc, failed ? -1 : 0);
		assert_value(s, "T_KEY", failed ? NULL : "hunter22");
		assert_true(nth < 20);
	}
	assert_true(nth > 2);
}
#endif

#define store_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(lines_are_read),
		store_test(bad_lines_are_refused_by_number_without_the_value),
		store_test(nul_is_refused),
		store_test(file_that_others_can_read_is_refused),
		store_test(missing_file_is_none_and_odd_ones_are_refused),
		store_test(size_is_limited),
		store_test(environment_comes_first),
		store_test(reading_again_replaces_and_keeps_what_was_handed_out),
		store_test(secret_goes_into_a_set),
#ifdef CONSORT_SANITIZED
		store_test(failing_calls_are_told),
#endif
	};

	return cmocka_run_group_tests_name("secret.store", tests, NULL, NULL);
}
