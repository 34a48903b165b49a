/*
 * Writing and removing regular files by handle.
 *
 * A new content is staged in the same folder, where that can be without a name, so that who is
 * killed meanwhile leaves nothing, and takes the file's name in one step, so a reader sees the old
 * file or the new one, whole. Where that step can exchange the
 * two names, the old file is looked at once more after it: somebody's change between the look and
 * the step is put back. What another name, another owner or a read-only folder forbids is written
 * in place. There is no fsync: a file of a workspace is as durable as an editor's or a compiler's.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "internal.h"
#include "os/os.h"

enum {
	STAGE_RANDOM_BYTES = 8,
	XATTR_NAMES_MAX_BYTES = 4096, /* ours: a longer list is taken for one that matters */
	NS_PER_S = 1000000000,
};

#define STAGE_PREFIX    ".consort-"
#define STAGE_NAME_SIZE (sizeof(STAGE_PREFIX) + 2 * STAGE_RANDOM_BYTES)

const struct error_kind GUARD_FILE_CHANGED = {"file_changed", ERROR_CLASS_CONFLICT};

/* One file being written or removed: its folder, and what stands there now. */
struct target {
	int dir; /* O_PATH */
	const char *name, *path;
	bool exists;
	struct stat st;
};

static void target_cleanup(struct target *t)
{
	os_close(t->dir);
}

struct guard_expect guard_expect_stat(const struct stat *st)
{
	return (struct guard_expect){
		.kind = GUARD_EXPECT_SAME,
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size_bytes = (uint64_t)st->st_size,
		.mtime_ns = st->st_mtim.tv_sec * (int64_t)NS_PER_S + st->st_mtim.tv_nsec,
	};
}

static bool same(const struct guard_expect *a, const struct guard_expect *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size_bytes == b->size_bytes &&
	       a->mtime_ns == b->mtime_ns;
}

/* Opens the next folder of a path below `dir`, making it when it is missing. */
static int step_into(int dir, const char *part, bool make, int *ret_fd, struct error *err)
{
	if (make && mkdirat(dir, part, 0777) < 0 && errno != EEXIST)
		return guard_sys(err, "make the folder", part);
	return guard_openat(dir, part, O_PATH | O_DIRECTORY, 0, ret_fd, err);
}

/* Walks from the root and makes what is missing, each step by handle. */
static int make_folders(const char *path, int *ret_fd, struct error *err)
{
	_cleanup_(fd) int at = -1;
	struct str rest = {path + 1, strlen(path + 1)}, part;

	if (guard_openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0, &at, err) < 0)
		return -1;
	while (str_next(&rest, '/', &part)) {
		char name[NAME_MAX + 1];
		struct stat st;
		int next;
		bool make;

		must(part.len > 0 && part.len <= NAME_MAX); /* a resolved path holds no others */
		memcpy(name, part.p, part.len);
		name[part.len] = '\0';
		make = fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
		if (step_into(at, name, make, &next, err) < 0)
			return -1;
		os_close(at);
		at = next;
	}
	*ret_fd = fd_take(&at);
	return 0;
}

static int open_folder(const char *path, bool make, int *ret_fd, struct error *err)
{
	struct error why = ERROR_INIT;

	if (guard_openat(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0, ret_fd, &why) == 0)
		return 0;
	if (make && why.sys == ENOENT)
		return make_folders(path, ret_fd, err);
	if (err)
		*err = why;
	return -1;
}

