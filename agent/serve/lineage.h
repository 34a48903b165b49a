#ifndef AGENT_SERVE_LINEAGE_H
#define AGENT_SERVE_LINEAGE_H
/*
 * Who made a bot, and what follows from it: what a bot may ask for on its own socket, and how far a
 * bot that a sandboxed one made may reach (agent spec 7.7; core/confine.h compares).
 *
 * But for the first, all of these are for store jobs: a bot that is looked at and what is done with
 * it are one commit.
 */
#include "agent/serve/op.h"

/* created_by and created_by_id: on a bot's own socket that bot, and REQUEST_NOT_PERMITTED for any
 * other. `given`: what they hold was asked for. */
int lineage_creator(
	const struct request *r, bool given, struct str *name, int64_t *id, struct error *err);

/* REQUEST_NOT_PERMITTED unless the bot that asks made `b`, or made who made it. A person may. */
int lineage_made(
	struct store_view *v, const struct request *r, const struct bot *b, struct error *err);

/* The bot `creator` (0: none). *ret_confines false: it confines nobody, or is gone. */
int lineage_find(struct store_view *v, struct arena *a, int64_t creator, struct bot *ret,
	bool *ret_confines, struct error *err);

/* confine_check, and that no folder of the child's is one that the other bot's sandbox protects. */
int lineage_check(struct daemon *d, struct arena *a, const struct bot *than,
	const struct bot_settings *child, struct error *err);

/* The folder that a bot asks a turn of `target` to work in: it becomes a writable one, so it must
 * lie in those that the target has. CONFINE_WIDENS. */
int lineage_check_workspace(struct daemon *d, struct arena *a, const struct bot *target,
	struct str workspace, struct error *err);

#endif
