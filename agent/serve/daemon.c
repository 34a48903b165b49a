/* The daemon: what it is made of, how it starts and how it ends. */
#include "agent/serve/daemon.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/io/chatgpt.h"
#include "agent/io/aws_credentials.h"
#include "agent/serve/artifact.h"
#include "agent/serve/background.h"
#include "agent/serve/live.h"
#include "agent/serve/session.h"
#include "agent/serve/setup.h"
#include "client/client.h"
#include "fetch/fetch.h"
#include "log/log.h"
#include "os/os.h"

const struct error_kind DAEMON_DRAINING = {"daemon_draining", ERROR_CLASS_UNAVAILABLE};

enum {
	DRAIN_MS = 5000,   /* agent spec 9: drain at most 5 s */
	GOODBYE_MS = 2000, /* ours: for sessions to take their last lines, and companions to end */
};

/*
 * The end.
 */
static void maybe_over(struct daemon *d)
{
	if (d->closing && d->sched.active == 0 && d->session_count == 0 && companions_are_over(d))
		loop_stop(d->loop);
}

/* A read that comes behind those under way. */
static int run_nothing(struct store_view *v, void *arg, struct error *err)
{
	(void)v;
	(void)arg;
	(void)err;
	return 0;
}

static void let_sessions_go(void *arg, int rc, const struct error *err)
{
	struct daemon *d = arg;

	(void)rc;
	(void)err;
	list_for_each_safe (s, &d->sessions, struct session, in_daemon)
		session_finish(s);
	companions_stop(d); /* not before: they may serve the turns that were to end */
	loop_timer_set(d->exit_timer, GOODBYE_MS);
	maybe_over(d);
}

/* All turns are over: the sessions are let go, behind the looks at the store that answer whoever
 * waits for one of those turns. */
static void say_goodbye(struct daemon *d)
{
	if (d->leaving)
		return;
	d->leaving = true;
	store_read(d->store, run_nothing, let_sessions_go, d);
}

static void stop_turns(struct daemon *d)
{
	size_t at = 0;
	struct live_turn *t;

	d->closing = true;
	loop_timer_set(d->exit_timer, DRAIN_MS);
	while ((t = table_next(d->live, &at)))
		live_stop(t, "daemon_shutdown");
	if (d->sched.active == 0)
		say_goodbye(d);
}

static void on_exit_timer(void *arg)
{
	struct daemon *d = arg;

	if (!d->closing)
		stop_turns(d); /* the grace is over */
	else
		loop_stop(d->loop);
}

void daemon_shutdown(struct daemon *d, int64_t grace_ms, const char *why)
{
	if (d->closing)
		return;
	log_event(LOG_INFO, "daemon.stopping", LOG_CSTR("why", why), LOG_I64("grace_ms", grace_ms),
		LOG_I64("active", d->sched.active));
	d->draining = true;
	loop_listener_close(mem_take(&d->listener));
	if (grace_ms > 0 && d->sched.active > 0)
		loop_timer_set(d->exit_timer, grace_ms);
	else
		stop_turns(d);
}

static void on_signal(void *arg, int signum)
{
	daemon_shutdown(arg, 0, signum == SIGTERM ? "SIGTERM" : "SIGINT");
}

static void on_idle(void *arg)
{
	daemon_shutdown(arg, 0, "idle");
}

void daemon_look_idle(struct daemon *d)
{
	bool idle = d->session_count == 0 && d->sched.active == 0 && d->parks.wakeful == 0 &&
		    d->background_count == 0;

	if (d->draining) {
		if (!d->closing && d->sched.active == 0)
			stop_turns(d);
		else if (d->closing && d->sched.active == 0 && d->session_count > 0)
			say_goodbye(d);
		else
			maybe_over(d);
		return;
	}
	if (!d->idle_timer)
		return;
	if (idle && !loop_timer_active(d->idle_timer))
		loop_timer_set(d->idle_timer, d->o->idle_exit_seconds * 1000);
	else if (!idle)
		loop_timer_stop(d->idle_timer);
}

/*
 * The start.
 */
static void on_accept(void *arg, int fd)
{
	struct daemon *d = arg;

	session_new(d, fd, NULL);
	daemon_look_idle(d);
}

/* First of all: who lost a race has to hear of that, whatever else its start would fail for. */
static int own_store(struct daemon *d, struct error *err)
{
	if (setup_store_folder(d->o->store, err) < 0)
		return -1;
	return store_own(d->o->store, &d->owner_fd, err);
}

static int open_store(struct daemon *d, struct store_recovery *recovery, struct error *err)
{
	const struct store_options options = {.path = d->o->store,
		.owner_fd = &d->owner_fd,
		.loop = d->loop,
		.clock = d->clock,
		.published = publish_event,
		.interrupted = setup_sweep,
		.parked = parked_found,
		.arg = d};

	return store_open(&options, &d->store, recovery, err);
}

