/* authority: which hosts and ports are read, and that everything that could be taken for another
 * host is refused. */
#include "testing.h"
#include "url/url.h"

enum { LONG_BYTES = 600 };

static void hosts_and_ports(void **state)
{
	static const struct {
		const char *text, *host;
		enum url_host_form form;
		uint16_t port;
	} rows[] = {
		{"example.org",        "example.org",      URL_HOST_NAME, 0    },
		{"EXAMPLE.Org",        "example.org",      URL_HOST_NAME, 0    },
		{"example.org.",       "example.org.",     URL_HOST_NAME, 0    },
		{"example.org:443",    "example.org",      URL_HOST_NAME, 443  },
		{"example.org.:1",     "example.org.",     URL_HOST_NAME, 1    },
		{"h:65535",            "h",                URL_HOST_NAME, 65535},
		{"my_db-1",            "my_db-1",          URL_HOST_NAME, 0    },
		{"xn--bcher-kva.de",   "xn--bcher-kva.de", URL_HOST_NAME, 0    },
		{"a-.b",               "a-.b",             URL_HOST_NAME, 0    },
		{"1.2.3.4.nip.io",     "1.2.3.4.nip.io",   URL_HOST_NAME, 0    },
		{"0x7f.example",       "0x7f.example",     URL_HOST_NAME, 0    },
		{"127.0.0.1",          "127.0.0.1",        URL_HOST_IPV4, 0    },
		{"255.255.255.255:80", "255.255.255.255",  URL_HOST_IPV4, 80   },
		{"0.0.0.0",            "0.0.0.0",          URL_HOST_IPV4, 0    },
		{"[::1]",              "::1",              URL_HOST_IPV6, 0    },
		{"[::]:8080",          "::",               URL_HOST_IPV6, 8080 },
		{"[2001:DB8::A]",      "2001:db8::a",      URL_HOST_IPV6, 0    },
		{"[0:0:0:0:0:0:0:1]",  "0:0:0:0:0:0:0:1",  URL_HOST_IPV6, 0    },
		{"[::ffff:192.0.2.1]", "::ffff:192.0.2.1", URL_HOST_IPV6, 0    },
		{"[1:2:3:4:5:6:7::]",  "1:2:3:4:5:6:7::",  URL_HOST_IPV6, 0    },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct error err = ERROR_INIT;
		struct url_authority a;

		if (url_parse_authority(str_from(rows[i].text), &a, &err) < 0)
			fail_msg("'%s': %s", rows[i].text, err.text);
		if (strcmp(a.host, rows[i].host) != 0 || a.form != rows[i].form ||
			a.port != rows[i].port)
			fail_msg("'%s': %s, form %d, port %u", rows[i].text, a.host, (int)a.form,
				(unsigned)a.port);
	}
}

