/* Pages: who may be asked for them, what is sent, how much is read, and what becomes of it. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attest/drill.h"
#include "attest/issuer.h"
#include "attest/script.h"
#include "attest/site.h"
#include "attest/space.h"
#include "attest/suites.h"
#include "attest/trace.h"
#include "os/os.h"

enum { MIB = 1024 * 1024 };

/* Both ways a bot may be as to the network; web_fetch is the same for all. */
static const struct {
	const char *name, *more;
} networks[] = {
	{"off", "\"sandbox\":\"workspace-write\",\"network\":false"},
	{"on",  "\"sandbox\":\"workspace-write\",\"network\":true" },
	{"no",  "\"sandbox\":\"danger-full-access\""               },
};

static int fetch_call(struct drill *r, const char *url)
{
	return drill_call(r, "web_fetch", "{\"url\":\"%s\"}", url);
}

/* One fetch by a bot that may do anything: its result, or its error code. */
static struct drilled fetch_one(struct attest *t, const char *url)
{
	struct drill r;
	int call;

	drill_init(&r, t);
	call = fetch_call(&r, url);
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b", "");
	return drill_do(&r, "b", call);
}

static void AG_006_a_bot_can_have_web_fetch(struct attest *t)
{
	struct site *s = site_start(t, "127.0.0.1");
	struct drilled done = fetch_one(t, site_url(t, s, "/text/marker-6"));

	attest_true(t, !done.error.p, "the page was not fetched: " STR_FMT, STR_ARG(done.text));
	attest_has(t, "the result", done.text, "page marker-6");
	attest_has(t, "the result", done.text,
		attest_path(t, "%s 200 text/plain", site_url(t, s, "/text/marker-6")));
	attest_true(t, site_count(t, s, "GET /text/marker-6 ") == 1, "the site was not asked once");
}

/* From each of some addresses of this host, by bots of every sort. */
static void fetch_from(struct attest *t, const char *const *addresses, size_t count)
{
	struct site *sites[4];
	int calls[4];
	struct drill r;

	must(count <= ARRAY_LEN(sites));
	drill_init(&r, t);
	for (size_t i = 0; i < count; i++) {
		sites[i] = site_start(t, addresses[i]);
		calls[i] = fetch_call(&r, site_url(t, sites[i], "/text/here"));
	}
	drill_start(&r, NULL);
	for (size_t b = 0; b < ARRAY_LEN(networks); b++) {
		(void)attest_bot(t, r.d, networks[b].name, networks[b].more);
		for (size_t i = 0; i < count; i++) {
			struct drilled done = drill_do(&r, networks[b].name, calls[i]);

			attest_true(t, !done.error.p, "network %s, from %s: " STR_FMT,
				networks[b].name, addresses[i], STR_ARG(done.text));
			attest_has(t, addresses[i], done.text, "page here");
		}
	}
	for (size_t i = 0; i < count; i++)
		attest_true(t, site_count(t, sites[i], "GET ") == (int)ARRAY_LEN(networks),
			"the site at %s was not asked by every bot", addresses[i]);
}

static void AG_142_a_bot_without_network_fetches_too(struct attest *t)
{
	static const char *const loopback[] = {"127.0.0.1"};

	fetch_from(t, loopback, 1);
}

/* As a person makes one: with the tools that the command line gives. */
static void new_bot(struct drill *r, const char *name)
{
	const char *argv[] = {"run", "--no-spawn", "--new", "--bot", name, "--model", "drill/x",
		"--workspace", r->d->workspace, "--", "hello", NULL};
	struct attest_ran ran = attest_agent(r->t, r->d, argv, NULL);

	attest_true(r->t, ran.status == 0, "agent run: " STR_FMT, STR_ARG(ran.err));
}

