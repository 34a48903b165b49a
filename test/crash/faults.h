#ifndef CRASH_FAULTS_H
#define CRASH_FAULTS_H
/*
 * Faults from outside, one case each: the daemon answers with a stable code, loses nothing, stays
 * up for everybody else, and ends with 0 when told to.
 */
#include "test/crash/rig.h"

struct fault {
	const char *name;
	void (*run)(struct rig *r);
};
/* Each ended by a row without a name. */
extern const struct fault store_faults[];
extern const struct fault peer_faults[];
extern const struct fault work_faults[];
extern const struct fault spill_faults[];

/* Writes the script, starts the daemon and connects. */
struct client *fault_start(struct rig *r, const char *script);
/* A new folder in the home. */
char *fault_folder(struct rig *r, const char *name);
/* A bot with every tool that works in `folder`; `more` is more members or "". */
void fault_bot(struct client *c, const char *name, const char *folder, const char *more);
/* Submits by delivery `queue`; the turn. */
int64_t fault_submit(struct client *c, const char *bot);
/* The outcome of a turn, waiting at most limit_ms; broken when it does not end. */
const struct json *fault_wait(struct client *c, const char *bot, int64_t turn, int limit_ms);
/* Its status and error as "completed", "failed/CODE"; in the rig's arena. */
const char *fault_ended(
	struct rig *r, struct client *c, const char *bot, int64_t turn, int limit_ms);
/* The result item of the bot's nth call, as text in the rig's arena. */
struct str fault_output(struct rig *r, struct client *c, const char *bot, int nth);
/* Replays everything from the start and checks it as a whole. */
void fault_check_events(struct rig *r);
/* The state folder is a tmpfs of this size, in a mount namespace of our own, until it is taken
 * away.
 */
void fault_small_disk(struct rig *r, const char *size);
void fault_no_small_disk(struct rig *r);
/* Waits until the file is there. */
void fault_await_file(const char *path, int limit_ms);

#endif