/* Finds the folder and looks at what has the name now. */
static int target_open(
	const struct guard_path *p, bool make_parents, struct target *ret, struct error *err)
{
	char *slash = strrchr(p->real, '/');
	_cleanup_(mem) char *folder = NULL;

	must(slash); /* a resolved path is absolute */
	if (slash[1] == '\0')
		return error_set(err, &GUARD_NOT_REGULAR, "'/' is a folder");
	folder = slash == p->real ? xstrdup("/") : xstrndup(p->real, (size_t)(slash - p->real));
	ret->name = slash + 1;
	ret->path = p->real;
	if (open_folder(folder, make_parents, &ret->dir, err) < 0)
		return -1;
	ret->exists = fstatat(ret->dir, ret->name, &ret->st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!ret->exists)
		return errno == ENOENT ? 0 : guard_sys(err, "look at", p->real);
	if (S_ISLNK(ret->st.st_mode))
		return error_set(err, &GUARD_CHANGED, "'%s' has become a symbolic link", p->real);
	if (!S_ISREG(ret->st.st_mode))
		return error_set(err, &GUARD_NOT_REGULAR, "'%s' is %s, not a regular file", p->real,
			S_ISDIR(ret->st.st_mode) ? "a folder" : "a device, pipe or socket");
	return 0;
}

static int changed(const char *path, const char *how, struct error *err)
{
	return error_set(err, &GUARD_FILE_CHANGED, "'%s' %s since it was looked at", path, how);
}

static int target_expect(
	const struct target *t, const struct guard_expect *expect, struct error *err)
{
	struct guard_expect now;

	if (expect->kind == GUARD_EXPECT_ANYTHING)
		return 0;
	if (expect->kind == GUARD_EXPECT_ABSENT)
		return t->exists ? changed(t->path, "was made", err) : 0;
	if (!t->exists)
		return changed(t->path, "was removed", err);
	now = guard_expect_stat(&t->st);
	return same(&now, expect) ? 0 : changed(t->path, "was changed", err);
}

/* Attributes that a new inode would not have: access lists, and what the user put there. */
static bool has_attributes(int fd)
{
	char names[XATTR_NAMES_MAX_BYTES];
	ssize_t len = flistxattr(fd, names, sizeof(names));

	if (len < 0)
		return errno != ENOTSUP;
	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1) {
		if (strncmp(names + at, "security.", strlen("security.")) != 0)
			return true; /* labels come with the folder */
	}
	return false;
}

/* Opens the file that is there for writing in place; still the one that was looked at, or an error.
 */
