/* Requests and replies against a scripted peer on a socket of this test's own. */
#include "testing.h"

#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "client/client.h"
#include "os/os.h"

/* A peer that accepts once, sends what it is told in small pieces, and closes when its peer does.
 */
struct peer {
	int listener;
	const char *says;
	bool close_after;
	pthread_t thread;
	char *dir, *path;
	char heard[4096];
};

static void *peer_run(void *arg)
{
	struct peer *p = arg;
	int fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
	size_t heard = 0;
	ssize_t n;

	for (const char *s = p->says; *s; s++)
		must(write(fd, s, 1) == 1);
	if (p->close_after)
		(void)shutdown(fd, SHUT_WR);
	while ((n = read(fd, p->heard + heard, sizeof(p->heard) - 1 - heard)) > 0)
		heard += (size_t)n;
	p->heard[heard] = '\0';
	close(fd);
	return NULL;
}

static void peer_start(struct peer *p, const char *says, bool close_after)
{
	struct error err = ERROR_INIT;

	*p = (struct peer){.says = says, .close_after = close_after, .dir = testing_dir()};
	p->path = xasprintf("%s/s", p->dir);
	assert_ok(os_listen_private(p->path, &p->listener, &err), &err);
	/* the listener is non-blocking: wait in accept instead */
	{
		struct timeval limit = {.tv_sec = 10};
		int flags = 0;

		must(setsockopt(p->listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0);
		must(ioctl(p->listener, FIONBIO, &flags) == 0);
	}
	must(pthread_create(&p->thread, NULL, peer_run, p) == 0);
}

static void peer_stop(struct peer *p)
{
	struct error err = ERROR_INIT;

	must(pthread_join(p->thread, NULL) == 0);
	os_close(p->listener);
	assert_ok(os_remove_tree(p->dir, &err), &err);
	free(p->dir);
	free(p->path);
}

static void note_event(void *arg, const struct json *line)
{
	int *count = arg;

	assert_string_equal(json_str(json_get(line, "event")).p, "created");
	(*count)++;
}

static void a_reply_is_found_between_events(void **state)
{
	struct peer p;
	struct client *c;
	struct error err = ERROR_INIT;
	const struct json *result;
	int events = 0;

	(void)state;
	peer_start(&p,
		"{\"event\":\"ready\",\"protocol\":3}\n"
		"{\"event\":\"created\",\"cursor\":1}\n{\"id\":7,\"result\":{}}\n"
		"{\"event\":\"created\",\"cursor\":2}\n{\"id\":1,\"result\":{\"x\":\"y\"}}\n",
		false);
	assert_ok(client_open(p.path, NULL, &c, &err), &err);
	client_on_event(c, note_event, &events);
	assert_ok(client_call(c, STR("\"op\":\"stats\""), 5000, &result, &err), &err);
	assert_int_equal(events, 2);
	assert_string_equal(json_str(json_get(result, "x")).p, "y");
	client_free(c);
	peer_stop(&p);
	assert_string_equal(p.heard, "{\"id\":1,\"op\":\"stats\"}\n");
}

static void an_error_reply_keeps_its_code(void **state)
{
	struct peer p;
	struct client *c;
	struct error err = ERROR_INIT;
	const struct json *result;

	(void)state;
	peer_start(&p,
		"{\"event\":\"ready\"}\n{\"id\":1,\"error\":\"bot_not_found\",\"detail\":\"no bot "
		"'x'\"}\n",
		false);
	assert_ok(client_open(p.path, NULL, &c, &err), &err);
	assert_fails(client_call(c, STR("\"op\":\"inspect\""), 5000, &result, &err), &err,
		CLIENT_REMOTE);
	assert_string_equal(client_remote_code(c), "bot_not_found");
	assert_string_equal(err.text, "no bot 'x'");
	client_free(c);
	peer_stop(&p);
}

static void what_is_no_daemon_is_said(void **state)
{
	static const struct {
		const char *name, *says;
	} rows[] = {
		{"another protocol", "HTTP/1.1 400 Bad Request\r\n\r\n"},
		{"another object",   "{\"event\":\"hello\"}\n"         },
		{"an early end",     "{\"event\":\"rea"                },
		{"nothing",          ""				},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct peer p;
		struct client *c = NULL;
		struct error err = ERROR_INIT;

		peer_start(&p, rows[i].says, true);
		assert_fails(client_open(p.path, NULL, &c, &err), &err, CLIENT_LOST);
		peer_stop(&p);
	}
}

static void a_connection_lost_in_a_call_is_an_error(void **state)
{
	struct peer p;
	struct client *c;
	struct error err = ERROR_INIT;
	const struct json *result;

	(void)state;
	peer_start(&p, "{\"event\":\"ready\"}\n{\"id\":1,\"resu", true);
	assert_ok(client_open(p.path, NULL, &c, &err), &err);
	assert_fails(
		client_call(c, STR("\"op\":\"stats\""), 5000, &result, &err), &err, CLIENT_LOST);
	client_free(c);
	peer_stop(&p);
}

static void no_daemon_is_said(void **state)
{
	_cleanup_(mem) char *dir = testing_dir(), *path = NULL;
	struct client *c = NULL;
	struct error err = ERROR_INIT;

	(void)state;
	path = xasprintf("%s/none", dir);
	assert_fails(client_open(path, NULL, &c, &err), &err, CLIENT_NO_DAEMON);
	assert_ok(os_remove_tree(dir, &err), &err);
}

static void a_daemon_that_cannot_start_is_said(void **state)
{
	_cleanup_(mem) char *dir = testing_dir(), *path = NULL, *log = NULL;
	char *argv[] = {"false", NULL};
	struct client_start start = {.program = "/bin/false", .argv = argv};
	struct client *c = NULL;
	struct error err = ERROR_INIT;
	struct stat st;

	(void)state;
	path = xasprintf("%s/none", dir);
	log = xasprintf("%s/log", dir);
	start.log = log;
	assert_fails(client_open(path, &start, &c, &err), &err, CLIENT_START_FAILED);
	assert_int_equal(stat(log, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	start.program = "/nonexistent/agent";
	assert_fails(client_open(path, &start, &c, &err), &err, CLIENT_START_FAILED);
	assert_ok(os_remove_tree(dir, &err), &err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reply_is_found_between_events),
		cmocka_unit_test(an_error_reply_keeps_its_code),
		cmocka_unit_test(what_is_no_daemon_is_said),
		cmocka_unit_test(a_connection_lost_in_a_call_is_an_error),
		cmocka_unit_test(no_daemon_is_said),
		cmocka_unit_test(a_daemon_that_cannot_start_is_said),
	};

	return cmocka_run_group_tests_name("client.call", tests, NULL, NULL);
}
