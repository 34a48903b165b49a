/* A session by the inherited descriptor, against a daemon's end that this test holds. */
#include "testing.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>

#include "client/client.h"
#include "os/os.h"

#define READY "{\"event\":\"ready\",\"pid\":1}\n"

/* The daemon's end: answers each byte with the next of `says`. */
struct daemon_end {
	int fd;
	const char *says; /* '+' or '-' */
	const char *line; /* what a new session begins with */
	size_t asked;
	pthread_t thread;
};

static void hand_out(struct daemon_end *d)
{
	_cleanup_(fd) int ours = -1, theirs = -1;
	int ends[2];

	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	ours = ends[0];
	theirs = ends[1];
	must(write(ours, d->line, strlen(d->line)) == (ssize_t)strlen(d->line));
	must(os_send_fd(d->fd, '+', theirs, NULL) == 0);
}

static void *run(void *arg)
{
	struct daemon_end *d = arg;
	char byte;

	while (d->says[d->asked] && read(d->fd, &byte, 1) == 1) {
		if (d->says[d->asked++] == '+')
			hand_out(d);
		else
			must(os_send_fd(d->fd, '-', -1, NULL) == 0);
	}
	os_close(d->fd);
	return NULL;
}

/* The command's end. */
static int start(struct daemon_end *d, const char *says, const char *line)
{
	_cleanup_(mem) char *number = NULL;
	int ends[2];

	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	*d = (struct daemon_end){.fd = ends[0], .says = says, .line = line};
	must(pthread_create(&d->thread, NULL, run, d) == 0);
	number = xasprintf("%d", ends[1]);
	must(setenv("AGENT_SOCKET_FD", number, 1) == 0);
	return ends[1];
}

static void end(struct daemon_end *d, int fd)
{
	os_close(fd);
	must(pthread_join(d->thread, NULL) == 0);
	must(unsetenv("AGENT_SOCKET_FD") == 0);
}

static void every_open_is_a_session_of_its_own(void **state)
{
	struct client *first = NULL, *second = NULL;
	struct error err = ERROR_INIT;
	struct daemon_end d;
	int fd = start(&d, "++", READY);

	(void)state;
	assert_int_equal(client_open_inherited(&first, &err), 1);
	assert_int_equal(client_open_inherited(&second, &err), 1);
	assert_int_not_equal(client_fd(first), client_fd(second));
	assert_true(fcntl(client_fd(first), F_GETFD) & FD_CLOEXEC);
	assert_non_null(json_get(client_ready(first), "pid"));
	client_free(first);
	client_free(second);
	end(&d, fd);
}

static void a_refusal_is_told_apart_from_a_loss(void **state)
{
	static const struct {
		const char *name, *says, *line;
		const struct error_kind *kind;
	} rows[] = {
		{"none is given",      "-", READY,                                         &CLIENT_REFUSED},
		{"one that is closed", "+", "{\"id\":null,\"error\":\"session_limit\"}\n",
                 &CLIENT_REFUSED									  },
		{"somebody else",      "+", "220 mail\n",                                  &CLIENT_LOST   },
		{"a number",           "+", "17\n",                                        &CLIENT_LOST   },
		{"the daemon is gone", "",  READY,                                         &CLIENT_LOST   },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct error err = ERROR_INIT;
		struct client *c = NULL;
		struct daemon_end d;
		int fd = start(&d, rows[i].says, rows[i].line);

		assert_int_equal(client_open_inherited(&c, &err), -1);
		if (err.kind != rows[i].kind)
			fail_msg("%s: %s", rows[i].name, err.text);
		assert_null(c);
		end(&d, fd);
	}
}

/* A program between may close what it does not know, and the number be another file's. */
static void what_is_no_such_descriptor_is_passed_over(void **state)
{
	static const char *const values[] = {"", "x", "-1", "3 ", "70000", "65000"};
	struct error err = ERROR_INIT;
	struct client *c = NULL;
	_cleanup_(mem) char *number = NULL;
	int pipe_ends[2];

	(void)state;
	must(unsetenv("AGENT_SOCKET_FD") == 0);
	assert_int_equal(client_open_inherited(&c, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		must(setenv("AGENT_SOCKET_FD", values[i], 1) == 0);
		assert_int_equal(client_open_inherited(&c, &err), 0);
	}
	must(pipe2(pipe_ends, O_CLOEXEC) == 0);
	number = xasprintf("%d", pipe_ends[0]);
	must(setenv("AGENT_SOCKET_FD", number, 1) == 0);
	assert_int_equal(client_open_inherited(&c, &err), 0);
	os_close(pipe_ends[0]);
	os_close(pipe_ends[1]);
	must(unsetenv("AGENT_SOCKET_FD") == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_open_is_a_session_of_its_own),
		cmocka_unit_test(a_refusal_is_told_apart_from_a_loss),
		cmocka_unit_test(what_is_no_such_descriptor_is_passed_over),
	};

	return cmocka_run_group_tests_name("client.inherited", tests, NULL, NULL);
}
