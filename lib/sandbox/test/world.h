#ifndef SANDBOX_TEST_WORLD_H
#define SANDBOX_TEST_WORLD_H
/*
 * A home with a daemon's folder in it, a workspace and a sandbox: what the tests of this library
 *need.
 *
 *	DIR/home             HOME
 *	DIR/home/.agent      the store, its socket and SOCKET.d
 *	DIR/home/.agent/run  a wall
 *	DIR/home/rules       a --protect-path
 *	DIR/home/task        the workspace
 *	DIR/tmp              $TMPDIR
 *	DIR/outside          no bot's
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../internal.h"
#include "os/os.h"
#include "testing.h"

enum { OUTPUT_MAX_BYTES = 1 << 20 };

struct world {
	char *dir, *home, *work, *outside, *tmp, *agent, *store, *socket, *bot_sockets, *wall,
		*kept;
	const char *walls[2], *protect[2];
	struct sandbox_host host;
	struct sandbox *sandbox;
};

static inline void world_put(const char *path, const char *content)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);

	must(fd >= 0);
	must(write(fd, content, strlen(content)) == (ssize_t)strlen(content));
	must(close(fd) == 0);
}

static inline char *world_folder(const char *in, const char *name)
{
	char *path = xasprintf("%s/%s", in, name);

	must(mkdir(path, 0755) == 0);
	return path;
}

/* `work` names the workspace inside the home. */
static inline struct world *world_new(const char *work)
{
	struct world *w = xcalloc(1, sizeof(*w));
	_cleanup_(mem) char *made = testing_dir();

	w->dir = realpath(made, NULL);
	must(w->dir && chmod(w->dir, 0755) == 0);
	w->home = world_folder(w->dir, "home");
	w->outside = world_folder(w->dir, "outside");
	w->tmp = world_folder(w->dir, "tmp");
	w->agent = world_folder(w->home, ".agent");
	w->work = world_folder(w->home, work);
	w->kept = world_folder(w->home, "rules");
	w->wall = world_folder(w->agent, "run");
	w->store = xasprintf("%s/state.sqlite", w->agent);
	w->socket = xasprintf("%s.sock", w->store);
	w->bot_sockets = xasprintf("%s.d", w->socket);
	must(mkdir(w->bot_sockets, 0700) == 0);
	world_put(w->store, "the store\n");
	w->walls[0] = w->wall;
	w->protect[0] = w->kept;
	w->host = (struct sandbox_host){
		.store = w->store,
		.socket = w->socket,
		.bot_sockets = w->bot_sockets,
		.walls = w->walls,
		.protected_paths = w->protect,
		.tmpdir = w->tmp,
	};
	must(setenv("HOME", w->home, 1) == 0);
	return w;
}

static inline void world_free(struct world *w)
{
	char **strings[] = {&w->dir, &w->home, &w->work, &w->outside, &w->tmp, &w->agent, &w->store,
		&w->socket, &w->bot_sockets, &w->wall, &w->kept};

	sandbox_free(w->sandbox);
	must(chdir("/") == 0);
	must(os_remove_tree(w->dir, NULL) == 0);
	for (size_t i = 0; i < ARRAY_LEN(strings); i++)
		free(*strings[i]);
	free(w);
}

static inline struct sandbox_policy world_policy(const struct world *w)
{
	return (struct sandbox_policy){.mode = SANDBOX_WORKSPACE_WRITE, .workspace = w->work};
}

/* A sandbox that starts nothing: for what is pure. */
static inline struct sandbox *world_plan_only(const struct world *w)
{
	struct sandbox *s = xcalloc(1, sizeof(*s));

	list_init(&s->placeholders);
	list_init(&s->folders);
	for (size_t i = 0; i < FILTERS; i++)
		s->filters[i] = -1;
	host_init(&s->host, &w->host);
	return s;
}

#endif
