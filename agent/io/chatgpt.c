/* The daemon's hold on the ChatGPT sign-in. */
#include "agent/io/chatgpt.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "agent/io/token_call.h"
#include "agent/io/tokens.h"
#include "log/log.h"
#include "mem/mem.h"

enum {
	MARGIN_S = 300,   /* ours: a request may wait in a line that long before it is sent */
	MARGIN_PART = 4,  /* … but never more than this part of a token's life */
	RETIRED_MAX = 32, /* ours: sign-ins that are over, whose tokens are still redacted */
	LOOKS_MAX = 4,    /* ours: of one ask, should the file change under it each time */
	FORM_MAX_BYTES = 64 * 1024,
};

const struct error_kind CHATGPT_ENDED = {"chatgpt_sign_in_ended", ERROR_CLASS_DENIED};

struct chatgpt {
	struct loop *loop;
	struct fetch *fetch;
	const struct clock *clock;
	struct secret_set *secrets;
	char *path;
	struct tokens tokens; /* access NULL: there are none, and `missing` says why */
	struct error missing;
	uint64_t number; /* of the tokens; the next ones' is one more */
	uint64_t given;  /* number of those that the newest renewal brought; 0: none */
	bool looked;
	struct stat seen; /* the file as it was read or written last */
	bool unsaved;     /* the file could not be written: it holds the tokens before these */
	uint64_t ended;   /* number of the tokens that the issuer does not renew; 0: none */
	struct error end; /* what it said */
	struct tokens retired[RETIRED_MAX]; /* a ring */
	size_t retired_next;
	struct token_call *call;
	struct tokens renewing; /* those the call is for */
	struct list asks;
	struct loop_timer *step;
};

struct chatgpt_ask {
	struct list node;
	struct chatgpt *c;
	uint64_t refused;
	bool waited; /* for a renewal */
	int looks;
	auth_on_grant ready;
	void *arg;
};

/*
 * The tokens there are, and those there were.
 */
static void each_value(const struct tokens *t, struct secret_set *set,
	void (*fn)(struct secret_set *set, const struct secret *value))
{
	const struct secret *const values[] = {t->access, t->refresh, t->id};

	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		if (values[i])
			fn(set, values[i]);
	}
}

/* They stay redacted until many others have come after them. */
static void retire(struct chatgpt *c, struct tokens *t)
{
	struct tokens *place = &c->retired[c->retired_next++ % RETIRED_MAX];

	each_value(place, c->secrets, secret_set_remove_secret);
	tokens_release(place);
	*place = *t;
	*t = (struct tokens){.issuer = NULL};
}

/* Takes them. */
static void adopt(struct chatgpt *c, struct tokens *t)
{
	each_value(t, c->secrets, secret_set_add_secret);
	if (c->tokens.access)
		retire(c, &c->tokens);
	tokens_release(&c->tokens);
	c->tokens = *t;
	*t = (struct tokens){.issuer = NULL};
	c->number++;
	c->unsaved = false;
}

static void note_missing(struct chatgpt *c, const struct error *why)
{
	if (c->tokens.access)
		retire(c, &c->tokens);
	tokens_release(&c->tokens);
	c->missing = *why;
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mode == b->st_mode && same_time(a->st_mtim, b->st_mtim) &&
	       same_time(a->st_ctim, b->st_ctim);
}

void chatgpt_look(struct chatgpt *c)
{
	_cleanup_(tokens) struct tokens t = {.issuer = NULL};
	struct error err = ERROR_INIT;
	struct stat now = {.st_ino = 0};

	if (!c)
		return;
	if (lstat(c->path, &now) < 0)
		now = (struct stat){.st_ino = 0}; /* reading it says why */
	if (c->looked && same_file(&now, &c->seen))
		return;
	c->looked = true;
	c->seen = now;
	if (tokens_read(c->path, &t, &c->seen, &err) < 0)
		note_missing(c, &err);
	else if (!c->tokens.access || !tokens_same(&t, &c->tokens))
		adopt(c, &t);
}

/* A file that cannot be written leaves the old one: these tokens are used all the same, and
 * written when next there is something to do. On the loop, since it is a few kilobytes once in a
 * token's life, and a crash before it is done costs the sign-in. */
