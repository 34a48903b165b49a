#ifndef AGENT_CMD_RENDER_H
#define AGENT_CMD_RENDER_H
/*
 * What a bot does, for people to read: pure, from events and items to text. Everything that came
 * from outside is made harmless for a terminal; colours are ours alone.
 *
 * Written into `out`; the owner prints and clears it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/cmd/paste.h"
#include "json/json.h"
#include "mem/mem.h"
#include "text/text.h"

enum render_at {
	RENDER_START,  /* nothing stands above */
	RENDER_LINES,  /* a whole block does */
	RENDER_TEXT,   /* the model's words, their line not ended */
	RENDER_TITLED, /* the title of a call whose result belongs right below */
};

struct render {
	struct buf out;
	bool colours;
	bool sandboxed; /* what is known of the bot: whether it has a sandbox */
	enum render_at at;
	bool told;         /* words of the message that is coming were shown already */
	struct list calls; /* struct render_call, of the rounds under way */
	char *subject;     /* whose block stands above, where several bots are shown */
};

struct render_call {
	struct list in_render;
	char *bot, *call_id, *name;
	char *arguments; /* JSON text as the model wrote it, maybe none */
	bool titled, done;
	int64_t asked; /* the number of the announcement that was shown, 0: none */
};

void render_init(struct render *r, bool colours);
void render_release(struct render *r);

/* Bot, model, folder, confinement and gates. */
void render_bot(struct render *r, const struct json *record, bool fresh);
/* Whose events follow, where several bots are shown. */
void render_subject(struct render *r, struct str bot, int64_t turn);
/* A piece of the model's words, as it comes. */
void render_delta(struct render *r, struct str text);
/* A stored item: words that were not shown yet, and the calls it makes; a prompt of somebody. */
void render_item(struct render *r, struct str bot, struct str json);
/* NULL when the item was not seen. */
struct render_call *render_find(struct render *r, struct str bot, struct str call_id);
/* The calls of its reply that come before it are done, so that it is the next to run. Until then
 * one of them may fail, and then it is announced anew. */
bool render_is_next(const struct render *r, const struct render_call *c);
/* A call of this bot is not done. */
bool render_has_open(const struct render *r, struct str bot);

/* tool_started: the call and where it runs. */
void render_started(struct render *r, struct str bot, const struct json *data);
/* tool_completed with the item of its result (absent: it could not be had). */
void render_completed(struct render *r, struct str bot, const struct json *data, struct str json);

/* One pending approval as `approvals` lists it. With `paste` the commands that answer it. */
void render_asked(struct render *r, const struct json *approval, const struct paste *paste);
/* A verdict was given here. */
void render_answered(struct render *r, bool allow);
/* turn_finished; `turn` is its row of `turns`, NULL when it could not be had. */
void render_finished(struct render *r, const struct json *data, const struct json *turn);
/* What holds a turn up or was done to its context, as a line, where the kind is one of those; false
 * otherwise. */
bool render_passing(struct render *r, struct str kind, const struct json *data);
/* One line of ours. */
void render_note(struct render *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Ends the line that stands open. */
void render_close_line(struct render *r);

#endif
