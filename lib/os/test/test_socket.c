/* socket: private names, and connecting that ends. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "clock/clock.h"
#include "scratch.h"

static void a_listener_is_private_whatever_the_umask(void **state)
{
	/* Each asks for the mode before anyone could have changed it: bind made it. */
	static const struct {
		const char *name;
		mode_t mask;
	} rows[] = {
		{"no umask at all", 0000},
		{"the usual umask", 0022},
		{"a closed umask",  0077},
		{"a shut umask",    0777},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(mem) char *path = xasprintf("%s/s%zu", (char *)*state, i);
		struct error err = ERROR_INIT;
		mode_t old = umask(rows[i].mask), after;
		_cleanup_(fd) int fd = -1;
		int rc = os_listen_private(path, &fd, &err);

		after = umask(old);
		assert_ok(rc, &err);
		assert_int_equal(after, rows[i].mask);
		if (scratch_mode(path) != 0600)
			fail_msg("%s: %o", rows[i].name, scratch_mode(path));
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	}
}

static void a_name_that_is_taken_is_left_alone(void **state)
{
	_cleanup_(mem) char *path = scratch_path(state, "file");
	struct error err = ERROR_INIT;
	struct stat st;
	int fd = -1;

	scratch_write(path, "kept");
	assert_fails(os_listen_private(path, &fd, &err), &err, ERROR_SYS);
	assert_int_equal(err.sys, EADDRINUSE);
	assert_int_equal(fd, -1);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 4);
}

static void paths_fit_to_the_byte(void **state)
{
	size_t room = os_socket_path_max() - 1 - strlen(*state) - 1;
	_cleanup_(mem) char *name = xcalloc(room + 2, 1);
	struct error err = ERROR_INIT;
	int fd = -1;

	assert_int_equal(os_socket_path_max(), 108);
	memset(name, 'n', room);
	{
		_cleanup_(mem) char *fits = scratch_path(state, name);
		_cleanup_(fd) int listener = -1, peer = -1;

		assert_ok(os_listen_private(fits, &listener, &err), &err);
		assert_ok(os_connect_unix(fits, 100, &peer, &err), &err);
	}
	name[room] = 'n';
	{
		_cleanup_(mem) char *over = scratch_path(state, name);

		assert_fails(os_listen_private(over, &fd, &err), &err, ERROR_TOO_LONG);
		assert_fails(os_connect_unix(over, 100, &fd, &err), &err, ERROR_TOO_LONG);
	}
	assert_fails(os_listen_private("", &fd, &err), &err, ERROR_INVALID);
	assert_fails(os_connect_unix("", 100, &fd, &err), &err, ERROR_INVALID);
	assert_int_equal(fd, -1);
}

