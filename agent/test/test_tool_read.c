/*
 * read: pages, artifacts, and what must not be opened.
 */
#include "agent/tool/page.h"
#include "tooling.h"

#define S(literal)                                                                                 \
	{                                                                                          \
		(literal), sizeof(literal) - 1                                                     \
	}

static void pages_show_numbered_lines(void **state)
{
	static const struct {
		const char *name;
		struct str text;
		int64_t offset, limit;
		const char *page;
	} rows[] = {
		{"all",                S("a\nb\n"),     1,         500, "     1\ta\n     2\tb\n"                     },
		{"some",               S("a\nb\nc\n"),  2,         1,
                 "     2\tb\n[lines 2 to 2 of 3: go on with offset 3]\n"                                             },
		{"the last ones",      S("a\nb\nc\n"),  2,         5,   "     2\tb\n     3\tc\n"                     },
		{"past the end",       S("a\n"),        2,         1,   "[the last line is 1]\n"                     },
		{"far past the end",   S("a\n"),        INT32_MAX, 5,   "[the last line is 1]\n"                     },
		{"empty",              S(""),           1,         1,   "[the file is empty]\n"                      },
		{"only a line end",    S("\n"),         1,         1,   "     1\t\n"                                 },
		{"no final line end",  S("a\nb"),       1,         9,
                 "     1\ta\n     2\tb\n[no line end after the last line]\n"                                         },
		{"not the end yet",    S("a\nb"),       1,         1,
                 "     1\ta\n[lines 1 to 1 of 2: go on with offset 2]\n"                                             },
		{"CRLF",               S("a\r\nb\r\n"), 1,         9,   "     1\ta\n     2\tb\n[lines end in CRLF]\n"},
		{"CR at the very end", S("a\r"),        1,         9,
                 "     1\ta\r\n[no line end after the last line]\n"                                                  },
		{"no text",            S("a\xff\n"),    1,         9,
                 "     1\ta\xef\xbf\xbd\n[not all of this is UTF-8 text: other bytes are "
			"shown as "
			"\xef\xbf\xbd]\n"									    },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf to = BUF_INIT(PAGE_SHOWN_MAX_BYTES);
		struct page_source s = {.text = rows[i].text};
		struct error err = ERROR_INIT;

		assert_ok(page_write(&s, rows[i].offset, rows[i].limit, &to, &err), &err);
		if (!str_is(buf_str(&to), rows[i].page))
			fail_msg("%s: '%s'", rows[i].name, to.data);
	}
}

/* Property: whatever the bytes, pages follow one another without a gap, none is over its size, and
 * all of them are UTF-8. */
static void pages_follow_without_a_gap(void **state)
{
	enum { BYTES = 400000 };
	_cleanup_(mem) char *text = xmalloc(BYTES);
	uint32_t seed = 99;
	size_t lines = 0;
	int64_t offset = 1;

	(void)state;
	for (size_t i = 0; i < BYTES; i++) {
		seed = seed * 1664525u + 1013904223u;
		text[i] = (char)((seed >> 16) & 0xff);
		if ((seed >> 24) % 50 == 0)
			text[i] = '\n';
		lines += text[i] == '\n';
	}
	lines += text[BYTES - 1] != '\n';
	while (offset <= (int64_t)lines) {
		_cleanup_(buf) struct buf to = BUF_INIT(PAGE_SHOWN_MAX_BYTES);
		struct page_source s = {
			.text = {text, BYTES},
                          .redacted = true
                };
		struct error err = ERROR_INIT;
		char first[16];
		int64_t shown = 0;

		assert_ok(page_write(&s, offset, PAGE_LINES_MAX, &to, &err), &err);
		assert_false(to.full);
		assert_true(utf8_valid(buf_str(&to)));
		(void)snprintf(first, sizeof(first), "%6d\t", (int)offset);
		assert_true(str_starts(buf_str(&to), str_from(first)));
		for (ptrdiff_t at = 0; (at = str_find(buf_str(&to), STR("\n"), (size_t)at)) >= 0;
			at++)
			shown++;
		/* Of the lines that are shown, the notices are not the file's. */
		for (ptrdiff_t at = 0; (at = str_find(buf_str(&to), STR("\n["), (size_t)at)) >= 0;
			at++)
			shown--;
		assert_true(shown > 0);
		offset += shown;
	}
	assert_int_equal(offset, lines + 1);
}

