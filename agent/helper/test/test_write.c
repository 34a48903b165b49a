/*
 * The language of consort-write, and the program itself: alone, and inside a sandbox.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "agent/helper/write.h"
#include "os/os.h"
#include "sandbox/sandbox.h"
#include "testing.h"

static const struct guard_expect SAMPLE = {GUARD_EXPECT_SAME, 2049, 1234567, 42, -1};

static void what_is_encoded_is_decoded(void **state)
{
	const struct write_op ops[] = {
		{WRITE_PUBLISH, STR("/a"),       STR(""),       {.make_parents = false}            },
		{WRITE_PUBLISH, STR("/a b\n/c"), {"x\0\ny", 4},
                 {true, 0755, {GUARD_EXPECT_ABSENT}}                                               },
		{WRITE_PUBLISH, STR("/\xff"),    STR("end\n"),  {.expect = SAMPLE}                 },
		{WRITE_UNLINK,  STR("/u"),       STR(""),       {.expect = SAMPLE}                 },
		{WRITE_UNLINK,  STR("/u/v"),     STR(""),       {.expect = {GUARD_EXPECT_ANYTHING}}},
	};
	_cleanup_(mem) struct write_op *got = xcalloc(WRITE_OPS_MAX, sizeof(*got));
	_cleanup_(buf) struct buf b = BUF_INIT(WRITE_REQUEST_MAX_BYTES);
	struct error err = ERROR_INIT;
	size_t count;

	(void)state;
	assert_ok(write_encode(ops, ARRAY_LEN(ops), &b, &err), &err);
	assert_ok(write_decode(buf_str(&b), got, &count, &err), &err);
	assert_int_equal(count, ARRAY_LEN(ops));
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(got[i].verb, ops[i].verb);
		assert_true(str_eq(got[i].path, ops[i].path));
		assert_true(str_eq(got[i].content, ops[i].content));
		assert_int_equal(got[i].how.make_parents, ops[i].how.make_parents);
		assert_int_equal(got[i].how.new_mode, ops[i].how.new_mode);
		assert_int_equal(got[i].how.expect.kind, ops[i].how.expect.kind);
		assert_memory_equal(&got[i].how.expect, &ops[i].how.expect, sizeof(SAMPLE));
	}
}

/* Cut anywhere, a request is refused as a whole. */
static void a_cut_request_is_no_request(void **state)
{
	const struct write_op ops[] = {
		{WRITE_PUBLISH, STR("/a"), STR("content\n"), {.expect = SAMPLE}                 },
		{WRITE_UNLINK,  STR("/b"), STR(""),          {.expect = {GUARD_EXPECT_ANYTHING}}},
	};
	_cleanup_(mem) struct write_op *got = xcalloc(WRITE_OPS_MAX, sizeof(*got));
	_cleanup_(buf) struct buf b = BUF_INIT(WRITE_REQUEST_MAX_BYTES);
	struct error err = ERROR_INIT;
	size_t count;

	(void)state;
	assert_ok(write_encode(ops, ARRAY_LEN(ops), &b, &err), &err);
	for (size_t len = 0; len < b.len; len++) {
		_cleanup_(mem) char *cut = xmemdup(b.data, len); /* so that reading past it shows */

		assert_int_equal(write_decode((struct str){cut, len}, got, &count, &err), -1);
	}
	must(buf_putc(&b, '\n') == 0); /* and one with more behind it too */
	assert_fails(write_decode(buf_str(&b), got, &count, &err), &err, WRITE_INVALID);
}

