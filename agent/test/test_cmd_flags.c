/* What flags and the environment come to: gates, names, prompts, arguments of a daemon, mismatches.
 */
#include "agent/cmd/approval.h"
#include "agent/cmd/caller.h"
#include "agent/cmd/mismatch.h"
#include "agent/cmd/prompt.h"
#include "agent/cmd/spawn.h"
#include "agent/cmd/words.h"
#include "agent/core/bot.h"
#include "agent/core/limits.h"
#include "client/client.h"
#include "os/os.h"
#include "testing.h"

static const struct json *parse(struct arena *a, const char *text)
{
	const struct json *doc;

	assert_int_equal(json_parse(a, str_from(text), &doc, NULL), 0);
	return doc;
}

/*
 * Approval
 */
static struct str_list three_tools(void)
{
	static struct str tools[] = {
		{"shell", 5},
                {"read",  4},
                {"edit",  4}
        };

	return (struct str_list){tools, ARRAY_LEN(tools)};
}

static void modes_become_gates(void **state)
{
	static const struct {
		const char *mode, *approve, *gates;
	} rows[] = {
		{NULL,     NULL,           "{\"gates\":[]}"},
		{"full",   NULL,           "{\"gates\":[]}"},
		{"manual", NULL,
                 "{\"gates\":[{\"tag\":\"person\",\"tools\":[\"shell\",\"edit\"],\"expire_"
			"ms\":null}]}"                     },
		{"auto",   NULL,
                 "{\"gates\":[{\"tag\":\"auto\",\"tools\":[\"shell\",\"edit\"],\"expire_"
			"ms\":null}]}"                     },
		{NULL,     "read , shell",
                 "{\"gates\":[{\"tag\":\"person\",\"tools\":[\"read\",\"shell\"],\"expire_"
			"ms\":null}]}"                     },
	};
	struct str_list tools = three_tools();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(arena) struct arena a = {.blocks = NULL};
		_cleanup_(buf) struct buf b = BUF_INIT(4096);
		struct error err = ERROR_INIT;
		struct approval p;
		struct json_out j = JSON_OUT(&b);

		assert_ok(approval_read(&a, rows[i].mode, rows[i].approve, &tools, &p, &err), &err);
		json_open(&j, '{');
		approval_put(&j, &p);
		json_close(&j, '}');
		assert_string_equal(b.data, rows[i].gates);
	}
}

static void odd_modes_are_usage_errors(void **state)
{
	static const struct {
		const char *mode, *approve;
	} rows[] = {
		{"Full",   NULL         },
		{"",       NULL         },
		{"full",   "shell"      },
		{"manual", "shell,,edit"},
		{"manual", ""           },
		{"manual", "shell,shell"},
		{"manual", "write"      },
		{NULL,     "nope"       },
	};
	struct str_list tools = three_tools();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(arena) struct arena a = {.blocks = NULL};
		struct error err = ERROR_INIT;
		struct approval p;

		assert_fails(approval_read(&a, rows[i].mode, rows[i].approve, &tools, &p, &err),
			&err, CLI_USAGE_ERROR);
	}
	{
		struct error err = ERROR_INIT;

		assert_ok(approval_check_sandbox(NULL, &err), &err);
		assert_ok(approval_check_sandbox("workspace-write", &err), &err);
		assert_fails(approval_check_sandbox("workspace", &err), &err, CLI_USAGE_ERROR);
	}
}

/*
 * Names
 */
