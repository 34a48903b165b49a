/*
 * Patches: read as the grammar says, applied where they fit and nowhere else.
 */
#include "agent/core/edit.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "os/os.h"
#include "testing.h"

#define BEGIN  "*** Begin Patch\n"
#define END    "*** End Patch\n"
#define UPDATE BEGIN "*** Update File: f\n"

#define S(literal)                                                                                 \
	{                                                                                          \
		(literal), sizeof(literal) - 1                                                     \
	}

static void reads_every_operation(void **state)
{
	static const char text[] = BEGIN "*** Add File: new/a.txt\n+one\n++two\n+\n"
					 "*** Delete File: old.txt\n"
					 "*** Update File: b.c\n*** Move to: c.c\n@@ int "
					 "main(void)\n-a\n+b\n@@\n c\n+d\n*** End of File\n"
					 "*** Add File: empty\n" END;
	_cleanup_(arena) struct arena a = {0};
	struct error err = ERROR_INIT;
	const struct patch_op *ops;
	size_t count;

	(void)state;
	assert_ok(patch_parse(&a, STR(text), &ops, &count, &err), &err);
	assert_int_equal(count, 4);
	assert_int_equal(ops[0].kind, PATCH_ADD);
	assert_true(str_is(ops[0].path, "new/a.txt"));
	assert_true(str_is(ops[0].added, "one\n+two\n\n"));
	assert_int_equal(ops[1].kind, PATCH_DELETE);
	assert_int_equal(ops[2].kind, PATCH_UPDATE);
	assert_true(str_is(ops[2].move_to, "c.c"));
	assert_int_equal(ops[2].hunk_count, 2);
	assert_null(ops[1].move_to.p);
	assert_int_equal(ops[3].added.len, 0);
	assert_int_equal(ops[3].line, 16);
}

static void refuses_what_is_no_patch(void **state)
{
	static const struct {
		const char *name;
		struct str text;
		const char *says;
	} rows[] = {
		{"empty",              S(""),					     "must be '*** Begin Patch'"    },
		{"a unified diff",     S("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"),      "line 1: must be"              },
		{"no end",             S(UPDATE "@@\n-a\n+b\n"),                          "'*** End Patch' is missing"   },
		{"no operations",      S(BEGIN END),                                      "changes no file"              },
		{"no operation",       S(BEGIN "hello\n" END),                            "line 2: expected"             },
		{"text after the end", S(BEGIN "*** Delete File: f\n" END "more\n"),
                 "line 4: there is text"										 },
		{"no path",            S(BEGIN "*** Delete File:  \n" END),               "line 2: the path is missing"  },
		{"NUL in a path",      S(BEGIN "*** Delete File: a\0b\n" END),
                 "line 2: the path holds a NUL"									  },
		{"no plus",            S(BEGIN "*** Add File: f\nhello\n" END),
                 "line 3: a line of an added file"								       },
		{"no hunks",           S(UPDATE END),                                     "line 3: an update has neither"},
		{"an empty hunk",      S(UPDATE "@@\n" END),                              "line 4: a hunk has no lines"  },
		{"a line of no sort",  S(UPDATE "@@\n-a\n*b\n" END),                      "line 5: a line of a hunk"     },
		{"NUL for a sort",     S(UPDATE "@@\n-a\n\0b\n" END),                     "line 5: a line of a hunk"     },
		{"a header grown on",  S(UPDATE "@@x\n-a\n" END),                         "line 3: after '@@'"           },
		{"named twice",        S(UPDATE "-a\n*** Delete File: f\n" END),
                 "line 4: the file is named before"								      },
		{"moved onto another",
                 S(BEGIN "*** Delete File: g\n*** Update File: f\n*** Move to: g\n" END),
                 "line 3: the file is named before"								      },
		{"moved onto itself",  S(UPDATE "*** Move to: f\n" END),                  "onto itself"                  },
		{"not UTF-8",          S(UPDATE "-\xff\n" END),                           "not UTF-8"                    },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(arena) struct arena a = {0};
		struct error err = ERROR_INIT;
		const struct patch_op *ops;
		size_t count;
		int rc = patch_parse(&a, rows[i].text, &ops, &count, &err);

		if (rc != -1 || !error_is(&err, &PATCH_INVALID) || !strstr(err.text, rows[i].says))
			fail_msg("%s: %d %s: %s", rows[i].name, rc, error_code(&err), err.text);
	}
}