static bool is_offered(struct drill *r, const char *bot)
{
	const struct json *record = attest_call(
		r->t, r->d->client, "\"op\":\"inspect\",\"bot\":\"%s\"", bot);

	json_for_each (tool, json_get(record, "tools")) {
		if (str_is(json_str(tool), "web_fetch"))
			return true;
	}
	return false;
}

static void AG_219_web_search_disabled_leaves_it_out(struct attest *t)
{
	struct site *s = site_start(t, "127.0.0.1");
	struct drilled done;
	struct drill r;
	int call;

	drill_init(&r, t);
	call = fetch_call(&r, site_url(t, s, "/text/marker-219"));
	drill_start(&r, NULL);
	new_bot(&r, "older");
	attest_true(t, is_offered(&r, "older"), "a new bot has no web_fetch without the setting");
	attest_daemon_stop(t, r.d);
	attest_write(t, attest_path(t, "%s/.agent/config.toml", attest_home(t)),
		"web_search = \"disabled\"\n");
	drill_again(&r, NULL);
	new_bot(&r, "newer");
	attest_true(t, !is_offered(&r, "newer"), "a new bot has web_fetch all the same");
	done = drill_do(&r, "newer", call);
	attest_true(t, str_is(done.error, "tool_not_available"),
		"a call of a new bot ends as " STR_FMT, STR_ARG(done.text));
	attest_true(t, site_count(t, s, "GET /text/marker-219 ") == 0, "the page was asked for");
	attest_true(t, is_offered(&r, "older"), "an older bot lost web_fetch");
	attest_has(
		t, "the older bot's result", drill_do(&r, "older", call).text, "page marker-219");
}

static void AG_229_the_hosts_own_networks_are_open(struct attest *t)
{
	static const char *const loopback[] = {"127.0.0.1", "127.0.0.2"};

	fetch_from(t, loopback, 2);
}

/* One more address of the loopback interface, in the case's own namespace. */
static void add_address(struct attest *t, const char *alias, const char *address)
{
	struct ifreq request = {.ifr_name = ""};
	struct sockaddr_in at = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(request.ifr_name, alias, strlen(alias) + 1);
	must(inet_pton(AF_INET, address, &at.sin_addr) == 1);
	memcpy(&request.ifr_addr, &at, sizeof(at));
	if (fd < 0 || ioctl(fd, SIOCSIFADDR, &request) < 0)
		attest_not_here(
			t, "%s cannot be given to a namespace: %s", address, strerror(errno));
	os_close(fd);
}

static void own_network(struct attest *t)
{
	space_enter(t, SPACE_NET);
	add_address(t, "lo:1", "10.1.2.3");
	add_address(t, "lo:2", "169.254.7.7");
}

static const char *const everywhere[] = {"127.0.0.1", "::1", "10.1.2.3", "169.254.7.7"};

static void AG_217_private_addresses_are_like_any_other(struct attest *t)
{
	int calls[ARRAY_LEN(everywhere)];
	struct drill r;

	own_network(t);
	drill_init(&r, t);
	for (size_t i = 0; i < ARRAY_LEN(everywhere); i++)
		calls[i] = fetch_call(&r, site_url(t, site_start(t, everywhere[i]), "/text/near"));
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b", "");
	for (size_t i = 0; i < ARRAY_LEN(everywhere); i++)
		attest_has(t, everywhere[i], drill_done(&r, "b", calls[i]), "page near");
}

static void AG_218_a_bot_reads_the_hosts_networks(struct attest *t)
{
	own_network(t);
	fetch_from(t, everywhere, ARRAY_LEN(everywhere));
}

