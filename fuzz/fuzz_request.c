/*
 * fuzz request: what the daemon's tables take from a line is within the bounds of their rows, and
 * nothing else of the arguments is written; a refusal says which operation and member.
 *
 * Input: a line. It is read as the request it names, and as the arguments of every other.
 */
#include "agent/serve/request.h"
#include "fuzz/fuzz.h"

enum { GUARD_BYTES = 64, GUARD_VALUE = 0xa5 };

static const char *const skip[] = {"id", "op", NULL};

static const struct request_row *const tables[] = {
	bot_requests,
	life_requests,
	turn_requests,
	read_requests,
	artifact_requests,
	follow_requests,
	approval_requests,
	receipt_requests,
	served_requests,
	pause_requests,
	daemon_requests,
};

static void check_str(const struct json_field *f, struct str s, int64_t max)
{
	must(s.p && utf8_valid(s) && (max == 0 || s.len <= (uint64_t)max));
	must(!f->cstr || strlen(s.p) == s.len);
}

static void check_list(const struct json_field *f, const struct str_list *list)
{
	must(f->max == 0 || list->count <= (uint64_t)f->max);
	must(list->count >= (uint64_t)f->min);
	for (size_t i = 0; i < list->count; i++)
		check_str(f, list->items[i], f->item_max);
}

static void check_i64(const struct json_field *f, int64_t value)
{
	must(value >= f->min && value <= (f->max ? f->max : INT64_MAX));
}

static void check_choice(const struct json_field *f, int value)
{
	for (int i = 0; i <= value; i++)
		must(f->names[i]);
	must(value >= 0);
}

static void check_field(const struct json_field *f, const char *args)
{
	const void *at = args + f->offset;

	switch (f->sort) {
	case JSON_FIELD_STR:
		check_str(f, *(const struct str *)at, f->max);
		must(((const struct str *)at)->len >= (uint64_t)f->min);
		break;
	case JSON_FIELD_I64:
		check_i64(f, *(const int64_t *)at);
		break;
	case JSON_FIELD_BOOL:
		must(*(const unsigned char *)at <= 1);
		break;
	case JSON_FIELD_ENUM:
		check_choice(f, *(const int *)at);
		break;
	case JSON_FIELD_STRS:
		check_list(f, at);
		break;
	case JSON_FIELD_NODE:
		must(*(const struct json *const *)at);
		break;
	case JSON_FIELD_OBJECT: /* which members it had is not told */
		break;
	}
}

/* Given, not null: the decoder says the same of both. */
static bool has_value(const struct json *doc, const struct json_field *f)
{
	const struct json *member = json_get(doc, f->name);

	return member && member->type != JSON_NULL;
}

static void check_refused(const struct request_row *row, const struct error *err)
{
	const size_t len = strlen(row->op);

	must(error_is(err, &JSON_FIELD) && strncmp(err->text, row->op, len) == 0);
	must(err->text[len] == '.' || err->text[len] == ':');
	fuzz_check_error(err);
}

static void decode(struct arena *a, const struct request_row *row, const struct json *doc)
{
	const struct json_table table = {row->fields, row->field_count, row->op, skip};
	_cleanup_(mem) char *args = xcalloc(1, row->args_size + GUARD_BYTES);
	struct error err = ERROR_INIT;
	uint64_t seen = 0;

	memset(args + row->args_size, GUARD_VALUE, GUARD_BYTES);
	if (json_decode(a, doc, &table, args, &seen, &err) < 0)
		check_refused(row, &err);
	else
		for (size_t i = 0; i < row->field_count; i++) {
			must((seen >> i & 1) == (json_get(doc, row->fields[i].name) != NULL));
			must((seen >> i & 1) || !row->fields[i].required);
			if (has_value(doc, &row->fields[i]))
				check_field(&row->fields[i], args);
		}
	for (size_t i = 0; i < GUARD_BYTES; i++)
		must((unsigned char)args[row->args_size + i] == GUARD_VALUE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(arena) struct arena a = {NULL};
	const struct request_row *row;
	const struct json *doc;
	struct str op;

	if (json_parse(&a, fuzz_str(data, size), &doc, NULL) < 0 || doc->type != JSON_OBJECT)
		return 0;
	op = json_str(json_get(doc, "op"));
	row = op.p ? request_find(op) : NULL;
	must(!row || str_is(op, row->op));
	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		for (const struct request_row *r = tables[i]; r->op; r++)
			decode(&a, r, doc);
	}
	return 0;
}
