#ifndef AGENT_CMD_RENDER_CALL_H
#define AGENT_CMD_RENDER_CALL_H
/* A tool call as people read it: its title in one line, its result below. Pure. */
#include "agent/cmd/render.h"

/* An empty line, unless it is the first. */
void render_block(struct render *r);

/* What a call is about, by its tool and arguments: a command, a path, the files of a patch.
 * Appended without a newline, made harmless, cut. `name` and `arguments` (JSON text) may be
 * anything. */
void render_call_subject(struct buf *to, struct str name, struct str arguments);
/* Why a call waits, in words: by the kind of its escalation; absent: a gate names its tool. */
const char *render_call_why(struct str kind);
/* A tool that acts on nothing runs in the daemon, whatever sandbox the bot has. */
bool render_call_in_daemon(struct str name);
/* One of the strings in the arguments, in the arena; absent when it is none. */
struct str render_call_argument(struct arena *a, struct str arguments, const char *member);

#endif