static void refuses_what_is_no_request(void **state)
{
	static const char *const rows[] = {
		"",
		"\n",
		"consort-write 2 0\nend\n",
		"consort-write 1\nend\n",
		"consort-write 1 x\nend\n",
		"consort-write 1 -1\nend\n",
		"consort-write 1 1025\nend\n",
		"consort-write 1 0 0\nend\n",
		"consort-write 1 1\nchmod 2 any\n/a\nend\n",
		"consort-write 1 1\nunlink 2\n/a\nend\n",
		"consort-write 1 1\nunlink 2 some\n/a\nend\n",
		"consort-write 1 1\nunlink 1 any\n/\nend\n",
		"consort-write 1 1\nunlink 2 any\nab\nend\n",
		"consort-write 1 1\nunlink 3 any\n//a\nend\n",
		"consort-write 1 1\nunlink 3 any\n/a/\nend\n",
		"consort-write 1 1\nunlink 4 any\n/a/.\nend\n",
		"consort-write 1 1\nunlink 5 any\n/../a\nend\n",
		"consort-write 1 1\nunlink 0 any\n\nend\n",
		"consort-write 1 1\nunlink 2 same 1 2 3\n/a\nend\n",
		"consort-write 1 1\nunlink 2 same 1 2 3 4 5\n/a\nend\n",
		"consort-write 1 1\nunlink 18446744073709551616 any\n/a\nend\n",
		"consort-write 1 1\npublish 2 1 0 0 any\n/a\nend\n",
		"consort-write 1 1\npublish 2 0 2 0 any\n/a\nend\n",
		"consort-write 1 1\npublish 2 0 0 512 any\n/a\nend\n",
		"consort-write 1 1\npublish 2 4194305 0 0 any\n/a\nend\n",
		"consort-write 1 1\npublish 2 0 0 any\n/a\nend\n",
		"consort-write 1 1\npublish 2 0 0 0 any\n/axend\n",
	};
	_cleanup_(mem) struct write_op *got = xcalloc(WRITE_OPS_MAX, sizeof(*got));
	struct error err = ERROR_INIT;
	size_t count;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (write_decode(str_from(rows[i]), got, &count, &err) != -1)
			fail_msg("taken: %s", rows[i]);
	}
	assert_fails(write_decode((struct str){"consort-write 1 1\nunlink 3 any\n/\0a\nend\n", 37},
			     got, &count, &err),
		&err, WRITE_INVALID);
}

static void encodes_nothing_that_would_be_refused(void **state)
{
	_cleanup_(mem) char *large = xcalloc(WRITE_FILE_MAX_BYTES + 1, 1);
	_cleanup_(mem) struct write_op *many = xcalloc(WRITE_OPS_MAX + 1, sizeof(*many));
	const struct write_op relative = {WRITE_UNLINK, STR("a"), STR(""), {0}};
	const struct write_op too_large = {
		WRITE_PUBLISH, STR("/a"), {large, WRITE_FILE_MAX_BYTES + 1},
                  {0    }
        };
	_cleanup_(buf) struct buf b = BUF_INIT(WRITE_REQUEST_MAX_BYTES);
	struct error err = ERROR_INIT;

	(void)state;
	assert_fails(write_encode(&relative, 1, &b, &err), &err, WRITE_INVALID);
	buf_clear(&b);
	assert_fails(write_encode(&too_large, 1, &b, &err), &err, ERROR_LIMIT);
	buf_clear(&b);
	for (size_t i = 0; i <= WRITE_OPS_MAX; i++)
		many[i] = (struct write_op){
			WRITE_PUBLISH, STR("/a"), {large, WRITE_FILE_MAX_BYTES},
                          {0    }
                };
	assert_fails(write_encode(many, WRITE_OPS_MAX + 1, &b, &err), &err, ERROR_LIMIT);
	buf_clear(&b);
	assert_fails(write_encode(many, 17, &b, &err), &err, ERROR_LIMIT); /* 68 MiB */
	buf_release(&b);
}

