/*
 * What reading a provider's stream costs: a mebibyte of small deltas per family, and the memory of
 * decoders that are in the middle of a reply.
 */
#include <malloc.h>
#include <stdio.h>
#include <time.h>

#include "measure.h"
#include "mem/mem.h"
#include "model/model.h"

enum {
	RUNS = 51,
	STREAM_BYTES = 1 << 20,
	PIECE_BYTES = 16384, /* what one read of a socket brings */
	DECODERS = 1024,     /* DESIGN: turns in flight */
};

static const char *const names[] = {"responses", "chat", "messages"};

/* Of the processor: nothing here waits, and what else the machine does stays out. */
static double now_ms(void)
{
	struct timespec t;

	must(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void encode(struct model_encoder *e, enum model_event_kind kind, struct buf *to)
{
	const struct model_event ev = {
		.kind = kind,
		.sort = MODEL_TEXT,
		.text = kind == MODEL_EV_START ? STR("reply_0123456789abcdef") : STR(" token"),
		.name = STR("model"),
		.usage = {-1, -1, -1, -1, -1, -1}
        };

	model_encode(e, &ev, to);
}

/* A reply of one block, up to its end or in its middle. */
static void make_stream(enum model_family family, size_t bytes, struct buf *to)
{
	struct model_encoder *e = model_encoder_new(family);

	encode(e, MODEL_EV_START, to);
	encode(e, MODEL_EV_BLOCK, to);
	while (to->len < bytes)
		encode(e, MODEL_EV_DELTA, to);
	model_encoder_free(e);
}

static void count(void *arg, const struct model_event *ev)
{
	*(size_t *)arg += ev->kind == MODEL_EV_DELTA;
}

static void feed(struct model_decoder *d, struct str stream, size_t *events)
{
	struct error err = ERROR_INIT;

	for (size_t at = 0, n; at < stream.len; at += n) {
		n = stream.len - at < PIECE_BYTES ? stream.len - at : PIECE_BYTES;
		if (model_decode(d, (struct str){stream.p + at, n}, count, events, &err) < 0)
			measure_fail("%s", err.text);
	}
}

static void measure_speed(enum model_family family)
{
	_cleanup_(buf) struct buf stream = BUF_INIT(2 * STREAM_BYTES);
	_cleanup_(mem) char *name = NULL;
	double ms[RUNS], middle;
	size_t events = 0;

	make_stream(family, STREAM_BYTES, &stream);
	for (int i = 0; i < RUNS; i++) {
		struct model_decoder *d = model_decoder_new(family);
		const double start = now_ms();

		events = 0;
		feed(d, buf_str(&stream), &events);
		ms[i] = now_ms() - start;
		model_decoder_free(d);
	}
	middle = measure_median(ms, RUNS);
	name = xasprintf("model %s: 1 MiB, %zu deltas", names[family], events);
	measure_note(name, middle, "ms");
}

/* What a decoder holds after some text, beyond that text. */
static void measure_memory(enum model_family family)
{
	static struct model_decoder *all[DECODERS];
	_cleanup_(buf) struct buf stream = BUF_INIT(STREAM_BYTES);
	_cleanup_(mem) char *name = NULL;
	size_t events = 0, made;

	make_stream(family, 4000, &stream);
	made = mallinfo2().uordblks;
	for (int i = 0; i < DECODERS; i++) {
		all[i] = model_decoder_new(family);
		feed(all[i], buf_str(&stream), &events);
	}
	name = xasprintf("model %s: a decoder after %zu deltas", names[family], events / DECODERS);
	measure_note(name, (double)(mallinfo2().uordblks - made) / DECODERS, "B");
	for (int i = 0; i < DECODERS; i++)
		model_decoder_free(all[i]);
}

int main(void)
{
	for (int f = MODEL_RESPONSES; f <= MODEL_MESSAGES; f++)
		measure_speed((enum model_family)f);
	for (int f = MODEL_RESPONSES; f <= MODEL_MESSAGES; f++)
		measure_memory((enum model_family)f);
	return 0;
}
