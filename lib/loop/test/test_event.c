/* loop: timers, signals, listeners, children. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "loop/loop.h"
#include "os/os.h"
#include "testing.h"

/* Timers */

struct ticker {
	struct loop *loop;
	struct loop_timer *timer;
	int fired, wanted;
	int64_t after_ms;
};

static void tick(void *arg)
{
	struct ticker *t = arg;

	t->fired++;
	assert_false(loop_timer_active(t->timer));
	if (t->fired < t->wanted)
		loop_timer_set(t->timer, t->after_ms);
}

static void a_timer_is_one_shot_and_can_be_set_again(void **state)
{
	struct ticker t = {.loop = loop_new(), .wanted = 3, .after_ms = 1};

	(void)state;
	t.timer = loop_timer_new(t.loop, tick, &t);
	assert_false(loop_timer_active(t.timer));
	loop_timer_set(t.timer, 3600000);
	loop_timer_set(t.timer, 1); /* replaces */
	assert_true(loop_timer_active(t.timer));
	loop_run(t.loop);
	assert_int_equal(t.fired, 3);
	loop_timer_free(t.timer);
	loop_free(t.loop);
}

static void a_timer_is_never_early(void **state)
{
	const struct clock *clock = clock_system();
	struct ticker t = {.loop = loop_new(), .wanted = 1};
	int64_t start_ms = clock_mono_ms(clock);

	(void)state;
	t.timer = loop_timer_new(t.loop, tick, &t);
	while (clock_mono_ms(clock) < start_ms + 30)
		; /* the round's time is 30 ms old now */
	start_ms = clock_mono_ms(clock);
	loop_timer_set(t.timer, 25);
	loop_run(t.loop);
	assert_int_equal(t.fired, 1);
	assert_true(clock_mono_ms(clock) - start_ms >= 24); /* clocks of different grain */
	loop_timer_free(t.timer);
	loop_free(t.loop);
}

static void a_stopped_timer_stays_silent(void **state)
{
	struct ticker t = {.loop = loop_new(), .wanted = 1};

	(void)state;
	t.timer = loop_timer_new(t.loop, tick, &t);
	loop_timer_set(t.timer, 1);
	loop_timer_stop(t.timer);
	loop_timer_set(t.timer, 0);
	loop_timer_stop(t.timer);
	assert_false(loop_timer_active(t.timer));
	loop_run(t.loop);
	assert_int_equal(t.fired, 0);
	loop_timer_set(t.timer, 0);
	loop_timer_free(t.timer); /* while set */
	loop_timer_free(NULL);
	loop_free(t.loop);
	assert_int_equal(t.fired, 0);
}

struct race {
	struct ticker busy;
	struct loop_timer *other;
	int busy_when_other_fired;
};

static void other_fired(void *arg)
{
	struct race *r = arg;

	r->busy_when_other_fired = r->busy.fired;
	r->busy.wanted = 0;
}

static void a_timer_of_zero_does_not_starve_the_rest(void **state)
{
	struct race r = {
		.busy = {.loop = loop_new(), .wanted = 1000000000, .after_ms = 0}
        };

	(void)state;
	r.busy.timer = loop_timer_new(r.busy.loop, tick, &r.busy);
	r.other = loop_timer_new(r.busy.loop, other_fired, &r);
	loop_timer_set(r.busy.timer, 0);
	loop_timer_set(r.other, 2);
	loop_run(r.busy.loop);
	assert_true(r.busy_when_other_fired > 0);
	loop_timer_free(r.busy.timer);
	loop_timer_free(r.other);
	loop_free(r.busy.loop);
}

static void an_unref_timer_does_not_keep_the_loop(void **state)
{
	struct ticker t = {.loop = loop_new()};

	(void)state;
	t.timer = loop_timer_new(t.loop, tick, &t);
	loop_timer_unref(t.timer);
	loop_timer_set(t.timer, 3600000);
	loop_run(t.loop);
	assert_int_equal(t.fired, 0);
	loop_timer_free(t.timer);
	loop_free(t.loop);
}

/* Signals */

struct caught {
	struct loop_signal *watch;
	int signum;
};

static void caught_one(void *arg, int signum)
{
	struct caught *c = arg;

	c->signum = signum;
	loop_signal_free(c->watch);
	c->watch = NULL;
}

