/*
 * The environment of a child: what the parent has, without what it must not get.
 */
#include <string.h>

#include "mem/mem.h"
#include "secret/secret.h"

static struct str name_of(const char *entry)
{
	const char *end = strchr(entry, '=');

	return (struct str){entry, end ? (size_t)(end - entry) : strlen(entry)};
}

static bool is_dropped(struct str name, const struct str *drop, size_t drop_count)
{
	for (size_t i = 0; i < drop_count; i++) {
		if (str_eq(name, drop[i]))
			return true;
	}
	return false;
}

/* Of several entries with one name the last counts. */
static bool is_set(struct str name, char *const *set)
{
	for (; set && *set; set++) {
		if (str_eq(name, name_of(*set)))
			return true;
	}
	return false;
}

/* Entries and bytes of a result, then the result: the same walk twice. */
struct result {
	char **entries;
	char *bytes;
	size_t count, size;
};

static void take(struct result *r, const char *entry)
{
	size_t size = strlen(entry) + 1;

	if (r->entries) {
		r->entries[r->count] = r->bytes + r->size;
		memcpy(r->entries[r->count], entry, size);
	}
	r->count++;
	r->size += size;
}

static void walk(struct result *r, char *const *env, const struct str *drop, size_t drop_count,
	char *const *set)
{
	r->count = r->size = 0;
	for (char *const *e = env; e && *e; e++) {
		struct str name = name_of(*e);

		if (!is_dropped(name, drop, drop_count) && !is_set(name, set))
			take(r, *e);
	}
	for (; set && *set; set++) {
		if (!is_set(name_of(*set), set + 1))
			take(r, *set);
	}
}

char **secret_environ(char *const *env, const struct str *drop, size_t drop_count, char *const *set)
{
	struct result r = {.entries = NULL};

	walk(&r, env, drop, drop_count, set);
	r.entries = xmalloc((r.count + 1) * sizeof(char *) + r.size);
	r.bytes = (char *)(r.entries + r.count + 1);
	walk(&r, env, drop, drop_count, set);
	r.entries[r.count] = NULL;
	return r.entries;
}