static int apply(struct str patch, struct str content, struct buf *to, struct edit_report *report,
	struct error *err)
{
	_cleanup_(arena) struct arena a = {0};
	const struct patch_op *ops;
	size_t count;

	if (patch_parse(&a, patch, &ops, &count, err) < 0)
		return -1;
	must(count == 1);
	return patch_apply(&ops[0], content, to, report, err);
}

static void applies_where_it_fits(void **state)
{
	static const struct {
		const char *name;
		struct str patch, content, result;
		size_t line;
	} rows[] = {
		{"a line replaced",                   S(UPDATE "@@\n a\n-b\n+B\n c\n" END),                    S("a\nb\nc\n"),
                 S("a\nB\nc\n"),																  2},
		{"without @@",                        S(UPDATE "-b\n+B\n" END),                                S("a\nb\nc\n"),              S("a\nB\nc\n"),       2},
		{"with a diff's ranges",              S(UPDATE "@@ -2,1 +2,1 @@ int x\n-b\n+B\n" END),
                 S("a\nb\n"),													       S("a\nB\n"),          2},
		{"two hunks",                         S(UPDATE "@@\n-a\n+A\n@@\n-c\n" END),                    S("a\nb\nc\n"),              S("A\nb\n"),          1},
		{"a header leads on",                 S(UPDATE "@@ two\n-x\n+y\n" END),                        S("one\nx\ntwo\nx\n"),
                 S("one\nx\ntwo\ny\n"),															   4},
		{"two headers",                       S(UPDATE "@@ B\n@@ two\n-x\n+y\n" END),                  S("A\ntwo\nx\nB\ntwo\nx\n"),
                 S("A\ntwo\nx\nB\ntwo\ny\n"),														     6},
		{"a header indented otherwise",       S(UPDATE "@@ def f():\n-x\n+y\n" END),
                 S("\tdef f():\nx\n"),												      S("\tdef f():\ny\n"), 2},
		{"the first after a sure header",     S(UPDATE "@@ two\n-x\n+y\n" END),
                 S("two\nx\nx\n"),													  S("two\ny\nx\n"),     2},
		{"at the end",                        S(UPDATE "@@\n-x\n+y\n*** End of File\n" END),           S("x\nx\n"),
                 S("x\ny\n"),																     2},
		{"exact goes before fuzzy",           S(UPDATE "-x\n+y\n" END),                                S("x \nx\n"),                S("x \ny\n"),
                 2																		 },
		{"trailing blanks",                   S(UPDATE " a\n-x\n+y\n" END),                            S("a  \nx\t\nb\n"),
                 S("a  \ny\nb\n"),																2},
		{"white space around, kept as it is", S(UPDATE " a\n-x\n+y\n b\n" END),
                 S("\ta\n\tx\n\tb \n"),												     S("\ta\ny\n\tb \n"),  2},
		{"lines at the end",                  S(UPDATE "+c\n" END),                                    S("a\nb\n"),                 S("a\nb\nc\n"),       3},
		{"lines after a header",              S(UPDATE "@@ a\n+c\n" END),                              S("a\nb\n"),                 S("a\nc\nb\n"),
                 2																		 },
		{"into an empty file",                S(UPDATE "+a\n" END),                                    S(""),                       S("a\n"),             1},
		{"everything removed",                S(UPDATE "-a\n-b\n" END),                                S("a\nb\n"),                 S(""),                1},
		{"no final line end stays",           S(UPDATE " a\n-b\n+c\n" END),                            S("a\nb"),                   S("a\nc"),            2},
		{"appended without one",              S(UPDATE " b\n+c\n" END),                                S("a\nb"),                   S("a\nb\nc"),         3},
		{"last line removed",                 S(UPDATE " a\n-b\n" END),                                S("a\nb"),                   S("a\n"),             2},
		{"a kept last line without",          S(UPDATE "+x\n b\n" END),                                S("a\nb"),                   S("a\nx\nb"),         2},
		{"CRLF",			      S(UPDATE " a\n-b\n+c\n+d\n" END),                        S("a\r\nb\r\n"),             S("a\r\nc\r\nd\r\n"),
                 2																		 },
		{"CRLF at the end without",           S(UPDATE " b\n+c\n" END),                                S("a\r\nb"),                 S("a\r\nb\r\nc"),
                 3																		 },
		{"mixed: as the line before",         S(UPDATE " b\n+x\n c\n" END),                            S("a\nb\r\nc\n"),
                 S("a\nb\r\nx\r\nc\n"),															   3},
		{"a patch of CRLFs",
                 S("*** Begin Patch\r\n*** Update File: f\r\n-a\r\n+b\r\n*** End Patch\r\n"),
                 S("a\nc\n"),													       S("b\nc\n"),          1},
		{"BOM",			       S(UPDATE "-a\n+b\n" END),
                 S("\xef\xbb\xbf"
			  "a\n"),
                 S("\xef\xbb\xbf"
			  "b\n"),
                 1																		 },
		{"an empty line kept",                S(UPDATE " a\n\n-b\n+c\n" END),                          S("a\n\nb\n"),               S("a\n\nc\n"),
                 3																		 },
		{"the writer's own blank line",       S(UPDATE "-b\n+c\n\n" END),                              S("a\nb\n"),
                 S("a\nc\n"),																     2},
		{"blank lines around",                S("\n" BEGIN "\n*** Update File: f\n-b\n+c\n" END "\n"),
                 S("b\n"),														  S("c\n"),             1},
		{"a line of stars",                   S(UPDATE "-*** a\n+*** b\n" END),                        S("*** a\n"),                S("*** b\n"),
                 1																		 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf to = BUF_INIT(EDIT_FILE_MAX_BYTES);
		struct error err = ERROR_INIT;
		struct edit_report report;

		if (apply(rows[i].patch, rows[i].content, &to, &report, &err) < 0)
			fail_msg("%s: %s: %s", rows[i].name, error_code(&err), err.text);
		if (!str_eq(buf_str(&to), rows[i].result))
			fail_msg("%s: gave '%.*s'", rows[i].name, (int)to.len, to.data);
		if (report.lines[0] != rows[i].line)
			fail_msg("%s: line %zu", rows[i].name, report.lines[0]);
	}
}

static void refuses_what_does_not_fit(void **state)
{
	static const struct {
		const char *name;
		struct str patch, content;
		const struct error_kind *kind;
		const char *says;
	} rows[] = {
		{"not there",                    S(UPDATE "-x\n" END),                  S("a\nb\n"),       &PATCH_CONTEXT,   "hunk at line 3"},
		{"a header that is not there",   S(UPDATE "@@ f\n-a\n" END),            S("a\n"),          &PATCH_CONTEXT,
                 "'@@' line"														 },
		{"before the hunk above",        S(UPDATE "@@\n-b\n@@\n-a\n" END),      S("a\nb\n"),
                 &PATCH_CONTEXT,											     "from line 3 on"},
		{"two places",                   S(UPDATE "-a\n" END),                  S("a\nb\na\n"),    &PATCH_AMBIGUOUS,
                 "fits at lines 1, 3:"												       },
		{"two places, less exactly",     S(UPDATE "-a\n" END),                  S(" a\nb\n\ta\n"),
                 &PATCH_AMBIGUOUS,											   "lines 1, 3:"   },
		{"a header that is no help",     S(UPDATE "@@ f\n-a\n" END),            S("f\na\nf\na\n"),
                 &PATCH_AMBIGUOUS,											   "lines 2, 4:"   },
		{"an addition after one of two", S(UPDATE "@@ f\n+a\n" END),            S("f\nf\n"),
                 &PATCH_AMBIGUOUS,											   "lines 1, 2:"   },
		{"not at the end",               S(UPDATE "-a\n*** End of File\n" END), S("a\nb\n"),
                 &PATCH_CONTEXT,											     "not in"        },
		{"an empty file",                S(UPDATE "-a\n" END),                  S(""),             &PATCH_CONTEXT,   "not in"        },
		{"behind a byte-order mark",     S(UPDATE "-x\n" END),
                 S("\xef\xbb\xbf"
			  "a\n"),
                 &PATCH_CONTEXT,											     "not in"        },
		{"Latin-1",                      S(UPDATE "-a\n" END),                  S("a\n\xff"),      &EDIT_NOT_UTF8,   "byte 3"        },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf to = BUF_INIT(EDIT_FILE_MAX_BYTES);
		struct error err = ERROR_INIT;
		struct edit_report report;
		int rc = apply(rows[i].patch, rows[i].content, &to, &report, &err);

		if (rc != -1 || !error_is(&err, rows[i].kind) || !strstr(err.text, rows[i].says))
			fail_msg("%s: %d %s: %s", rows[i].name, rc, error_code(&err), err.text);
		if (to.len != 0)
			fail_msg("%s: left %zu bytes", rows[i].name, to.len);
	}
}

static void a_move_alone_keeps_any_bytes(void **state)
{
	_cleanup_(buf) struct buf to = BUF_INIT(64);
	struct error err = ERROR_INIT;
	struct edit_report report;

	(void)state;
	assert_ok(apply(STR(UPDATE "*** Move to: g\n" END), STR("\xff\xfe\0"), &to, &report, &err),
		&err);
	assert_true(str_eq(buf_str(&to), STR("\xff\xfe\0")));
}

/* A file of empty lines and a hunk of many: what a naive search would take hours for. */
static void a_hostile_patch_ends_soon(void **state)
{
	_cleanup_(buf) struct buf patch = BUF_INIT(EDIT_TEXT_MAX_BYTES),
				  to = BUF_INIT(EDIT_FILE_MAX_BYTES);
	_cleanup_(mem) char *content = xmalloc(EDIT_FILE_MAX_BYTES);
	struct error err = ERROR_INIT;
	struct edit_report report;

	(void)state;
	memset(content, '\n', EDIT_FILE_MAX_BYTES);
	must(buf_puts(&patch, UPDATE "@@\n") == 0);
	for (int i = 0; i < 200000; i++)
		must(buf_puts(&patch, " \n") == 0);
	must(buf_puts(&patch, "-x\n" END) == 0);
	assert_fails(apply(buf_str(&patch), (struct str){content, EDIT_FILE_MAX_BYTES}, &to,
			     &report, &err),
		&err, PATCH_CONTEXT);
}

/*
 * Against diff and patch: what diff(1) says of two files, in our grammar, makes one of the other.
 */

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 16;
}

