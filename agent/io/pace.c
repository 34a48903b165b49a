/* Pools, their lines and their buckets. */
#include "agent/io/pace.h"

#include "agent/io/pace_headers.h"
#include "table/table.h"

const struct error_kind PACE_LIMIT = {"provider_pacing_limit", ERROR_CLASS_LIMIT};

enum {
	POOLS_MAX = 256,            /* ours: further models of one provider share the last */
	BYTES_PER_TOKEN = 4,        /* agent spec 8.4, until usage says better */
	REFILL_DEFAULT_MS = 60000,  /* providers count by the minute */
	UNNAMED_FIRST_MS = 1000,    /* agent spec 8.4 */
	UNNAMED_LONGEST_MS = 32000, /* agent spec 8.4 */
	ASK_AGAIN_MS = 60000,       /* ours: no wait is longer without another look */
};

/* What there is of a dimension; it fills evenly. */
struct bucket {
	bool known;
	double limit, left, per_ms;
	int64_t at_ms; /* when `left` was true */
};

struct pace_pool {
	char *model;
	struct list line, under_way;
	struct bucket buckets[PACE_DIMENSIONS];
	int64_t closed_until_ms, unnamed_ms;
	double bytes_per_token;
};

struct pace {
	struct table *pools;
	struct pace_pool *list[POOLS_MAX];
	size_t count;
};

struct pace *pace_new(void)
{
	struct pace *p = xcalloc(1, sizeof(*p));

	p->pools = table_new();
	return p;
}

void pace_free(struct pace *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++) {
		must(list_empty(&p->list[i]->line) && list_empty(&p->list[i]->under_way));
		free(p->list[i]->model);
		free(p->list[i]);
	}
	table_free(p->pools);
	free(p);
}

static bool all_digits(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	}
	return s.len > 0;
}

/* "-20250929" and "-2025-09-29". */
static size_t date_len(struct str m)
{
	static const size_t dashes[] = {0, 5, 8};
	struct str tail;

	if (m.len > 9 && m.p[m.len - 9] == '-' && all_digits((struct str){m.p + m.len - 8, 8}))
		return 9;
	if (m.len <= 11)
		return 0;
	tail = (struct str){m.p + m.len - 11, 11};
	for (size_t i = 0; i < tail.len; i++) {
		bool dash = i == dashes[0] || i == dashes[1] || i == dashes[2];

		if (dash ? tail.p[i] != '-' : !all_digits((struct str){tail.p + i, 1}))
			return 0;
	}
	return 11;
}

struct str pace_alias(struct str model)
{
	struct str latest = STR("-latest");

	if (str_ends(model, latest) && model.len > latest.len)
		return (struct str){model.p, model.len - latest.len};
	return (struct str){model.p, model.len - date_len(model)};
}

struct pace_pool *pace_pool(struct pace *p, struct str model)
{
	struct str alias = pace_alias(model);
	struct pace_pool *pool = table_get(p->pools, alias);

	if (pool)
		return pool;
	if (p->count == POOLS_MAX)
		return p->list[POOLS_MAX - 1];
	pool = xcalloc(1, sizeof(*pool));
	pool->model = xstrndup(alias.p, alias.len);
	list_init(&pool->line);
	list_init(&pool->under_way);
	pool->unnamed_ms = UNNAMED_FIRST_MS;
	pool->bytes_per_token = BYTES_PER_TOKEN;
	p->list[p->count++] = pool;
	must(!table_set(p->pools, alias, pool));
	return pool;
}

static double cost_of(const struct pace_ticket *t, enum pace_dimension d)
{
	switch (d) {
	case PACE_REQUESTS:
		return 1;
	case PACE_INPUT:
		return (double)t->tokens;
	case PACE_OUTPUT:
		return (double)t->output_cap;
	default:
		return (double)(t->tokens + t->output_cap);
	}
}

static double left_now(const struct bucket *b, int64_t now_ms)
{
	double left = b->left + b->per_ms * (double)(now_ms - b->at_ms);

	return left < b->limit ? left : b->limit;
}

static void take(struct pace_pool *pool, const struct pace_ticket *t, double times, int64_t now_ms)
{
	for (int d = 0; d < PACE_DIMENSIONS; d++) {
		struct bucket *b = &pool->buckets[d];

		if (!b->known)
			continue;
		b->left = left_now(b, now_ms) - times * cost_of(t, d);
		b->at_ms = now_ms;
	}
}

int pace_enter(struct pace_pool *pool, struct pace_ticket *t, const struct pace_cost *cost,
	struct error *err)
{
	static const char *const what[PACE_DIMENSIONS] = {
		"requests", "tokens", "input tokens", "output tokens"};

	*t = (struct pace_ticket){.bytes = cost->bytes, .output_cap = cost->output_cap};
	t->tokens = (int64_t)((double)cost->bytes / pool->bytes_per_token) + 1;
	for (int d = 0; d < PACE_DIMENSIONS; d++) {
		const struct bucket *b = &pool->buckets[d];

		if (b->known && cost_of(t, d) > b->limit)
			return error_set(err, &PACE_LIMIT,
				"about %.0f %s are needed at once, and the provider's limit for "
				"'%s' is %.0f",
				cost_of(t, d), what[d], pool->model, b->limit);
	}
	t->pool = pool;
	list_add_tail(&pool->line, &t->in_pool);
	return 0;
}

