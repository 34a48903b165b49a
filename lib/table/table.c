/*
 * table: entries in the order they came, and an index of their places by hash.
 *
 * A removed entry stays as a gap until the entries are packed, which happens when they have filled
 * their room: so a walk may remove what it stands on, and steady coming and going costs no search.
 * The index has at least twice as many places as there are entries, probed one after the other.
 */
#include <stdlib.h>

#include "mem/mem.h"
#include "table/internal.h"
#include "table/table.h"

enum {
	FIRST_ENTRIES = 8,     /* ours: most tables are small */
	ENTRIES_MAX = 1 << 30, /* places are numbered in 32 bits */
	PLACE_FREE = 0,        /* the index holds place + 1 */
};

enum key_sort { KEY_NONE, KEY_STR, KEY_ID };

struct entry {
	uint64_t hash;
	union {
		char *p;
		uint64_t id;
	} key;
	size_t len;
	void *value; /* NULL: a gap */
};

struct table {
	enum key_sort sort;
	struct entry *entries;
	uint32_t *index;
	size_t used, room; /* of entries, gaps included; the index has 2 * room places */
	size_t count;      /* without gaps */
};

struct key {
	enum key_sort sort;
	uint64_t hash, id;
	struct str str;
};

static struct key key_of_str(struct str s)
{
	return (struct key){KEY_STR, table_hash(s.p, s.len), 0, s};
}

static struct key key_of_id(uint64_t id)
{
	return (struct key){
		KEY_ID, table_hash(&id, sizeof(id)), id, {NULL, 0}
        };
}

static bool same(const struct entry *e, const struct key *k)
{
	if (!e->value || e->hash != k->hash)
		return false;
	if (k->sort == KEY_ID)
		return e->key.id == k->id;
	return str_eq((struct str){e->key.p, e->len}, k->str);
}

static struct entry *find(const struct table *t, const struct key *k)
{
	size_t mask = t->room * 2 - 1;

	if (t->count == 0)
		return NULL;
	must(t->sort == k->sort);
	for (size_t at = k->hash & mask; t->index[at] != PLACE_FREE; at = (at + 1) & mask) {
		struct entry *e = &t->entries[t->index[at] - 1];

		if (same(e, k))
			return e;
	}
	return NULL;
}

static void index_entry(struct table *t, size_t place)
{
	size_t mask = t->room * 2 - 1;
	size_t at = t->entries[place].hash & mask;

	while (t->index[at] != PLACE_FREE)
		at = (at + 1) & mask;
	t->index[at] = (uint32_t)place + 1;
}

/* Closes the gaps and makes room: twice as much when over half is in use, less when little is. */
static void pack(struct table *t)
{
	struct entry *entries;
	size_t room = FIRST_ENTRIES, used = 0;

	while (room < t->count * 2)
		room *= 2;
	must(room <= ENTRIES_MAX);
	entries = xcalloc(room, sizeof(*entries));
	for (size_t i = 0; i < t->used; i++)
		if (t->entries[i].value)
			entries[used++] = t->entries[i];
	free(t->entries);
	free(t->index);
	t->entries = entries;
	t->index = xcalloc(room * 2, sizeof(*t->index));
	t->room = room;
	t->used = used;
	for (size_t i = 0; i < used; i++)
		index_entry(t, i);
}

static void *get(const struct table *t, const struct key *k)
{
	const struct entry *e = find(t, k);

	return e ? e->value : NULL;
}

static void *set(struct table *t, const struct key *k, void *value)
{
	struct entry *e = find(t, k);
	void *old;

	must(value);
	if (e) {
		old = e->value;
		e->value = value;
		return old;
	}
	if (t->count == 0)
		t->sort = k->sort;
	if (t->used == t->room)
		pack(t);
	e = &t->entries[t->used];
	e->hash = k->hash;
	e->value = value;
	e->len = k->str.len;
	if (k->sort == KEY_ID)
		e->key.id = k->id;
	else
		e->key.p = xmemdup(k->str.p, k->str.len);
	index_entry(t, t->used);
	t->used++;
	t->count++;
	return NULL;
}

static void *take(struct table *t, const struct key *k)
{
	struct entry *e = find(t, k);
	void *old;

	if (!e)
		return NULL;
	old = e->value;
	e->value = NULL;
	if (k->sort == KEY_STR)
		free(e->key.p);
	e->key.p = NULL;
	t->count--;
	return old;
}

struct table *table_new(void)
{
	return xcalloc(1, sizeof(struct table));
}

void table_free(struct table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->used && t->sort == KEY_STR; i++)
		if (t->entries[i].value)
			free(t->entries[i].key.p);
	free(t->entries);
	free(t->index);
	free(t);
}

size_t table_count(const struct table *t)
{
	return t->count;
}

void *table_get(const struct table *t, struct str key)
{
	struct key k = key_of_str(key);

	return get(t, &k);
}

void *table_set(struct table *t, struct str key, void *value)
{
	struct key k = key_of_str(key);

	return set(t, &k, value);
}

void *table_remove(struct table *t, struct str key)
{
	struct key k = key_of_str(key);

	return take(t, &k);
}

void *table_get_id(const struct table *t, uint64_t key)
{
	struct key k = key_of_id(key);

	return get(t, &k);
}

void *table_set_id(struct table *t, uint64_t key, void *value)
{
	struct key k = key_of_id(key);

	return set(t, &k, value);
}

void *table_remove_id(struct table *t, uint64_t key)
{
	struct key k = key_of_id(key);

	return take(t, &k);
}

void *table_next(const struct table *t, size_t *at)
{
	while (*at < t->used) {
		const struct entry *e = &t->entries[(*at)++];

		if (e->value)
			return e->value;
	}
	return NULL;
}
