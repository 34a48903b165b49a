/* The daemon a command talks to. */
#include "agent/cmd/connect.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/cmd/mismatch.h"
#include "agent/cmd/spawn.h"
#include "mem/mem.h"
#include "os/os.h"

enum { LAST_WORDS_BYTES = 4096 /* ours: of a log, to find its last line in */ };

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_size : 0;
}

/* The last line of the log from `start` on, in room; absent when there is none. */
static struct str last_line(const char *path, off_t start, char room[LAST_WORDS_BYTES])
{
	_cleanup_(fd) int fd = -1;
	off_t end = size_of(path);
	struct str rest, line, last = {NULL, 0};
	ssize_t n;

	if (end - start > LAST_WORDS_BYTES)
		start = end - LAST_WORDS_BYTES;
	if (os_open(path, O_RDONLY | O_NOFOLLOW, 0, &fd, NULL) < 0)
		return last;
	n = pread(fd, room, LAST_WORDS_BYTES, start);
	rest = (struct str){room, n > 0 ? (size_t)n : 0};
	while (str_next(&rest, '\n', &line)) {
		if (str_trim(line).len > 0)
			last = str_trim(line);
	}
	return last;
}

/* A daemon that ended at once said why in its log. */
static void add_last_words(const struct spawn *s, off_t start, struct error *err)
{
	char room[LAST_WORDS_BYTES];
	struct str line;

	if (!error_is(err, &CLIENT_START_FAILED))
		return;
	line = last_line(s->log, start, room);
	if (line.p)
		(void)error_set(err, &CLIENT_START_FAILED, STR_FMT " (log: %s)",
			STR_ARG(str_cut(line, ERROR_TEXT_MAX / 2)), s->log);
}

static int open_starting(
	struct connection *c, const struct startup_options *startup, struct error *err)
{
	_cleanup_(spawn) struct spawn s = {.argv = NULL};
	off_t log_size;

	if (spawn_init(&s, c->store, c->socket, startup, err) < 0 ||
		spawn_find_program(&s, err) < 0 || spawn_make_folders(c->store, err) < 0)
		return -1;
	log_size = size_of(s.log);
	if (client_open(c->socket, &s.start, &c->client, err) < 0) {
		add_last_words(&s, log_size, err);
		return -1;
	}
	return 0;
}

static int open_client(struct connection *c, const struct startup_options *startup,
	enum connect_start may, struct error *err)
{
	struct error first = ERROR_INIT;
	int there;

	if (client_open(c->socket, NULL, &c->client, &first) == 0)
		return 0;
	if (may == CONNECT_ONLY || !error_is(&first, &CLIENT_NO_DAEMON)) {
		*err = first;
		return -1;
	}
	there = may == CONNECT_EXISTING ? os_exists(c->store, err) : 1;
	if (there < 0)
		return -1;
	if (!there)
		return error_set(err, &CLIENT_NO_DAEMON,
			"no daemon runs, and there is no store '%s'", c->store);
	return open_starting(c, startup, err);
}

/* A confined command has its own way, unless it says where to go. 1, 0 it has none, -1. */
static int open_own(struct connection *c, const struct place_options *place, struct error *err)
{
	if (place->socket || place->store)
		return 0;
	return client_open_inherited(&c->client, err);
}

int connect_open(const struct place_options *place, const struct startup_options *startup,
	enum connect_start may, struct connection *ret, struct error *err)
{
	_cleanup_(connection) struct connection c = {.client = NULL};
	int own;

	(void)signal(SIGPIPE, SIG_IGN); /* cannot fail for it */
	if (startup_place(place, &c.store, &c.socket, err) < 0)
		return -1;
	own = open_own(&c, place, err);
	if (own < 0 || (own == 0 && open_client(&c, startup, may, err) < 0))
		return -1;
	if (startup && mismatch_check(startup, client_ready(c.client), err) < 0)
		return -1;
	*ret = c;
	c = (struct connection){.client = NULL};
	return 0;
}

void connection_release(struct connection *c)
{
	client_free(c->client);
	free(c->store);
	free(c->socket);
	*c = (struct connection){.client = NULL};
}
