#ifndef GUARD_GUARD_H
#define GUARD_GUARD_H
/*
 * guard: the one door to paths that a tool is given.
 *
 * A path is resolved once, where the contract lets a link through, then opened with openat2 and no
 * links, by handle from then on. There is no second way to open a file in a tool.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "error/error.h"
#include "text/text.h"

enum {
	GUARD_PATH_MAX_BYTES = 4096, /* agent spec 5.4: paths are 1 to 4,096 bytes */
	GUARD_LINKS_MAX = 40,        /* what the kernel allows: path_resolution(7) */
};

extern const struct error_kind GUARD_INVALID_PATH; /* invalid_path: empty, NUL, too long */
extern const struct error_kind GUARD_NOT_FOUND;    /* file_not_found */
extern const struct error_kind
	GUARD_NOT_REGULAR; /* file_not_regular: also files of procfs (AG-176) */
extern const struct error_kind GUARD_TOO_LARGE; /* file_too_large */
extern const struct error_kind GUARD_CHANGED;   /* path_changed: a link took a part's place */
extern const struct error_kind
	GUARD_DENIED; /* permission_denied: the mode of a file or folder, or a read-only mount */
extern const struct error_kind GUARD_FILE_CHANGED; /* file_changed: not what the caller expected */

/* Where a path really lies: every link followed, parts that do not exist yet taken as they are. */
struct guard_path {
	char *real; /* absolute, no '.', '..', '//' or links; owned */
	bool exists;
	bool is_dir;
	dev_t dev; /* of the file itself when it exists */
	ino_t ino;
};
void guard_path_release(struct guard_path *p);
static inline void guard_path_cleanup(struct guard_path *p)
{
	guard_path_release(p);
}

/* Resolves `path`, relative to `base` (absolute) when it is not absolute. ".." through a part that
 * does not exist is GUARD_INVALID_PATH. A last part that is a dangling link resolves to where it
 * points. */
int guard_resolve(const char *base, struct str path, struct guard_path *ret, struct error *err);

/* Whether `path` is `root` or lies below it, by whole components. Both absolute and resolved. */
bool guard_beneath(const char *root, const char *path);

/* Opens a resolved path with RESOLVE_NO_SYMLINKS|RESOLVE_NO_MAGICLINKS: GUARD_CHANGED when a link
 * has appeared. Regular files only, opened non-blocking and checked on the descriptor; a file on
 * procfs is GUARD_NOT_REGULAR (AG-176). */
int guard_open_read(
	const struct guard_path *p, int *ret_fd, struct stat *ret_st, struct error *err);
/* An O_PATH descriptor of a resolved folder: what it names stays the same, whatever the name does.
 */
int guard_open_folder(const char *real, int *ret_fd, struct error *err);
/* All of it, up to max_bytes (GUARD_TOO_LARGE). `never` lists (dev, ino) pairs whose open() would
 * harm, such as the store's (DESIGN 5.8): they are looked at with O_PATH first and read by a child
 * instead; may be NULL. */
struct guard_id {
	dev_t dev;
	ino_t ino;
};
int guard_read(const struct guard_path *p, size_t max_bytes, const struct guard_id *never,
	size_t never_count, struct buf *to, struct error *err);

/* Replaces or makes a file by its resolved path: staged in the same folder under an exclusive name,
 * mode kept (0666 & ~umask for a new one), renamed over it; the target must be regular or absent.
 * Missing parent folders are made when make_parents. Every step by handle and without links. A file
 * with more than one hard link, or in a folder where no file can be made, is written in place
 * instead. */
int guard_publish(
	const struct guard_path *p, struct str content, bool make_parents, struct error *err);
/* Removes a regular file by its resolved path. */
int guard_unlink(const struct guard_path *p, struct error *err);

/* What the caller read before it decided to write: an edit must not undo somebody's newer change.
 */
enum guard_expect_kind { GUARD_EXPECT_ANYTHING, GUARD_EXPECT_ABSENT, GUARD_EXPECT_SAME };
struct guard_expect {
	enum guard_expect_kind kind;
	dev_t dev; /* this and the rest: for GUARD_EXPECT_SAME */
	ino_t ino;
	uint64_t size_bytes;
	int64_t mtime_ns;
};
struct guard_expect guard_expect_stat(const struct stat *st); /* GUARD_EXPECT_SAME as st */
struct guard_write {
	bool make_parents;
	mode_t new_mode; /* exactly this mode for a file that is not there yet; 0: 0666 & ~umask */
	struct guard_expect expect;
};
/* guard_publish under conditions: GUARD_FILE_CHANGED when the file is not what `expect` says,
 * looked at by handle and, where the file system can exchange two names, after the fact as well, in
 * which case the other one is put back. */
int guard_publish_as(const struct guard_path *p, struct str content, const struct guard_write *how,
	struct error *err);
int guard_unlink_as(
	const struct guard_path *p, const struct guard_expect *expect, struct error *err);

#endif
