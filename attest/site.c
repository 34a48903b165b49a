/* A web site that a case serves. */
#include "attest/site.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include "attest/internal.h"
#include "os/os.h"

enum {
	REQUEST_MAX_BYTES = 65536,
	HEARD_MAX_BYTES = 4 << 20,
	PIECE_BYTES = 65536,
	GZIP_WINDOW = 15 + 16, /* zlib.h */
	BACKLOG = 16,
};

struct site {
	int fd, port;
	const char *host; /* as it stands in a URL */
	/* Written by the site's process alone, read by the case. */
	_Atomic int64_t sent;
	_Atomic size_t heard_len; /* after the bytes */
	char heard[HEARD_MAX_BYTES];
};

/* False when the other side has gone. */
static bool say(struct site *s, int fd, const void *p, size_t len)
{
	const char *from = p;

	while (len > 0) {
		ssize_t n = send(fd, from, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		from += n;
		len -= (size_t)n;
		s->sent += n;
	}
	return true;
}

static bool say_head(struct site *s, int fd, const char *status, const char *more)
{
	_cleanup_(buf) struct buf b = BUF_INIT(REQUEST_MAX_BYTES);

	must(buf_printf(&b, "HTTP/1.1 %s\r\n%sConnection: close\r\n\r\n", status, more) == 0);
	return say(s, fd, b.data, b.len);
}

#define TYPE "Content-Type: text/plain\r\n"

static void say_text(struct site *s, int fd, const char *words, size_t len)
{
	if (say_head(s, fd, "200 OK", TYPE) && say(s, fd, "page ", 5))
		(void)say(s, fd, words, len); /* whoever left is not told */
}

static void redirect(struct site *s, int fd, const char *to)
{
	_cleanup_(mem) char *more = xasprintf("Location: %s\r\nSet-Cookie: id=secret-7\r\n"
					      "WWW-Authenticate: Basic realm=x\r\n",
		to);

	(void)say_head(s, fd, "302 Found", more); /* as above */
}

/* So many bytes of text, or without end (-1). */
static void say_bytes(struct site *s, int fd, int64_t count)
{
	char piece[PIECE_BYTES];
	bool there = say_head(s, fd, "200 OK", TYPE);

	memset(piece, 'x', sizeof(piece));
	while (there && count != 0) {
		size_t n = count < 0 || count > PIECE_BYTES ? PIECE_BYTES : (size_t)count;

		there = say(s, fd, piece, n);
		count -= count < 0 ? 0 : (int64_t)n;
	}
}

static void say_packed(struct site *s, int fd, int64_t count)
{
	z_stream z = {.next_in = NULL};
	char plain[PIECE_BYTES], packed[PIECE_BYTES];
	bool there = say_head(s, fd, "200 OK", TYPE "Content-Encoding: gzip\r\n");
	int rc = Z_OK;

	memset(plain, 'x', sizeof(plain));
	/* Level 0 keeps it as large as it is: what is endless does not fit packed either. */
	must(deflateInit2(&z, count < 0 ? 0 : 6, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) ==
		Z_OK);
	while (there && rc != Z_STREAM_END) {
		if (z.avail_in == 0 && count != 0) {
			size_t n = count < 0 || count > PIECE_BYTES ? PIECE_BYTES : (size_t)count;

			z.next_in = (Bytef *)plain;
			z.avail_in = (uInt)n;
			count -= count < 0 ? 0 : (int64_t)n;
		}
		z.next_out = (Bytef *)packed;
		z.avail_out = sizeof(packed);
		rc = deflate(&z, count == 0 && z.avail_in == 0 ? Z_FINISH : Z_NO_FLUSH);
		must(rc != Z_STREAM_ERROR);
		there = say(s, fd, packed, sizeof(packed) - z.avail_out);
	}
	(void)deflateEnd(&z); /* frees, whatever it says */
}

/* The part of the path behind a prefix, or NULL. */
static const char *behind(const char *path, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(path, prefix, len) == 0 ? path + len : NULL;
}

static int64_t number(const char *text)
{
	uint64_t value = 0;

	must(text_u64(str_from(text), INT64_MAX, "N", &value, NULL) == 0);
	return (int64_t)value;
}

static void say_shifted(struct site *s, int fd, const char *words)
{
	static const char before[] = "zabcdefghijklmnopqrstuvwxy";
	_cleanup_(mem) char *text = xstrdup(words);

	for (char *c = text; *c; c++) {
		if (*c >= 'a' && *c <= 'z')
			*c = before[*c - 'a'];
	}
	say_text(s, fd, text, strlen(text));
}

static void answer(struct site *s, int fd, const char *path)
{
	const char *rest;

	if ((rest = behind(path, "/text/"))) {
		say_text(s, fd, rest, strlen(rest));
	} else if ((rest = behind(path, "/caesar/"))) {
		say_shifted(s, fd, rest);
	} else if ((rest = behind(path, "/hop/"))) {
		_cleanup_(mem) char *next = NULL;

		if (number(rest) == 0) {
			say_text(s, fd, "arrived", 7);
			return;
		}
		next = xasprintf("%lld", (long long)number(rest) - 1); /* beside this one */
		redirect(s, fd, next);
	} else if ((rest = behind(path, "/to/"))) {
		redirect(s, fd, rest);
	} else if ((rest = behind(path, "/bytes/"))) {
		say_bytes(s, fd, number(rest));
	} else if ((rest = behind(path, "/packed/"))) {
		say_packed(s, fd, number(rest));
	} else if (strcmp(path, "/endless") == 0) {
		say_bytes(s, fd, -1);
	} else if (strcmp(path, "/packed-endless") == 0) {
		say_packed(s, fd, -1);
	} else {
		(void)say_head(s, fd, "404 Not Found", ""); /* as above */
	}
}

static void serve(struct site *s, int fd)
{
	char request[REQUEST_MAX_BYTES + 1];
	size_t len = 0;
	char *path, *end;

	while (len < REQUEST_MAX_BYTES) {
		ssize_t n = recv(fd, request + len, REQUEST_MAX_BYTES - len, 0);

		if (n <= 0)
			return;
		len += (size_t)n;
		request[len] = '\0';
		if (strstr(request, "\r\n\r\n"))
			break;
	}
	must(s->heard_len + len <= HEARD_MAX_BYTES);
	memcpy(s->heard + s->heard_len, request, len);
	s->heard_len += len;
	path = strchr(request, ' ');
	end = path ? strchr(path + 1, ' ') : NULL;
	if (!end)
		return;
	*end = '\0';
	answer(s, fd, path + 1);
}

static void run(struct site *s)
{
	for (;;) {
		_cleanup_(fd) int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0)
			serve(s, fd);
	}
}

