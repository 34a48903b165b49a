#ifndef AGENT_CMD_AGENTS_H
#define AGENT_CMD_AGENTS_H
/*
 * What a person wrote down for agents, read into a new bot's instructions by the command line (the
 * daemon never does): AGENTS.md files and profiles.
 *
 * AGENTS.md, with --agents: ~/.agents/AGENTS.md, then from / down to the folder each AGENTS.md and
 * .agents/AGENTS.md, the nearest last; a file reached twice is read once.
 *
 * A profile, with --profile NAME: FOLDER/.agents/agents/NAME.md, else ~/.agents/agents/NAME.md. It
 * may begin with front matter between two lines of ---, of which `model` and `tools` are taken;
 * what follows is its instructions.
 */
#include "error/error.h"
#include "mem/mem.h"
#include "text/text.h"

extern const struct error_kind
	INSTRUCTIONS_UNREADABLE;                   /* instructions_unreadable: names the file */
extern const struct error_kind INSTRUCTIONS_LIMIT; /* instructions_limit */
extern const struct error_kind PROFILE_NOT_FOUND;  /* profile_not_found */
extern const struct error_kind PROFILE_INVALID;    /* profile_invalid: names line and member */

struct profile {
	struct str model; /* absent: it names none */
	struct str tools; /* comma-separated; absent: it names none */
	struct str body;
};
/* Everything lives in the arena. `folder` is where the bot works, canonical. */
int profile_read(struct arena *a, const char *name, const char *folder, struct profile *ret,
	struct error *err);
/* Front matter apart. Pure. */
int profile_parse(struct arena *a, struct str text, struct profile *ret, struct error *err);
/* Appends each file under a heading with its path. INSTRUCTIONS_UNREADABLE for one that is there
 * and cannot be read, INSTRUCTIONS_LIMIT when one makes the text too long: nothing is ever cut. */
int agents_put(struct buf *to, const char *folder, struct error *err);

#endif