static void answers_are_counted_and_name_the_first_failure(void **state)
{
	static const struct {
		const char *output;
		size_t count, done;
		const struct error_kind *kind; /* NULL: all is done */
	} rows[] = {
		{"ok\nok\n",			      2, 2, NULL               },
		{"",				      0, 0, NULL               },
		{"ok\n",				  2, 1, &WRITE_UNANSWERED  },
		{"ok\nok",				2, 1, &WRITE_UNANSWERED  },
		{"",				      1, 0, &WRITE_UNANSWERED  },
		{"ok\nfile_changed 'x' was\nnot_tried\n", 3, 1, &GUARD_FILE_CHANGED},
		{"permission_denied no\n",                1, 0, &GUARD_DENIED      },
		{"path_changed a link\n",                 1, 0, &GUARD_CHANGED     },
		{"file_not_regular no\n",                 1, 0, &GUARD_NOT_REGULAR },
		{"io_error full\n",                       1, 0, &ERROR_SYS         },
		{"something_else\n",                      1, 0, &ERROR_SYS         },
		{"not_tried\n",                           1, 0, &ERROR_SYS         },
		{"okay\n",				1, 0, &ERROR_SYS         },
		{"\n",				    1, 0, &ERROR_SYS         },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct error err = ERROR_INIT;
		size_t done = 99;
		int rc = write_answers(str_from(rows[i].output), rows[i].count, &done, &err);

		assert_int_equal(rc, rows[i].kind ? -1 : 0);
		assert_int_equal(done, rows[i].done);
		if (rows[i].kind)
			assert_true(error_is(&err, rows[i].kind));
	}
}

/* The program. */
struct world {
	char *dir, *work, *outside;
	struct sandbox *sandbox; /* NULL: it runs plainly */
	struct sandbox_policy policy;
	struct buf output;
	int status;
};

static int set_up(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));
	_cleanup_(mem) char *made = testing_dir();

	w->dir = realpath(made, NULL);
	must(w->dir);
	w->work = xasprintf("%s/work", w->dir);
	w->outside = xasprintf("%s/outside", w->dir);
	must(mkdir(w->work, 0755) == 0 && mkdir(w->outside, 0755) == 0);
	w->output = (struct buf)BUF_INIT(WRITE_ANSWERS_MAX_BYTES);
	*state = w;
	return 0;
}

static int set_up_confined(void **state)
{
	const struct sandbox_host host = {.tmpdir = NULL};
	struct world *w;

	(void)set_up(state);
	w = *state;
	w->sandbox = sandbox_new(&host);
	w->policy = (struct sandbox_policy){.mode = SANDBOX_WORKSPACE_WRITE, .workspace = w->work};
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	sandbox_free(w->sandbox);
	must(os_remove_tree(w->dir, NULL) == 0);
	buf_release(&w->output);
	free(w->dir);
	free(w->work);
	free(w->outside);
	free(w);
	return 0;
}

