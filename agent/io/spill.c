/* What commands in the background write, as files. */
#include "agent/io/spill.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"

const struct error_kind SPILL_FAILED = {"spill_failed", ERROR_CLASS_IO};
const char *const spill_streams[SPILL_STREAMS] = {"stdout", "stderr"};

enum {
	CALL_NAME_MAX_BYTES = 120, /* ours: with the number and the stream below NAME_MAX */
	NUMBER_MAX_BYTES = 24,     /* of an int64_t, in decimal, with its end */
};

struct spill_file {
	int fd;
	char *name;
	bool failed;
};
struct spill {
	char *root;
	int64_t bot, turn;
	struct spill_file files[SPILL_STREAMS];
};

char *spill_root(const char *store)
{
	return xasprintf("%s.spill", store);
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

char *spill_name(struct arena *a, const struct spill_place *at, size_t stream)
{
	char call[CALL_NAME_MAX_BYTES + 4];
	size_t len = 0;

	for (size_t i = 0; i < at->call_id.len && len < CALL_NAME_MAX_BYTES; i++) {
		char c = at->call_id.p[i];

		if (is_plain(c))
			call[len++] = c;
		else
			len += (size_t)snprintf(call + len, 4, "%%%02X", (unsigned char)c);
	}
	return arena_printf(
		a, "%.*s.%lld.%s", (int)len, call, (long long)at->process, spill_streams[stream]);
}

static int failed(const char *what, struct str name, struct error *err)
{
	return error_sys_kind(err, &SPILL_FAILED, "%s '" STR_FMT "'", what, STR_ARG(name));
}

/* A folder through no link. `make`: makes it, and sees to its mode. */
static int enter(int dir, const char *name, bool make)
{
	_cleanup_(fd) int fd = -1;
	struct stat st;

	if (make && mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
		return -1;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (make && (fstat(fd, &st) < 0 || ((st.st_mode & 07777) != 0700 && fchmod(fd, 0700) < 0)))
		return -1;
	return fd_take(&fd);
}

static int enter_number(int dir, int64_t number, bool make)
{
	char name[NUMBER_MAX_BYTES];

	(void)snprintf(name, sizeof(name), "%lld", (long long)number); /* fits */
	return enter(dir, name, make);
}

/* The folder of a turn, or -1 and errno. */
static int enter_turn(const char *root, int64_t bot, int64_t turn, bool make)
{
	_cleanup_(fd) int top = enter(AT_FDCWD, root, make);
	_cleanup_(fd) int middle = top < 0 ? -1 : enter_number(top, bot, make);

	return middle < 0 ? -1 : enter_number(middle, turn, make);
}

/*
 * Writing
 */
struct spill *spill_new(const struct spill_place *at)
{
	_cleanup_(arena) struct arena scratch = {.blocks = NULL};
	struct spill *s = xcalloc(1, sizeof(*s));

	s->root = xstrdup(at->root);
	s->bot = at->bot;
	s->turn = at->turn;
	for (size_t i = 0; i < SPILL_STREAMS; i++)
		s->files[i] = (struct spill_file){
			.fd = -1, .name = xstrdup(spill_name(&scratch, at, i))};
	return s;
}

static int open_file(struct spill *s, struct spill_file *f)
{
	_cleanup_(fd) int dir = enter_turn(s->root, s->bot, s->turn, true);
	_cleanup_(fd) int fd = -1;

	if (dir < 0)
		return -1;
	fd = openat(dir, f->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fchmod(fd, 0600) < 0) /* a umask may have taken the owner's bits */
		return -1;
	f->fd = fd_take(&fd);
	return 0;
}

/* Folders that are empty now; others stay, and say so. */
static void remove_folders(const char *root, int64_t bot, int64_t turn)
{
	_cleanup_(fd) int top = enter(AT_FDCWD, root, false);
	_cleanup_(fd) int middle = top < 0 ? -1 : enter_number(top, bot, false);
	char name[NUMBER_MAX_BYTES];

	if (middle < 0)
		return;
	(void)snprintf(name, sizeof(name), "%lld", (long long)turn);
	(void)unlinkat(middle, name, AT_REMOVEDIR);
	(void)snprintf(name, sizeof(name), "%lld", (long long)bot);
	(void)unlinkat(top, name, AT_REMOVEDIR);
}

void spill_discard(struct spill *s, size_t stream)
{
	struct spill_file *f = &s->files[stream];
	_cleanup_(fd) int dir = -1;

	if (f->fd < 0)
		return;
	os_close(f->fd);
	f->fd = -1;
	f->failed = true;
	dir = enter_turn(s->root, s->bot, s->turn, false);
	if (dir >= 0)
		(void)unlinkat(dir, f->name, 0); /* else the next open removes it */
	remove_folders(s->root, s->bot, s->turn);
}

/* A file that is not whole goes at once: what it took of a full disk is what the end needs. */
static int give_up(struct spill *s, size_t stream, const char *what, int sys, struct error *err)
{
	s->files[stream].failed = true;
	spill_discard(s, stream);
	errno = sys;
	return failed(what, str_from(s->files[stream].name), err);
}

int spill_put(struct spill *s, size_t stream, struct str bytes, struct error *err)
{
	struct spill_file *f = &s->files[stream];
	struct error cause = ERROR_INIT;

	if (bytes.len == 0)
		return 0;
	if (f->failed)
		return error_set(err, &SPILL_FAILED, "'%s' was given up", f->name);
	if (f->fd < 0 && open_file(s, f) < 0)
		return give_up(s, stream, "cannot make", errno, err);
	if (os_write_all(f->fd, bytes.p, bytes.len, &cause) < 0)
		return give_up(s, stream, "cannot write", cause.sys, err);
	return 0;
}

static int sync_folder(int fd)
{
	return fd < 0 || fsync(fd) < 0 ? -1 : 0;
}

int spill_sync(struct spill *s, struct error *err)
{
	_cleanup_(fd) int top = enter(AT_FDCWD, s->root, false);
	_cleanup_(fd) int middle = top < 0 ? -1 : enter_number(top, s->bot, false);
	_cleanup_(fd) int last = middle < 0 ? -1 : enter_number(middle, s->turn, false);

	for (size_t i = 0; i < SPILL_STREAMS; i++) {
		if (s->files[i].fd >= 0 && fdatasync(s->files[i].fd) < 0)
			return failed("cannot sync", str_from(s->files[i].name), err);
	}
	if (sync_folder(last) < 0 || sync_folder(middle) < 0 || sync_folder(top) < 0)
		return failed("cannot sync the folder of", str_from(s->files[0].name), err);
	return 0;
}

void spill_free(struct spill *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < SPILL_STREAMS; i++) {
		os_close(s->files[i].fd);
		free(s->files[i].name);
	}
	free(s->root);
	free(s);
}

/*
 * Reading
 */
static int read_part(int fd, int64_t offset, int64_t limit, struct arena *a, struct spill_part *ret)
{
	struct spill_part p = {.bytes = STR("")};
	struct stat st;
	size_t done = 0, want;
	char *to;

	if (fstat(fd, &st) < 0)
		return -1;
	p.total = st.st_size;
	if (offset < p.total && limit > 0) {
		want = (size_t)(limit < p.total - offset ? limit : p.total - offset);
		to = arena_alloc(a, want);
		while (done < want) {
			ssize_t n = pread(fd, to + done, want - done, offset + (int64_t)done);

			if (n < 0 && errno == EINTR)
				continue;
			if (n < 0)
				return -1;
			if (n == 0)
				break;
			done += (size_t)n;
		}
		p.bytes = (struct str){to, done};
	}
	*ret = p;
	return 0;
}

/* NOLINTNEXTLINE(readability-function-size): where it lies, what is asked for, where it goes */
int spill_read(const char *root, int64_t bot, int64_t turn, struct str name, int64_t offset,
	int64_t limit, struct arena *a, struct spill_part *ret, struct error *err)
{
	_cleanup_(mem) char *file = xstrndup(name.p, name.len);
	_cleanup_(fd) int dir = enter_turn(root, bot, turn, false);
	_cleanup_(fd) int fd = -1;

	if (dir >= 0)
		fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || read_part(fd, offset, limit, a, ret) < 0)
		return failed("cannot read", name, err);
	return 1;
}