static void a_line_over_a_page_is_an_error(void **state)
{
	_cleanup_(mem) char *text = xmalloc(80000);
	_cleanup_(buf) struct buf to = BUF_INIT(PAGE_SHOWN_MAX_BYTES);
	struct page_source s = {
		.text = {text, 80000}
        };
	struct error err = ERROR_INIT;

	(void)state;
	memset(text, 'x', 80000);
	text[1] = '\n';
	assert_ok(page_write(&s, 1, 500, &to, &err), &err);
	assert_string_equal(to.data, "     1\tx\n[lines 1 to 1 of 2: go on with offset 2]\n");
	buf_clear(&to);
	assert_fails(page_write(&s, 2, 500, &to, &err), &err, READ_LINE_TOO_LONG);
}

/* AG-004, AG-140 */
static void files_are_read(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_put(&r, r.workspace, "f", STR("one\ntwo\n"));
	rig_put(&r, r.outside, "g", STR("out\n"));
	rig_call(&r, "read", "{\"path\":\"f\"}");
	assert_true(str_is(r.output, "     1\tone\n     2\ttwo\n"));
	assert_false(r.failed);
	assert_int_equal(r.judgement.reach, TOOL_IN_DAEMON);
	r.bot.set.sandbox =
		SANDBOX_READ_ONLY; /* reads are not confined, and need no sandbox to be there */
	rig_call(&r, "read", "{\"path\":\"../out/g\"}");
	assert_true(str_is(r.output, "     1\tout\n"));
	must(symlink(r.outside, rig_path(&r, r.workspace, "link")) == 0);
	rig_call(&r, "read", "{\"path\":\"link/g\"}");
	assert_true(str_is(r.output, "     1\tout\n"));
	rig_release(&r);
}

/* AG-176 and everything else that is no regular file. */
static void what_is_no_file_is_refused(void **state)
{
	static const struct {
		const char *path, *code;
	} rows[] = {
		{"none",			      "file_not_found"  },
		{"none/at/all",                       "file_not_found"  },
		{".",				 "file_not_regular"},
		{"fifo",			      "file_not_regular"},
		{"/dev/zero",                         "file_not_regular"},
		{"/proc/self/environ",                "file_not_regular"},
		{"/proc/self/mem",                    "file_not_regular"},
		{"/proc/self/root/proc/self/environ", "file_not_regular"},
		{"/proc/thread-self/environ",         "file_not_regular"},
		{"/dev/fd/0",                         NULL              },
		{"loop",			      NULL              },
		{"large",			     "file_too_large"  },
		{"file/below",                        NULL              },
		{"none/../file",                      "invalid_path"    },
	};
	struct rig r;

	(void)state;
	rig_init(&r);
	must(mkfifo(rig_path(&r, r.workspace, "fifo"), 0600) == 0);
	must(symlink("loop", rig_path(&r, r.workspace, "loop")) == 0);
	rig_put(&r, r.workspace, "large", STR("x"));
	must(truncate(rig_path(&r, r.workspace, "large"), 4 * 1024 * 1024 + 1) == 0);
	rig_put(&r, r.workspace, "file", STR("x"));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		rig_call(&r, "read", arena_printf(&r.arena, "{\"path\":\"%s\"}", rows[i].path));
		if (!r.failed || (rows[i].code && !rig_says(&r, rows[i].code)))
			fail_msg("%s: %.*s", rows[i].path, (int)r.output.len, r.output.p);
	}
	/* The largest that may be. */
	must(truncate(rig_path(&r, r.workspace, "large"), 4 * 1024 * 1024) == 0);
	rig_call(&r, "read", "{\"path\":\"large\"}");
	assert_says(&r, "read_line_too_long");
	rig_release(&r);
}

static void a_file_without_rights_is_denied(void **state)
{
	struct rig r;

	(void)state;
	if (geteuid() == 0)
		skip(); /* root reads it */
	rig_init(&r);
	rig_put(&r, r.workspace, "f", STR("x"));
	must(chmod(rig_path(&r, r.workspace, "f"), 0) == 0);
	rig_call(&r, "read", "{\"path\":\"f\"}");
	assert_says(&r, "permission_denied");
	rig_release(&r);
}

