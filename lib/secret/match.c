/*
 * Many patterns at once, in time linear in the text (Aho and Corasick 1975).
 *
 * Values can be long (a token has 2 KiB) and have several spellings, so nodes are small: 19 bytes
 * each instead of a row of 256. Most text never leaves the root, where a table of first bytes and
 * one of first pairs skip it.
 */
#include <stdlib.h>
#include <string.h>

#include "mem/mem.h"
#include "secret/internal.h"

/* A node while the tree is made: the patterns that pass through it, of the sorted list. */
struct range {
	uint32_t from, to;
};

void wipe_free(void *p, size_t len)
{
	if (!p)
		return;
	explicit_bzero(p, len);
	free(p);
}

static int compare(const void *a, const void *b)
{
	const struct str *x = a;
	const struct str *y = b;
	size_t common = x->len < y->len ? x->len : y->len;
	int order = memcmp(x->p, y->p, common);

	if (order)
		return order;
	return (x->len > y->len) - (x->len < y->len);
}

static uint32_t child(const struct match *m, uint32_t node, unsigned char byte)
{
	uint32_t from = m->first_child[node];
	uint32_t count = m->child_count[node];

	if (node == 0)
		return m->root[byte];
	while (count > 4) { /* halve down to what is quicker to look through */
		uint32_t half = count / 2;

		if (m->bytes[from + half] <= byte) {
			from += half;
			count -= half;
		} else {
			count = half;
		}
	}
	for (uint32_t i = from; i < from + count; i++) {
		if (m->bytes[i] == byte)
			return i;
	}
	return 0;
}

uint32_t match_step(const struct match *m, uint32_t node, unsigned char byte)
{
	uint32_t next;

	while (!(next = child(m, node, byte)) && node)
		node = m->fail[node];
	return next;
}

/* Three bytes as a bit of m->grams. */
static unsigned gram_bit(const unsigned char *p)
{
	uint32_t gram = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;

	return (gram * UINT32_C(0x9e3779b1)) >> 16;
}

static bool is_gram(const struct match *m, const unsigned char *p)
{
	unsigned bit = gram_bit(p);

	return m->grams[bit / 32] >> (bit % 32) & 1;
}

/*
 * A pattern has six bytes at least, and the three-byte grams at its first four places are noted: of
 * any four neighbouring places in the text, one shows whether a pattern starts at one of them or
 * shortly before.
 */
size_t match_skip(const struct match *m, const unsigned char *p, size_t at, size_t len)
{
	size_t seen = at + MATCH_GRAMS - 1;

	while (seen + 3 <= len && !is_gram(m, p + seen))
		seen += MATCH_GRAMS;
	return seen - (MATCH_GRAMS - 1);
}

/* The children of a node: one for each byte that its patterns go on with. */
static void add_children(
	struct match *m, const struct str *sorted, struct range *ranges, uint32_t node)
{
	struct range r = ranges[node];
	size_t depth = m->depth[node];

	while (r.from < r.to && sorted[r.from].len == depth)
		r.from++; /* ends here */
	m->first_child[node] = (uint32_t)m->node_count;
	for (uint32_t i = r.from; i < r.to;) {
		unsigned char byte = (unsigned char)sorted[i].p[depth];
		uint32_t made = (uint32_t)m->node_count++;

		ranges[made].from = i;
		while (i < r.to && (unsigned char)sorted[i].p[depth] == byte)
			i++;
		ranges[made].to = i;
		m->bytes[made] = byte;
		m->depth[made] = (uint32_t)depth + 1;
		m->child_count[node]++;
		if (node == 0)
			m->root[byte] = made;
	}
}

/* Where to go on when no child fits: the longest proper suffix that is a node. All nodes that are
 * less deep have their children by now. */
static void link_children(
	struct match *m, const struct str *sorted, const struct range *ranges, uint32_t node)
{
	uint32_t from = m->first_child[node];

	for (uint32_t i = from; i < from + m->child_count[node]; i++) {
		m->fail[i] = node ? match_step(m, m->fail[node], m->bytes[i]) : 0;
		if (sorted[ranges[i].from].len == m->depth[i])
			m->ending[i] = m->depth[i];
		else
			m->ending[i] = m->ending[m->fail[i]];
	}
}

static void note_grams(struct match *m, struct str pattern)
{
	for (size_t i = 0; i < MATCH_GRAMS; i++) {
		unsigned bit = gram_bit((const unsigned char *)pattern.p + i);

		m->grams[bit / 32] |= UINT32_C(1) << (bit % 32);
	}
}

static void build(struct match *m, struct str *sorted, size_t count, size_t room)
{
	struct range *ranges = xcalloc(room, sizeof(*ranges));

	ranges[0].to = (uint32_t)count;
	m->node_count = 1;
	for (uint32_t node = 0; node < m->node_count; node++) {
		add_children(m, sorted, ranges, node);
		link_children(m, sorted, ranges, node);
	}
	free(ranges);
}

struct match *match_new(const struct str *patterns, size_t count)
{
	struct match *m = xcalloc(1, sizeof(*m));
	struct str *sorted = xcalloc(count, sizeof(*sorted));
	size_t room = 1;

	atomic_init(&m->refs, 1);
	for (size_t i = 0; i < count; i++) {
		must(patterns[i].len >= MATCH_LEN_MIN);
		sorted[i] = patterns[i];
		room += patterns[i].len;
		if (patterns[i].len > m->longest)
			m->longest = patterns[i].len;
		note_grams(m, patterns[i]);
	}
	must(room < UINT32_MAX);
	if (count)
		qsort(sorted, count, sizeof(*sorted), compare);
	m->bytes = xcalloc(room, sizeof(*m->bytes));
	m->first_child = xcalloc(room, sizeof(*m->first_child));
	m->child_count = xcalloc(room, sizeof(*m->child_count));
	m->fail = xcalloc(room, sizeof(*m->fail));
	m->depth = xcalloc(room, sizeof(*m->depth));
	m->ending = xcalloc(room, sizeof(*m->ending));
	build(m, sorted, count, room);
	free(sorted);
	return m;
}

struct match *match_ref(struct match *m)
{
	(void)atomic_fetch_add(&m->refs, 1);
	return m;
}

void match_unref(struct match *m)
{
	if (!m || atomic_fetch_sub(&m->refs, 1) > 1)
		return;
	wipe_free(m->bytes, m->node_count); /* the values, one way or another */
	free(m->first_child);
	free(m->child_count);
	free(m->fail);
	free(m->depth);
	free(m->ending);
	wipe_free(m, sizeof(*m));
}
