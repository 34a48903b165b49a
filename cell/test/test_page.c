/* Pages as text. */
#include "../reading.h"
#include "clock/clock.h"
#include "testing.h"

enum {
	MIB = 1024 * 1024,
	AGAIN_BYTES = 256 * 1024,
	PAGE_MS = 5000, /* twenty times what the slowest takes; what is not linear takes minutes */
};

static int read_it(struct str html, struct reading *r)
{
	const struct request q = {
		.input = html, .url = STR("http://h.test/d/p?q"), .unpack_max_bytes = 4 * MIB};

	reading_init(r, 4 * MIB);
	return read_html(&q, r);
}

static const struct {
	const char *name, *html, *text;
} rows[] = {
	{"paragraphs",                      "<p>one<p>two</p>three",							 "one\n\ntwo\n\nthree"      },
	{"blanks",			  "  a \n\t b<b> c</b>d ",							 "a b cd"                   },
	{"nbsp",			    "a&nbsp;&nbsp;b",								"a b"                      },
	{"breaks",			  "a<br>b<br><br>c<br><br><br><br>d</br>e",                                        "a\nb\n\nc\n\nd\ne"        },
	{"lines",			   "<div>a</div><div>b<div>c</div></div>d",                                         "a\nb\nc\nd"               },
	{"headings",			"<h1>A</h1>x<h6>B</h6><h2></h2>y",                                               "# A\n\nx\n\n###### B\n\ny"},
	{"lists",			   "<ul><li>a<li>b<ol start=9><li>c<li>d</ol><li>e</ul>f",
         "- a\n- b\n  9. c\n  10. d\n- e\n\nf"													  },
	{"a paragraph in an item",          "<ul><li><p>a</p><p>b</p></ul>",                                                 "- a\n\n  b"               },
	{"an empty item",                   "<ul><li><li>a</ul>",							    "- a"                      },
	{"an item without a list",          "<li>a",									 "- a"                      },
	{"a list that never opened",        "</ul></ol>a",								   "a"                        },
	{"quotations",                      "<blockquote>a<p>b</blockquote>c",                                               "> a\n\n> b\n\nc"          },
	{"short quotations",                "<q>a</q> b",								    "\"a\" b"                  },
	{"code",			    "run <code>x &amp;&amp; y</code> now",                                           "run `x && y` now"         },
	{"pre",			     "<pre>\n a\n\tb\r\n</pre>c",						     "```\n a\n\tb\n```\n\nc"   },
	{"pre with code",                   "<pre><code>a</code> b</pre>",                                                   "```\na b\n```"            },
	{"pre with breaks",                 "<pre>a<br>b</pre>",							     "```\na\nb\n```"           },
	{"pre without an end",              "x<pre>a",								       "x\n\n```\na\n```"         },
	{"an empty pre",                    "a<pre></pre>b",								 "a\n\nb"                   },
	{"a table",			 "<table><tr><th>A<th>B<tr><td>1</td><td><p>2</p></td></table>x",
         "A | B\n1 | 2\n\nx"															    },
	{"empty cells",                     "<table><tr><td>1<td><td>3<tr><td><td>5</table>",                                "1 |  | 3\n5"              },
	{"a rule",			  "a<hr>b",									"a\n\n---\n\nb"            },
	{"a picture",		       "<img alt=' a &lt;b ' src=x><img src=y><img alt=''>c",                           "[image: a <b]c"           },
	{"links",			   "<a href=x>a</a> <a href='/y?b=1&amp;c=2#f'>b</a> <a href=//o.test>c</a>",
         "[a](http://h.test/d/x) [b](http://h.test/y?b=1&c=2#f) [c](http://o.test)"                                                                     },
	{"links that lead nowhere",
         "<a href='javascript:x()'>a</a> <a href=#f>b</a> <a name=n>c</a> <a href=''>d</a> "
		"<a href='data:text/html,x'>e</a> <a href=file:///x>f</a> <a href=x></a>",				   "a b c d e f"              },
	{"mail",			    "<a href=' mailto:a@b.test '>m</a>",                                             "[m](mailto:a@b.test)"     },
	{"a link's odd bytes",              "<a href='a b\xc3\xa9\"'>l</a>",
         "[l](http://h.test/d/a%20b%C3%A9%22)"													  },
	{"a link in a link",                "<a href=1>a<a href=2>b</a>c</a>",
         "[a](http://h.test/d/1)[b](http://h.test/d/2)c"												},
	{"a link around blocks",            "<a href=1><div><h3>T</h3><p>x</p></div></a>",
         "### [T](http://h.test/d/1)\n\nx"													      },
	{"a link without an end",           "<a href=1>a",								   "[a](http://h.test/d/1)"   },
	{"a link in a list",                "<ul><li><a href=1>a</a></ul>",                                                  "- [a](http://h.test/d/1)" },
	{"base",			    "<base href='http://b.test/z/'><base href=/q/><a href=1>a</a>",
         "[a](http://b.test/z/1)"														       },
	{"scripts and styles",              "a<script>if (x<y) '</p>'</script>b<style>p{}</style>c",                         "abc"                      },
	{"a script's end in other letters", "<script>x</SCRIPT >b",                                                          "b"                        },
	{"a script without an end",         "a<script>b</p>c",							       "a"                        },
	{"scripts that look ended",         "<script>a</scriptx></script>b",                                                 "b"                        },
	{"frames and templates",            "<iframe>a</iframe><template>b<b>c</b></template>d<svg/>e",                      "de"                       },
	{"svg",			     "<svg><title>a</title><text>b</text><svg></svg>c</svg>d",                        "d"                        },
	{"hidden",			  "<p hidden>a<b>b</b></p>c<div style=' DISPLAY : none; x'>d<div>e</div>f</div>g",
         "cg"																	   },
	{"hidden without an end",           "<p hidden>a<p>b<li hidden>c<li>d",                                              "b\n- d"                   },
	{"hidden elements with no content", "<img hidden alt=x><br hidden>a",                                                "a"                        },
	{"noscript",			"<noscript>a</noscript>",							"a"                        },
	{"a text field",                    "<textarea><b>x</b></textarea>",                                                 "<b>x</b>"                 },
	{"comments",			"a<!-- b --><!--><!---><!--x--!>c<!doctype x><?pi?></ x>d<!-- e",                "acd"                      },
	{"a comment of many",               "a<!-- - -- --- > -->b",							 "ab"                       },
	{"no tags",			 "1 < 2 <3 a<b",								  "1 < 2 <3 a"               },
	{"tags without an end",             "a<b x='1>c",								    "a"                        },
	{"references",
         "&amp;&lt;&#65;&#x42;&#X43;&eacute;&copy;&copyb;&notin;&notit;&nope;&;&#;&#x;&",				    "&<ABC\xc3\xa9\xc2\xa9\xc2\xa9"
		"b;\xe2\x88\x89\xc2\xacit;&nope;&;&#;&#x;&"    },
	{"references to what is none",      "&#0;&#xd800;&#x110000;&#99999999999;&#128;",
         "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xe2\x82\xac"										 },
	{"controls",			"a\x01\x1b[0mb&#27;c&#x202e;d&#7;",                                              "a[0mbcd"                  },
	{"attributes",                      "<a title='>' HREF = x Href=y>a</a>",                                            "[a](http://h.test/d/x)"   },
	{"nothing",			 "",									      ""                         },
	{"nothing but blanks",              " \n<p> </p>",								   ""                         },
};

