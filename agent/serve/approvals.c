/* approvals: what waits for a verdict. */
#include "agent/serve/approvals.h"

#include <stdlib.h>

#include "agent/serve/asked.h"
#include "agent/serve/leases.h"
#include "agent/serve/live.h"
#include "agent/serve/op.h"
#include "agent/serve/round.h"
#include "agent/serve/steps.h"

enum {
	LOADED_MAX_BYTES = 2 * 1024 * 1024, /* ours: items of parked turns read for one page */
};

/*
 * Who asks. Parked turns are read from the store; live ones are looked at when that is done.
 */
struct asking {
	const struct bot *bot;
	const struct store_turn *info;
	const struct live_turn *live; /* or NULL: */
	const struct store_round *round;
	int64_t offset_ms; /* of a parked one */
};

static void put_call(struct json_out *j, const struct asking *t, const struct live_call *c)
{
	const struct asked one = {.bot = t->bot,
		.turn = t->info,
		.call_id = c->call_id,
		.name = c->name,
		.arguments = c->arguments,
		.node = c->node,
		.verdicts = &c->verdicts,
		.judged = &c->judged};

	asked_put(j, &one);
}

struct candidate {
	int64_t bot, turn, offset_ms;
	struct str name;
	bool loaded;
	struct store_round round;
};

struct listing {
	struct candidate *parked; /* by name */
	size_t parked_count;
	struct str cut; /* parked turns from this name on were not read; absent: all were */
	int limit;
	char lease[LEASE_NAME_BYTES + 1]; /* whose first page it is; "": nobody's */
};

static bool in_range(const struct approvals_args *args, struct str name)
{
	return (!args->bot.p || str_eq(args->bot, name)) &&
	       (!args->after.p || strcmp(name.p, args->after.p) > 0);
}

static int by_candidate(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return strcmp(x->name.p, y->name.p);
}

/* The parked turns to read, in the request's arena. */
static void find_parked(struct request *r, struct listing *l)
{
	struct table *all = r->d->parks.by_bot;
	size_t at = 0;
	const struct parked *p;

	l->parked = arena_alloc(&r->arena, (table_count(all) + 1) * sizeof(*l->parked));
	l->parked_count = 0;
	l->cut = (struct str){NULL, 0};
	while ((p = table_next(all, &at))) {
		if (!parked_is_asked(p) || !in_range(r->args, str_from(p->name)))
			continue;
		l->parked[l->parked_count++] = (struct candidate){.bot = p->bot,
			.turn = p->turn,
			.offset_ms = p->offset_ms,
			.name = str_from(arena_strndup(&r->arena, p->name, strlen(p->name)))};
	}
	qsort(l->parked, l->parked_count, sizeof(*l->parked), by_candidate);
}

static size_t round_bytes(const struct store_round *r)
{
	size_t bytes = 0;

	for (size_t i = 0; i < r->call_count; i++)
		bytes += r->calls[i].item.len;
	return bytes;
}

static int run_listing(struct store_view *v, struct request *r, struct error *err)
{
	struct listing *l = r->work;
	size_t bytes = 0;

	for (size_t i = 0; i < l->parked_count; i++) {
		struct candidate *c = &l->parked[i];
		struct error cause = ERROR_INIT;

		if (bytes > LOADED_MAX_BYTES || i > (size_t)l->limit) {
			l->cut = c->name;
			l->parked_count = i;
			break;
		}
		if (store_parked_get(v, c->bot, c->turn, &r->arena, &c->round, &cause) == 0) {
			c->loaded = true;
			bytes += round_bytes(&c->round);
		} else if (error_is(&cause, &DB_ERROR)) {
			if (err)
				*err = cause;
			return -1;
		}
	}
	return 0;
}

static struct candidate *find_candidate(const struct listing *l, struct str name)
{
	const struct candidate key = {.name = name};

	return bsearch(&key, l->parked, l->parked_count, sizeof(key), by_candidate);
}

