/*
 * json decoder: an object into a struct, by a table of fields.
 *
 * An error's text names the path, what was wrong and the bound; it repeats numbers and names of
 * members, never a string, since that may be a password in the wrong place.
 */
#include <stdio.h>

#include "json/internal.h"

enum {
	PATH_SHOWN_MAX_BYTES = 160, /* ours: leaves the most of an error's 512 for what was wrong */
	NAME_SHOWN_MAX_BYTES = 64,  /* ours: of an unknown member's name */
	NUMBER_SHOWN_MAX_BYTES = 32, /* ours: longer than any that fits 64 bits */
	FIELDS_MAX = 64,             /* bits of *ret_seen */
};

struct decoder {
	struct arena *arena;
	struct error *err;
	char path[PATH_SHOWN_MAX_BYTES]; /* of the object that is being read */
	ptrdiff_t item;                  /* of the list that is being read, or -1 */
};

static const char *type_name(const struct json *value)
{
	static const char *const names[] = {[JSON_NULL] = "null",
		[JSON_FALSE] = "a boolean",
		[JSON_TRUE] = "a boolean",
		[JSON_NUMBER] = "a number",
		[JSON_STRING] = "a string",
		[JSON_ARRAY] = "a list",
		[JSON_OBJECT] = "an object"};

	return names[value->type];
}

/* "PATH.NAME[ITEM]: what"; the name is absent for the object itself. */
__attribute__((format(printf, 3, 4))) static int fail(
	struct decoder *d, struct str name, const char *format, ...)
{
	const struct str shown = name.p ? str_cut(name, NAME_SHOWN_MAX_BYTES) : STR("");
	char what[ERROR_TEXT_MAX], item[24] = "";
	va_list args;

	va_start(args, format);
	(void)vsnprintf(what, sizeof(what), format, args); /* cut where it is too long */
	va_end(args);
	if (d->item >= 0)
		(void)snprintf(item, sizeof(item), "[%td]", d->item);
	if (!d->path[0] && !name.p)
		return error_set(d->err, &JSON_FIELD, "%s", what);
	return error_set(d->err, &JSON_FIELD, "%s%s" STR_FMT "%s: %s", d->path,
		d->path[0] && name.p ? "." : "", STR_ARG(shown), item, what);
}

static int fail_type(
	struct decoder *d, const struct json_field *f, const char *wanted, const struct json *value)
{
	return fail(d, str_from(f->name), "must be %s, not %s", wanted, type_name(value));
}

static int check_bounds(
	struct decoder *d, const struct json_field *f, size_t have, int64_t max, const char *unit)
{
	if (max > 0 && have > (uint64_t)max)
		return fail(
			d, str_from(f->name), "%zu %s are over %lld", have, unit, (long long)max);
	if (d->item < 0 && f->min > 0 && have < (uint64_t)f->min)
		return fail(d, str_from(f->name), "%zu %s are under %lld", have, unit,
			(long long)f->min);
	return 0;
}

static int read_text(struct decoder *d, const struct json_field *f, const struct json *value,
	int64_t max, struct str *ret)
{
	if (value->type != JSON_STRING)
		return fail_type(d, f, "a string", value);
	if (check_bounds(d, f, value->text.len, max, "bytes") < 0)
		return -1;
	if (f->cstr && value->text.len > 0 && memchr(value->text.p, '\0', value->text.len))
		return fail(d, str_from(f->name), "must not hold a NUL");
	*ret = value->text;
	return 0;
}

static int read_str(
	struct decoder *d, const struct json_field *f, const struct json *value, void *ret)
{
	return read_text(d, f, value, f->max, ret);
}

static int read_i64(
	struct decoder *d, const struct json_field *f, const struct json *value, void *ret)
{
	const int64_t max = f->max ? f->max : INT64_MAX;
	const struct str name = str_from(f->name), text = value->text;
	const struct str shown = text.p ? str_cut(text, NUMBER_SHOWN_MAX_BYTES) : STR("");
	int64_t number;

	if (value->type != JSON_NUMBER)
		return fail_type(d, f, "a whole number", value);
	for (size_t i = 0; i < text.len; i++) {
		if (text.p[i] == '.' || text.p[i] == 'e' || text.p[i] == 'E')
			return fail(d, name, STR_FMT " is not a whole number", STR_ARG(shown));
	}
	if (json_i64(value, &number) < 0) /* whole, so only its size can be wrong */
		number = text.p[0] == '-' ? INT64_MIN : INT64_MAX;
	else if (number >= f->min && number <= max) {
		*(int64_t *)ret = number;
		return 0;
	}
	if (text.p[0] == '-')
		return fail(d, name, STR_FMT " is under %lld", STR_ARG(shown), (long long)f->min);
	return fail(d, name, STR_FMT " is %s %lld", STR_ARG(shown),
		number < f->min ? "under" : "over", (long long)(number < f->min ? f->min : max));
}