static void save(struct chatgpt *c)
{
	struct error err = ERROR_INIT;

	c->unsaved = tokens_write(c->path, &c->tokens, &err) < 0;
	if (c->unsaved)
		log_event(LOG_ERROR, "chatgpt.not_written", LOG_ERR(&err));
	if (lstat(c->path, &c->seen) < 0)
		c->looked = false;
}

/*
 * Asks.
 */
static void step_soon(struct chatgpt *c)
{
	loop_timer_set(c->step, 0);
}

static void tell(struct chatgpt_ask *a, const struct error *err)
{
	struct chatgpt *c = a->c;
	struct auth_grant g = {c->tokens.access, c->tokens.account, c->number};
	auth_on_grant ready = a->ready;
	void *arg = a->arg;

	list_remove(&a->node);
	free(a);
	ready(arg, err ? NULL : &g, err);
}

static int64_t left_s(const struct chatgpt *c)
{
	return c->tokens.expires_s - clock_real_ms(c->clock) / 1000;
}

/* Good for a request now: not refused, not expired. */
static bool is_usable(const struct chatgpt *c, const struct chatgpt_ask *a)
{
	return a->refused != c->number && (c->tokens.expires_s == 0 || left_s(c) > 0);
}

static bool is_fresh(const struct chatgpt *c)
{
	int64_t life = c->tokens.expires_s - c->tokens.since_s;
	int64_t margin = life / MARGIN_PART < MARGIN_S ? life / MARGIN_PART : MARGIN_S;

	return c->tokens.expires_s == 0 || left_s(c) > margin;
}

static void on_answer(void *arg, const struct oauth_answer *answer, const struct error *err);

static int renew(struct chatgpt *c, struct error *err)
{
	_cleanup_(secret_buf) struct buf form = BUF_INIT(FORM_MAX_BYTES);

	if (c->call)
		return 0;
	if (c->ended == c->number) {
		*err = c->end;
		return -1;
	}
	if (!c->tokens.refresh)
		return error_set(err, &CHATGPT_ENDED,
			"the ChatGPT sign-in has expired: sign in with `agent login chatgpt`");
	must(buf_reserve(&form, FORM_MAX_BYTES) == 0);
	oauth_put_refresh_form(&form, secret_expose(c->tokens.refresh));
	must(!form.full);
	if (token_call_start(&(struct token_request){c->fetch, c->clock, c->tokens.issuer, &form,
				     on_answer, c},
		    &c->call, err) < 0)
		return -1;
	tokens_copy(&c->renewing, &c->tokens);
	log_event(LOG_INFO, "chatgpt.renew", LOG_I64("left_s", left_s(c)));
	return 0;
}

/* What becomes of one ask now. */
static void serve(struct chatgpt *c, struct chatgpt_ask *a)
{
	struct error err = ERROR_INIT;

	if (a->looks++ == LOOKS_MAX) {
		(void)error_set(&err, &TOKEN_CALL_UNAVAILABLE,
			"the ChatGPT sign-in changes faster than it can be used");
		tell(a, &err);
	} else if (!c->tokens.access) {
		err = c->missing;
		tell(a, &err);
	} else if ((is_usable(c, a) && is_fresh(c)) || (a->waited && c->given == c->number)) {
		tell(a, NULL); /* just given: over by this machine's clock, perhaps not by theirs */
	} else if (renew(c, &err) < 0) {
		tell(a, is_usable(c, a) ? NULL : &err);
	} else {
		a->waited = true;
	}
}

/* The asks there are now; what a ready() asks comes later. */
static void serve_all(struct chatgpt *c)
{
	struct list now = LIST_INIT(now);

	while (!list_empty(&c->asks)) {
		struct chatgpt_ask *a = list_first(&c->asks, struct chatgpt_ask, node);

		list_remove(&a->node);
		list_add_tail(&now, &a->node);
	}
	while (!list_empty(&now)) {
		struct chatgpt_ask *a = list_first(&now, struct chatgpt_ask, node);

		list_remove(&a->node);
		list_add_tail(&c->asks, &a->node);
		serve(c, a);
	}
}

