/* The flags of a bot's own limits. */
#include "agent/cmd/limits.h"

#include <string.h>

#include "mem/mem.h"
#include "os/os.h"
#include "text/text.h"

#define NUMBER_OPTION(name, flag, value, min, max, fallback, help)                                 \
	CLI_OPT_NUMBER(struct limit_options, name, flag, value, min, max, help),

const struct cli_option limit_options[LIMIT_OPTIONS] = {
	BOT_LIMITS(NUMBER_OPTION) CLI_OPT_TEXT(struct limit_options, cache_ttl, "cache-ttl",
		"5m|1h", "how long a provider is asked to keep the prompt (5m)"),
	CLI_OPT_TEXT(struct limit_options, compaction_instructions, "compaction-instructions",
		"TEXT", "how a full context is summarised; without, it is cut"),
	CLI_OPT_TEXT(struct limit_options, compaction_instructions_file,
		"compaction-instructions-file", "FILE", "the same, from a file"),
	CLI_OPT_TEXT(struct limit_options, compaction_model, "compaction-model", "PROVIDER/MODEL",
		"which model summarises (its own)"),
	CLI_OPT_FLAG(struct limit_options, no_compaction, "no-compaction",
		"no summaries: a full context is cut"),
	CLI_OPT_TEXT(struct limit_options, fallbacks, "fallbacks", "PROVIDER/MODEL,…",
		"models tried in order when its own fails ('' for none)"),
};

/* In the order of the options. */
static struct cli_number number_at(const struct limit_options *o, size_t i)
{
	return *(const struct cli_number *)((const char *)o + limit_options[i].offset);
}

const char *limits_given(const struct limit_options *o)
{
	for (size_t i = 0; i < bot_limit_count; i++) {
		if (number_at(o, i).set)
			return limit_options[i].name;
	}
	for (size_t i = bot_limit_count; i < LIMIT_OPTIONS; i++) {
		const char *at = (const char *)o + limit_options[i].offset;

		if (limit_options[i].sort == CLI_FLAG ? *(const bool *)at
						      : *(const char *const *)at != NULL)
			return limit_options[i].name;
	}
	return NULL;
}

static int put_compaction(struct json_out *j, const struct limit_options *o, struct error *err)
{
	_cleanup_(buf) struct buf text = BUF_INIT(BOT_INSTRUCTIONS_MAX_BYTES);

	if ((o->compaction_instructions != NULL) + (o->compaction_instructions_file != NULL) +
			o->no_compaction >
		1)
		return error_set(err, &CLI_USAGE_ERROR,
			"'--compaction-instructions', '--compaction-instructions-file' and "
			"'--no-compaction' exclude each other");
	if (o->no_compaction)
		json_put_null(j, "compaction_instructions");
	if (o->compaction_instructions)
		json_put_cstr(j, "compaction_instructions", o->compaction_instructions);
	if (!o->compaction_instructions_file)
		return 0;
	if (os_read_file(o->compaction_instructions_file, &text, err) < 0)
		return error_prefix(err, "--compaction-instructions-file");
	if (text.full)
		return error_set(err, &ERROR_LIMIT,
			"--compaction-instructions-file: is over %d bytes",
			BOT_INSTRUCTIONS_MAX_BYTES);
	json_put_str(j, "compaction_instructions", buf_str(&text));
	return 0;
}

static void put_fallbacks(struct json_out *j, const char *given)
{
	struct str rest = str_from(given), one;

	json_open_key(j, "fallbacks", '[');
	while (*given && str_next(&rest, ',', &one))
		json_put_str(j, NULL, str_trim(one));
	json_close(j, ']');
}

int limits_put(struct json_out *j, const struct limit_options *o, struct error *err)
{
	for (size_t i = 0; i < bot_limit_count; i++) {
		if (number_at(o, i).set)
			json_put_i64(j, bot_limit_table[i].name, number_at(o, i).value);
	}
	if (o->cache_ttl)
		json_put_cstr(j, "cache_ttl", o->cache_ttl);
	if (o->compaction_model)
		json_put_cstr(j, "compaction_model", o->compaction_model);
	if (o->fallbacks)
		put_fallbacks(j, o->fallbacks);
	return put_compaction(j, o, err);
}
