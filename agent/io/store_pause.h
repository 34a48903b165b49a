#ifndef AGENT_IO_STORE_PAUSE_H
#define AGENT_IO_STORE_PAUSE_H
/*
 * The andon cord, on disk (agent spec 9): who pulled it, when and why. It survives the daemon,
 * until somebody resumes.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/limits.h"
#include "error/error.h"
#include "json/json.h"

struct store_tx;
struct store_view;

enum { PAUSE_REASON_MAX_BYTES = 1024 /* ours: a few sentences */ };

struct store_pause {
	bool on;
	char by[BOT_NAME_MAX_BYTES + 1]; /* the bot that pulled it; "": a client that is none */
	int64_t by_id;                   /* 0: as above */
	int64_t at_ms;                   /* real time */
	char reason[PAUSE_REASON_MAX_BYTES + 1]; /* "": none was given */
};
int store_pause_get(struct store_view *v, struct store_pause *ret, struct error *err);
/* by, by_id and reason of `asked`; event `paused`. Where it is on already it stays as it is.
 * *ret_now: as it is now; *ret_already: as it was before. */
int store_pause_set(struct store_tx *tx, const struct store_pause *asked,
	struct store_pause *ret_now, bool *ret_already, struct error *err);
/* by and by_id of `asked`; event `resumed`. *ret_was false: it was not on, and nothing happened. */
int store_pause_end(
	struct store_tx *tx, const struct store_pause *asked, bool *ret_was, struct error *err);
/* {by,by_id,reason,at_ms}, or null where it is not on. */
void store_pause_put(struct json_out *j, const char *name, const struct store_pause *p);

#endif
