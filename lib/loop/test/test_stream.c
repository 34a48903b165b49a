/* loop: streams: back-pressure, ends, big queues, peers that vanish. */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "loop/loop.h"
#include "os/os.h"
#include "testing.h"

enum { BIG_BYTES = 8 * 1024 * 1024 };

/* One side of a stream and what it was told. */
struct side {
	struct loop *loop;
	struct loop_stream *stream;
	struct buf got;
	int data_calls, ended_calls, drained_calls;
	int ended_sys; /* errno it ended with, 0 for EOF */
	bool close_on_data, pause_on_data, close_on_drained;
	struct loop_stream *close_too; /* another one, closed when this one ends */
};

static void on_data(void *arg, const char *p, size_t len)
{
	struct side *s = arg;

	s->data_calls++;
	assert_int_equal(s->ended_calls, 0);
	must(buf_put(&s->got, p, len) == 0);
	if (s->pause_on_data)
		loop_stream_pause(s->stream);
	if (s->close_on_data) {
		loop_stream_close(s->stream);
		s->stream = NULL;
	}
}

static void close_side(struct side *s)
{
	loop_stream_close(s->stream);
	s->stream = NULL;
}

static void on_ended(void *arg, const struct error *err)
{
	struct side *s = arg;

	s->ended_calls++;
	s->ended_sys = err ? err->sys : 0;
	close_side(s);
	loop_stream_close(s->close_too);
	s->close_too = NULL;
}

static void on_drained(void *arg)
{
	struct side *s = arg;

	s->drained_calls++;
	assert_int_equal(loop_stream_queued(s->stream), 0);
	if (s->close_on_drained)
		close_side(s);
}

static const struct loop_stream_callbacks callbacks = {on_data, on_ended, on_drained};

static void side_open(struct side *s, struct loop *l, int fd, int write_fd)
{
	*s = (struct side){.loop = l, .got = BUF_INIT(2 * BIG_BYTES)};
	s->stream = loop_stream_new(l, fd, write_fd, &callbacks, s);
}

static void socket_pair(int fds[2])
{
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
}

static void side_release(struct side *s)
{
	loop_stream_close(s->stream);
	buf_release(&s->got);
}

static char *pattern(size_t len)
{
	char *p = xmalloc(len);

	for (size_t i = 0; i < len; i++)
		p[i] = (char)(i * 2654435761u >> 13);
	return p;
}

static void assert_pattern(const struct buf *got, size_t len)
{
	_cleanup_(mem) char *want = pattern(len);

	assert_int_equal(got->len, len);
	assert_memory_equal(got->data, want, len);
}

static void megabytes_arrive_whole_whatever_the_pieces(void **state)
{
	static const struct {
		const char *name;
		size_t piece;
	} rows[] = {
		{"in one write",           BIG_BYTES},
		{"in odd pieces",          4097     },
		{"in pieces of one chunk", 16384    },
		{"in small packets",       113      },
	};
	_cleanup_(mem) char *sent = pattern(BIG_BYTES);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct loop *l = loop_new();
		struct side a, b;
		int fds[2];

		socket_pair(fds);
		side_open(&a, l, fds[0], -1);
		side_open(&b, l, fds[1], -1);
		for (size_t at = 0; at < BIG_BYTES; at += rows[i].piece)
			loop_stream_write(a.stream, sent + at,
				BIG_BYTES - at < rows[i].piece ? BIG_BYTES - at : rows[i].piece);
		assert_true(loop_stream_queued(a.stream) > 0);
		assert_int_equal(a.drained_calls, 0);
		loop_stream_end_writes(a.stream);
		a.close_on_drained = true;
		loop_run(l);
		assert_int_equal(a.drained_calls, 1);
		assert_int_equal(b.ended_calls, 1);
		assert_int_equal(b.ended_sys, 0);
		assert_pattern(&b.got, BIG_BYTES);
		side_release(&a);
		side_release(&b);
		loop_free(l);
	}
}

