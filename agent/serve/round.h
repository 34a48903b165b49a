#ifndef AGENT_SERVE_ROUND_H
#define AGENT_SERVE_ROUND_H
/*
 * A round on its way into the store and back: what a verdict was asked for, as JSON, and calls as
 * the driver has them out of their rows (agent spec 3.5, 6.2).
 */
#include "agent/io/store_park.h"
#include "agent/serve/live.h"

/* What the verdicts are asked for, in the arena. */
struct str round_judged(struct arena *a, const struct tool_judgement *t);
/* A call out of its row, with its arguments; its tool and what else the driver
 * works out are left alone. announced_mono_ms by the offset (see serve/park.h). The caller releases
 * the verdicts; strings live in the arena. */
int round_call(struct arena *a, const struct store_open_call *row, int64_t offset_ms,
	struct live_call *ret, struct error *err);
/* The verdicts of a row; released by the caller. Tags borrow from the row. */
void round_verdicts(const struct store_open_call *row, struct verdicts *ret);
/* Those decided, as rows; borrowed from v. At most BOT_GATES_MAX. */
size_t round_decided(const struct verdicts *v, struct store_verdict *rows);

/* Whether an earlier call had finished since this one was announced, when the turn parked. */
bool round_is_after(const struct store_park *p, struct str call_id);
/* An answer may name the file, of a tool that opens one: else REQUEST_INVALID. */
int round_path_fits(struct str tool, const struct verdict_answer *a, struct error *err);
/* What the verdicts are about, as a digest: the tool's name and the arguments. */
void round_subject(struct str name, struct str arguments, struct verdicts *ret);

#endif
