/* pause and resume: the andon cord. */
#include <stdio.h>
#include <stdlib.h>

#include "agent/serve/op.h"
#include "agent/serve/pause.h"

/* The bot whose command asks, as the command line declares it on the daemon's own socket. */
struct author_args {
	struct str bot;
	int64_t bot_id, turn;
};
static const struct json_field author_fields[] = {
	JSON_STR(struct author_args, bot, .required = true),
	JSON_I64(struct author_args, bot_id, .required = true, .min = 1),
	JSON_I64(struct author_args, turn),
};

struct pause_args {
	struct str reason;
	struct author_args from;
};
enum pause_field { P_REASON, P_FROM };
static const struct json_field pause_fields[] = {
	[P_REASON] = JSON_STR(struct pause_args, reason, .nullable = true, .cstr = true,
		.max = PAUSE_REASON_MAX_BYTES),
	[P_FROM] = JSON_OBJ(struct pause_args, from, author_fields),
};

struct resume_args {
	struct author_args from;
};
enum resume_field { R_FROM };
static const struct json_field resume_fields[] = {
	[R_FROM] = JSON_OBJ(struct resume_args, from, author_fields),
};

struct pause_work {
	struct store_pause asked, now;
	bool was; /* it was pulled before */
};

static void set_text(char *room, size_t size, struct str text)
{
	(void)snprintf(room, size, STR_FMT, STR_ARG(text)); /* the fields' limits fit */
}

/* On a bot's own socket the daemon says who asks: whatever else is declared is refused. */
static int read_author(struct request *r, bool declared, const struct author_args *from,
	struct store_pause *p, struct error *err)
{
	const struct session_bot *as = &r->session->as;

	if (declared && bot_check_name(from->bot, "from.bot", err) < 0)
		return -1;
	if (as->id > 0) {
		if (declared && (from->bot_id != as->id || !str_is(from->bot, as->name)))
			return error_set(err, &REQUEST_NOT_PERMITTED,
				"from: a bot's own socket speaks for that bot alone");
		set_text(p->by, sizeof(p->by), str_from(as->name));
		p->by_id = as->id;
	} else if (declared) {
		set_text(p->by, sizeof(p->by), from->bot);
		p->by_id = from->bot_id;
	}
	return 0;
}

static int run_pause(struct store_tx *tx, void *arg, struct error *err)
{
	struct request *r = arg;
	struct pause_work *w = r->work;

	return store_pause_set(tx, &w->asked, &w->now, &w->was, err);
}

static void answer_pause(struct request *r)
{
	const struct pause_work *w = r->work;
	struct json_out j = request_begin(r);

	json_open_key(&j, "result", '{');
	store_pause_put(&j, "paused", &w->now);
	json_put_bool(&j, "already", w->was);
	json_close(&j, '}');
	request_end(r, &j);
}

static void pause_done(void *arg, int rc, const struct error *err)
{
	struct request *r = arg;
	struct pause_work *w = r->work;

	pause_pulled(r->d, rc == 0 ? &w->now : NULL);
	if (rc < 0)
		request_fail(r, err);
	else
		answer_pause(r);
}

static void op_pause(struct request *r, const void *raw)
{
	const struct pause_args *args = raw;
	struct pause_work *w = arena_alloc(&r->arena, sizeof(*w));
	struct error err = ERROR_INIT;

	r->work = w;
	*w = (struct pause_work){.was = false};
	if (read_author(r, (r->seen >> P_FROM & 1) != 0, &args->from, &w->asked, &err) < 0) {
		request_fail(r, &err);
		return;
	}
	if (args->reason.p)
		set_text(w->asked.reason, sizeof(w->asked.reason), args->reason);
	pause_pulling(r->d);
	store_write(r->d->store, run_pause, pause_done, r);
}

static int run_resume(struct store_tx *tx, struct request *r, struct error *err)
{
	struct pause_work *w = r->work;

	return store_pause_end(tx, &w->asked, &w->was, err);
}

static void answer_resume(struct request *r)
{
	const struct pause_work *w = r->work;
	struct daemon *d = r->d;
	bool was = w->was;
	struct json_out j = request_begin(r);

	json_open_key(&j, "result", '{');
	json_put_bool(&j, "resumed", was);
	json_close(&j, '}');
	request_end(r, &j);
	if (was)
		pause_ended(d);
}

static void op_resume(struct request *r, const void *raw)
{
	const struct resume_args *args = raw;
	struct pause_work *w = arena_alloc(&r->arena, sizeof(*w));
	struct error err = ERROR_INIT;

	r->work = w;
	*w = (struct pause_work){.was = false};
	if (read_author(r, (r->seen >> R_FROM & 1) != 0, &args->from, &w->asked, &err) < 0)
		request_fail(r, &err);
	else
		op_write(r, run_resume, answer_resume);
}

const struct request_row pause_requests[] = {
	{"pause",		  pause_fields, ARRAY_LEN(pause_fields), sizeof(struct pause_args), op_pause,
         REQUEST_AS_BOT, false},
	{"resume", resume_fields, ARRAY_LEN(resume_fields), sizeof(struct resume_args), op_resume,
         REQUEST_OWNER, false},
	{.op = NULL               },
};
