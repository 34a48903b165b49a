#ifndef AGENT_CMD_ASK_H
#define AGENT_CMD_ASK_H
/*
 * One request to the daemon, and what is said when it fails.
 *
 *	struct ask a;
 *	ask_begin(&a, "result");
 *	json_put_cstr(&a.j, "bot", name);
 *	if (ask_call(&a, client, &result, &err) < 0)
 *		return ask_failed("result", client, &err);
 */
#include "client/client.h"
#include "error/error.h"
#include "json/json.h"
#include "text/text.h"

struct ask {
	struct buf text;
	struct json_out j; /* inside the request's object */
};
/* The struct must stay where it is until the call. */
void ask_begin(struct ask *a, const char *op);
/* Sends and waits for the answer, which is valid until the next call. Events that come in between
 * are dropped. Releases a. */
int ask_call(struct ask *a, struct client *c, const struct json **ret, struct error *err);
/* The same, with the events handed on. */
int ask_hear(struct ask *a, struct client *c, void (*event)(void *arg, const struct json *line),
	void *arg, const struct json **ret, struct error *err);
/* The same as ask_call for as long as it takes; ask_call gives up after a minute. */
int ask_wait(struct ask *a, struct client *c, const struct json **ret, struct error *err);
/* Sends and does not wait. */
int ask_send(struct ask *a, struct client *c, int64_t *ret_id, struct error *err);

/* The array of that name; an empty one where there is none. With a NULL name the value itself. */
const struct json *ask_list(const struct json *value, const char *name);

/* The code as the daemon or this program has it. */
const char *ask_code(const struct client *c, const struct error *err);
/* "agent COMMAND: CODE: detail" on stderr; CLI_FAILED. `c` may be NULL. */
int ask_failed(const char *command, const struct client *c, const struct error *err);

#endif
