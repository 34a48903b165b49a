/*
 * Values after named fields: what goes, what stays, where a value ends.
 */
#include "redact_testing.h"

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

		becomes(set, env, env_out);
		becomes(set, json, json_out);
		becomes(set, yaml, yaml_out);
	}
}

static void ordinary_text_stays(void **state)
{
	_cleanup_(set) struct secret_set *set = secret_set_new();

	(void)state;
	stays(set, "tokens used: 12345678");
	stays(set, "passwords are bad");
	stays(set, "passwords: hunter22 and more");
	stays(set, "the password is hunter22");
	stays(set, "password hint: the usual one");
	stays(set, "access tokens: 12345678");
	stays(set, "max_tokens: 1234567");
	stays(set, "token: 12345678");
	stays(set, "secret: something");
	stays(set, "key: something");
	stays(set, "api_key_id=AKIA1234");
	stays(set, "monkey: bananas");
	stays(set, "primary_key: integer");
	stays(set, "Auth Token : abcdefgh"); /* a blank joins no words */
	stays(set, "api__key=abcdefgh");
	stays(set, "password: yes");
	stays(set, "password = 12345 # five");
	stays(set, "password:\nnext line\n");
	stays(set, "password=\n");
	stays(set, "password: ");
	stays(set, "password");
	stays(set, "=abcdefgh");
	stays(set, ": abcdefgh");
	stays(set, "password=\"\" x");
	stays(set, "password = \"\"\"\"\"\"\n");
	stays(set, "password != \"abcdefgh\"");
	stays(set, "user::password::validate(abcdefgh)");
	stays(set, "{\"password\":null,\"x\":false}");
	stays(set, "{\"password\":true}");
	stays(set, "echo \"password: \" && echo \"done and done\"");
	stays(set, "grep 'password=' file | grep 'api_key:' other");
	stays(set, "{\\\"password\\\":\\\"\\\",\\\"x\\\":\\\"longer text\\\"}");
}

