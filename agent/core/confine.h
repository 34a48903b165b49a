#ifndef AGENT_CORE_CONFINE_H
#define AGENT_CORE_CONFINE_H
/*
 * How far a bot that a bot made may reach (agent spec 7.7): never further than its creator. Pure:
 * compares settings as they are written; what lies behind a path is for the caller to look at.
 *
 * A creator without a sandbox confines nobody.
 */
#include "agent/core/bot.h"
#include "error/error.h"
#include "mem/mem.h"
#include "text/text.h"

extern const struct error_kind CONFINE_WIDENS; /* sandbox_widens */
extern const struct error_kind CONFINE_RULES;  /* rules_not_own */

/*
 * Whether a folder lies within a bot's folders, which are its workspace, its writable roots and
 * `temporary`, what every sandbox may write. One that is, or lies below, a name that is protected
 * there (.git, .agents …) does not: as a folder of its own it would be writable.
 */
bool confine_within(
	const struct bot_settings *of, const struct str_list *temporary, struct str folder);

/* Whether both have the same workspace and the same roots. */
bool confine_same_folders(const struct bot_settings *a, const struct bot_settings *b);

/* CONFINE_WIDENS, naming the field, when the child would reach further than its creator;
 * CONFINE_RULES when it would go by other rules. */
int confine_check(const struct bot_settings *child, const struct bot_settings *creator,
	const struct str_list *temporary, struct error *err);

/* Makes of a child, which is the copy of some bot, what both that bot and the creator may. Lives in
 * `a`. What comes out passes confine_check. */
void confine_narrow(struct arena *a, struct bot_settings *child, const struct bot_settings *creator,
	const struct str_list *temporary);

/* Takes over what a new child is given by its creator where nobody asked for anything else: all of
 * what confines it but for the network, other sockets and leave to commit, which stay off. */
enum confine_given {
	CONFINE_SANDBOX = 1 << 0,
	CONFINE_ROOTS = 1 << 1,
	CONFINE_WORKSPACE = 1 << 2,
	CONFINE_GIVEN_RULES = 1 << 3,
};
void confine_inherit(
	struct bot_settings *child, const struct bot_settings *creator, unsigned given);

#endif