/*
 * Removing
 */
/* Calls each() with every name but the dots; its -1 ends the walk. */
static int walk(int dir, int (*each)(void *arg, int dir, const char *name), void *arg)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		os_close(fd);
		return 0;
	}
	while (rc == 0 && (e = readdir(d))) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = each(arg, dir, e->d_name);
	}
	(void)closedir(d); /* nothing was written */
	return rc;
}

static int drop_one(void *arg, int dir, const char *name)
{
	(void)arg;
	(void)unlinkat(dir, name, 0); /* else the next open removes it */
	return 0;
}

void spill_drop(const char *root, int64_t bot, int64_t turn)
{
	_cleanup_(fd) int dir = enter_turn(root, bot, turn, false);

	if (dir < 0)
		return;
	(void)walk(dir, drop_one, NULL);
	remove_folders(root, bot, turn);
}

struct sweep {
	int64_t bot, turn;
	int (*known)(void *arg, int64_t bot, int64_t turn, struct str name);
	void *arg;
};

static int number_of(const char *name, int64_t *ret)
{
	uint64_t value;

	if (text_u64(str_from(name), INT64_MAX, "folder", &value, NULL) < 0)
		return -1;
	*ret = (int64_t)value;
	return 0;
}

static int sweep_file(void *arg, int dir, const char *name)
{
	struct sweep *s = arg;
	int rc = s->known(s->arg, s->bot, s->turn, str_from(name));

	if (rc == 0)
		(void)unlinkat(dir, name, 0); /* else it is tried at the next open */
	return rc < 0 ? -1 : 0;
}

static int sweep_turn(void *arg, int dir, const char *name)
{
	struct sweep *s = arg;
	_cleanup_(fd) int fd = enter(dir, name, false);
	int rc;

	if (fd < 0 || number_of(name, &s->turn) < 0)
		return 0; /* nothing of ours */
	rc = walk(fd, sweep_file, s);
	if (rc == 0)
		(void)unlinkat(dir, name, AT_REMOVEDIR); /* one that holds something stays */
	return rc;
}

static int sweep_bot(void *arg, int dir, const char *name)
{
	struct sweep *s = arg;
	_cleanup_(fd) int fd = enter(dir, name, false);
	int rc;

	if (fd < 0 || number_of(name, &s->bot) < 0)
		return 0;
	rc = walk(fd, sweep_turn, s);
	if (rc == 0)
		(void)unlinkat(dir, name, AT_REMOVEDIR);
	return rc;
}

void spill_sweep(const char *root,
	int (*known)(void *arg, int64_t bot, int64_t turn, struct str name), void *arg)
{
	struct sweep s = {.known = known, .arg = arg};
	_cleanup_(fd) int fd = enter(AT_FDCWD, root, false);

	if (fd >= 0)
		(void)walk(fd, sweep_bot, &s); /* what it leaves is tried at the next open */
}