static void refusals(void **state)
{
	static const struct {
		const char *name, *text, *says;
	} rows[] = {
		{"nothing",                          "",                       "no host"},
		{"a port alone",                     ":80",                    "no host"},
		{"a user",			   "u@h",                    "user"   },
		{"a user and a password",            "u:p@h:1",                "user"   },
		{"a user before brackets",           "u@[::1]",                "user"   },
		{"an empty user",                    "@h",                     "user"   },
		{"two ports",                        "h:80:81",                "port"   },
		{"two ports after brackets",         "[::1]:80:81",            "port"   },
		{"a colon without a port",           "h:",                     "port"   },
		{"port 0",			   "h:0",                    "port"   },
		{"a port of leading zeros",          "h:0080",                 "port"   },
		{"a signed port",                    "h:+80",                  "port"   },
		{"port 65536",                       "h:65536",                "port"   },
		{"a port past 64 bits",              "h:18446744073709551697", "port"   },
		{"a port of letters",                "h:http",                 "port"   },
		{"a blank before the port",          "h: 80",                  "port"   },
		{"hexadecimal and short",            "0x7f.1",                 "IPv4"   },
		{"hexadecimal whole",                "0x7F000001",             "IPv4"   },
		{"a capital X",                      "0X7f000001",             "IPv4"   },
		{"hexadecimal without digits",       "0x",                     "IPv4"   },
		{"hexadecimal as the last label",    "a.0x1",                  "IPv4"   },
		{"a number",                         "2130706433",             "IPv4"   },
		{"two parts",                        "127.1",                  "IPv4"   },
		{"three parts",                      "127.0.1",                "IPv4"   },
		{"five parts",                       "127.0.0.0.1",            "IPv4"   },
		{"octal",			    "010.0.0.1",              "IPv4"   },
		{"a part of 256",                    "127.0.0.256",            "IPv4"   },
		{"a quad with a trailing dot",       "127.0.0.1.",             "IPv4"   },
		{"a name that ends in a number",     "example.1",              "IPv4"   },
		{"one that ends in a number dot",    "example.1.",             "IPv4"   },
		{"an empty label",                   "a..b",                   "label"  },
		{"a first empty label",              ".a",                     "label"  },
		{"two trailing dots",                "a..",                    "label"  },
		{"a dot",			    ".",                      "label"  },
		{"a label that starts with -",       "a.-b",                   "label"  },
		{"an option",                        "--proxy",                "label"  },
		{"a percent sign",                   "ex%61mple.org",          "byte"   },
		{"a blank",                          "a b",                    "byte"   },
		{"a blank in front",                 " a",                     "byte"   },
		{"a line feed",                      "a\n",                    "byte"   },
		{"a control",                        "a\x01",                  "byte"   },
		{"a byte past ASCII",
                 "b\xc3\xbc"
			"cher.de",					     "byte"   },
		{"a full stop of another script",
                 "a\xe3\x80\x82"
			"b",						   "byte"   },
		{"a backslash",                      "a\\b",                   "byte"   },
		{"a slash",                          "a/b",                    "byte"   },
		{"a query mark",                     "a?b",                    "byte"   },
		{"a comma",                          "a,b",                    "byte"   },
		{"an IPv6 address without brackets", "::1",                    "no host"},
		{"the same, longer",                 "2001:db8::1",            "IPv4"   },
		{"a name in brackets",               "[h]",                    "IPv6"   },
		{"an IPv4 address in brackets",      "[127.0.0.1]",            "IPv6"   },
		{"nothing in brackets",              "[]",                     "IPv6"   },
		{"an IPv6 zone",                     "[fe80::1%eth0]",         "zone"   },
		{"an escaped IPv6 zone",             "[fe80::1%25eth0]",       "zone"   },
		{"two gaps",                         "[1::2::3]",              "IPv6"   },
		{"nine groups",                      "[1:2:3:4:5:6:7:8:9]",    "IPv6"   },
		{"seven groups",                     "[1:2:3:4:5:6:7]",        "IPv6"   },
		{"a gap of nothing",                 "[1:2:3:4:5:6:7:8::]",    "IPv6"   },
		{"a group of five digits",           "[::12345]",              "IPv6"   },
		{"an odd quad in an IPv6 address",   "[::ffff:127.1]",         "IPv6"   },
		{"octal in an IPv6 address",         "[::ffff:0127.0.0.1]",    "IPv6"   },
		{"a future address",                 "[v1.fe80::a]",           "IPv6"   },
		{"brackets in brackets",             "[[::1]]",                "IPv6"   },
		{"an open bracket",                  "[::1",                   "closed" },
		{"a closed bracket",                 "h]",                     "byte"   },
		{"more behind the brackets",         "[::1]x",                 "port"   },
		{"something before the brackets",    "x[::1]",                 "byte"   },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct url_authority a = {.port = 7};
		struct error err = ERROR_INIT;

		if (url_parse_authority(str_from(rows[i].text), &a, &err) != -1)
			fail_msg("%s: '%s' was taken", rows[i].name, rows[i].text);
		if (!error_is(&err, &URL_INVALID) || !strstr(err.text, rows[i].says))
			fail_msg("%s: %s: %s", rows[i].name, error_code(&err), err.text);
		assert_int_equal(a.port, 7);
	}
}

