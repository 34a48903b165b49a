/*
 * sigv4: the values that AWS publishes for its signature's test suite (the key, the moment and the
 * signatures are theirs), what a header's or a query's form does not change, and a call whole.
 */
#include "agent/io/sigv4.h"

#include "test/testing.h"

#define SUITE_ID     "AKIDEXAMPLE"
#define SUITE_SECRET "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define SUITE_DATE   "20150830T123600Z"
#define SUITE_TOKEN  "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"
#define SUITE_HOST   "example.amazonaws.com"
#define LETTERS      "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define NOTHING_SUM  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define FORM_SUM     "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e"

enum {
	SUITE_TIME_S = 1440938160,
	HEADERS = 8,
	ROOM = 16 * 1024,
};

/* Headers as lines "Name:value". */
static size_t read_headers(const char *lines, struct http_header list[HEADERS])
{
	struct str rest = str_from(lines), line;
	size_t count = 0;

	while (str_next(&rest, '\n', &line)) {
		struct str name;

		(void)str_next(&line, ':', &name);
		list[count++] = (struct http_header){name, line};
	}
	return count;
}

static const struct sigv4_scope suite_scope = {
	{"us-east-1", 9},
        {"service",   7},
        SUITE_TIME_S
};
static const struct sigv4_keys suite_keys = {
	{SUITE_ID,     sizeof(SUITE_ID) - 1    },
        {SUITE_SECRET, sizeof(SUITE_SECRET) - 1},
        {NULL,         0                       }
};

