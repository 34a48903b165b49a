/*
 * Values after named fields: what goes, what stays, where a value ends.
 */
#include "redact_testing.h"

static void assert_fields(const struct redact_row *rows, size_t count)
{
	_cleanup_(set) struct secret_set *set = secret_set_new();

	assert_rows(set, rows, count);
}

static void every_name_counts(void **state)
{
	static const char *const names[] = {"password", "passwd", "passphrase", "api_key", "apikey",
		"api-key", "access_key", "accesskey", "secret_key", "secretKey",
		"secret_access_key", "SecretAccessKey", "secret-access-key", "client_secret",
		"clientSecret", "auth_token", "authToken", "access_token", "refresh_token",
		"refresh-token", "private_key", "PRIVATE_KEY", "PassWord", "DB_PASSWORD",
		"PGPASSWORD", "spring.datasource.password", "aws_secret_access_key", "X-Api-Key",
		"--password"};
	_cleanup_(set) struct secret_set *set = secret_set_new();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		_cleanup_(mem) char *env = xasprintf("%s=hunter2\nX=1\n", names[i]);
		_cleanup_(mem) char *env_out = xasprintf("%s=[REDACTED]\nX=1\n", names[i]);
		_cleanup_(mem) char *json = xasprintf("{\"%s\":\"a\",\"b\":\"c\"}", names[i]);
		_cleanup_(mem) char *json_out = xasprintf(
			"{\"%s\":\"[REDACTED]\",\"b\":\"c\"}", names[i]);
		_cleanup_(mem) char *yaml = xasprintf("  %s : 'a b'\n  x: y\n", names[i]);
		_cleanup_(mem) char *yaml_out = xasprintf(
			"  %s : '[REDACTED]'\n  x: y\n", names[i]);
		const struct redact_row rows[] = {
			{env,  env_out },
                        {json, json_out},
                        {yaml, yaml_out}
                };

		assert_rows(set, rows, ARRAY_LEN(rows));
	}
}

static void ordinary_text_stays(void **state)
{
	static const struct redact_row rows[] = {
		{"tokens used: 12345678",                                     NULL},
		{"passwords are bad",					 NULL},
		{"passwords: hunter22 and more",                              NULL},
		{"the password is hunter22",                                  NULL},
		{"password hint: the usual one",                              NULL},
		{"access tokens: 12345678",                                   NULL},
		{"max_tokens: 1234567",                                       NULL},
		{"token: 12345678",					   NULL},
		{"secret: something",					 NULL},
		{"key: something",					    NULL},
		{"api_key_id=AKIA1234",                                       NULL},
		{"monkey: bananas",					   NULL},
		{"primary_key: integer",                                      NULL},
		{"Auth Token : abcdefgh",                                     NULL}, /* a blank joins no words */
		{"api__key=abcdefgh",					 NULL},
		{"password: yes",					     NULL},
		{"password = 12345 # five",                                   NULL},
		{"password:\nnext line\n",                                    NULL},
		{"password=\n",					       NULL},
		{"password: ",						NULL},
		{"password",						  NULL},
		{"=abcdefgh",						 NULL},
		{": abcdefgh",						NULL},
		{"password=\"\" x",					   NULL},
		{"password = \"\"\"\"\"\"\n",                                 NULL},
		{"password != \"abcdefgh\"",                                  NULL},
		{"user::password::validate(abcdefgh)",                        NULL},
		{"{\"password\":null,\"x\":false}",                           NULL},
		{"{\"password\":true}",                                       NULL},
		{"echo \"password: \" && echo \"done and done\"",             NULL},
		{"grep 'password=' file | grep 'api_key:' other",             NULL},
		{"{\\\"password\\\":\\\"\\\",\\\"x\\\":\\\"longer text\\\"}", NULL},
	};

	(void)state;
	assert_fields(rows, ARRAY_LEN(rows));
}