/* How long until there is as much as the ticket needs. */
static int64_t bucket_wait_ms(const struct pace_ticket *t, int64_t now_ms)
{
	double longest = 0;

	for (int d = 0; d < PACE_DIMENSIONS; d++) {
		const struct bucket *b = &t->pool->buckets[d];
		double missing, wait;

		if (!b->known)
			continue;
		missing = cost_of(t, d) - left_now(b, now_ms);
		if (missing <= 0)
			continue;
		wait = b->per_ms > 0 ? missing / b->per_ms : ASK_AGAIN_MS;
		longest = wait > longest ? wait : longest;
	}
	if (longest >= ASK_AGAIN_MS)
		return ASK_AGAIN_MS;
	return longest > (double)(int64_t)longest ? (int64_t)longest + 1 : (int64_t)longest;
}

static int64_t wait_ms(const struct pace_ticket *t, int64_t now_ms)
{
	int64_t closed = t->pool->closed_until_ms - now_ms, wait = bucket_wait_ms(t, now_ms);

	return closed > wait ? closed : wait;
}

int64_t pace_ask(struct pace_ticket *t, int64_t now_ms)
{
	struct pace_pool *pool = t->pool;
	const struct pace_ticket *first = pace_first(pool);
	int64_t wait;

	must(!t->under_way);
	wait = wait_ms(t, now_ms);
	if (first != t) {
		int64_t before = wait_ms(first, now_ms);

		wait = wait > before ? wait : before;
		return wait > 0 ? wait : 1;
	}
	if (wait > 0)
		return wait;
	take(pool, t, 1, now_ms);
	list_remove(&t->in_pool);
	list_add_tail(&pool->under_way, &t->in_pool);
	t->under_way = true;
	return 0;
}

void pace_leave(struct pace_ticket *t)
{
	if (!t->pool)
		return;
	list_remove(&t->in_pool);
	t->pool = NULL;
}

struct pace_ticket *pace_first(const struct pace_pool *pool)
{
	return list_empty(&pool->line) ? NULL
				       : list_first(&pool->line, struct pace_ticket, in_pool);
}

/* What the headers say counts this call and those whose headers came before; others under way are
 * still to come. */
static double still_to_come(const struct pace_pool *pool, enum pace_dimension d)
{
	double sum = 0;

	list_for_each (t, &pool->under_way, struct pace_ticket, in_pool) {
		if (!t->told)
			sum += cost_of(t, d);
	}
	return sum;
}

void pace_learn(struct pace_ticket *t, const struct http_head *h, const struct pace_now *now)
{
	struct pace_limit limits[PACE_DIMENSIONS];

	t->told = true;
	if (!t->pool)
		return;
	pace_read_headers(h, now->real_ms, limits);
	for (int d = 0; d < PACE_DIMENSIONS; d++) {
		struct bucket *b = &t->pool->buckets[d];
		const struct pace_limit *l = &limits[d];
		double missing = (double)(l->limit - l->remaining);

		if (!l->known)
			continue;
		b->known = true;
		b->limit = (double)l->limit;
		b->per_ms = missing > 0 && l->reset_ms > 0 ? missing / (double)l->reset_ms
							   : b->limit / REFILL_DEFAULT_MS;
		b->left = (double)l->remaining - still_to_come(t->pool, d);
		b->at_ms = now->mono_ms;
	}
}

void pace_used(struct pace_ticket *t, int64_t input_tokens)
{
	double was;

	if (!t->pool || input_tokens <= 0 || t->bytes <= 0)
		return;
	was = (double)t->bytes / (double)input_tokens;
	was = was < 1 ? 1 : was;
	was = was > 16 ? 16 : was;
	t->pool->bytes_per_token = t->pool->bytes_per_token * 0.75 + was * 0.25;
}

int64_t pace_close(struct pace_pool *pool, int64_t delay_ms, int64_t now_ms)
{
	if (delay_ms < 0) {
		delay_ms = pool->unnamed_ms;
		if (pool->closed_until_ms <= now_ms && pool->unnamed_ms < UNNAMED_LONGEST_MS)
			pool->unnamed_ms *= 2; /* calls that fail together close it once */
	}
	if (pool->closed_until_ms < now_ms + delay_ms)
		pool->closed_until_ms = now_ms + delay_ms;
	return pool->closed_until_ms - now_ms;
}

void pace_well(struct pace_pool *pool)
{
	pool->unnamed_ms = UNNAMED_FIRST_MS;
}

static int64_t length(const struct list *l)
{
	int64_t n = 0;

	list_for_each (t, l, struct pace_ticket, in_pool)
		n += t->pool != NULL;
	return n;
}

bool pace_state(const struct pace *p, size_t i, int64_t now_ms, struct pace_state *ret)
{
	const struct pace_pool *pool;

	if (i >= p->count)
		return false;
	pool = p->list[i];
	*ret = (struct pace_state){.model = str_from(pool->model),
		.line = length(&pool->line),
		.under_way = length(&pool->under_way),
		.closed_ms = pool->closed_until_ms > now_ms ? pool->closed_until_ms - now_ms : 0};
	return true;
}
