/*
 * The table of tools: what a model is shown is what is checked; errors, policy and environment of a
 * call.
 */
#include "tooling.h"

static const struct json *parse(struct arena *a, const char *text)
{
	const struct json *doc;
	struct error err = ERROR_INIT;

	assert_ok(json_parse(a, str_from(text), &doc, &err), &err);
	return doc;
}

static bool is_required(const struct json *schema, struct str name)
{
	const struct json *list = json_get(schema, "required");

	if (!list)
		return false;
	json_for_each (item, list) {
		if (str_eq(item->text, name))
			return true;
	}
	return false;
}

/* A number of the schema must be the field's bound; -1 where it says none. */
static void check_bound(
	const char *tool, const struct json *property, const char *name, int64_t bound)
{
	const struct json *value = json_get(property, name);
	int64_t number = 0;

	if (value)
		must(json_i64(value, &number) == 0);
	if (number != bound)
		fail_msg("%s.%s: %s is not %lld", tool, property->key.p, name, (long long)bound);
}

static void check_property(
	const char *tool, const struct json_field *f, const struct json *property)
{
	static const char *const types[] = {
		[JSON_FIELD_STR] = "string",
		[JSON_FIELD_I64] = "integer",
		[JSON_FIELD_BOOL] = "boolean",
		[JSON_FIELD_ENUM] = "string",
		[JSON_FIELD_STRS] = "array",
	};

	assert_true(f->sort < ARRAY_LEN(types));
	assert_true(str_is(json_str(json_get(property, "type")), types[f->sort]));
	assert_true(json_str(json_get(property, "description")).len > 0);
	if (f->sort == JSON_FIELD_STR) {
		check_bound(tool, property, "minLength", f->min);
		/* Bytes are counted here and characters there: a text of the schema never is over.
		 */
		if (json_get(property, "maxLength"))
			check_bound(tool, property, "maxLength", f->max);
	} else if (f->sort == JSON_FIELD_I64) {
		check_bound(tool, property, "minimum", f->min);
		check_bound(tool, property, "maximum", f->max);
	} else if (f->sort == JSON_FIELD_STRS) {
		check_bound(tool, property, "minItems", f->min);
		check_bound(tool, property, "maxItems", f->max);
	} else if (f->sort == JSON_FIELD_ENUM) {
		const struct json *list = json_get(property, "enum");
		size_t i = 0;

		json_for_each (item, list)
			assert_true(str_is(item->text, f->names[i++]));
		assert_null(f->names[i]);
	}
}

static void schemas_say_what_is_checked(void **state)
{
	(void)state;
	for (size_t i = 0; tool_table[i]; i++) {
		const struct tool *t = tool_table[i];
		_cleanup_(arena) struct arena a = {0};
		const struct json *schema = parse(&a, t->parameters);
		const struct json *properties = json_get(schema, "properties");

		assert_true(str_is(json_str(json_get(schema, "type")), "object"));
		assert_int_equal(json_get(schema, "additionalProperties")->type, JSON_FALSE);
		assert_int_equal(properties->count, t->field_count);
		for (size_t k = 0; k < t->field_count; k++) {
			const struct json *property = json_get(properties, t->fields[k].name);

			if (!property)
				fail_msg("%s: the schema does not show %s", t->name,
					t->fields[k].name);
			check_property(t->name, &t->fields[k], property);
			assert_int_equal(is_required(schema, property->key), t->fields[k].required);
		}
		assert_true(strlen(t->description) > 40);
		assert_ptr_equal(tool_find(str_from(t->name)), t);
		assert_int_equal(t->waits != NULL, t->start == NULL);
		assert_int_equal(t->waits != NULL, t->cancel == NULL);
		assert_int_equal(t->waits != NULL, t->free == NULL);
	}
	assert_null(tool_find(STR("exec")));
	assert_null(tool_find(STR("")));
}

/* AG-233: these and no others; each of them is judged. */
static void the_confined_ones_are_known(void **state)
{
	static const char *const confined[] = {"shell", "write", "edit", "apply_patch"};
	size_t count = 0;

	(void)state;
	for (size_t i = 0; tool_table[i]; i++) {
		count += tool_table[i]->confined;
		assert_int_equal(tool_table[i]->confined, tool_table[i]->judge != NULL);
	}
	assert_int_equal(count, ARRAY_LEN(confined));
	for (size_t i = 0; i < ARRAY_LEN(confined); i++)
		assert_true(tool_find(str_from(confined[i]))->confined);
}

