/* The limits of one bot. */
#include "agent/core/bot_limits.h"

#define LIMIT_ROW(member, flag, value, min_, max_, fallback_, help)                                \
	{#member, offsetof(struct bot_limits, member), min_, max_, fallback_},

const struct bot_limit bot_limit_table[] = {BOT_LIMITS(LIMIT_ROW)};
const size_t bot_limit_count = ARRAY_LEN(bot_limit_table);

const char *const bot_cache_ttl_names[] = {"5m", "1h", NULL};

static const char cache_ttl[] = "cache_ttl";

void bot_limits_init(struct bot_limits *l)
{
	*l = (struct bot_limits){.cache_hours = 0};
	for (size_t i = 0; i < bot_limit_count; i++)
		*bot_limit_at(l, &bot_limit_table[i]) = bot_limit_table[i].fallback;
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
	json_put_cstr(j, cache_ttl, bot_cache_ttl_names[l->cache_hours != 0]);
}

int bot_limits_read(const struct json *object, struct bot_limits *ret, struct error *err)
{
	struct bot_limits l;
	struct str ttl = json_str(json_get(object, cache_ttl));

	bot_limits_init(&l);
	for (size_t i = 0; object && i < bot_limit_count; i++) {
		const struct bot_limit *row = &bot_limit_table[i];
		const struct json *value = json_get(object, row->name);

		if (value && json_i64(value, bot_limit_at(&l, row)) < 0)
			return error_set(
				err, &ERROR_INVALID, "limits.%s: must be a number", row->name);
	}
	if (ttl.p)
		l.cache_hours = str_is(ttl, bot_cache_ttl_names[1]);
	*ret = l;
	return 0;
}