/* Whether a turn parked since the store was asked. */
static bool has_changed(const struct request *r, const struct listing *l)
{
	struct table *all = r->d->parks.by_bot;
	size_t at = 0;
	const struct parked *p;

	while ((p = table_next(all, &at))) {
		const struct candidate *c;
		struct str name = str_from(p->name);

		if (!parked_is_asked(p) || !in_range(r->args, name) ||
			(l->cut.p && strcmp(name.p, l->cut.p) >= 0))
			continue;
		c = find_candidate(l, name);
		if (!c || c->turn != p->turn || !c->loaded)
			return true;
	}
	return false;
}

static int by_name(const void *a, const void *b)
{
	const struct asking *x = a, *y = b;

	return strcmp(x->bot->name.p, y->bot->name.p);
}

static size_t add_parked(struct request *r, const struct listing *l, struct asking *list)
{
	size_t count = 0;

	for (size_t i = 0; i < l->parked_count; i++) {
		const struct candidate *c = &l->parked[i];
		const struct parked *p = parked_find(r->d, c->name);

		if (c->loaded && p && p->turn == c->turn)
			list[count++] = (struct asking){.bot = &c->round.bot,
				.info = &c->round.turn,
				.round = &c->round,
				.offset_ms = c->offset_ms};
	}
	return count;
}

/* In order of their bots' names, in the request's arena. */
static const struct asking *sorted(struct request *r, const struct listing *l, size_t *ret_count)
{
	struct table *live = r->d->live;
	struct asking *list = arena_alloc(
		&r->arena, (table_count(live) + l->parked_count + 1) * sizeof(*list));
	size_t at = 0, count = add_parked(r, l, list);
	const struct live_turn *t;

	while ((t = table_next(live, &at))) {
		if (in_range(r->args, t->bot.name))
			list[count++] = (struct asking){
				.bot = &t->bot, .info = &t->info, .live = t};
	}
	qsort(list, count, sizeof(*list), by_name);
	*ret_count = count;
	return list;
}

/* Those of the call that is carried out. */
static size_t put_steps(
	const struct request *r, struct json_out *j, const struct live_turn *t, struct str tag)
{
	struct asked list[STEPS_MAX];
	size_t count = steps_asked(t, list), put = 0;

	for (size_t i = 0; i < count && r->reply.len <= APPROVALS_MAX_BYTES; i++) {
		if (!asked_is_open(list[i].verdicts, tag))
			continue;
		asked_put(j, &list[i]);
		put++;
	}
	return put;
}

static size_t put_live(
	const struct request *r, struct json_out *j, const struct asking *a, struct str tag)
{
	const struct live_turn *t = a->live;
	size_t put = 0;

	for (size_t k = 0; k < t->call_count && r->reply.len <= APPROVALS_MAX_BYTES; k++) {
		if (!live_call_pending(t, k) || !asked_is_open(&t->calls[k].verdicts, tag))
			continue;
		put_call(j, a, &t->calls[k]);
		put++;
	}
	return put + put_steps(r, j, t, tag);
}

/* Whether somebody still may answer it. */
static bool is_open(const struct live_call *c, int64_t now_ms)
{
	return c->verdicts.request > 0 && !c->started && !c->refusal.kind &&
	       verdicts_outcome(&c->verdicts) == VERDICT_OPEN &&
	       verdicts_expire_in(&c->verdicts, now_ms) != 0;
}

static size_t put_parked(
	struct request *r, struct json_out *j, const struct asking *a, struct str tag)
{
	int64_t now_ms = clock_mono_ms(r->d->clock) + a->offset_ms;
	size_t put = 0;

	for (size_t k = 0; k < a->round->call_count && r->reply.len <= APPROVALS_MAX_BYTES; k++) {
		struct live_call c = {.node = 0};

		if (round_call(&r->arena, &a->round->calls[k], a->offset_ms, &c, NULL) == 0 &&
			is_open(&c, now_ms) && asked_is_open(&c.verdicts, tag)) {
			put_call(j, a, &c);
			put++;
		}
		verdicts_release(&c.verdicts);
	}
	return put;
}

