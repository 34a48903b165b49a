#ifndef DB_TEST_FIXTURE_H
#define DB_TEST_FIXTURE_H
/*
 * What the tests of db share: a schema, a private folder per test, and children that die as told.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "db/db.h"
#include "db/internal.h"
#include "os/os.h"
#include "testing.h"

enum { TEST_APPLICATION_ID = 0x41474e54 };

static const char *const test_migrations[] = {
	"CREATE TABLE bot(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, size INTEGER) STRICT;"
	"CREATE TABLE node(id INTEGER PRIMARY KEY, bot INTEGER NOT NULL REFERENCES bot(id),"
	" body BLOB) STRICT;",
	"ALTER TABLE bot ADD COLUMN note TEXT;",
};
static const struct db_schema test_schema = {
	TEST_APPLICATION_ID, test_migrations, ARRAY_LEN(test_migrations)};

struct fixture {
	char *dir, *path;
};

static inline int fixture_set_up(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->dir = testing_dir();
	f->path = xasprintf("%s/state.sqlite", f->dir);
	*state = f;
	return 0;
}

static inline int fixture_tear_down(void **state)
{
	struct fixture *f = *state;
	int rc = os_remove_tree(f->dir, NULL);

	free(f->dir);
	free(f->path);
	free(f);
	return rc;
}

#define fixture_test(f) cmocka_unit_test_setup_teardown(f, fixture_set_up, fixture_tear_down)

static inline struct db *open_store(const struct fixture *f)
{
	struct error err = ERROR_INIT;
	struct db *d = NULL;

	assert_ok(db_open(f->path, &test_schema, &d, &err), &err);
	return d;
}

/* The kinds of storage_error share a code: only the pointer tells them apart. */
#define assert_kind(call, err, expected)                                                           \
	do {                                                                                       \
		assert_fails(call, err, expected);                                                 \
		assert_ptr_equal((err)->kind, &(expected));                                        \
	} while (0)

static inline mode_t mode_of(const char *path, const char *suffix)
{
	_cleanup_(mem) char *name = xasprintf("%s%s", path, suffix);
	struct stat st;

	if (lstat(name, &st) < 0)
		return 0;
	return st.st_mode & 07777;
}

static inline void write_file(const char *path, const void *p, size_t len, mode_t mode)
{
	_cleanup_(fd) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_true(write(fd, p, len) == (ssize_t)len);
	assert_return_code(fchmod(fd, mode), 0);
}

static inline struct buf file_content(const char *path, const char *suffix)
{
	_cleanup_(mem) char *name = xasprintf("%s%s", path, suffix);
	struct buf b = BUF_INIT(64 * 1024 * 1024);

	if (access(name, F_OK) == 0)
		assert_int_equal(os_read_file(name, &b, NULL), 0);
	return b;
}

static inline int insert_bot(struct db *d, const char *name, struct error *err)
{
	struct db_stmt *s = db_prepare(d, "INSERT INTO bot(name) VALUES(?1)");

	db_bind_str(s, 1, str_from(name));
	return db_run(s, err);
}

static inline int64_t count_bots(struct db *d)
{
	struct db_stmt *s = db_prepare(d, "SELECT count(*) FROM bot");
	int64_t count = db_step(s, NULL) == 1 ? db_col_i64(s, 0) : -1;

	db_reset(s);
	return count;
}

/* In children: cmocka's asserts would unwind into the parent's test. */
#define child_check(cond)                                                                          \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                 \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

/* Runs it in a child and returns what waitpid says. */
static inline int in_child(int (*work)(const struct fixture *f), const struct fixture *f)
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(work(f));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static inline void assert_child_ok(int (*work)(const struct fixture *f), const struct fixture *f)
{
	int status = in_child(work, f);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

#endif
