/* How a command starts a daemon. */
#include "agent/cmd/spawn.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cmd/agentd.h"
#include "mem/mem.h"
#include "os/os.h"

static const char *const blanks = " \t\r\n\v\f";

static void add(struct spawn *s, char *arg)
{
	s->argv = xrealloc(s->argv, s->count + 2, sizeof(*s->argv));
	s->argv[s->count++] = arg;
	s->argv[s->count] = NULL;
}

/* With '=', so that a value may start with dashes. */
static void add_text(struct spawn *s, const char *name, const char *value)
{
	add(s, xasprintf("--%s=%s", name, value));
}

static void add_number(struct spawn *s, const char *name, struct cli_number n)
{
	if (n.set)
		add(s, xasprintf("--%s=%" PRId64, name, n.value));
}

static bool is_rehearsal(struct str family)
{
	return str_is(family, "rehearsal");
}

char *spawn_provider(const char *spec)
{
	_cleanup_(mem) char *path = NULL;
	struct str name, family, rest = str_from(spec);

	if (!str_next(&rest, '=', &name) || !rest.p || !str_next(&rest, ',', &family) || !rest.p ||
		rest.len == 0 || !is_rehearsal(family) || os_canonical(rest.p, &path, NULL) < 0)
		return xstrdup(spec);
	return xasprintf(STR_FMT "=" STR_FMT ",%s", STR_ARG(name), STR_ARG(family), path);
}

static void add_provider(struct spawn *s, const char *spec)
{
	_cleanup_(mem) char *full = spawn_provider(spec);

	add_text(s, "provider", full);
}

static void add_providers(struct spawn *s, const struct startup_options *startup)
{
	const char *env = getenv("AGENT_PROVIDER");

	for (size_t i = 0; startup && i < startup->providers.count; i++)
		add_provider(s, startup->providers.items[i]);
	if ((startup && startup->providers.count > 0) || !env)
		return;
	for (env += strspn(env, blanks); *env; env += strspn(env, blanks)) {
		size_t len = strcspn(env, blanks);
		_cleanup_(mem) char *one = xstrndup(env, len);

		add_provider(s, one);
		env += len;
	}
}

static void add_startup(struct spawn *s, const struct startup_options *o)
{
	for (size_t i = 0; i < o->walls.count; i++)
		add_text(s, "wall", o->walls.items[i]);
	for (size_t i = 0; i < o->protected_paths.count; i++)
		add_text(s, "protect-path", o->protected_paths.items[i]);
	add_number(s, "max-processes", o->max_processes);
	add_number(s, "max-active", o->max_active);
	add_number(s, "max-pending", o->max_pending);
	add_number(s, "max-pending-bytes", o->max_pending_bytes);
	add_number(s, "max-connecting", o->max_connecting);
	add_number(s, "stall-timeout", o->stall_timeout);
	add_number(s, "idle-exit", o->idle_exit);
}

int spawn_init(struct spawn *s, const char *store, const char *socket,
	const struct startup_options *startup, struct error *err)
{
	_cleanup_(mem) char *home = NULL, *wall = NULL, *rules = NULL;

	*s = (struct spawn){.argv = NULL};
	if (os_home(&home, err) < 0)
		return -1;
	wall = xasprintf("%s/.agent/run", home);
	rules = xasprintf("%s/.agent/rules", home);
	s->log = xasprintf("%s.log", store);
	add(s, xstrdup("agent")); /* as `agent serve` would be called, which starts it too */
	add(s, xstrdup("serve"));
	add_text(s, "store", store);
	add_text(s, "socket", socket);
	add_providers(s, startup);
	add_text(s, "wall", wall);
	add_text(s, "protect-path", rules);
	if (startup)
		add_startup(s, startup);
	s->start = (struct client_start){NULL, s->argv, s->log};
	return 0;
}

int spawn_find_program(struct spawn *s, struct error *err)
{
	if (os_helper(AGENTD, &s->program, err) < 0)
		return -1;
	s->start.program = s->program;
	return 0;
}

void spawn_release(struct spawn *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->argv[i]);
	free(s->argv);
	free(s->program);
	free(s->log);
	*s = (struct spawn){.argv = NULL};
}

int spawn_make_folders(const char *store, struct error *err)
{
	_cleanup_(mem) char *home = NULL, *agent = NULL, *folder = xstrdup(store);
	char *slash = strrchr(folder, '/');

	if (os_home(&home, err) < 0)
		return -1;
	agent = xasprintf("%s/.agent", home);
	if (os_mkdir_private(agent, NULL, err) < 0)
		return -1;
	must(slash); /* canonical */
	*slash = '\0';
	return *folder ? os_mkdir_private(folder, NULL, err) : 0;
}