/* Starts `program`, writes the request and reads the answers; a request here fits a pipe. */
static void talk(struct world *w, const char *program, char *const *argv,
	const struct sandbox_fd *fds, size_t fd_count, struct str request)
{
	posix_spawn_file_actions_t actions;
	int in[2], out[2];
	size_t len = 0;
	pid_t pid;

	must(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	must(posix_spawn_file_actions_init(&actions) == 0);
	must(posix_spawn_file_actions_adddup2(&actions, in[0], 0) == 0);
	must(posix_spawn_file_actions_adddup2(&actions, out[1], 1) == 0);
	for (size_t i = 0; i < fd_count; i++)
		must(posix_spawn_file_actions_adddup2(&actions, fds[i].fd, fds[i].as) == 0);
	must(posix_spawn(&pid, program, &actions, NULL, argv, environ) == 0);
	must(posix_spawn_file_actions_destroy(&actions) == 0);
	must(close(in[0]) == 0 && close(out[1]) == 0);
	must(os_write_all(in[1], request.p, request.len, NULL) == 0 && close(in[1]) == 0);
	buf_clear(&w->output);
	must(buf_reserve(&w->output, 4096) == 0);
	must(os_read_full(out[0], w->output.data, 4096, &len, NULL) == 0 && close(out[0]) == 0);
	w->output.len = len;
	must(waitpid(pid, &w->status, 0) == pid);
}

static void send_text(struct world *w, struct str request)
{
	static char writer[] = WRITER;
	char *const argv[] = {writer, NULL};
	struct error err = ERROR_INIT;
	struct sandbox_command *c;

	if (!w->sandbox) {
		talk(w, WRITER, argv, NULL, 0, request);
		return;
	}
	assert_ok(sandbox_command_new(w->sandbox, &w->policy, "/", argv, &c, &err), &err);
	talk(w, c->program, c->argv, c->fds, c->fd_count, request);
	sandbox_command_free(c);
}

static int send_ops(struct world *w, const struct write_op *ops, size_t count, size_t *ret_done,
	struct error *err)
{
	_cleanup_(buf) struct buf b = BUF_INIT(WRITE_REQUEST_MAX_BYTES);

	assert_ok(write_encode(ops, count, &b, err), err);
	send_text(w, buf_str(&b));
	return write_answers(buf_str(&w->output), count, ret_done, err);
}

static void assert_content(const char *path, const char *expected)
{
	_cleanup_(buf) struct buf b = BUF_INIT(1 << 20);

	must(os_read_file(path, &b, NULL) == 0);
	assert_true(str_is(buf_str(&b), expected));
}

static void writes_and_removes_and_stops_at_the_first_failure(void **state)
{
	struct world *w = *state;
	_cleanup_(mem) char *one = xasprintf("%s/new/folder\n/one", w->work);
	_cleanup_(mem) char *two = xasprintf("%s/two", w->work),
			    *three = xasprintf("%s/three", w->work);
	struct write_op ops[] = {
		{WRITE_PUBLISH, str_from(one),   STR("1\n"), {true, 0755, {GUARD_EXPECT_ABSENT}}},
		{WRITE_PUBLISH, str_from(two),   STR("2\n"), {.make_parents = false}            },
		{WRITE_UNLINK,  str_from(two),   STR(""),    {.make_parents = false}            },
		{WRITE_UNLINK,  str_from(two),   STR(""),    {.make_parents = false}            }, /* is gone */
		{WRITE_PUBLISH, str_from(three), STR("3\n"), {.make_parents = false}            },
	};
	struct error err = ERROR_INIT;
	struct stat st;
	size_t done;

	assert_fails(send_ops(w, ops, ARRAY_LEN(ops), &done, &err), &err, GUARD_NOT_FOUND);
	assert_int_equal(done, 3);
	assert_int_equal(WEXITSTATUS(w->status), 1);
	assert_content(one, "1\n");
	must(stat(one, &st) == 0);
	assert_int_equal(st.st_mode & 0777, 0755);
	assert_int_equal(access(two, F_OK), -1);
	assert_int_equal(access(three, F_OK), -1);
	assert_non_null(strstr(w->output.data, "not_tried\n"));
}

static void a_newer_change_is_not_undone(void **state)
{
	struct world *w = *state;
	_cleanup_(mem) char *path = xasprintf("%s/file", w->work);
	struct write_op op = {WRITE_PUBLISH, str_from(path), STR("mine"), {.make_parents = false}};
	struct error err = ERROR_INIT;
	struct stat st;
	size_t done;

	must(os_replace_file(path, STR("as read"), 0644, NULL) == 0 && stat(path, &st) == 0);
	op.how.expect = guard_expect_stat(&st);
	assert_ok(send_ops(w, &op, 1, &done, &err), &err); /* the same device inside a sandbox */
	assert_content(path, "mine");
	must(os_replace_file(path, STR("theirs"), 0644, NULL) == 0);
	assert_fails(send_ops(w, &op, 1, &done, &err), &err, GUARD_FILE_CHANGED);
	assert_content(path, "theirs");
}

static void a_bad_request_does_nothing(void **state)
{
	struct world *w = *state;
	_cleanup_(mem) char *path = xasprintf("%s/file", w->work);
	_cleanup_(mem) char *text = xasprintf(
		"consort-write 1 1\npublish %zu 1 0 0 any\n%s\nx\n", strlen(path), path);

	send_text(w, str_from(text)); /* no end */
	assert_int_equal(WEXITSTATUS(w->status), 2);
	assert_true(str_starts(buf_str(&w->output), STR("invalid_write_request ")));
	assert_int_equal(access(path, F_OK), -1);
}

/* Inside a sandbox the mounts have the last word, whatever was checked before (AG-089). */
static void a_link_that_took_a_folders_place_leads_nowhere(void **state)
{
	struct world *w = *state;
	_cleanup_(mem) char *folder = xasprintf("%s/folder", w->work);
	_cleanup_(mem) char *path = xasprintf("%s/file", folder),
			    *there = xasprintf("%s/file", w->outside);
	struct write_op op = {WRITE_PUBLISH, str_from(path), STR("x"), {.make_parents = true}};
	struct error err = ERROR_INIT;
	size_t done;

	must(symlink(w->outside, folder) == 0);
	assert_fails(send_ops(w, &op, 1, &done, &err), &err, GUARD_CHANGED);
	op.verb = WRITE_UNLINK;
	assert_fails(send_ops(w, &op, 1, &done, &err), &err, GUARD_CHANGED);
	assert_int_equal(access(there, F_OK), -1);
}

static void the_mounts_have_the_last_word(void **state)
{
	struct world *w = *state;
	_cleanup_(mem) char *there = xasprintf("%s/file", w->outside);
	_cleanup_(mem) char *hook = xasprintf("%s/.git/hooks", w->work);
	const struct write_op ops[] = {
		{WRITE_PUBLISH, str_from(there), STR("x"), {.make_parents = true}},
		{WRITE_PUBLISH, str_from(hook),  STR("x"), {.make_parents = true}},
	};
	struct error err = ERROR_INIT;
	size_t done;

	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		assert_fails(send_ops(w, &ops[i], 1, &done, &err), &err, GUARD_DENIED);
		assert_int_equal(done, 0);
	}
	must(os_replace_file(there, STR("old"), 0644, NULL) == 0);
	assert_fails(send_ops(w, &ops[0], 1, &done, &err), &err, GUARD_DENIED);
	assert_content(there, "old");
	assert_int_equal(access(hook, F_OK), -1);
}

