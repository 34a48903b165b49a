/* An issuer of tokens on loopback, and a sign-in with it. */
#include "attest/issuer.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "attest/internal.h"
#include "attest/raw.h"
#include "os/os.h"

enum {
	REQUEST_MAX_BYTES = 4 << 20,
	HEARD_MAX_BYTES = 64 << 20,
	GIVEN_MAX = 32,
	TOKEN_SIZE = 512,
	SIGNIN_LIMIT_MS = 20000,
};

struct given {
	char access[TOKEN_SIZE], refresh[TOKEN_SIZE], id[TOKEN_SIZE];
};
struct issuer {
	int fd, port;
	char *url;
	pthread_mutex_t lock; /* of what follows */
	struct buf heard;
	struct given given[GIVEN_MAX];
	int count, revoked;
	int64_t life_s;
};

/*
 * Tokens.
 */
static void put_base64url(char *to, size_t size, const char *text)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	unsigned held = 0, bits = 0;
	size_t n = 0;

	for (; *text; text++) {
		held = (held << 8 | (unsigned char)*text) & 0xffff;
		for (bits += 8; bits >= 6; bits -= 6) {
			must(n + 2 < size);
			to[n++] = digits[held >> (bits - 6) & 63];
		}
	}
	if (bits > 0)
		to[n++] = digits[held << (6 - bits) & 63];
	to[n] = '\0';
}

static void put_jwt(char to[TOKEN_SIZE], const char *claims, const char *mark, int number)
{
	char body[TOKEN_SIZE - 64];

	put_base64url(body, sizeof(body), claims);
	(void)snprintf(to, TOKEN_SIZE, "e30.%s.%s-mark-%d", body, mark, number);
}

/* The next ones; the lock is held. */
static const struct given *give(struct issuer *i)
{
	struct given *g = &i->given[i->count++];
	char claims[256];

	must(i->count <= GIVEN_MAX);
	(void)snprintf(claims, sizeof(claims), "{\"exp\":%lld}",
		(long long)time(NULL) + (long long)i->life_s);
	put_jwt(g->access, claims, "vermilion-access", i->count);
	put_jwt(g->id, "{\"https://api.openai.com/auth\":{\"chatgpt_account_id\":\"acct-quagga\"}}",
		"vermilion-identity", i->count);
	(void)snprintf(g->refresh, TOKEN_SIZE, "rt-vermilion-refresh-mark-%d", i->count);
	return g;
}

/*
 * Answers. The lock is held.
 */
static void put_head(struct buf *to, const char *status, const char *more)
{
	(void)buf_printf(to, "HTTP/1.1 %s\r\nConnection: close\r\n%s\r\n", status, more);
}

static void put_refusal(struct buf *to, const char *status, const char *code)
{
	put_head(to, status, "Content-Type: application/json\r\n");
	(void)buf_printf(to, "{\"error\":\"%s\"}", code);
}

static void put_given(struct buf *to, const struct given *g)
{
	put_head(to, "200 OK", "Content-Type: application/json\r\n");
	(void)buf_printf(to,
		"{\"access_token\":\"%s\",\"refresh_token\":\"%s\",\"id_token\":\"%s\","
		"\"token_type\":\"Bearer\"}",
		g->access, g->refresh, g->id);
}

/* The value of NAME= in a query or form, as it stands. */
static struct str value_of(struct str text, const char *name)
{
	ptrdiff_t at = str_find(text, str_from(name), 0);
	size_t n = 0;

	if (at < 0)
		return STR("");
	text.p += (size_t)at + strlen(name);
	text.len -= (size_t)at + strlen(name);
	while (n < text.len && text.p[n] != '&' && text.p[n] != ' ' && text.p[n] != '\r')
		n++;
	return (struct str){text.p, n};
}

/* The page that needs no click. The port is all that is taken of where it is to lead. */
static void authorize(struct str request, struct buf *to)
{
	struct str port = value_of(request, "redirect_uri=http%3A%2F%2Flocalhost%3A");
	struct str state = value_of(request, "&state=");
	char more[512];

	port.len = port.len < 5 ? port.len : 5;
	while (port.len > 0 && (port.p[port.len - 1] < '0' || port.p[port.len - 1] > '9'))
		port.len--;
	(void)snprintf(more, sizeof(more),
		"Location: http://localhost:" STR_FMT
		"/auth/callback?code=vermilion-code&state=" STR_FMT "\r\n",
		STR_ARG(port), STR_ARG(state));
	put_head(to, "302 Found", more);
}

