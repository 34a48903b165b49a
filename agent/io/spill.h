#ifndef AGENT_IO_SPILL_H
#define AGENT_IO_SPILL_H
/*
 * spill: what commands in the background write, in files beside the store while they run, and after
 * their end where it is too long for the store (spec 1.2, 4.3).
 *
 *	STORE.spill/BOT_ID/TURN/CALL.PROCESS.stdout
 *
 * CALL is the call's id with all but letters, digits, '-' and '_' as %XX, cut short; the process's
 * number makes the name the only one of its kind, since a model may use an id again. The folder is
 * named for its store: two stores in one folder have bots of the same number.
 *
 * Promises
 *   AG-198  folders are made 0700 and files 0600, whatever the umask, under their own names
 *           (O_EXCL) and through no link (O_NOFOLLOW).
 *
 * A file is known by a row of `artifacts` (encoding `spill`) or belongs to a process that runs;
 *what is neither goes when the store is opened.
 */
#include <stdbool.h>
#include <stdint.h>

#include "error/error.h"
#include "mem/mem.h"
#include "text/text.h"

extern const struct error_kind SPILL_FAILED; /* spill_failed: it cannot be written or read */

enum { SPILL_STREAMS = 2 };
extern const char *const spill_streams[SPILL_STREAMS]; /* "stdout", "stderr" */

/* Whose output; call_id and the root live as long as what is given it. */
struct spill_place {
	const char *root; /* of spill_root */
	int64_t bot, turn, process;
	struct str call_id;
};
/* The folder of a store's spilled output; the caller frees. */
char *spill_root(const char *store);
/* A stream's file name, in the arena. */
char *spill_name(struct arena *a, const struct spill_place *at, size_t stream);

/* The files of one command, made when something is written. */
struct spill;
struct spill *spill_new(const struct spill_place *at);
/* Appends. A stream that fails is given up: its file is removed, what it took of the disk is free.
 * Blocks as write(2) to a file. */
int spill_put(struct spill *s, size_t stream, struct str bytes, struct error *err);
/* Everything written is on disk, names included. Blocks; from any thread. */
int spill_sync(struct spill *s, struct error *err);
/* Removes a stream's file, if there is one. */
void spill_discard(struct spill *s, size_t stream);
/* The files stay. NULL does nothing. */
void spill_free(struct spill *s);

/* A part of a file, in the arena: 1, 0 there is no such file, -1. */
struct spill_part {
	int64_t total;
	struct str bytes;
};
int spill_read(const char *root, int64_t bot, int64_t turn, struct str name, int64_t offset,
	int64_t limit, struct arena *a, struct spill_part *ret, struct error *err);
/* Removes all files of a turn that lie there. What cannot be removed is tried at the next open. */
void spill_drop(const char *root, int64_t bot, int64_t turn);
/* Removes every file that `known` does not say 1 to (-1: leaves everything as it is), and every
 * folder that is empty. */
void spill_sweep(const char *root,
	int (*known)(void *arg, int64_t bot, int64_t turn, struct str name), void *arg);

#endif
