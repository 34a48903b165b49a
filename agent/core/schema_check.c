/* A value against a subset of JSON Schema. */
#include "agent/core/schema_check.h"

#include "agent/core/limits.h"
#include "mem/mem.h"
#include "text/text.h"

enum {
	VALUE_MAX_BYTES = PROVIDER_OUTPUT_MAX_BYTES, /* what a call can hold */
	SHOWN_BYTES = 64,                            /* ours: of a member's name, in an error */
};

/* One value on its way down. */
struct at {
	const struct error_kind *kind;
	struct error *err;
	struct arena names;
};

static int check(struct at *at, const struct json *schema, const struct json *v, const char *where);

static bool is_whole(const struct json *v)
{
	int64_t n;

	return v->type == JSON_NUMBER && json_i64(v, &n) == 0;
}

static bool is_type(const struct json *v, struct str name)
{
	static const struct {
		const char *name;
		enum json_type type;
	} types[] = {
		{"object", JSON_OBJECT},
		{"array",  JSON_ARRAY },
		{"string", JSON_STRING},
		{"number", JSON_NUMBER},
		{"null",   JSON_NULL  },
	};

	if (str_is(name, "boolean"))
		return v->type == JSON_TRUE || v->type == JSON_FALSE;
	if (str_is(name, "integer"))
		return v->type == JSON_NUMBER && !memchr(v->text.p, '.', v->text.len);
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		if (str_is(name, types[i].name))
			return v->type == types[i].type;
	}
	return true; /* a type that is none says nothing */
}

static int check_type(
	struct at *at, const struct json *type, const struct json *v, const char *where)
{
	bool fits = !type;

	if (type && type->type == JSON_STRING)
		fits = is_type(v, type->text);
	else if (type && type->type == JSON_ARRAY)
		json_for_each (one, type)
			fits = fits || is_type(v, json_str(one));
	else
		fits = true;
	return fits ? 0 : error_set(at->err, at->kind, "%s: is of the wrong type", where);
}

/* By their compact texts: numbers that are written differently differ. */
static bool same(const struct json *x, const struct json *y)
{
	_cleanup_(buf) struct buf a = BUF_INIT(VALUE_MAX_BYTES), b = BUF_INIT(VALUE_MAX_BYTES);
	struct json_out ja = JSON_OUT(&a), jb = JSON_OUT(&b);

	if (x->type != y->type)
		return false;
	json_put(&ja, NULL, x);
	json_put(&jb, NULL, y);
	return !a.full && !b.full && str_eq(buf_str(&a), buf_str(&b));
}

static int check_choice(
	struct at *at, const struct json *schema, const struct json *v, const char *where)
{
	const struct json *list = json_get(schema, "enum"), *only = json_get(schema, "const");
	bool fits = !list || list->type != JSON_ARRAY;

	if (!fits) {
		json_for_each (one, list)
			fits = fits || same(one, v);
	}
	if (!fits || (only && !same(only, v)))
		return error_set(at->err, at->kind, "%s: is none of what is allowed there", where);
	return 0;
}

/* Bounds that are no whole numbers say nothing here. */
static int check_bound(struct at *at, const struct json *schema, const char *const names[2],
	int64_t n, const char *where)
{
	int64_t bound;

	if (json_i64(json_get(schema, names[0]), &bound) == 0 && n < bound)
		return error_set(
			at->err, at->kind, "%s: %s is %lld", where, names[0], (long long)bound);
	if (json_i64(json_get(schema, names[1]), &bound) == 0 && n > bound)
		return error_set(
			at->err, at->kind, "%s: %s is %lld", where, names[1], (long long)bound);
	return 0;
}

static int64_t characters(struct str s)
{
	int64_t n = 0;

	for (size_t i = 0; i < s.len; i++)
		n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
	return n;
}

static int check_bounds(
	struct at *at, const struct json *schema, const struct json *v, const char *where)
{
	static const char *const lengths[] = {"minLength", "maxLength"};
	static const char *const numbers[] = {"minimum", "maximum"};
	static const char *const items[] = {"minItems", "maxItems"};
	int64_t n;

	if (v->type == JSON_STRING)
		return check_bound(at, schema, lengths, characters(v->text), where);
	if (v->type == JSON_ARRAY)
		return check_bound(at, schema, items, v->count, where);
	if (is_whole(v) && json_i64(v, &n) == 0)
		return check_bound(at, schema, numbers, n, where);
	return 0;
}

static const struct json *member(const struct json *object, struct str name)
{
	if (object && object->type == JSON_OBJECT) {
		json_for_each (m, object) {
			if (str_eq(m->key, name))
				return m;
		}
	}
	return NULL;
}

static const char *below(struct at *at, const char *where, struct str name)
{
	return arena_printf(&at->names, "%s." STR_FMT, where, STR_ARG(str_cut(name, SHOWN_BYTES)));
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the schema, which is bounded */
static int check_object(
	struct at *at, const struct json *schema, const struct json *v, const char *where)
{
	const struct json *properties = json_get(schema, "properties");
	const struct json *required = json_get(schema, "required");
	const struct json *more = json_get(schema, "additionalProperties");

	if (required && required->type == JSON_ARRAY) {
		json_for_each (name, required) {
			if (json_str(name).p && !member(v, json_str(name)))
				return error_set(at->err, at->kind, "%s: is missing",
					below(at, where, json_str(name)));
		}
	}
	json_for_each (m, v) {
		const struct json *own = member(properties, m->key);

		if (!own && more && more->type == JSON_FALSE)
			return error_set(at->err, at->kind, "%s: there is no such argument",
				below(at, where, m->key));
		if (!own && more && more->type == JSON_OBJECT)
			own = more;
		if (own && check(at, own, m, below(at, where, m->key)) < 0)
			return -1;
	}
	return 0;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the schema, which is bounded */
static int check_items(
	struct at *at, const struct json *schema, const struct json *v, const char *where)
{
	const struct json *items = json_get(schema, "items");
	size_t i = 0;

	if (!items || items->type != JSON_OBJECT)
		return 0;
	json_for_each (one, v) {
		if (check(at, items, one, arena_printf(&at->names, "%s[%zu]", where, i++)) < 0)
			return -1;
	}
	return 0;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the schema, which is bounded */
static int check(struct at *at, const struct json *schema, const struct json *v, const char *where)
{
	if (schema->type == JSON_FALSE)
		return error_set(at->err, at->kind, "%s: nothing is allowed there", where);
	if (schema->type != JSON_OBJECT)
		return 0;
	if (check_type(at, json_get(schema, "type"), v, where) < 0 ||
		check_choice(at, schema, v, where) < 0 || check_bounds(at, schema, v, where) < 0)
		return -1;
	if (v->type == JSON_OBJECT)
		return check_object(at, schema, v, where);
	return v->type == JSON_ARRAY ? check_items(at, schema, v, where) : 0;
}

int schema_check(const struct json *schema, const struct json *value, const char *where,
	const struct error_kind *kind, struct error *err)
{
	struct at at = {.kind = kind, .err = err};
	int rc = check(&at, schema, value, where);

	arena_release(&at.names);
	return rc;
}