static void every_name_is_one(void **state)
{
	char name[WORDS_NAME_SIZE], other[WORDS_NAME_SIZE];
	struct error err = ERROR_INIT;
	char one[WORDS_REQUEST_SIZE], two[WORDS_REQUEST_SIZE];

	(void)state;
	for (uint64_t i = 0; i <= 4096 * 11; i += 1) {
		words_name_from((uint32_t)(i * 0x9e3779b1u), name);
		assert_ok(bot_check_name(str_from(name), "bot", &err), &err);
	}
	words_name_from(UINT32_MAX, name);
	assert_ok(bot_check_name(str_from(name), "bot", &err), &err);
	words_name_from(0, name);
	words_name_from(1, other);
	assert_string_not_equal(name, other);
	words_name_from(4096, other);
	assert_string_not_equal(name, other);
	assert_ok(words_request(one, &err), &err);
	assert_ok(words_request(two, &err), &err);
	assert_string_not_equal(one, two);
	assert_ok(bot_check_name(str_from(one), "request_id", &err), &err);
}

/*
 * Prompts
 */
static void prompts_are_joined_and_checked(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(PROMPT_MAX_BYTES);
	char *words[] = {"mend", "the  test", "-"};
	char *bad[] = {"a\xff"};
	char *empty[] = {""};
	char *lone[] = {"\xed\xa0\x80"};
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(prompt_read(words, 3, &b, &err), &err);
	assert_string_equal(b.data, "mend the  test -");
	buf_clear(&b);
	assert_int_equal(prompt_read(bad, 1, &b, &err), -1);
	buf_clear(&b);
	assert_int_equal(prompt_read(lone, 1, &b, &err), -1);
	buf_clear(&b);
	assert_int_equal(prompt_read(empty, 1, &b, &err), -1);
	assert_string_equal(error_code(&err), "invalid_prompt");
}

static void a_prompt_has_a_limit(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(PROMPT_MAX_BYTES);
	_cleanup_(mem) char *text = xmalloc(PROMPT_MAX_BYTES + 2);
	char *words[] = {text};
	struct error err = ERROR_INIT;

	(void)state;
	memset(text, 'x', PROMPT_MAX_BYTES + 1);
	text[PROMPT_MAX_BYTES] = '\0';
	assert_ok(prompt_read(words, 1, &b, &err), &err);
	assert_int_equal(b.len, PROMPT_MAX_BYTES);
	buf_clear(&b);
	text[PROMPT_MAX_BYTES] = 'x';
	text[PROMPT_MAX_BYTES + 1] = '\0';
	assert_int_equal(prompt_read(words, 1, &b, &err), -1);
	assert_string_equal(error_code(&err), "prompt_limit");
}

/*
 * Who calls
 */
static void put_caller(char **ret, struct error *err)
{
	struct buf b = BUF_INIT(4096);
	struct json_out j = JSON_OUT(&b);

	json_open(&j, '{');
	if (caller_put_from(&j, err) < 0 || caller_put_creator(&j, err) < 0) {
		buf_release(&b);
		*ret = NULL;
		return;
	}
	json_close(&j, '}');
	*ret = buf_take(&b);
}

static void a_bot_that_calls_is_named(void **state)
{
	_cleanup_(mem) char *nobody = NULL, *part = NULL, *bad = NULL, *whole = NULL;
	struct error err = ERROR_INIT;

	(void)state;
	(void)unsetenv("AGENT_BOT");
	(void)unsetenv("AGENT_BOT_ID");
	(void)unsetenv("AGENT_TURN");
	put_caller(&nobody, &err);
	assert_string_equal(nobody, "{}");
	(void)setenv("AGENT_BOT", "otter", 1);
	put_caller(&part, &err);
	assert_null(part);
	(void)setenv("AGENT_BOT_ID", "7x", 1);
	(void)setenv("AGENT_TURN", "9", 1);
	put_caller(&bad, &err);
	assert_null(bad);
	(void)setenv("AGENT_BOT_ID", "7", 1);
	put_caller(&whole, &err);
	assert_string_equal(whole, "{\"from\":{\"bot\":\"otter\",\"bot_id\":7,\"turn\":9},"
				   "\"created_by\":\"otter\",\"created_by_id\":7}");
	(void)unsetenv("AGENT_BOT");
	(void)unsetenv("AGENT_BOT_ID");
	(void)unsetenv("AGENT_TURN");
	(void)setenv("AGENT_SHELL_CONTEXT", "0", 1);
	assert_false(caller_in_tool_shell());
	(void)setenv("AGENT_SHELL_CONTEXT", "1", 1);
	assert_true(caller_in_tool_shell());
	(void)unsetenv("AGENT_SHELL_CONTEXT");
}

