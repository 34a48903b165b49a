/* body: chunks, lengths and what ends them; whole, byte by byte and in parts. */
#include "transcript.h"

#define CHUNKED "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
#define HEAD    "[POST / 1.1 chunked keep; Host=h; Transfer-Encoding=chunked]"

struct row {
	const char *name, *body, *wanted; /* after HEAD; '~' as transcript_check has it */
};

static void check(const struct row *row)
{
	_cleanup_(buf) struct buf stream = BUF_INIT(100000), wanted = BUF_INIT(100000);

	(void)buf_puts(&stream, CHUNKED);
	(void)buf_puts(&stream, row->body);
	(void)buf_puts(&wanted, row->wanted[0] == '~' ? "" : HEAD);
	(void)buf_puts(&wanted, row->wanted);
	transcript_check(row->name, HTTP_REQUESTS, NULL, buf_str(&stream), buf_str(&wanted).p);
}

static void chunks(void **state)
{
	static const struct row rows[] = {
		{"no chunk",                   "0\r\n\r\n",					    "."          },
		{"one",			"3\r\nabc\r\n0\r\n\r\n",                                "(abc)."     },
		{"two",			"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",                     "(abcde)."   },
		{"CRLF inside",                "4\r\n\r\n\r\n\r\n0\r\n\r\n",                           "(\r\n\r\n)."},
		{"hexadecimal in both cases",  "A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n",
                 "(01234567890123456789)."									  },
		{"8 digits",                   "00000001\r\na\r\n00000000\r\n\r\n",                    "(a)."       },
		{"an extension",               "1;a=b\r\nx\r\n0;c\r\n\r\n",                            "(x)."       },
		{"blanks before it",           "1 \t; a = \"b;c\"\r\nx\r\n0\r\n\r\n",                  "(x)."       },
		{"an empty extension",         "1;\r\nx\r\n0\r\n\r\n",                                 "(x)."       },
		{"trailers",                   "1\r\nx\r\n0\r\nX-A: b\r\nC:\r\n\r\n",                  "(x)."       },
		{"trailers that say a length", "0\r\nContent-Length: 5\r\nHost: x\r\n\r\n",            "."          },
		{"a message behind",           "1\r\nx\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: i\r\n\r\n",
                 "(x).[GET / 1.1 none keep; Host=i]."							       },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(&rows[i]);
}

static void refused_chunks(void **state)
{
	static const struct row rows[] = {
		{"0x",			    "0x1\r\na\r\n",
                 "!http_invalid: in a chunked body: a chunk's size is no plain "
			"hexadecimal number"										     },
		{"a plus sign",                   "+1\r\na\r\n",              "~!http_invalid: in a chunked body: a chunk's size"},
		{"a minus sign",                  "-1\r\na\r\n",              "~a chunk's size is no"                            },
		{"9 digits",                      "000000001\r\na\r\n",       "~a chunk's size of over 8 digits"                 },
		{"9 digits that wrap",            "100000001\r\na\r\n",       "~a chunk's size of over 8 digits"                 },
		{"no size",                       "\r\n",                     "~a chunk's size is no"                            },
		{"an extension without size",     ";a\r\n",                   "~a chunk's size is no"                            },
		{"a blank before the size",       " 1\r\na\r\n",              "~a chunk's size is no"                            },
		{"a blank behind the size",       "1 \r\na\r\n",              "~a chunk's size is no"                            },
		{"a blank inside the size",       "1 1\r\na\r\n",             "~a chunk's size is no"                            },
		{"no hexadecimal digit",          "g\r\n",                    "~a chunk's size is no"                            },
		{"an underscore",                 "1_0\r\n",                  "~a chunk's size is no"                            },
		{"a bare LF behind the size",     "1\na\r\n",                 "~a chunk's size is no"                            },
		{"a CR alone behind the size",    "1\ra\r\n",                 "~a CR without its LF"                             },
		{"two CRs behind the size",       "1\r\r\na\r\n",             "~a CR without its LF"                             },
		{"a bare LF behind an extension", "1;a\nx\r\n",               "~a chunk's extension has"                         },
		{"a control in an extension",     "1;\x01\r\n",               "~a chunk's extension has"                         },
		{"an extension past ASCII",       "1;\xc3\xa9\r\n",           "~a chunk's extension has"                         },
		{"more data than said",           "1\r\nab\r\n",              "~a chunk is longer than its size"                 },
		{"a bare LF behind the data",     "1\r\na\n0\r\n\r\n",
                 "~a chunk is longer than its size"									      },
		{"a CR alone behind the data",    "1\r\na\r0\r\n\r\n",        "~a CR without its LF"                             },
		{"a folded trailer",              "0\r\nA: b\r\n c\r\n\r\n",  "~a folded trailer"                                },
		{"a trailer without colon",       "0\r\nA\r\n\r\n",           "~a trailer's name"                                },
		{"a blank before its colon",      "0\r\nA : b\r\n\r\n",       "~a trailer's name"                                },
		{"a trailer without name",        "0\r\n: b\r\n\r\n",         "~a trailer's name"                                },
		{"a control in a trailer",        "0\r\nA: \x01\r\n\r\n",     "~a trailer's value"                               },
		{"a trailer past ASCII",          "0\r\nA: \xc3\xa9\r\n\r\n", "~a trailer's value"                               },
		{"a bare LF behind a trailer",    "0\r\nA: b\n\r\n",          "~a trailer's value"                               },
		{"a bare LF at the end",          "0\r\n\n",                  "~a trailer's name"                                },
		{"a CR alone at the end",         "0\r\n\rX",                 "~a CR without its LF"                             },
		{"a second message at once",      "0\r\nGET / HTTP/1.1\r\n",  "~a trailer's name"                                },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(&rows[i]);
}

static void what_a_response_may_have(void **state)
{
	(void)state;
	transcript_check("obs-text", HTTP_RESPONSES, NULL,
		STR("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		    "1;\xe9\r\na\r\n0\r\nA: \xe9\r\n\r\n"),
		"[200 OK 1.1 chunked keep; Transfer-Encoding=chunked](a).");
	transcript_check("a NUL", HTTP_RESPONSES, NULL,
		STR("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;\0\r\n"),
		"~a chunk's extension has");
}

static void cut_streams(void **state)
{
	static const char length[] = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n";
	static const struct {
		const char *name, *start, *text, *wanted;
	} rows[] = {
		{"nothing",                  "",      "",                              ""						 },
		{"an empty line",            "",      "\r\n",                          ""						 },
		{"half of one",              "",      "\r",                            "!http_cut: the peer ended inside a head"          },
		{"one byte",                 "",      "G",                             "!http_cut: the peer ended inside a head"          },
		{"no end of the head",       "",      "GET / HTTP/1.1\r\nHost: h\r\n", "~!http_cut: "                                     },
		{"no body",                  length,  "",
                 "~!http_cut: the peer ended 5 bytes before the end of a body"                                                            },
		{"4 of 5",                   length,  "abcd",                          "~](abcd)!http_cut: the peer ended 1 bytes before" },
		{"5 of 5",                   length,  "abcde",                         "~](abcde)."                                       },
		{"6 of 5",                   length,  "abcdeG",                        "~](abcde).!http_cut: the peer ended inside a head"},
		{"no chunk",                 CHUNKED, "",                              "~!http_cut: the peer ended inside a chunked body" },
		{"half a chunk",             CHUNKED, "4\r\nab",                       "~](ab)!http_cut: "                                },
		{"no last chunk",            CHUNKED, "2\r\nab\r\n",                   "~](ab)!http_cut: "                                },
		{"no end of the last chunk", CHUNKED, "0\r\n",                         "~]!http_cut: "                                    },
		{"half of it",               CHUNKED, "0\r\n\r",                       "~]!http_cut: "                                    },
		{"in a trailer",             CHUNKED, "0\r\nA: b\r\n",                 "~]!http_cut: "                                    },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf stream = BUF_INIT(1000);

		(void)buf_puts(&stream, rows[i].start);
		(void)buf_puts(&stream, rows[i].text);
		transcript_check(
			rows[i].name, HTTP_REQUESTS, NULL, buf_str(&stream), rows[i].wanted);
	}
	transcript_check("after an interim response", HTTP_RESPONSES, NULL,
		STR("HTTP/1.1 100 Continue\r\n\r\n"), "!http_cut: the peer ended inside a head");
}

static void raw_bytes_are_left(void **state)
{
	static const struct {
		const char *expect, *text, *wanted;
	} rows[] = {
		{"GET",     "HTTP/1.1 101 Go\r\n\r\nHTTP/1.1 raw\n",
                 "[101 Go 1.1 none close upgrade].{HTTP/1.1 raw\n}"},
		{"CONNECT", "HTTP/1.1 200 Go\r\n\r\n\x16\x03",
                 "[200 Go 1.1 none close upgrade].{\x16\x03}"      },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(mem) char *said = transcript_of(
			HTTP_RESPONSES, rows[i].expect, str_from(rows[i].text), 0);

		assert_string_equal(said, rows[i].wanted);
	}
}

static void repeat(struct buf *to, const char *text, size_t count)
{
	for (size_t i = 0; i < count; i++)
		(void)buf_puts(to, text);
}

static void limits(void **state)
{
	static const struct {
		const char *name, *before, *each, *after, *wanted;
		size_t count; /* of each that may be */
	} rows[] = {
		{"one extension",   "1;",                "a",              "\r\nx\r\n0\r\n\r\n",
                 "~!http_limit: chunk extensions of over 4096", 4095     },
		{"many extensions", "",                  "1;abc\r\nx\r\n", "0\r\n\r\n",
                 "~!http_limit: chunk extensions of",           1024     },
		{"blanks",          "1;",                " ",              "\r\nx\r\n0\r\n\r\n",
                 "~!http_limit: chunk extensions of over",      4095     },
		{"trailers",        "1\r\nx\r\n0\r\n",   "A: b\r\n",       "\r\n",
                 "~!http_limit: over 100 trailers",             100      },
		{"one trailer",     "1\r\nx\r\n0\r\nA:", "a",              "\r\n\r\n",
                 "~!http_limit: trailers of over 65536 bytes",  65536 - 4},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t over = 0; over < 2; over++) {
			_cleanup_(buf) struct buf stream = BUF_INIT(200000);

			(void)buf_puts(&stream, CHUNKED);
			(void)buf_puts(&stream, rows[i].before);
			repeat(&stream, rows[i].each, rows[i].count + over);
			(void)buf_puts(&stream, rows[i].after);
			transcript_check(rows[i].name, HTTP_REQUESTS, NULL, buf_str(&stream),
				over ? rows[i].wanted : "~x).");
		}
	}
}

static void the_largest_chunk(void **state)
{
	struct http_reader *r = http_reader_new(HTTP_REQUESTS);
	struct str in = STR(CHUNKED "ffffffff\r\n"), body = {NULL, 0};
	static char data[1 << 20];
	uint64_t left = 0xffffffff;
	int event = HTTP_MORE;

	(void)state;
	assert_int_equal(http_read(r, &in, &body, NULL), HTTP_HEAD);
	assert_int_equal(http_read(r, &in, &body, NULL), HTTP_MORE);
	while (left > 0) {
		in = (struct str){data, left < sizeof(data) ? (size_t)left : sizeof(data)};
		event = http_read(r, &in, &body, NULL);
		assert_int_equal(event, HTTP_BODY);
		assert_ptr_equal(body.p, data); /* nothing is copied */
		left -= body.len;
	}
	in = STR("\r\n0\r\n\r\n");
	assert_int_equal(http_read(r, &in, &body, NULL), HTTP_END);
	http_reader_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks),
		cmocka_unit_test(refused_chunks),
		cmocka_unit_test(what_a_response_may_have),
		cmocka_unit_test(cut_streams),
		cmocka_unit_test(raw_bytes_are_left),
		cmocka_unit_test(limits),
		cmocka_unit_test(the_largest_chunk),
	};

	return cmocka_run_group_tests_name("http.body", tests, NULL, NULL);
}
