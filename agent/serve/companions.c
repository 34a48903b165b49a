/* Companions: started, watched, started again, ended. */
#include "agent/serve/companions.h"

#include <stdlib.h>
#include <string.h>

#include "agent/io/store_companions.h"
#include "agent/serve/companion_log.h"
#include "agent/serve/companion_spec.h"
#include "agent/serve/daemon.h"
#include "log/log.h"
#include "os/os.h"
#include "proc/proc.h"

enum {
	APART_MS = 20,          /* ours: between two starts, several times what one costs */
	BACKOFF_FIRST_MS = 500, /* ours */
	BACKOFF_MAX_MS = 60000, /* ours */
	STEADY_MS = 60000,      /* ours: one that stayed so long begins anew with the delays */
	SPREAD_PARTS = 5,       /* ours: up to a fifth more, so that many do not fall together */
	END_MS = 1000,          /* ours: from SIGTERM to the end of the tree */
};

struct companion {
	struct daemon *d;
	struct list in_all;
	struct arena arena;
	struct companion_spec spec;
	struct companion_log *log;
	struct proc_command *command; /* NULL: it does not run */
	struct loop_timer *timer;     /* its next start; while it is ending, the end of patience */
	int64_t started_mono_ms, backoff_ms;
	int64_t starts;
	struct proc_outcome last;
	bool has_ended; /* last says how */
	bool unwanted;  /* it goes when it has ended */
	bool placed;    /* it has its place among those that start */
};

static void plan(struct companion *c, int64_t after_ms);

void companions_init(struct daemon *d)
{
	list_init(&d->companions.all);
	d->companions.logs = -1;
}

int companions_setup(struct daemon *d, struct error *err)
{
	struct companions *all = &d->companions;
	_cleanup_(mem) char *socket = xasprintf("AGENT_SOCKET=%s", d->o->socket);
	char *set[] = {socket, NULL};
	const char *slash = strrchr(d->o->store, '/');

	must(slash); /* canonical */
	if (os_home(&all->home, err) < 0)
		return -1;
	if (os_exists(all->home, NULL) != 1) { /* of a user who has none */
		free(mem_take(&all->home));
		all->home = xstrdup("/");
	}
	all->folder = xasprintf("%.*s/companions", (int)(slash - d->o->store), d->o->store);
	all->env = secret_environ(environ, NULL, 0, set);
	/* a folder that is there is looked after, also when nobody wants companions now */
	return os_exists(all->folder, NULL) == 1 ? companion_logs_open(all->folder, &all->logs, err)
						 : 0;
}

/*
 * The end of one.
 */
static struct companion *find(struct daemon *d, struct str name, bool unwanted)
{
	list_for_each (c, &d->companions.all, struct companion, in_all) {
		if (c->unwanted == unwanted && str_eq(c->spec.name, name))
			return c;
	}
	return NULL;
}

static void companion_free(struct companion *c)
{
	list_remove(&c->in_all);
	proc_command_free(c->command);
	loop_timer_free(c->timer);
	companion_log_free(c->log);
	arena_release(&c->arena);
	free(c);
}

/* One of the same name may have waited for this one's end. */
static void go(struct companion *c)
{
	struct daemon *d = c->d;
	struct companion *next = find(d, c->spec.name, false);

	if (next && !next->command && !loop_timer_active(next->timer))
		plan(next, 0);
	companion_free(c);
	if (d->companions.stopping)
		daemon_look_idle(d);
}

static void ask_to_end(struct companion *c)
{
	c->unwanted = true;
	if (!c->command) {
		go(c);
		return;
	}
	companion_log_note(c->log, "told to end");
	proc_command_ask_end(c->command);
	loop_timer_set(c->timer, END_MS);
}

/*
 * A run.
 */
static int64_t next_backoff(struct companion *c)
{
	uint32_t chance = 0;
	int64_t ran_ms = clock_mono_ms(c->d->clock) - c->started_mono_ms;

	if (c->backoff_ms == 0 || ran_ms >= STEADY_MS)
		c->backoff_ms = BACKOFF_FIRST_MS;
	else if (c->backoff_ms < BACKOFF_MAX_MS / 2)
		c->backoff_ms *= 2;
	else
		c->backoff_ms = BACKOFF_MAX_MS;
	(void)os_random(&chance, sizeof(chance), NULL); /* without, they are less spread */
	return c->backoff_ms + (int64_t)(chance % (uint32_t)(c->backoff_ms / SPREAD_PARTS + 1));
}