static void bad_arguments_are_refused(void **state)
{
	static const struct {
		const char *tool, *arguments, *says;
	} rows[] = {
		{"echo",        "",						    "echo: "                 },
		{"echo",        "{",						   "echo: "                 },
		{"echo",        "[]",						  "must be an object"      },
		{"echo",        "{}",						  "echo.text"              },
		{"echo",        "{\"text\":5}",                                        "echo.text"              },
		{"echo",        "{\"text\":\"a\",\"more\":1}",                         "echo.more"              },
		{"echo",        "{\"text\":\"a\",\"text\":\"b\"}",                     "echo: "                 },
		{"shell",       "{\"command\":\"\"}",                                  "shell.command"          },
		{"shell",       "{\"command\":\"a\\u0000b\"}",                         "command: holds a NUL"   },
		{"shell",       "{\"command\":\"a\",\"timeout_ms\":0}",                "shell.timeout_ms"       },
		{"shell",       "{\"command\":\"a\",\"timeout_ms\":600001}",           "shell.timeout_ms"       },
		{"shell",       "{\"command\":\"a\",\"background\":1}",                "shell.background"       },
		{"shell",       "{\"command\":\"a\",\"detach\":true}",                 "shell.detach"           },
		{"shell",       "{\"command\":\"a\",\"tty\":true}",                    "shell.tty"              },
		{"shell",       "{\"command\":\"a\",\"sandbox_permissions\":\"all\"}",
                 "shell.sandbox_permissions"								    },
		{"shell",       "{\"command\":\"a\",\"workdir\":\"\\u0000\"}",         "workdir: holds a NUL"   },
		{"read",        "{}",						  "either path or artifact"},
		{"read",        "{\"path\":\"a\",\"artifact\":\"b\"}",                 "either path or artifact"},
		{"read",        "{\"path\":\"a\\u0000\"}",                             "path: holds a NUL"      },
		{"read",        "{\"path\":\"a\",\"offset\":0}",                       "read.offset"            },
		{"read",        "{\"path\":\"a\",\"limit\":5001}",                     "read.limit"             },
		{"write",       "{\"path\":\"\",\"content\":\"\"}",                    "write.path"             },
		{"write",       "{\"path\":\"a\"}",                                    "write.content"          },
		{"write",       "{\"path\":\"a\\u0000b\",\"content\":\"\"}",           "path: holds a NUL"      },
		{"edit",        "{\"path\":\"a\",\"old\":\"\",\"new\":\"b\"}",         "edit.old"               },
		{"edit",        "{\"path\":\"a\",\"old\":\"b\",\"new\":\"b\"}",        "are the same"           },
		{"apply_patch", "{\"patch\":\"\"}",                                    "apply_patch.patch"      },
		{"apply_patch", "{\"input\":\"x\"}",                                   "apply_patch.input"      },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(arena) struct arena a = {0};
		struct error err = ERROR_INIT;
		const void *args;
		int rc = tool_prepare(tool_find(str_from(rows[i].tool)), &a,
			str_from(rows[i].arguments), &args, &err);

		if (rc != -1 || !error_is(&err, &TOOL_INVALID_ARGUMENTS) ||
			!strstr(err.text, rows[i].says))
			fail_msg("%s %s: %d %s: %s", rows[i].tool, rows[i].arguments, rc,
				error_code(&err), err.text);
	}
}

static void lengths_are_limits(void **state)
{
	_cleanup_(arena) struct arena a = {0};
	_cleanup_(buf) struct buf b = BUF_INIT(65536);
	struct error err = ERROR_INIT;
	const void *args;

	(void)state;
	for (int over = 0; over < 2; over++) {
		buf_clear(&b);
		must(buf_puts(&b, "{\"command\":\"") == 0);
		for (int i = 0; i < 16384 + over; i++)
			must(buf_putc(&b, 'x') == 0);
		must(buf_puts(&b, "\"}") == 0);
		assert_int_equal(
			tool_prepare(tool_find(STR("shell")), &a, buf_str(&b), &args, &err), -over);
	}
	buf_clear(&b);
	must(buf_puts(&b, "{\"path\":\"/") == 0);
	for (int i = 0; i < 5000; i++)
		must(buf_putc(&b, 'x') == 0);
	must(buf_puts(&b, "\"}") == 0);
	assert_fails(tool_prepare(tool_find(STR("read")), &a, buf_str(&b), &args, &err), &err,
		TOOL_INVALID_ARGUMENTS);
}

static void an_error_is_json_without_secrets(void **state)
{
	struct rig r;
	struct error err = ERROR_INIT;
	const struct json *doc;

	(void)state;
	rig_init(&r);
	(void)error_set(&err, &TOOL_REFUSED_PATH, "\"" SECRET_VALUE "\" is in the way");
	doc = parse(&r.arena, tool_error_output(&r.host, &r.arena, &err).p);
	assert_true(str_is(json_str(json_get(doc, "error")), "protected_path"));
	assert_true(str_is(json_str(json_get(doc, "detail")), "\"[REDACTED]\" is in the way"));
	rig_release(&r);
}

