/* web_fetch: pages, hops, limits, and servers that say odd things. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <zlib.h>

#include "tooling.h"

enum {
	MIB = 1024 * 1024,
	ANSWER_MAX_BYTES = 8 * MIB,
	SEEN_MAX_BYTES = MIB,
	VISITORS_MAX = 32,
	LATER_MS = 50,
};

/* A web site on loopback: each path has one answer, in bytes. "~" in what it says is its port. */
struct page {
	const char *path;
	const char *says; /* the head and what fits in a literal */
	struct str more;  /* what follows */
	bool silent;      /* it never ends */
	bool endless;     /* `more` again and again */
};
struct site;
struct visitor {
	struct site *site;
	struct loop_stream *stream;
	struct buf head;
	const struct page *page;
};
struct site {
	struct loop_listener *listener;
	struct loop *loop;
	uint16_t port;
	const struct page *pages;
	size_t count;
	struct visitor visitors[VISITORS_MAX];
	size_t visits, ended;
	struct buf seen; /* all that was asked */
	uint64_t sent;
};

static void say(struct visitor *v, struct str s)
{
	v->site->sent += s.len;
	loop_stream_write(v->stream, s.p, s.len);
}

static void say_with_port(struct visitor *v, const char *says)
{
	_cleanup_(buf) struct buf b = BUF_INIT(SEEN_MAX_BYTES);

	for (; *says; says++)
		must((*says == '~' ? buf_printf(&b, "%u", v->site->port) : buf_putc(&b, *says)) ==
			0);
	say(v, buf_str(&b));
}

static const struct page *find_page(const struct visitor *v)
{
	struct str head = buf_str(&v->head);

	for (size_t i = 0; i < v->site->count; i++) {
		_cleanup_(mem) char *line = xasprintf(
			"GET %s HTTP/1.1\r\n", v->site->pages[i].path);

		if (str_starts(head, str_from(line)))
			return &v->site->pages[i];
	}
	fail_msg("the site has no page for: " STR_FMT, STR_ARG(head));
	return NULL;
}

static void visitor_data(void *arg, const char *p, size_t len)
{
	struct visitor *v = arg;

	must(buf_put(&v->head, p, len) == 0 && buf_put(&v->site->seen, p, len) == 0);
	if (v->head.data[0] != 'G') { /* TLS: not here */
		loop_stream_end_writes(v->stream);
		return;
	}
	if (v->page || str_find(buf_str(&v->head), STR("\r\n\r\n"), 0) < 0)
		return;
	v->page = find_page(v);
	say_with_port(v, v->page->says);
	if (v->page->more.p)
		say(v, v->page->more);
	if (!v->page->silent && !v->page->endless)
		loop_stream_end_writes(v->stream);
}

static void visitor_drained(void *arg)
{
	struct visitor *v = arg;

	if (v->stream && v->page && v->page->endless)
		say(v, v->page->more);
}

static void visitor_ended(void *arg, const struct error *err)
{
	struct visitor *v = arg;

	(void)err;
	v->site->ended++;
	loop_stream_close(mem_take(&v->stream));
}

static void accepted(void *arg, int fd)
{
	static const struct loop_stream_callbacks callbacks = {
		visitor_data, visitor_ended, visitor_drained};
	struct site *s = arg;
	struct visitor *v;

	must(s->visits < VISITORS_MAX);
	v = &s->visitors[s->visits++];
	*v = (struct visitor){.site = s, .head = BUF_INIT(SEEN_MAX_BYTES)};
	v->stream = loop_stream_new(s->loop, fd, -1, &callbacks, v);
}