static void again(struct companion *c)
{
	int64_t after_ms = next_backoff(c);

	companion_log_note(c->log, "starts again in %lld ms", (long long)after_ms);
	plan(c, after_ms);
}

static void on_output(void *arg, int stream, const char *p, size_t len)
{
	struct companion *c = arg;

	(void)stream;
	companion_log_put(c->log, p, len);
}

static void on_ended(void *arg, const struct proc_outcome *o)
{
	struct companion *c = arg;

	companion_log_end(c->log);
	c->last = *o;
	c->has_ended = true;
	proc_command_free(mem_take(&c->command));
	if (o->signal)
		companion_log_note(c->log, "ended by signal %d", o->signal);
	else
		companion_log_note(c->log, "ended with exit status %d", o->code);
	log_event(c->unwanted ? LOG_INFO : LOG_WARN, "companion.ended",
		LOG_STR("name", c->spec.name), LOG_I64("status", o->code));
	if (c->unwanted)
		go(c);
	else
		again(c);
}

static int open_logs(struct daemon *d, struct error *err)
{
	struct companions *all = &d->companions;

	return all->logs >= 0 ? 0 : companion_logs_open(all->folder, &all->logs, err);
}

static int start(struct companion *c, struct error *err)
{
	static const struct proc_callbacks callbacks = {.output = on_output, .ended = on_ended};
	char *argv[COMPANION_ARGS_MAX + 1] = {NULL};
	const struct proc_job job = {
		.spec = {.program = c->spec.argv.items[0].p,
			 .argv = argv,
			 .env = c->d->companions.env,
			 .cwd = c->spec.cwd.p ? c->spec.cwd.p : c->d->companions.home,
			 .new_session = true, /* no terminal to reach */
			.supervisor = c->d->supervisor},
	};

	for (size_t i = 0; i < c->spec.argv.count; i++)
		argv[i] = (char *)c->spec.argv.items[i].p; /* execve takes them as const */
	return proc_command_start(c->d->loop, &job, &callbacks, c, &c->command, err);
}

static void run(struct companion *c)
{
	struct error err = ERROR_INIT;

	c->starts++;
	c->started_mono_ms = clock_mono_ms(c->d->clock);
	if (start(c, &err) < 0) {
		companion_log_note(c->log, "cannot be started: %s", err.text);
		log_event(LOG_WARN, "companion.start_failed", LOG_STR("name", c->spec.name),
			LOG_ERR(&err));
		again(c);
		return;
	}
	companion_log_note(c->log, "started, pid %d", (int)proc_command_pid(c->command));
	log_event(LOG_INFO, "companion.started", LOG_STR("name", c->spec.name),
		LOG_I64("pid", proc_command_pid(c->command)), LOG_I64("starts", c->starts));
}

/* Whether one was started just now: then it gets a place behind that. */
static bool has_to_wait(struct companion *c)
{
	struct companions *all = &c->d->companions;
	int64_t now_ms = clock_mono_ms(c->d->clock);

	if (c->placed || now_ms >= all->next_mono_ms) {
		if (!c->placed)
			all->next_mono_ms = now_ms + APART_MS;
		c->placed = false;
		return false;
	}
	c->placed = true;
	loop_timer_set(c->timer, all->next_mono_ms - now_ms);
	all->next_mono_ms += APART_MS;
	return true;
}

static void on_timer(void *arg)
{
	struct companion *c = arg;

	if (c->unwanted)
		proc_command_cancel(c->command); /* its patience is over */
	else if (!find(c->d, c->spec.name, true) && !has_to_wait(c))
		run(c); /* where one of its name is still ending, that one's end plans it */
}

static void plan(struct companion *c, int64_t after_ms)
{
	loop_timer_set(c->timer, after_ms);
}

