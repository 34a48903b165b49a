/*
 * One command: the argument list of bubblewrap and the descriptors it needs.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"
#include "os/os.h"

struct sandbox_use {
	struct plan plan;
	struct path_list args;
	struct sandbox_fd *fds; /* the filter's first */
	size_t fd_count;
};

/* Before the mounts. The order is of no matter to bubblewrap, but for what it mounts. */
static const char *const confinement[] = {
	"bwrap",
	"--new-session",
	"--die-with-parent",
	/* without these two a bubblewrap that root runs leaves every capability (trap 1) */
	"--unshare-user",
	"--cap-drop",
	"ALL",
	"--unshare-pid",
	"--unshare-ipc", /* shared memory and semaphores of the person's other programs */
	NULL,
};
static const char *const base_mounts[] = {
	"--ro-bind",
	"/",
	"/",
	"--dev",
	"/dev",
	"--proc",
	"/proc", /* the host's would show the daemon: no sandbox without one (trap 8) */
	/* root without any capability still owns what is in /proc/sys, /proc/irq and the like: one
	 * line into kernel.core_pattern runs a program outside. bubblewrap covers sysrq-trigger, no
	 * more. */
	"--remount-ro",
	"/proc",
	NULL,
};

static void put(struct path_list *args, const char *arg)
{
	path_list_put(args, xstrdup(arg));
}

static void put_all(struct path_list *args, const char *const *from)
{
	for (size_t i = 0; from[i]; i++)
		put(args, from[i]);
}

static void put_number(struct path_list *args, int n)
{
	path_list_put(args, xasprintf("%d", n));
}

void command_args_base(struct path_list *args, bool network)
{
	put_all(args, confinement);
	if (!network)
		put(args, "--unshare-net");
	put_all(args, base_mounts);
}

void command_args_mount(struct path_list *args, const struct mount *m, int fd_as)
{
	switch (m->kind) {
	case MOUNT_WRITABLE:
		put(args, "--bind-fd");
		put_number(args, fd_as);
		break;
	case MOUNT_READ_ONLY:
		put(args, "--ro-bind");
		put(args, m->path);
		break;
	case MOUNT_NULL:
		put(args, "--ro-bind");
		put(args, "/dev/null");
		break;
	case MOUNT_EMPTY:
		put(args, "--tmpfs");
		put(args, m->path);
		if (m->shown) {
			put(args, "--ro-bind");
			put(args, m->shown);
			put(args, m->shown);
		}
		put(args, "--remount-ro");
		break;
	}
	put(args, m->path);
}

void command_args_inner(struct path_list *args, const char *cwd, char *const *inner)
{
	put(args, "--seccomp");
	put_number(args, SANDBOX_FD_FIRST);
	put(args, "--chdir");
	put(args, cwd);
	put(args, "--");
	for (size_t i = 0; inner[i]; i++)
		put(args, inner[i]);
	path_list_put(args, NULL); /* the end of an argument list */
}

static void use_put_fd(struct sandbox_use *u, int fd)
{
	int as = SANDBOX_FD_FIRST + (int)u->fd_count;

	u->fds = xrealloc(u->fds, u->fd_count + 1, sizeof(*u->fds));
	u->fds[u->fd_count++] = (struct sandbox_fd){fd, as};
}

static void use_put_mounts(struct sandbox_use *u)
{
	for (size_t i = 0; i < u->plan.count; i++) {
		const struct mount *m = &u->plan.mounts[i];

		command_args_mount(&u->args, m, SANDBOX_FD_FIRST + (int)u->fd_count);
		if (m->kind == MOUNT_WRITABLE)
			use_put_fd(u, m->fd);
	}
}

/* An open file of its own: bubblewrap reads from where the position stands, and two commands would
 * share it. */
static int open_filter(int memory_fd, int *ret_fd, struct error *err)
{
	char path[sizeof("/proc/self/fd/") + 3 * sizeof(int)];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", memory_fd); /* fits by its size */
	return os_open(path, O_RDONLY, 0, ret_fd, err);
}

int sandbox_command_new(struct sandbox *s, const struct sandbox_policy *p, const char *cwd,
	char *const *inner, struct sandbox_command **ret, struct error *err)
{
	struct sandbox_command *c;
	struct plan plan = {0};
	int filter = -1;

	must(inner && inner[0] && inner[0][0] == '/');
	if (p->mode == SANDBOX_FULL_ACCESS)
		return error_set(
			err, &ERROR_BUG, "a bot without a sandbox has no confined command");
	if (sandbox_available(s, err) < 0 || plan_make(s, p, &plan, err) < 0)
		return -1;
	if (open_filter(s->filters[filter_for(p->network, p->any_unix_socket)], &filter, err) < 0) {
		plan_release(&plan);
		return error_prefix(err, "open the system call filter");
	}
	c = xcalloc(1, sizeof(*c));
	c->use = xcalloc(1, sizeof(*c->use));
	c->use->plan = plan;
	use_put_fd(c->use, filter);
	command_args_base(&c->use->args, p->network);
	use_put_mounts(c->use);
	command_args_inner(&c->use->args, cwd, inner);
	c->program = s->program;
	c->argv = c->use->args.items;
	c->fds = c->use->fds;
	c->fd_count = c->use->fd_count;
	c->seccomp_fd = filter;
	c->seccomp_as = SANDBOX_FD_FIRST;
	*ret = c;
	return 0;
}

void sandbox_command_free(struct sandbox_command *c)
{
	if (!c)
		return;
	os_close(c->seccomp_fd);
	plan_release(&c->use->plan);
	path_list_release(&c->use->args);
	free(c->use->fds);
	free(c->use);
	free(c);
}
