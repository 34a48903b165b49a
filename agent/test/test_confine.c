/* How far a bot that a bot made may reach: every way to widen, one by one, and that what is
 * narrowed passes. */
#include "agent/core/confine.h"

#include "sandbox/sandbox.h"
#include "testing.h"

#define S(text)                                                                                    \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}

static const struct str_list temporary = {
	(struct str[]){S("/tmp"), S("/var/tmp/mine")},
         2
};

/* The creator of most rows: writes /w and /r, no network. */
static struct bot_settings usual(void)
{
	static struct str roots[] = {S("/r"), S("/r2/deep")};
	static struct str tools[] = {S("shell"), S("web_fetch")};

	return (struct bot_settings){
		.sandbox = SANDBOX_WORKSPACE_WRITE,
		.workspace = STR("/w"),
		.writable_roots = {roots, 2},
		.tools = {tools, 2}
        };
}

static void folders_lie_within_by_whole_names(void **state)
{
	static const struct {
		const char *folder;
		bool within;
	} rows[] = {
		{"/w",                true },
		{"/w/a/b",            true },
		{"/r2/deep/x",        true },
		{"/tmp",              true },
		{"/tmp/x",            true },
		{"/var/tmp/mine/x",   true },
		{"/",                 false},
		{"/w2",               false},
		{"/r2",               false},
		{"/var/tmp",          false},
		{"/elsewhere",        false},
		{"/w/.git",           false},
		{"/w/.git/hooks",     false},
		{"/w/sub/.git/hooks", false},
		{"/w/.agents",        false},
		{"/r/.codex/x",       false},
		{"/tmp/.aws",         false},
		{"/w/.github",        true },
		{"/w/x.git",          true },
	};
	struct bot_settings of = usual();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (confine_within(&of, &temporary, str_from(rows[i].folder)) != rows[i].within)
			fail_msg("%s", rows[i].folder);
	}
	of.workspace = (struct str){NULL, 0};
	assert_false(confine_within(&of, &temporary, STR("/w")));
	of.workspace = STR("/");
	assert_true(confine_within(&of, &temporary, STR("/anywhere")));
	assert_false(confine_within(&of, &temporary, STR("/home/.git")));
}

/* A protected name is so for every folder of the creator's, also where one is given by itself. */
static void a_root_below_a_protected_name_is_nobodys_alone(void **state)
{
	struct str roots[] = {S("/w/.git")};
	struct bot_settings creator = usual(), child = usual();

	(void)state;
	creator.writable_roots = child.writable_roots = (struct str_list){roots, 1};
	assert_int_equal(confine_check(&child, &creator, &temporary, NULL), 0); /* the very same */
	child.workspace = STR("/w/sub");
	assert_int_equal(confine_check(&child, &creator, &temporary, NULL), -1);
}

typedef void change(struct bot_settings *child, struct bot_settings *creator);

static void nothing(struct bot_settings *child, struct bot_settings *creator)
{
	(void)child;
	(void)creator;
}

static void free_creator(struct bot_settings *child, struct bot_settings *creator)
{
	creator->sandbox = child->sandbox = SANDBOX_FULL_ACCESS;
	child->network = true;
	child->rules = STR("[]");
}

static void reads_only(struct bot_settings *child, struct bot_settings *creator)
{
	(void)creator;
	child->sandbox = SANDBOX_READ_ONLY;
	child->writable_roots = (struct str_list){NULL, 0};
}

static void no_sandbox(struct bot_settings *child, struct bot_settings *creator)
{
	(void)creator;
	child->sandbox = SANDBOX_FULL_ACCESS;
}

static void writes_for_a_reader(struct bot_settings *child, struct bot_settings *creator)
{
	(void)child;
	creator->sandbox = SANDBOX_READ_ONLY;
}

static void both_online(struct bot_settings *child, struct bot_settings *creator)
{
	child->network = creator->network = true;
}

static void online(struct bot_settings *child, struct bot_settings *creator)
{
	(void)creator;
	child->network = true;
}

static void commits(struct bot_settings *child, struct bot_settings *creator)
{
	(void)creator;
	child->git_commit = true;
}

static void another_socket(struct bot_settings *child, struct bot_settings *creator)
{
	static struct str one[] = {S("/run/a")}, two[] = {S("/run/a"), S("/run/b")};

	creator->unix_sockets = (struct str_list){one, 1};
	child->unix_sockets = (struct str_list){two, 2};
}

