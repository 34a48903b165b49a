/* Served tools: what a client declares, and whether a call fits it. */
#include "agent/core/served.h"

#include "agent/core/bot.h"
#include "agent/core/schema_check.h"

const struct error_kind SERVED_INVALID = {"invalid_served_tool", ERROR_CLASS_USAGE};
const struct error_kind SERVED_ARGUMENTS = {"invalid_tool_arguments", ERROR_CLASS_USAGE};

struct declared {
	struct str name, description, host;
	const struct json *parameters;
	bool gate;
};
static const struct json_field declared_fields[] = {
	JSON_STR(struct declared, name, .required = true, .min = 1, .max = SERVED_NAME_MAX_BYTES),
	JSON_STR(struct declared, description, .required = true, .cstr = true,
		.max = SERVED_DESCRIPTION_MAX_BYTES),
	JSON_NODE(struct declared, parameters, .required = true),
	JSON_STR(struct declared, host, .required = true, .min = 1, .max = GATE_TAG_MAX_BYTES),
	JSON_BOOL(struct declared, gate),
};

/* NOLINTNEXTLINE(misc-no-recursion): json_parse bounds the depth */
static size_t depth_of(const struct json *v)
{
	size_t most = 0;

	json_for_each (child, v) {
		size_t d = depth_of(child);

		most = d > most ? d : most;
	}
	return most + 1;
}

static int read_parameters(struct arena *a, const struct json *schema, const char *where,
	struct str *ret, struct error *err)
{
	_cleanup_(buf) struct buf text = BUF_INIT(SERVED_PARAMETERS_MAX_BYTES);
	struct json_out j = JSON_OUT(&text);

	if (schema->type != JSON_OBJECT || !str_is(json_str(json_get(schema, "type")), "object"))
		return error_set(err, &SERVED_INVALID,
			"%s.parameters: must be a JSON Schema of type object", where);
	if (depth_of(schema) > SERVED_PARAMETERS_DEPTH_MAX)
		return error_set(err, &SERVED_INVALID, "%s.parameters: nested deeper than %d",
			where, SERVED_PARAMETERS_DEPTH_MAX);
	json_put(&j, NULL, schema);
	if (text.full)
		return error_set(err, &SERVED_INVALID, "%s.parameters: over %d bytes", where,
			SERVED_PARAMETERS_MAX_BYTES);
	*ret = (struct str){arena_strndup(a, text.data, text.len), text.len};
	return 0;
}

static int read_one(struct arena *a, const struct json *value, const char *where,
	struct served_tool *ret, struct error *err)
{
	const struct json_table table = {declared_fields, ARRAY_LEN(declared_fields), where, NULL};
	struct declared d = {.gate = false};

	if (json_decode(a, value, &table, &d, NULL, err) < 0) {
		if (err)
			err->kind = &SERVED_INVALID;
		return -1;
	}
	*ret = (struct served_tool){
		.name = d.name, .description = d.description, .host = d.host, .gate = d.gate};
	if (bot_check_name(d.name, where, NULL) < 0 || memchr(d.name.p, '.', d.name.len))
		return error_set(err, &SERVED_INVALID,
			"%s.name: must be 1 to %d of A-Z a-z 0-9 - _", where,
			SERVED_NAME_MAX_BYTES);
	if (bot_check_name(d.host, where, NULL) < 0)
		return error_set(err, &SERVED_INVALID,
			"%s.host: must be 1 to %d of A-Z a-z 0-9 - _ .", where, GATE_TAG_MAX_BYTES);
	return read_parameters(a, d.parameters, where, &ret->parameters, err);
}

int served_tools_read(
	struct arena *a, const struct json *list, struct served_tools *ret, struct error *err)
{
	struct served_tools l = {.count = 0};
	struct served_tool *items;
	size_t bytes = 0;

	if (!list || list->type != JSON_ARRAY)
		return error_set(err, &SERVED_INVALID, "served_tools: must be an array");
	if (list->count > SERVED_MAX)
		return error_set(err, &SERVED_INVALID, "served_tools: %u are over %d", list->count,
			SERVED_MAX);
	l.items = items = arena_alloc(a, (list->count + 1) * sizeof(*items));
	json_for_each (value, list) {
		const char *where = arena_printf(a, "served_tools[%zu]", l.count);
		struct served_tool *t = &items[l.count];

		if (value->type != JSON_OBJECT)
			return error_set(err, &SERVED_INVALID, "%s: must be an object", where);
		if (read_one(a, value, where, t, err) < 0)
			return -1;
		if (served_tools_find(&l, t->name))
			return error_set(
				err, &SERVED_INVALID, "%s.name: another one has it", where);
		bytes += t->description.len + t->parameters.len;
		l.count++;
	}
	if (bytes > SERVED_TOTAL_MAX_BYTES)
		return error_set(err, &SERVED_INVALID,
			"served_tools: %zu bytes of descriptions and parameters are over %d", bytes,
			SERVED_TOTAL_MAX_BYTES);
	*ret = l;
	return 0;
}

void served_tools_write(struct json_out *j, const char *name, const struct served_tools *l)
{
	json_open_key(j, name, '[');
	for (size_t i = 0; i < l->count; i++) {
		const struct served_tool *t = &l->items[i];

		json_open(j, '{');
		json_put_str(j, "name", t->name);
		json_put_str(j, "description", t->description);
		json_put_raw(j, "parameters", t->parameters);
		json_put_str(j, "host", t->host);
		json_put_bool(j, "gate", t->gate);
		json_close(j, '}');
	}
	json_close(j, ']');
}

void served_tools_write_names(struct json_out *j, const char *name, const struct served_tools *l)
{
	json_open_key(j, name, '[');
	for (size_t i = 0; i < l->count; i++)
		json_put_str(j, NULL, l->items[i].name);
	json_close(j, ']');
}

const struct served_tool *served_tools_find(const struct served_tools *l, struct str name)
{
	for (size_t i = 0; i < l->count; i++) {
		if (str_eq(l->items[i].name, name))
			return &l->items[i];
	}
	return NULL;
}

static struct str keep(struct arena *a, struct str s)
{
	return s.p ? (struct str){arena_strndup(a, s.p, s.len), s.len} : s;
}

void served_tools_keep(struct arena *a, struct served_tools *l)
{
	struct served_tool *items = arena_alloc(a, (l->count + 1) * sizeof(*items));

	for (size_t i = 0; i < l->count; i++) {
		items[i] = (struct served_tool){.name = keep(a, l->items[i].name),
			.description = keep(a, l->items[i].description),
			.parameters = keep(a, l->items[i].parameters),
			.host = keep(a, l->items[i].host),
			.gate = l->items[i].gate};
	}
	l->items = items;
}

int served_tool_check(const struct served_tool *t, struct str arguments, struct error *err)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	const char *name = arena_strndup(&a, t->name.p, t->name.len);
	const struct json *schema, *doc;

	if (json_parse(&a, arguments, &doc, err) < 0) {
		(void)error_prefix(err, "%s: the arguments are no JSON", name);
		if (err)
			err->kind = &SERVED_ARGUMENTS;
		return -1;
	}
	if (doc->type != JSON_OBJECT)
		return error_set(
			err, &SERVED_ARGUMENTS, "%s: the arguments must be an object", name);
	if (json_parse(&a, t->parameters, &schema, err) < 0)
		return -1;
	return schema_check(schema, doc, name, &SERVED_ARGUMENTS, err);
}
