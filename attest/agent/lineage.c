/* What a sandboxed bot makes: under its maker's sandbox, gates and no more. */
#include "attest/own.h"
#include "attest/suites.h"

#define GATE "\"gates\":[{\"tag\":\"person\",\"tools\":[\"shell\"],\"expire_ms\":60000}]"

static void check_confined(struct own *o, const char *bot)
{
	attest_true(o->r.t, str_is(own_text(own_inspect(o, bot), "sandbox"), "workspace-write"),
		"%s is not under its maker's sandbox", bot);
	drill_kept(&o->r, bot, "echo x > '%s/%s'", attest_outside(o->r.t), bot);
	(void)drill_works(&o->r, bot, "echo x > '%s/%s'", o->r.d->workspace, bot);
}

static void AG_128_a_child_starts_under_its_makers_sandbox(struct attest *t)
{
	struct own o = {.id = 0};

	own_start(&o, t, NULL);
	attest_has(t, "what the command is told",
		drill_works(&o.r, "b", "'%s' door '{\"id\":1,%s}'", drill_probe(t),
			own_create(t, "child", "")),
		"\"result\"");
	check_confined(&o, "child");
}

static void AG_129_a_fork_starts_under_it_too(struct attest *t)
{
	struct own o = {.id = 0};

	own_start(&o, t, NULL);
	(void)drill_works(&o.r, "b", OWN_CLI " fork --source b --bot twin");
	check_confined(&o, "twin");
	/* one that was free when a bot made it, forked by that bot when it is not */
	(void)attest_bot(t, o.r.d, "free", "");
	(void)attest_call(t, o.r.d->client, "%s",
		own_create(t, "made",
			attest_path(t,
				",\"created_by\":\"free\",\"created_by_id\":%lld,\"workspace\":\"%"
				"s\","
				"\"network\":true",
				(long long)own_number(own_inspect(&o, "free"), "id"),
				attest_outside(t))));
	(void)attest_call(t, o.r.d->client,
		"\"op\":\"configure\",\"bot\":\"free\",\"sandbox\":\"workspace-write\"");
	(void)drill_works(&o.r, "free", OWN_CLI " fork --source made --bot tamed");
	check_confined(&o, "tamed");
	attest_true(t, !json_is_true(json_get(own_inspect(&o, "tamed"), "network")),
		"the fork has the network, and its maker has not");
}

static char *with_root(struct attest *t, const char *root)
{
	return attest_path(t, "\"sandbox\":\"workspace-write\",\"writable_roots\":[\"%s\"]", root);
}

static void AG_130_it_inherits_the_writable_folders(struct attest *t)
{
	const struct json *roots;
	struct own o = {.id = 0};
	char *root = attest_path(t, "%s/root", attest_home(t));

	attest_write(t, attest_path(t, "%s/.keep", root), "");
	own_start(&o, t, with_root(t, root));
	roots = json_get(attest_call(t, o.c, "%s", own_create(t, "child", "")), "writable_roots");
	attest_true(t, roots->count == 1, "the child has other roots");
	json_for_each (r, roots)
		attest_true(
			t, str_is(json_str(r), root), "its root is " STR_FMT, STR_ARG(json_str(r)));
	check_confined(&o, "child");
	(void)drill_works(&o.r, "child", "echo x > '%s/x'", root);
	drill_kept(&o.r, "child", "echo x > '%s/x'", attest_home(t));
}

static void AG_131_it_may_narrow(struct attest *t)
{
	struct own o = {.id = 0};
	char *root = attest_path(t, "%s/root", attest_home(t));

	attest_write(t, attest_path(t, "%s/sub/.keep", root), "");
	own_start(&o, t, with_root(t, root));
	(void)attest_call(t, o.c, "%s", own_create(t, "reader", ",\"sandbox\":\"read-only\""));
	drill_kept(&o.r, "reader", "echo x > '%s/x'", o.r.d->workspace);
	(void)attest_call(t, o.c, "%s", own_create(t, "fewer", ",\"writable_roots\":[]"));
	drill_kept(&o.r, "fewer", "echo x > '%s/x'", root);
	(void)drill_works(&o.r, "fewer", "echo x > '%s/x'", o.r.d->workspace);
	(void)attest_call(t, o.c, "%s",
		own_create(t, "deeper", attest_path(t, ",\"writable_roots\":[\"%s/sub\"]", root)));
	drill_kept(&o.r, "deeper", "echo x > '%s/x'", root);
	(void)drill_works(&o.r, "deeper", "echo x > '%s/sub/x'", root);
}

