/* Parked turns: their entries, what wakes them, and how they go on or end. */
#include "agent/serve/park.h"

#include <stdlib.h>

#include "agent/serve/daemon.h"
#include "agent/serve/live.h"
#include "agent/serve/op.h"
#include "log/log.h"

enum { RETRY_MS = 1000 /* agent spec 3.4: the longest wait for a store that refuses */ };

void parks_init(struct parks *p)
{
	p->by_bot = table_new();
	list_init(&p->wanted);
}

/*
 * Handles.
 */

/* A look at what an entry's handles name: by the record, since the entry keeps their ids alone. */
struct park_look {
	struct daemon *d;
	struct parked *parked; /* NULL: it left meanwhile */
	struct arena arena;
	int64_t bot, turn;
	bool satisfied;
};

static void look(struct parked *p);

static int run_look(struct store_view *v, void *arg, struct error *err)
{
	struct park_look *l = arg;
	struct store_park park;
	struct handle *handles;

	if (store_park_get(v, l->bot, l->turn, &l->arena, &park, err) < 0 ||
		handles_read(&l->arena, &park.handles, &handles, err) < 0 ||
		handles_look(v, handles, park.handles.count, l->bot, &l->arena, err) < 0)
		return -1;
	l->satisfied = handles_satisfied(handles, park.handles.count, park.any);
	return 0;
}

static void look_done(void *arg, int rc, const struct error *err)
{
	struct park_look *l = arg;
	struct parked *p = l->parked;

	if (rc < 0 && p)
		log_event(LOG_WARN, "turn.look_failed", LOG_I64("turn", l->turn), LOG_ERR(err));
	if (p) {
		p->look = NULL;
		if (l->satisfied || rc < 0) /* live again it sees for itself what is wrong */
			parked_resume(p);
		else if (p->again && l->d->store)
			look(p);
	}
	arena_release(&l->arena);
	free(l);
}

static void look(struct parked *p)
{
	struct park_look *l;

	p->again = p->look != NULL;
	if (p->look || p->state != PARKED_RESTING)
		return;
	l = xcalloc(1, sizeof(*l));
	l->d = p->d;
	l->parked = p;
	l->bot = p->bot;
	l->turn = p->turn;
	p->look = l;
	store_read(p->d->store, run_look, look_done, l);
}

static void on_ended(struct handle_watch *w)
{
	look(w->arg);
}

static void watch(struct parked *p, const struct str_list *handles)
{
	struct handle h;

	p->watches = xcalloc(handles->count + 1, sizeof(*p->watches));
	for (size_t i = 0; i < handles->count; i++) {
		struct handle_watch *w = &p->watches[p->watch_count];

		if (handle_read(handles->items[i], &h, NULL) < 0)
			continue; /* damaged: the look says so */
		*w = (struct handle_watch){.ended = on_ended, .arg = p};
		handle_watch(p->d, &h, w);
		p->watch_count++;
	}
}

void parks_look(struct daemon *d)
{
	size_t at = 0;
	struct parked *p;

	while ((p = table_next(d->parks.by_bot, &at))) {
		if (p->kind == PARK_HANDLES)
			look(p);
	}
}

/* Without a word: as if it had never been here. */
static void entry_free(struct parked *p)
{
	if (p->look)
		p->look->parked = NULL;
	for (size_t i = 0; i < p->watch_count; i++)
		handle_unwatch(p->d, &p->watches[i]);
	free(p->watches);
	free(p->host);
	loop_timer_free(p->timer);
	list_remove(&p->in_queue);
	free(p);
}

void parks_release(struct parks *p)
{
	size_t at = 0;
	struct parked *one;

	while (p->by_bot && (one = table_next(p->by_bot, &at)))
		entry_free(one);
	table_free(mem_take(&p->by_bot));
}

int64_t parked_offset(const struct daemon *d, int64_t parked_ms)
{
	int64_t now_ms = clock_real_ms(d->clock);

	return (now_ms > parked_ms ? now_ms : parked_ms) - clock_mono_ms(d->clock);
}

int64_t parked_now(const struct parked *p)
{
	return clock_mono_ms(p->d->clock) + p->offset_ms;
}

