#ifndef AGENT_TEST_PEERS_H
#define AGENT_TEST_PEERS_H
/*
 * peers: further sessions of a daemon in this process, each as slow or as rude as a test wants.
 */
#include "serving.h"

enum { PEER_LINES_MAX = 512 };

struct peer {
	struct served *s;
	int fd; /* -1: it left */
	struct buf in;
	char *lines[PEER_LINES_MAX];
	size_t count;
	bool ended; /* the daemon closed it */
};

/* What the daemon is run for. */
static struct {
	struct peer *p;
	const char *part;
} peer_wanted;

static inline void peer_split(struct peer *p)
{
	ptrdiff_t end;

	while ((end = str_find(buf_str(&p->in), STR("\n"), 0)) >= 0) {
		must(p->count < PEER_LINES_MAX);
		p->lines[p->count++] = xstrndup(p->in.data, (size_t)end);
		buf_consume(&p->in, (size_t)end + 1);
	}
}

static inline void peer_read(struct peer *p)
{
	for (;;) {
		ssize_t n;

		must(buf_reserve(&p->in, 65536) == 0);
		n = recv(p->fd, p->in.data + p->in.len, 65536, MSG_DONTWAIT);
		p->ended = p->ended || n == 0;
		if (n <= 0)
			break;
		p->in.len += (size_t)n;
		peer_split(p);
	}
}

static inline bool peer_has(struct served *s)
{
	struct peer *p = peer_wanted.p;

	(void)s;
	peer_read(p);
	for (size_t i = 0; i < p->count; i++) {
		if (strstr(p->lines[i], peer_wanted.part))
			return true;
	}
	return false;
}

/* The first line that holds the part, which the caller frees; others stay. */
static inline char *peer_take(struct peer *p, const char *part)
{
	peer_wanted.p = p;
	peer_wanted.part = part;
	if (!peer_has(p->s))
		served_until(p->s, peer_has);
	for (size_t i = 0; i < p->count; i++) {
		char *line = p->lines[i];

		if (!strstr(line, part))
			continue;
		p->count--;
		memmove(&p->lines[i], &p->lines[i + 1], (p->count - i) * sizeof(p->lines[0]));
		return line;
	}
	fail_msg("no %s", part);
	return NULL;
}

/* What has come holds no such line. */
static inline void peer_lacks(struct peer *p, const char *part)
{
	peer_read(p);
	for (size_t i = 0; i < p->count; i++) {
		if (strstr(p->lines[i], part))
			fail_msg("%s in %s", part, p->lines[i]);
	}
}

static inline void peer_send(struct peer *p, const char *line)
{
	assert_int_equal(send(p->fd, line, strlen(line), MSG_NOSIGNAL), strlen(line));
}

/* Sends a request of id N and takes its reply, which holds the part. */
static inline char *peer_asks(struct peer *p, const char *part, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static inline char *peer_asks(struct peer *p, const char *part, const char *format, ...)
{
	static int last = 1000;
	_cleanup_(mem) char *line = NULL, *id = NULL;
	char body[8192], *reply;
	va_list args;

	va_start(args, format);
	must(vsnprintf(body, sizeof(body), format, args) < (int)sizeof(body));
	va_end(args);
	line = xasprintf("{\"id\":%d,%s}\n", ++last, body);
	id = xasprintf("{\"id\":%d,", last);
	peer_send(p, line);
	reply = peer_take(p, id);
	if (!strstr(reply, part))
		fail_msg("%s: no %s in %s", body, part, reply);
	return reply;
}

static inline void peer_open(struct peer *p, struct served *s)
{
	int ends[2];

	*p = (struct peer){.s = s, .in = BUF_INIT(4 * 1024 * 1024)};
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	p->fd = ends[0];
	session_new(&s->d, ends[1], NULL);
	free(peer_take(p, "\"event\":\"ready\""));
}

static inline void peer_leave(struct peer *p)
{
	os_close(p->fd);
	p->fd = -1;
	for (size_t i = 0; i < p->count; i++)
		free(p->lines[i]);
	p->count = 0;
	buf_release(&p->in);
}

/* The value of a string member, which the caller frees. */
static inline char *peer_text(const char *line, const char *member)
{
	_cleanup_(mem) char *key = xasprintf("\"%s\":\"", member);
	const char *at = strstr(line, key);

	if (!at)
		fail_msg("no %s in %s", member, line);
	at += strlen(key);
	return xstrndup(at, strcspn(at, "\""));
}

#endif