static void run(const char *program, char *const *argv, const char *to)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status;

	must(posix_spawn_file_actions_init(&actions) == 0);
	must(posix_spawn_file_actions_addopen(
		     &actions, 1, to, O_WRONLY | O_CREAT | O_TRUNC, 0600) == 0);
	must(posix_spawn(&pid, program, &actions, NULL, argv, environ) == 0);
	(void)posix_spawn_file_actions_destroy(&actions); /* cannot fail on glibc */
	must(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) <= 1);
}

static void put_file(const char *path, struct str content)
{
	must(os_replace_file(path, content, 0600, NULL) == 0);
}

/* From a unified diff: the lines of its hunks under our headers. */
static void translate(struct str diff, struct buf *patch)
{
	struct str line;
	int number = 0;

	must(buf_puts(patch, UPDATE) == 0);
	while (str_next(&diff, '\n', &line)) {
		if (++number <= 2 || line.len == 0 || line.p[0] == '\\')
			continue;
		if (str_starts(line, STR("@@")))
			line.len = 2;
		must(buf_put_str(patch, line) == 0 && buf_putc(patch, '\n') == 0);
	}
	must(buf_puts(patch, END) == 0);
}

/* The old file and, with a run of lines replaced, the new one. */
static void make_pair(uint32_t *seed, struct buf *old, struct buf *new)
{
	size_t count = 1 + next_random(seed) % 40;
	size_t from = next_random(seed) % count, gone = next_random(seed) % (count - from);
	bool open = next_random(seed) % 3 == 0;

	for (size_t i = 0; i <= count; i++) {
		const char *end = i == count && open ? "" : "\n";
		const char *word = next_random(seed) % 4 ? "word" : "";

		must(buf_printf(old, "%s %zu%s", word, i / 2, end) == 0);
		if (i == from)
			for (uint32_t n = next_random(seed) % 4; n > 0; n--)
				must(buf_printf(new, "new %u\n", n) == 0);
		if (i < from || i >= from + gone)
			must(buf_printf(new, "%s %zu%s", word, i / 2, end) == 0);
	}
}

