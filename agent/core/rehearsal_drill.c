/*
 * The members of a rehearsal that make it a drill.
 */
#include "agent/core/rehearsal_drill.h"

#include <string.h>

#include "agent/core/limits.h"
#include "agent/core/rehearsal.h"

const char *const drill_names[DRILL_VERDICTS + 1] = {
	[DRILL_CONFINED] = "confined",
	[DRILL_OPEN] = "open",
	[DRILL_ASKS] = "would_ask",
	[DRILL_REFUSED] = "refused",
	[DRILL_OUTSIDE] = "would_run_outside",
};

/* Why a path is none of a drill's, or NULL. */
static const char *fault_of(struct str path)
{
	struct str rest = path, part;

	if (path.len == 0 || path.len > DRILL_PATH_MAX_BYTES)
		return "must be 1 to 1024 bytes long";
	if (memchr(path.p, '\0', path.len))
		return "has a NUL in it";
	if (path.p[path.len - 1] == '/')
		return "ends in '/'";
	if (str_starts(rest, STR("~/")))
		rest = (struct str){rest.p + 2, rest.len - 2};
	else if (rest.p[0] == '/' || rest.p[0] == '~')
		return "must be ~/PATH or a path below the workspace";
	while (str_next(&rest, '/', &part)) {
		if (part.len == 0 || str_is(part, ".") || str_is(part, ".."))
			return "has a part that is empty, '.' or '..'";
	}
	return NULL;
}

static int check_path(struct str path, const char *where, struct error *err)
{
	const char *fault = fault_of(path);

	if (!fault)
		return 0;
	return error_set(err, &REHEARSAL_INVALID, "%s: '" STR_FMT "' %s", where,
		STR_ARG(str_cut(path, 80)), fault);
}

static int read_files(struct arena *a, const struct json *value, const char *where,
	struct drill_terms *t, struct error *err)
{
	size_t bytes = 0;

	if (!value)
		return 0;
	if (value->type != JSON_OBJECT || value->count > DRILL_PATHS_MAX)
		return error_set(err, &REHEARSAL_INVALID,
			"%s: must be an object of at most %d files", where, DRILL_PATHS_MAX);
	t->files = arena_alloc(a, (value->count + 1) * sizeof(*t->files));
	json_for_each (file, value) {
		if (check_path(file->key, where, err) < 0)
			return -1;
		if (file->type != JSON_STRING)
			return error_set(err, &REHEARSAL_INVALID,
				"%s: the content of '" STR_FMT "' must be a string", where,
				STR_ARG(str_cut(file->key, 80)));
		bytes += file->text.len;
		if (bytes > DRILL_FILES_MAX_BYTES)
			return error_set(err, &REHEARSAL_INVALID, "%s: over %d bytes together",
				where, DRILL_FILES_MAX_BYTES);
		t->files[t->file_count++] = (struct drill_file){file->key, file->text};
	}
	return 0;
}

static int read_paths(struct arena *a, const struct json *value, const char *where,
	struct str_list *ret, struct error *err)
{
	if (!value)
		return 0;
	if (value->type != JSON_ARRAY || value->count > DRILL_PATHS_MAX)
		return error_set(err, &REHEARSAL_INVALID,
			"%s: must be an array of at most %d paths", where, DRILL_PATHS_MAX);
	ret->items = arena_alloc(a, (value->count + 1) * sizeof(*ret->items));
	json_for_each (item, value) {
		if (item->type != JSON_STRING)
			return error_set(
				err, &REHEARSAL_INVALID, "%s: a path must be a string", where);
		if (check_path(item->text, where, err) < 0)
			return -1;
		ret->items[ret->count++] = item->text;
	}
	return 0;
}

/* What is to be unharmed was laid: nothing else has a state to compare with. */
static int check_unharmed(const struct drill_terms *t, const char *where, struct error *err)
{
	for (size_t i = 0; i < t->unharmed.count; i++) {
		bool laid = false;

		for (size_t k = 0; k < t->file_count; k++)
			laid = laid || str_eq(t->files[k].path, t->unharmed.items[i]);
		if (!laid)
			return error_set(err, &REHEARSAL_INVALID,
				"%s: '" STR_FMT "' is none of the files", where,
				STR_ARG(str_cut(t->unharmed.items[i], 80)));
	}
	return 0;
}

struct bot_fields {
	int sandbox;
	bool network;
	const struct json *writable_roots;
	struct str_list asks;
	struct str rules;
};