static int open_in_place(const struct target *t, int *ret_fd, struct error *err)
{
	struct guard_expect was = guard_expect_stat(&t->st), now;
	_cleanup_(fd) int fd = -1;
	struct stat st;

	if (guard_openat(t->dir, t->name, O_WRONLY | O_NONBLOCK | O_NOCTTY, 0, &fd, err) < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return guard_sys(err, "look at", t->path);
	now = guard_expect_stat(&st);
	if (!same(&was, &now))
		return changed(t->path, "was changed", err);
	*ret_fd = fd_take(&fd);
	return 0;
}

static int write_in_place(const struct target *t, struct str content, struct error *err)
{
	_cleanup_(fd) int fd = -1;

	if (open_in_place(t, &fd, err) < 0)
		return -1;
	if (os_write_all(fd, content.p, content.len, err) < 0)
		return error_prefix(err, "'%s' is half written", t->path);
	if (ftruncate(fd, (off_t)content.len) < 0)
		return guard_sys(err, "cut", t->path);
	return 0;
}

/* A new content on its way. */
struct stage {
	int fd;
	bool named;
	char name[STAGE_NAME_SIZE];
};

static void stage_cleanup(struct stage *s)
{
	os_close(s->fd);
}

static int stage_choose_name(struct stage *s, struct error *err)
{
	unsigned char bits[STAGE_RANDOM_BYTES];
	char hex[2 * sizeof(bits) + 1];

	if (os_random(bits, sizeof(bits), err) < 0)
		return -1;
	text_hex(bits, sizeof(bits), hex);
	(void)snprintf(s->name, sizeof(s->name), STAGE_PREFIX "%s", hex); /* has room for both */
	return 0;
}

/* A file in the folder, opened for writing: without a name where the file system has such and /proc
 * can give it one, else under a new one. */
static int stage_open(const struct target *t, mode_t mode, struct stage *s, struct error *err)
{
	if (stage_choose_name(s, err) < 0)
		return -1;
	if (access("/proc/self/fd", X_OK) == 0 &&
		guard_openat(t->dir, ".", O_WRONLY | O_TMPFILE, mode, &s->fd, NULL) == 0)
		return 0;
	if (guard_openat(t->dir, s->name, O_WRONLY | O_CREAT | O_EXCL, mode, &s->fd, err) < 0)
		return -1;
	s->named = true;
	return 0;
}

/* Gives a file without a name this one, which must be free. */
static int stage_link(const struct stage *s, const struct target *t, const char *name)
{
	char path[sizeof("/proc/self/fd/") + 3 * sizeof(int)];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", s->fd); /* fits by its size */
	return linkat(AT_FDCWD, path, t->dir, name, AT_SYMLINK_FOLLOW);
}

static int stage_fill(
	int fd, const struct target *t, mode_t new_mode, struct str content, struct error *err)
{
	mode_t mode = t->exists ? t->st.st_mode & 0777
				: new_mode; /* setuid goes, as by any write */

	if (os_write_all(fd, content.p, content.len, err) < 0)
		return error_prefix(err, "write '%s'", t->path);
	if (mode != 0 || t->exists) {
		if (fchmod(fd, mode) < 0)
			return guard_sys(err, "set the mode of", t->path);
	}
	return 0;
}

/* Gives the staged file the name of a file that was not there: never over one that is now. */
static int take_free_name(const struct target *t, const struct stage *s, struct error *err)
{
	int rc = s->named ? renameat2(t->dir, s->name, t->dir, t->name, RENAME_NOREPLACE)
			  : stage_link(s, t, t->name);

	/* a file system without that step: a link takes no name that is taken either */
	if (rc < 0 && s->named && (errno == EINVAL || errno == ENOSYS))
		rc = linkat(t->dir, s->name, t->dir, t->name, 0);
	if (rc < 0 && errno == EEXIST)
		return changed(t->path, "was made", err);
	return rc < 0 ? guard_sys(err, "name", t->path) : 0;
}

/*
 * After the exchange the stage's name holds the old file: is it the one that was looked at? If it
 * is not, both go back to where they were. Whoever took the name in that moment wins it: then what
 * was there before stays beside it under the stage's name (*ret_keep), and the error says so.
 */
static int check_exchanged(
	const struct target *t, int fd, const char *stage, bool *ret_keep, struct error *err)
{
	struct guard_expect was = guard_expect_stat(&t->st), now;
	struct stat st, ours;

	if (fstat(fd, &ours) < 0 || fstatat(t->dir, stage, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return guard_sys(err, "look at", stage);
	now = guard_expect_stat(&st);
	if (same(&was, &now))
		return 0;
	*ret_keep = true;
	if (renameat2(t->dir, stage, t->dir, t->name, RENAME_EXCHANGE) == 0 &&
		fstatat(t->dir, stage, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		*ret_keep = st.st_ino != ours.st_ino || st.st_dev != ours.st_dev;
		if (!*ret_keep)
			return changed(t->path, "was changed", err);
		(void)renameat2(
			t->dir, stage, t->dir, t->name, RENAME_EXCHANGE); /* either is kept */
	}
	return error_set(err, &GUARD_FILE_CHANGED,
		"'%s' was changed twice at the same moment; one version lies in '%s' beside it",
		t->path, stage);
}

/* Gives the staged file the name of the one that is there. *ret_keep: the stage's name must stay.
 */
static int take_name(const struct target *t, struct stage *s, bool *ret_keep, struct error *err)
{
	const char *stage = s->name;
	struct stat st;

	if (!s->named && stage_link(s, t, stage) < 0)
		return guard_sys(err, "name", stage);
	s->named = true;
	if (renameat2(t->dir, stage, t->dir, t->name, RENAME_EXCHANGE) == 0)
		return check_exchanged(t, s->fd, stage, ret_keep, err);
	if (errno == ENOENT)
		return changed(t->path, "was removed", err);
	if (errno != EINVAL && errno != ENOSYS)
		return guard_sys(err, "replace", t->path);
	if (fstatat(t->dir, t->name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != t->st.st_dev ||
		st.st_ino != t->st.st_ino)
		return changed(t->path, "was replaced", err);
	return renameat(t->dir, stage, t->dir, t->name) < 0 ? guard_sys(err, "replace", t->path)
							    : 0;
}

/* *ret_no_room: no file can be made in this folder, and nothing was. */
static int publish_staged(const struct target *t, struct str content, mode_t new_mode,
	bool *ret_no_room, struct error *err)
{
	__attribute__((cleanup(stage_cleanup))) struct stage stage = {.fd = -1};
	mode_t birth = t->exists || new_mode ? 0600 : 0666;
	bool keep = false;
	int rc;

	if (stage_open(t, birth, &stage, err) < 0) {
		*ret_no_room = error_is(err, &GUARD_DENIED);
		return -1;
	}
	rc = stage_fill(stage.fd, t, new_mode, content, err);
	if (rc == 0)
		rc = t->exists ? take_name(t, &stage, &keep, err) : take_free_name(t, &stage, err);
	if (stage.named && !keep)
		(void)unlinkat(
			t->dir, stage.name, 0); /* the old file, or ours that found no name */
	return rc;
}

/* Whether a new inode under the name would lose something that the old one has. */
static bool must_stay(const struct target *t)
{
	_cleanup_(fd) int fd = -1;

	if (t->st.st_nlink > 1 || t->st.st_uid != geteuid() || t->st.st_gid != getegid())
		return true;
	if (guard_openat(t->dir, t->name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd, NULL) < 0)
		return true; /* could not tell */
	return has_attributes(fd);
}

static int publish_over(const struct target *t, struct str content, struct error *err)
{
	struct error why = ERROR_INIT;
	bool no_room = false;

	/* a file that may not be written is not replaced either */
	if (faccessat(t->dir, t->name, W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) < 0)
		return guard_sys(err, "write", t->path);
	if (must_stay(t))
		return write_in_place(t, content, err);
	if (publish_staged(t, content, 0, &no_room, &why) == 0)
		return 0;
	if (no_room || why.sys == EBUSY) /* a mount point keeps its name */
		return write_in_place(t, content, err);
	*err = why;
	return -1;
}

int guard_publish_as(const struct guard_path *p, struct str content, const struct guard_write *how,
	struct error *err)
{
	__attribute__((cleanup(target_cleanup))) struct target t = {.dir = -1};
	struct error own = ERROR_INIT;
	bool no_room = false;

	if (!err)
		err = &own; /* what went wrong decides what is tried next */
	error_clear(err);
	if (target_open(p, how->make_parents, &t, err) < 0 ||
		target_expect(&t, &how->expect, err) < 0)
		return -1;
	if (t.exists)
		return publish_over(&t, content, err);
	return publish_staged(&t, content, how->new_mode & 0777, &no_room, err);
}

int guard_publish(
	const struct guard_path *p, struct str content, bool make_parents, struct error *err)
{
	return guard_publish_as(
		p, content, &(struct guard_write){.make_parents = make_parents}, err);
}

int guard_unlink_as(
	const struct guard_path *p, const struct guard_expect *expect, struct error *err)
{
	__attribute__((cleanup(target_cleanup))) struct target t = {.dir = -1};

	if (target_open(p, false, &t, err) < 0)
		return -1;
	if (!t.exists && expect->kind != GUARD_EXPECT_SAME)
		return error_set(err, &GUARD_NOT_FOUND, "'%s' does not exist", p->real);
	if (target_expect(&t, expect, err) < 0)
		return -1;
	if (unlinkat(t.dir, t.name, 0) < 0)
		return guard_sys(err, "remove", p->real);
	return 0;
}

int guard_unlink(const struct guard_path *p, struct error *err)
{
	return guard_unlink_as(p, &(struct guard_expect){.kind = GUARD_EXPECT_ANYTHING}, err);
}