static void a_signal_is_told_on_the_loop(void **state)
{
	struct loop *l = loop_new();
	struct caught c = {.signum = 0};

	(void)state;
	c.watch = loop_signal_new(l, SIGUSR2, caught_one, &c);
	assert_int_equal(kill(getpid(), SIGUSR2), 0);
	loop_run(l);
	assert_int_equal(c.signum, SIGUSR2);
	loop_signal_free(NULL);
	loop_free(l);
}

/* Listeners */

struct door {
	struct loop *loop;
	struct loop_listener *listener;
	int accepted, wanted;
	struct rlimit limit;
	struct loop_timer *relief;
	int accepted_before_relief;
};

static void came_in(void *arg, int fd)
{
	struct door *d = arg;

	assert_true((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
	assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
	os_close(fd);
	if (++d->accepted == d->wanted) {
		loop_listener_close(d->listener); /* inside its own callback */
		d->listener = NULL;
	}
}

/* A listener without a name in any file system. */
static int listen_abstract(struct sockaddr_un *ret_addr, socklen_t *ret_len)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	must(fd >= 0);
	*ret_addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	must(bind(fd, (struct sockaddr *)ret_addr, sizeof(sa_family_t)) == 0); /* autobind */
	*ret_len = sizeof(*ret_addr);
	must(getsockname(fd, (struct sockaddr *)ret_addr, ret_len) == 0);
	must(listen(fd, 64) == 0);
	return fd;
}

static int connect_to(const struct sockaddr_un *addr, socklen_t len)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(fd >= 0 && connect(fd, (const struct sockaddr *)addr, len) == 0);
	return fd;
}

static void a_listener_takes_all_that_wait(void **state)
{
	struct door d = {.loop = loop_new(), .wanted = 40};
	struct error err = ERROR_INIT;
	struct sockaddr_un addr;
	socklen_t len;
	int clients[40];
	int fd = listen_abstract(&addr, &len);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(clients); i++)
		clients[i] = connect_to(&addr, len);
	assert_ok(loop_listen(d.loop, fd, came_in, &d, &d.listener, &err), &err);
	loop_run(d.loop);
	assert_int_equal(d.accepted, 40);
	assert_int_equal(fcntl(fd, F_GETFD), -1); /* the listener closed it */
	for (size_t i = 0; i < ARRAY_LEN(clients); i++)
		os_close(clients[i]);
	loop_listener_close(NULL);
	loop_free(d.loop);
}

static void relieve(void *arg)
{
	struct door *d = arg;

	d->accepted_before_relief = d->accepted;
	must(setrlimit(RLIMIT_NOFILE, &d->limit) == 0);
}

static void a_listener_outlives_the_lack_of_descriptors(void **state)
{
	struct door d = {.loop = loop_new(), .wanted = 1};
	struct error err = ERROR_INIT;
	struct rlimit none;
	struct sockaddr_un addr;
	socklen_t len;
	int fd = listen_abstract(&addr, &len);
	int client = connect_to(&addr, len);

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &d.limit), 0);
	none = d.limit;
	none.rlim_cur = 0; /* what is open stays open */
	assert_ok(loop_listen(d.loop, fd, came_in, &d, &d.listener, &err), &err);
	d.relief = loop_timer_new(d.loop, relieve, &d);
	loop_timer_set(d.relief, 10);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	loop_run(d.loop);
	assert_int_equal(d.accepted_before_relief, 0);
	assert_int_equal(d.accepted, 1);
	loop_timer_free(d.relief);
	os_close(client);
	loop_free(d.loop);
}

static void what_cannot_listen_is_refused_and_not_taken(void **state)
{
	struct loop *l = loop_new();
	struct loop_listener *listener = NULL;
	struct error err = ERROR_INIT;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_fails(loop_listen(l, fd, came_in, NULL, &listener, &err), &err, ERROR_SYS);
	assert_null(listener);
	assert_true(fcntl(fd, F_GETFD) >= 0);
	os_close(fd);
	loop_free(l);
}

/* Children */

struct ended {
	struct loop_child *child;
	pid_t pid;
	int calls, code, signal;
	bool pid_was_taken;
};

static void child_ended(void *arg, int code, int signum)
{
	struct ended *e = arg;

	e->calls++;
	e->code = code;
	e->signal = signum;
	e->pid_was_taken = kill(e->pid, 0) == 0;
	loop_child_free(e->child); /* inside its own callback */
	e->child = NULL;
}

