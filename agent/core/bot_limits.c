/* The limits of one bot. */
#include "agent/core/bot_limits.h"

#include "agent/core/limits.h"

#define LIMIT(member, min_, max_, fallback_)                                                       \
	{                                                                                          \
#member, offsetof(struct bot_limits, member), min_, max_, fallback_                \
	}

const struct bot_limit bot_limit_table[] = {
	LIMIT(context_bytes, 1024, 64 * 1024 * 1024, CONTEXT_MAX_BYTES),
	LIMIT(context_items, 2, 65536, CONTEXT_MAX_ITEMS),
	LIMIT(note_turns, 0, 1000, 48),
	LIMIT(compact_at, 1, 100, 75),
	LIMIT(compact_keep, 1, 99, 25),
	LIMIT(retain_turns, 0, INT32_MAX, 0),
	LIMIT(max_output_tokens, 0, INT32_MAX, 0),
	LIMIT(keep_warm, 0, 299, 240),
	LIMIT(cache_hours, 0, 1, 0),
};
const size_t bot_limit_count = ARRAY_LEN(bot_limit_table);

static int64_t *at(struct bot_limits *l, const struct bot_limit *row)
{
	return (int64_t *)((char *)l + row->offset);
}

void bot_limits_init(struct bot_limits *l)
{
	for (size_t i = 0; i < bot_limit_count; i++)
		*at(l, &bot_limit_table[i]) = bot_limit_table[i].fallback;
}

int bot_limits_check(const struct bot_limits *l, struct error *err)
{
	if (l->compact_keep >= l->compact_at)
		return error_set(err, &ERROR_INVALID,
			"compact_keep: %lld must be below compact_at, %lld",
			(long long)l->compact_keep, (long long)l->compact_at);
	return 0;
}

void bot_limits_write(struct json_out *j, const struct bot_limits *l)
{
	for (size_t i = 0; i < bot_limit_count; i++)
		json_put_i64(j, bot_limit_table[i].name,
			*(const int64_t *)((const char *)l + bot_limit_table[i].offset));
}

int bot_limits_read(const struct json *object, struct bot_limits *ret, struct error *err)
{
	struct bot_limits l;

	bot_limits_init(&l);
	for (size_t i = 0; object && i < bot_limit_count; i++) {
		const struct bot_limit *row = &bot_limit_table[i];
		const struct json *value = json_get(object, row->name);

		if (value && json_i64(value, at(&l, row)) < 0)
			return error_set(
				err, &ERROR_INVALID, "limits.%s: must be a number", row->name);
	}
	*ret = l;
	return 0;
}