/*
 * Starting a daemon
 */
static bool has(const struct spawn *s, const char *arg)
{
	for (size_t i = 0; i < s->count; i++) {
		if (strcmp(s->argv[i], arg) == 0)
			return true;
	}
	return false;
}

static void a_daemon_is_started_with_walls(void **state)
{
	_cleanup_(mem) char *home = testing_dir(), *rehearsal = NULL, *here = NULL;
	const char *walls[] = {"--odd"};
	struct startup_options startup = {
		.walls = {walls, 1},
                  .idle_exit = {true,  9}
        };
	struct error err = ERROR_INIT;
	struct spawn s;

	(void)state;
	(void)setenv("HOME", home, 1);
	(void)setenv("AGENT_PROVIDER", " a=rehearsal,x.jsonl\n\tb=rehearsal,/y ", 1);
	assert_ok(os_canonical("x.jsonl", &here, &err), &err);
	rehearsal = xasprintf("--provider=a=rehearsal,%s", here);
	assert_ok(spawn_init(&s, "/d/st", "/d/so", &startup, &err), &err);
	{
		_cleanup_(mem) char *wall = xasprintf("--wall=%s/.agent/run", home);
		_cleanup_(mem) char *rules = xasprintf("--protect-path=%s/.agent/rules", home);

		assert_true(has(&s, wall));
		assert_true(has(&s, rules));
	}
	assert_true(has(&s, "--wall=--odd"));
	assert_true(has(&s, "--store=/d/st"));
	assert_true(has(&s, "--socket=/d/so"));
	assert_true(has(&s, "--idle-exit=9"));
	assert_true(has(&s, rehearsal));
	assert_true(has(&s, "--provider=b=rehearsal,/y"));
	assert_string_equal(s.log, "/d/st.log");
	assert_null(s.argv[s.count]);
	spawn_release(&s);
	(void)unsetenv("AGENT_PROVIDER");
	assert_ok(os_remove_tree(home, &err), &err);
}