static void a_socket_less(struct bot_settings *child, struct bot_settings *creator)
{
	another_socket(creator, child);
}

static void deeper(struct bot_settings *child, struct bot_settings *creator)
{
	static struct str roots[] = {S("/r/sub"), S("/w/x")};

	(void)creator;
	child->writable_roots = (struct str_list){roots, 2};
	child->workspace = STR("/tmp/work");
}

static void a_root_elsewhere(struct bot_settings *child, struct bot_settings *creator)
{
	static struct str roots[] = {S("/r"), S("/elsewhere")};

	(void)creator;
	child->writable_roots = (struct str_list){roots, 2};
}

static void a_workspace_elsewhere(struct bot_settings *child, struct bot_settings *creator)
{
	(void)creator;
	child->workspace = STR("/elsewhere");
}

static void a_workspace_around(struct bot_settings *child, struct bot_settings *creator)
{
	(void)creator;
	child->workspace = STR("/");
}

static void a_hooks_folder(struct bot_settings *child, struct bot_settings *creator)
{
	(void)creator;
	child->workspace = STR("/w/.git/hooks");
}

static void reaches_out(struct bot_settings *child, struct bot_settings *creator)
{
	static struct str tools[] = {S("shell")};

	(void)child;
	creator->tools = (struct str_list){tools, 1};
}

static void reaches_out_where_the_creator_may_not(
	struct bot_settings *child, struct bot_settings *creator)
{
	(void)child;
	creator->has_allowed = true;
}

static void no_tool_that_reaches_out(struct bot_settings *child, struct bot_settings *creator)
{
	reaches_out(creator, child);
	creator->has_allowed = true;
}

static void a_tool_nobody_serves_the_creator(
	struct bot_settings *child, struct bot_settings *creator)
{
	static const struct served_tool tools[] = {{.name = S("mail")}};

	(void)creator;
	child->served = (struct served_tools){tools, 1};
}

static void other_rules(struct bot_settings *child, struct bot_settings *creator)
{
	creator->rules = STR("[1]");
	child->rules = STR("[2]");
}

static void no_rules(struct bot_settings *child, struct bot_settings *creator)
{
	(void)child;
	creator->rules = STR("[1]");
}

static void every_way_to_widen_is_refused(void **state)
{
	static const struct {
		const char *name;
		change *change;
		const struct error_kind *refused; /* NULL: it is none */
		const char *field;
	} rows[] = {
		{"the same",                     nothing,                               NULL,            ""              },
		{"a creator that is free",       free_creator,                          NULL,            ""              },
		{"read-only",                    reads_only,                            NULL,            ""              },
		{"the network for both",         both_online,                           NULL,            ""              },
		{"fewer sockets",                a_socket_less,                         NULL,            ""              },
		{"folders inside",               deeper,                                NULL,            ""              },
		{"fewer tools",                  no_tool_that_reaches_out,              NULL,            ""              },
		{"no sandbox",                   no_sandbox,                            &CONFINE_WIDENS, "sandbox"       },
		{"writing for a reader",         writes_for_a_reader,                   &CONFINE_WIDENS, "sandbox"       },
		{"the network",                  online,                                &CONFINE_WIDENS, "network"       },
		{"leave to commit",              commits,                               &CONFINE_WIDENS, "git_commit"    },
		{"another socket",               another_socket,                        &CONFINE_WIDENS, "unix_sockets"  },
		{"a root elsewhere",             a_root_elsewhere,                      &CONFINE_WIDENS, "writable_roots"},
		{"a workspace elsewhere",        a_workspace_elsewhere,                 &CONFINE_WIDENS, "workspace"     },
		{"a workspace around all",       a_workspace_around,                    &CONFINE_WIDENS, "workspace"     },
		{"git's hooks as a workspace",   a_hooks_folder,                        &CONFINE_WIDENS, "workspace"     },
		{"a tool that reaches out",      reaches_out,                           &CONFINE_WIDENS, "tools"         },
		{"one the creator may not call", reaches_out_where_the_creator_may_not,
                 &CONFINE_WIDENS,									"tools"         },
		{"a served tool",                a_tool_nobody_serves_the_creator,      &CONFINE_WIDENS,
                 "served_tools"											  },
		{"other rules",                  other_rules,                           &CONFINE_RULES,  "rules"         },
		{"no rules",                     no_rules,                              &CONFINE_RULES,  "rules"         },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct bot_settings creator = usual(), child = usual();
		_cleanup_(arena) struct arena a = {.blocks = NULL};
		struct error err = ERROR_INIT;
		int rc;

		rows[i].change(&child, &creator);
		rc = confine_check(&child, &creator, &temporary, &err);
		if ((rc < 0) != (rows[i].refused != NULL))
			fail_msg("%s: %s", rows[i].name, rc < 0 ? err.text : "was taken");
		if (rc < 0 && (err.kind != rows[i].refused ||
				      strncmp(err.text, rows[i].field, strlen(rows[i].field)) != 0))
			fail_msg("%s: %s", rows[i].name, err.text);
		/* and a fork of it is taken all the same, as the narrower of both */
		confine_narrow(&a, &child, &creator, &temporary);
		assert_ok(confine_check(&child, &creator, &temporary, &err), &err);
	}
}

