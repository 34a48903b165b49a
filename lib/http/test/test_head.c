/* head: what a head says, and every way in which one is refused; whole, byte by byte and in parts.
 */
#include "transcript.h"

#define HOST "Host: h\r\n"
#define GET  "GET / HTTP/1.1\r\n"
#define POST GET HOST
#define OK   "HTTP/1.1 200 OK\r\n"
#define END  "\r\n"

struct row {
	const char *name, *text, *wanted;
};

static void check(enum http_side side, const char *expect, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		transcript_check(
			rows[i].name, side, expect, str_from(rows[i].text), rows[i].wanted);
}

static void requests(void **state)
{
	static const struct row rows[] = {
		{"the shortest",              GET HOST END,                                     "[GET / 1.1 none keep; Host=h]." },
		{"an empty Host",             GET "Host:\r\n" END,                              "[GET / 1.1 none keep; Host=]."  },
		{"any case",                  GET "hOsT:h\r\n" END,                             "[GET / 1.1 none keep; hOsT=h]." },
		{"blanks around a value",     GET HOST "X: \t a b\t \r\n" END,
                 "[GET / 1.1 none keep; Host=h; X=a b]."									 },
		{"a value with colons",       GET HOST "X:a:b: c\r\n" END,
                 "[GET / 1.1 none keep; Host=h; X=a:b: c]."								      },
		{"a header twice",            GET HOST "X: 1\r\nx: 2\r\n" END,
                 "[GET / 1.1 none keep; Host=h; X=1; x=2]."								      },
		{"an empty line before",      "\r\n" GET HOST END,                              "[GET / 1.1 none keep; Host=h]." },
		{"an empty line before each", "\r\n" GET HOST END "\r\n" GET HOST END,
                 "[GET / 1.1 none keep; Host=h].[GET / 1.1 none keep; Host=h]."                                                  },
		{"an absolute target",        "GET http://h:1/a?b HTTP/1.1\r\n" HOST END,
                 "[GET http://h:1/a?b 1.1 none keep; Host=h]."                                                                   },
		{"all of a server",           "OPTIONS * HTTP/1.1\r\n" HOST END,
                 "[OPTIONS * 1.1 none keep; Host=h]."									    },
		{"a tunnel",                  "CONNECT h:443 HTTP/1.1\r\n" HOST END,
                 "[CONNECT h:443 1.1 none keep; Host=h]."									},
		{"a method of its own",       "M-SEARCH!#$%&'*+.^_`|~ / HTTP/1.1\r\n" HOST END,
                 "~[M-SEARCH!#$%&'*+.^_`|~ / "										   },
		{"two at once",               GET HOST END GET "Host: i\r\n" END,
                 "[GET / 1.1 none keep; Host=h].[GET / 1.1 none keep; Host=i]."                                                  },
		{"an old one",                "GET / HTTP/1.0\r\n" HOST END,                    "[GET / 1.0 none close; Host=h]."},
		{"an old one that stays",
                 "GET / HTTP/1.0\r\n" HOST "Connection: Keep-Alive\r\n" END,
                 "~ 1.0 none keep;"											      },
		{"one that goes",             GET HOST "Connection: a, Close\r\n" END,          "~ 1.1 none close;"              },
		{"one that goes and stays",   GET HOST "Connection: keep-alive, close\r\n" END,
                 "~ 1.1 none close;"											     },
		{"no token of close",         GET HOST "Connection: closed\r\n" END,            "~ 1.1 none keep;"               },
		{"an upgrade asked for",      GET HOST "Upgrade: websocket\r\n" END,
                 "~ none keep; Host"											     },
	};

	(void)state;
	check(HTTP_REQUESTS, NULL, rows, ARRAY_LEN(rows));
}