static void token(struct issuer *i, struct str request, struct buf *to)
{
	bool code = str_is(value_of(request, "grant_type="), "authorization_code");
	const char *newest = i->count > 0 ? i->given[i->count - 1].refresh : "";
	bool good = code ? str_is(value_of(request, "&code="), "vermilion-code") &&
				    value_of(request, "&code_verifier=").len >= 43
			 : str_is(value_of(request, "&refresh_token="), newest);

	if (good)
		put_given(to, give(i));
	else
		put_refusal(to, "400 Bad Request", "invalid_grant");
}

static void reply(struct issuer *i, struct str request, struct buf *to)
{
	static const char item[] =
		"{\"id\":\"msg_1\",\"type\":\"message\",\"status\":\"completed\",\"role\":"
		"\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"done\","
		"\"annotations\":[]}]}";
	bool good = false;

	for (int n = i->revoked; n < i->count; n++) {
		char header[TOKEN_SIZE + 64];

		(void)snprintf(
			header, sizeof(header), "authorization: Bearer %s\r\n", i->given[n].access);
		good = good || str_find(request, str_from(header), 0) > 0;
	}
	if (!good) {
		put_refusal(to, "401 Unauthorized", "invalid_token");
		return;
	}
	put_head(to, "200 OK", "Content-Type: text/event-stream\r\n");
	(void)buf_printf(to,
		"event: response.created\ndata: {\"type\":\"response.created\","
		"\"sequence_number\":0,\"response\":{\"id\":\"resp_1\",\"object\":\"response\","
		"\"status\":\"in_progress\",\"output\":[]}}\n\n"
		"event: response.output_item.added\ndata: {\"type\":"
		"\"response.output_item.added\",\"output_index\":0,\"item\":{\"id\":\"msg_1\","
		"\"type\":\"message\",\"status\":\"in_progress\",\"role\":\"assistant\","
		"\"content\":[]}}\n\n"
		"event: response.output_text.delta\ndata: {\"type\":"
		"\"response.output_text.delta\",\"sequence_number\":1,\"output_index\":0,"
		"\"item_id\":\"msg_1\",\"content_index\":0,\"delta\":\"done\"}\n\n"
		"event: response.output_item.done\ndata: {\"type\":"
		"\"response.output_item.done\",\"sequence_number\":2,\"output_index\":0,\"item\":"
		"%s}\n\n"
		"event: response.completed\ndata: {\"type\":\"response.completed\","
		"\"sequence_number\":3,\"response\":{\"id\":\"resp_1\",\"object\":\"response\","
		"\"status\":\"completed\",\"output\":[%s],\"usage\":{\"input_tokens\":9,"
		"\"output_tokens\":1,\"total_tokens\":10}}}\n\n",
		item, item);
}

static void answer(struct issuer *i, struct str request, struct buf *to)
{
	if (str_starts(request, STR("GET /oauth/authorize?")))
		authorize(request, to);
	else if (str_starts(request, STR("POST /oauth/token ")))
		token(i, request, to);
	else if (str_starts(request, STR("POST /v1/responses ")))
		reply(i, request, to);
	else
		put_refusal(to, "404 Not Found", "not_found");
}

/*
 * Connections, one at a time.
 */
/* Whether the request is whole: its head, and as much behind it as the head says. */
static bool is_whole(struct str text)
{
	static const char name[] = "\r\ncontent-length: ";
	ptrdiff_t end = str_find(text, STR("\r\n\r\n"), 0);
	ptrdiff_t at = str_find(text, str_from(name), 0);
	uint64_t length = 0;

	if (end < 0)
		return false;
	if (at < 0) /* as fetch writes it */
		at = str_find(text, STR("\r\nContent-Length: "), 0);
	if (at >= 0 && at < end) {
		struct str digits = {text.p + at + sizeof(name) - 1, 0};

		while (digits.p[digits.len] >= '0' && digits.p[digits.len] <= '9')
			digits.len++;
		(void)text_u64(digits, REQUEST_MAX_BYTES, "length", &length, NULL); /* else 0 */
	}
	return text.len >= (size_t)end + 4 + length;
}

