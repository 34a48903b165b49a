/*
 * usage: token counts of the three families in one meaning. A provider's number is believed when it
 * can be true; a wrong one costs that field, never the reply.
 */
#include "model/internal.h"

#define TOKENS_MAX (INT64_C(1) << 53) /* beyond it a number of JSON is not exact */

int64_t usage_read(const struct json *object, const char *name)
{
	int64_t value;

	if (json_i64(json_get(object, name), &value) < 0 || value < 0 || value > TOKENS_MAX)
		return -1;
	return value;
}

void usage_raise(int64_t *field, int64_t value)
{
	if (value > *field)
		*field = value;
}

static bool same(const struct model_usage *a, const struct model_usage *b)
{
	return a->input == b->input && a->output == b->output && a->cached == b->cached &&
	       a->cache_write == b->cache_write && a->cache_write_1h == b->cache_write_1h &&
	       a->reasoning == b->reasoning;
}

void usage_news(struct model_decoder *d, const struct model_usage *now)
{
	if (same(&d->usage, now))
		return;
	d->usage = *now;
	d->usage_news = true;
}

/* A part that is larger than its whole cannot be true. */
static void raise_part(int64_t *field, int64_t value, int64_t whole)
{
	if (value <= whole)
		usage_raise(field, value);
}

static int64_t first_of(int64_t a, int64_t b)
{
	return a >= 0 ? a : b;
}

void usage_chat(struct model_decoder *d, const struct json *usage)
{
	const struct json *in = json_get(usage, "prompt_tokens_details");
	const struct json *out = json_get(usage, "completion_tokens_details");
	const int64_t input = usage_read(usage, "prompt_tokens");
	const int64_t reasoning = usage_read(out, "reasoning_tokens");
	const int64_t total = usage_read(usage, "total_tokens");
	int64_t output = usage_read(usage, "completion_tokens");
	int64_t cached = usage_read(in, "cached_tokens");
	struct model_usage now = d->usage;

	if (!usage) /* as in all chunks but one */
		return;
	/* Some count reasoning beside the completion instead of in it; their total shows it. */
	if (reasoning > 0 && input >= 0 && output >= 0 && total == input + output + reasoning)
		output += reasoning;
	cached = first_of(cached, usage_read(usage, "prompt_cache_hit_tokens"));
	cached = first_of(cached, usage_read(usage, "cached_tokens"));
	usage_raise(&now.input, input);
	usage_raise(&now.output, output);
	raise_part(&now.cached, cached, now.input);
	raise_part(&now.cache_write, usage_read(in, "cache_write_tokens"), now.input);
	raise_part(&now.reasoning, reasoning, now.output);
	usage_news(d, &now);
}

void usage_responses(struct model_decoder *d, const struct json *usage)
{
	const struct json *in = json_get(usage, "input_tokens_details");
	const struct json *out = json_get(usage, "output_tokens_details");
	struct model_usage now = d->usage;

	usage_raise(&now.input, usage_read(usage, "input_tokens"));
	usage_raise(&now.output, usage_read(usage, "output_tokens"));
	raise_part(&now.cached, usage_read(in, "cached_tokens"), now.input);
	raise_part(&now.cache_write, usage_read(in, "cache_write_tokens"), now.input);
	raise_part(&now.reasoning, usage_read(out, "reasoning_tokens"), now.output);
	usage_news(d, &now);
}

void usage_messages(struct model_decoder *d, const struct json *usage)
{
	const struct json *kept = json_get(usage, "cache_creation");
	struct messages_state *m = &d->messages;
	struct model_usage now = d->usage;

	usage_raise(&m->input, usage_read(usage, "input_tokens"));
	usage_raise(&m->read, usage_read(usage, "cache_read_input_tokens"));
	usage_raise(&m->written, usage_read(usage, "cache_creation_input_tokens"));
	if (m->input >= 0)
		usage_raise(&now.input,
			m->input + (m->read > 0 ? m->read : 0) + (m->written > 0 ? m->written : 0));
	usage_raise(&now.output, usage_read(usage, "output_tokens"));
	usage_raise(&now.cached, m->read);
	usage_raise(&now.cache_write, m->written);
	raise_part(&now.cache_write_1h, usage_read(kept, "ephemeral_1h_input_tokens"),
		now.cache_write);
	usage_news(d, &now);
}
