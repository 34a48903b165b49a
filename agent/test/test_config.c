/* config.toml: what is read of it, what stops the reader, and the environment it makes. */
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/io/config.h"
#include "os/os.h"
#include "testing.h"
#include "toml/toml.h"

static struct config *parsed(const char *text)
{
	struct error err = ERROR_INIT;
	struct config *c;

	assert_ok(config_parse("c", str_from(text), &c, &err), &err);
	return c;
}

static void keys_are_read_and_others_ignored(void **state)
{
	_cleanup_(config) struct config *c = parsed("model = \"x\"\n[tui]\nx = 1\n");
	_cleanup_(config) struct config *d = parsed(
		"web_search = \"disabled\"\n[web_fetch]\nprivate = \"refuse\"\nother = 1\n"
		"[shell_environment_policy]\ninherit = \"core\"\nignore_default_excludes = false\n"
		"exclude = [\"AWS_*\"]\ninclude_only = []\nset = { CI = \"1\" }\n");

	(void)state;
	assert_false(c->no_web_search || c->web_refuses_private || c->default_excludes);
	assert_int_equal(c->inherit, CONFIG_ALL);
	assert_int_equal(c->exclude.count + c->include_only.count + c->set.count, 0);
	assert_true(d->no_web_search && d->web_refuses_private && d->default_excludes);
	assert_int_equal(d->inherit, CONFIG_CORE);
	assert_true(d->exclude.count == 1 && str_is(d->exclude.items[0], "AWS_*"));
	assert_true(d->set.count == 1 && str_is(d->set.items[0], "CI=1"));
}

static void a_fault_names_line_and_key(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"x = \n",							 "c: line 1, column"                                     },
		{"\nweb_search = true\n",					  "c: line 2: web_search: must be \"live\", \"cached\" or"},
		{"web_search = \"disable\"\n",                                     "line 1: web_search:"                                   },
		{"web_fetch = \"refuse\"\n",                                       "line 1: web_fetch: must be a table"                    },
		{"[web_fetch]\nprivate = false\n",                                 "line 2: web_fetch.private: must be \"allow\""          },
		{"shell_environment_policy = []\n",                                "shell_environment_policy: must be a table"             },
		{"[[shell_environment_policy]]\n",                                 "shell_environment_policy: must be a table"             },
		{"[shell_environment_policy]\ninherit = \"some\"\n",
                 "line 2: shell_environment_policy.inherit: must be \"all\", \"core\" or"                                                  },
		{"[shell_environment_policy]\nignore_default_excludes = \"no\"\n",
                 "line 2: shell_environment_policy.ignore_default_excludes:"                                                               },
		{"[shell_environment_policy]\nexclude = \"FOO*\"\n",
                 "line 2: shell_environment_policy.exclude:"									       },
		{"[shell_environment_policy]\nexclude = [\n\"A\",\n1]\n",
                 "line 4: shell_environment_policy.exclude:"									       },
		{"[shell_environment_policy]\ninclude_only = [\"\"]\n",
                 "line 2: shell_environment_policy.include_only:"									  },
		{"[shell_environment_policy]\nset = [\"CI=1\"]\n",
                 "line 2: shell_environment_policy.set: must be a table"                                                                   },
		{"[shell_environment_policy.set]\nCI = 1\n",
                 "line 2: shell_environment_policy.set: a value"									   },
		{"[shell_environment_policy.set]\n\"A=B\" = \"1\"\n",
                 "line 2: shell_environment_policy.set: a name"									    },
		{"[shell_environment_policy.set]\nA = \"x\\u0000y\"\n",
                 "line 2: shell_environment_policy.set: a value"									   },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct error err = ERROR_INIT;
		struct config *c;

		assert_int_equal(config_parse("c", str_from(rows[i].text), &c, &err), -1);
		if (!error_is(&err, &CONFIG_INVALID) || !strstr(err.text, rows[i].says))
			fail_msg("'%s': %s", rows[i].text, err.text);
	}
}

static void refused(const char *path, const char *says)
{
	struct error err = ERROR_INIT;
	struct config *c;

	assert_int_equal(config_read(path, &c, &err), -1);
	if (!error_is(&err, &CONFIG_INVALID) || !strstr(err.text, says))
		fail_msg("%s: %s", path, err.text);
}

