#ifndef TEST_MODEL_ROUNDTRIP_H
#define TEST_MODEL_ROUNDTRIP_H
/*
 * roundtrip: what a family's encoder writes of a decoded reply is decoded to the same reply. What a
 * family cannot say is left out on both sides: unknown counts are 0, usage counts as it is at the
 * end, signs of life do not count.
 */
#include <stdio.h>

#include "test/model/tape.h"

struct gist {
	enum model_family family;
	bool items; /* every block had one */
	struct buf lines;
	struct buf start; /* of a reply that ended: before a fault it may be missing */
	struct buf items_text;
	struct buf fault_text;
	struct model_usage usage;
	bool ended, faulted;
	bool unsayable; /* nothing of this family says it */
	enum model_fault fault;
	/* and on the way, what the encoder makes of it */
	struct model_encoder *encoder;
	struct buf encoded;
};

static inline void gist_init(struct gist *g, enum model_family family, bool encode)
{
	*g = (struct gist){
		.family = family,
		.items = true,
		.lines = BUF_INIT(TAPE_MAX_BYTES),
		.start = BUF_INIT(TAPE_MAX_BYTES),
		.items_text = BUF_INIT(TAPE_MAX_BYTES),
		.fault_text = BUF_INIT(TAPE_MAX_BYTES),
		.encoded = BUF_INIT(TAPE_MAX_BYTES),
		.usage = {-1, -1, -1, -1, -1, -1},
		.encoder = encode ? model_encoder_new(family) : NULL
        };
}

static inline void gist_release(struct gist *g)
{
	buf_release(&g->lines);
	buf_release(&g->start);
	buf_release(&g->items_text);
	buf_release(&g->fault_text);
	buf_release(&g->encoded);
	model_encoder_free(g->encoder);
}

static inline void gist_str(struct buf *to, const char *what, struct str s)
{
	struct json_out j = JSON_OUT(to);

	(void)buf_printf(to, "%s ", what);
	json_put_str(&j, NULL, s);
	(void)buf_putc(to, '\n');
}

static inline void gist_block_end(struct gist *g, const struct model_event *e)
{
	if (e->sort == MODEL_OPAQUE && !e->item.p && e->text.len == 0) {
		g->unsayable = true;
		return;
	}
	if (g->family == MODEL_RESPONSES || e->sort == MODEL_OPAQUE)
		gist_str(&g->items_text, tape_sorts[e->sort], e->item.p ? e->item : STR(""));
	if (g->family == MODEL_RESPONSES && !e->item.p)
		g->items = false;
	if (e->sort == MODEL_OPAQUE) /* told late: nothing of it is written before its end */
		gist_str(&g->lines, "opaque", e->text);
	else
		gist_str(&g->lines, "over", e->text);
}

/* Of what has no name in the family the nearest is written. */
static inline enum model_stop gist_stop(const struct gist *g, const struct model_event *e)
{
	if (g->family == MODEL_CHAT && e->stop == MODEL_STOP_CONTEXT)
		return MODEL_STOP_LENGTH;
	return e->stop;
}

static inline void gist_line(struct gist *g, const struct model_event *e)
{
	switch (e->kind) {
	case MODEL_EV_START:
		gist_str(&g->start, "id", e->text);
		gist_str(&g->start, "model", e->name);
		break;
	case MODEL_EV_BLOCK:
		if (e->sort != MODEL_OPAQUE)
			(void)buf_printf(&g->lines, "%s\n", tape_sorts[e->sort]);
		if (e->sort == MODEL_CALL) {
			gist_str(&g->lines, "id", e->call_id);
			gist_str(&g->lines, "name", e->name);
		}
		break;
	case MODEL_EV_DELTA:
		if (e->sort != MODEL_OPAQUE)
			gist_str(&g->lines, "delta", e->text);
		break;
	case MODEL_EV_SIGNATURE:
		gist_str(&g->lines, "signature", e->text);
		break;
	case MODEL_EV_BLOCK_END:
		gist_block_end(g, e);
		break;
	case MODEL_EV_USAGE:
		g->usage = e->usage;
		break;
	case MODEL_EV_STOP:
		(void)buf_printf(&g->lines, "%s\n", tape_stops[gist_stop(g, e)]);
		gist_str(&g->lines, "stop", e->text.p ? e->text : STR(""));
		g->unsayable |= g->family == MODEL_CHAT && e->stop == MODEL_STOP_SEQUENCE &&
				e->text.len == 0;
		break;
	case MODEL_EV_END:
		g->ended = true;
		break;
	case MODEL_EV_FAULT:
		g->faulted = true;
		g->fault = e->fault;
		(void)buf_put_str(&g->fault_text, e->text);
		break;
	case MODEL_EV_KEEPALIVE:
		break;
	}
}