bool parked_is_asked(const struct parked *p)
{
	return p->kind == PARK_VERDICT || p->kind == PARK_HOST;
}

void parks_host_came(struct daemon *d, struct str tag)
{
	size_t at = 0;
	struct parked *p;

	while ((p = table_next(d->parks.by_bot, &at))) {
		if (p->host && str_is(tag, p->host))
			parked_resume(p);
	}
}

/* Of those only a client wakes, none keeps the daemon from leaving when it is idle. */
static bool is_wakeful(const struct parked *p)
{
	return !parked_is_asked(p);
}

static void count(struct parked *p, int64_t by)
{
	struct parks *all = &p->d->parks;

	if (p->kind == PARK_PACED)
		all->paced += by;
	else
		all->waiting += by;
	if (is_wakeful(p))
		all->wakeful += by;
	all->requests += by * p->requests;
}

void parked_answered(struct parked *p)
{
	if (p->requests == 0)
		return;
	p->requests--;
	p->d->parks.requests--;
}

static void on_deadline(void *arg)
{
	parked_resume(arg);
}

static void set_deadline(struct parked *p, int64_t deadline_ms)
{
	int64_t left_ms = deadline_ms - parked_now(p);

	if (deadline_ms == 0)
		return;
	p->timer = loop_timer_new(p->d->loop, on_deadline, p);
	loop_timer_set(p->timer, left_ms > 0 ? left_ms : 0);
}

struct parked *parked_enter(struct daemon *d, const struct store_park *park, int64_t offset_ms)
{
	struct parked *p = xcalloc(1, sizeof(*p) + park->bot_name.len + 1);

	p->d = d;
	p->bot = park->bot;
	p->turn = park->turn;
	p->offset_ms = offset_ms;
	p->since_mono_ms = clock_mono_ms(d->clock);
	p->kind = (uint8_t)park->kind;
	p->requests = (uint8_t)park->requests; /* at most CALLS_MAX */
	memcpy(p->name, park->bot_name.p, park->bot_name.len);
	list_init(&p->in_queue);
	if (park->host.p)
		p->host = xstrndup(park->host.p, park->host.len);
	must(!table_set(d->parks.by_bot, park->bot_name, p));
	count(p, 1);
	set_deadline(p, park->deadline_ms);
	if (park->kind == PARK_HANDLES) {
		watch(p, &park->handles);
		if (d->store) /* at open they are looked at together: parks_look */
			look(p);
	}
	return p;
}

void parked_found(void *arg, const struct store_park *park)
{
	struct daemon *d = arg;

	(void)parked_enter(d, park, parked_offset(d, park->parked_ms));
}

struct parked *parked_find(struct daemon *d, struct str bot)
{
	return table_get(d->parks.by_bot, bot);
}

/* It is parked no more. */
static void leave(struct parked *p)
{
	count(p, -1);
	must(table_remove(p->d->parks.by_bot, str_from(p->name)) == p);
	entry_free(p);
}

/*
 * Going on.
 */
struct resume {
	struct daemon *d;
	struct parked *parked;
	struct arena arena;
	int64_t bot, turn, waited_ms;
	struct store_round round;
};

void parked_resume(struct parked *p)
{
	p->due = true;
	if (p->state != PARKED_RESTING)
		return;
	p->state = PARKED_WANTED;
	list_add_tail(&p->d->parks.wanted, &p->in_queue);
	schedule_kick(p->d);
}

static int run_resume(struct store_tx *tx, void *arg, struct error *err)
{
	struct resume *r = arg;

	return store_turn_resume(tx, r->bot, r->turn, r->waited_ms, &r->arena, &r->round, err);
}

/* The store refuses: it waits for a slot again, behind the others, and for a while. */
static void resume_refused(struct resume *r, const struct error *err)
{
	struct parked *p = r->parked;

	log_event(LOG_WARN, "turn.resume_refused", LOG_I64("turn", r->turn), LOG_ERR(err));
	schedule_unreserve(r->d);
	if (!error_is(err, &DB_ERROR)) {
		leave(p); /* the store knows nothing of it being parked */
		return;
	}
	p->state = PARKED_WANTED;
	list_add_tail(&r->d->parks.wanted, &p->in_queue);
	loop_timer_set(r->d->sched.retry, RETRY_MS);
}