static int bound(uint16_t *ret_port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	must(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
		getsockname(fd, (struct sockaddr *)&at, &len) == 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

struct web {
	struct rig r;
	struct site site;
};

static void web_open_with(
	struct web *w, const struct page *pages, size_t count, const struct fetch_options *o)
{
	struct fetch_options options = *o;
	struct error err = ERROR_INIT;
	int fd;

	*w = (struct web){
		.site = {.pages = pages, .count = count, .seen = BUF_INIT(SEEN_MAX_BYTES)}
        };
	rig_init(&w->r);
	options.loop = w->site.loop = w->r.loop;
	assert_ok(fetch_new(&options, &w->r.host.pages, &err), &err);
	fd = bound(&w->site.port);
	must(listen(fd, SOMAXCONN) == 0);
	assert_ok(loop_listen(w->r.loop, fd, accepted, &w->site, &w->site.listener, &err), &err);
}

static void web_open(struct web *w, const struct page *pages, size_t count)
{
	web_open_with(w, pages, count, &(struct fetch_options){.proxy_anonymous = true});
}

static void web_close(struct web *w)
{
	loop_listener_close(mem_take(&w->site.listener));
	for (size_t i = 0; i < w->site.visits; i++) {
		loop_stream_close(mem_take(&w->site.visitors[i].stream));
		buf_release(&w->site.visitors[i].head);
	}
	buf_release(&w->site.seen);
	fetch_free(w->r.host.pages);
	rig_release(&w->r);
}

/* The page at a path of the site; "~" is its port. */
static const char *arguments_for(struct web *w, const char *url, const char *more)
{
	_cleanup_(buf) struct buf b = BUF_INIT(SEEN_MAX_BYTES);

	for (; *url; url++)
		must((*url == '~' ? buf_printf(&b, "%u", w->site.port) : buf_putc(&b, *url)) == 0);
	return arena_printf(&w->r.arena, "{\"url\":\"" STR_FMT "\"%s}", STR_ARG(buf_str(&b)), more);
}

static void get(struct web *w, const char *url)
{
	rig_call(&w->r, "web_fetch", arguments_for(w, url, ""));
}

#define HEAD(type)     "HTTP/1.1 200 OK\r\nContent-Type: " type "\r\n\r\n"
#define MOVED(to)      "HTTP/1.1 302 Found\r\nLocation: " to "\r\nContent-Length: 6\r\n\r\nunread"
#define SITE           "http://127.0.0.1:~"
#define PAGES(w, rows) web_open(w, rows, ARRAY_LEN(rows))

static void a_page_comes_as_text_with_its_links(void **state)
{
	static const struct page pages[] = {
		{"/dir/page?x=1",
                 HEAD("text/html; charset=utf-8") "<title>The  "
							 "title</title><script>no()</script>"
							 "<h1>Top</h1><p>Read <a "
							 "href='../other'>this</a>.", {NULL, 0}, false, false},
	};
	_cleanup_(mem) char *whole = NULL;
	struct web w;

	(void)state;
	PAGES(&w, pages);
	get(&w, SITE "/dir/page?x=1#there");
	assert_false(w.r.failed);
	whole = xasprintf("http://127.0.0.1:%u/dir/page?x=1#there 200 text/html; charset=utf-8\n"
			  "Title: The title\n\n# Top\n\nRead [this](http://127.0.0.1:%u/other).",
		w.site.port, w.site.port);
	assert_says(&w.r, whole);
	assert_int_equal(w.r.judgement.reach, TOOL_IN_DAEMON);
	web_close(&w);
}

static void what_is_sent_holds_nothing_of_the_persons(void **state)
{
	static const struct page pages[] = {
		{"/a",
                 "HTTP/1.1 302 Found\r\nSet-Cookie: id=7\r\nWWW-Authenticate: Basic\r\n"
			"Location: /b\r\n\r\n",    {NULL, 0}, false, false},
		{"/b", HEAD("text/plain") "there", {NULL, 0}, false, false},
	};
	_cleanup_(mem) char *sent = NULL;
	struct web w;
	struct str rest;

	(void)state;
	web_open_with(
		&w, pages, ARRAY_LEN(pages), &(struct fetch_options){.proxy_anonymous = true});
	get(&w, SITE "/a");
	assert_says(&w.r, "there");
	sent = xasprintf(" HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUser-Agent: Consort/", w.site.port);
	rest = buf_str(&w.site.seen);
	for (int i = 0; i < 2; i++) {
		ptrdiff_t at = str_find(rest, str_from(sent), 0);

		assert_true(at == (ptrdiff_t)strlen("GET /a"));
		at = str_find(rest, STR("\r\n\r\n"), 0);
		assert_true(at > 0);
		rest = (struct str){rest.p + at + 4, rest.len - (size_t)at - 4};
	}
	assert_int_equal(rest.len, 0);
	assert_true(str_find(buf_str(&w.site.seen), STR("Cookie"), 0) < 0);
	assert_true(str_find(buf_str(&w.site.seen), STR("Authorization"), 0) < 0);
	assert_true(str_find(buf_str(&w.site.seen), STR("Referer"), 0) < 0);
	web_close(&w);
}

/* /1 leads to /2 … to /11, which is the page; so /0 is eleven hops away. */
static void ten_redirects_are_followed_and_no_eleventh(void **state)
{
	static const char *const to[] = {MOVED("/1"), MOVED("2"), MOVED("//127.0.0.1:~/3"),
		MOVED(SITE "/4"), MOVED("./5"), MOVED("../6"), MOVED("/x/../7"), MOVED("8"),
		MOVED("9"), MOVED("10"), MOVED("/11")};
	struct page pages[12];
	char paths[12][8];
	struct web w;

	(void)state;
	for (int i = 0; i < 12; i++) {
		(void)snprintf(paths[i], sizeof(paths[i]), "/%d", i);
		pages[i] = (struct page){
			.path = paths[i], .says = i < 11 ? to[i] : HEAD("text/plain") "the end"};
	}
	PAGES(&w, pages);
	get(&w, SITE "/1");
	assert_false(w.r.failed);
	assert_says(&w.r, "/11 200 text/plain");
	assert_int_equal(w.site.visits, 11);
	get(&w, SITE "/0");
	assert_says(&w.r, "web_fetch_redirect_limit");
	assert_int_equal(w.site.visits, 22); /* /0 … /10: /11 is not asked for */
	web_close(&w);
}

static void only_http_and_https_are_fetched_at_every_hop(void **state)
{
	static const struct {
		const char *url, *code;
	} rows[] = {
		{"file:///etc/passwd",          "web_fetch_scheme"    },
		{"ftp://127.0.0.1:~/x",         "web_fetch_scheme"    },
		{"gopher://127.0.0.1:~/x",      "web_fetch_scheme"    },
		{"data:text/plain,hello",       "web_fetch_scheme"    },
		{"unix:/run/x.sock",            "web_fetch_scheme"    },
		{"ws://127.0.0.1:~/x",          "web_fetch_scheme"    },
		{"javascript:alert(1)",         "web_fetch_scheme"    },
		{"http://user:pass@127.0.0.1/", "invalid_url"         },
		{"http://user%4012/",           "invalid_url"         },
		{"http://2130706433/",          "invalid_url"         },
		{"http://127.1/",               "invalid_url"         },
		{"/etc/passwd",                 "invalid_url"         },
		{"http:///x",                   "invalid_url"         },
		{"http://127.0.0.1:1/closed",   "fetch_connect_failed"},
		{"https://127.0.0.1:~/plain",   "fetch_tls_failed"    },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(mem) char *says = xasprintf(
			"HTTP/1.1 307 Temporary Redirect\r\nLocation: %s\r\n\r\n", rows[i].url);
		const struct page pages[] = {
			{"/hop",        says,                      {NULL, 0}, false, false},
			{"/etc/passwd", HEAD("text/plain") "mine", {NULL, 0}, false, false},
		};
		struct web w;

		PAGES(&w, pages);
		get(&w, rows[i].url);
		assert_true(w.r.failed);
		assert_says(&w.r, rows[i].code);
		get(&w, SITE "/hop");
		/* a reference without a host is one beside the page that has it */
		if (rows[i].url[0] == '/')
			assert_says(&w.r, "mine");
		else
			assert_says(&w.r, rows[i].code);
		web_close(&w);
	}
}

static void statuses_that_are_no_success_are_errors(void **state)
{
	static const struct page pages[] = {
		{"/404", "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno",               {NULL, 0}, false,
                 false												 },
		{"/500", "HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\nno",                    {NULL, 0}, false,
                 false												 },
		{"/304", "HTTP/1.1 304 Not Modified\r\n\r\n",                                   {NULL, 0}, false, false},
		{"/302", "HTTP/1.1 302 Found\r\nContent-Length: 2\r\n\r\nno",                   {NULL, 0}, false,
                 false												 },
		{"/300", "HTTP/1.1 300 Choices\r\nLocation: /404\r\nContent-Length: 0\r\n\r\n",
                 {NULL, 0},										false, false},
	};
	static const char *const codes[] = {"web_fetch_http_404", "web_fetch_http_500",
		"web_fetch_http_304", "web_fetch_http_302", "web_fetch_http_300"};
	struct web w;

	(void)state;
	PAGES(&w, pages);
	for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
		get(&w, arena_printf(&w.r.arena, SITE "%s", pages[i].path));
		assert_true(w.r.failed);
		assert_says(&w.r, codes[i]);
	}
	web_close(&w);
}

static void types_and_charsets(void **state)
{
	static const struct {
		struct page page;
		const char *says; /* or the code */
	} rows[] = {
		{{"/png", HEAD("image/png") "x", {NULL, 0}, false, false},
                 "web_fetch_unsupported_type"							   },
		{{"/pdf", HEAD("application/pdf") "x", {NULL, 0}, false, false},
                 "web_fetch_unsupported_type"							   },
		{{"/odd", HEAD("text/\xc3\xa4") "x", {NULL, 0}, false, false},
                 "web_fetch_unsupported_type"							   },
		{{"/bin", HEAD("text/plain") "a", {"\0b", 2}, false, false},
                 "web_fetch_unsupported_type"							   },
		{{"/json", HEAD("application/json") "{\"a\":1}", {NULL, 0}, false, false},
                 " 200 application/json; charset=utf-8\n\n{\"a\":1}"                                    },
		{{"/hal", HEAD("application/hal+json") "[1]", {NULL, 0}, false, false},    "\n\n[1]"    },
		{{"/none", "HTTP/1.1 200 OK\r\n\r\nbare", {NULL, 0}, false, false},        "\n\nbare"   },
		{{"/latin", HEAD("text/plain; charset=\"ISO-8859-1\"") "caf\xe9", {NULL, 0}, false,
			 false},
                 "caf\xc3\xa9"									  },
		{{"/guess", HEAD("text/plain") "caf\xe9", {NULL, 0}, false, false},        "caf\xc3\xa9"},
		{{"/meta", HEAD("text/html") "<meta charset=koi8-r><p>\xd2\xd5", {NULL, 0}, false,
			 false},
                 "charset=koi8-r\n\n\xd1\x80\xd1\x83"                                                   },
		{{"/xml", HEAD("text/xml") "<?xml version='1.0' encoding='shift_jis'?>\x93\xfa",
			 {NULL, 0}, false, false},
                 "\xe6\x97\xa5"									 },
		{{"/esc", HEAD("text/plain") "a\x1b[31mb\x07\xe2\x80\xaeq", {NULL, 0}, false,
			 false},
                 "a[31mbq"									      },
		{{"/br", "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\nx", {NULL, 0}, false,
			 false},
                 "web_fetch_unsupported_type"							   },
		{{"/notgz", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nplain", {NULL, 0},
			 false, false},
                 "web_fetch_invalid_body"							       },
		{{"/empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", {NULL, 0}, false,
			 false},
                 "/empty 200 text/plain; charset=utf-8\n\n"                                             },
		{{"/204", "HTTP/1.1 204 No Content\r\n\r\n", {NULL, 0}, false, false},
                 "/204 204 text/plain"								  },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct web w;

		web_open(&w, &rows[i].page, 1);
		get(&w, arena_printf(&w.r.arena, SITE "%s", rows[i].page.path));
		assert_says(&w.r, rows[i].says);
		assert_int_equal(w.r.failed, strncmp(rows[i].says, "web_", 4) == 0);
		web_close(&w);
	}
}

static struct str bytes_of(struct arena *a, size_t len, char c)
{
	char *p = arena_alloc(a, len);

	memset(p, c, len);
	return (struct str){p, len};
}

static struct str packed_of(struct arena *a, struct str plain)
{
	z_stream z = {.next_in = (Bytef *)plain.p, .avail_in = (uInt)plain.len};
	size_t room = plain.len + 1024;
	char *p = arena_alloc(a, room);

	must(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
	z.next_out = (Bytef *)p;
	z.avail_out = (uInt)room;
	must(deflate(&z, Z_FINISH) == Z_STREAM_END);
	(void)deflateEnd(&z);
	return (struct str){p, room - z.avail_out};
}

#define GZIP "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\n\r\n"

static void four_mebibytes_and_no_byte_more(void **state)
{
	struct arena a = {.blocks = NULL};
	const struct str most = bytes_of(&a, 4 * (size_t)MIB, 'x');
	const struct str more = bytes_of(&a, 4 * (size_t)MIB + 1, 'x');
	const struct str bomb = packed_of(&a, bytes_of(&a, 64 * (size_t)MIB, 'x'));
	char *said = arena_printf(&a, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", 4 * MIB + 1);
	const struct page pages[] = {
		{"/most",        HEAD("text/plain"), most,         false,             false             },
		{"/more",        HEAD("text/plain"), more,         false,             false             },
		{"/said",        said,               {NULL, 0},    true,              false             },
		{"/endless",     HEAD("text/plain"), most,         false,             true              },
		{"/packed-most", GZIP,               packed_of(&a, most),             false,              false},
		{"/packed-more",              GZIP,                   packed_of(&a,              more), false, false},
		{"/bomb",         GZIP,                           bomb,                                 false,                                      false                         },
	};
	struct web w;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
		bool fits = strstr(pages[i].path, "most") != NULL;

		web_open(&w, &pages[i], 1);
		get(&w, arena_printf(&w.r.arena, SITE "%s", pages[i].path));
		assert_int_equal(w.r.failed, !fits);
		assert_says(&w.r, fits ? "bytes are left out here" : "web_fetch_size_limit");
		assert_true(w.site.sent < 16 * MIB); /* endless: it was stopped */
		web_close(&w);
	}
	arena_release(&a);
}

static void a_caller_may_set_a_smaller_limit(void **state)
{
	static const struct page pages[] = {
		{"/x", HEAD("text/plain") "123456", {NULL, 0}, false, false},
	};
	struct web w;

	(void)state;
	PAGES(&w, pages);
	rig_call(&w.r, "web_fetch", arguments_for(&w, SITE "/x", ",\"max_bytes\":6"));
	assert_says(&w.r, "123456");
	rig_call(&w.r, "web_fetch", arguments_for(&w, SITE "/x", ",\"max_bytes\":5"));
	assert_says(&w.r, "the page is over 5 bytes");
	rig_call(&w.r, "web_fetch", arguments_for(&w, SITE "/x", ",\"max_bytes\":4194305"));
	assert_says(&w.r, "invalid_tool_arguments");
	web_close(&w);
}

static void servers_that_say_odd_things(void **state)
{
	struct arena a = {.blocks = NULL};
	char *huge = arena_printf(&a, "HTTP/1.1 200 OK\r\nX-Big: " STR_FMT "\r\n\r\nx",
		STR_ARG(bytes_of(&a, 70000, 'h')));
	const struct page pages[] = {
		{"/cut",    "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1234",                    {NULL, 0},               false,
                 false														  },
		{"/two",    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
                 {NULL, 0},												 false, false},
		{"/both",
                 "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: "
			"chunked\r\n\r\n0\r\n\r\n",						{NULL, 0},               false, false},
		{"/minus",  "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",                       {NULL, 0},               false,
                 false														  },
		{"/chunk",  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",         {NULL, 0},
                 false,													    false},
		{"/half",   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",        {NULL, 0},
                 false,													    false},
		{"/huge",   huge,								  {NULL, 0},               false, false},
		{"/smtp",   "220 mail.test ESMTP\r\n",                                             {NULL, 0},               false, false},
		{"/none",   "",								    {NULL, 0},               false, false},
		{"/101",    "HTTP/1.1 101 Switching Protocols\r\n\r\n",                            {NULL, 0},               false, false},
		{"/loc",    MOVED("http://a b/\x01"),                                              {NULL, 0},               false, false},
		{"/packed", GZIP,								  {"\x1f\x8b\x08\x00", 4}, false, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
		struct web w;

		web_open(&w, &pages[i], 1);
		get(&w, arena_printf(&w.r.arena, SITE "%s", pages[i].path));
		if (!w.r.failed)
			fail_msg("%s: " STR_FMT, pages[i].path, STR_ARG(w.r.output));
		assert_says(&w.r, "\"error\":");
		web_close(&w);
	}
	arena_release(&a);
}

static void a_page_is_redacted_before_it_is_cut(void **state)
{
	struct arena a = {.blocks = NULL};
	const struct str before = bytes_of(&a, 32 * 1024 - 80, 'a');
	char *page = arena_printf(&a, HEAD("text/plain") STR_FMT " " SECRET_VALUE " " STR_FMT,
		STR_ARG(before), STR_ARG(bytes_of(&a, 60000, 'b')));
	const struct page pages[] = {
		{"/" SECRET_VALUE, page, {NULL, 0}, false, false},
	};
	struct web w;

	(void)state;
	PAGES(&w, pages);
	get(&w, SITE "/" SECRET_VALUE);
	assert_false(w.r.failed);
	assert_says(&w.r, "/[REDACTED] 200 text/plain");
	assert_false(rig_says(&w.r, "very-secret"));
	assert_says(&w.r, "read them in artifact 12/r1-1/page]");
	assert_true(w.r.artifact.len > 92000);
	assert_true(str_find(w.r.artifact, STR("[REDACTED]"), 100) > 0);
	assert_true(str_find(w.r.artifact, STR("very-secret"), 0) < 0);
	web_close(&w);
	arena_release(&a);
}

struct later {
	struct web *web;
	struct loop_timer *timer;
	bool frees;
};

static void end_it(void *arg)
{
	struct later *l = arg;

	assert_true(l->web->site.visits > 0);
	if (!l->frees) {
		tool_find(STR("web_fetch"))->cancel(l->web->r.run);
		return;
	}
	tool_find(STR("web_fetch"))->free(mem_take(&l->web->r.run));
	loop_stop(l->web->r.loop);
}

static void a_call_ends_at_once_when_told_to(void **state)
{
	static const struct page pages[] = {
		{"/head", "",                        {NULL, 0}, true, false},
		{"/body", HEAD("text/plain") "slow", {NULL, 0}, true, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pages) * 2; i++) {
		struct web w;
		struct later l = {.web = &w, .frees = i % 2};

		PAGES(&w, pages);
		l.timer = loop_timer_new(w.r.loop, end_it, &l);
		assert_true(rig_start(&w.r, "web_fetch",
			arguments_for(
				&w, arena_printf(&w.r.arena, SITE "%s", pages[i / 2].path), ""),
			false));
		loop_timer_set(l.timer, LATER_MS);
		if (l.frees) {
			loop_run(w.r.loop);
			assert_int_equal(w.r.dones, 0);
		} else {
			rig_finish(&w.r, "web_fetch");
			assert_true(w.r.cancelled);
			assert_says(&w.r, "cancelled");
		}
		loop_timer_free(l.timer);
		web_close(&w);
	}
}

static void private_addresses_can_be_refused(void **state)
{
	static const struct page pages[] = {
		{"/x", HEAD("text/plain") "reached", {NULL, 0}, false, false},
	};
	static const char *const urls[] = {SITE "/x", "http://localhost:~/x",
		"http://[::ffff:127.0.0.1]:~/x", "http://[::1]:~/x", "http://0.0.0.0:~/x",
		"http://10.0.0.1:~/x", "http://[fe80::1]:~/x", "http://169.254.169.254/x"};
	struct web w;

	(void)state;
	web_open_with(&w, pages, ARRAY_LEN(pages), &(struct fetch_options){.refuse_private = true});
	for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
		get(&w, urls[i]);
		assert_true(w.r.failed);
		assert_says(&w.r, "fetch_private_address");
	}
	assert_int_equal(w.site.visits, 0);
	web_close(&w);
}

static void a_cell_that_is_missing_or_breaks_off_is_an_error(void **state)
{
	static const struct page pages[] = {
		{"/x", HEAD("text/html") "<p>x", {NULL, 0}, false, false},
	};
	struct web w;
	struct fetch *had;

	(void)state;
	PAGES(&w, pages);
	w.r.host.cell = "/nonexistent/cell";
	get(&w, SITE "/x");
	assert_says(&w.r, "process_start_failed");
	w.r.host.cell = "/bin/false";
	get(&w, SITE "/x");
	assert_says(&w.r, "web_fetch_invalid_body");
	had = w.r.host.pages;
	w.r.host.pages = NULL;
	assert_false(rig_start(&w.r, "web_fetch", "{\"url\":\"http://127.0.0.1/\"}", false));
	assert_says(&w.r, "web_fetch_unavailable");
	w.r.host.pages = had;
	web_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_comes_as_text_with_its_links),
		cmocka_unit_test(what_is_sent_holds_nothing_of_the_persons),
		cmocka_unit_test(ten_redirects_are_followed_and_no_eleventh),
		cmocka_unit_test(only_http_and_https_are_fetched_at_every_hop),
		cmocka_unit_test(statuses_that_are_no_success_are_errors),
		cmocka_unit_test(types_and_charsets),
		cmocka_unit_test(four_mebibytes_and_no_byte_more),
		cmocka_unit_test(a_caller_may_set_a_smaller_limit),
		cmocka_unit_test(servers_that_say_odd_things),
		cmocka_unit_test(a_page_is_redacted_before_it_is_cut),
		cmocka_unit_test(a_call_ends_at_once_when_told_to),
		cmocka_unit_test(private_addresses_can_be_refused),
		cmocka_unit_test(a_cell_that_is_missing_or_breaks_off_is_an_error),
	};

	return cmocka_run_group_tests_name("web_fetch", tests, NULL, NULL);
}