static void pages(void **state)
{
	int wrong = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct reading r;

		assert_int_equal(read_it(str_from(rows[i].html), &r), 0);
		if (!str_is(buf_str(&r.text), rows[i].text)) {
			print_error("%s:\n%s\nis not\n%s\n", rows[i].name, buf_str(&r.text).p,
				rows[i].text);
			wrong++;
		}
		assert_true(cell_text_is_clean(buf_str(&r.text)));
		reading_release(&r);
	}
	assert_int_equal(wrong, 0);
}

static void titles(void **state)
{
	static const struct {
		const char *html, *title;
	} t[] = {
		{"<title> a &amp;\n b </title>",                "a & b"    },
		{"<title></title><title>b</title>",             "b"        },
		{"<title>a</title><title>b</title>",            "a"        },
		{"<svg><title>a</title></svg><title>b</title>", "b"        },
		{"<title>a<b>c</b></title>",                    "a<b>c</b>"},
		{"<p>a",					""         },
	};
	struct reading r;
	char *longest = xmalloc(MIB);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		assert_int_equal(read_it(str_from(t[i].html), &r), 0);
		assert_true(str_is(buf_str(&r.title), t[i].title));
		reading_release(&r);
	}
	memset(longest, 'x', MIB);
	memcpy(longest, "<title>", 7);
	assert_int_equal(read_it((struct str){longest, MIB}, &r), 0);
	assert_int_equal(r.title.len, TITLE_MAX_BYTES);
	reading_release(&r);
	free(longest);
}

static void a_page_names_its_character_set(void **state)
{
	static const struct {
		const char *html, *charset;
	} t[] = {
		{"<meta charset=koi8-r>\xd2",						  "koi8-r"      },
		{"<meta http-equiv=Content-Type content='text/html; charset=\"koi8-r\"'>\xd2",
                 "koi8-r"										    },
		{"<!-- <meta charset=koi8-r> -->\xd2",                                         "windows-1252"},
		{"<meta content='charset=koi8-r'>\xd2",                                        "windows-1252"},
		{"<meta charset=utf-16>\xc3\xa9",                                              "utf-8"       },
		{"<p>\xc3\xa9",								"utf-8"       },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct reading r;

		assert_int_equal(read_it(str_from(t[i].html), &r), 0);
		assert_string_equal(r.charset, t[i].charset);
		reading_release(&r);
	}
}

/* What makes others slow: the same again and again, as much as there may be. */
static void hostile_pages_take_no_longer(void **state)
{
	static const char *const again[] = {"<div>", "<a x=y ", "<", "<!--", "&", "&#", "&amp",
		"<a href=a>b</a>", "<ul><li>a", "<blockquote>a", "<script>", "</", "<a b=\"",
		"<pre>\n", "<table><tr><td>a", "<p hidden>", "<title>", "<svg>", "]](", "\n",
		"<p style=display:none", "<!-", "--!>", "<base href=a>", "<img alt=a>", "<h1>",
		"<q>", "\xe9"};
	char *page = xmalloc(AGAIN_BYTES);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(again); i++) {
		size_t len = strlen(again[i]), at = 0;
		int64_t before = clock_mono_ms(clock_system());
		struct reading r;

		for (; at + len <= AGAIN_BYTES; at += len)
			memcpy(page + at, again[i], len);
		assert_int_equal(read_it((struct str){page, at}, &r), 0);
		assert_true(cell_text_is_clean(buf_str(&r.text)));
		reading_release(&r);
		if (clock_mono_ms(clock_system()) - before > PAGE_MS)
			fail_msg("'%s' is slow", again[i]);
	}
	free(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages),
		cmocka_unit_test(titles),
		cmocka_unit_test(a_page_names_its_character_set),
		cmocka_unit_test(hostile_pages_take_no_longer),
	};

	return cmocka_run_group_tests_name("cell.page", tests, NULL, NULL);
}