static void folders_are_made_for_the_owner_alone(void **state)
{
	_cleanup_(mem) char *home = testing_dir();
	_cleanup_(mem) char *agent = xasprintf("%s/.agent", home);
	_cleanup_(mem) char *other = xasprintf("%s/other", home);
	_cleanup_(mem) char *store = xasprintf("%s/other/st", home);
	_cleanup_(mem) char *deep = xasprintf("%s/no/such/st", home);
	mode_t old = umask(0);
	struct error err = ERROR_INIT;
	struct stat st;

	(void)state;
	(void)setenv("HOME", home, 1);
	assert_ok(spawn_make_folders(store, &err), &err);
	assert_int_equal(stat(agent, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(other, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(chmod(agent, 0755), 0);
	assert_ok(spawn_make_folders(store, &err), &err);
	assert_int_equal(stat(agent, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(spawn_make_folders(deep, &err), -1);
	(void)umask(old);
	assert_ok(os_remove_tree(home, &err), &err);
}

/*
 * Mismatches
 */
static const char ready[] =
	"{\"providers\":{\"a\":{\"family\":\"rehearsal\",\"url\":\"/x.jsonl\"}},\"walls\":[\"/w\"],"
	"\"protected_paths\":[],\"limits\":{\"processes\":128,\"active\":4096,\"pending\":null,"
	"\"pending_bytes\":null,\"idle_exit_seconds\":60}}";

static void what_is_the_same_passes(void **state)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	const char *providers[] = {"a", "a=rehearsal", "a=rehearsal,/x.jsonl"};
	const char *walls[] = {"/w"};
	struct startup_options o = {
		.providers = {providers, 3  },
		.walls = {walls,     1  },
		.max_processes = {true,      128},
		.idle_exit = {true,      60 }
        };
	struct error err = ERROR_INIT;
	struct startup_options nothing = {
		.idle_exit = {false, 0}
        };

	(void)state;
	assert_ok(mismatch_check(&o, parse(&a, ready), &err), &err);
	assert_ok(mismatch_check(&nothing, parse(&a, ready), &err), &err);
}

static void every_difference_is_named(void **state)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	const char *providers[] = {
		"b=rehearsal,/x.jsonl", "a=chat,/x.jsonl", "a=rehearsal,/y.jsonl"};
	const char *walls[] = {"/w", "/v"};
	const char *paths[] = {"/p"};
	struct startup_options o = {
		.providers = {providers, 3},
		.walls = {walls,     2},
		.protected_paths = {paths,     1},
		.max_pending = {true,      5},
		.max_active = {true,      1}
        };
	struct error err = ERROR_INIT;

	(void)state;
	assert_fails(mismatch_check(&o, parse(&a, ready), &err), &err, CLIENT_MISMATCH);
	assert_non_null(strstr(err.text, "the daemon has no 'b'"));
	assert_non_null(
		strstr(err.text, "--provider a=chat,/x.jsonl: the daemon's 'a' is another"));
	assert_non_null(
		strstr(err.text, "--provider a=rehearsal,/y.jsonl: the daemon's 'a' is another"));
	assert_non_null(strstr(err.text, "--wall /v is not the daemon's"));
	assert_null(strstr(err.text, "--wall /w "));
	assert_non_null(strstr(err.text, "--protect-path /p is not the daemon's"));
	assert_non_null(strstr(err.text, "--max-pending is 5, the daemon's is none"));
	assert_non_null(strstr(err.text, "--max-active is 1, the daemon's 4096"));
}

/* A daemon that says less than it should is another one, too. */
static void silence_is_a_difference(void **state)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	const char *walls[] = {"/w"};
	struct startup_options o = {
		.walls = {walls, 1}
        };
	struct error err = ERROR_INIT;

	(void)state;
	assert_fails(mismatch_check(&o, parse(&a, "{}"), &err), &err, CLIENT_MISMATCH);
	assert_fails(
		mismatch_check(&o, parse(&a, "{\"walls\":\"/w\"}"), &err), &err, CLIENT_MISMATCH);
}

static void more_than_fits_is_still_a_difference(void **state)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	_cleanup_(mem) char *path = xmalloc(2001);
	const char *walls[] = {path};
	struct startup_options o = {
		.walls = {walls, 1}
        };
	struct error err = ERROR_INIT;

	(void)state;
	memset(path, 'x', 2000);
	path[0] = '/';
	path[2000] = '\0';
	assert_fails(mismatch_check(&o, parse(&a, ready), &err), &err, CLIENT_MISMATCH);
	assert_true(strlen(err.text) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modes_become_gates),
		cmocka_unit_test(odd_modes_are_usage_errors),
		cmocka_unit_test(every_name_is_one),
		cmocka_unit_test(prompts_are_joined_and_checked),
		cmocka_unit_test(a_prompt_has_a_limit),
		cmocka_unit_test(a_bot_that_calls_is_named),
		cmocka_unit_test(a_daemon_is_started_with_walls),
		cmocka_unit_test(folders_are_made_for_the_owner_alone),
		cmocka_unit_test(what_is_the_same_passes),
		cmocka_unit_test(every_difference_is_named),
		cmocka_unit_test(silence_is_a_difference),
		cmocka_unit_test(more_than_fits_is_still_a_difference),
	};

	return cmocka_run_group_tests_name("cmd_flags", tests, NULL, NULL);
}
