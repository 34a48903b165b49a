/*
 * The store as a file: who may open it, what it is called, its modes, what it refuses, no room.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "test_store.h"

static char *beside(struct bench *b, const char *suffix)
{
	return arena_printf(&b->a, "%s%s", b->path, suffix);
}

static struct str content(struct bench *b, const char *path)
{
	struct buf data = BUF_INIT(64 << 20);
	struct error err = ERROR_INIT;
	struct str kept;

	assert_ok(os_read_file(path, &data, &err), &err);
	kept = (struct str){arena_dup(&b->a, data.data, data.len + 1), data.len};
	buf_release(&data);
	return kept;
}

static void a_second_owner_is_refused(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bench second = {
		.path = b->path, .loop = b->loop, .clock = b->clock}; /* flock is per open */
	struct error err = ERROR_INIT;
	struct stat before, after;

	(void)state;
	assert_int_equal(stat(b->path, &before), 0);
	assert_fails(bench_try_open(&second, &err), &err, STORE_OWNED); /* AG-206 */
	assert_null(second.store);
	assert_int_equal(stat(b->path, &after), 0);
	assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	make_bot(b, "ada"); /* the first is as it was */
	bench_close(b);
	bench_open(b); /* the lock went with it */
}

static void names_itself_and_tells_copies_apart(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_identity first = *store_identity(b->store), again, copy;
	struct str bytes;
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(strlen(first.lineage), 16);
	assert_int_equal(strspn(first.lineage, "0123456789abcdef"), 16);
	assert_int_equal(strlen(first.identity), 32);
	assert_int_equal(strspn(first.identity, "0123456789abcdef"), 32);
	assert_int_equal(first.schema, 2);
	bench_reopen(b);
	again = *store_identity(b->store);
	assert_string_equal(again.lineage, first.lineage);
	assert_string_equal(again.identity, first.identity);
	bench_close(b);
	bytes = content(b, b->path);
	free(b->path);
	b->path = xasprintf("%s/copy.sqlite", b->dir);
	assert_ok(os_replace_file(b->path, bytes, 0600, &err), &err);
	bench_open(b);
	copy = *store_identity(b->store);
	assert_string_equal(copy.lineage, first.lineage);
	assert_string_not_equal(copy.identity, first.identity);
}

static void two_stores_are_of_different_lineages(void **state)
{
	_cleanup_(bench) struct bench *a = bench_start();
	_cleanup_(bench) struct bench *b = bench_start();

	(void)state;
	assert_string_not_equal(
		store_identity(a->store)->lineage, store_identity(b->store)->lineage);
}