static void refused_request_lines(void **state)
{
	static const struct row rows[] = {
		{"two empty lines before",    "\r\n\r\n" GET HOST END,            "~line 1: an empty line"      },
		{"no version",                "GET /\r\n",
                 "!http_invalid: line 1: no request line of method, "
			"target and version"								    },
		{"no target",                 "GET HTTP/1.1\r\n",                 "~line 1: no request line"    },
		{"no method",                 " / HTTP/1.1\r\n",                  "~line 1: the method"         },
		{"two blanks",                "GET  / HTTP/1.1\r\n",              "~line 1: no request line"    },
		{"a tab",                     "GET\t/ HTTP/1.1\r\n",              "~line 1: no request line"    },
		{"a blank at the end",        "GET / HTTP/1.1 \r\n",              "~line 1: no request line"    },
		{"a blank in the target",     "GET /a b HTTP/1.1\r\n",            "~line 1: no request line"    },
		{"a fourth word",             "GET / HTTP/1.1 x\r\n",             "~line 1: no request line"    },
		{"HTTP/0.9",                  "GET / HTTP/0.9\r\n",               "~line 1: the version"        },
		{"HTTP/1.2",                  "GET / HTTP/1.2\r\n",               "~line 1: the version"        },
		{"HTTP/2",                    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "~line 1: the version"        },
		{"HTTP/1",                    "GET / HTTP/1\r\n",                 "~line 1: the version"        },
		{"HTTP/1.10",                 "GET / HTTP/1.10\r\n",              "~line 1: the version"        },
		{"HTTP/01.1",                 "GET / HTTP/01.1\r\n",              "~line 1: the version"        },
		{"http in lower case",        "GET / http/1.1\r\n",               "~line 1: the version"        },
		{"another protocol",          "GET / ICY/1.1\r\n",                "~line 1: the version"        },
		{"a method that is no token", "G(T / HTTP/1.1\r\n",               "~line 1: the method"         },
		{"a method past ASCII",       "G\xc3\x89T / HTTP/1.1\r\n",        "~line 1: the method"         },
		{"a relative target",         "GET a/b HTTP/1.1\r\n",             "~line 1: the request target" },
		{"a target without scheme",   "GET ://a HTTP/1.1\r\n",            "~line 1: the request target" },
		{"* of another method",       "GET * HTTP/1.1\r\n",               "~line 1: the request target" },
		{"a tunnel to a path",        "CONNECT / HTTP/1.1\r\n",           "~line 1: the request target" },
		{"a fragment",                "GET /a#b HTTP/1.1\r\n",            "~line 1: the request target" },
		{"a target past ASCII",       "GET /\xc3\xa9 HTTP/1.1\r\n",
                 "~line 1: the request target"								  },
		{"a control in the target",   "GET /\x01 HTTP/1.1\r\n",
                 "~line 1: the request target"								  },
		{"a CR in the target",        "GET /\r HTTP/1.1\r\n",             "~line 1: the request target" },
		{"a bare LF",                 "GET / HTTP/1.1\n" HOST END,        "~line 1: a LF without its CR"},
		{"a response",                OK END,                             "~line 1: "                   },
		{"TLS",                       "\x16\x03\x01\n",                   "~line 1: "                   },
	};

	(void)state;
	check(HTTP_REQUESTS, NULL, rows, ARRAY_LEN(rows));
}