/* AG-178, AG-180, AG-181: redacted before it is cut into pages. */
static void secrets_in_files_are_not_shown(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_put(&r, r.workspace, "f",
		STR("key " SECRET_VALUE
		    " end\n-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQ\n"
		    "-----END PRIVATE KEY-----\nlast\n"));
	rig_call(&r, "read", "{\"path\":\"f\"}");
	assert_says(&r, "     1\tkey [REDACTED] end\n");
	assert_says(&r, "\tlast\n");
	assert_says(&r, "[secrets are shown as [REDACTED]");
	assert_false(rig_says(&r, "MIIEvQIBADANBg"));
	for (int line = 1; line < 7; line++) {
		rig_call(&r, "read",
			arena_printf(&r.arena, "{\"path\":\"f\",\"offset\":%d,\"limit\":1}", line));
		assert_false(rig_says(&r, "kqhkiG9w0BAQ"));
		assert_false(rig_says(&r, "sk-very"));
	}
	rig_release(&r);
}

struct shelf {
	void *run;
	void (*done)(void *run, const struct tool_text *text, const struct error *err);
	char reference[64];
	int64_t bot;
};

static void fetch(void *arg, int64_t bot, struct str reference, int64_t line, void *run,
	void (*done)(void *run, const struct tool_text *text, const struct error *err))
{
	struct shelf *s = arg;

	assert_int_equal(line, 2);
	*s = (struct shelf){.run = run, .done = done, .bot = bot};
	(void)snprintf(s->reference, sizeof(s->reference), STR_FMT, STR_ARG(reference));
}

static void hand_over(void *arg)
{
	struct shelf *s = arg;

	s->done(s->run, &(struct tool_text){.bytes = STR("line one\nline " SECRET_VALUE "\n")},
		NULL);
}

static void miss(void *arg)
{
	static const struct error_kind kind = {"artifact_not_found", ERROR_CLASS_NOT_FOUND};
	struct shelf *s = arg;
	struct error err = ERROR_INIT;

	(void)error_set(&err, &kind, "there is none");
	s->done(s->run, NULL, &err);
}

static void artifacts_come_from_the_host(void **state)
{
	static const char arguments[] = "{\"artifact\":\"12/r1-1/stdout\",\"offset\":2}";
	struct shelf shelf = {.run = NULL};
	struct loop_timer *timer;
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_call(&r, "read", arguments);
	assert_says(&r, "file_not_found"); /* a host without any */
	r.host.artifact = fetch;
	r.host.artifact_arg = &shelf;
	assert_true(rig_start(&r, "read", arguments, false));
	timer = loop_timer_new(r.loop, hand_over, &shelf);
	loop_timer_set(timer, 0);
	rig_finish(&r, "read");
	loop_timer_free(timer);
	assert_string_equal(shelf.reference, "12/r1-1/stdout");
	assert_int_equal(shelf.bot, 7);
	assert_says(&r, "     2\tline [REDACTED]\n");
	assert_true(rig_start(&r, "read", arguments, false));
	timer = loop_timer_new(r.loop, miss, &shelf);
	loop_timer_set(timer, 0);
	rig_finish(&r, "read");
	assert_says(&r, "artifact_not_found");
	/* Freed before the host answered: it may answer all the same. */
	assert_true(rig_start(&r, "read", arguments, false));
	tool_find(STR("read"))->free(r.run);
	hand_over(&shelf);
	/* Cancelled before: done comes at once, and the late answer changes nothing. */
	assert_true(rig_start(&r, "read", arguments, false));
	tool_find(STR("read"))->cancel(r.run);
	loop_run(r.loop);
	assert_int_equal(r.dones, 1);
	assert_true(r.cancelled);
	assert_says(&r, "\"error\":\"cancelled\"");
	tool_find(STR("read"))->free(r.run);
	miss(&shelf);
	loop_timer_free(timer);
	rig_release(&r);
}

static void a_read_may_be_freed_while_it_works(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_put(&r, r.workspace, "f", STR("x\n"));
	for (int i = 0; i < 20; i++) {
		assert_true(rig_start(&r, "read", "{\"path\":\"f\"}", false));
		if (i % 2)
			tool_find(STR("read"))->cancel(r.run);
		tool_find(STR("read"))->free(r.run);
	}
	loop_run(r.loop);
	assert_int_equal(r.dones, 0);
	rig_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_show_numbered_lines),
		cmocka_unit_test(pages_follow_without_a_gap),
		cmocka_unit_test(a_line_over_a_page_is_an_error),
		cmocka_unit_test(files_are_read),
		cmocka_unit_test(what_is_no_file_is_refused),
		cmocka_unit_test(a_file_without_rights_is_denied),
		cmocka_unit_test(secrets_in_files_are_not_shown),
		cmocka_unit_test(artifacts_come_from_the_host),
		cmocka_unit_test(a_read_may_be_freed_while_it_works),
	};

	return cmocka_run_group_tests_name("tool_read", tests, NULL, NULL);
}