static bool is_here(void)
{
	const struct sandbox_host host = {.tmpdir = NULL};
	struct sandbox *s = sandbox_new(&host);
	struct error err = ERROR_INIT;
	bool here = sandbox_available(s, &err) == 0;

	if (!here)
		print_message("not here: %s\n", err.text);
	sandbox_free(s);
	return here;
}

#define PLAINLY(test)  cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define CONFINED(test) cmocka_unit_test_setup_teardown(test, set_up_confined, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_encoded_is_decoded),
		cmocka_unit_test(a_cut_request_is_no_request),
		cmocka_unit_test(refuses_what_is_no_request),
		cmocka_unit_test(encodes_nothing_that_would_be_refused),
		cmocka_unit_test(answers_are_counted_and_name_the_first_failure),
		PLAINLY(writes_and_removes_and_stops_at_the_first_failure),
		PLAINLY(a_newer_change_is_not_undone),
		PLAINLY(a_bad_request_does_nothing),
		PLAINLY(a_link_that_took_a_folders_place_leads_nowhere),
	};
	const struct CMUnitTest confined[] = {
		CONFINED(writes_and_removes_and_stops_at_the_first_failure),
		CONFINED(a_newer_change_is_not_undone),
		CONFINED(a_bad_request_does_nothing),
		CONFINED(a_link_that_took_a_folders_place_leads_nowhere),
		CONFINED(the_mounts_have_the_last_word),
	};
	int failed = cmocka_run_group_tests_name("helper.write", tests, NULL, NULL);

	if (is_here())
		failed += cmocka_run_group_tests_name(
			"helper.write.confined", confined, NULL, NULL);
	return failed;
}