static void on_step(void *arg)
{
	struct chatgpt *c = arg;

	chatgpt_look(c);
	if (c->unsaved)
		save(c);
	if (!c->call)
		serve_all(c);
}

/*
 * Renewal.
 */
/* Another sign-in may have come into the file meanwhile: it stands, and what came now is redacted
 * like any other token. */
static void take_answer(struct chatgpt *c, const struct oauth_answer *answer)
{
	struct tokens t;

	tokens_from_answer(
		&t, c->renewing.issuer, answer, clock_real_ms(c->clock) / 1000, &c->renewing);
	chatgpt_look(c);
	if (c->tokens.access && tokens_same(&c->tokens, &c->renewing)) {
		adopt(c, &t);
		c->given = c->number;
		save(c);
		return;
	}
	each_value(&t, c->secrets, secret_set_add_secret);
	retire(c, &t);
}

/* Refused for good, unless the file has other tokens by now: another daemon of this person may have
 * been first. */
static void take_refusal(struct chatgpt *c, const struct error *err)
{
	chatgpt_look(c);
	if (!c->tokens.access || !tokens_same(&c->tokens, &c->renewing))
		return;
	c->ended = c->number;
	c->end = (struct error)ERROR_INIT;
	(void)error_set(&c->end, &CHATGPT_ENDED,
		"the ChatGPT sign-in has ended (%s): sign in with `agent login chatgpt`",
		err->text);
}

/* Not now: who can do with what is there does. */
static void take_failure(struct chatgpt *c, const struct error *err)
{
	struct list now = LIST_INIT(now);

	while (!list_empty(&c->asks)) {
		struct chatgpt_ask *a = list_first(&c->asks, struct chatgpt_ask, node);

		list_remove(&a->node);
		list_add_tail(&now, &a->node);
	}
	while (!list_empty(&now)) {
		struct chatgpt_ask *a = list_first(&now, struct chatgpt_ask, node);

		tell(a, c->tokens.access && is_usable(c, a) ? NULL : err);
	}
}

static void on_answer(void *arg, const struct oauth_answer *answer, const struct error *err)
{
	struct chatgpt *c = arg;

	c->call = NULL;
	if (answer)
		take_answer(c, answer);
	else if (error_is(err, &TOKEN_CALL_REFUSED))
		take_refusal(c, err);
	if (err) {
		log_event(LOG_WARN, "chatgpt.not_renewed", LOG_ERR(err));
	}
	if (err && !error_is(err, &TOKEN_CALL_REFUSED))
		take_failure(c, err);
	tokens_release(&c->renewing);
	step_soon(c);
}

/*
 * Outside.
 */
struct chatgpt_ask *chatgpt_ask(struct chatgpt *c, uint64_t refused, auth_on_grant ready, void *arg)
{
	struct chatgpt_ask *a = xcalloc(1, sizeof(*a));

	a->c = c;
	a->refused = refused;
	a->ready = ready;
	a->arg = arg;
	list_add_tail(&c->asks, &a->node);
	step_soon(c);
	return a;
}

void chatgpt_cancel(struct chatgpt_ask *a)
{
	if (!a)
		return;
	list_remove(&a->node);
	free(a);
}

struct chatgpt *chatgpt_new(const struct chatgpt_options *o)
{
	struct chatgpt *c = xcalloc(1, sizeof(*c));

	c->loop = o->loop;
	c->fetch = o->fetch;
	c->clock = o->clock;
	c->secrets = o->secrets;
	c->path = xstrdup(o->path);
	list_init(&c->asks);
	c->step = loop_timer_new(c->loop, on_step, c);
	return c;
}

void chatgpt_free(struct chatgpt *c)
{
	if (!c)
		return;
	list_for_each_safe (a, &c->asks, struct chatgpt_ask, node)
		chatgpt_cancel(a);
	token_call_cancel(c->call);
	loop_timer_free(c->step);
	tokens_release(&c->tokens);
	tokens_release(&c->renewing);
	for (size_t i = 0; i < RETIRED_MAX; i++)
		tokens_release(&c->retired[i]);
	free(c->path);
	free(c);
}