/* What comes from now on is sent to the holder; what there was is in the pages. */
static bool begin_serving(struct request *r, const struct listing *l, struct json_out *j)
{
	struct error err = ERROR_INIT;
	struct lease *lease;

	if (!l->lease[0])
		return true;
	if (lease_use(r->d, str_from(l->lease), &lease, &err) < 0) {
		request_fail(r, &err);
		return false;
	}
	lease->serving = true;
	json_put_cstr(j, "lease", lease->name);
	json_put_i64(j, "lease_ms", lease->ms);
	return true;
}

static size_t put_asking(
	struct request *r, struct json_out *j, const struct asking *a, struct str tag)
{
	return a->live ? put_live(r, j, a, tag) : put_parked(r, j, a, tag);
}

/* Calls run in order, so the first of a turn are those to answer: what a page has no room for shows
 * when they are. */
static void put_page(struct request *r, const struct listing *l)
{
	const struct approvals_args *args = r->args;
	size_t count, put = 0;
	const struct asking *list = sorted(r, l, &count);
	struct json_out j = request_begin(r);
	struct str last = {NULL, 0};
	bool more = false;

	json_open_key(&j, "result", '{');
	if (!begin_serving(r, l, &j))
		return;
	json_open_key(&j, l->lease[0] ? "pending" : "approvals", '[');
	for (size_t i = 0; i < count; i++) {
		const struct asking *a = &list[i];

		more = put >= (size_t)l->limit || r->reply.len > APPROVALS_MAX_BYTES ||
		       (l->cut.p && strcmp(a->bot->name.p, l->cut.p) >= 0);
		if (more)
			break;
		put += put_asking(r, &j, a, args->tag);
		last = a->bot->name;
	}
	json_close(&j, ']');
	json_put_str(&j, l->lease[0] ? "next" : "next_after",
		more || l->cut.p ? last : (struct str){NULL, 0});
	json_close(&j, '}');
	request_end(r, &j);
}

static void listing_read(struct request *r)
{
	struct listing *l = r->work;

	if (!r->session || !has_changed(r, l)) { /* without one nobody hears it */
		put_page(r, l);
		return;
	}
	find_parked(r, l);
	op_read(r, run_listing, listing_read);
}

static void start_listing(struct request *r, struct listing *l)
{
	r->work = l;
	find_parked(r, l);
	if (l->parked_count > 0)
		op_read(r, run_listing, listing_read);
	else
		put_page(r, l);
}

void op_approvals(struct request *r, const void *raw)
{
	const struct approvals_args *args = raw;
	struct listing *l = arena_alloc(&r->arena, sizeof(*l));
	struct error err = ERROR_INIT;

	l->limit = op_page_limit((r->seen & 8) != 0, args->limit);
	if ((args->bot.p && bot_check_name(args->bot, "bot", &err) < 0) ||
		(args->after.p && bot_check_name(args->after, "after", &err) < 0) ||
		(args->tag.p && bot_check_name(args->tag, "tag", &err) < 0)) {
		request_fail(r, &err);
	} else if (l->limit == 0) {
		(void)error_set(&err, &REQUEST_INVALID, "approvals.limit: 1 to %d", PAGE_MAX);
		request_fail(r, &err);
	} else {
		start_listing(r, l);
	}
}

void op_serve_approvals(struct request *r, const void *raw)
{
	const struct serve_args *args = raw;
	struct approvals_args *page = arena_alloc(&r->arena, sizeof(*page));
	struct listing *l = arena_alloc(&r->arena, sizeof(*l));
	struct error err = ERROR_INIT;
	struct lease *lease;

	if (bot_check_name(args->tag, "tag", &err) < 0 ||
		lease_take(r->session, LEASE_APPROVALS, args->tag, args->lease_ms, &lease, &err) <
			0) {
		request_fail(r, &err);
		return;
	}
	memcpy(l->lease, lease->name, sizeof(l->lease));
	l->limit = PAGE_DEFAULT;
	page->tag = args->tag;
	r->args = page;
	start_listing(r, l);
}