static void serve(struct issuer *i, int fd)
{
	struct buf in = BUF_INIT(REQUEST_MAX_BYTES), out = BUF_INIT(65536);
	char part[65536];
	ssize_t n = 1;

	while (!is_whole(buf_str(&in)) && (n = recv(fd, part, sizeof(part), 0)) > 0)
		must(buf_put(&in, part, (size_t)n) == 0);
	if (n > 0) {
		must(pthread_mutex_lock(&i->lock) == 0);
		must(buf_put_str(&i->heard, buf_str(&in)) == 0 && buf_putc(&i->heard, '\n') == 0);
		answer(i, buf_str(&in), &out);
		must(pthread_mutex_unlock(&i->lock) == 0 && !out.full);
		(void)send(fd, out.data, out.len, MSG_NOSIGNAL); /* who left hears nothing */
	}
	buf_release(&in);
	buf_release(&out);
	os_close(fd);
}

static void *run(void *arg)
{
	struct issuer *i = arg;

	for (;;) {
		int fd = accept4(i->fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0)
			serve(i, fd);
	}
	return NULL;
}

struct issuer *issuer_start(struct attest *t)
{
	struct issuer *i = arena_alloc(&t->arena, sizeof(*i));
	pthread_t thread;

	i->fd = raw_tcp_listener(t, &i->port);
	(void)fcntl(i->fd, F_SETFL, 0); /* the thread waits in accept */
	i->url = attest_path(t, "http://127.0.0.1:%d", i->port);
	i->heard = (struct buf)BUF_INIT(HEARD_MAX_BYTES);
	i->life_s = 3600;
	must(pthread_mutex_init(&i->lock, NULL) == 0);
	must(pthread_create(&thread, NULL, run, i) == 0);
	must(pthread_detach(thread) == 0);
	return i;
}

const char *issuer_url(const struct issuer *i)
{
	return i->url;
}

const char *issuer_provider(struct attest *t, const struct issuer *i, const char *name)
{
	return attest_path(t, "%s=responses,%s/v1,@chatgpt", name, i->url);
}

static void lock(struct issuer *i)
{
	must(pthread_mutex_lock(&i->lock) == 0);
}

static void unlock(struct issuer *i)
{
	must(pthread_mutex_unlock(&i->lock) == 0);
}

void issuer_life(struct issuer *i, int64_t seconds)
{
	lock(i);
	i->life_s = seconds;
	unlock(i);
}

void issuer_revoke(struct issuer *i)
{
	lock(i);
	i->revoked = i->count;
	unlock(i);
}

struct str issuer_heard(struct attest *t, struct issuer *i)
{
	struct str heard;

	lock(i);
	heard = buf_str(&i->heard);
	heard.p = arena_strndup(&t->arena, heard.p, heard.len);
	unlock(i);
	return heard;
}

int issuer_count(struct attest *t, struct issuer *i, const char *text)
{
	struct str heard = issuer_heard(t, i);
	ptrdiff_t at = -1;
	int count = 0;

	while ((at = str_find(heard, str_from(text), (size_t)(at + 1))) >= 0)
		count++;
	return count;
}

int issuer_given(struct issuer *i)
{
	int count;

	lock(i);
	count = i->count;
	unlock(i);
	return count;
}

static const struct given *given_at(struct issuer *i, int number)
{
	must(number >= 1 && number <= issuer_given(i)); /* never changed once given */
	return &i->given[number - 1];
}

const char *issuer_access(struct attest *t, struct issuer *i, int number)
{
	return attest_path(t, "%s", given_at(i, number)->access);
}

const char *issuer_refresh(struct attest *t, struct issuer *i, int number)
{
	return attest_path(t, "%s", given_at(i, number)->refresh);
}

/*
 * The sign-in.
 */
