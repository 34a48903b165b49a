/*
 * A verdict that named the file it allows: the call goes on only when that is the file it opens
 * (agent spec 6.2).
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/tool/internal.h"
#include "os/os.h"

enum { PROC_NAME_MAX = 64 };

/* What the system calls the folder that a descriptor holds. */
static int name_of(int fd, char name[GUARD_PATH_MAX_BYTES + 1], struct error *err)
{
	char proc[PROC_NAME_MAX];
	ssize_t n;

	(void)snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd); /* fits */
	n = readlink(proc, name, GUARD_PATH_MAX_BYTES);
	if (n < 0)
		return error_sys(err, "ask what was opened");
	name[n] = '\0';
	return 0;
}

/* The folder the file lies in, opened as the file will be, without a link on the way; the system
 * says which one that is. The file itself is not opened: that could harm, see guard_read. */
static int check_opened(const char *real, struct error *err)
{
	_cleanup_(mem) char *folder = xstrdup(real);
	_cleanup_(fd) int fd = -1;
	char opened[GUARD_PATH_MAX_BYTES + 1];
	char *slash = strrchr(folder, '/');

	must(slash); /* resolved */
	slash[slash == folder ? 1 : 0] = '\0';
	if (guard_open_folder(folder, &fd, err) < 0 || name_of(fd, opened, err) < 0)
		return -1;
	if (strcmp(opened, folder) != 0)
		return error_set(err, &GUARD_CHANGED,
			"the folder that was opened is '%s', not '%s'", opened, folder);
	return 0;
}

int tool_check_allowed(const struct tool_context *c, const struct guard_path *p, struct error *err)
{
	for (size_t i = 0; i < c->allowed.count; i++) {
		if (!str_is(c->allowed.items[i], p->real))
			return error_set(err, &GUARD_CHANGED,
				"'" STR_FMT "' was allowed, but the path leads to '%s'",
				STR_ARG(c->allowed.items[i]), p->real);
	}
	return c->allowed.count > 0 && p->exists ? check_opened(p->real, err) : 0;
}