static void refused_headers(void **state)
{
	static const struct row rows[] = {
		{"no Host",                  GET "X: y\r\n" END,                                    "!http_invalid: no Host in the head"},
		{"no headers",               GET END,					       "~no Host"                          },
		{"no Host in HTTP/1.0",      "GET / HTTP/1.0\r\n" END,                              "~no Host"                          },
		{"two Hosts",                GET HOST "host: h\r\n" END,                            "~line 3: a second Host"            },
		{"a bare LF",                GET "Host: h\n" END,                                   "~line 2: a LF without its CR"      },
		{"a bare LF at the end",     GET HOST "\n",                                         "~line 3: a LF without its CR"      },
		{"a bare CR in a value",     GET "X: a\rb\r\n" END,                                 "~line 2: a header's value"         },
		{"two CRs",                  GET "X: a\r\r\n" END,                                  "~line 2: a header's value"         },
		{"a folded header",          GET HOST " more\r\n" END,                              "~line 3: a folded header"          },
		{"one folded by a tab",      GET HOST "\tmore\r\n" END,                             "~line 3: a folded header"          },
		{"one folded at once",       GET " Host: h\r\n" END,                                "~line 2: a folded header"          },
		{"a line of blanks",         GET HOST "  \r\n" END,                                 "~line 3: a folded header"          },
		{"a blank before the colon", GET "Host : h\r\n" END,
                 "~line 2: a blank before the colon"										    },
		{"a tab before the colon",   GET "Host\t: h\r\n" END,
                 "~line 2: a blank before the colon"										    },
		{"a blank in a name",        GET "A B: c\r\n" END,                                  "~line 2: a header's name"          },
		{"no name",                  GET ": c\r\n" END,                                     "~line 2: a header's name"          },
		{"no colon",                 GET "Host\r\n" END,                                    "~line 2: a header without a colon" },
		{"a name that is no token",  GET "A/B: c\r\n" END,                                  "~line 2: a header's name"          },
		{"a name past ASCII",        GET "\xc3\x89: c\r\n" END,                             "~line 2: a header's name"          },
		{"a control in a name",      GET "A\x01: c\r\n" END,                                "~line 2: a header's name"          },
		{"a control in a value",     GET "A: \x1b[2J\r\n" END,                              "~line 2: a header's value"         },
		{"a delete in a value",      GET "A: \x7f\r\n" END,                                 "~line 2: a header's value"         },
		{"a value past ASCII",       GET "A: \xc3\xa9\r\n" END,                             "~line 2: a header's value"         },
		{"length and coding",
                 POST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n" END,
                 "~line 4: Content-Length with Transfer-Encoding"                                                                       },
		{"coding and length",
                 POST "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n" END,
                 "~line 4: Content-Length with Transfer-Encoding"                                                                       },
		{"two lengths",              POST "Content-Length: 1\r\nContent-Length: 2\r\n" END,
                 "~line 4: a second Content-Length"										     },
		{"one length twice",         POST "Content-Length: 1\r\nContent-length: 1\r\n" END,
                 "~line 4: a second Content-Length"										     },
		{"lengths in a list",        POST "Content-Length: 1, 1\r\n" END,
                 "~line 3: the Content-L"											       },
		{"a plus sign",              POST "Content-Length: +1\r\n" END,                     "~line 3: the Content-Length"       },
		{"a minus sign",             POST "Content-Length: -1\r\n" END,                     "~line 3: the Content-Length"       },
		{"hexadecimal",              POST "Content-Length: 0x1\r\n" END,                    "~line 3: the Content-Length"       },
		{"a leading zero",           POST "Content-Length: 010\r\n" END,
                 "~line 3: the Content-Length"											  },
		{"an empty length",          POST "Content-Length:\r\n" END,                        "~line 3: the Content-Length"       },
		{"a length with a blank",    POST "Content-Length: 1 2\r\n" END,
                 "~3: the Content-Length"											       },
		{"a length past 63 bits",    POST "Content-Length: 9223372036854775808\r\n" END,
                 "~!http_limit: line 3: a Content-Length of over 9223372036854775807"                                                   },
		{"a length past 64 bits",    POST "Content-Length: 18446744073709551617\r\n" END,
                 "~!http_limit: line 3: a Content-Length"									       },
		{"gzip",                     POST "Transfer-Encoding: gzip\r\n" END,
                 "~line 3: a Transfer-Encoding other"										   },
		{"identity",                 POST "Transfer-Encoding: identity\r\n" END,            "~line 3: a Transfer-Enc"           },
		{"gzip, chunked",            POST "Transfer-Encoding: gzip, chunked\r\n" END,
                 "~3: a Transfer"												       },
		{"chunked, chunked",         POST "Transfer-Encoding: chunked, chunked\r\n" END,
                 "~line 3: a Transfer-Encoding other than chunked"                                                                      },
		{"chunked twice",
                 POST "Transfer-Encoding: chunked\r\ntransfer-encoding: chunked\r\n" END,
                 "~line 4: a second Transfer-Encoding"										  },
		{"chunked with a parameter", POST "Transfer-Encoding: chunked;a=b\r\n" END,
                 "~3: a Tra"													    },
		{"quoted chunked",           POST "Transfer-Encoding: \"chunked\"\r\n" END,
                 "~3: a Transfer-Enc"												   },
		{"xchunked",                 POST "Transfer-Encoding: xchunked\r\n" END,
                 "~line 3: a Transfer-Encoding"											 },
		{"chunked in HTTP/1.0",
                 "POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n" END,
                 "~!http_invalid: Transfer-Encoding in HTTP/1.0"									},
	};

	(void)state;
	check(HTTP_REQUESTS, NULL, rows, ARRAY_LEN(rows));
}