static void two_pipes_make_a_stream(void **state)
{
	struct loop *l = loop_new();
	struct side a, b;
	int to[2], from[2];

	(void)state;
	must(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
	side_open(&a, l, from[0], to[1]);
	side_open(&b, l, to[0], from[1]);
	loop_stream_write(a.stream, "ping", 4);
	loop_stream_write(b.stream, "pong", 4);
	loop_stream_end_writes(a.stream);
	loop_stream_end_writes(b.stream);
	loop_stream_end_writes(b.stream);
	loop_stream_write(b.stream, "late", 4); /* said to be the end */
	loop_run(l);
	assert_string_equal(a.got.data, "pong");
	assert_string_equal(b.got.data, "ping");
	assert_int_equal(a.ended_calls, 1);
	assert_int_equal(b.ended_calls, 1);
	side_release(&a);
	side_release(&b);
	loop_free(l);
}

static void run_briefly(struct loop *l);

static void a_paused_stream_makes_the_writer_wait(void **state)
{
	_cleanup_(mem) char *sent = pattern(BIG_BYTES);
	struct loop *l = loop_new();
	struct side a, b;
	int fds[2];
	size_t waiting;

	(void)state;
	socket_pair(fds);
	side_open(&a, l, fds[0], -1);
	side_open(&b, l, fds[1], -1);
	b.pause_on_data = true;
	loop_stream_write(a.stream, sent, BIG_BYTES);
	run_briefly(l);
	assert_int_equal(b.data_calls, 1);
	waiting = loop_stream_queued(a.stream);
	assert_true(waiting > BIG_BYTES / 2);
	run_briefly(l);
	assert_int_equal(b.data_calls, 1);
	assert_int_equal(loop_stream_queued(a.stream), waiting);
	b.pause_on_data = false;
	loop_stream_resume(b.stream);
	assert_int_equal(b.data_calls, 1); /* not inside the call */
	loop_stream_end_writes(a.stream);
	a.close_on_drained = true;
	loop_run(l);
	assert_pattern(&b.got, BIG_BYTES);
	side_release(&a);
	side_release(&b);
	loop_free(l);
}

static void stop_now(void *arg)
{
	loop_stop(arg);
}

static void run_briefly(struct loop *l)
{
	struct loop_timer *t = loop_timer_new(l, stop_now, l);

	loop_timer_set(t, 15);
	loop_run(l);
	loop_timer_free(t);
}

static void a_paused_stream_whose_peer_left_costs_nothing(void **state)
{
	struct loop *l = loop_new();
	struct rusage before, after;
	struct side a;
	int fds[2];
	long used_us;

	(void)state;
	socket_pair(fds);
	side_open(&a, l, fds[0], -1);
	loop_stream_pause(a.stream);
	os_close(fds[1]);
	must(getrusage(RUSAGE_SELF, &before) == 0);
	for (int i = 0; i < 4; i++)
		run_briefly(l);
	must(getrusage(RUSAGE_SELF, &after) == 0);
	used_us = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000000 +
		  after.ru_utime.tv_usec - before.ru_utime.tv_usec;
	assert_true(used_us < 40000); /* of 60 ms: no spinning on the hang-up */
	assert_int_equal(a.ended_calls, 0);
	loop_stream_resume(a.stream);
	loop_run(l);
	assert_int_equal(a.ended_calls, 1);
	side_release(&a);
	loop_free(l);
}

static void what_came_before_the_peer_left_is_read(void **state)
{
	struct loop *l = loop_new();
	struct side a;
	int fds[2];

	(void)state;
	socket_pair(fds);
	must(write(fds[1], "last words", 10) == 10);
	os_close(fds[1]);
	side_open(&a, l, fds[0], -1);
	loop_stream_write(a.stream, "too late", 8); /* EPIPE */
	assert_int_equal(a.ended_calls, 0);
	loop_run(l);
	assert_string_equal(a.got.data, "last words");
	assert_int_equal(a.ended_calls, 1);
	assert_int_equal(a.ended_sys, EPIPE);
	side_release(&a);
	loop_free(l);
}

static void a_half_closed_socket_still_takes_writes(void **state)
{
	struct loop *l = loop_new();
	struct side a;
	char answer[8] = "";
	int fds[2];

	(void)state;
	socket_pair(fds);
	must(write(fds[1], "ask", 3) == 3 && shutdown(fds[1], SHUT_WR) == 0);
	a = (struct side){.loop = l, .got = BUF_INIT(64)};
	a.stream = loop_stream_new(
		l, fds[0], -1, &(struct loop_stream_callbacks){on_data, on_ended, NULL}, &a);
	a.close_on_data = false;
	/* on_ended closes; answer before, as an owner that got a whole request does */
	loop_stream_write(a.stream, "told", 4);
	loop_run(l);
	assert_string_equal(a.got.data, "ask");
	assert_int_equal(a.ended_sys, 0);
	assert_int_equal(read(fds[1], answer, sizeof(answer) - 1), 4);
	assert_string_equal(answer, "told");
	os_close(fds[1]);
	side_release(&a);
	loop_free(l);
}

static void a_broken_pipe_is_told_at_once(void **state)
{
	struct loop *l = loop_new();
	struct side a;
	int to[2], from[2];

	(void)state;
	must(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
	os_close(to[0]);
	side_open(&a, l, from[0], to[1]); /* from[1] stays open: nothing to read, no end */
	loop_stream_write(a.stream, "x", 1);
	assert_int_equal(a.ended_calls, 0);
	loop_run(l);
	assert_int_equal(a.ended_calls, 1);
	assert_int_equal(a.ended_sys, EPIPE);
	os_close(from[1]);
	side_release(&a);
	loop_free(l);
}

static void a_reader_lost_while_the_queue_waits_is_told(void **state)
{
	_cleanup_(mem) char *sent = pattern(BIG_BYTES);
	struct loop *l = loop_new();
	struct side a;
	int to[2];

	(void)state;
	must(pipe2(to, O_CLOEXEC) == 0);
	side_open(&a, l, -1, to[1]); /* only writes */
	loop_stream_write(a.stream, sent, BIG_BYTES);
	run_briefly(l);
	assert_int_equal(a.ended_calls, 0);
	os_close(to[0]);
	loop_run(l);
	assert_int_equal(a.ended_calls, 1);
	assert_int_equal(a.ended_sys, EPIPE);
	side_release(&a);
	loop_free(l);
}

static void a_stream_can_be_closed_inside_its_callbacks(void **state)
{
	struct loop *l = loop_new();
	struct side a, b;
	int fds[2];

	(void)state;
	socket_pair(fds);
	side_open(&a, l, fds[0], -1);
	side_open(&b, l, fds[1], -1);
	b.close_on_data = true;
	loop_stream_write(a.stream, "x", 1);
	loop_stream_write(b.stream, "y", 1);
	loop_run(l);
	assert_int_equal(b.data_calls, 1);
	assert_int_equal(b.ended_calls, 0);
	assert_int_equal(a.ended_calls, 1);
	loop_stream_close(NULL);
	side_release(&a);
	side_release(&b);
	loop_free(l);
}

static void closing_drops_what_is_queued_and_the_descriptor(void **state)
{
	_cleanup_(mem) char *sent = pattern(BIG_BYTES);
	struct loop *l = loop_new();
	struct side a;
	int fds[2];

	(void)state;
	socket_pair(fds);
	side_open(&a, l, fds[0], -1);
	loop_stream_write(a.stream, sent, BIG_BYTES);
	loop_stream_close(a.stream);
	a.stream = NULL;
	assert_int_equal(fcntl(fds[0], F_GETFD), -1);
	loop_run(l);
	assert_int_equal(a.data_calls + a.ended_calls + a.drained_calls, 0);
	os_close(fds[1]);
	side_release(&a);
	loop_free(l);
}

static void a_file_and_dev_null_are_streams_too(void **state)
{
	_cleanup_(mem) char *sent = pattern(300000);
	char name[] = "/var/tmp/consort-test-XXXXXX";
	struct loop *l = loop_new();
	struct side a, b;
	int fd = mkostemp(name, O_CLOEXEC);

	(void)state;
	must(fd >= 0 && write(fd, sent, 300000) == 300000 && lseek(fd, 0, SEEK_SET) == 0);
	must(unlink(name) == 0);
	side_open(&a, l, fd, open("/dev/null", O_WRONLY | O_CLOEXEC));
	loop_stream_write(a.stream, sent, 300000);
	assert_int_equal(loop_stream_queued(a.stream), 0);
	side_open(&b, l, open("/dev/null", O_RDWR | O_CLOEXEC), -1);
	loop_run(l);
	assert_pattern(&a.got, 300000);
	assert_int_equal(a.ended_calls, 1);
	assert_int_equal(a.drained_calls, 1);
	assert_int_equal(b.ended_calls, 1);
	assert_int_equal(b.ended_sys, 0);
	side_release(&a);
	side_release(&b);
	loop_free(l);
}

static void draining_reads_what_is_there_and_no_more(void **state)
{
	struct loop *l = loop_new();
	struct side a;
	int fds[2];

	(void)state;
	must(pipe2(fds, O_CLOEXEC) == 0);
	must(write(fds[1], "now", 3) == 3);
	side_open(&a, l, fds[0], open("/dev/null", O_WRONLY | O_CLOEXEC));
	loop_stream_drain(a.stream, 1000);
	assert_string_equal(a.got.data, "now");
	assert_int_equal(a.ended_calls, 0); /* someone still holds the other end */
	os_close(fds[1]);
	loop_stream_drain(a.stream, 1000);
	assert_int_equal(a.ended_calls, 1);
	side_release(&a);
	loop_free(l);
}

/* The descriptor of a finished write end is reused at once: closing the old stream must not take
 * the new one off the loop. */
static void a_number_used_again_is_not_confused(void **state)
{
	struct loop *l = loop_new();
	struct side a, b;
	int to[2], from[2], fds[2];

	(void)state;
	must(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
	side_open(&a, l, from[0], to[1]);
	loop_stream_end_writes(a.stream);
	must(pipe2(fds, O_CLOEXEC) == 0);
	assert_int_equal(fds[0], to[1]); /* lowest free number */
	side_open(&b, l, fds[0], open("/dev/null", O_WRONLY | O_CLOEXEC));
	run_briefly(l);
	loop_stream_close(a.stream);
	a.stream = NULL;
	must(write(fds[1], "hello", 5) == 5);
	os_close(fds[1]);
	loop_run(l);
	assert_string_equal(b.got.data, "hello");
	assert_int_equal(b.ended_calls, 1);
	os_close(to[0]);
	os_close(from[1]);
	side_release(&a);
	side_release(&b);
	loop_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(megabytes_arrive_whole_whatever_the_pieces),
		cmocka_unit_test(two_pipes_make_a_stream),
		cmocka_unit_test(a_paused_stream_makes_the_writer_wait),
		cmocka_unit_test(a_paused_stream_whose_peer_left_costs_nothing),
		cmocka_unit_test(what_came_before_the_peer_left_is_read),
		cmocka_unit_test(a_half_closed_socket_still_takes_writes),
		cmocka_unit_test(a_broken_pipe_is_told_at_once),
		cmocka_unit_test(a_reader_lost_while_the_queue_waits_is_told),
		cmocka_unit_test(a_stream_can_be_closed_inside_its_callbacks),
		cmocka_unit_test(closing_drops_what_is_queued_and_the_descriptor),
		cmocka_unit_test(a_file_and_dev_null_are_streams_too),
		cmocka_unit_test(draining_reads_what_is_there_and_no_more),
		cmocka_unit_test(a_number_used_again_is_not_confused),
	};

	return cmocka_run_group_tests_name("loop streams", tests, NULL, NULL);
}
