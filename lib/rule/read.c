/* read: `.rules` files and folders of them. Links are refused: what a name stands for is to be
 * seen. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "os/os.h"
#include "rule/internal.h"

struct names {
	char **items;
	size_t count;
};

static void names_release(struct names *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->items[i]);
	free(n->items);
}
static inline void names_cleanup(struct names *n)
{
	names_release(n);
}

static void close_folder(DIR *d)
{
	if (d)
		(void)closedir(d); /* only read */
}
MEM_CLEANUP(folder, DIR *, close_folder)

/* Whatever a system call said, it is the rules that could not be read. */
static int unreadable(struct error *err, const struct error *why)
{
	return error_set(err, &RULES_UNREADABLE, "%s", why->text);
}

static int open_as(int dir, const char *path, int flags, int *ret_fd, struct error *err)
{
	struct error why = ERROR_INIT;

	if (os_openat(dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | flags, 0, ret_fd,
		    &why) == 0)
		return 0;
	if (why.sys == ELOOP)
		return error_set(err, &RULES_UNREADABLE, "%s: a symbolic link", path);
	return unreadable(err, &why);
}

static int read_open(struct rules *r, int fd, const char *name, struct error *err)
{
	_cleanup_(mem) char *text = NULL;
	struct error why = ERROR_INIT;
	size_t len;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_sys_kind(err, &RULES_UNREADABLE, "%s: look at it", name);
	if (!S_ISREG(st.st_mode))
		return error_set(err, &RULES_UNREADABLE, "%s: not a regular file", name);
	if (st.st_size > RULES_FILE_MAX_BYTES)
		return error_set(
			err, &RULES_LIMIT, "%s: over %d bytes", name, RULES_FILE_MAX_BYTES);
	text = xmalloc(RULES_FILE_MAX_BYTES + 1); /* it may grow meanwhile, and is then too long */
	if (os_read_full(fd, text, RULES_FILE_MAX_BYTES + 1, &len, &why) < 0)
		return error_set(err, &RULES_UNREADABLE, "%s: %s", name, why.text);
	return rules_read_text(r, name, (struct str){text, len}, err);
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_names(DIR *folder, const char *path, struct names *ret, struct error *err)
{
	const struct dirent *entry;

	ret->items = xcalloc(RULES_FILES_MAX, sizeof(*ret->items));
	while (errno = 0, (entry = readdir(folder))) {
		const struct str name = str_from(entry->d_name);

		if (name.p[0] == '.' || !str_ends(name, STR(".rules")))
			continue;
		if (ret->count == RULES_FILES_MAX)
			return error_set(err, &RULES_LIMIT, "%s: more than %d rules files", path,
				RULES_FILES_MAX);
		ret->items[ret->count++] = xstrdup(entry->d_name);
	}
	if (errno)
		return error_sys_kind(err, &RULES_UNREADABLE, "list '%s'", path);
	qsort(ret->items, ret->count, sizeof(*ret->items), by_bytes);
	return 0;
}

static int read_folder(struct rules *r, int fd, const char *path, struct error *err)
{
	_cleanup_(folder) DIR *folder = fdopendir(fd); /* takes the descriptor */
	_cleanup_(names) struct names names = {NULL, 0};

	if (!folder) {
		os_close(fd);
		return error_sys_kind(err, &RULES_UNREADABLE, "list '%s'", path);
	}
	if (list_names(folder, path, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.count; i++) {
		_cleanup_(fd) int file = -1;

		if (open_as(dirfd(folder), names.items[i], 0, &file, err) < 0 ||
			read_open(r, file, names.items[i], err) < 0)
			return error_prefix(err, "%s", path);
	}
	return 0;
}

int rules_read_path(const char *path, struct rules **ret, struct error *err)
{
	_cleanup_(rules) struct rules *r = rules_new();
	_cleanup_(fd) int fd = -1;
	struct stat st;
	int rc;

	if (open_as(AT_FDCWD, path, 0, &fd, err) < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return error_sys_kind(err, &RULES_UNREADABLE, "%s: look at it", path);
	rc = S_ISDIR(st.st_mode) ? read_folder(r, fd_take(&fd), path, err)
				 : read_open(r, fd, path, err);
	if (rc < 0)
		return -1;
	*ret = mem_take(&r);
	return 0;
}