static void AG_211_a_page_reaches_the_model_as_tool_output(struct attest *t)
{
	struct site *s = site_start(t, "127.0.0.1");
	const char *url = site_url(t, s, "/text/MARKER-211");
	const char *script = attest_path(t,
		CALL("web_fetch", "{\"url\":\"%s\"}") IF_RESULT("page MARKER-211", "saw it"), url);
	struct attest_daemon *d = attest_daemon_start(t, &(struct attest_start){.script = script});
	int found = 0;

	(void)attest_bot(t, d, "b", "");
	attest_has(t, "the model", attest_said(attest_turn(t, d, "b", "go")), "saw it");
	json_for_each (i, attest_items(t, d->client, "b")) {
		const struct json *item = json_get(i, "item");
		struct buf text = BUF_INIT(65536);
		struct json_out j = JSON_OUT(&text);

		json_put(&j, NULL, item);
		if (str_find(buf_str(&text), STR("page MARKER-211"), 0) >= 0) {
			attest_true(t, str_is(json_str(json_get(item, "role")), "tool"),
				"the page stands in an item of role " STR_FMT,
				STR_ARG(json_str(json_get(item, "role"))));
			attest_true(t, str_is(json_str(json_get(item, "tool_call_id")), "r1-1"),
				"the page is of call " STR_FMT,
				STR_ARG(json_str(json_get(item, "tool_call_id"))));
			found++;
		}
		buf_release(&text);
	}
	attest_true(t, found == 1, "the page stands in %d items", found);
}

static void AG_213_only_http_and_https(struct attest *t)
{
	static const char *const urls[] = {"file://%s", "ftp://127.0.0.1:21/x",
		"gopher://127.0.0.1:70/x", "data:text/plain,quagga", "unix:%s", "FILE://%s",
		"ws://127.0.0.1/"};
	const char *file = attest_path(t, "%s/secret.txt", attest_outside(t));
	struct site *s = site_start(t, "127.0.0.1");
	int calls[ARRAY_LEN(urls)], hop;
	struct drill r;

	attest_write(t, file, "quagga");
	drill_init(&r, t);
	for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
		const char *mark = strstr(urls[i], "%s");
		const char *url = mark ? attest_path(
						 t, "%.*s%s", (int)(mark - urls[i]), urls[i], file)
				       : urls[i];

		calls[i] = fetch_call(&r, url);
	}
	hop = fetch_call(&r, site_url(t, s, attest_path(t, "/to/file://%s", file)));
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b", "");
	for (size_t i = 0; i < ARRAY_LEN(urls); i++)
		attest_lacks(
			t, urls[i], drill_refused(&r, "b", calls[i], "web_fetch_scheme"), "quagga");
	attest_lacks(t, "a redirect to a file", drill_refused(&r, "b", hop, "web_fetch_scheme"),
		"quagga");
	attest_true(t, site_count(t, s, "GET ") == 1, "the redirect was not asked for once");
}

static void AG_214_ten_redirects(struct attest *t)
{
	struct site *ten = site_start(t, "127.0.0.1"), *eleven = site_start(t, "127.0.0.1");
	struct drill r;
	int works, fails;

	drill_init(&r, t);
	works = fetch_call(&r, site_url(t, ten, "/hop/10"));
	fails = fetch_call(&r, site_url(t, eleven, "/hop/11"));
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b", "");
	attest_has(t, "ten redirects", drill_done(&r, "b", works), "page arrived");
	attest_true(t, site_count(t, ten, "GET ") == 11, "ten redirects are %d requests",
		site_count(t, ten, "GET "));
	(void)drill_refused(&r, "b", fails, "web_fetch_redirect_limit");
	attest_true(t, site_count(t, eleven, "GET ") == 11, "eleven redirects are %d requests",
		site_count(t, eleven, "GET "));
	attest_true(t, site_count(t, eleven, "GET /hop/0 ") == 0, "the eleventh was followed");
}