static void add(struct daemon *d, const struct companion_spec *spec)
{
	struct companion *c = xcalloc(1, sizeof(*c));

	c->d = d;
	companion_spec_keep(&c->arena, spec, &c->spec);
	c->log = companion_log_new(d->companions.logs, c->spec.name.p, d->secrets);
	c->timer = loop_timer_new(d->loop, on_timer, c);
	list_add_tail(&d->companions.all, &c->in_all);
	plan(c, 0);
}

static bool is_listed(const struct companion *c, const struct companion_spec *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (companion_spec_eq(&c->spec, &list[i]))
			return true;
	}
	return false;
}

void companions_apply(struct daemon *d, const struct companion_spec *list, size_t count)
{
	struct error err = ERROR_INIT;

	if (d->companions.stopping || !d->companions.env)
		return;
	if (count > 0 && open_logs(d, &err) < 0)
		log_event(LOG_WARN, "companion.no_logs", LOG_ERR(&err)); /* they run without */
	list_for_each_safe (c, &d->companions.all, struct companion, in_all) {
		if (!c->unwanted && !is_listed(c, list, count))
			ask_to_end(c);
	}
	for (size_t i = 0; i < count; i++) {
		if (!find(d, list[i].name, false))
			add(d, &list[i]);
	}
}

/*
 * The store's.
 */
struct load {
	struct daemon *d;
	struct arena arena;
	struct str json;
};

static int run_load(struct store_view *v, void *arg, struct error *err)
{
	struct load *l = arg;

	return store_companions_get(v, &l->arena, &l->json, err);
}

static int apply_json(struct load *l, struct error *err)
{
	const struct json *doc;
	struct companion_spec *list;
	size_t count;

	if (!l->json.p)
		return 0;
	if (json_parse(&l->arena, l->json, &doc, err) < 0 ||
		companions_read(&l->arena, doc, false, &list, &count, err) < 0)
		return -1;
	companions_apply(l->d, list, count);
	return 0;
}

static void load_done(void *arg, int rc, const struct error *failed)
{
	struct load *l = arg;
	struct error err = ERROR_INIT;

	if (rc < 0 || (l->d->store && apply_json(l, &err) < 0))
		log_event(LOG_ERROR, "companion.load_failed", LOG_ERR(rc < 0 ? failed : &err));
	arena_release(&l->arena);
	free(l);
}

void companions_load(struct daemon *d)
{
	struct load *l = xcalloc(1, sizeof(*l));

	l->d = d;
	store_read(d->store, run_load, load_done, l);
}

/*
 * All of them.
 */
void companions_stop(struct daemon *d)
{
	d->companions.stopping = true;
	list_for_each_safe (c, &d->companions.all, struct companion, in_all) {
		if (!c->unwanted)
			ask_to_end(c);
	}
}

bool companions_are_over(const struct daemon *d)
{
	return list_empty(&d->companions.all);
}

void companions_release(struct daemon *d)
{
	struct companions *all = &d->companions;

	all->stopping = true;
	list_for_each_safe (c, &all->all, struct companion, in_all)
		companion_free(c);
	os_close(all->logs);
	free(all->env);
	free(all->folder);
	free(all->home);
}

static void put_last(const struct companion *c, struct json_out *j)
{
	if (!c->has_ended) {
		json_put_null(j, "last_end");
		return;
	}
	json_open_key(j, "last_end", '{');
	json_put_i64(j, "status", c->last.code);
	if (c->last.signal)
		json_put_i64(j, "signal", c->last.signal);
	json_close(j, '}');
}

void companions_put(const struct daemon *d, struct json_out *j, const char *name)
{
	json_open_key(j, name, '[');
	list_for_each (c, &d->companions.all, struct companion, in_all) {
		json_open(j, '{');
		companion_spec_put(j, &c->spec);
		json_put_cstr(j, "state",
			c->unwanted  ? "ending"
			: c->command ? "running"
				     : "waiting");
		if (c->command)
			json_put_i64(j, "pid", proc_command_pid(c->command));
		else
			json_put_null(j, "pid");
		json_put_i64(j, "starts", c->starts);
		put_last(c, j);
		json_close(j, '}');
	}
	json_close(j, ']');
}