static void resume_done(void *arg, int rc, const struct error *err)
{
	struct resume *r = arg;
	struct daemon *d = r->d;
	struct parked *p = r->parked;
	int64_t offset_ms = p->offset_ms;
	const char *cause = p->stop_cause;

	if (!d->store) { /* heard after the end: the next daemon finds it interrupted */
		schedule_unreserve(d);
	} else if (rc < 0) {
		resume_refused(r, err);
	} else {
		leave(p);
		live_resume(d, &r->round, offset_ms, cause);
	}
	arena_release(&r->arena);
	free(r);
	if (d->store)
		schedule_kick(d);
}

bool parks_want(const struct daemon *d)
{
	return !list_empty(&d->parks.wanted);
}

void parks_start_next(struct daemon *d)
{
	struct parked *p = list_first(&d->parks.wanted, struct parked, in_queue);
	struct resume *r = xcalloc(1, sizeof(*r));

	list_remove(&p->in_queue);
	p->state = PARKED_RESUMING;
	r->d = d;
	r->parked = p;
	r->bot = p->bot;
	r->turn = p->turn;
	r->waited_ms = clock_mono_ms(d->clock) - p->since_mono_ms;
	store_write(d->store, run_resume, resume_done, r);
}

/*
 * Ending.
 */
struct ending {
	struct daemon *d;
	struct parked *parked;
	struct request *request;
	struct store_finish finish;
	struct store_finished finished;
};

static void answer(struct request *r, int64_t turn)
{
	struct json_out j = request_begin(r);

	json_open_key(&j, "result", '{');
	json_put_bool(&j, "interrupt_requested", true);
	json_put_i64(&j, "turn", turn);
	json_put_bool(&j, "parked", true);
	json_close(&j, '}');
	request_end(r, &j);
}

static int run_end(struct store_tx *tx, void *arg, struct error *err)
{
	struct ending *e = arg;

	return store_park_end(tx, &e->finish, &e->finished, err);
}

static void ended(struct ending *e)
{
	struct daemon *d = e->d;

	log_event(LOG_INFO, "turn.done", LOG_I64("bot", e->finish.bot),
		LOG_I64("turn", e->finish.turn),
		LOG_CSTR("status", turn_status_names[e->finish.status]));
	leave(e->parked);
	if (!d->store)
		return;
	waiters_notify(d, e->finish.turn);
	d->sched.ready = d->sched.ready || e->finished.next_ready;
	daemon_look_idle(d);
	schedule_kick(d);
}

static void end_done(void *arg, int rc, const struct error *err)
{
	struct ending *e = arg;
	struct parked *p = e->parked;

	if (rc < 0) {
		log_event(LOG_WARN, "turn.end_refused", LOG_I64("turn", p->turn), LOG_ERR(err));
		p->state = PARKED_RESTING;
		if (p->due && e->d->store)
			parked_resume(p);
		else if (p->kind == PARK_HANDLES && e->d->store)
			look(p);
		pause_retry(e->d);
	} else {
		ended(e);
	}
	if (e->request && rc < 0)
		request_fail(e->request, err);
	else if (e->request)
		answer(e->request, e->finish.turn);
	free(e);
}

void parked_stop(struct parked *p, const char *cause, struct request *r)
{
	struct ending *e;

	if (p->state == PARKED_RESUMING || p->state == PARKED_ENDING) {
		/* it is stopped when it is live again, or ends as it is */
		if (!p->stop_cause)
			p->stop_cause = cause;
		if (r)
			answer(r, p->turn);
		return;
	}
	list_remove(&p->in_queue);
	p->state = PARKED_ENDING;
	e = xcalloc(1, sizeof(*e));
	e->d = p->d;
	e->parked = p;
	e->request = r;
	e->finish = (struct store_finish){.bot = p->bot,
		.turn = p->turn,
		.status = TURN_INTERRUPTED,
		.error = str_from(cause)};
	store_write(p->d->store, run_end, end_done, e);
}