static void AG_215_four_mebibytes(struct attest *t)
{
	static const struct {
		const char *path;
		bool fits;
	} rows[] = {
		{"/bytes/4194304",     true },
                {"/bytes/4194305",     false},
                {"/endless",           false},
		{"/packed/4194304",    true },
                {"/packed/4194305",    false},
                {"/packed-endless",    false},
		{"/packed/1000000000", false}, /* a megabyte of gzip */
	};
	struct site *sites[ARRAY_LEN(rows)];
	int calls[ARRAY_LEN(rows)];
	struct drill r;

	drill_init(&r, t);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		sites[i] = site_start(t, "127.0.0.1");
		calls[i] = fetch_call(&r, site_url(t, sites[i], rows[i].path));
	}
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b", "");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].fits)
			attest_has(t, rows[i].path, drill_done(&r, "b", calls[i]), "xxxx");
		else
			(void)drill_refused(&r, "b", calls[i], "web_fetch_size_limit");
		/* What the kernel holds on both sides was sent, too, and not read. */
		attest_true(t, site_sent(sites[i]) < 16 * MIB, "%s: %lld bytes were taken",
			rows[i].path, (long long)site_sent(sites[i]));
	}
}

/* No request at all of a site carries a credential. */
static void check_bare(struct attest *t, const char *what, struct site *s, int requests)
{
	static const char *const needles[] = {"uthorization", "ookie:", "quagga", "cXVhZ2dh"};

	attest_true(t, site_count(t, s, "GET ") == requests, "%s: %d requests, not %d", what,
		site_count(t, s, "GET "), requests);
	for (size_t i = 0; i < ARRAY_LEN(needles); i++)
		attest_lacks(t, what, site_heard(t, s), needles[i]);
}

static void AG_216_no_credentials(struct attest *t)
{
	struct site *first, *second, *near, *proxy;
	const char *env[4] = {"OPENAI_API_KEY=quagga-key"};
	int calls[2], login;
	struct drill r;

	own_network(t);
	first = site_start(t, "127.0.0.1");
	second = site_start(t, "127.0.0.1");
	near = site_start(t, "10.1.2.3"); /* no loopback name: through the proxy */
	proxy = site_start(t, "127.0.0.1");
	env[1] = attest_path(t, "http_proxy=http://quagga:quagga@127.0.0.1:%d", site_port(proxy));
	env[2] = "COOKIE=quagga";
	attest_write(t, attest_path(t, "%s/.netrc", attest_home(t)),
		"machine 127.0.0.1 login quagga password quagga\n"
		"default login quagga password quagga\n");
	attest_write(t, attest_path(t, "%s/.curlrc", attest_home(t)), "user = \"quagga:quagga\"\n");
	attest_write(t, attest_path(t, "%s/cookies.txt", attest_home(t)),
		"127.0.0.1\tFALSE\t/\tFALSE\t0\tid\tquagga\n");
	drill_init(&r, t);
	calls[0] = fetch_call(&r,
		site_url(t, first, attest_path(t, "/to/%s", site_url(t, second, "/to//text/x"))));
	calls[1] = fetch_call(&r, site_url(t, near, "/text/x"));
	login = drill_call(&r, "web_fetch",
		"{\"url\":\"http://quagga:quagga@127.0.0.1:%d/text/x\"}", site_port(first));
	drill_start(&r, &(struct attest_start){.env = env});
	(void)attest_bot(t, r.d, "b", "");
	(void)drill_do(&r, "b", calls[0]);
	(void)drill_do(&r, "b", calls[1]);
	(void)drill_refused(&r, "b", login, "invalid_url");
	check_bare(t, "the first site", first, 1);
	check_bare(t, "where it leads", second, 2);
	check_bare(t, "the site behind a proxy", near, 0);
	check_bare(t, "the proxy", proxy, 1);
}

/* Every connection that a trace shows is to one of these ports of 127.0.0.1. */
static void check_connections(
	struct attest *t, const struct trace *tr, const char *const *ports, size_t count)
{
	size_t seen[4] = {0};