static void AG_132_it_may_not_widen(struct attest *t)
{
	struct own o = {.id = 0};
	const char *wider[] = {
		",\"sandbox\":\"danger-full-access\"",
		attest_path(t, ",\"writable_roots\":[\"%s\"]", attest_outside(t)),
		attest_path(t, ",\"workspace\":\"%s\"", attest_outside(t)),
		attest_path(t, ",\"workspace\":\"%s/ws/.git/hooks\"", attest_home(t)),
		attest_path(t, ",\"writable_roots\":[\"%s/ws/.git\"]", attest_home(t)),
		",\"unix_sockets\":[\"/tmp/any\"]",
		",\"git_commit\":true",
		",\"network\":true",
	};

	own_start(&o, t, NULL);
	attest_write(t, attest_path(t, "%s/.git/hooks/.keep", o.r.d->workspace), "");
	for (size_t i = 0; i < ARRAY_LEN(wider); i++) {
		(void)attest_refused(t, o.c, "sandbox_widens", "%s", own_create(t, "no", wider[i]));
		own_absent(&o, "no");
	}
	(void)attest_refused(t, o.c, "sandbox_widens",
		"\"op\":\"fork\",\"source\":\"b\",\"bot\":\"no\",\"workspace\":\"%s\"",
		attest_outside(t));
	own_absent(&o, "no");
	/* nor may a person make it wider later */
	(void)attest_call(t, o.c, "%s", own_create(t, "child", ""));
	for (size_t i = 0; i < ARRAY_LEN(wider); i++)
		(void)attest_refused(t, o.r.d->client, "sandbox_widens",
			"\"op\":\"configure\",\"bot\":\"child\"%s", wider[i]);
	(void)attest_call(t, o.r.d->client,
		"\"op\":\"configure\",\"bot\":\"child\",\"sandbox\":\"read-only\"");
	(void)attest_call(t, o.r.d->client,
		"\"op\":\"configure\",\"bot\":\"child\",\"sandbox\":\"workspace-write\"");
}

static void AG_133_the_network_only_if_both_have_it(struct attest *t)
{
	static const struct {
		const char *name;
		bool creator, child;
	} rows[] = {
		{"on-on",   true,  true },
		{"on-off",  true,  false},
		{"off-on",  false, true },
		{"off-off", false, false},
	};
	struct client *own[2];
	struct own o = {.id = 0};
	int port, fd;

	own_start(&o, t, NULL);
	own[0] = o.c;
	own[1] = own_connect(&o.r, "online",
		attest_bot(t, o.r.d, "online", "\"sandbox\":\"workspace-write\",\"network\":true"));
	fd = drill_listen_tcp(t, &port);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *ask = own_create(t, rows[i].name,
			rows[i].child ? ",\"network\":true" : ",\"network\":false");
		bool both = rows[i].creator && rows[i].child;

		if (rows[i].child && !rows[i].creator) {
			(void)attest_refused(t, own[0], "sandbox_widens", "%s", ask);
			continue;
		}
		(void)attest_call(t, own[rows[i].creator], "%s", ask);
		(void)drill_sh(&o.r, rows[i].name, "'%s' tcp %d", drill_probe(t), port);
		attest_true(t, drill_was_reached(fd) == both, "%s: %s", rows[i].name,
			both ? "it has no network" : "it has the network");
	}
}

#define FORBID(word) "\"rules\":[{\"pattern\":[\"" word "\"],\"decision\":\"forbidden\"}]"
#define ALLOW(word)  "\"rules\":[{\"pattern\":[\"" word "\"],\"decision\":\"allow\"}]"

static void AG_126_no_way_to_widen_its_rules(struct attest *t)
{
	const char *folder = attest_path(t, "%s/rules", attest_home(t));
	const char *args[] = {"--protect-path", folder, NULL};
	struct own o = {.id = 0};

	attest_write(t, attest_path(t, "%s/default.rules", folder), "");
	drill_init(&o.r, t);
	drill_start(&o.r, &(struct attest_start){.args = args});
	o.id = attest_bot(
		t, o.r.d, "b", attest_path(t, "%s," FORBID("touch"), with_root(t, attest_home(t))));
	o.c = own_connect(&o.r, "b", o.id);
	(void)attest_refused(
		t, o.c, "not_permitted", "\"op\":\"configure\",\"bot\":\"b\"," ALLOW("touch"));
	drill_kept(&o.r, "b", "echo x > '%s/more.rules'", folder);
	(void)attest_refused(
		t, o.c, "rules_not_own", "%s", own_create(t, "no", "," ALLOW("touch")));
	(void)attest_refused(t, o.c, "rules_not_own", "%s", own_create(t, "no", ",\"rules\":[]"));
	own_absent(&o, "no");
}

