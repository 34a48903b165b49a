#ifndef AGENT_TEST_SERVING_H
#define AGENT_TEST_SERVING_H
/*
 * serving: a daemon in this process with one session, its store's writer held at will, so that what
 * is a matter of luck in life happens in every run.
 */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <sys/socket.h>

#include "agent/serve/daemon.h"
#include "agent/serve/live.h"
#include "agent/serve/session.h"
#include "fetch/fetch.h"
#include "os/os.h"
#include "testing.h"

enum {
	SERVED_PATIENCE_MS = 20000,
	SERVED_LINES_MAX = 256,
};

struct served {
	char *dir, *store;
	struct daemon_options o;
	struct daemon d;
	int peer;
	struct buf in; /* read, no whole line yet */
	char *lines[SERVED_LINES_MAX];
	size_t line_count;
	sem_t writer; /* what holds the writer waits for it */
	struct loop_timer *tick;
	bool (*until)(struct served *s);
	int64_t started_ms, for_ms;
	bool late, read_back;
};

static inline void served_read(struct served *s)
{
	ssize_t n;

	while ((n = buf_reserve(&s->in, 65536) < 0
			       ? -1
			       : recv(s->peer, s->in.data + s->in.len, 65536, MSG_DONTWAIT)) > 0) {
		struct str have;
		ptrdiff_t end;

		s->in.len += (size_t)n;
		for (;;) {
			have = buf_str(&s->in);
			end = str_find(have, STR("\n"), 0);
			if (end < 0)
				break;
			must(s->line_count < SERVED_LINES_MAX);
			s->lines[s->line_count++] = xstrndup(have.p, (size_t)end);
			buf_consume(&s->in, (size_t)end + 1);
		}
	}
}

static inline void served_tick(void *arg)
{
	struct served *s = arg;
	int64_t passed_ms = clock_mono_ms(clock_system()) - s->started_ms;

	served_read(s);
	s->late = passed_ms > SERVED_PATIENCE_MS;
	if (s->late || (s->until ? s->until(s) : passed_ms >= s->for_ms))
		loop_stop(s->d.loop);
	else
		loop_timer_set(s->tick, 1);
}

/* Runs the daemon until something holds. */
static inline void served_until(struct served *s, bool (*until)(struct served *s))
{
	s->until = until;
	s->started_ms = clock_mono_ms(clock_system());
	loop_timer_set(s->tick, 0);
	loop_run(s->d.loop);
	assert_false(s->late);
}

static inline void served_for(struct served *s, int64_t ms)
{
	s->for_ms = ms;
	served_until(s, NULL);
}

static inline int served_wait_writer(struct store_tx *tx, void *arg, struct error *err)
{
	struct served *s = arg;

	(void)tx;
	(void)err;
	while (sem_wait(&s->writer) < 0)
		must(errno == EINTR);
	return 0;
}

/* The writer does nothing more until served_let_writer. */
static inline void served_hold_writer(struct served *s)
{
	store_write(s->d.store, served_wait_writer, NULL, s);
}

static inline void served_let_writer(struct served *s)
{
	must(sem_post(&s->writer) == 0);
}

static inline int64_t served_jobs(struct served *s)
{
	struct store_counts c;

	store_counts(s->d.store, &c);
	return c.jobs;
}

static inline void served_send(struct served *s, const char *line)
{
	for (size_t at = 0, len = strlen(line); at < len;) {
		ssize_t n = send(s->peer, line + at, len - at, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0)
			at += (size_t)n;
		else
			served_for(s, 1); /* the daemon takes what there is */
	}
}

static inline bool served_has_line(struct served *s)
{
	return s->line_count > 0;
}

/* The next line, which the caller frees. */
static inline char *served_line(struct served *s)
{
	char *line;

	if (s->line_count == 0)
		served_until(s, served_has_line);
	line = s->lines[0];
	s->line_count--;
	memmove(s->lines, s->lines + 1, s->line_count * sizeof(s->lines[0]));
	return line;
}

/* A request that has to be answered with a result; no events may come. */
static inline void served_ask(struct served *s, const char *line)
{
	_cleanup_(mem) char *reply = NULL;

	served_send(s, line);
	reply = served_line(s);
	if (!strstr(reply, "\"result\":"))
		fail_msg("%s", reply);
}

