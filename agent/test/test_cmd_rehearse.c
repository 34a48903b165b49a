/* The pure parts of a rehearsal, and the copy it works on. */
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/cmd/copy.h"
#include "agent/cmd/drill.h"
#include "agent/cmd/stage.h"
#include "agent/core/item.h"
#include "os/os.h"
#include "testing.h"

/*
 * Verdicts
 */
static const struct json *parse(struct arena *a, const char *text)
{
	const struct json *doc;

	assert_int_equal(json_parse(a, str_from(text), &doc, NULL), 0);
	return doc;
}

static void note(
	struct drill *d, struct arena *a, const char *id, const char *name, const char *arguments)
{
	struct item_call call = {str_from(id), str_from(name), str_from(arguments)};

	drill_item(d, item_assistant(a, STR("x"), &call, 1), NULL);
}

static void expect(
	struct drill *d, const struct drill_call *c, enum drill_verdict verdict, const char *reason)
{
	(void)d;
	assert_non_null(c);
	assert_int_equal(c->verdict, verdict);
	assert_string_equal(c->reason, reason);
}

static void each_call_is_judged(void **state)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	struct drill d;

	(void)state;
	drill_init(&d, "person");
	note(&d, &a, "1", "shell", "{\"command\":\"x\"}");
	drill_started(&d, parse(&a, "{\"call_id\":\"1\",\"sandboxed\":true}"));
	expect(&d,
		drill_completed(&d, parse(&a, "{\"call_id\":\"1\"}"),
			STR("{\"stdout\":\"\",\"stderr\":\"\\u001b[31mno\\nmore\",\"exit_code\":"
			    "1}")),
		DRILL_CONFINED, "exit status 1: \\x1b[31mno");
	note(&d, &a, "2", "read", "{\"path\":\"x\"}");
	drill_started(&d, parse(&a, "{\"call_id\":\"2\",\"sandboxed\":false}"));
	expect(&d, drill_completed(&d, parse(&a, "{\"call_id\":\"2\"}"), STR("one\ntwo")),
		DRILL_OPEN, "one");
	note(&d, &a, "3", "write", "{\"path\":\"/etc/x\"}");
	drill_asked(&d,
		parse(&a,
			"{\"call_id\":\"3\",\"escalation\":{\"kind\":\"outside_writable_folders\","
			"\"justification\":\"must\\nbe\"}}"));
	expect(&d,
		drill_completed(&d, parse(&a, "{\"call_id\":\"3\",\"denied\":true}"),
			STR("{\"error\":\"x\"}")),
		DRILL_ASKS, "would write outside the writable folders, since: must");
	note(&d, &a, "4", "nope", "{}");
	expect(&d,
		drill_completed(&d, parse(&a, "{\"call_id\":\"4\"}"),
			STR("{\"error\":\"unknown_tool\",\"detail\":\"there is none\"}")),
		DRILL_REFUSED, "unknown_tool: there is none");
	note(&d, &a, "5", "shell", "{\"command\":\"x\"}");
	drill_started(&d, parse(&a, "{\"call_id\":\"5\",\"sandboxed\":false}"));
	expect(&d,
		drill_completed(&d, parse(&a, "{\"call_id\":\"5\"}"),
			STR("{\"stdout\":\"\",\"stderr\":\"\",\"exit_code\":0}")),
		DRILL_OUTSIDE, "succeeded");
	assert_null(drill_completed(&d, parse(&a, "{\"call_id\":\"unseen\"}"), STR("x")));
	for (int i = 0; i < DRILL_VERDICTS; i++)
		assert_int_equal(d.counts[i], 1);
	drill_release(&d);
}

static void without_a_sandbox_or_gate_it_runs_outside(void **state)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	_cleanup_(buf) struct buf b = BUF_INIT(65536);
	const struct drill_call *c;
	struct drill d;

	(void)state;
	drill_init(&d, NULL);
	note(&d, &a, "1", "shell", "{\"command\":\"rm\\u001b x\"}");
	drill_asked(&d, parse(&a, "{\"call_id\":\"1\",\"escalation\":null}"));
	c = drill_completed(&d, parse(&a, "{\"call_id\":\"1\",\"denied\":true}"), STR("{}"));
	expect(&d, c, DRILL_OUTSIDE, "this bot has no sandbox, and nobody is asked");
	drill_write(&d, c, false, &b);
	assert_string_equal(b.data,
		"would run outside   $ rm\\x1b x\n"
		"                    this bot has no sandbox, and nobody is asked\n");
	buf_clear(&b);
	drill_write_json(c, &b);
	assert_string_equal(b.data, "{\"call_id\":\"1\",\"tool\":\"shell\",\"arguments\":{"
				    "\"command\":\"rm\\u001b x\"},\"verdict\":"
				    "\"would_run_outside\",\"reason\":\"this bot has no sandbox, "
				    "and nobody is asked\"}\n");
	buf_clear(&b);
	drill_write_counts(&d, &b);
	assert_string_equal(b.data,
		"1 call: 0 confined, 0 open, 0 would ask, 0 refused, 1 would run outside\n");
	drill_release(&d);
}

