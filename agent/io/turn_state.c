/* What the ChatGPT backend says once in a turn. */
#include "agent/io/turn_state.h"

#include <stdlib.h>

#include "mem/mem.h"
#include "table/table.h"

enum {
	STATES_MAX = 4096,      /* ours: as many turns as run at once (--max-active) */
	STATE_MAX_BYTES = 8192, /* ours: a longer one is not sent back */
};

struct state {
	struct list node; /* the one heard longest ago first */
	int64_t bot, turn;
	char *value;
};
struct turn_states {
	struct table *by_bot;
	struct list all;
};

struct turn_states *turn_states_new(void)
{
	struct turn_states *s = xcalloc(1, sizeof(*s));

	s->by_bot = table_new();
	list_init(&s->all);
	return s;
}

static void forget(struct turn_states *s, struct state *one)
{
	(void)table_remove_id(s->by_bot, (uint64_t)one->bot); /* it is this one */
	list_remove(&one->node);
	free(one->value);
	free(one);
}

void turn_states_free(struct turn_states *s)
{
	if (!s)
		return;
	list_for_each_safe (one, &s->all, struct state, node)
		forget(s, one);
	table_free(s->by_bot);
	free(s);
}

struct str turn_state_get(const struct turn_states *s, const struct provider_request *r)
{
	const struct state *one = s && r ? table_get_id(s->by_bot, (uint64_t)r->bot) : NULL;

	return str_from(one && one->turn == r->turn ? one->value : NULL);
}

void turn_state_learn(
	struct turn_states *s, const struct provider_request *r, const struct http_head *h)
{
	struct str value = http_header_get(h, TURN_STATE_HEADER);
	struct state *one;

	if (!s || value.len == 0 || value.len > STATE_MAX_BYTES)
		return;
	one = table_get_id(s->by_bot, (uint64_t)r->bot);
	if (one && one->turn == r->turn)
		return;
	if (one)
		forget(s, one);
	else if (table_count(s->by_bot) == STATES_MAX)
		forget(s, list_first(&s->all, struct state, node));
	one = xcalloc(1, sizeof(*one));
	one->bot = r->bot;
	one->turn = r->turn;
	one->value = xstrndup(value.p, value.len);
	list_add_tail(&s->all, &one->node);
	(void)table_set_id(s->by_bot, (uint64_t)one->bot, one); /* there was none */
}
