/* The logs of companions. */
#include "agent/serve/companion_log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/core/limits.h"
#include "clock/clock.h"
#include "os/os.h"

enum {
	LOG_MAX_BYTES = 4 * 1024 * 1024, /* ours: of one file; there are two of each companion */
	NAME_ROOM = BOT_NAME_MAX_BYTES + sizeof(".log.1"),
	/* ours: what a filter may let go at once: a chunk, what it held back, and the marks */
	FILTERED_MAX_BYTES = 8 * 1024 * 1024,
	PRIVATE_FILE = 0600,
	PRIVATE_FOLDER = 0700,
	LOOSE = 077,
};

struct companion_log {
	int folder, fd;
	off_t size;
	char name[NAME_ROOM], old[NAME_ROOM];
	struct secret_filter *filter;
};

static bool is_log(const char *name)
{
	struct str s = str_from(name);

	return str_ends(s, STR(".log")) || str_ends(s, STR(".log.1"));
}

/* By handle and without links: what is no file of this user's stays as it is. */
static void tighten_log(int folder, const char *name)
{
	_cleanup_(fd) int fd = -1;
	struct stat st;

	if (os_openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, &fd, NULL) < 0 ||
		fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (st.st_mode & LOOSE) == 0)
		return;
	(void)fchmod(fd, PRIVATE_FILE); /* refused only for a file that is another's */
}

static void tighten_logs(int folder)
{
	int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	struct dirent *entry;

	if (!dir) {
		os_close(again);
		return;
	}
	while ((entry = readdir(dir))) {
		if (is_log(entry->d_name))
			tighten_log(folder, entry->d_name);
	}
	(void)closedir(dir); /* only read */
}

int companion_logs_open(const char *folder, int *ret_fd, struct error *err)
{
	_cleanup_(fd) int fd = -1;
	struct stat st;

	if (os_mkdir_private(folder, NULL, err) < 0 ||
		os_open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, &fd, err) < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return error_sys(err, "look at '%s'", folder);
	if (st.st_uid != geteuid()) {
		errno = EACCES;
		return error_sys(err, "use the folder '%s' of another user", folder);
	}
	if ((st.st_mode & LOOSE) != 0 && fchmod(fd, PRIVATE_FOLDER) < 0)
		return error_sys(err, "set the mode of '%s'", folder);
	tighten_logs(fd);
	*ret_fd = fd_take(&fd);
	return 0;
}

struct companion_log *companion_log_new(
	int folder, const char *name, const struct secret_set *secrets)
{
	struct companion_log *l = xcalloc(1, sizeof(*l));

	l->folder = folder;
	l->fd = -1;
	(void)snprintf(l->name, sizeof(l->name), "%s.log", name); /* a bot's name at most */
	(void)snprintf(l->old, sizeof(l->old), "%s.log.1", name); /* as above */
	l->filter = secret_filter_new(secrets);
	return l;
}

void companion_log_free(struct companion_log *l)
{
	if (!l)
		return;
	secret_filter_free(l->filter);
	os_close(l->fd);
	free(l);
}

static bool open_log(struct companion_log *l)
{
	_cleanup_(fd) int fd = -1;
	struct stat st;

	if (l->fd >= 0)
		return true;
	if (os_openat(l->folder, l->name, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
		    PRIVATE_FILE, &fd, NULL) < 0 ||
		fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	/* also what the umask took away */
	if ((st.st_mode & 0777) != PRIVATE_FILE && fchmod(fd, PRIVATE_FILE) < 0)
		return false;
	l->size = st.st_size;
	l->fd = fd_take(&fd);
	return true;
}

static void rotate(struct companion_log *l)
{
	os_close(l->fd);
	l->fd = -1;
	(void)renameat(l->folder, l->name, l->folder, l->old); /* else it grows on */
}

static void write_log(struct companion_log *l, struct str text)
{
	if (text.len == 0 || !open_log(l))
		return;
	if (l->size > 0 && l->size + (off_t)text.len > LOG_MAX_BYTES) {
		rotate(l);
		if (!open_log(l))
			return;
	}
	if (os_write_all(l->fd, text.p, text.len, NULL) == 0)
		l->size += (off_t)text.len;
}

void companion_log_note(struct companion_log *l, const char *format, ...)
{
	_cleanup_(mem) char *text = NULL, *line = NULL;
	char time[CLOCK_TEXT_SIZE];
	va_list args;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	clock_text(clock_real_ms(clock_system()), time);
	line = xasprintf("%s daemon: %s\n", time, text);
	write_log(l, str_from(line));
}

void companion_log_put(struct companion_log *l, const char *p, size_t len)
{
	_cleanup_(buf) struct buf clean = BUF_INIT(FILTERED_MAX_BYTES);

	(void)secret_filter_put(l->filter, p, len, &clean); /* a chunk is far below the ceiling */
	write_log(l, buf_str(&clean));
}

void companion_log_end(struct companion_log *l)
{
	_cleanup_(buf) struct buf clean = BUF_INIT(FILTERED_MAX_BYTES);

	(void)secret_filter_end(l->filter, &clean); /* as above */
	write_log(l, buf_str(&clean));
}