static void no_file_is_the_defaults_and_nothing_else_is(void **state)
{
	_cleanup_(mem) char *dir = testing_dir(), *path = xasprintf("%s/c", dir),
			    *link = xasprintf("%s/link", dir), *fifo = xasprintf("%s/fifo", dir),
			    *inside = xasprintf("%s/c/config.toml", dir),
			    *large = xcalloc(TOML_BYTES_MAX + 2, 1);
	struct error err = ERROR_INIT;
	struct config *c;

	(void)state;
	assert_ok(config_read(path, &c, &err), &err);
	assert_int_equal(c->inherit, CONFIG_ALL);
	config_free(c);
	assert_ok(os_replace_file(path, STR("web_search = \"disabled\"\n"), 0600, &err), &err);
	assert_ok(config_read(path, &c, &err), &err);
	assert_true(c->no_web_search);
	config_free(c);
	must(symlink(path, link) == 0 && mkfifo(fifo, 0600) == 0);
	refused(link, "a symbolic link");
	refused(fifo, "not a regular file");
	refused(dir, "not a regular file");
	refused("/dev/null", "not a regular file");
	memset(large, '\n', TOML_BYTES_MAX + 1);
	assert_ok(os_replace_file(path, str_from(large), 0600, &err), &err);
	refused(path, "over 262144 bytes");
	assert_ok(config_read(inside, &c, &err), &err); /* nothing lies behind a file */
	config_free(c);
	must(os_remove_tree(dir, NULL) == 0);
}

static void the_policy_makes_the_environment(void **state)
{
	static char *env[] = {"HOME=/h", "PATH=/p", "lang=C", "FOO1=a", "foo2=b", "My_Key=c",
		"aSecretB=d", "TOKENS=e", "EMPTY=", NULL};
	static const struct {
		const char *policy, *expected;
	} rows[] = {
		{"",							   "HOME=/h PATH=/p lang=C FOO1=a foo2=b My_Key=c aSecretB=d TOKENS=e EMPTY= "   },
		{"ignore_default_excludes = false",                            "HOME=/h PATH=/p lang=C FOO1=a foo2=b EMPTY= "                                },
		{"inherit = \"core\"",					 "HOME=/h PATH=/p "							    },
		{"inherit = \"none\"",					 ""									    },
		{"exclude = [\"FOO*\", \"*e*\"]",                              "PATH=/p lang=C "                                                             },
		{"exclude = [\"foo?\"]",
                 "HOME=/h PATH=/p lang=C My_Key=c aSecretB=d TOKENS=e EMPTY= "                                                                               },
		{"exclude = [\"HOM\", \"ATH\", \"*_*_*\"]",                    "HOME=/h PATH=/p lang=C FOO1=a foo2=b "
							    "My_Key=c aSecretB=d TOKENS=e EMPTY= "},
		{"inherit = \"none\"\nset = { A = \"1\", B = \"x=y\" }",       "A=1 B=x=y "                                                                  },
		{"exclude = [\"A\"]\ninherit = \"none\"\nset = { A = \"1\" }", "A=1 "                                                                        },
		{"set = { HOME = \"/g\" }\ninclude_only = [\"HOME\"]",         "HOME=/g "                                                                    },
		{"set = { A = \"1\" }\ninclude_only = [\"l*\"]",               "lang=C "                                                                     },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(mem) char *text = xasprintf(
			"[shell_environment_policy]\n%s\n", rows[i].policy);
		_cleanup_(config) struct config *c = parsed(text);
		_cleanup_(mem) char **made = config_environ(c, env);
		_cleanup_(buf) struct buf all = BUF_INIT(4096);

		for (size_t k = 0; made[k]; k++)
			must(buf_printf(&all, "%s ", made[k]) == 0);
		if (!str_is(buf_str(&all), rows[i].expected))
			fail_msg("%s: %s", rows[i].policy, all.len ? all.data : "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_read_and_others_ignored),
		cmocka_unit_test(a_fault_names_line_and_key),
		cmocka_unit_test(no_file_is_the_defaults_and_nothing_else_is),
		cmocka_unit_test(the_policy_makes_the_environment),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