static void signs_as_the_published_suite(void **state)
{
	static const struct {
		const char *name, *method, *path, *query, *headers, *names, *signature;
	} rows[] = {
		{"post-vanilla",                     "POST", "/",                        NULL,                          "", "host;x-amz-date",
                 "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"																		    },
		{"get-relative-relative",            "GET",  "/example1/example2/../..", NULL,                          "",
                 "host;x-amz-date",																  "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{"get-slashes",                      "GET",  "//example//",              NULL,                          "", "host;x-amz-date",
                 "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84"																		    },
		{"get-slash-pointless-dot",          "GET",  "/./example",               NULL,                          "", "host;x-amz-date",
                 "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5"																		    },
		{"get-space",                        "GET",  "/example space/",          NULL,                          "", "host;x-amz-date",
                 "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"																		    },
		{"get-utf8",                         "GET",  "/\xe1\x88\xb4",            NULL,                          "", "host;x-amz-date",
                 "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"																		    },
		{"get-unreserved",                   "GET",  "/" LETTERS,                NULL,                          "", "host;x-amz-date",
                 "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"																		    },
		{"get-vanilla-query-unreserved",     "GET",  "/",                        LETTERS "=" LETTERS,           "",
                 "host;x-amz-date",																  "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
		{"get-vanilla-query-order-key-case", "GET",  "/",                        "Param2=value2&Param1=value1", "",
                 "host;x-amz-date",																  "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		{"get-vanilla-query-order-encoded",  "GET",  "/",
                 "Param-3=Value3&Param=Value2&%E1%88%B4=Value1",                                                        "", "host;x-amz-date",
                 "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac"																		    },
		{"get-vanilla-utf8-query",           "GET",  "/",                        "\xe1\x88\xb4=bar",            "", "host;x-amz-date",
                 "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"																		    },
		{"get-header-value-trim",            "GET",  "/",                        NULL,
                 "My-Header1: value1\nMy-Header2: \"a   b   c\"",							   "host;my-header1;my-header2;x-amz-date",
                 "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"																		    },
		{"get-header-key-duplicate",         "GET",  "/",                        NULL,
                 "My-Header1:value2\nMy-Header1:value2\nMy-Header1:value1",						 "host;my-header1;x-amz-date",
                 "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"																		    },
		{"get-header-value-order",           "GET",  "/",                        NULL,
                 "My-Header1:value4\nMy-Header1:value1\nMy-Header1:value3\nMy-Header1:"
			"value2",											   "host;my-header1;x-amz-date",
                 "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"																		    },
		{"get-vanilla-with-session-token",   "GET",  "/",                        NULL,
                 "X-Amz-Security-Token:" SUITE_TOKEN,								       "host;x-amz-date;x-amz-security-token",
                 "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"																		    },
		{"post-x-www-form-urlencoded",       "POST", "/",                        NULL,
                 "Content-Type:application/x-www-form-urlencoded\nContent-Length:13\n"
			"x-amz-content-sha256:" FORM_SUM,
                 "content-length;content-type;host;x-amz-content-sha256;x-amz-date",										 "d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf got = BUF_INIT(ROOM), want = BUF_INIT(ROOM);
		struct error err = ERROR_INIT;
		struct http_header list[HEADERS];
		size_t count = rows[i].headers[0] ? read_headers(rows[i].headers, list) : 0;
		bool form = str_find(str_from(rows[i].headers), STR(FORM_SUM), 0) >= 0;
		const struct sigv4_request r = {rows[i].method, str_from(rows[i].path),
			str_from(rows[i].query), list, count + 2,
			form ? STR(FORM_SUM) : STR(NOTHING_SUM)};

		list[count] = (struct http_header){STR("Host"), STR(SUITE_HOST)};
		list[count + 1] = (struct http_header){STR("X-Amz-Date"), STR(SUITE_DATE)};
		(void)buf_printf(&want,
			"AWS4-HMAC-SHA256 Credential=" SUITE_ID
			"/20150830/us-east-1/service/aws4_request, SignedHeaders=%s, Signature=%s",
			rows[i].names, rows[i].signature);
		print_message("%s\n", rows[i].name);
		assert_ok(sigv4_put_authorization(&got, &r, &suite_scope, &suite_keys, &err), &err);
		assert_string_equal(got.data, want.data);
	}
}

static void writes_one_canonical_form(void **state)
{
	static const struct {
		const char *name, *path, *query, *headers, *want;
	} rows[] = {
		{"a model's colon, escaped on the way, is escaped again",
                 "/model/some.model-v1%3A0/converse",                                          NULL,         "Host:h",
                 "POST\n/model/some.model-v1%253A0/converse\n\nhost:h\n\nhost\nX"												  },
		{"dot segments above the root",                               "/../a/./b/../", NULL,         "Host:h",
                 "POST\n/a/\n\nhost:h\n\nhost\nX"																  },
		{"values of one name in order, a name without a value",       "/",
                 "b&a=2&a=1&&a=",									    "Host:h",                 "POST\n/\na=&a=1&a=2&b=\nhost:h\n\nhost\nX" },
		{"escapes in small letters, a percent sign that starts none", "/",             "k=%2f%zz%4",
                 "Host:h",													     "POST\n/\nk=%2F%25zz%254\nhost:h\n\nhost\nX"},
		{"an equals sign in a value, a plus that stays one",          "/",             "k=a=b+c",    "Host:h",
                 "POST\n/\nk=a%3Db%2Bc\nhost:h\n\nhost\nX"															 },
		{"blanks and tabs",					   "/",             NULL,         "HOST: \t h\t\nZ:a \t b",
                 "POST\n/\n\nhost:h\nz:a b\n\nhost;z\nX"															   },
		{"an empty value",					    "/",             NULL,         "Host:h\nA:",             "POST\n/\n\na:\nhost:h\n\na;host\nX"        },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf got = BUF_INIT(ROOM);
		struct error err = ERROR_INIT;
		struct http_header list[HEADERS];
		struct sigv4_request r = {"POST", str_from(rows[i].path), str_from(rows[i].query),
			list, read_headers(rows[i].headers, list), STR("X")};

		print_message("%s\n", rows[i].name);
		assert_ok(sigv4_put_canonical(&got, &r, &err), &err);
		assert_string_equal(got.data, rows[i].want);
	}
}

static void hashes_and_dates(void **state)
{
	const struct str pieces[] = {STR("Param1"), STR(""), STR("=value1")};
	char hex[SIGV4_HEX_SIZE], date[SIGV4_DATE_SIZE];

	(void)state;
	sigv4_hash(pieces, ARRAY_LEN(pieces), hex);
	assert_string_equal(hex, FORM_SUM);
	sigv4_hash(NULL, 0, hex);
	assert_string_equal(hex, NOTHING_SUM);
	sigv4_date(SUITE_TIME_S, date);
	assert_string_equal(date, SUITE_DATE);
	sigv4_date(INT64_MAX, date);
	assert_string_equal(date, "99991231T235959Z");
	sigv4_date(INT64_MIN, date);
	assert_string_equal(date, "00000101T000000Z");
}

static struct str header(const struct http_header *list, int count, const char *name)
{
	for (int i = 0; i < count; i++) {
		if (str_is(list[i].name, name))
			return list[i].value;
	}
	return (struct str){NULL, 0};
}

/* A call whole: each header it gets is signed, and the body only where it is asked for. */
static void signs_a_call(void **state)
{
	static const struct str body[] = {
		{"Param1",  6},
                {"=value1", 7}
        };
	static const struct {
		const char *name, *token, *hash, *names, *signature;
		bool unsigned_payload;
	} rows[] = {
		{"the body's sum",                       NULL,        FORM_SUM,
                 "content-type;host;x-amz-content-sha256;x-amz-date",                      "7d1c6a1cc499feb58e0b8fe402a3be8a8a64f6f0c86784151911323fd84ad073", false},
		{"the body left out, a session's token", SUITE_TOKEN, "UNSIGNED-PAYLOAD",
                 "content-type;host;x-amz-content-sha256;x-amz-date;x-amz-security-token", "b737f48df5f27b3e27d0a2d7b2fe88a70e331c4965d2dc0481e4adfed6fbe7f7", true },
	};
	const struct http_header type = {STR("Content-Type"), STR("application/json")};
	struct error err = ERROR_INIT;
	struct url url;

	(void)state;
	assert_ok(url_parse(STR("https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1/x"),
			  &url, &err),
		&err);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf text = BUF_INIT(64 * 1024), want = BUF_INIT(ROOM);
		const struct sigv4_call call = {
			"POST", &url, &type, 1, body, ARRAY_LEN(body), rows[i].unsigned_payload};
		struct sigv4_keys keys = suite_keys;
		struct http_header got[SIGV4_ADDED_MAX];
		int count;

		print_message("%s\n", rows[i].name);
		keys.token = str_from(rows[i].token);
		count = sigv4_sign(&call, &suite_scope, &keys, &text, got, &err);
		assert_int_equal(count, rows[i].token ? 4 : 3);
		assert_true(str_is(header(got, count, "x-amz-date"), SUITE_DATE));
		assert_true(str_is(header(got, count, "x-amz-content-sha256"), rows[i].hash));
		assert_true(str_eq(header(got, count, "x-amz-security-token"), keys.token));
		(void)buf_printf(&want,
			"AWS4-HMAC-SHA256 Credential=" SUITE_ID
			"/20150830/us-east-1/service/aws4_request, SignedHeaders=%s, Signature=%s",
			rows[i].names, rows[i].signature);
		assert_true(str_eq(header(got, count, "authorization"), buf_str(&want)));
		assert_true(str_find(buf_str(&text), STR(SUITE_SECRET), 0) < 0);
	}
}

static void refuses_what_cannot_be_signed(void **state)
{
	static const struct {
		const char *name, *id, *secret, *token, *region, *header;
	} rows[] = {
		{"no id",                     "",    "s", NULL,    "r",   "A:b"   },
		{"a slash in the id",         "a/b", "s", NULL,    "r",   "A:b"   },
		{"a line's end in the id",    "a\n", "s", NULL,    "r",   "A:b"   },
		{"no secret",                 "a",   "",  NULL,    "r",   "A:b"   },
		{"an empty token",            "a",   "s", "",      "r",   "A:b"   },
		{"a line's end in the token", "a",   "s", "t\r\n", "r",   "A:b"   },
		{"no region",                 "a",   "s", NULL,    "",    "A:b"   },
		{"a blank in the region",     "a",   "s", NULL,    "r s", "A:b"   },
		{"a header without a name",   "a",   "s", NULL,    "r",   ":b"    },
		{"a colon's like in a name",  "a",   "s", NULL,    "r",   "A;B:b" },
		{"a control in a value",      "a",   "s", NULL,    "r",   "A:b\rc"},
	};
	struct error err = ERROR_INIT;
	struct url url;

	(void)state;
	assert_ok(url_parse(STR("https://h/"), &url, &err), &err);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf text = BUF_INIT(64 * 1024);
		struct http_header list[HEADERS], got[SIGV4_ADDED_MAX];
		const struct sigv4_call call = {
			"GET", &url, list, read_headers(rows[i].header, list), NULL, 0, false};
		const struct sigv4_scope scope = {str_from(rows[i].region), STR("s"), 0};
		const struct sigv4_keys keys = {
			str_from(rows[i].id), str_from(rows[i].secret), str_from(rows[i].token)};

		print_message("%s\n", rows[i].name);
		assert_fails(
			sigv4_sign(&call, &scope, &keys, &text, got, &err), &err, SIGV4_INVALID);
	}
}

