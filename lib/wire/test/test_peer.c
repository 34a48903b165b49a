/* wire: peers: caps on what goes out, pauses, ends, farewells, peers that never read. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include "os/os.h"
#include "testing.h"
#include "wire/wire.h"

struct owner {
	struct loop *loop;
	struct wire_peer *peer;
	struct buf got; /* each line in brackets */
	int lines, closed, drained;
	struct error end;
	int pause_after, finish_after, free_after, resume_in; /* a count of lines; 0: never */
	const char *answer;                                   /* sent for each line */
	const char *farewell;
	bool keep; /* not freed in closed() */
};

static void on_line(void *arg, struct str line)
{
	struct owner *o = arg;

	o->lines++;
	if (o->answer)
		(void)wire_peer_send(o->peer, str_from(o->answer));
	if (o->lines == o->pause_after)
		wire_peer_pause(o->peer);
	if (o->lines == o->finish_after)
		wire_peer_finish(o->peer);
	if (o->lines == o->free_after)
		wire_peer_free(mem_take(&o->peer));
	must(buf_printf(&o->got, "[" STR_FMT "]", STR_ARG(line)) == 0); /* last: still readable */
}

static void on_closed(void *arg, const struct error *err)
{
	struct owner *o = arg;

	o->closed++;
	if (err)
		o->end = *err;
	if (o->farewell)
		wire_peer_farewell(mem_take(&o->peer), str_from(o->farewell));
	else if (!o->keep)
		wire_peer_free(mem_take(&o->peer));
}

static void on_drained(void *arg)
{
	struct owner *o = arg;

	o->drained++;
}

static const struct wire_callbacks callbacks = {on_line, on_closed, on_drained};

/* Returns the other side: a plain blocking socket. */
static int owner_open(struct owner *o)
{
	int fds[2];

	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
	*o = (struct owner){
		.loop = loop_new(), .got = BUF_INIT(4 * 1024 * 1024), .end = ERROR_INIT};
	o->peer = wire_peer_new(o->loop, fds[0], -1, &callbacks, o);
	return fds[1];
}

static void owner_release(struct owner *o)
{
	wire_peer_free(o->peer);
	loop_free(o->loop);
	buf_release(&o->got);
}

static void stop_now(void *arg)
{
	loop_stop(arg);
}

static void run_briefly(struct loop *l)
{
	struct loop_timer *t = loop_timer_new(l, stop_now, l);

	loop_timer_set(t, 10);
	loop_run(l);
	loop_timer_free(t);
}