static bool has_variable(char **env, const char *entry)
{
	for (; *env; env++) {
		if (strncmp(*env, entry, strlen(entry)) == 0)
			return true;
	}
	return false;
}

static void a_command_knows_who_it_is(void **state)
{
	char own[] = "/daemon.sock.d/7";
	const struct tool_door door = {own, -1};
	struct rig r;
	char **env;

	(void)state;
	rig_init(&r);
	env = tool_environ(&r.context, &r.arena, false, NULL);
	assert_true(has_variable(env, "FOO=bar")); /* AG-177 */
	assert_true(has_variable(env, "AGENT_BOT=tester"));
	assert_true(has_variable(env, "AGENT_BOT_ID=7"));
	assert_true(has_variable(env, "AGENT_TURN=12"));
	assert_true(has_variable(env, "AGENT_MODEL=m"));
	assert_true(has_variable(env, "AGENT_BIN=/usr/bin/agent"));
	assert_true(has_variable(env, "AGENT_SHELL_CONTEXT=1"));
	assert_false(has_variable(env, "AGENT_PARENT"));
	assert_true(has_variable(env, "AGENT_SOCKET=/daemon.sock")); /* AG-137 */
	assert_false(has_variable(env, "AGENT_SOCKET=/stale"));
	r.bot.set.sandbox = SANDBOX_WORKSPACE_WRITE;
	r.bot.created_by = STR("boss");
	r.bot.created_by_id = 3;
	env = tool_environ(&r.context, &r.arena, false, NULL);
	assert_false(has_variable(
		env, "AGENT_SOCKET")); /* confined: not the daemon's, nor what it inherited */
	assert_false(has_variable(env, "AGENT_SOCKET_FD"));
	env = tool_environ(&r.context, &r.arena, false, &door);
	assert_true(has_variable(env, "AGENT_SOCKET=/daemon.sock.d/7")); /* AG-036 */
	assert_true(has_variable(env, "AGENT_SOCKET_FD=30"));
	assert_true(has_variable(env, "AGENT_PARENT=boss"));
	assert_true(has_variable(env, "AGENT_PARENT_ID=3"));
	env = tool_environ(&r.context, &r.arena, true, NULL);
	assert_true(has_variable(env, "AGENT_SOCKET=/daemon.sock"));
	rig_release(&r);
}

static void paths_start_at_the_workspace(void **state)
{
	struct rig r;
	struct guard_path p;
	struct error err = ERROR_INIT;

	(void)state;
	rig_init(&r);
	assert_ok(tool_resolve(&r.context, STR("a/b"), &p, &err), &err);
	assert_string_equal(p.real, rig_path(&r, r.workspace, "a/b"));
	guard_path_release(&p);
	assert_ok(tool_resolve(&r.context, STR("/etc/passwd"), &p, &err), &err);
	assert_string_equal(p.real, "/etc/passwd");
	guard_path_release(&p);
	must(rmdir(r.workspace) == 0);
	assert_fails(tool_resolve(&r.context, STR("a"), &p, &err), &err, TOOL_WORKSPACE_MISSING);
	must(symlink(r.outside, r.workspace) == 0); /* a folder's link is not the folder */
	assert_fails(tool_resolve(&r.context, STR("a"), &p, &err), &err, TOOL_WORKSPACE_MISSING);
	r.context.workspace = (struct str){NULL, 0};
	assert_fails(tool_resolve(&r.context, STR("a"), &p, &err), &err, TOOL_WORKSPACE_MISSING);
	rig_release(&r);
}

static void echo_gives_back_but_no_secret(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_call(&r, "echo", "{\"text\":\"a " SECRET_VALUE " b\"}");
	assert_true(str_is(r.output, "a [REDACTED] b"));
	assert_false(r.failed);
	rig_call(&r, "echo", "{\"text\":\"\"}");
	assert_int_equal(r.output.len, 0);
	assert_true(rig_start(&r, "echo", "{\"text\":\"a\"}", false));
	tool_find(STR("echo"))->free(r.run); /* freed before it could tell: it never does */
	loop_run(r.loop);
	assert_int_equal(r.dones, 0);
	rig_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(schemas_say_what_is_checked),
		cmocka_unit_test(the_confined_ones_are_known),
		cmocka_unit_test(bad_arguments_are_refused),
		cmocka_unit_test(lengths_are_limits),
		cmocka_unit_test(an_error_is_json_without_secrets),
		cmocka_unit_test(a_command_knows_who_it_is),
		cmocka_unit_test(paths_start_at_the_workspace),
		cmocka_unit_test(echo_gives_back_but_no_secret),
	};

	return cmocka_run_group_tests_name("tool_table", tests, NULL, NULL);
}