static void a_nul_is_refused_everywhere(void **state)
{
	(void)state;
	transcript_check("in the method", HTTP_REQUESTS, NULL, STR("G\0T / HTTP/1.1\r\n"),
		"~line 1: the method");
	transcript_check("in the target", HTTP_REQUESTS, NULL, STR("GET /\0 HTTP/1.1\r\n"),
		"~line 1: the request target");
	transcript_check("behind the version", HTTP_REQUESTS, NULL, STR("GET / HTTP/1.1\0\r\n"),
		"~line 1: the version");
	transcript_check(
		"in a name", HTTP_REQUESTS, NULL, STR(GET "A\0: b\r\n"), "~line 2: a header's");
	transcript_check(
		"in a value", HTTP_REQUESTS, NULL, STR(GET "A: \0\r\n"), "~line 2: a header's");
	transcript_check("in the reason", HTTP_RESPONSES, NULL, STR("HTTP/1.1 200 \0\r\n"),
		"~line 1: a control character in the reason");
	transcript_check("in a response's value", HTTP_RESPONSES, NULL, STR(OK "A: \0\r\n"),
		"~line 2: a header's value");
}

static void responses(void **state)
{
	static const struct row rows[] = {
		{"one of no length",               OK END "abc",                                         "[200 OK 1.1 until end close](abc)."},
		{"one of no bytes",                OK END,					       "[200 OK 1.1 until end close]."     },
		{"one of a length",                OK "Content-Length: 3\r\n" END "abc",
                 "[200 OK 1.1 length 3 keep; Content-Length=3](abc)."                                                                        },
		{"an empty one",                   OK "Content-Length: 0\r\n" END,
                 "~1.1 length 0 keep; Content-Length=0]."										    },
		{"chunked in any case",
                 OK "Transfer-Encoding: Chunked\r\n" END "1\r\na\r\n0\r\n\r\n",
                 "[200 OK 1.1 chunked keep; Transfer-Encoding=Chunked](a)."                                                                  },
		{"no reason",                      "HTTP/1.1 404 \r\nContent-Length: 0\r\n" END,
                 "~[404  1.1 length 0 keep"												  },
		{"not even its blank",             "HTTP/1.1 404\r\nContent-Length: 0\r\n" END,
                 "~[404  1.1 length"													 },
		{"a long reason",                  "HTTP/1.1 599 so it is\r\nContent-Length: 0\r\n" END,
                 "~[599 so it is "													   },
		{"a reason past ASCII",            "HTTP/1.1 200 \xc3\xa9\r\nContent-Length: 0\r\n" END,
                 "~[200 \xc3\xa9 "													   },
		{"a value past ASCII",             OK "X: \xc3\xa9\xff\r\n" END,                         "~X=\xc3\xa9\xff]."                 },
		{"204 with a length",              "HTTP/1.1 204 No\r\nContent-Length: 3\r\n" END,
                 "[204 No 1.1 none keep; Content-Length=3]."										 },
		{"304 with a length",              "HTTP/1.1 304 No\r\nContent-Length: 3\r\n" END,
                 "~1.1 none keep; C"													 },
		{"304 and another",                "HTTP/1.1 304 No\r\n\r\nHTTP/1.1 204 No\r\n" END,
                 "[304 No 1.1 none keep].[204 No 1.1 none keep]."									    },
		{"one of HTTP/1.0",                "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n" END "a",
                 "[200 OK 1.0 length 1 close; Content-Length=1](a)."                                                                         },
		{"one of HTTP/1.0 that stays",
                 "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n" END
			"a",									     "~[200 OK 1.0 length 1 keep; "      },
		{"one without length cannot stay", OK "Connection: keep-alive\r\n" END "a",
                 "~until end close"													  },
		{"no Host is asked for",           OK "Host: a\r\nHost: b\r\nContent-Length: 0\r\n" END,
                 "~Host=b"														   },
		{"100 before it",
                 "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: a\r\n" END
			"HTTP/1.1 204 No\r\n" END,
                 "[204 No 1.1 none keep]."												   },
		{"101",			    "HTTP/1.1 101 Go\r\nUpgrade: x\r\n" END,
                 "[101 Go 1.1 none close upgrade; Upgrade=x]."									       },
		{"2xx to a GET",                   "HTTP/1.1 299 Yes\r\nContent-Length: 0\r\n" END,
                 "~[299 Yes 1.1 length 0 keep;"											      },
	};

	(void)state;
	check(HTTP_RESPONSES, NULL, rows, ARRAY_LEN(rows));
	check(HTTP_RESPONSES, "GET", rows, ARRAY_LEN(rows));
}