static int open_socket(struct daemon *d, struct error *err)
{
	_cleanup_(fd) int fd = -1;

	if (client_socket_is_fallback(d->o->socket) &&
		client_check_fallback_dir(d->o->socket, true, err) < 0)
		return -1;
	if (listen_open(d->o->socket, &d->listen, &fd, err) < 0)
		return -1;
	if (loop_listen(d->loop, fd, on_accept, d, &d->listener, err) < 0)
		return -1;
	(void)fd_take(&fd);
	return bot_sockets_open(d, err);
}

static void watch(struct daemon *d)
{
	d->sigterm = loop_signal_new(d->loop, SIGTERM, on_signal, d);
	d->sigint = loop_signal_new(d->loop, SIGINT, on_signal, d);
	d->exit_timer = loop_timer_new(d->loop, on_exit_timer, d);
	if (d->o->idle_exit_seconds > 0)
		d->idle_timer = loop_timer_new(d->loop, on_idle, d);
}

static int start(struct daemon *d, struct error *err)
{
	struct store_recovery recovery = {.ready_turns = 0};

	if (setup_config(d, err) < 0 || own_store(d, err) < 0 || setup_keys(d, err) < 0 ||
		setup_helpers(d, err) < 0 || setup_providers(d, err) < 0 ||
		open_store(d, &recovery, err) < 0)
		return -1;
	setup_tools(d);
	if (companions_setup(d, err) < 0 || open_socket(d, err) < 0)
		return -1;
	watch(d);
	log_event(LOG_INFO, "daemon.ready", LOG_I64("pid", getpid()),
		LOG_I64("interrupted_turns", recovery.interrupted_turns),
		LOG_I64("unknown_calls", recovery.unknown_calls),
		LOG_I64("ready_turns", recovery.ready_turns),
		LOG_I64("parked_turns", recovery.parked_turns));
	pause_found(d, &recovery.pause);
	parks_look(d);
	companions_load(d);
	d->sched.ready = recovery.ready_turns > 0;
	schedule_kick(d);
	daemon_look_idle(d);
	return 0;
}

static void end_loop(void *arg)
{
	struct daemon *d = arg;

	loop_stop(d->loop);
}

/* What the store still had to say is heard, so that every job's memory goes with its done(). */
static void hear_store_out(struct daemon *d)
{
	store_close(mem_take(&d->store));
	loop_hold(d->loop);
	loop_post(d->loop, end_loop, d);
	loop_run(d->loop);
	loop_unhold(d->loop);
}

static void release(struct daemon *d)
{
	loop_timer_free(d->exit_timer);
	loop_timer_free(d->idle_timer);
	if (d->sigterm)
		loop_signal_free(d->sigterm);
	if (d->sigint)
		loop_signal_free(d->sigint);
	schedule_release(d);
	pause_release(d);
	models_release(&d->models);
	providers_free(d->providers);
	aws_free(d->aws);
	chatgpt_free(d->chatgpt);
	fetch_free(d->fetch);
	fetch_free(d->pages);
	parks_release(&d->parks);
	waiters_release(&d->waiters);
	publisher_release(&d->pub);
	table_free(d->live);
	loop_free(d->loop); /* waits for the workers of tools, which use what setup made */
	setup_release(d);
}

static void stop(struct daemon *d)
{
	size_t at = 0;
	struct live_turn *t;

	d->closing = d->draining = true;
	loop_listener_close(mem_take(&d->listener));
	list_for_each_safe (s, &d->sessions, struct session, in_daemon)
		session_close(s);
	models_stop(d);
	companions_release(d);
	while ((t = table_next(d->live, &at)))
		live_abandon(t);
	backgrounds_abandon(d);
	if (d->store)
		hear_store_out(d);
	os_close(d->owner_fd); /* of a start that did not get to the store */
	backgrounds_release(d);
	bot_sockets_release(d);
	listen_close(mem_take(&d->listen));
	at = 0;
	while ((t = table_next(d->live, &at))) {
		(void)table_remove(d->live, t->bot.name); /* it is t */
		live_free(t);
	}
	release(d);
}

int daemon_run(const struct daemon_options *o, struct error *err)
{
	struct daemon d = {.o = o, .clock = clock_system(), .owner_fd = -1};
	int rc;

	os_fd_limit_raise();
	d.loop = loop_new();
	d.live = table_new();
	list_init(&d.sessions);
	list_init(&d.leases);
	list_init(&d.backgrounds);
	publisher_init(&d.pub);
	models_init(&d.models);
	waiters_init(&d.waiters);
	parks_init(&d.parks);
	schedule_init(&d, o->max_active, o->max_processes);
	pause_init(&d);
	companions_init(&d);
	d.providers = providers_new(d.loop);
	rc = start(&d, err);
	if (rc == 0)
		loop_run(d.loop);
	if (rc == 0)
		log_event(LOG_INFO, "daemon.stopped",
			LOG_I64("abandoned", (int64_t)table_count(d.live)));
	stop(&d);
	return rc;
}
