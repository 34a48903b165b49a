#ifndef AGENT_CMD_SPAWN_H
#define AGENT_CMD_SPAWN_H
/*
 * How a command starts a daemon: its arguments, the folders it needs, its log (spec 12).
 */
#include "agent/cmd/startup.h"
#include "client/client.h"
#include "error/error.h"

/* Owns its strings. */
struct spawn {
	struct client_start start;
	char **argv;
	size_t count;
	char *program, *log;
};
/* `startup` may be NULL. Besides what it says the daemon walls ~/.agent/run (AG-102) and protects
 * ~/.agent/rules (AG-125); without a --provider it gets those of AGENT_PROVIDER. Touches nothing.
 */
int spawn_init(struct spawn *s, const char *store, const char *socket,
	const struct startup_options *startup, struct error *err);
/* The program that is the daemon (cmd/agentd.h), directly. */
int spawn_find_program(struct spawn *s, struct error *err);
void spawn_release(struct spawn *s);
static inline void spawn_cleanup(struct spawn *s)
{
	spawn_release(s);
}

/* ~/.agent and the store's folder: 0700 when they are made here (AG-030), else left alone. */
int spawn_make_folders(const char *store, struct error *err);

/* A provider's spec with the file of a rehearsal by its absolute path, since the daemon may be
 * asked for it from another folder. The caller frees. */
char *spawn_provider(const char *spec);

#endif