static void a_connection_carries_bytes_and_blocks(void **state)
{
	_cleanup_(mem) char *path = scratch_path(state, "s");
	_cleanup_(fd) int listener = -1, client = -1, server = -1;
	struct timeval limit = {9, 9};
	socklen_t size = sizeof(limit);
	struct error err = ERROR_INIT;
	char got[8];
	size_t len;

	assert_ok(os_listen_private(path, &listener, &err), &err);
	assert_ok(os_connect_unix(path, 250, &client, &err), &err);
	assert_false(fcntl(client, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(client, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(getsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &limit, &size), 0);
	assert_true(limit.tv_sec == 0 && limit.tv_usec == 0);
	server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(server >= 0);
	assert_ok(os_write_all(client, "hello", 5, &err), &err);
	assert_ok(os_read_full(server, got, 5, &len, &err), &err);
	assert_memory_equal(got, "hello", 5);
}

static void nobody_there_is_told_apart(void **state)
{
	_cleanup_(mem) char *none = scratch_path(state, "none"),
			    *stale = scratch_path(state, "stale");
	_cleanup_(mem) char *file = scratch_path(state, "file");
	struct error err = ERROR_INIT;
	int fd = -1;

	assert_fails(os_connect_unix(none, 250, &fd, &err), &err, ERROR_SYS);
	assert_int_equal(err.sys, ENOENT);
	assert_ok(os_listen_private(stale, &fd, &err), &err);
	os_close(fd_take(&fd));
	assert_fails(os_connect_unix(stale, 250, &fd, &err), &err, ERROR_SYS);
	assert_int_equal(err.sys, ECONNREFUSED);
	scratch_write(file, "x");
	assert_fails(os_connect_unix(file, 250, &fd, &err), &err, ERROR_SYS);
	assert_int_equal(err.sys, ECONNREFUSED);
	assert_int_equal(fd, -1);
}

/* A listener that accepts nobody and whose queue is full. */
static void a_full_queue_ends_at_the_limit(void **state)
{
	_cleanup_(mem) char *path = scratch_path(state, "s");
	_cleanup_(fd) int listener = -1, first = -1, second = -1;
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const struct clock *clock = clock_system();
	struct error err = ERROR_INIT;
	int64_t start_ms, took_ms;

	memcpy(addr.sun_path, path, strlen(path) + 1);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(listener, 0), 0);
	assert_ok(os_connect_unix(path, 1000, &first, &err), &err);
	start_ms = clock_mono_ms(clock);
	assert_fails(os_connect_unix(path, 60, &second, &err), &err, ERROR_SYS);
	took_ms = clock_mono_ms(clock) - start_ms;
	assert_int_equal(err.sys, ETIMEDOUT);
	assert_int_equal(second, -1);
	assert_true(took_ms >= 50);
	assert_fails(os_connect_unix(path, 0, &second, &err), &err,
		ERROR_SYS); /* no wait, not for ever */
	assert_int_equal(err.sys, ETIMEDOUT);
}

static void a_descriptor_goes_with_its_byte(void **state)
{
	_cleanup_(fd) int ours = -1, theirs = -1, got = -1;
	struct error err = ERROR_INIT;
	int ends[2], pipe_ends[2], none = 0;
	char word = 0;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	ours = ends[0];
	theirs = ends[1];
	assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
	assert_int_equal(os_receive_fd(theirs, 0, &word, &got, &err), 0); /* nothing came */
	assert_ok(os_send_fd(ours, '-', -1, &err), &err);
	assert_ok(os_send_fd(ours, '+', pipe_ends[1], &err), &err);
	os_close(pipe_ends[1]);
	assert_int_equal(os_receive_fd(theirs, 100, &word, &none, &err), 1);
	assert_true(word == '-' && none == -1);
	assert_int_equal(os_receive_fd(theirs, 100, &word, &got, &err), 1);
	assert_true(word == '+' && got >= 0 && fcntl(got, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(write(got, "x", 1), 1); /* it is that pipe's end */
	assert_int_equal(read(pipe_ends[0], &word, 1), 1);
	os_close(pipe_ends[0]);
	os_close(fd_take(&ours));
	assert_int_equal(os_receive_fd(theirs, 100, &word, &none, &err), -1);
	assert_int_equal(err.sys, ECONNRESET);
}

/* Whoever sends does not wait for one that does not read. */
static void sending_stops_when_nobody_reads(void **state)
{
	_cleanup_(fd) int ours = -1, theirs = -1;
	struct error err = ERROR_INIT;
	int ends[2], sent = 0;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	ours = ends[0];
	theirs = ends[1];
	while (sent < 1000000 && os_send_fd(ours, '-', -1, &err) == 0)
		sent++;
	assert_true(sent > 16 && sent < 1000000);
	assert_int_equal(err.sys, EAGAIN);
	os_close(fd_take(&theirs));
	assert_int_equal(os_send_fd(ours, '-', -1, &err), -1);
	assert_int_equal(err.sys, EPIPE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(a_listener_is_private_whatever_the_umask),
		scratch_test(a_name_that_is_taken_is_left_alone),
		scratch_test(paths_fit_to_the_byte),
		scratch_test(a_connection_carries_bytes_and_blocks),
		scratch_test(nobody_there_is_told_apart),
		scratch_test(a_full_queue_ends_at_the_limit),
		cmocka_unit_test(a_descriptor_goes_with_its_byte),
		cmocka_unit_test(sending_stops_when_nobody_reads),
	};

	return cmocka_run_group_tests_name("os.socket", tests, NULL, NULL);
}
