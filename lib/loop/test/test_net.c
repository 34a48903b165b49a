/* loop: names and connections. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "loop/loop.h"
#include "os/os.h"
#include "testing.h"

/* What a lookup or a connection told. */
struct told {
	struct loop *loop;
	struct loop_lookup *lookup;
	struct loop_connect *connect;
	int calls;
	size_t count;
	union loop_address first;
	int fd;
	struct error err;
};

static void told_init(struct told *t)
{
	*t = (struct told){.loop = loop_new(), .fd = -1};
}

static void told_release(struct told *t)
{
	os_close(t->fd);
	loop_lookup_free(t->lookup);
	loop_connect_free(t->connect);
	loop_free(t->loop);
}

static void on_found(void *arg, const union loop_address *a, size_t count, const struct error *err)
{
	struct told *t = arg;

	t->calls++;
	t->count = count;
	if (count > 0)
		t->first = a[0];
	if (err)
		t->err = *err;
	assert_true((count > 0) == (err == NULL));
}

static void on_connected(void *arg, int fd, const struct error *err)
{
	struct told *t = arg;

	t->calls++;
	t->fd = fd;
	if (err)
		t->err = *err;
	assert_true((fd >= 0) == (err == NULL));
	loop_connect_free(t->connect); /* inside its own call */
	t->connect = NULL;
}

/* A socket of 127.0.0.1 at a port of its own. */
static int bound_socket(union loop_address *ret)
{
	socklen_t len = sizeof(ret->v4);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_true(loop_address_parse("127.0.0.1", 0, ret));
	assert_int_equal(bind(fd, &ret->any, sizeof(ret->v4)), 0);
	assert_int_equal(getsockname(fd, &ret->any, &len), 0);
	return fd;
}

static void addresses_in_numbers_are_read(void **state)
{
	static const struct {
		const char *text;
		int family; /* 0: refused */
	} rows[] = {
		{"127.0.0.1",       AF_INET },
		{"255.255.255.255", AF_INET },
		{"::1",             AF_INET6},
		{"2001:db8::1:0:7", AF_INET6},
		{"::ffff:1.2.3.4",  AF_INET6},
		{"localhost",       0       },
		{"[::1]",           0       },
		{"127.1",           0       },
		{"1.2.3.256",       0       },
		{"",                0       },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		union loop_address a = {.any = {.sa_family = AF_UNSPEC}};

		assert_int_equal(loop_address_parse(rows[i].text, 80, &a), rows[i].family != 0);
		assert_int_equal(a.any.sa_family, rows[i].family ? rows[i].family : AF_UNSPEC);
		if (rows[i].family == AF_INET)
			assert_int_equal(ntohs(a.v4.sin_port), 80);
		if (rows[i].family == AF_INET6)
			assert_int_equal(ntohs(a.v6.sin6_port), 80);
	}
}

static void a_name_is_looked_up(void **state)
{
	struct told t;

	(void)state;
	told_init(&t);
	t.lookup = loop_lookup_new(t.loop, "localhost", 4711, on_found, &t);
	assert_int_equal(t.calls, 0);
	loop_run(t.loop);
	assert_int_equal(t.calls, 1);
	assert_true(t.count > 0);
	assert_int_equal(ntohs(t.first.v4.sin_port), 4711); /* at one place in both families */
	told_release(&t);
}

/* A label this long is asked of no server. */
static const char too_long[] =
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

static void a_name_without_address_is_said(void **state)
{
	struct told t;

	(void)state;
	told_init(&t);
	t.lookup = loop_lookup_new(t.loop, too_long, 80, on_found, &t);
	loop_run(t.loop);
	assert_int_equal(t.calls, 1);
	assert_true(error_is(&t.err, &LOOP_NO_ADDRESS));
	assert_non_null(strstr(t.err.text, too_long));
	told_release(&t);
}

static void a_lookup_given_up_says_nothing(void **state)
{
	struct told t;

	(void)state;
	told_init(&t);
	for (int i = 0; i < 8; i++) /* more than the pool has threads */
		loop_lookup_free(loop_lookup_new(t.loop, "localhost", 80, on_found, &t));
	loop_lookup_free(NULL);
	loop_run(t.loop);
	assert_int_equal(t.calls, 0);
	told_release(&t);
}

