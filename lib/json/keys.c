/*
 * json keys: that no object has two members of one name.
 *
 * A small object is compared pair by pair, which a filter of 64 bits makes rare. A large one is
 * sorted by hash: a sender who makes all hashes equal costs us comparisons, never a quadratic
 * number of them.
 */
#include <stdlib.h>

#include "json/internal.h"

enum {
	KEYS_PAIRWISE_MAX = 32, /* ours: up to here sorting costs more */
};

struct hashed_key {
	uint64_t hash;
	const struct json *member;
};

/* FNV-1a; good enough, since no worst case hangs on it. */
static uint64_t hash_bytes(struct str s)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < s.len; i++)
		hash = (hash ^ (unsigned char)s.p[i]) * 0x100000001b3u;
	return hash;
}

/* One of 64 bits by length and two bytes: names of one object mostly differ in it. */
static uint64_t filter_bit(struct str s)
{
	unsigned mix = (unsigned)s.len * 7;

	if (s.len > 0)
		mix += (unsigned char)s.p[0] * 5u + (unsigned char)s.p[s.len - 1];
	return UINT64_C(1) << (mix & 63);
}

static const struct json *find_pairwise(const struct json *object)
{
	uint64_t seen = 0;

	json_for_each (member, object) {
		const uint64_t bit = filter_bit(member->key);

		if (seen & bit) {
			for (const struct json *m = object->child; m != member; m = m->next) {
				if (str_eq(m->key, member->key))
					return member;
			}
		}
		seen |= bit;
	}
	return NULL;
}

static int compare_hashed(const void *left, const void *right)
{
	const struct hashed_key *a = left, *b = right;
	const struct str ka = a->member->key, kb = b->member->key;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	if (ka.len != kb.len)
		return ka.len < kb.len ? -1 : 1;
	return memcmp(ka.p, kb.p, ka.len);
}

static const struct json *find_sorted(const struct json *object)
{
	_cleanup_(mem) struct hashed_key *keys = xcalloc(object->count, sizeof(*keys));
	size_t count = 0;

	json_for_each (member, object)
		keys[count++] = (struct hashed_key){hash_bytes(member->key), member};
	qsort(keys, count, sizeof(*keys), compare_hashed);
	for (size_t i = 1; i < count; i++) {
		if (compare_hashed(&keys[i - 1], &keys[i]) == 0) {
			/* Keys lie in one copy of the text, so the later one has the higher
			 * address. */
			return keys[i - 1].member->key.p > keys[i].member->key.p
				       ? keys[i - 1].member
				       : keys[i].member;
		}
	}
	return NULL;
}

const struct json *json_find_duplicate(const struct json *object)
{
	return object->count <= KEYS_PAIRWISE_MAX ? find_pairwise(object) : find_sorted(object);
}
