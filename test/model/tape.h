#ifndef TEST_MODEL_TAPE_H
#define TEST_MODEL_TAPE_H
/*
 * tape: what a decoder told, one line an event, so that two tellings can be compared and a test can
 * say what it expects. Signs of life are counted apart.
 */
#include "json/json.h"
#include "mem/mem.h"
#include "model/model.h"

enum { TAPE_MAX_BYTES = 256 << 20 };

struct tape {
	struct buf text;
	size_t events, alive;
	size_t open; /* blocks that began and did not end */
	int next;    /* index of the next block */
	bool over;
};
#define TAPE_INIT                                                                                  \
	{                                                                                          \
		.text = BUF_INIT(TAPE_MAX_BYTES)                                                   \
	}

static const char *const tape_sorts[] = {"text", "refusal", "thinking", "call", "opaque"};
static const char *const tape_stops[] = {
	"end", "calls", "length", "sequence", "refusal", "pause", "context"};
static const char *const tape_faults[] = {
	"other", "rate", "overloaded", "quota", "context", "request", "auth", "not_found"};

static inline void tape_str(struct tape *t, struct str s)
{
	struct json_out j = JSON_OUT(&t->text);

	(void)buf_putc(&t->text, ' ');
	json_put_str(&j, NULL, s);
}

static inline void tape_usage(struct tape *t, const struct model_usage *u)
{
	(void)buf_printf(&t->text, " %lld %lld cached %lld write %lld 1h %lld reasoning %lld",
		(long long)u->input, (long long)u->output, (long long)u->cached,
		(long long)u->cache_write, (long long)u->cache_write_1h, (long long)u->reasoning);
}

/* Blocks are numbered from 0, one is open at a time, and nothing follows the end. */
static inline void tape_check(struct tape *t, const struct model_event *e)
{
	must(!t->over);
	switch (e->kind) {
	case MODEL_EV_BLOCK:
		must(t->open == 0 && e->index == t->next);
		t->open++;
		break;
	case MODEL_EV_DELTA:
		must(t->open == 1 && e->index == t->next && e->text.len > 0);
		break;
	case MODEL_EV_SIGNATURE:
		must(t->open == 1 && e->index == t->next);
		break;
	case MODEL_EV_BLOCK_END:
		must(t->open == 1 && e->index == t->next && e->text.p);
		t->open--;
		t->next++;
		break;
	case MODEL_EV_STOP:
		must(t->open == 0);
		break;
	case MODEL_EV_END:
		must(t->open == 0);
		t->over = true;
		break;
	case MODEL_EV_FAULT:
		must(e->name.p && e->text.p && e->retry_ms >= -1);
		t->over = true;
		break;
	default:
		break;
	}
}

static inline void tape_block(struct tape *t, const struct model_event *e)
{
	(void)buf_printf(&t->text, "block %d %s", e->index, tape_sorts[e->sort]);
	if (e->sort == MODEL_CALL) {
		tape_str(t, e->call_id);
		tape_str(t, e->name);
	}
}

static inline void tape_block_end(struct tape *t, const struct model_event *e)
{
	(void)buf_printf(&t->text, "over %d", e->index);
	tape_str(t, e->text);
	if (e->item.p) {
		(void)buf_puts(&t->text, " item ");
		(void)buf_put_str(&t->text, e->item);
	}
}

static inline void tape_event(void *arg, const struct model_event *e)
{
	struct tape *t = arg;

	tape_check(t, e);
	t->events++;
	switch (e->kind) {
	case MODEL_EV_KEEPALIVE:
		t->alive++;
		return;
	case MODEL_EV_START:
		(void)buf_puts(&t->text, "start");
		tape_str(t, e->text);
		tape_str(t, e->name);
		break;
	case MODEL_EV_BLOCK:
		tape_block(t, e);
		break;
	case MODEL_EV_DELTA:
		(void)buf_printf(&t->text, "delta %d", e->index);
		tape_str(t, e->text);
		break;
	case MODEL_EV_SIGNATURE:
		(void)buf_printf(&t->text, "signature %d", e->index);
		tape_str(t, e->text);
		break;
	case MODEL_EV_BLOCK_END:
		tape_block_end(t, e);
		break;
	case MODEL_EV_USAGE:
		(void)buf_puts(&t->text, "usage");
		tape_usage(t, &e->usage);
		break;
	case MODEL_EV_STOP:
		(void)buf_printf(&t->text, "stop %s", tape_stops[e->stop]);
		if (e->text.p)
			tape_str(t, e->text);
		break;
	case MODEL_EV_END:
		(void)buf_puts(&t->text, "end");
		break;
	case MODEL_EV_FAULT:
		(void)buf_printf(&t->text, "fault %s", tape_faults[e->fault]);
		tape_str(t, e->name);
		tape_str(t, e->text);
		(void)buf_printf(&t->text, " %lld", (long long)e->retry_ms);
		break;
	}
	(void)buf_putc(&t->text, '\n');
}

/* 0: in one chunk; 1: byte by byte; else of sizes that the seed makes. */
static inline size_t tape_chunk(uint32_t *mix, unsigned seed, size_t left)
{
	size_t n;

	*mix = *mix * 1664525u + 1013904223u;
	n = seed == 0 ? left : seed == 1 ? 1 : 1 + (*mix >> 24) % 61;
	return n < left ? n : left;
}

/* Decodes a whole stream; the last line of the tape is the error, if there was one. */
static inline void tape_decode(
	struct tape *t, enum model_family family, struct str stream, unsigned seed)
{
	struct model_decoder *d = model_decoder_new(family);
	struct error err = ERROR_INIT;
	uint32_t mix = seed * 2654435761u;
	int rc = 0;

	for (size_t at = 0, n; rc == 0 && at < stream.len; at += n) {
		n = tape_chunk(&mix, seed, stream.len - at);
		rc = model_decode(d, (struct str){stream.p + at, n}, tape_event, t, &err);
	}
	if (rc == 0)
		rc = model_decode_end(d, tape_event, t, &err);
	if (rc < 0)
		(void)buf_printf(&t->text, "error %s\n", error_code(&err));
	model_decoder_free(d);
}

#endif
