/* One request to the daemon. */
#include "agent/cmd/ask.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

enum {
	REQUEST_MAX_BYTES = 1024 * 1024, /* spec 2.1 */
	ANSWER_MS = 60000,               /* ours: a disk that stalls for longer is told of */
};

void ask_begin(struct ask *a, const char *op)
{
	a->text = (struct buf)BUF_INIT(REQUEST_MAX_BYTES);
	a->j = (struct json_out)JSON_OUT(&a->text);
	json_open(&a->j, '{');
	json_put_cstr(&a->j, "op", op);
}

/* The members without the braces around them. */
static struct str body_of(struct ask *a)
{
	struct str all;

	json_close(&a->j, '}');
	all = buf_str(&a->text);
	return (struct str){all.p + 1, all.len >= 2 ? all.len - 2 : 0};
}

static int too_long(struct ask *a, struct error *err)
{
	buf_release(&a->text);
	return error_set(err, &ERROR_LIMIT, "the request is over %d bytes", REQUEST_MAX_BYTES);
}

/* How long to wait, and who hears what comes before the answer. */
struct hearing {
	int timeout_ms;
	void (*event)(void *arg, const struct json *line);
	void *arg;
};

static int call(struct ask *a, struct client *c, const struct hearing *h, const struct json **ret,
	struct error *err)
{
	struct str body = body_of(a);
	int rc;

	if (a->text.full)
		return too_long(a, err);
	client_on_event(c, h->event, h->arg);
	rc = client_call(c, body, h->timeout_ms, ret, err);
	client_on_event(c, NULL, NULL); /* what hears is the caller's, of this call only */
	buf_release(&a->text);
	return rc;
}

int ask_call(struct ask *a, struct client *c, const struct json **ret, struct error *err)
{
	return call(a, c, &(struct hearing){ANSWER_MS, NULL, NULL}, ret, err);
}

int ask_hear(struct ask *a, struct client *c, void (*event)(void *arg, const struct json *line),
	void *arg, const struct json **ret, struct error *err)
{
	return call(a, c, &(struct hearing){ANSWER_MS, event, arg}, ret, err);
}

int ask_wait(struct ask *a, struct client *c, const struct json **ret, struct error *err)
{
	return call(a, c, &(struct hearing){-1, NULL, NULL}, ret, err);
}

int ask_send(struct ask *a, struct client *c, int64_t *ret_id, struct error *err)
{
	struct str body = body_of(a);
	int rc;

	if (a->text.full)
		return too_long(a, err);
	rc = client_send(c, body, ret_id, err);
	buf_release(&a->text);
	return rc;
}

const struct json *ask_list(const struct json *value, const char *name)
{
	static const struct json none = {.type = JSON_ARRAY};
	const struct json *list = name ? json_get(value, name) : value;

	return list && list->type == JSON_ARRAY ? list : &none;
}

const char *ask_code(const struct client *c, const struct error *err)
{
	return c && error_is(err, &CLIENT_REMOTE) ? client_remote_code(c) : error_code(err);
}

int ask_failed(const char *command, const struct client *c, const struct error *err)
{
	const char *code = ask_code(c, err);

	(void)fflush(stdout); /* in order, when both go to one terminal */
	if (strcmp(code, err->text) == 0 || err->text[0] == '\0')
		(void)fprintf(stderr, "agent %s: %s\n", command, code); /* nobody else to tell */
	else
		(void)fprintf(stderr, "agent %s: %s: %s\n", command, code, err->text);
	return CLI_FAILED;
}
