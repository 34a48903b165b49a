/* Sandboxed bots and connections to their own sockets. */
#include "attest/own.h"

#include "attest/internal.h"

struct client *own_connect(struct drill *r, const char *bot, int64_t id)
{
	(void)drill_works(r, bot, "true");
	return attest_connect(r->t, attest_path(r->t, "%s.d/%lld", r->d->socket, (long long)id));
}

void own_begin(struct own *o, const char *more)
{
	struct attest *t = o->r.t;

	drill_start(&o->r, NULL);
	o->id = attest_bot(t, o->r.d, "b", more ? more : "\"sandbox\":\"workspace-write\"");
	(void)attest_bot(t, o->r.d, "other", "\"sandbox\":\"read-only\"");
	o->path = attest_path(t, "%s.d/%lld", o->r.d->socket, (long long)o->id);
	o->c = own_connect(&o->r, "b", o->id);
}

void own_start(struct own *o, struct attest *t, const char *more)
{
	*o = (struct own){.id = 0};
	drill_init(&o->r, t);
	own_begin(o, more);
}

char *own_create(struct attest *t, const char *name, const char *more)
{
	return attest_path(t,
		"\"op\":\"create\",\"bot\":\"%s\",\"model\":\"drill/x\",\"instructions\":\"\","
		"\"tools\":[\"shell\"]%s",
		name, more);
}

const struct json *own_inspect(struct own *o, const char *bot)
{
	return attest_call(o->r.t, o->r.d->client, "\"op\":\"inspect\",\"bot\":\"%s\"", bot);
}

int64_t own_number(const struct json *record, const char *member)
{
	const struct json *m = json_get(record, member);
	int64_t n = 0;

	return m && m->type == JSON_NUMBER && json_i64(m, &n) == 0 ? n : 0;
}

struct str own_text(const struct json *record, const char *member)
{
	return json_str(json_get(record, member));
}

void own_absent(struct own *o, const char *bot)
{
	(void)attest_refused(
		o->r.t, o->r.d->client, "bot_not_found", "\"op\":\"inspect\",\"bot\":\"%s\"", bot);
}