static void bare_values(void **state)
{
	_cleanup_(set) struct secret_set *set = secret_set_new();

	(void)state;
	becomes(set, "PASSWORD=hunter", "PASSWORD=[REDACTED]");
	becomes(set, "PASSWORD=a,b;c&d\"e'f g", "PASSWORD=[REDACTED] g");
	becomes(set, "password:\t  hunter2\tx", "password:\t  [REDACTED]\tx");
	becomes(set, "password                         = hunter2",
		"password                         = [REDACTED]");
	becomes(set, "password := hunter2", "password := [REDACTED]");
	becomes(set, "password => hunter2", "password => [REDACTED]");
	becomes(set, "password==hunter2", "password=[REDACTED]");
	becomes(set, "{\"password\":12345678,\"n\":1}", "{\"password\":[REDACTED],\"n\":1}");
	becomes(set, "{\"password\": 12345678}", "{\"password\": [REDACTED]}");
	becomes(set, "?user=a&api_key=abcdefgh&x=1", "?user=a&api_key=[REDACTED]&x=1");
	becomes(set, "<a href=\"/?api_key=abcdefgh\">", "<a href=\"/?api_key=[REDACTED]\">");
	becomes(set, "?api_key=abc&access_token=abcdefgh#top",
		"?api_key=abc&access_token=[REDACTED]#top");
	becomes(set, "[\"PASSWORD=hunter22\",\"PATH=/usr/bin\"]",
		"[\"PASSWORD=[REDACTED]\",\"PATH=/usr/bin\"]");
	becomes(set, "{\\\"e\\\":[\\\"PASSWORD=hunter22\\\",\\\"A=b\\\"]}",
		"{\\\"e\\\":[\\\"PASSWORD=[REDACTED]\\\",\\\"A=b\\\"]}");
	becomes(set, "'password: hunter22'", "'password: [REDACTED]'");
	becomes(set, "PASSWORD=\\\\\\\\\\\\\\\\x y", "PASSWORD=[REDACTED] y");
	becomes(set, "password=a:b api_key=abcdefgh", "password=a:b api_key=[REDACTED]");
	becomes(set, "password=password=hunter22", "password=[REDACTED]");
	becomes(set, "password: password: hunter2", "password: [REDACTED] [REDACTED]");
	becomes(set, "password=api_key: \"a b\" c", "password=[REDACTED] \"[REDACTED]\" c");
	becomes(set, "password=abcdef: hunter2", "password=[REDACTED] hunter2");
	becomes(set, "{\"api_key\":{\"password\":\"hunter22\"}}",
		"{\"api_key\":{\"password\":\"[REDACTED]\"}}");
	becomes(set, "curl -H 'X-Api-Key: abcdefgh' http://x/",
		"curl -H 'X-Api-Key: [REDACTED]' http://x/");
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
	_cleanup_(set) struct secret_set *set = secret_set_new();

	(void)state;
	becomes(set, "password=\"a\" b", "password=\"[REDACTED]\" b");
	becomes(set, "password='a b' c", "password='[REDACTED]' c");
	becomes(set, "password=`a b` c", "password=`[REDACTED]` c");
	becomes(set, "\"password\": \"a\\\"b\\\\\" c", "\"password\": \"[REDACTED]\" c");
	becomes(set, "\"password\": \"\\\\\" c", "\"password\": \"[REDACTED]\" c");
	becomes(set, "password=\"not closed\nnext \"line\"",
		"password=\"[REDACTED]\nnext \"line\"");
	becomes(set, "password=\"not closed", "password=\"[REDACTED]");
	becomes(set, "password=\"\\", "password=\"[REDACTED]");
	becomes(set, "{\\\"password\\\": \\\"a \\\\\\\"b\\\\\\\\\\\", \\\"x\\\": 1}",
		"{\\\"password\\\": \\\"[REDACTED]\\\", \\\"x\\\": 1}");
	becomes(set, "\\\\\\\"password\\\\\\\":\\\\\\\"a b\\\\\\\",\\\\\\\"x y\\\\\\\"",
		"\\\\\\\"password\\\\\\\":\\\\\\\"[REDACTED]\\\\\\\",\\\\\\\"x y\\\\\\\"");
	becomes(set, "\"PASSWORD='a b' x\" y", "\"PASSWORD='[REDACTED]' x\" y");
	becomes(set, "\"PASSWORD='a b\" y 'z'", "\"PASSWORD='[REDACTED]\" y 'z'");
	becomes(set, "PASSWORD='it'\\''s long' x", "PASSWORD='[REDACTED]'\\''' x");
	becomes(set, "PASSWORD='it'\"'\"'s long' x", "PASSWORD='[REDACTED]'\"\"'' x");
	becomes(set, "password='it''s long' x", "password='[REDACTED]''' x");
	becomes(set, "password = \"\"\"a b\"\"\" x", "password = \"\"\"[REDACTED]\"\"\" x");
	becomes(set, "password = b'a b' x", "password = b'[REDACTED]' x");
	becomes(set, "os.environ[\"API_KEY\"] = \"a b\"",
		"os.environ[\"API_KEY\"] = \"[REDACTED]\"");
	becomes(set, "$c['password'] = 'a';", "$c['password'] = '[REDACTED]';");
	becomes(set, "'password' => 'a b', 'x' => 'y z'",
		"'password' => '[REDACTED]', 'x' => 'y z'");
	becomes(set, "log='password=\\'a b\\'' x", "log='password=\\'[REDACTED]\\'' x");
	becomes(set, "{\"m\":\"password='a b'\\n\"}", "{\"m\":\"password='[REDACTED]'\\n\"}");
}

static void known_value_and_field_make_one_mark(void **state)
{
	_cleanup_(set) struct secret_set *set = secret_set_new();

	(void)state;
	secret_set_add(set, STR("sk-abcdef"));
	becomes(set, "api_key=sk-abcdef x", "api_key=[REDACTED] x");
	becomes(set, "\"api_key\": \"sk-abcdef\"", "\"api_key\": \"[REDACTED]\"");
	becomes(set, "\"api_key\": \"x sk-abcdef y\"", "\"api_key\": \"[REDACTED]\"");
	becomes(set, "{\"api_key\":sk-abcdef}", "{\"api_key\":[REDACTED]}");
	stays(set, "password=[REDACTED] x");
	stays(set, "\"password\":\"[REDACTED]\"");
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