static int listen_at(struct attest *t, const char *address, int *ret_port)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at = {.v4 = {.sin_family = AF_INET}};
	socklen_t len = sizeof(at.v4);
	int fd;

	if (inet_pton(AF_INET, address, &at.v4.sin_addr) != 1) {
		at.v6 = (struct sockaddr_in6){.sin6_family = AF_INET6};
		must(inet_pton(AF_INET6, address, &at.v6.sin6_addr) == 1);
		len = sizeof(at.v6);
	}
	fd = socket(at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, &at.any, len) < 0 || listen(fd, BACKLOG) < 0 ||
		getsockname(fd, &at.any, &len) < 0) {
		if (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT)
			attest_not_here(t, "this machine has no address %s", address);
		attest_broken(t, "attest: listen at %s: %s", address, strerror(errno));
	}
	*ret_port = ntohs(at.any.sa_family == AF_INET ? at.v4.sin_port : at.v6.sin6_port);
	return fd;
}

struct site *site_start(struct attest *t, const char *address)
{
	pid_t pid, parent = getpid();
	struct site *s;

	// cppcheck-suppress invalidFunctionArg ; because -1 is what MAP_ANONYMOUS takes
	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(s != MAP_FAILED);
	s->host = strchr(address, ':') ? attest_path(t, "[%s]", address) : address;
	s->fd = listen_at(t, address, &s->port);
	pid = fork(); /* one thread */
	attest_true(t, pid >= 0, "attest: no process for a site: %s", strerror(errno));
	if (pid == 0) {
		/* In this order: a case that ends before the first is seen by the second. */
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
			_exit(1);
		run(s);
	}
	(void)close(s->fd); /* the site's now */
	return s;
}

int site_port(const struct site *s)
{
	return s->port;
}

const char *site_url(struct attest *t, const struct site *s, const char *path)
{
	return attest_path(t, "http://%s:%d%s", s->host, s->port, path);
}

struct str site_heard(struct attest *t, struct site *s)
{
	size_t len = s->heard_len;

	return (struct str){arena_strndup(attest_arena(t), s->heard, len), len};
}

int site_count(struct attest *t, struct site *s, const char *text)
{
	struct str heard = site_heard(t, s);
	ptrdiff_t at = 0;
	int count = 0;

	while ((at = str_find(heard, str_from(text), (size_t)at)) >= 0) {
		count++;
		at++;
	}
	return count;
}

int64_t site_sent(struct site *s)
{
	return s->sent;
}
