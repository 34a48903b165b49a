/*
 * The first stage: every occurrence of a known value becomes one mark.
 *
 * Where occurrences overlap, their union becomes one mark, so that no part of any shows; where they
 * only touch, each becomes its own. At any time the matcher's node is the longest start of a value
 * that the text ends with: nothing before it can be part of a later occurrence, and that much is
 * handed on.
 */
#include <string.h>

#include "mem/mem.h"
#include "secret/internal.h"

enum {
	BLOCK_BYTES = 65536, /* of a piece at once: bounds the list of spans */
	SPANS_FIRST = 16,
};

void known_init(struct known *k, struct match *m)
{
	k->match = m;
	/* Twice what can be held, so that moving it down is rare. */
	k->held_room = 2 * m->longest;
	k->held = xmalloc(k->held_room ? k->held_room : 1);
}

void known_release(struct known *k)
{
	wipe_free(k->held, k->held_room);
	free(k->spans);
	match_unref(k->match);
}

static void push_span(struct known *k, uint64_t start, uint64_t end)
{
	if (k->span_count == k->span_room) {
		k->span_room = k->span_room ? 2 * k->span_room : SPANS_FIRST;
		k->spans = xrealloc(k->spans, k->span_room, sizeof(*k->spans));
	}
	k->spans[k->span_count++] = (struct span){start, end};
}

/* Ends come in order; a start can lie before that of spans found earlier. */
static void add_span(struct known *k, uint64_t start, uint64_t end)
{
	while (k->span_count > k->span_head && k->spans[k->span_count - 1].end > start) {
		struct span last = k->spans[--k->span_count];

		if (last.start < start)
			start = last.start;
	}
	if (start < k->hidden)
		k->hidden = end; /* goes on with the mark written last */
	else
		push_span(k, start, end);
}

/* The piece of the stream being looked at: offsets [base, base + len). */
struct piece {
	const char *p;
	uint64_t base;
};

/* Hands on [from, to), which lies in what is held, in the piece, or in both. */
static void show(struct secret_filter *f, const struct piece *piece, uint64_t from, uint64_t to)
{
	struct known *k = &f->known;

	if (from < k->hidden)
		from = k->hidden < to ? k->hidden : to;
	if (from < piece->base && from < to) {
		uint64_t end = to < piece->base ? to : piece->base;

		pem_put(f, k->held + k->held_from + (from - k->shown), end - from);
		from = end;
	}
	if (from < to)
		pem_put(f, piece->p + (from - piece->base), to - from);
}

/* Everything before `until` is decided. */
static void decide(struct secret_filter *f, const struct piece *piece, uint64_t until)
{
	struct known *k = &f->known;
	uint64_t from = k->shown;

	while (k->span_head < k->span_count && k->spans[k->span_head].start < until) {
		struct span s = k->spans[k->span_head++];

		show(f, piece, from, s.start);
		pem_put(f, SECRET_MARK, sizeof(SECRET_MARK) - 1);
		k->hidden = s.end;
		from = s.end;
	}
	if (from < until)
		show(f, piece, from, until);
	if (k->span_head == k->span_count) {
		k->span_head = k->span_count = 0;
	} else if (k->span_head > k->span_count / 2) {
		k->span_count -= k->span_head;
		memmove(k->spans, k->spans + k->span_head, k->span_count * sizeof(*k->spans));
		k->span_head = 0;
	}
}

/* Keeps [until, at) for later; before, [shown, base) was held and the piece follows. */
static void hold(struct known *k, const struct piece *piece, uint64_t until)
{
	size_t drop = (size_t)(until - k->shown);
	uint64_t from = until > piece->base ? until : piece->base;
	size_t more = (size_t)(k->at - from);

	if (drop >= k->held_len) {
		k->held_from = k->held_len = 0;
	} else {
		k->held_from += drop;
		k->held_len -= drop;
	}
	if (k->held_from + k->held_len + more > k->held_room) {
		memmove(k->held, k->held + k->held_from, k->held_len);
		k->held_from = 0;
	}
	must(k->held_len + more <= k->held_room);
	memcpy(k->held + k->held_from + k->held_len, piece->p + (from - piece->base), more);
	k->held_len += more;
	k->shown = until;
}

static void search(struct known *k, const unsigned char *p, size_t len)
{
	const struct match *m = k->match;
	uint32_t node = k->node;

	for (size_t i = 0; i < len; i++) {
		if (!node)
			i = match_skip(m, p, i, len);
		node = match_step(m, node, p[i]);
		if (m->ending[node])
			add_span(k, k->at + i + 1 - m->ending[node], k->at + i + 1);
	}
	k->node = node;
}

static void put_block(struct secret_filter *f, const char *p, size_t len)
{
	struct known *k = &f->known;
	struct piece piece = {p, k->at};
	uint64_t until;

	search(k, (const unsigned char *)p, len);
	k->at += len;
	until = k->at - k->match->depth[k->node];
	decide(f, &piece, until);
	hold(k, &piece, until);
}

void known_put(struct secret_filter *f, const char *p, size_t len)
{
	if (!f->known.match->longest) {
		pem_put(f, p, len);
		return;
	}
	while (len) {
		size_t part = len < BLOCK_BYTES ? len : BLOCK_BYTES;

		put_block(f, p, part);
		p += part;
		len -= part;
	}
}

void known_end(struct secret_filter *f)
{
	struct known *k = &f->known;
	struct piece none = {"", k->at};

	decide(f, &none, k->at);
	hold(k, &none, k->at);
	k->node = 0;
}