static void its_files_are_private_whatever_the_umask(void **state)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", ".owner-lock"};
	_cleanup_(bench) struct bench *b = bench_new();
	mode_t old = umask(0);
	struct stat st;

	(void)state;
	bench_open(b);
	(void)umask(old);
	make_bot(b, "ada");
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) { /* AG-191, AG-192 */
		assert_int_equal(stat(beside(b, suffixes[i]), &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
	}
	bench_close(b);
	assert_int_equal(chmod(b->path, 0644), 0);
	bench_open(b); /* AG-193 */
	assert_int_equal(stat(b->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void what_is_kept_lies_in_the_clear(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submit s = plain_submit("ada", "r1");
	struct store_call call = shell_call("c1");
	struct store_submitted ret;
	struct error err = ERROR_INIT;
	struct str bytes;

	(void)state;
	make_bot(b, "ada");
	s.prompt = STR("marker-of-the-prompt");
	assert_ok(try_submit(b, &s, &ret, &err), &err);
	call.arguments = STR("{\"command\":\"marker-of-the-call\"}");
	append(b, ret.bot.id, ret.turn.id, "marker-of-the-answer", &call, 1);
	tool_start(b, ret.bot.id, ret.turn.id, "c1");
	tool_finish(b, ret.bot.id, ret.turn.id, "c1", "marker-of-the-result");
	bench_close(b);
	bytes = content(b, b->path); /* AG-019, AG-190, AG-197 */
	assert_true(str_find(bytes, STR("marker-of-the-prompt"), 0) >= 0);
	assert_true(str_find(bytes, STR("marker-of-the-call"), 0) >= 0);
	assert_true(str_find(bytes, STR("marker-of-the-answer"), 0) >= 0);
	assert_true(str_find(bytes, STR("marker-of-the-result"), 0) >= 0);
}

static void hard_links_are_refused(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct error err = ERROR_INIT;

	(void)state;
	bench_close(b);
	assert_int_equal(link(b->path, beside(b, ".other")), 0);
	assert_fails(bench_try_open(b, &err), &err, DB_UNSAFE_FILE);
	assert_int_equal(unlink(beside(b, ".other")), 0);
	bench_open(b);
}

static void a_newer_schema_is_refused_untouched(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct error err = ERROR_INIT;
	struct str before, after;
	int fd = -1;

	(void)state;
	make_bot(b, "ada");
	bench_close(b);
	/* user_version in the file's header: no WAL is left that could hold another. */
	assert_ok(os_open(b->path, O_WRONLY, 0, &fd, &err), &err);
	assert_int_equal(pwrite(fd, "\0\0\0\x63", 4, 60), 4);
	os_close(fd);
	before = content(b, b->path);
	assert_fails(bench_try_open(b, &err), &err, DB_SCHEMA_NEWER);
	after = content(b, b->path);
	assert_true(str_eq(before, after));
	assert_int_equal(os_exists(beside(b, "-wal"), &err), 0);
}

static void foreign_files_are_refused_untouched(void **state)
{
	_cleanup_(bench) struct bench *b = bench_new();
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(os_replace_file(b->path, STR("my diary, not a database"), 0600, &err), &err);
	assert_fails(bench_try_open(b, &err), &err, DB_SCHEMA_UNSUPPORTED);
	assert_true(str_is(content(b, b->path), "my diary, not a database"));
}

/* What a damaged row must never become: a bot without its sandbox. */
static int op_damage(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	struct db_stmt *s = db_prepare(tx->view.db,
		"UPDATE bots SET settings = replace(settings, 'read-only', 'read-mostly')");

	(void)b;
	(void)arg;
	return db_run(s, err);
}

static void a_damaged_sandbox_is_an_error_not_none(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_create c = plain_bot("ada");
	struct error err = ERROR_INIT;
	struct op_bot op = {0};

	(void)state;
	c.set.sandbox = 1;
	op.id = make_bot_of(b, &c).id;
	assert_ok(bench_read(b, op_bot_id, &op, &err), &err);
	assert_ok(bench_write(b, op_damage, NULL, &err), &err);
	assert_fails(bench_read(b, op_bot_id, &op, &err), &err, DB_ERROR);
}

static int op_damage_turn(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	struct db_stmt *s = db_prepare(tx->view.db, "UPDATE turns SET status = 'mended'");

	(void)b;
	(void)arg;
	return db_run(s, err);
}

static void a_damaged_turn_is_an_error_of_its_own(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submit s = plain_submit("ada", "r1");
	struct store_submitted ret;
	struct op_turn op = {.bot = 1, .turn = 1};
	struct error err = ERROR_INIT;

	(void)state;
	make_bot(b, "ada");
	submit(b, "ada", "r1");
	assert_ok(bench_write(b, op_damage_turn, NULL, &err), &err);
	assert_fails(bench_read(b, op_turn, &op, &err), &err, DB_ERROR);
	assert_fails(try_submit(b, &s, &ret, &err), &err, DB_ERROR);
	make_bot(b, "bea"); /* others go on */
	assert_true(submit(b, "bea", "r1").started);
}

/* No room */

/* Submissions with large prompts until one is refused; how many were taken. */
static int fill(struct bench *b, struct error *err)
{
	char *prompt = arena_alloc(&b->a, 100000);
	struct store_submitted ret;
	int taken = 0;

	memset(prompt, 'p', 100000);
	for (; taken < 200; taken++) {
		struct store_submit s = plain_submit("ada", arena_printf(&b->a, "r%d", taken));

		s.prompt = (struct str){prompt, 100000};
		error_clear(err);
		if (try_submit(b, &s, &ret, err) < 0)
			break;
	}
	return taken;
}

static void assert_room_comes_back(struct bench *b, int taken)
{
	struct store_submit s = plain_submit("ada", "after");
	struct store_submitted ret;
	struct error err = ERROR_INIT;

	assert_ok(try_submit(b, &s, &ret, &err), &err);
	assert_int_equal(ret.turn.id, taken + 1);
	bench_reopen(b);
	assert_int_equal(get_turn(b, 1, taken + 1).id, taken + 1);
}

static void a_job_without_room_fails_and_later_ones_do_not(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct rlimit before, small;
	struct error err = ERROR_INIT;
	size_t events;
	int taken;

	(void)state;
	make_bot(b, "ada");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){2 << 20, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0); /* the threads block SIGXFSZ */
	taken = fill(b, &err);
	events = b->event_count;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_ptr_equal(err.kind, &DB_FULL);
	assert_in_range(taken, 2, 100);
	assert_int_equal(events, 1 + taken);
	assert_room_comes_back(b, taken);
}

/* In a mount namespace of its own; 0 fine, 77 no such thing here. */
static void a_full_file_system(void)
{
	_cleanup_(bench) struct bench *b = bench_new();
	struct error err = ERROR_INIT;
	char *ballast;
	int taken, fd = -1;

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("none", b->dir, "tmpfs", 0, "size=8m,mode=700") < 0)
		_exit(77);
	ballast = arena_printf(&b->a, "%s/ballast", b->dir);
	must(os_open(ballast, O_RDWR | O_CREAT | O_EXCL, 0600, &fd, NULL) == 0);
	must(posix_fallocate(fd, 0, 5 << 20) == 0);
	os_close(fd);
	bench_open(b);
	make_bot(b, "ada");
	taken = fill(b, &err);
	assert_ptr_equal(err.kind, &DB_FULL);
	assert_in_range(taken, 2, 60);
	assert_int_equal(unlink(ballast), 0);
	assert_room_comes_back(b, taken);
	bench_close(b);
	must(umount2(b->dir, MNT_DETACH) == 0);
}

static void a_full_file_system_fails_jobs_until_there_is_room(void **state)
{
	int status = 0;
	pid_t child;

	(void)state;
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		a_full_file_system();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip(); /* may not mount */
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Behind the last group, without a call: what was written moves from the log into the file. */
static void look_again(void *arg)
{
	(void)arg; /* only wakes the loop */
}

static void a_quiet_store_moves_its_log_into_the_file(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submit s = plain_submit("ada", "r1");
	struct loop_timer *timer = loop_timer_new(b->loop, look_again, NULL);
	struct store_submitted ret;
	struct store_counts counts = {0};
	struct error err = ERROR_INIT;
	char *prompt;

	(void)state;
	make_bot(b, "ada");
	prompt = arena_alloc(&b->a, 200000);
	memset(prompt, 'p', 200000);
	s.prompt = (struct str){prompt, 200000};
	assert_ok(try_submit(b, &s, &ret, &err), &err);
	for (int i = 0; counts.file_bytes < 200000; i++) {
		assert_true(i < 3000); /* half a minute, were the disk that slow */
		loop_timer_set(timer, 10);
		loop_run(b->loop);
		store_counts(b->store, &counts);
	}
	loop_timer_free(timer);
	loop_run(b->loop);
}

#ifdef CONSORT_SANITIZED
/* The nth call into the system fails: the store opens, or says why and leaves nothing behind. */
static void opening_survives_every_failing_call(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct error err = ERROR_INIT;
	unsigned failed = 0;

	(void)state;
	make_bot(b, "ada");
	submit(b, "ada", "r1");
	bench_close(b);
	for (unsigned n = 1;; n++) {
		int rc;

		os_fault_at(n, EIO);
		error_clear(&err);
		rc = bench_try_open(b, &err);
		if (os_fault_calls() < n) {
			os_fault_at(0, 0);
			assert_int_equal(rc, 0);
			break;
		}
		os_fault_at(0, 0);
		if (rc < 0) {
			assert_non_null(err.kind);
			assert_null(b->store);
			failed++;
		} else {
			bench_close(b);
		}
	}
	assert_true(failed > 3);
	assert_int_equal(get_bot(b, 1).status, BOT_INTERRUPTED);
}
#endif

/* No statement may scan what grows (spec 4.2). A plan's line that visits a table is SEARCH or SCAN.
 */
static int op_plans(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	(void)b;
	(void)arg;
	for (size_t i = 0; i < SQL_COUNT; i++) {
		_cleanup_(buf) struct buf plan = BUF_INIT(65536);

		must(store_sql[i]);
		if (db_plan(tx->view.db, store_sql[i], &plan, err) < 0)
			return -1;
		if (plan.len && (strstr(plan.data, "SCAN") || strstr(plan.data, "TEMP B-TREE")))
			return error_set(err, &ERROR_INVALID, "%s: %s", store_sql[i], plan.data);
	}
	return 0;
}

static void no_statement_scans_a_table(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(bench_write(b, op_plans, NULL, &err), &err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_second_owner_is_refused),
		cmocka_unit_test(names_itself_and_tells_copies_apart),
		cmocka_unit_test(two_stores_are_of_different_lineages),
		cmocka_unit_test(its_files_are_private_whatever_the_umask),
		cmocka_unit_test(what_is_kept_lies_in_the_clear),
		cmocka_unit_test(hard_links_are_refused),
		cmocka_unit_test(a_newer_schema_is_refused_untouched),
		cmocka_unit_test(foreign_files_are_refused_untouched),
		cmocka_unit_test(a_damaged_sandbox_is_an_error_not_none),
		cmocka_unit_test(a_damaged_turn_is_an_error_of_its_own),
		cmocka_unit_test(a_job_without_room_fails_and_later_ones_do_not),
		cmocka_unit_test(a_full_file_system_fails_jobs_until_there_is_room),
		cmocka_unit_test(a_quiet_store_moves_its_log_into_the_file),
#ifdef CONSORT_SANITIZED
		cmocka_unit_test(opening_survives_every_failing_call),
#endif
		cmocka_unit_test(no_statement_scans_a_table),
	};

	return cmocka_run_group_tests_name("store_open", tests, NULL, NULL);
}
