#ifndef AGENT_CMD_WATCH_H
#define AGENT_CMD_WATCH_H
/*
 * Shows the events of a bot as they come: as JSON lines, or for people, whose answers to approvals
 * it takes. What `run` and `follow` share.
 */
#include "agent/cmd/connect.h"
#include "agent/cmd/paste.h"
#include "agent/cmd/person.h"
#include "agent/cmd/render.h"
#include "agent/cmd/stream.h"

struct watch {
	const char *command;
	struct stream stream;
	bool pretty;
	const char *bot; /* NULL: all of them */
	bool prompts;    /* show prompts too */
	struct render render;
	struct paste paste;
	struct person person;
};
void watch_init(struct watch *w, const char *command, const struct connection *c,
	const struct place_options *place, bool pretty);
void watch_release(struct watch *w);

/* 1 an event (already awaited, not shown), 0 `signal_fd` is readable (-1: none), -1 lost. */
int watch_next(struct watch *w, int signal_fd, struct stream_event *ret, struct error *err);
/* Prints it. */
int watch_show(struct watch *w, const struct stream_event *e, struct error *err);
/* Prints what was rendered. */
void watch_print(struct watch *w);

/* The connection was lost: says where to go on. `turn` 0: no turn is waited for. CLI_FAILED. */
int watch_lost(struct watch *w, int64_t turn, const struct error *err);

#endif
