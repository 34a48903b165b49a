/* agent serve: the daemon itself, in the foreground. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agentd/agentd.h"
#include "agent/cmd/agentd.h"
#include "agent/io/listen.h"
#include "agent/serve/daemon.h"
#include "mem/mem.h"
#include "os/os.h"

enum {
	PROCESSES_PER_CPU = 64, /* spec 2.6 */
	ACTIVE_DEFAULT = 4096,  /* spec 2.6 */
	STALL_DEFAULT = 120,    /* seconds, spec 2.6 */
};

static int64_t number(struct cli_number n, int64_t otherwise)
{
	return n.set ? n.value : otherwise;
}

/* NULL-terminated, each canonical. */
static int canonical_list(const struct cli_texts *t, char ***ret, struct error *err)
{
	*ret = xcalloc(t->count + 1, sizeof(**ret));
	for (size_t i = 0; i < t->count; i++) {
		if (os_canonical(t->items[i], &(*ret)[i], err) < 0)
			return -1;
	}
	return 0;
}

static void free_list(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}
MEM_CLEANUP(list_of, char **, free_list)

static int64_t default_processes(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return PROCESSES_PER_CPU * (cpus > 0 ? cpus : 1);
}

/* The specs of AGENT_PROVIDER, blanks between; in one block that *ret_text owns. */
static const char **environment_providers(char **ret_text, size_t *ret_count)
{
	static const char blanks[] = " \t\r\n\v\f";
	const char *env = getenv("AGENT_PROVIDER");
	char *at = *ret_text = xstrdup(env ? env : "");
	const char **list = xcalloc(strlen(at) / 2 + 2, sizeof(*list));

	for (at += strspn(at, blanks); *at; at += strspn(at, blanks)) {
		list[(*ret_count)++] = at;
		at += strcspn(at, blanks);
		if (*at)
			*at++ = '\0';
	}
	return list;
}

static int serve(const struct serve_options *o, struct error *err)
{
	_cleanup_(mem) char *specs = NULL;
	_cleanup_(mem) const char **from_environment = NULL;
	_cleanup_(mem) char *store = NULL, *socket = NULL;
	_cleanup_(list_of) char **walls = NULL, **protected_paths = NULL;
	struct daemon_options d = {
		.providers = o->startup.providers.items,
		.provider_count = o->startup.providers.count,
		.max_processes = number(o->startup.max_processes, default_processes()),
		.max_active = number(o->startup.max_active, ACTIVE_DEFAULT),
		.max_pending = number(o->startup.max_pending, 0),
		.max_pending_bytes = number(o->startup.max_pending_bytes, 0),
		.idle_exit_seconds = number(o->startup.idle_exit, 0),
		.max_connecting = number(o->startup.max_connecting, 0),
		.stall_seconds = number(o->startup.stall_timeout, STALL_DEFAULT),
	};

	if (d.provider_count == 0) {
		from_environment = environment_providers(&specs, &d.provider_count);
		d.providers = from_environment;
	}
	if (startup_place(&o->place, &store, &socket, err) < 0)
		return -1;
	if (canonical_list(&o->startup.walls, &walls, err) < 0 ||
		canonical_list(&o->startup.protected_paths, &protected_paths, err) < 0)
		return -1;
	d.store = store;
	d.socket = socket;
	d.walls = (const char *const *)walls;
	d.protected_paths = (const char *const *)protected_paths;
	return daemon_run(&d, err);
}

int agentd_serve(void *options, char **args, int count)
{
	struct serve_options *o = options;
	struct error err = ERROR_INIT;
	int rc = serve(o, &err);

	(void)args;
	(void)count;
	startup_release(&o->startup);
	if (rc == 0)
		return CLI_OK;
	(void)fprintf(stderr, "agent serve: %s: %s\n", error_code(&err),
		err.text); /* nobody else to tell */
	return error_is(&err, &STORE_OWNED) || error_is(&err, &LISTEN_OWNED) ? CLI_LOST_RACE
									     : CLI_FAILED;
}