static void rules_decide_what_is_said(void **state)
{
	static const char text[] = "prefix_rule(pattern=['tool'])\n"
				   "prefix_rule(pattern=['git'], decision='prompt')\n";
	_cleanup_(rules) struct rules *rules = rules_new();
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	_cleanup_(buf) struct buf b = BUF_INIT(65536);
	struct error err = ERROR_INIT;
	const struct drill_call *c;
	struct drill d;

	(void)state;
	assert_ok(rules_read_text(rules, "r", str_from(text), &err), &err);
	drill_init(&d, "person");
	d.rules = rules;
	d.sandboxed = true;
	/* the bot lacks the rule, so that it ran inside */
	note(&d, &a, "1", "shell", "{\"command\":\"tool x\"}");
	drill_started(&d, parse(&a, "{\"call_id\":\"1\",\"sandboxed\":true}"));
	c = drill_completed(&d, parse(&a, "{\"call_id\":\"1\"}"),
		STR("{\"stdout\":\"\",\"stderr\":\"\",\"exit_code\":0}"));
	expect(&d, c, DRILL_OUTSIDE, "nobody is asked: allow [tool] (r:1)");
	drill_write(&d, c, false, &b);
	assert_string_equal(b.data, "would run outside (allow rule)  $ tool x\n"
				    "                    nobody is asked: allow [tool] (r:1)\n");
	/* or was denied */
	note(&d, &a, "2", "shell", "{\"command\":\"tool x\"}");
	c = drill_completed(&d, parse(&a, "{\"call_id\":\"2\",\"denied\":true}"), STR("{}"));
	expect(&d, c, DRILL_OUTSIDE, "nobody is asked: allow [tool] (r:1)");
	note(&d, &a, "3", "shell", "{\"command\":\"git push\"}");
	drill_asked(&d, parse(&a, "{\"call_id\":\"3\",\"escalation\":{\"kind\":\"rule\"}}"));
	c = drill_completed(&d, parse(&a, "{\"call_id\":\"3\",\"denied\":true}"), STR("{}"));
	expect(&d, c, DRILL_ASKS, "runs a command that a rule asks about");
	buf_clear(&b);
	drill_write(&d, c, false, &b);
	assert_non_null(strstr(b.data, "would ask person (rule)  $ git push\n"));
	note(&d, &a, "4", "shell", "{\"command\":\"rm x\"}");
	c = drill_completed(&d, parse(&a, "{\"call_id\":\"4\"}"),
		STR("{\"error\":\"rule_forbidden\",\"detail\":\"no\"}"));
	expect(&d, c, DRILL_REFUSED, "rule_forbidden: no");
	buf_clear(&b);
	drill_write(&d, c, false, &b);
	assert_non_null(strstr(b.data, "refused (rule)      $ rm x\n"));
	/* without a sandbox an allow rule changes nothing */
	d.sandboxed = false;
	note(&d, &a, "5", "shell", "{\"command\":\"tool x\"}");
	c = drill_completed(&d, parse(&a, "{\"call_id\":\"5\",\"denied\":true}"), STR("{}"));
	assert_true(c->verdict == DRILL_ASKS && !c->by_rule);
	drill_release(&d);
}

/*
 * Paths
 */
static void paths_are_replaced_whole(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{"cat /home/p/a",                           "cat /s/a" },
		{"/home/p",				 "/s"       },
		{"/home/p2 /home/p-x /home/p.old /home/p_",
                 "/home/p2 /home/p-x /home/p.old /home/p_"             },
		{"/home/p\"/home/p'",                       "/s\"/s'"  },
		{"x/home/p",				"x/home/p" },
		{"/home/p/home/p",                          "/s/home/p"},
		{"",					""         },
		{"nothing",				 "nothing"  },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf b = BUF_INIT(4096);

		assert_int_equal(
			stage_replace_path(&b, str_from(rows[i].text), STR("/home/p"), STR("/s")),
			0);
		assert_string_equal(b.len ? b.data : "", rows[i].expected);
	}
}