static void refuses_what_is_too_much(void **state)
{
	_cleanup_(buf) struct buf query = BUF_INIT(ROOM), long_key = BUF_INIT(ROOM);
	_cleanup_(buf) struct buf text = BUF_INIT(64 * 1024), small = BUF_INIT(100);
	struct http_header list[SIGV4_HEADERS_MAX + 1], got[SIGV4_ADDED_MAX];
	struct sigv4_request r = {"GET", STR("/"), STR(""), list, 1, STR("X")};
	struct sigv4_keys keys = suite_keys;
	struct error err = ERROR_INIT;
	struct url url;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(list); i++)
		list[i] = (struct http_header){STR("a"), STR("b")};
	for (size_t i = 0; i < SIGV4_PARAMETERS_MAX; i++)
		(void)buf_puts(&query, "a=b&");
	r.query = buf_str(&query);
	assert_ok(sigv4_put_canonical(&text, &r, &err), &err);
	(void)buf_puts(&query, "c");
	r.query = buf_str(&query);
	assert_fails(sigv4_put_canonical(&text, &r, &err), &err, SIGV4_INVALID);
	r.query = (struct str){NULL, 0};
	r.header_count = SIGV4_HEADERS_MAX;
	assert_ok(sigv4_put_canonical(&text, &r, &err), &err);
	r.header_count++;
	assert_fails(sigv4_put_canonical(&text, &r, &err), &err, SIGV4_INVALID);
	assert_ok(url_parse(STR("https://h/"), &url, &err), &err);
	const struct sigv4_call call = {"GET", &url, NULL, 0, NULL, 0, false};
	assert_fails(sigv4_sign(&call, &suite_scope, &suite_keys, &small, got, &err), &err,
		SIGV4_INVALID);
	for (size_t i = 0; i <= SIGV4_KEY_MAX_BYTES; i++)
		(void)buf_putc(&long_key, 'k');
	keys.secret = buf_str(&long_key);
	assert_fails(sigv4_sign(&call, &suite_scope, &keys, &text, got, &err), &err, SIGV4_INVALID);
	keys.secret.len--;
	assert_int_equal(sigv4_sign(&call, &suite_scope, &keys, &text, got, &err), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signs_as_the_published_suite),
		cmocka_unit_test(writes_one_canonical_form),
		cmocka_unit_test(hashes_and_dates),
		cmocka_unit_test(signs_a_call),
		cmocka_unit_test(refuses_what_cannot_be_signed),
		cmocka_unit_test(refuses_what_is_too_much),
	};

	return cmocka_run_group_tests_name("agent.sigv4", tests, NULL, NULL);
}
