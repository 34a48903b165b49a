/* What a companion is made of. */
#include "agent/serve/companion_spec.h"

#include <stdio.h>

#include "agent/core/bot.h"
#include "guard/guard.h"
#include "os/os.h"

const struct error_kind COMPANION_INVALID = {"invalid_companion", ERROR_CLASS_USAGE};

static const struct json_field fields[] = {
	JSON_STR(struct companion_spec, name, .required = true, .cstr = true),
	JSON_STRS(struct companion_spec, argv, .required = true, .cstr = true, .min = 1,
		.max = COMPANION_ARGS_MAX, .item_max = COMPANION_ARG_MAX_BYTES),
	JSON_STR(struct companion_spec, cwd, .cstr = true, .nullable = true, .min = 1,
		.max = GUARD_PATH_MAX_BYTES),
};

static int check_paths(const struct companion_spec *s, const char *where, struct error *err)
{
	_cleanup_(guard_path) struct guard_path p = {.real = NULL};
	int there = os_is_program(s->argv.items[0].p, NULL);

	if (there != 1)
		return error_set(err, &COMPANION_INVALID, "%s.argv[0]: there is no program '%s'",
			where, s->argv.items[0].p);
	if (s->cwd.p && (guard_resolve("/", s->cwd, &p, NULL) < 0 || !p.exists || !p.is_dir))
		return error_set(err, &COMPANION_INVALID, "%s.cwd: there is no folder '%s'", where,
			s->cwd.p);
	return 0;
}

static int check(const struct companion_spec *s, const char *where, bool paths, struct error *err)
{
	if (bot_check_name(s->name, "name", err) < 0)
		return error_set(err, &COMPANION_INVALID,
			"%s.name: must be 1 to 128 of A-Z a-z 0-9 - _ .", where);
	if (s->argv.items[0].len == 0 || s->argv.items[0].p[0] != '/')
		return error_set(err, &COMPANION_INVALID,
			"%s.argv[0]: must be a program by absolute path", where);
	if (s->cwd.p && s->cwd.p[0] != '/')
		return error_set(err, &COMPANION_INVALID,
			"%s.cwd: must be a folder by absolute path", where);
	return paths ? check_paths(s, where, err) : 0;
}

static bool is_taken(const struct companion_spec *list, size_t count, struct str name)
{
	for (size_t i = 0; i < count; i++) {
		if (str_eq(list[i].name, name))
			return true;
	}
	return false;
}

static int read_one(struct arena *a, const struct json *item, const char *where,
	struct companion_spec *ret, struct error *err)
{
	const struct json_table table = {fields, ARRAY_LEN(fields), where, NULL};
	struct error cause = ERROR_INIT;

	if (json_decode(a, item, &table, ret, NULL, &cause) < 0)
		return error_set(err, &COMPANION_INVALID, "%s", cause.text);
	return 0;
}

int companions_read(struct arena *a, const struct json *list, bool paths,
	struct companion_spec **ret, size_t *ret_count, struct error *err)
{
	struct companion_spec *specs = arena_alloc(a, (COMPANIONS_MAX + 1) * sizeof(*specs));
	size_t count = 0;

	if (list->type != JSON_ARRAY)
		return error_set(err, &COMPANION_INVALID, "set: must be a list");
	if (list->count > COMPANIONS_MAX)
		return error_set(err, &COMPANION_INVALID, "set: more than %d", COMPANIONS_MAX);
	json_for_each (item, list) {
		struct companion_spec *s = &specs[count];
		char where[32];

		(void)snprintf(where, sizeof(where), "set[%zu]", count); /* it fits */
		*s = (struct companion_spec){
			.cwd = {NULL, 0}
                };
		if (read_one(a, item, where, s, err) < 0 || check(s, where, paths, err) < 0)
			return -1;
		if (is_taken(specs, count, s->name))
			return error_set(err, &COMPANION_INVALID, "%s.name: '%s' stands twice",
				where, s->name.p);
		count++;
	}
	*ret = specs;
	*ret_count = count;
	return 0;
}

static struct str keep(struct arena *a, struct str s)
{
	return s.p ? (struct str){arena_strndup(a, s.p, s.len), s.len} : s;
}

void companion_spec_keep(
	struct arena *a, const struct companion_spec *s, struct companion_spec *ret)
{
	struct str *argv = arena_alloc(a, s->argv.count * sizeof(*argv));

	for (size_t i = 0; i < s->argv.count; i++)
		argv[i] = keep(a, s->argv.items[i]);
	*ret = (struct companion_spec){
		keep(a, s->name), {argv, s->argv.count},
                  keep(a, s->cwd)
        };
}

bool companion_spec_eq(const struct companion_spec *a, const struct companion_spec *b)
{
	if (!str_eq(a->name, b->name) || !str_eq(a->cwd, b->cwd) ||
		(a->cwd.p != NULL) != (b->cwd.p != NULL) || a->argv.count != b->argv.count)
		return false;
	for (size_t i = 0; i < a->argv.count; i++) {
		if (!str_eq(a->argv.items[i], b->argv.items[i]))
			return false;
	}
	return true;
}

void companion_spec_put(struct json_out *j, const struct companion_spec *s)
{
	json_put_str(j, "name", s->name);
	json_open_key(j, "argv", '[');
	for (size_t i = 0; i < s->argv.count; i++)
		json_put_str(j, NULL, s->argv.items[i]);
	json_close(j, ']');
	json_put_str(j, "cwd", s->cwd);
}

void companions_write(
	struct json_out *j, const char *name, const struct companion_spec *list, size_t count)
{
	if (name)
		json_open_key(j, name, '[');
	else
		json_open(j, '[');
	for (size_t i = 0; i < count; i++) {
		json_open(j, '{');
		companion_spec_put(j, &list[i]);
		json_close(j, '}');
	}
	json_close(j, ']');
}