static void say(int fd, const char *text)
{
	must(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

static void lines_come_and_a_clean_end_is_told_once(void **state)
{
	struct owner o;
	int fd = owner_open(&o);

	(void)state;
	o.answer = "yes";
	say(fd, "one\ntwo\nthr");
	run_briefly(o.loop);
	say(fd, "ee\n");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	loop_run(o.loop);
	assert_string_equal(o.got.data, "[one][two][three]");
	assert_int_equal(o.closed, 1);
	assert_null(o.end.kind);
	assert_true(o.drained > 0);
	os_close(fd);
	owner_release(&o);
}

static size_t read_all(int fd, char *p, size_t size)
{
	size_t len = 0;
	ssize_t n;

	while (len < size - 1 && (n = read(fd, p + len, size - 1 - len)) > 0)
		len += (size_t)n;
	p[len] = '\0';
	return len;
}

static void faults_of_input_are_told_and_answered(void **state)
{
	_cleanup_(mem) char *big = xmalloc(WIRE_LINE_MAX_BYTES + 1);
	static const struct {
		const char *name;
		size_t bytes; /* of a line without end */
		const struct error_kind *kind;
	} rows[] = {
		{"cut off at the end",     100,                     &ERROR_INVALID},
		{"the longest, not ended", WIRE_LINE_MAX_BYTES - 1, &ERROR_INVALID},
		{"a byte too long",        WIRE_LINE_MAX_BYTES,     &ERROR_LIMIT  },
	};

	(void)state;
	memset(big, 'x', WIRE_LINE_MAX_BYTES + 1);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct owner o;
		char answer[64];
		int fd = owner_open(&o);
		size_t sent = 0;

		o.farewell = "bad line";
		must(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
		while (sent < rows[i].bytes && !o.closed) {
			ssize_t n = write(fd, big, rows[i].bytes - sent);

			sent += n > 0 ? (size_t)n : 0;
			run_briefly(o.loop);
		}
		(void)shutdown(fd, SHUT_WR); /* it may be closed already */
		loop_run(o.loop);            /* the farewell frees the peer, so this ends */
		if (o.closed != 1 || !error_is(&o.end, rows[i].kind))
			fail_msg("%s: closed %d times, %s", rows[i].name, o.closed,
				error_code(&o.end));
		assert_int_equal(o.lines, 0);
		assert_int_equal(read_all(fd, answer, sizeof(answer)), 9);
		assert_string_equal(answer, "bad line\n");
		os_close(fd);
		owner_release(&o);
	}
}

static void a_flood_without_newline_is_cut_and_answered(void **state)
{
	_cleanup_(mem) char *big = xcalloc(1, 1 << 18);
	struct owner o;
	char answer[64];
	int fd = owner_open(&o);
	size_t sent = 0;

	(void)state;
	o.farewell = "bad line";
	must(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	for (int i = 0; i < 1000 && !o.closed; i++) {
		ssize_t n = write(fd, big, 1 << 18);

		sent += n > 0 ? (size_t)n : 0;
		run_briefly(o.loop);
	}
	assert_int_equal(o.closed, 1);
	assert_true(sent < 4 * WIRE_LINE_MAX_BYTES);
	loop_run(o.loop);
	assert_int_equal(
		read_all(fd, answer, sizeof(answer)), 9); /* though unread input was thrown away */
	os_close(fd);
	owner_release(&o);
}

static void a_reader_that_never_reads_is_closed_at_the_packet_cap(void **state)
{
	struct owner o;
	char filler[4096];
	int fd = owner_open(&o), sent = 0;
	struct pollfd hang_up = {.fd = fd, .events = POLLIN};

	(void)state;
	memset(filler, 'f', sizeof(filler));
	while (sent < 10000 && wire_peer_send(o.peer, (struct str){filler, sizeof(filler)}) == 0) {
		sent++;
		assert_true(wire_peer_queued_packets(o.peer) <= WIRE_OUT_PACKETS_MAX);
	}
	/* what the kernel took, and then 64 */
	assert_true(sent > WIRE_OUT_PACKETS_MAX && sent < 1000);
	assert_int_equal(o.closed, 0); /* not inside the call */
	assert_int_equal(wire_peer_send(o.peer, STR("more")), -1);
	assert_int_equal(wire_peer_queued_packets(o.peer), 0); /* nothing is kept for it */
	assert_int_equal(poll(&hang_up, 1, 0), 1);
	assert_true((hang_up.revents & POLLHUP) != 0); /* closed at once, before the next round */
	loop_run(o.loop);
	assert_int_equal(o.closed, 1);
	assert_true(error_is(&o.end, &WIRE_SLOW));
	os_close(fd);
	owner_release(&o);
}

static void a_reader_that_never_reads_is_closed_at_the_byte_cap(void **state)
{
	_cleanup_(mem) char *big = xcalloc(1, 500000);
	struct owner o;
	int fd = owner_open(&o), sent = 0;

	(void)state;
	memset(big, 'b', 500000);
	while (sent < 100 && wire_peer_send(o.peer, (struct str){big, 500000}) == 0)
		sent++;
	assert_in_range(sent, 4, 5); /* 2 MiB and what the kernel took */
	loop_run(o.loop);
	assert_true(error_is(&o.end, &WIRE_SLOW));
	os_close(fd);
	owner_release(&o);
}

static void a_reader_that_reads_gets_everything(void **state)
{
	struct owner o;
	char packet[1000], *got = xmalloc(1 << 16);
	int fd = owner_open(&o);
	size_t total = 0;

	(void)state;
	memset(packet, 'p', sizeof(packet));
	must(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	for (int i = 0; i < 5000; i++) {
		ssize_t n;

		/* The loop does not run in between: the cap must see what the kernel can take by
		 * now. */
		assert_int_equal(wire_peer_send(o.peer, (struct str){packet, sizeof(packet)}), 0);
		if (i % 40 == 39)
			while ((n = read(fd, got, 1 << 16)) > 0)
				total += (size_t)n;
	}
	assert_int_equal(total, 5000 * (sizeof(packet) + 1));
	free(got);
	os_close(fd);
	owner_release(&o);
}

static void a_paused_peer_keeps_its_lines(void **state)
{
	struct owner o;
	int fd = owner_open(&o);

	(void)state;
	o.pause_after = 2;
	say(fd, "a\nb\nc\nd\ne");
	run_briefly(o.loop);
	say(fd, "ee\n");
	run_briefly(o.loop);
	assert_string_equal(o.got.data, "[a][b]");
	o.pause_after = 3; /* once more, in the middle of what is held */
	wire_peer_resume(o.peer);
	assert_string_equal(o.got.data, "[a][b]"); /* not inside the call */
	run_briefly(o.loop);
	assert_string_equal(o.got.data, "[a][b][c]");
	wire_peer_resume(o.peer);
	wire_peer_pause(o.peer);
	run_briefly(o.loop);
	assert_string_equal(o.got.data, "[a][b][c]");
	os_close(fd); /* lines come before the end */
	wire_peer_resume(o.peer);
	loop_run(o.loop);
	assert_string_equal(o.got.data, "[a][b][c][d][eee]");
	assert_int_equal(o.closed, 1);
	assert_null(o.end.kind);
	owner_release(&o);
}

static void a_paused_peer_cannot_grow_memory(void **state)
{
	struct owner o;
	char line[1000];
	int fd = owner_open(&o);
	size_t sent = 0;
	ssize_t n;

	(void)state;
	o.pause_after = 1;
	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	must(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	for (int i = 0; i < 5; i++) {
		while ((n = write(fd, line, sizeof(line))) > 0)
			sent += (size_t)n;
		run_briefly(o.loop);
	}
	assert_int_equal(o.lines, 1);
	assert_true(sent < 2 * 1024 * 1024); /* a read of ours and what the kernel keeps */
	os_close(fd);
	owner_release(&o);
}

static void finishing_sends_what_is_queued(void **state)
{
	_cleanup_(mem) char *big = xcalloc(1, 1000001), *got = xmalloc(1100000);
	struct owner o;
	int fd = owner_open(&o);
	size_t len = 0;
	ssize_t n;

	(void)state;
	memset(big, 'b', 1000000);
	assert_int_equal(wire_peer_send(o.peer, str_from(big)), 0);
	wire_peer_finish(o.peer);
	assert_int_equal(wire_peer_send(o.peer, STR("late")), -1);
	say(fd, "ignored\n");
	must(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	while ((n = read(fd, got + len, 1100000 - len)) != 0) {
		len += n > 0 ? (size_t)n : 0;
		run_briefly(o.loop);
	}
	loop_run(o.loop);
	assert_int_equal(len, 1000001);
	assert_int_equal(o.lines, 0);
	assert_int_equal(o.closed, 1);
	assert_null(o.end.kind);
	os_close(fd);
	owner_release(&o);
}

static void finishing_does_not_wait_for_ever(void **state)
{
	_cleanup_(mem) char *big = xcalloc(1, 1000001);
	struct owner o;
	int fd = owner_open(&o);

	(void)state;
	memset(big, 'b', 1000000);
	assert_int_equal(wire_peer_send(o.peer, str_from(big)), 0);
	wire_peer_finish(o.peer);
	loop_run(o.loop); /* a second */
	assert_int_equal(o.closed, 1);
	assert_true(error_is(&o.end, &WIRE_SLOW));
	os_close(fd);
	owner_release(&o);
}

static void finishing_and_freeing_work_inside_a_line(void **state)
{
	struct owner o;
	int fd = owner_open(&o);

	(void)state;
	o.answer = "yes";
	o.finish_after = 2;
	say(fd, "a\nb\nc\n");
	loop_run(o.loop);
	assert_string_equal(o.got.data, "[a][b]");
	assert_int_equal(o.closed, 1);
	os_close(fd);
	owner_release(&o);

	fd = owner_open(&o);
	o.free_after = 2;
	say(fd, "a\nb\nc\n");
	loop_run(o.loop);
	assert_string_equal(o.got.data, "[a][b]");
	assert_int_equal(o.closed, 0);
	os_close(fd);
	owner_release(&o);
}

/* The slow end comes in the middle of a line that was held: its bytes stay readable. */
static void a_line_outlives_the_end_it_causes(void **state)
{
	_cleanup_(mem) char *big = xcalloc(1, 900001);
	struct owner o;
	int fd = owner_open(&o);

	(void)state;
	memset(big, 'b', 900000);
	o.pause_after = 1;
	say(fd, "a\nb\nc\nd\ne\nf\ng\n");
	run_briefly(o.loop);
	o.answer = big;
	wire_peer_resume(o.peer);
	loop_run(o.loop);
	assert_true(error_is(&o.end, &WIRE_SLOW));
	assert_string_equal(o.got.data, "[a][b][c][d]");
	os_close(fd);
	owner_release(&o);
}

static void a_farewell_nobody_reads_dies_with_the_loop(void **state)
{
	_cleanup_(mem) char *big = xcalloc(1, 1000001);
	struct owner o;
	int fd = owner_open(&o);

	(void)state;
	memset(big, 'b', 1000000);
	assert_int_equal(wire_peer_send(o.peer, str_from(big)), 0);
	wire_peer_farewell(mem_take(&o.peer), STR("bye"));
	run_briefly(o.loop);
	owner_release(&o); /* well before its second is over */
	assert_int_equal(o.closed, 0);
	os_close(fd);
}

/*
 * Owners that hear of a peer which says no more, and of one that left while it was paused.
 */
struct patient {
	struct owner o;
	int said_all, gone;
};

static void on_said_all(void *arg)
{
	container_of(arg, struct patient, o)->said_all++;
}

static void on_gone(void *arg)
{
	struct patient *p = container_of(arg, struct patient, o);

	p->gone++;
	wire_peer_resume(p->o.peer);
}

static int patient_open(struct patient *p)
{
	static const struct wire_callbacks all = {
		on_line, on_closed, on_drained, on_said_all, on_gone};
	int fds[2];

	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
	*p = (struct patient){.said_all = 0};
	p->o = (struct owner){.loop = loop_new(), .got = BUF_INIT(4096), .end = ERROR_INIT};
	p->o.peer = wire_peer_new(p->o.loop, fds[0], -1, &all, &p->o);
	return fds[1];
}

static void a_peer_that_says_no_more_is_still_answered(void **state)
{
	struct patient p;
	int fd = patient_open(&p);
	char buf[16];

	(void)state;
	say(fd, "ask\n");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	run_briefly(p.o.loop);
	assert_string_equal(p.o.got.data, "[ask]");
	assert_int_equal(p.said_all, 1);
	assert_int_equal(p.o.closed, 0);
	assert_int_equal(wire_peer_send(p.o.peer, STR("late")), 0);
	wire_peer_finish(p.o.peer);
	loop_run(p.o.loop);
	assert_int_equal(p.o.closed, 1);
	assert_null(p.o.end.kind);
	assert_int_equal(read(fd, buf, sizeof(buf)), 5);
	assert_memory_equal(buf, "late\n", 5);
	os_close(fd);
	owner_release(&p.o);
}

static void a_peer_that_said_all_and_leaves_is_an_end(void **state)
{
	struct patient p;
	int fd = patient_open(&p);

	(void)state;
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	run_briefly(p.o.loop);
	assert_int_equal(p.said_all, 1);
	os_close(fd); /* nothing is sent to it and nothing read: it is looked at */
	loop_run(p.o.loop);
	assert_int_equal(p.o.closed, 1);
	assert_null(p.o.end.kind);
	owner_release(&p.o);
}

static void a_paused_peer_that_leaves_is_told_of(void **state)
{
	struct patient p;
	int fd = patient_open(&p);

	(void)state;
	p.o.pause_after = 1;
	say(fd, "a\nb\n");
	run_briefly(p.o.loop);
	os_close(fd);
	loop_run(p.o.loop);
	assert_int_equal(p.gone, 1);
	assert_string_equal(p.o.got.data, "[a][b]"); /* what it said counts */
	assert_int_equal(p.said_all, 0);             /* it does not listen either */
	assert_int_equal(p.o.closed, 1);
	assert_null(p.o.end.kind);
	owner_release(&p.o);
}

static void a_peer_that_vanishes_is_an_end(void **state)
{
	struct owner o;
	int fd = owner_open(&o);

	(void)state;
	os_close(fd);
	assert_int_equal(wire_peer_send(o.peer, STR("to nobody")), 0);
	assert_int_equal(o.closed, 0);
	loop_run(o.loop);
	assert_int_equal(o.closed, 1);
	assert_int_equal(o.end.sys, EPIPE);
	owner_release(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_and_a_clean_end_is_told_once),
		cmocka_unit_test(faults_of_input_are_told_and_answered),
		cmocka_unit_test(a_flood_without_newline_is_cut_and_answered),
		cmocka_unit_test(a_reader_that_never_reads_is_closed_at_the_packet_cap),
		cmocka_unit_test(a_reader_that_never_reads_is_closed_at_the_byte_cap),
		cmocka_unit_test(a_reader_that_reads_gets_everything),
		cmocka_unit_test(a_paused_peer_keeps_its_lines),
		cmocka_unit_test(a_paused_peer_cannot_grow_memory),
		cmocka_unit_test(finishing_sends_what_is_queued),
		cmocka_unit_test(finishing_does_not_wait_for_ever),
		cmocka_unit_test(finishing_and_freeing_work_inside_a_line),
		cmocka_unit_test(a_line_outlives_the_end_it_causes),
		cmocka_unit_test(a_farewell_nobody_reads_dies_with_the_loop),
		cmocka_unit_test(a_peer_that_says_no_more_is_still_answered),
		cmocka_unit_test(a_peer_that_said_all_and_leaves_is_an_end),
		cmocka_unit_test(a_paused_peer_that_leaves_is_told_of),
		cmocka_unit_test(a_peer_that_vanishes_is_an_end),
	};

	return cmocka_run_group_tests_name("wire peers", tests, NULL, NULL);
}