static void responses_by_their_request(void **state)
{
	static const struct row heads[] = {
		{"a length", OK "Content-Length: 3\r\n" END,
                 "[200 OK 1.1 none keep; Content-Length=3]."                                    },
		{"chunked",  OK "Transfer-Encoding: chunked\r\n" END, "~[200 OK 1.1 none keep; "},
		{"neither",  OK END,                                  "[200 OK 1.1 none keep]." },
	};
	static const struct row tunnels[] = {
		{"200",               OK END,					       "[200 OK 1.1 none close upgrade]."},
		{"299 with a length", "HTTP/1.1 299 Y\r\nContent-Length: 3\r\n" END,
                 "~none close upgrade; "										      },
		{"407",               "HTTP/1.1 407 No\r\nContent-Length: 3\r\n" END "abc",
                 "~length 3 keep; Content-Length=3](abc)."								    },
		{"300",               "HTTP/1.1 300 No\r\nContent-Length: 0\r\n" END,       "~length 0 keep; "                },
	};

	(void)state;
	check(HTTP_RESPONSES, "HEAD", heads, ARRAY_LEN(heads));
	check(HTTP_RESPONSES, "CONNECT", tunnels, ARRAY_LEN(tunnels));
}

static void refused_responses(void **state)
{
	static const struct row rows[] = {
		{"an empty line before",       "\r\n" OK END,                                                "~line 1: an empty line"   },
		{"HTTP/2",                     "HTTP/2 200 OK\r\n",                                          "~line 1: no status line"  },
		{"HTTP/1.2",                   "HTTP/1.2 200 OK\r\n",                                        "~line 1: no status line"  },
		{"another protocol",           "SSH-2.0-x\r\n",                                              "~line 1: no status line"  },
		{"no status",                  "HTTP/1.1\r\n",					       "~line 1: the status"      },
		{"an empty status",            "HTTP/1.1 \r\n",                                              "~line 1: the status"      },
		{"two blanks",                 "HTTP/1.1  200 OK\r\n",                                       "~line 1: the status"      },
		{"status 99",                  "HTTP/1.1 99 x\r\n",                                          "~line 1: the status"      },
		{"status 600",                 "HTTP/1.1 600 x\r\n",                                         "~line 1: the status"      },
		{"status 0200",                "HTTP/1.1 0200 x\r\n",                                        "~line 1: the status"      },
		{"status -200",                "HTTP/1.1 -200 x\r\n",                                        "~line 1: the status"      },
		{"status 2x0",                 "HTTP/1.1 2x0 x\r\n",                                         "~line 1: the status"      },
		{"a control in the reason",    "HTTP/1.1 200 \x1b\r\n",                                      "~line 1: a control"       },
		{"a bare LF",                  "HTTP/1.1 200 OK\n",                                          "~line 1: a LF"            },
		{"a folded header",            OK "A: b\r\n c\r\n" END,                                      "~line 3: a folded header" },
		{"a control in a value",       OK "A: \x01\r\n" END,                                         "~line 2: a header's value"},
		{"length and coding",          OK "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n" END,
                 "~line 3: Content-Length with"											 },
		{"one length twice",           OK "Content-Length: 1\r\nContent-Length: 1\r\n" END,
                 "~a second Con"													},
		{"gzip, chunked",              OK "Transfer-Encoding: gzip, chunked\r\n" END,
                 "~line 2: a Transfer-"												 },
		{"chunked in HTTP/1.0",        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n" END,
                 "~Transfer-Encoding in HTTP/1.0"										       },
		{"a second one that is wrong", "HTTP/1.1 204 a\r\n\r\nHTTP/1.1 x\r\n",
                 "[204 a 1.1 none keep].!http_invalid: line 1: the status is not 100 to "
			"599"													   },
	};

	(void)state;
	check(HTTP_RESPONSES, NULL, rows, ARRAY_LEN(rows));
}