static const char *const modes[] = {"read-only", "workspace-write", "danger-full-access", NULL};
enum { BOT_SANDBOX = 0 }; /* its row */
static const struct json_field bot_fields[] = {
	JSON_ENUM(struct bot_fields, sandbox, modes),
	JSON_BOOL(struct bot_fields, network),
	JSON_NODE(struct bot_fields, writable_roots),
	JSON_STRS(struct bot_fields, asks, .max = DRILL_PATHS_MAX, .item_max = BOT_NAME_MAX_BYTES),
	JSON_STR(struct bot_fields, rules, .max = DRILL_TEXT_MAX_BYTES),
};

static int read_bot(struct arena *a, const struct json *value, const char *where,
	struct drill_bot *ret, struct error *err)
{
	const struct json_table table = {bot_fields, ARRAY_LEN(bot_fields), where, NULL};
	struct bot_fields f = {.network = false};
	uint64_t seen = 0;

	if (!value)
		return 0;
	if (value->type != JSON_OBJECT)
		return error_set(err, &REHEARSAL_INVALID, "%s: must be an object", where);
	if (json_decode(a, value, &table, &f, &seen, err) < 0)
		return -1;
	where = arena_printf(a, "%s.writable_roots", where);
	if (read_paths(a, f.writable_roots, where, &ret->writable_roots, err) < 0)
		return -1;
	for (size_t i = 0; i < ret->writable_roots.count; i++) {
		if (ret->writable_roots.items[i].p[0] != '~')
			return error_set(err, &REHEARSAL_INVALID,
				"%s: '" STR_FMT "' is below the workspace already", where,
				STR_ARG(str_cut(ret->writable_roots.items[i], 80)));
	}
	if ((seen >> BOT_SANDBOX) & 1)
		ret->sandbox = str_from(modes[f.sandbox]);
	ret->network = f.network;
	ret->asks = f.asks;
	ret->rules = f.rules;
	return 0;
}

int drill_read_terms(struct arena *a, const struct drill_members *m, const char *where,
	struct drill_terms *ret, struct error *err)
{
	struct drill_terms t = {.must = m->must, .rough = m->rough};
	const char *unharmed = arena_printf(a, "%s.unharmed", where);

	if (read_files(a, m->files, arena_printf(a, "%s.files", where), &t, err) < 0 ||
		read_paths(a, m->unharmed, unharmed, &t.unharmed, err) < 0 ||
		check_unharmed(&t, unharmed, err) < 0 ||
		read_paths(a, m->absent, arena_printf(a, "%s.absent", where), &t.absent, err) < 0 ||
		read_bot(a, m->bot, arena_printf(a, "%s.bot", where), &t.bot, err) < 0)
		return -1;
	*ret = t;
	return 0;
}

struct expect_fields {
	int verdict;
	bool fails;
	int64_t exit_code;
	struct str result_has, result_lacks;
};

enum { EXPECT_VERDICT, EXPECT_FAILS, EXPECT_EXIT_CODE }; /* their rows */
static const struct json_field expect_fields[] = {
	JSON_ENUM(struct expect_fields, verdict, drill_names),
	JSON_BOOL(struct expect_fields, fails),
	JSON_I64(struct expect_fields, exit_code, .min = 0, .max = 255),
	JSON_STR(struct expect_fields, result_has, .min = 1, .max = DRILL_TEXT_MAX_BYTES),
	JSON_STR(struct expect_fields, result_lacks, .min = 1, .max = DRILL_TEXT_MAX_BYTES),
};

int drill_read_expect(struct arena *a, const struct json *value, const char *where,
	struct drill_expect *ret, struct error *err)
{
	const struct json_table table = {expect_fields, ARRAY_LEN(expect_fields), where, NULL};
	struct expect_fields f = {.verdict = 0};
	uint64_t seen = 0;

	*ret = (struct drill_expect){.stated = false};
	if (!value)
		return 0;
	if (value->type != JSON_OBJECT)
		return error_set(err, &REHEARSAL_INVALID, "%s: must be an object", where);
	if (json_decode(a, value, &table, &f, &seen, err) < 0)
		return -1;
	if (!seen)
		return error_set(err, &REHEARSAL_INVALID, "%s: states nothing", where);
	*ret = (struct drill_expect){
		.stated = true,
		.has_verdict = (seen >> EXPECT_VERDICT) & 1,
		.has_fails = (seen >> EXPECT_FAILS) & 1,
		.has_exit_code = (seen >> EXPECT_EXIT_CODE) & 1,
		.verdict = f.verdict,
		.fails = f.fails,
		.exit_code = f.exit_code,
		.result_has = f.result_has,
		.result_lacks = f.result_lacks,
	};
	return 0;
}