static void a_fork_has_the_narrower_of_both(void **state)
{
	static struct str roots[] = {S("/r/sub"), S("/elsewhere")};
	static struct str sockets[] = {S("/run/a"), S("/run/b")};
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	struct bot_settings creator = usual(), child = usual();

	(void)state;
	creator.unix_sockets = (struct str_list){sockets, 1};
	creator.rules = STR("[1]");
	creator.network = true;
	child.writable_roots = (struct str_list){roots, 2};
	child.unix_sockets = (struct str_list){sockets, 2};
	child.workspace = STR("/elsewhere/x");
	child.git_commit = true;
	confine_narrow(&a, &child, &creator, &temporary);
	assert_int_equal(child.sandbox, SANDBOX_WORKSPACE_WRITE);
	assert_int_equal(child.writable_roots.count, 1);
	assert_true(str_is(child.writable_roots.items[0], "/r/sub"));
	assert_true(str_is(child.workspace, "/w"));
	assert_int_equal(child.unix_sockets.count, 1);
	assert_false(child.network || child.git_commit);
	assert_true(str_is(child.rules, "[1]"));
	child.sandbox =
		SANDBOX_FULL_ACCESS; /* it could write anywhere: the creator's folders then */
	confine_narrow(&a, &child, &creator, &temporary);
	assert_int_equal(child.sandbox, SANDBOX_WORKSPACE_WRITE);
	assert_int_equal(child.writable_roots.count, 2);
	creator.sandbox = SANDBOX_FULL_ACCESS; /* confines nobody */
	child.sandbox = SANDBOX_FULL_ACCESS;
	confine_narrow(&a, &child, &creator, &temporary);
	assert_int_equal(child.sandbox, SANDBOX_FULL_ACCESS);
}

static void a_child_starts_as_its_creator(void **state)
{
	struct bot_settings creator = usual(), child = {.sandbox = SANDBOX_READ_ONLY};

	(void)state;
	creator.network = creator.git_commit = true;
	creator.rules = STR("[1]");
	confine_inherit(&child, &creator, CONFINE_SANDBOX);
	assert_int_equal(child.sandbox, SANDBOX_READ_ONLY);
	assert_true(confine_same_folders(&child, &creator));
	assert_true(str_is(child.rules, "[1]"));
	assert_false(child.network || child.git_commit);
	child = (struct bot_settings){.workspace = STR("/w/x")};
	confine_inherit(&child, &creator, CONFINE_WORKSPACE | CONFINE_ROOTS);
	assert_int_equal(child.sandbox, SANDBOX_WORKSPACE_WRITE);
	assert_true(str_is(child.workspace, "/w/x"));
	assert_int_equal(child.writable_roots.count, 0);
	creator.sandbox = SANDBOX_FULL_ACCESS;
	child = (struct bot_settings){.sandbox = SANDBOX_FULL_ACCESS};
	confine_inherit(&child, &creator, 0);
	assert_null(child.workspace.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folders_lie_within_by_whole_names),
		cmocka_unit_test(a_root_below_a_protected_name_is_nobodys_alone),
		cmocka_unit_test(every_way_to_widen_is_refused),
		cmocka_unit_test(a_fork_has_the_narrower_of_both),
		cmocka_unit_test(a_child_starts_as_its_creator),
	};

	return cmocka_run_group_tests_name("agent.confine", tests, NULL, NULL);
}
