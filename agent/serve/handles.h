#ifndef AGENT_SERVE_HANDLES_H
#define AGENT_SERVE_HANDLES_H
/*
 * Handles of deferred results (agent spec 3.7): turn:BOT/N and proc:N, read exactly; what they name
 * is looked up in the store, and who waits for it is told when it is there.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/io/store.h"
#include "error/error.h"
#include "json/json.h"
#include "mem/mem.h"
#include "table/table.h"
#include "text/text.h"

struct daemon;

extern const struct error_kind HANDLE_INVALID;  /* invalid_handle */
extern const struct error_kind HANDLES_INVALID; /* invalid_handles */
extern const struct error_kind HANDLE_UNKNOWN;  /* unknown_handle */

struct handle {
	struct str text, bot; /* bot: of a turn's */
	bool process;
	int64_t id;        /* of the turn or the process */
	bool known, final; /* as of the last look */
	struct store_turn outcome;
	struct str last_item; /* of the turn, or absent */
	struct str result;    /* of the process: JSON */
	struct error error;   /* kind set: it names nothing */
};
/* No sign, no leading zero. `text` is kept, not copied. */
int handle_read(struct str text, struct handle *ret, struct error *err);
/* 1 to WAIT_HANDLES_MAX of them, none twice. */
int handles_read(
	struct arena *a, const struct str_list *texts, struct handle **ret, struct error *err);
/* Looks every open one up; outcomes live in the arena. `bot`: whose processes count; 0: all. */
int handles_look(struct store_view *v, struct handle *list, size_t count, int64_t bot,
	struct arena *a, struct error *err);
bool handles_satisfied(const struct handle *list, size_t count, bool any);
/* "results" and "pending" of the open object. Outcomes past max_bytes (0: no limit) are named and
 * left out. */
void handles_put(struct json_out *j, const struct handle *list, size_t count, size_t max_bytes);
/* The outcome object of a turn as `result` gives it: final or {turn,status,finished:false}. */
void handle_put_turn(
	struct json_out *j, const char *name, const struct store_turn *t, struct str last_item);

/*
 * Watching. A watch is told once for every end of what it watches, and may be told in vain.
 */
struct handle_watch {
	struct list in_list;
	int64_t id;
	bool process;
	void (*ended)(struct handle_watch *w);
	void *arg;
};
struct waiters {
	struct table *turns, *processes; /* id → list of watches */
};
void waiters_init(struct waiters *w);
void waiters_release(struct waiters *w);
void handle_watch(struct daemon *d, const struct handle *h, struct handle_watch *w);
void handle_unwatch(struct daemon *d, struct handle_watch *w);
/* The turn has ended and its end is committed. */
void waiters_notify(struct daemon *d, int64_t turn);
void waiters_notify_process(struct daemon *d, int64_t process);

#endif