static inline void served_open(struct served *s, const char *script)
{
	struct error err = ERROR_INIT;
	struct store_recovery recovery;
	_cleanup_(mem) char *path = NULL, *spec = NULL;
	struct store_options store = {
		.published = publish_event, .parked = parked_found, .arg = &s->d};
	struct sandbox_host host = {.socket = "/daemon.sock", .bot_sockets = "/daemon.sock.d"};
	_cleanup_(fd) int fd = -1;
	int ends[2];

	memset(s, 0, sizeof(*s));
	s->dir = testing_dir();
	s->store = xasprintf("%s/state.sqlite", s->dir);
	path = xasprintf("%s/drill", s->dir);
	spec = xasprintf("drill=rehearsal,%s", path);
	assert_ok(os_open(path, O_WRONLY | O_CREAT, 0600, &fd, &err), &err);
	assert_ok(os_write_all(fd, script, strlen(script), &err), &err);
	s->o = (struct daemon_options){.store = s->store, .socket = "/daemon.sock"};
	s->d = (struct daemon){.o = &s->o, .clock = clock_system(), .loop = loop_new()};
	s->d.live = table_new();
	list_init(&s->d.sessions);
	list_init(&s->d.leases);
	list_init(&s->d.backgrounds);
	publisher_init(&s->d.pub);
	models_init(&s->d.models);
	waiters_init(&s->d.waiters);
	parks_init(&s->d.parks);
	schedule_init(&s->d, 4, 4);
	pause_init(&s->d);
	companions_init(&s->d);
	s->d.providers = providers_new(s->d.loop);
	assert_ok(providers_add(s->d.providers, str_from(spec), &err), &err);
	s->d.secrets = secret_set_new();
	host.store = s->store;
	s->d.sandbox = sandbox_new(&host);
	s->d.host = (struct tool_host){
		.loop = s->d.loop, .sandbox = s->d.sandbox, .secrets = s->d.secrets};
	store.path = s->store;
	store.loop = s->d.loop;
	store.clock = s->d.clock;
	assert_ok(store_open(&store, &s->d.store, &recovery, &err), &err);
	must(sem_init(&s->writer, 0, 0) == 0);
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	s->in = (struct buf)BUF_INIT(4 * 1024 * 1024);
	s->peer = ends[0];
	s->tick = loop_timer_new(s->d.loop, served_tick, s);
	session_new(&s->d, ends[1], NULL);
	free(served_line(s)); /* ready */
}

static inline bool served_is_idle(struct served *s)
{
	return table_count(s->d.live) == 0 && s->d.sched.active == 0 && !s->d.sched.starting;
}

static inline int served_read_nothing(struct store_view *v, void *arg, struct error *err)
{
	(void)v;
	(void)arg;
	(void)err;
	return 0;
}

static inline void served_note_read(void *arg, int rc, const struct error *err)
{
	struct served *s = arg;

	(void)err;
	assert_int_equal(rc, 0);
	s->read_back = true;
}

static inline bool served_has_read(struct served *s)
{
	return s->read_back;
}

static inline void served_close(struct served *s)
{
	served_until(s, served_is_idle);
	/* A turn that was stopped while its context was read goes when that comes back, in order.
	 */
	store_read(s->d.store, served_read_nothing, served_note_read, s);
	served_until(s, served_has_read);
	list_for_each_safe (one, &s->d.sessions, struct session, in_daemon)
		session_close(one);
	served_for(s, 0);
	store_close(s->d.store);
	loop_timer_free(s->tick);
	schedule_release(&s->d);
	pause_release(&s->d);
	models_release(&s->d.models);
	providers_free(s->d.providers);
	fetch_free(s->d.fetch); /* of a test that asks over HTTP */
	parks_release(&s->d.parks);
	waiters_release(&s->d.waiters);
	publisher_release(&s->d.pub);
	table_free(s->d.live);
	loop_free(s->d.loop);
	sandbox_free(s->d.sandbox);
	secret_set_free(s->d.secrets);
	os_close(s->peer);
	for (size_t i = 0; i < s->line_count; i++)
		free(s->lines[i]);
	buf_release(&s->in);
	must(sem_destroy(&s->writer) == 0);
	must(os_remove_tree(s->dir, NULL) == 0);
	free(s->dir);
	free(s->store);
}

#endif
