#ifndef SCRATCH_H
#define SCRATCH_H
/* A private folder per test, gone afterwards whatever the test left in it. */
#include <dirent.h>
#include <fcntl.h>

#include "os/os.h"
#include "testing.h"

static inline int scratch_set_up(void **state)
{
	*state = testing_dir();
	return 0;
}

static inline int scratch_tear_down(void **state)
{
	char *dir = *state;
	struct error err = ERROR_INIT;
	int rc = os_remove_tree(dir, &err);

	if (rc < 0)
		print_error("%s\n", err.text);
	free(dir);
	return rc;
}

#define scratch_test(f) cmocka_unit_test_setup_teardown(f, scratch_set_up, scratch_tear_down)

/* The caller frees. */
static inline char *scratch_path(void **state, const char *name)
{
	return xasprintf("%s/%s", (char *)*state, name);
}

/* Entries of a folder, "." and ".." left out; -1 when it cannot be read. */
static inline int scratch_entries(const char *path)
{
	DIR *d = opendir(path);
	int count = -2;

	if (!d)
		return -1;
	while (readdir(d))
		count++;
	(void)closedir(d);
	return count;
}

/* Open descriptors of this process. */
static inline int scratch_fds(void)
{
	return scratch_entries("/proc/self/fd");
}

static inline unsigned scratch_mode(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

static inline void scratch_write(const char *path, const char *text)
{
	struct error err = ERROR_INIT;

	assert_ok(os_replace_file(path, str_from(text), 0600, &err), &err);
}

#endif
