/* server-sent events: line ends, joined data, names, comments, limits, whatever the pieces. */
#include "testing.h"
#include "model/model.h"

enum { FRAME_MAX = 64 };

static int note(void *arg, struct str name, struct str data, struct error *err)
{
	struct buf *tape = arg;

	(void)err;
	if (!data.p)
		return buf_puts(tape, "#;");
	return buf_printf(tape, STR_FMT "=" STR_FMT ";", STR_ARG(name), STR_ARG(data));
}

static int feed(struct str stream, size_t piece, struct buf *tape, struct error *err)
{
	struct model_sse *s = model_sse_new(FRAME_MAX);
	int rc = 0;

	for (size_t at = 0, n; rc == 0 && at < stream.len; at += n) {
		n = piece < stream.len - at ? piece : stream.len - at;
		rc = model_sse_feed(s, (struct str){stream.p + at, n}, note, tape, err);
	}
	if (rc == 0)
		rc = model_sse_end(s, note, tape, err);
	model_sse_free(s);
	return rc;
}

static void reads_events_whatever_the_pieces(void **state)
{
	static const struct {
		const char *name, *stream, *tape;
	} rows[] = {
		{"line feeds",                   "data: a\n\ndata: b\n\n",                         "message=a;message=b;"},
		{"both",			 "data: a\r\n\r\ndata: b\r\n\r\n",                 "message=a;message=b;"},
		{"returns",                      "data: a\r\rdata: b\r\r",                         "message=a;message=b;"},
		{"mixed",                        "data: a\r\n\ndata: b\n\r\ndata: c\r\n\r",
                 "message=a;message=b;message=c;"									},
		{"names",                        "event: x\ndata: a\n\ndata: b\n\n",               "x=a;message=b;"      },
		{"the last name counts",         "event: x\nevent: y\ndata: a\n\n",                "y=a;"                },
		{"no blank",                     "data:a\nevent:x\n\n",                            "x=a;"                },
		{"one blank only",               "data:  a\n\n",                                   "message= a;"         },
		{"lines joined",                 "data: a\ndata:\ndata: b\n\n",                    "message=a\n\nb;"     },
		{"a field alone",                "data\n\n",                                       "message=;"           },
		{"a name without data",          "event: x\n\ndata: a\n\n",                        "message=a;"          },
		{"comments",                     ": ping\n:\n\ndata: a\n: in between\n\n",         "#;#;#;message=a;"    },
		{"other fields",                 "id: 1\nretry: 5\nfoo: x\nfoo\ndata: a\n\n",      "message=a;"          },
		{"colons in data",               "data: a: b\n\n",                                 "message=a: b;"       },
		{"a mark at the start",
                 "\xef\xbb\xbf"
			"data: a\n\n",							     "message=a;"          },
		{"a mark elsewhere is no field",
                 "\n\xef\xbb\xbf"
			"data: a\n\n",							     ""                    },
		{"no blank line at the end",     "data: a\n",                                      "message=a;"          },
		{"no line end at the end",       "data: a",                                        "message=a;"          },
		{"characters",                   "data: \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\n\n",
                 "message=\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80;"                                                         },
		{"nothing",                      "",					       ""                    },
		{"blank lines",                  "\n\n\r\n\r\r\n",                                 ""                    },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t piece = 1; piece < 24; piece++) {
			_cleanup_(buf) struct buf tape = BUF_INIT(4096);
			struct error err = ERROR_INIT;

			assert_ok(feed(str_from(rows[i].stream), piece, &tape, &err), &err);
			if (!str_is(buf_str(&tape), rows[i].tape))
				fail_msg("%s, pieces of %zu: '%s'", rows[i].name, piece, tape.data);
		}
	}
}

static void refuses_what_is_too_long_or_no_text(void **state)
{
	static const struct {
		const char *name, *stream;
		const struct error_kind *kind;
		const char *before;
	} rows[] = {
		{"a long line",
                 "data: a\n\ndata: "
			"345678901234567890123456789012345678901234567890123456789012", &MODEL_LIMIT,  "message=a;"},
		{"many lines",
                 "data: a\n\ndata: 3456789012345678901234567890\ndata: 0123456789\n"
			"data: 0123456789\ndata: 0123456789\n\n",                       &MODEL_LIMIT,  "message=a;"},
		{"a broken character", "data: a\n\ndata: \xc3\x28\n\n",                 &MODEL_STREAM,
                 "message=a;"										      },
		{"a cut character",    "data: a\n\ndata: \xe2\x82",                     &MODEL_STREAM, "message=a;"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t piece = 1; piece < 100; piece++) {
			_cleanup_(buf) struct buf tape = BUF_INIT(4096);
			struct error err = ERROR_INIT;

			assert_fails(feed(str_from(rows[i].stream), piece, &tape, &err), &err,
				*rows[i].kind);
			assert_string_equal(tape.data, rows[i].before);
		}
	}
}

static int refuse(void *arg, struct str name, struct str data, struct error *err)
{
	(void)arg;
	(void)name;
	(void)data;
	return error_set(err, &ERROR_INVALID, "not this one");
}

static void hands_on_what_the_listener_says(void **state)
{
	struct model_sse *s = model_sse_new(FRAME_MAX);
	struct error err = ERROR_INIT;

	(void)state;
	assert_fails(
		model_sse_feed(s, STR("data: a\n\n"), refuse, NULL, &err), &err, ERROR_INVALID);
	model_sse_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_events_whatever_the_pieces),
		cmocka_unit_test(refuses_what_is_too_long_or_no_text),
		cmocka_unit_test(hands_on_what_the_listener_says),
	};

	return cmocka_run_group_tests_name("model sse", tests, NULL, NULL);
}
