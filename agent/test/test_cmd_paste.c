/* Commands to paste: nothing that came from outside may act in the shell they are pasted into. */
#include <sys/wait.h>

#include "agent/cmd/paste.h"
#include "testing.h"

static char *quoted(struct str word)
{
	struct buf b = BUF_INIT(65536);

	paste_quote(&b, word);
	return buf_take(&b);
}

static void quotes_as_little_as_needed(void **state)
{
	static const struct {
		const char *word, *expected;
	} rows[] = {
		{"plain-word_1.2", "plain-word_1.2"     },
		{"/a/path:x",      "/a/path:x"          },
		{"",               "''"                 },
		{"two words",      "'two words'"        },
		{"it's",           "'it'\\''s'"         },
		{"$(reboot)",      "'$(reboot)'"        },
		{"`x`;|&",         "'`x`;|&'"           },
		{"~root",          "'~root'"            },
		{"=ls",            "'=ls'"              },
		{"!!",             "'!!'"               },
		{"a\nb",           "$'a\\012b'"         },
		{"\033[31m'\\",    "$'\\033[31m\\'\\\\'"},
		{"\xc3\xa9",       "$'\\303\\251'"      },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(mem) char *made = quoted(str_from(rows[i].word));

		assert_string_equal(made, rows[i].expected);
	}
}

/* bash with this script on its standard input; what it printed. */
static size_t run_bash(const char *script, char *to, size_t room)
{
	int in[2], out[2];
	FILE *from;
	size_t len;
	pid_t pid;

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	pid = fork();
	if (pid == 0) {
		(void)dup2(in[0], 0);
		(void)dup2(out[1], 1);
		(void)close(in[1]);
		(void)close(out[0]);
		(void)setenv("LC_ALL", "C", 1);
		(void)execl("/bin/bash", "bash", (char *)NULL);
		_exit(127);
	}
	(void)close(in[0]);
	(void)close(out[1]);
	assert_int_equal(write(in[1], script, strlen(script)), (ssize_t)strlen(script));
	(void)close(in[1]);
	from = fdopen(out[0], "r");
	assert_non_null(from);
	len = fread(to, 1, room, from);
	(void)fclose(from);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return len;
}

static void says_the_same_to_a_shell(void **state)
{
	_cleanup_(mem) char *made = NULL, *script = NULL;
	unsigned char all[255];
	char back[1024];

	(void)state;
	if (access("/bin/bash", X_OK) < 0)
		skip();
	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (unsigned char)(i + 1);
	made = quoted((struct str){(const char *)all, sizeof(all)});
	assert_null(strchr(made, '\n'));
	script = xasprintf("printf %%s %s\n", made);
	assert_int_equal(run_bash(script, back, sizeof(back)), sizeof(all));
	assert_memory_equal(back, all, sizeof(all));
}

static void writes_whole_commands(void **state)
{
	struct paste p = {.program = "agent", .place = " --store /x"};
	struct paste_call c = {.bot = STR("otter"),
		.call_id = STR("-r1;reboot"),
		.tag = STR("person"),
		.turn = 3,
		.request = 2};
	_cleanup_(buf) struct buf b = BUF_INIT(65536);

	(void)state;
	paste_answer(&b, &p, &c, true);
	assert_string_equal(b.data, "agent answer --store /x --bot otter --turn 3 "
				    "--call='-r1;reboot' --request 2 --tag person allow");
	buf_clear(&b);
	c.bot = STR("--x");
	paste_answer(&b, &p, &c, false);
	assert_string_equal(b.data, "agent answer --store /x --bot=--x --turn 3 "
				    "--call='-r1;reboot' --request 2 --tag person deny");
	buf_clear(&b);
	paste_follow(&b, &p, STR("otter"), 57);
	assert_string_equal(b.data, "agent follow --store /x --bot otter --after 57");
	buf_clear(&b);
	p.pretty = true;
	paste_follow(&b, &p, (struct str){NULL, 0}, 57);
	assert_string_equal(b.data, "agent follow --store /x --all --after 57 --pretty");
	buf_clear(&b);
	paste_result(&b, &p, STR("otter"), 9);
	assert_string_equal(b.data, "agent result --store /x --bot otter --turn 9 --pretty");
}

/* Where the daemon is not the one another shell of this user would find, the command says which. */
static void names_the_place(void **state)
{
	struct place_options place = {.store = NULL};
	struct paste p;

	(void)state;
	(void)unsetenv("AGENT_SOCKET");
	paste_init(&p, &place, "/nowhere/a b.sqlite", "/nowhere/s");
	assert_string_equal(p.place, " --store '/nowhere/a b.sqlite'");
	assert_true(p.program[0] == '/' || strcmp(p.program, "agent") == 0);
	paste_release(&p);
	place.socket = "/nowhere/s";
	paste_init(&p, &place, "/nowhere/a.sqlite", "/nowhere/s");
	assert_string_equal(p.place, " --socket /nowhere/s");
	paste_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quotes_as_little_as_needed),
		cmocka_unit_test(says_the_same_to_a_shell),
		cmocka_unit_test(writes_whole_commands),
		cmocka_unit_test(names_the_place),
	};

	return cmocka_run_group_tests_name("cmd_paste", tests, NULL, NULL);
}