struct str issuer_get(struct attest *t, int port, const char *target)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	char *request = attest_path(t,
		"GET %s HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\n\r\n", target, port);
	struct buf in = BUF_INIT(REQUEST_MAX_BYTES);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char part[4096], *text;
	ssize_t n;

	must(fd >= 0);
	if (connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 &&
		send(fd, request, strlen(request), MSG_NOSIGNAL) > 0) {
		while ((n = recv(fd, part, sizeof(part), 0)) > 0)
			must(buf_put(&in, part, (size_t)n) == 0);
	}
	os_close(fd);
	text = arena_strndup(&t->arena, in.len > 0 ? in.data : "", in.len);
	buf_release(&in);
	return str_from(text);
}

static bool has_page(struct attest *t, void *arg)
{
	struct signin *s = arg;
	struct str said = attest_read(t, s->out);
	ptrdiff_t at = str_find(said, STR("http://127.0.0.1:"), 0);
	struct str line;

	if (at < 0)
		return false;
	said.p += at;
	said.len -= (size_t)at;
	if (str_find(said, STR("\n"), 0) < 0)
		return false;
	(void)str_next(&said, '\n', &line);
	s->page = arena_strndup(attest_arena(t), line.p, line.len);
	return true;
}

static int port_of(const char *text, const char *before)
{
	const char *at = strstr(text, before);
	struct str digits = {NULL, 0};
	uint64_t port = 0;

	must(at);
	digits.p = at + strlen(before);
	while (digits.p[digits.len] >= '0' && digits.p[digits.len] <= '9')
		digits.len++;
	must(text_u64(digits, 65535, "port", &port, NULL) == 0);
	return (int)port;
}

struct signin signin_begin(
	struct attest *t, const struct issuer *i, const struct signin_start *start)
{
	const char *argv[48];
	struct signin s = {
		.out = attest_path(t, "%s/.signin-%zu", attest_home(t), t->left->child_count)};
	size_t n = 0;
	int fd = -1;

	for (size_t k = 0; start->wrap && start->wrap[k]; k++)
		argv[n++] = start->wrap[k];
	argv[n++] = attest_bin("agent");
	argv[n++] = "login";
	argv[n++] = "chatgpt";
	argv[n++] = "--no-browser";
	argv[n++] = "--port=0";
	argv[n++] = "--issuer";
	argv[n++] = issuer_url(i);
	for (size_t k = 0; start->args && start->args[k]; k++)
		argv[n++] = start->args[k];
	argv[n] = NULL;
	must(n < ARRAY_LEN(argv));
	if (os_open(s.out, O_RDWR | O_CREAT | O_TRUNC, 0600, &fd, NULL) < 0)
		attest_broken(t, "attest: no file for the output of agent login");
	s.pid = attest_spawn(t, argv, attest_environ(t, start->env),
		&(struct attest_setting){attest_home(t), fd, fd, start->mask});
	os_close(fd);
	attest_until(t, "agent login prints the page", has_page, &s);
	s.port = port_of(s.page, "redirect_uri=http%3A%2F%2Flocalhost%3A");
	return s;
}

struct str signin_browse(struct attest *t, const struct signin *s)
{
	const char *target = strchr(s->page + strlen("http://"), '/');
	struct str sent = issuer_get(t, port_of(s->page, "http://127.0.0.1:"), target);
	ptrdiff_t at = str_find(sent, STR("/auth/callback?"), 0);
	struct str rest, place;

	attest_true(t, at > 0, "attest: the page leads nowhere: " STR_FMT, STR_ARG(sent));
	rest = (struct str){sent.p + at, sent.len - (size_t)at};
	(void)str_next(&rest, '\r', &place);
	return issuer_get(t, s->port, attest_path(t, STR_FMT, STR_ARG(place)));
}

int signin_end(struct attest *t, const struct signin *s)
{
	return attest_reap(t, s->pid, "agent login", SIGNIN_LIMIT_MS);
}

void signin(struct attest *t, const struct issuer *i)
{
	struct signin s = signin_begin(t, i, &(struct signin_start){.mask = 0});
	struct str told = signin_browse(t, &s);
	int status = signin_end(t, &s);

	attest_true(t, status == 0, "agent login ended with %d: " STR_FMT, status,
		STR_ARG(attest_read(t, s.out)));
	attest_has(t, "the browser", told, "You are signed in");
}
