#ifndef AGENT_CMD_STAGE_H
#define AGENT_CMD_STAGE_H
/*
 * Where a rehearsal takes place: a daemon of its own with a home of its own, and copies of the
 * folders it may write. Below /var/tmp, since the folder for temporary files is writable in every
 * workspace-write sandbox.
 */
#include "agent/cmd/canary.h"
#include "agent/cmd/connect.h"
#include "agent/core/rehearsal.h"
#include "cli/cli.h"
#include "error/error.h"
#include "text/text.h"

struct stage {
	char *folder;     /* all of it; removed at the end */
	int lock;         /* tells others that it is in use */
	char *home;       /* of the daemon */
	char *workspace;  /* the copy, or an empty folder */
	char **roots;     /* copies of the writable roots, NULL-terminated */
	char **originals; /* what was copied, */
	char **copies;    /* and where to */
	size_t copied;
	struct rehearsal *script; /* as it is played, all names replaced */
	struct connection connection;
};
struct stage_plan {
	struct str script;
	const char *workspace;         /* NULL: an empty folder */
	const struct cli_texts *roots; /* more writable folders; none: the drill's */
};
/* Changes this process's HOME and drops its AGENT_* variables, which mean another daemon. In the
 * script the paths of the folders are replaced by those of their copies, and the placeholders of
 * rehearsal(5) by what they stand for; then the drill's files are laid. A key that is worth nothing
 * is in the environment, that of a second provider. After a failure stage_close is due as well. */
int stage_open(struct stage *s, const struct stage_plan *plan, struct error *err);
/* Ends the daemon and removes everything. */
void stage_close(struct stage *s);

static inline struct canary_place stage_place(const struct stage *s)
{
	return (struct canary_place){s->home, s->workspace};
}

/* Names the folders in a text as the person does. */
int stage_restore(const struct stage *s, struct buf *text);

/* `text` with each occurrence of the path `from` replaced, where it is not the beginning of a
 * longer name. Appended to `to`. Pure. */
int stage_replace_path(struct buf *to, struct str text, struct str from, struct str by);

#endif