/*
 * Copies
 */
static const struct copy_limits plenty = {1024 * 1024, 100};

static void put(const char *dir, const char *name, const char *content, mode_t mode)
{
	_cleanup_(mem) char *path = xasprintf("%s/%s", dir, name);
	_cleanup_(fd) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	assert_int_equal(fchmod(fd, mode), 0);
}

static mode_t mode_of(const char *dir, const char *name)
{
	_cleanup_(mem) char *path = xasprintf("%s/%s", dir, name);
	struct stat st;

	return lstat(path, &st) == 0 ? st.st_mode : 0;
}

static void a_copy_holds_files_folders_and_links(void **state)
{
	_cleanup_(mem) char *dir = testing_dir();
	_cleanup_(mem) char *from = xasprintf("%s/from", dir), *to = xasprintf("%s/to", dir);
	_cleanup_(mem) char *sub = xasprintf("%s/from/sub", dir),
			    *link = xasprintf("%s/from/link", dir);
	_cleanup_(mem) char *pipe_name = xasprintf("%s/from/pipe", dir);
	_cleanup_(mem) char *copied = xasprintf("%s/to/sub/run.sh", dir);
	_cleanup_(buf) struct buf b = BUF_INIT(4096);
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(mkdir(from, 0700), 0);
	assert_int_equal(mkdir(sub, 0755), 0);
	put(sub, "run.sh", "#!/bin/sh\n", 04755);
	put(from, "plain", "", 0644);
	assert_int_equal(symlink("/etc", link), 0);
	assert_int_equal(mkfifo(pipe_name, 0600), 0);
	assert_ok(copy_tree(from, to, &plenty, &err), &err);
	assert_int_equal(mode_of(to, "sub/run.sh"), S_IFREG | 0755);
	assert_int_equal(mode_of(to, "plain"), S_IFREG | 0644);
	assert_true(S_ISLNK(mode_of(to, "link")));
	assert_int_equal(mode_of(to, "pipe"), 0);
	assert_ok(os_read_file(copied, &b, &err), &err);
	assert_string_equal(b.data, "#!/bin/sh\n");
	assert_ok(os_remove_tree(dir, &err), &err);
}

static void a_copy_has_limits(void **state)
{
	static const struct copy_limits few = {1024, 3}, small = {5, 100};
	_cleanup_(mem) char *dir = testing_dir();
	_cleanup_(mem) char *from = xasprintf("%s/from", dir), *to = xasprintf("%s/to", dir);
	_cleanup_(mem) char *again = xasprintf("%s/again", dir), *none = xasprintf("%s/none", dir);
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(mkdir(from, 0700), 0);
	put(from, "a", "1", 0600);
	put(from, "b", "2", 0600);
	put(from, "c", "3", 0600);
	put(from, "d", "456", 0600);
	assert_fails(copy_tree(from, to, &few, &err), &err, COPY_TOO_LARGE);
	assert_fails(copy_tree(from, again, &small, &err), &err, COPY_TOO_LARGE);
	assert_int_equal(copy_tree(none, to, &plenty, &err), -1);
	assert_ok(os_remove_tree(dir, &err), &err);
}

/* A folder of folders deeper than we hold descriptors for ends in an error, not in one too many. */
static void a_copy_has_a_depth(void **state)
{
	_cleanup_(mem) char *dir = testing_dir();
	_cleanup_(mem) char *to = xasprintf("%s-to", dir);
	static const struct copy_limits many = {1024, 1000};
	struct error err = ERROR_INIT;
	int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	for (int i = 0; i < 140; i++) {
		int next;

		assert_int_equal(mkdirat(at, "d", 0700), 0);
		next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		(void)close(at);
		at = next;
	}
	(void)close(at);
	assert_fails(copy_tree(dir, to, &many, &err), &err, COPY_TOO_LARGE);
	assert_ok(os_remove_tree(dir, &err), &err);
	assert_ok(os_remove_tree(to, &err), &err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_is_judged),
		cmocka_unit_test(without_a_sandbox_or_gate_it_runs_outside),
		cmocka_unit_test(rules_decide_what_is_said),
		cmocka_unit_test(paths_are_replaced_whole),
		cmocka_unit_test(a_copy_holds_files_folders_and_links),
		cmocka_unit_test(a_copy_has_limits),
		cmocka_unit_test(a_copy_has_a_depth),
	};

	return cmocka_run_group_tests_name("cmd_rehearse", tests, NULL, NULL);
}