static void AG_134_its_makers_rules_hold(struct attest *t)
{
	struct own o = {.id = 0};
	int call;

	drill_init(&o.r, t);
	call = drill_shell(&o.r, "touch here");
	own_begin(&o, "\"sandbox\":\"workspace-write\"," FORBID("touch"));
	(void)attest_call(t, o.c, "%s", own_create(t, "child", ""));
	(void)attest_call(t, o.c, "\"op\":\"fork\",\"source\":\"b\",\"bot\":\"twin\"");
	(void)drill_refused(&o.r, "child", call, "rule_forbidden");
	(void)drill_refused(&o.r, "twin", call, "rule_forbidden");
	attest_absent(t, attest_path(t, "%s/here", o.r.d->workspace));
}

static void AG_135_it_gets_no_others(struct attest *t)
{
	struct own o = {.id = 0};

	own_start(&o, t, "\"sandbox\":\"workspace-write\"," FORBID("touch"));
	(void)attest_refused(t, o.c, "rules_not_own", "%s", own_create(t, "no", "," FORBID("rm")));
	(void)attest_refused(t, o.r.d->client, "rules_not_own", "%s",
		own_create(t, "no",
			attest_path(t,
				",\"created_by\":\"b\",\"created_by_id\":%lld," ALLOW("touch"),
				(long long)o.id)));
	own_absent(&o, "no");
	(void)attest_call(t, o.c, "%s", own_create(t, "child", "," FORBID("touch")));
	(void)attest_refused(t, o.r.d->client, "rules_not_own",
		"\"op\":\"configure\",\"bot\":\"child\"," ALLOW("touch"));
	(void)attest_refused(t, o.r.d->client, "rules_not_own",
		"\"op\":\"configure\",\"bot\":\"child\",\"rules\":[]");
}

static void AG_152_no_gates_by_its_own_commands(struct attest *t)
{
	struct own o = {.id = 0};

	own_start(&o, t, "\"sandbox\":\"workspace-write\"," GATE);
	(void)attest_refused(
		t, o.c, "not_permitted", "\"op\":\"configure\",\"bot\":\"b\",\"gates\":[]");
	(void)attest_refused(t, o.c, "not_permitted", "%s", own_create(t, "no", "," GATE));
	(void)attest_refused(
		t, o.c, "not_permitted", "\"op\":\"fork\",\"source\":\"b\",\"bot\":\"no\"," GATE);
	own_absent(&o, "no");
	attest_true(t, json_get(own_inspect(&o, "b"), "gates")->count == 1, "its gate is gone");
}

static void AG_154_a_child_has_its_makers_gates(struct attest *t)
{
	struct own o = {.id = 0};
	const struct json *gates;

	own_start(&o, t, "\"sandbox\":\"workspace-write\"," GATE);
	(void)drill_works(&o.r, "b", "'%s' door '{\"id\":1,%s}'", drill_probe(t),
		own_create(t, "child", ",\"gates\":[]"));
	gates = json_get(own_inspect(&o, "child"), "gates");
	attest_true(t, gates->count == 1, "the child has %u gates", gates->count);
	json_for_each (g, gates)
		attest_true(t,
			str_is(own_text(g, "tag"), "person") && own_number(g, "expire_ms") == 60000,
			"its gate is another one");
}

const struct attest_case attest_agent_lineage[] = {
	{"AG-126", NEEDS_SANDBOX, AG_126_no_way_to_widen_its_rules              },
	{"AG-128", NEEDS_SANDBOX, AG_128_a_child_starts_under_its_makers_sandbox},
	{"AG-129", NEEDS_SANDBOX, AG_129_a_fork_starts_under_it_too             },
	{"AG-130", NEEDS_SANDBOX, AG_130_it_inherits_the_writable_folders       },
	{"AG-131", NEEDS_SANDBOX, AG_131_it_may_narrow                          },
	{"AG-132", NEEDS_SANDBOX, AG_132_it_may_not_widen                       },
	{"AG-133", NEEDS_SANDBOX, AG_133_the_network_only_if_both_have_it       },
	{"AG-134", NEEDS_SANDBOX, AG_134_its_makers_rules_hold                  },
	{"AG-135", NEEDS_SANDBOX, AG_135_it_gets_no_others                      },
	{"AG-152", NEEDS_SANDBOX, AG_152_no_gates_by_its_own_commands           },
	{"AG-154", NEEDS_SANDBOX, AG_154_a_child_has_its_makers_gates           },
	{NULL,     0,             NULL					  },
};