static void agrees_with_diff_and_patch(void **state)
{
	static const char diff[] = "/usr/bin/diff", patch_program[] = "/usr/bin/patch";
	_cleanup_(mem) char *dir = NULL, *a = NULL, *b = NULL, *d = NULL, *out = NULL, *log = NULL;
	bool with_patch = os_is_program(patch_program, NULL) == 1;
	uint32_t seed = 4711;
	int applied = 0;

	(void)state;
	if (os_is_program(diff, NULL) != 1)
		skip();
	dir = testing_dir();
	a = xasprintf("%s/a", dir);
	b = xasprintf("%s/b", dir);
	d = xasprintf("%s/d", dir);
	out = xasprintf("%s/out", dir);
	log = xasprintf("%s/log", dir);
	for (int round = 0; round < 120; round++) {
		_cleanup_(buf) struct buf old = BUF_INIT(65536), new = BUF_INIT(65536),
					  text = BUF_INIT(65536);
		_cleanup_(buf) struct buf patch = BUF_INIT(65536), to = BUF_INIT(65536),
					  theirs = BUF_INIT(65536);
		struct error err = ERROR_INIT;
		struct edit_report report;

		make_pair(&seed, &old, &new);
		if (str_eq(buf_str(&old), buf_str(&new)))
			continue;
		put_file(a, buf_str(&old));
		put_file(b, buf_str(&new));
		run(diff, (char *[]){"diff", "-U3", a, b, NULL}, d);
		must(os_read_file(d, &text, NULL) == 0);
		translate(buf_str(&text), &patch);
		if (apply(buf_str(&patch), buf_str(&old), &to, &report, &err) < 0) {
			assert_true(error_is(&err, &PATCH_AMBIGUOUS));
			continue;
		}
		applied++;
		assert_true(str_eq(buf_str(&to), buf_str(&new)));
		if (!with_patch)
			continue;
		run(patch_program, (char *[]){"patch", "-s", "-o", out, a, d, NULL}, log);
		must(os_read_file(out, &theirs, NULL) == 0);
		assert_true(str_eq(buf_str(&to), buf_str(&theirs)));
	}
	assert_true(applied > 60);
	must(os_remove_tree(dir, NULL) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_operation),
		cmocka_unit_test(refuses_what_is_no_patch),
		cmocka_unit_test(applies_where_it_fits),
		cmocka_unit_test(refuses_what_does_not_fit),
		cmocka_unit_test(a_move_alone_keeps_any_bytes),
		cmocka_unit_test(a_hostile_patch_ends_soon),
		cmocka_unit_test(agrees_with_diff_and_patch),
	};

	return cmocka_run_group_tests_name("patch", tests, NULL, NULL);
}