static void bare_values(void **state)
{
	static const struct redact_row rows[] = {
		{"PASSWORD=hunter",				     "PASSWORD=[REDACTED]"              },
		{"PASSWORD=a,b;c&d\"e'f g",                             "PASSWORD=[REDACTED] g"            },
		{"password:\t  hunter2\tx",                             "password:\t  [REDACTED]\tx"       },
		{"password                         = hunter2",
                 "password                         = [REDACTED]"                                           },
		{"password := hunter2",                                 "password := [REDACTED]"           },
		{"password => hunter2",                                 "password => [REDACTED]"           },
		{"password==hunter2",                                   "password=[REDACTED]"              },
		{"{\"password\":12345678,\"n\":1}",                     "{\"password\":[REDACTED],\"n\":1}"},
		{"{\"password\": 12345678}",                            "{\"password\": [REDACTED]}"       },
		{"?user=a&api_key=abcdefgh&x=1",                        "?user=a&api_key=[REDACTED]&x=1"   },
		{"<a href=\"/?api_key=abcdefgh\">",                     "<a href=\"/?api_key=[REDACTED]\">"},
		{"?api_key=abc&access_token=abcdefgh#top",
                 "?api_key=abc&access_token=[REDACTED]#top"                                                },
		{"[\"PASSWORD=hunter22\",\"PATH=/usr/bin\"]",
                 "[\"PASSWORD=[REDACTED]\",\"PATH=/usr/bin\"]"                                             },
		{"{\\\"e\\\":[\\\"PASSWORD=hunter22\\\",\\\"A=b\\\"]}",
                 "{\\\"e\\\":[\\\"PASSWORD=[REDACTED]\\\",\\\"A=b\\\"]}"                                   },
		{"'password: hunter22'",                                "'password: [REDACTED]'"           },
		{"PASSWORD=\\\\\\\\\\\\\\\\x y",                        "PASSWORD=[REDACTED] y"            },
		{"password=a:b api_key=abcdefgh",                       "password=a:b api_key=[REDACTED]"  },
		{"password=password=hunter22",                          "password=[REDACTED]"              },
		{"password: password: hunter2",                         "password: [REDACTED] hunter2"     },
		{"{\"api_key\":{\"password\":\"hunter22\"}}",
                 "{\"api_key\":{\"password\":\"[REDACTED]\"}}"                                             },
		{"curl -H 'X-Api-Key: abcdefgh' http://x/",
                 "curl -H 'X-Api-Key: [REDACTED]' http://x/"                                               },
	};

	(void)state;
	assert_fields(rows, ARRAY_LEN(rows));
}

/* /proc/PID/environ: a NUL ends a value. */
static void environ_dump(void **state)
{
	static const char in[] = "A=b\0PASSWORD=hunter22\0PATH=/bin\0API_KEY=\0X=long enough";
	static const char want[] = "A=b\0PASSWORD=[REDACTED]\0PATH=/bin\0API_KEY=\0X=long enough";
	_cleanup_(set) struct secret_set *set = secret_set_new();
	struct buf got = redact(set, (struct str){in, sizeof(in)});

	(void)state;
	assert_same(STR("environ"), &got, (struct str){want, sizeof(want)}, "the whole");
	assert_cuts_do_not_matter(set, (struct str){in, sizeof(in)});
}