static inline void gist_event(void *arg, const struct model_event *e)
{
	struct gist *g = arg;

	gist_line(g, e);
	if (g->encoder)
		model_encode(g->encoder, e, &g->encoded);
}

static inline int gist_decode(
	struct gist *g, enum model_family family, struct str stream, struct error *err)
{
	struct model_decoder *d = model_decoder_new(family);
	int rc = model_decode(d, stream, gist_event, g, err);

	if (rc == 0)
		rc = model_decode_end(d, gist_event, g, err);
	model_decoder_free(d);
	return rc;
}

static inline int64_t gist_count(int64_t n)
{
	return n > 0 ? n : 0;
}

static inline bool gist_same_usage(const struct gist *a, const struct gist *b)
{
	const struct model_usage *u = &a->usage, *v = &b->usage;
	const int64_t parts = gist_count(u->cached) + gist_count(u->cache_write);
	const int64_t input = gist_count(u->input);

	if (a->family == MODEL_MESSAGES && parts > input && gist_count(v->input) != parts)
		return false;
	if (!(a->family == MODEL_MESSAGES && parts > input) && gist_count(v->input) != input)
		return false;
	return gist_count(u->output) == gist_count(v->output) &&
	       gist_count(u->cached) == gist_count(v->cached) &&
	       gist_count(u->cache_write) == gist_count(v->cache_write) &&
	       gist_count(u->cache_write_1h) == gist_count(v->cache_write_1h) &&
	       gist_count(u->reasoning) == gist_count(v->reasoning);
}

static inline bool gist_same(const struct gist *a, const struct gist *b)
{
	if (a->ended != b->ended || a->faulted != b->faulted)
		return false;
	if (!str_eq(buf_str(&a->lines), buf_str(&b->lines)))
		return false;
	if (a->items && !str_eq(buf_str(&a->items_text), buf_str(&b->items_text)))
		return false;
	if (a->faulted)
		return a->fault == b->fault &&
		       str_ends(buf_str(&b->fault_text), buf_str(&a->fault_text));
	return str_eq(buf_str(&a->start), buf_str(&b->start)) && gist_same_usage(a, b);
}

/* A message of two sorts has one item: without one it is not known which. */
static inline bool gist_can_be_said(const struct gist *g)
{
	if (g->unsayable || !(g->ended || g->faulted))
		return false;
	return g->items || str_find(buf_str(&g->lines), STR("refusal\n"), 0) < 0;
}

/* Aborts when the reply of a stream is another one after its way through the encoder. */
static inline void roundtrip_check(enum model_family family, struct str stream)
{
	struct error err = ERROR_INIT;
	struct gist first, second;

	gist_init(&first, family, true);
	gist_init(&second, family, false);
	(void)gist_decode(&first, family, stream, NULL);
	if (gist_can_be_said(&first)) {
		const int rc = gist_decode(&second, family, buf_str(&first.encoded), &err);
		const bool same = rc == 0 && gist_same(&first, &second);
		const bool too_deep = rc < 0 && error_is(&err, &MODEL_LIMIT);

		if (!same && !too_deep)
			fprintf(stderr, "%s\n--- became\n%s--- (%s: %s) by\n%s",
				buf_str(&first.lines).p, buf_str(&second.lines).p, error_code(&err),
				err.text, buf_str(&first.encoded).p);
		must(same || too_deep);
	}
	gist_release(&first);
	gist_release(&second);
}

#endif