	must(count <= ARRAY_LEN(seen));
	for (size_t i = 0; i < tr->count; i++) {
		const struct trace_call *c = &tr->calls[i];
		bool known = false;

		if (trace_makes_thread(c) || !trace_has(c, "sa_family=AF_INET"))
			continue;
		for (size_t k = 0; k < count && trace_has(c, "inet_addr(\"127.0.0.1\")"); k++) {
			if (trace_has(c, ports[k])) {
				known = true;
				seen[k]++;
			}
		}
		attest_true(t, known, "%s(" STR_FMT ")", c->name, STR_ARG(c->args));
	}
	for (size_t k = 0; k < count; k++)
		attest_true(t, seen[k] > 0, "the trace has no connection to %s", ports[k]);
}

/* The provider that is used is the issuer of its tokens, too; the other one is never named. */
static void AG_060_it_connects_nowhere_else(struct attest *t)
{
	struct site *page = site_start(t, "127.0.0.1"), *unused = site_start(t, "127.0.0.1");
	struct issuer *i = issuer_start(t);
	const char *file = attest_path(t, "%s/trace", attest_home(t));
	const char *args[] = {"--provider", issuer_provider(t, i, "chat"), "--provider",
		attest_path(t, "other=chat,%s", site_url(t, unused, "/v1")), NULL};
	struct attest_start start = {.args = args};
	const char *ports[2];
	struct trace tr;
	struct drill r;
	int call;

	issuer_life(i, -1);
	signin(t, i); /* tokens that are over */
	issuer_life(i, 3600);
	drill_init(&r, t);
	call = fetch_call(&r, site_url(t, page, "/text/x"));
	drill_script(&r, &start);
	r.d = trace_daemon(t, &start, file, "connect,sendto,sendmsg,sendmmsg");
	(void)attest_bot(t, r.d, "b", "");
	(void)attest_call(t, r.d->client,
		"\"op\":\"create\",\"bot\":\"c\",\"model\":\"chat/m\",\"instructions\":\"\","
		"\"tools\":[]");
	attest_has(t, "the model", attest_said(attest_turn(t, r.d, "c", "hello")), "done");
	attest_true(t, issuer_count(t, i, "grant_type=refresh_token") == 1, "no renewal");
	attest_has(t, "the page", drill_done(&r, "b", call), "page x");
	trace_stop(t, r.d);
	ports[0] = attest_path(t, "sin_port=htons(%d)", site_port(page));
	ports[1] = attest_path(t, "sin_port=htons(%s)", strrchr(issuer_url(i), ':') + 1);
	tr = trace_read(t, file);
	check_connections(t, &tr, ports, ARRAY_LEN(ports));
	attest_true(t, site_heard(t, unused).len == 0, "the unused provider was asked");
}

const struct attest_case attest_agent_pages[] = {
	{"AG-006", NEEDS_NOTHING,   AG_006_a_bot_can_have_web_fetch               },
	{"AG-060", NEEDS_STRACE,    AG_060_it_connects_nowhere_else               },
	{"AG-142", NEEDS_NOTHING,   AG_142_a_bot_without_network_fetches_too      },
	{"AG-211", NEEDS_NOTHING,   AG_211_a_page_reaches_the_model_as_tool_output},
	{"AG-213", NEEDS_NOTHING,   AG_213_only_http_and_https                    },
	{"AG-214", NEEDS_NOTHING,   AG_214_ten_redirects                          },
	{"AG-215", NEEDS_NOTHING,   AG_215_four_mebibytes                         },
	{"AG-216", NEEDS_NAMESPACE, AG_216_no_credentials                         },
	{"AG-217", NEEDS_NAMESPACE, AG_217_private_addresses_are_like_any_other   },
	{"AG-218", NEEDS_NAMESPACE, AG_218_a_bot_reads_the_hosts_networks         },
	{"AG-219", NEEDS_NOTHING,   AG_219_web_search_disabled_leaves_it_out      },
	{"AG-229", NEEDS_NOTHING,   AG_229_the_hosts_own_networks_are_open        },
	{NULL,     0,               NULL					  },
};