static void quoted_values(void **state)
{
	static const struct redact_row rows[] = {
		{"password=\"a\" b",						 "password=\"[REDACTED]\" b"               },
		{"password='a b' c",						 "password='[REDACTED]' c"                 },
		{"password=`a b` c",						 "password=`[REDACTED]` c"                 },
		{"\"password\": \"a\\\"b\\\\\" c",                                   "\"password\": \"[REDACTED]\" c"          },
		{"\"password\": \"\\\\\" c",                                         "\"password\": \"[REDACTED]\" c"          },
		{"password=\"not closed\nnext \"line\"",                             "password=\"[REDACTED]\nnext \"line\""    },
		{"password=\"not closed",					    "password=\"[REDACTED]"                   },
		{"password=\"\\",						    "password=\"[REDACTED]"                   },
		{"{\\\"password\\\": \\\"a \\\\\\\"b\\\\\\\\\\\", \\\"x\\\": 1}",
                 "{\\\"password\\\": \\\"[REDACTED]\\\", \\\"x\\\": 1}"                                                        },
		{"\\\\\\\"password\\\\\\\":\\\\\\\"a b\\\\\\\",\\\\\\\"x y\\\\\\\"",
                 "\\\\\\\"password\\\\\\\":\\\\\\\"[REDACTED]\\\\\\\",\\\\\\\"x y\\\\\\\""                                     },
		{"\"PASSWORD='a b' x\" y",					   "\"PASSWORD='[REDACTED]' x\" y"           },
		{"\"PASSWORD='a b\" y 'z'",                                          "\"PASSWORD='[REDACTED]\" y 'z'"          },
		{"PASSWORD='it'\\''s long' x",                                       "PASSWORD='[REDACTED]'\\''' x"            },
		{"PASSWORD='it'\"'\"'s long' x",                                     "PASSWORD='[REDACTED]'\"\"'' x"           },
		{"password='it''s long' x",                                          "password='[REDACTED]''' x"               },
		{"password = \"\"\"a b\"\"\" x",                                     "password = \"\"\"[REDACTED]\"\"\" x"     },
		{"password = b'a b' x",					      "password = b'[REDACTED]' x"              },
		{"os.environ[\"API_KEY\"] = \"a b\"",                                "os.environ[\"API_KEY\"] = \"[REDACTED]\""},
		{"$c['password'] = 'a';",					    "$c['password'] = '[REDACTED]';"          },
		{"'password' => 'a b', 'x' => 'y z'",                                "'password' => '[REDACTED]', 'x' => 'y z'"},
		{"log='password=\\'a b\\'' x",                                       "log='password=\\'[REDACTED]\\'' x"       },
		{"{\"m\":\"password='a b'\\n\"}",                                    "{\"m\":\"password='[REDACTED]'\\n\"}"    },
	};

	(void)state;
	assert_fields(rows, ARRAY_LEN(rows));
}

static void known_value_and_field_make_one_mark(void **state)
{
	static const struct redact_row rows[] = {
		{"api_key=sk-abcdef x",            "api_key=[REDACTED] x"       },
		{"\"api_key\": \"sk-abcdef\"",     "\"api_key\": \"[REDACTED]\""},
		{"\"api_key\": \"x sk-abcdef y\"", "\"api_key\": \"[REDACTED]\""},
		{"{\"api_key\":sk-abcdef}",        "{\"api_key\":[REDACTED]}"   },
		{"password=[REDACTED] x",          NULL                         },
		{"\"password\":\"[REDACTED]\"",    NULL                         },
	};
	_cleanup_(set) struct secret_set *set = secret_set_new();

	(void)state;
	secret_set_add(set, STR("sk-abcdef"));
	assert_rows(set, rows, ARRAY_LEN(rows));
}

static void long_value_is_not_held_back(void **state)
{
	enum { MEGABYTES = 4 };
	_cleanup_(set) struct secret_set *set = secret_set_new();
	_cleanup_(filter) struct secret_filter *f = secret_filter_new(set);
	_cleanup_(mem) char *junk = xmalloc(1024 * 1024);
	_cleanup_(buf) struct buf out = BUF_INIT(1024);

	(void)state;
	memset(junk, 'x', 1024 * 1024);
	assert_int_equal(secret_filter_put(f, "password=\"", 10, &out), 0);
	for (int i = 0; i < MEGABYTES; i++)
		assert_int_equal(secret_filter_put(f, junk, 1024 * 1024, &out), 0);
	assert_true(str_is(buf_str(&out), "password=\"[REDACTED]"));
	assert_int_equal(secret_filter_put(f, "\" y", 3, &out), 0);
	assert_true(str_is(buf_str(&out), "password=\"[REDACTED]\" y"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_name_counts),
		cmocka_unit_test(ordinary_text_stays),
		cmocka_unit_test(bare_values),
		cmocka_unit_test(environ_dump),
		cmocka_unit_test(quoted_values),
		cmocka_unit_test(known_value_and_field_make_one_mark),
		cmocka_unit_test(long_value_is_not_held_back),
	};

	return cmocka_run_group_tests_name("secret.fields", tests, NULL, NULL);
}
