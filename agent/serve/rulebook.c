/* Command rules, read once. */
#include "agent/serve/rulebook.h"

#include <stdlib.h>

#include "agent/core/limits.h"
#include "mem/mem.h"
#include "table/table.h"

enum {
	UNUSED_MAX = 16, /* ours: as many sorts of bots as a person may have at work by turns */
};

struct entry {
	struct ruleset set;
	struct rules *rules;
	char *text;
	size_t uses;
	struct list in_unused;
};

struct rulebook {
	struct table *entries; /* text → struct entry */
	struct list unused;    /* the longest unused first */
	size_t unused_count;
};

struct rulebook *rulebook_new(void)
{
	struct rulebook *b = xcalloc(1, sizeof(*b));

	b->entries = table_new();
	list_init(&b->unused);
	return b;
}

static void entry_free(struct entry *e)
{
	list_remove(&e->in_unused);
	rules_free(e->rules);
	free(e->text);
	free(e);
}

void rulebook_free(struct rulebook *b)
{
	size_t at = 0;
	struct entry *e;

	if (!b)
		return;
	while ((e = table_next(b->entries, &at)))
		entry_free(e);
	table_free(b->entries);
	free(b);
}

/* They were checked before they were stored: what is not as it was then refuses everything. */
static struct rules *parse(struct str text)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	struct error err = ERROR_INIT;
	const struct json *value;
	struct rules *r;

	if (json_parse(&a, text, &value, &err) == 0 && rules_from_json(value, &r, &err) == 0)
		return r;
	(void)error_prefix(&err, "as stored");
	return rules_new_unreadable(str_from(err.text));
}

static struct entry *add(struct rulebook *b, struct str text)
{
	struct entry *e = xcalloc(1, sizeof(*e));

	e->rules = parse(text);
	e->text = xstrndup(text.p, text.len);
	e->set = (struct ruleset){
		e->rules, {e->text, text.len}
        };
	list_init(&e->in_unused);
	must(!table_set(b->entries, text, e));
	return e;
}

const struct ruleset *rulebook_take(struct rulebook *b, struct str text)
{
	struct entry *e;

	if (!text.p)
		return NULL;
	e = table_get(b->entries, text);
	if (!e)
		e = add(b, text);
	else if (e->uses == 0) {
		list_remove(&e->in_unused);
		b->unused_count--;
	}
	e->uses++;
	return &e->set;
}

void rulebook_give(struct rulebook *b, const struct ruleset *s)
{
	struct entry *e;

	if (!s)
		return;
	e = table_get(b->entries, s->text);
	must(e && &e->set == s && e->uses > 0);
	if (--e->uses > 0)
		return;
	list_add_tail(&b->unused, &e->in_unused);
	if (++b->unused_count <= UNUSED_MAX)
		return;
	e = list_first(&b->unused, struct entry, in_unused);
	b->unused_count--;
	must(table_remove(b->entries, e->set.text) == e);
	entry_free(e);
}

int rulebook_read(struct arena *a, const struct json *value, struct str *ret, struct error *err)
{
	_cleanup_(buf) struct buf text = BUF_INIT(BOT_RULES_MAX_BYTES);
	_cleanup_(rules) struct rules *r = NULL;
	struct json_out j = JSON_OUT(&text);

	if (rules_from_json(value, &r, err) < 0)
		return -1;
	*ret = (struct str){NULL, 0};
	if (rules_count(r) == 0 && !rules_unreadable(r).p)
		return 0;
	rules_put_json(r, &j, NULL);
	if (text.full)
		return error_set(err, &RULES_LIMIT, "rules: over %d bytes", BOT_RULES_MAX_BYTES);
	*ret = (struct str){arena_strndup(a, text.data, text.len), text.len};
	return 0;
}