static int read_bool(
	struct decoder *d, const struct json_field *f, const struct json *value, void *ret)
{
	if (value->type != JSON_TRUE && value->type != JSON_FALSE)
		return fail_type(d, f, "true or false", value);
	*(bool *)ret = value->type == JSON_TRUE;
	return 0;
}

static int fail_enum(struct decoder *d, const struct json_field *f)
{
	_cleanup_(buf) struct buf all = BUF_INIT(ERROR_TEXT_MAX);

	for (const char *const *name = f->names; *name; name++)
		(void)buf_printf(
			&all, "%s%s", name == f->names ? "" : ", ", *name); /* may be cut */
	return fail(d, str_from(f->name), "must be one of " STR_FMT, STR_ARG(buf_str(&all)));
}

static int read_enum(
	struct decoder *d, const struct json_field *f, const struct json *value, void *ret)
{
	if (value->type != JSON_STRING)
		return fail_type(d, f, "a string", value);
	for (int i = 0; f->names[i]; i++) {
		if (str_is(value->text, f->names[i])) {
			*(int *)ret = i;
			return 0;
		}
	}
	return fail_enum(d, f);
}

static int read_strs(
	struct decoder *d, const struct json_field *f, const struct json *value, void *ret)
{
	struct str_list list = {.count = 0};

	if (value->type != JSON_ARRAY)
		return fail_type(d, f, "a list of strings", value);
	if (check_bounds(d, f, value->count, f->max, "items") < 0)
		return -1;
	list.items = arena_alloc(d->arena, value->count * sizeof(*list.items));
	json_for_each (item, value) {
		d->item = (ptrdiff_t)list.count;
		if (read_text(d, f, item, f->item_max, &list.items[list.count]) < 0)
			return -1;
		list.count++;
	}
	d->item = -1;
	*(struct str_list *)ret = list;
	return 0;
}

static int read_node(
	struct decoder *d, const struct json_field *f, const struct json *value, void *ret)
{
	(void)d;
	(void)f;
	*(const struct json **)ret = value;
	return 0;
}

static int read_fields(struct decoder *d, const struct json *object, const struct json_table *table,
	char *out, uint64_t *ret_seen);

static int read_object(
	struct decoder *d, const struct json_field *f, const struct json *value, void *ret)
{
	const struct json_table table = {f->fields, f->field_count, NULL, NULL};
	const size_t len = strlen(d->path);
	int rc;

	(void)snprintf(d->path + len, sizeof(d->path) - len, "%s%s", len > 0 ? "." : "", f->name);
	rc = read_fields(d, value, &table, ret, NULL);
	d->path[len] = '\0';
	return rc;
}

static int read_member(
	struct decoder *d, const struct json_field *f, const struct json *member, void *ret)
{
	static int (*const readers[])(
		struct decoder *, const struct json_field *, const struct json *, void *) = {
		[JSON_FIELD_STR] = read_str,
		[JSON_FIELD_I64] = read_i64,
		[JSON_FIELD_BOOL] = read_bool,
		[JSON_FIELD_ENUM] = read_enum,
		[JSON_FIELD_STRS] = read_strs,
		[JSON_FIELD_NODE] = read_node,
		[JSON_FIELD_OBJECT] = read_object,
	};

	must((size_t)f->sort < ARRAY_LEN(readers));
	if (member->type == JSON_NULL)
		return f->nullable ? 0 : fail(d, str_from(f->name), "must not be null");
	return readers[f->sort](d, f, member, ret);
}

static bool is_skipped(const char *const *skip, struct str name)
{
	for (; skip && *skip; skip++) {
		if (str_is(name, *skip))
			return true;
	}
	return false;
}

static int read_fields(struct decoder *d, const struct json *object, const struct json_table *table,
	char *out, uint64_t *ret_seen)
{
	const struct json_field *const fields = table->fields;
	uint64_t seen = 0;

	must(table->count <= FIELDS_MAX);
	if (object->type != JSON_OBJECT)
		return fail(d, str_from(NULL), "must be an object, not %s", type_name(object));
	json_for_each (member, object) {
		size_t i = 0;

		if (is_skipped(table->skip, member->key))
			continue;
		while (i < table->count && !str_is(member->key, fields[i].name))
			i++;
		if (i == table->count)
			return fail(d, member->key, "there is no such field");
		if (read_member(d, &fields[i], member, out + fields[i].offset) < 0)
			return -1;
		seen |= UINT64_C(1) << i;
	}
	for (size_t i = 0; i < table->count; i++) {
		if (fields[i].required && !(seen >> i & 1))
			return fail(d, str_from(fields[i].name), "is missing");
	}
	if (ret_seen)
		*ret_seen = seen;
	return 0;
}

int json_decode(struct arena *a, const struct json *object, const struct json_table *table,
	void *out, uint64_t *ret_seen, struct error *err)
{
	struct decoder d = {.arena = a, .err = err, .item = -1};

	(void)snprintf(d.path, sizeof(d.path), "%s", table->where ? table->where : "");
	if (!object)
		return fail(&d, str_from(NULL), "is missing");
	return read_fields(&d, object, table, out, ret_seen);
}