static void a_connection_is_made(void **state)
{
	union loop_address a;
	int server = bound_socket(&a), on = 0;
	socklen_t len = sizeof(on);
	struct told t;

	(void)state;
	told_init(&t);
	assert_int_equal(listen(server, 8), 0);
	t.connect = loop_connect_new(t.loop, &a, 1, on_connected, &t);
	assert_int_equal(t.calls, 0);
	loop_run(t.loop);
	assert_int_equal(t.calls, 1);
	assert_int_equal(getsockopt(t.fd, IPPROTO_TCP, TCP_NODELAY, &on, &len), 0);
	assert_true(on != 0);
	os_close(server);
	told_release(&t);
}

static void one_that_refuses_is_passed_over(void **state)
{
	union loop_address a[3];
	int closed = bound_socket(&a[0]), server = bound_socket(&a[2]);
	struct told t;

	(void)state;
	told_init(&t);
	a[1] = a[0];
	assert_int_equal(listen(server, 8), 0);
	t.connect = loop_connect_new(t.loop, a, 3, on_connected, &t);
	loop_run(t.loop);
	assert_int_equal(t.calls, 1);
	assert_true(t.fd >= 0);
	os_close(closed);
	os_close(server);
	told_release(&t);
}

static void the_last_refusal_is_told(void **state)
{
	union loop_address a[2];
	int first = bound_socket(&a[0]), second = bound_socket(&a[1]);
	char port[16];
	struct told t;

	(void)state;
	told_init(&t);
	t.connect = loop_connect_new(t.loop, a, 2, on_connected, &t);
	loop_run(t.loop);
	assert_int_equal(t.calls, 1);
	assert_true(error_is(&t.err, &LOOP_NO_CONNECTION));
	assert_int_equal(t.err.sys, ECONNREFUSED);
	(void)snprintf(port, sizeof(port), "port %u:", ntohs(a[1].v4.sin_port));
	assert_non_null(strstr(t.err.text, port));
	os_close(first);
	os_close(second);
	told_release(&t);
}

/* A listener whose queue is full lets a new connection wait for ever. */
static int silent_server(union loop_address *ret, int fill[], size_t count)
{
	int server = bound_socket(ret);

	assert_int_equal(listen(server, 0), 0);
	for (size_t i = 0; i < count; i++) {
		fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		(void)connect(fill[i], &ret->any, sizeof(ret->v4)); /* in progress is enough */
	}
	return server;
}

static void one_that_is_silent_is_not_waited_for(void **state)
{
	const struct clock *clock = clock_system();
	union loop_address a[2];
	int fill[4], silent = silent_server(&a[0], fill, ARRAY_LEN(fill));
	int server = bound_socket(&a[1]);
	int64_t start_ms = clock_mono_ms(clock);
	struct told t;

	(void)state;
	told_init(&t);
	assert_int_equal(listen(server, 8), 0);
	t.connect = loop_connect_new(t.loop, a, 2, on_connected, &t);
	loop_run(t.loop);
	assert_int_equal(t.calls, 1);
	assert_true(t.fd >= 0);
	assert_true(clock_mono_ms(clock) - start_ms >= 240);
	for (size_t i = 0; i < ARRAY_LEN(fill); i++)
		os_close(fill[i]);
	os_close(silent);
	os_close(server);
	told_release(&t);
}

static void a_connection_given_up_says_nothing(void **state)
{
	union loop_address a[2];
	int server = bound_socket(&a[0]), closed = bound_socket(&a[1]);
	struct told t;

	(void)state;
	told_init(&t);
	assert_int_equal(listen(server, 8), 0);
	loop_connect_free(loop_connect_new(t.loop, a, 2, on_connected, &t));
	loop_connect_free(loop_connect_new(t.loop, &a[1], 1, on_connected, &t));
	loop_connect_free(NULL);
	loop_run(t.loop);
	assert_int_equal(t.calls, 0);
	os_close(server);
	os_close(closed);
	told_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_in_numbers_are_read),
		cmocka_unit_test(a_name_is_looked_up),
		cmocka_unit_test(a_name_without_address_is_said),
		cmocka_unit_test(a_lookup_given_up_says_nothing),
		cmocka_unit_test(a_connection_is_made),
		cmocka_unit_test(one_that_refuses_is_passed_over),
		cmocka_unit_test(the_last_refusal_is_told),
		cmocka_unit_test(one_that_is_silent_is_not_waited_for),
		cmocka_unit_test(a_connection_given_up_says_nothing),
	};

	return cmocka_run_group_tests_name("loop net", tests, NULL, NULL);
}