static void a_nul_is_of_no_host(void **state)
{
	struct error err = ERROR_INIT;
	struct url_authority a;

	(void)state;
	assert_fails(url_parse_authority(STR("a\0b"), &a, &err), &err, URL_INVALID);
	assert_fails(url_parse_authority(STR("a\0"), &a, &err), &err, URL_INVALID);
	assert_fails(url_parse_authority(STR("[::1\0]"), &a, &err), &err, URL_INVALID);
	assert_fails(url_parse_authority(STR("h:8\0"), &a, &err), &err, URL_INVALID);
	assert_fails(url_parse_authority((struct str){NULL, 0}, &a, &err), &err, URL_INVALID);
}

/* `labels` labels of `each` bytes with dots between, then `tail`. */
static struct str make_name(char out[LONG_BYTES], size_t labels, size_t each, const char *tail)
{
	size_t len = 0;

	for (size_t i = 0; i < labels; i++) {
		if (i > 0)
			out[len++] = '.';
		memset(out + len, 'a', each);
		len += each;
	}
	memcpy(out + len, tail, strlen(tail));
	return (struct str){out, len + strlen(tail)};
}

static void lengths(void **state)
{
	char text[LONG_BYTES];
	struct error err = ERROR_INIT;
	struct url_authority a;

	(void)state;
	assert_ok(url_parse_authority(make_name(text, 1, 63, ""), &a, &err), &err);
	assert_fails(url_parse_authority(make_name(text, 1, 64, ""), &a, &err), &err, URL_INVALID);
	/* 3 * 64 + 61 = 253 */
	assert_ok(url_parse_authority(make_name(text, 3, 63,
					      "."
					      "aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd"
					      "eeeeeeeeeeffffffffffg"),
			  &a, &err),
		&err);
	assert_int_equal(strlen(a.host), URL_HOST_MAX_BYTES);
	assert_ok(url_parse_authority(make_name(text, 3, 63,
					      "."
					      "aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd"
					      "eeeeeeeeeeffffffffffg.:65535"),
			  &a, &err),
		&err);
	assert_int_equal(strlen(a.host), URL_HOST_MAX_BYTES + 1);
	assert_int_equal(a.port, 65535);
	assert_fails(url_parse_authority(make_name(text, 3, 63,
						 "."
						 "aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd"
						 "eeeeeeeeeeffffffffffgh"),
			     &a, &err),
		&err, URL_INVALID);
	assert_fails(url_parse_authority(make_name(text, 100, 4, ""), &a, &err), &err, URL_INVALID);
}

static void loopback(void **state)
{
	static const struct {
		const char *text;
		bool is;
	} rows[] = {
		{"localhost",             true },
		{"LOCALHOST:80",          true },
		{"localhost.",            false},
		{"a.localhost",           false},
		{"localhost.example.org", false},
		{"127.0.0.1",             true },
		{"127.255.1.2:9",         true },
		{"128.0.0.1",             false},
		{"12.7.0.1",              false},
		{"127.example.org",       false},
		{"[::1]",                 true },
		{"[0:0:0:0:0:0:0:1]:80",  true },
		{"[::]",                  false},
		{"[::ffff:127.0.0.1]",    false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct error err = ERROR_INIT;
		struct url_authority a;

		assert_ok(url_parse_authority(str_from(rows[i].text), &a, &err), &err);
		if (url_is_loopback(&a) != rows[i].is)
			fail_msg("'%s'", rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_and_ports),
		cmocka_unit_test(refusals),
		cmocka_unit_test(a_nul_is_of_no_host),
		cmocka_unit_test(lengths),
		cmocka_unit_test(loopback),
	};

	return cmocka_run_group_tests_name("url.authority", tests, NULL, NULL);
}