static pid_t start_child(int code, int signum, int *ret_pidfd)
{
	pid_t pid = fork();

	must(pid >= 0);
	if (pid == 0) {
		if (signum != 0) {
			(void)raise(signum);
			for (;;)
				(void)pause(); /* until killed */
		}
		_exit(code);
	}
	*ret_pidfd = pidfd_open(pid, 0);
	must(*ret_pidfd >= 0);
	return pid;
}

static void a_child_is_told_once_and_reaped(void **state)
{
	static const struct {
		const char *name;
		int exit_code, raise, code, signal;
	} rows[] = {
		{"success",          0,   0,       0,   0      },
		{"a failure",        3,   0,       3,   0      },
		{"the highest code", 255, 0,       255, 0      },
		{"ended by SIGKILL", 0,   SIGKILL, 137, SIGKILL},
		{"ended by SIGTERM", 0,   SIGTERM, 143, SIGTERM},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct loop *l = loop_new();
		struct error err = ERROR_INIT;
		struct ended e = {.calls = 0};
		int pidfd;

		e.pid = start_child(rows[i].exit_code, rows[i].raise, &pidfd);
		e.child = loop_child_watch(l, pidfd, child_ended, &e, &err);
		assert_non_null(e.child);
		loop_run(l);
		if (e.calls != 1 || e.code != rows[i].code || e.signal != rows[i].signal)
			fail_msg("%s: %d calls, code %d, signal %d", rows[i].name, e.calls, e.code,
				e.signal);
		assert_true(e.pid_was_taken);
		assert_int_equal(waitpid(e.pid, NULL, WNOHANG), -1); /* reaped */
		loop_free(l);
	}
}

static void end_child(void *arg)
{
	const struct ended *e = arg;

	must(kill(e->pid, SIGKILL) == 0);
}

static void gone_yet(void *arg);

struct watch_reap {
	struct ended e;
	struct loop *loop;
	struct loop_timer *timer;
};

static void gone_yet(void *arg)
{
	struct watch_reap *w = arg;

	if (kill(w->e.pid, 0) == 0) /* a zombie counts as there */
		loop_timer_set(w->timer, 1);
}

static void a_child_let_go_is_reaped_silently(void **state)
{
	struct watch_reap w = {.loop = loop_new()};
	struct error err = ERROR_INIT;
	int pidfd;

	(void)state;
	w.e.pid = start_child(0, SIGSTOP, &pidfd);
	w.e.child = loop_child_watch(w.loop, pidfd, child_ended, &w.e, &err);
	assert_non_null(w.e.child);
	loop_child_free(w.e.child);
	loop_child_free(NULL);
	loop_run(w.loop); /* it does not keep the loop */
	loop_defer(w.loop, end_child, &w.e);
	w.timer = loop_timer_new(w.loop, gone_yet, &w);
	loop_timer_set(w.timer, 1);
	loop_run(w.loop); /* until the pid is gone */
	assert_int_equal(w.e.calls, 0);
	loop_timer_free(w.timer);
	loop_free(w.loop);
}

static void a_loop_can_be_freed_before_its_children(void **state)
{
	struct loop *l = loop_new();
	struct error err = ERROR_INIT;
	struct ended e = {.calls = 0};
	int pidfd;

	(void)state;
	e.pid = start_child(0, SIGSTOP, &pidfd);
	e.child = loop_child_watch(l, pidfd, child_ended, &e, &err);
	assert_non_null(e.child);
	loop_child_free(e.child);
	loop_free(l);
	assert_int_equal(fcntl(pidfd, F_GETFD), -1);
	end_child(&e);
	assert_int_equal(waitpid(e.pid, NULL, 0), e.pid);
	assert_int_equal(e.calls, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_timer_is_one_shot_and_can_be_set_again),
		cmocka_unit_test(a_timer_is_never_early),
		cmocka_unit_test(a_stopped_timer_stays_silent),
		cmocka_unit_test(a_timer_of_zero_does_not_starve_the_rest),
		cmocka_unit_test(an_unref_timer_does_not_keep_the_loop),
		cmocka_unit_test(a_signal_is_told_on_the_loop),
		cmocka_unit_test(a_listener_takes_all_that_wait),
		cmocka_unit_test(a_listener_outlives_the_lack_of_descriptors),
		cmocka_unit_test(what_cannot_listen_is_refused_and_not_taken),
		cmocka_unit_test(a_child_is_told_once_and_reaped),
		cmocka_unit_test(a_child_let_go_is_reaped_silently),
		cmocka_unit_test(a_loop_can_be_freed_before_its_children),
	};

	return cmocka_run_group_tests_name("loop events", tests, NULL, NULL);
}