static void put_many(struct buf *to, char c, size_t count)
{
	for (size_t i = 0; i < count; i++)
		(void)buf_putc(to, c);
}

static void start_lines_at_their_limit(void **state)
{
	for (size_t over = 0; over < 2; over++) {
		_cleanup_(buf) struct buf b = BUF_INIT(100000);

		(void)buf_puts(&b, "GET /");
		put_many(&b, 'a', HTTP_START_LINE_MAX_BYTES - strlen("GET / HTTP/1.1") + over);
		(void)buf_puts(&b, " HTTP/1.1\r\n" HOST END);
		transcript_check(over ? "over" : "at", HTTP_REQUESTS, NULL, buf_str(&b),
			over ? "!http_limit: a start line of over 8320 bytes"
			     : "~ 1.1 none keep; Host=h].");
	}
	(void)state;
}

static void heads_at_their_limit(void **state)
{
	static const char start[] = GET HOST "X: ";

	for (size_t over = 0; over < 2; over++) {
		_cleanup_(buf) struct buf b = BUF_INIT(100000);

		(void)buf_puts(&b, start);
		put_many(&b, 'a', HTTP_HEAD_MAX_BYTES - strlen(start) - strlen("\r\n\r\n") + over);
		(void)buf_puts(&b, "\r\n\r\n");
		transcript_check(over ? "over" : "at", HTTP_REQUESTS, NULL, buf_str(&b),
			over ? "!http_limit: a head of over 65536 bytes" : "~aaa].");
	}
	(void)state;
}

static void as_many_headers_as_may_be(void **state)
{
	for (size_t over = 0; over < 2; over++) {
		_cleanup_(buf) struct buf b = BUF_INIT(100000);

		(void)buf_puts(&b, GET HOST);
		for (size_t i = 1; i < HTTP_HEADERS_MAX + over; i++)
			(void)buf_puts(&b, "X: y\r\n");
		(void)buf_puts(&b, END);
		transcript_check(over ? "over" : "at", HTTP_REQUESTS, NULL, buf_str(&b),
			over ? "!http_limit: line 102: over 100 headers" : "~X=y].");
	}
	(void)state;
}

static void not_for_ever_interim(void **state)
{
	for (size_t over = 0; over < 2; over++) {
		_cleanup_(buf) struct buf b = BUF_INIT(100000);

		for (size_t i = 0; i < 100 + over; i++)
			(void)buf_puts(&b, "HTTP/1.1 102 Wait\r\n\r\n");
		(void)buf_puts(&b, "HTTP/1.1 204 No\r\n\r\n");
		transcript_check(over ? "over" : "at", HTTP_RESPONSES, NULL, buf_str(&b),
			over ? "!http_limit: over 100 interim responses"
			     : "[204 No 1.1 none keep].");
	}
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests),
		cmocka_unit_test(refused_request_lines),
		cmocka_unit_test(refused_headers),
		cmocka_unit_test(a_nul_is_refused_everywhere),
		cmocka_unit_test(responses),
		cmocka_unit_test(responses_by_their_request),
		cmocka_unit_test(refused_responses),
		cmocka_unit_test(start_lines_at_their_limit),
		cmocka_unit_test(heads_at_their_limit),
		cmocka_unit_test(as_many_headers_as_may_be),
		cmocka_unit_test(not_for_ever_interim),
	};

	return cmocka_run_group_tests_name("http.head", tests, NULL, NULL);
}
