/*
 * The two threads of the store: group commit on the writing connection, snapshots on the reading
 * one.
 *
 * A group is what a thread hands back to the loop in one post: its jobs in order, and the arena
 * their events live in. It knows all that delivering needs, so it may be delivered after the store
 * is closed.
 */
#include "agent/io/store_internal.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

enum {
	GROUP_MAX = 32,                       /* spec 4.1: jobs of one commit */
	IDLE_CHECKPOINT_MS = 100,             /* ours: no job for so long, and the WAL goes home */
	BUSY_CHECKPOINT_BYTES = 8 << 20,      /* ours: or past this, behind an answered group; db's
					       * own bound, inside a commit, is twice as high */
	BUSY_CHECKPOINT_STEP_BYTES = 1 << 20, /* ours: next try when a reader stood in the way */
};

struct store_job {
	struct list node;
	int (*write)(struct store_tx *tx, void *arg, struct error *err);
	int (*read)(struct store_view *v, void *arg, struct error *err);
	void (*done)(void *arg, int rc, const struct error *err);
	void *arg;
	int rc;
	struct error err;
	const struct store_recorded *events;
	const struct store_dropped *dropped;
};

struct group {
	struct list node; /* in undelivered */
	struct loop *loop;
	void (*published)(void *arg, const struct store_event *e);
	void *arg;
	struct arena keep;
	size_t count;
	struct store_job *jobs[GROUP_MAX];
};

/* Posted and not yet delivered, of all stores. A loop that is freed drops its posts without a word;
 * what they held stays reachable here, with the callers' jobs, and is no leak of theirs. */
static pthread_mutex_t undelivered_lock = PTHREAD_MUTEX_INITIALIZER;
static struct list undelivered = LIST_INIT(undelivered);

static void lock(pthread_mutex_t *m)
{
	must(pthread_mutex_lock(m) == 0);
}

static void unlock(pthread_mutex_t *m)
{
	must(pthread_mutex_unlock(m) == 0);
}

/* On the loop */

static void deliver_job(struct group *g, struct store_job *job)
{
	for (const struct store_recorded *r = job->events; r; r = r->next)
		g->published(g->arg, &r->event);
	if (job->done)
		job->done(job->arg, job->rc, job->rc < 0 ? &job->err : NULL);
	loop_unhold(g->loop);
	free(job);
}

static void deliver(void *arg)
{
	struct group *g = arg;

	lock(&undelivered_lock);
	list_remove(&g->node);
	unlock(&undelivered_lock);
	for (size_t i = 0; i < g->count; i++)
		deliver_job(g, g->jobs[i]);
	arena_release(&g->keep);
	free(g);
}

/* On a thread */

static struct group *group_new(const struct store *s)
{
	struct group *g = xcalloc(1, sizeof(*g));

	list_init(&g->node);
	g->loop = s->loop;
	g->published = s->published;
	g->arg = s->arg;
	return g;
}

static void post(struct group *g)
{
	lock(&undelivered_lock);
	list_add_tail(&undelivered, &g->node);
	unlock(&undelivered_lock);
	loop_post(g->loop, deliver, g);
}

static void fail_job(struct store_job *job, const struct error *err)
{
	job->events = NULL;
	if (job->rc == 0) {
		job->rc = -1;
		job->err = *err;
	}
}

/* Not a job's word but the store's: all of the group share it. */
static void fail_group(struct group *g, const struct error *err)
{
	for (size_t i = 0; i < g->count; i++)
		fail_job(g->jobs[i], err);
}

static void run_job(struct store *s, struct group *g, struct store_job *job)
{
	struct store_tx tx = {
		.view = {s->writer, s->spill},
                  .clock = s->clock, .keep = &g->keep
        };

	if (db_savepoint(s->writer, &job->err) < 0) {
		job->rc = -1;
		return;
	}
	job->rc = job->write(&tx, job->arg, &job->err);
	if (job->rc == 0)
		job->rc = db_savepoint_release(s->writer, &job->err);
	if (job->rc == 0)
		job->events = tx.first;
	else
		db_savepoint_rollback(s->writer);
	if (job->rc == 0)
		job->dropped = tx.dropped;
}

static void run_group(struct store *s, struct group *g)
{
	struct error err = ERROR_INIT;

	if (db_begin(s->writer, &err) < 0) {
		fail_group(g, &err);
		return;
	}
	for (size_t i = 0; i < g->count; i++)
		run_job(s, g, g->jobs[i]);
	if (db_commit(s->writer, &err) < 0) {
		fail_group(g, &err);
		return;
	}
	for (size_t i = 0; i < g->count; i++)
		store_spill_remove(s, g->jobs[i]->dropped);
}

static void run_read(struct store *s, struct store_job *job)
{
	struct store_view view = {s->reader, s->spill};

	if (db_snapshot(s->reader, &job->err) < 0) {
		job->rc = -1;
		return;
	}
	job->rc = job->read(&view, job->arg, &job->err);
	db_snapshot_end(s->reader);
}

static int size_bucket(size_t count)
{
	int bucket = 0;

	while (count >>= 1)
		bucket++;
	return bucket;
}

static void deadline_after(int64_t ms, struct timespec *ret)
{
	must(clock_gettime(CLOCK_MONOTONIC, ret) == 0);
	ret->tv_nsec += (ms % 1000) * 1000000;
	ret->tv_sec += ms / 1000 + ret->tv_nsec / 1000000000;
	ret->tv_nsec %= 1000000000;
}

/* Waits for work: true there is some, or the end; false the wait was `idle` long. */
static bool await(struct store *s, struct store_lane *l, bool idle)
{
	struct timespec until;

	if (idle)
		deadline_after(IDLE_CHECKPOINT_MS, &until);
	while (list_empty(&l->jobs) && !l->stop) {
		if (!idle)
			must(pthread_cond_wait(&l->wake, &s->lock) == 0);
		else if (pthread_cond_timedwait(&l->wake, &s->lock, &until) == ETIMEDOUT)
			return !list_empty(&l->jobs) || l->stop;
	}
	return true;
}

/* Up to `max` jobs, oldest first, into a new group; NULL at the end. Under the lock. */
static struct group *take(struct store *s, struct store_lane *l, size_t max)
{
	struct group *g;

	if (list_empty(&l->jobs))
		return NULL;
	g = group_new(s);
	while (g->count < max && !list_empty(&l->jobs)) {
		struct store_job *job = list_first(&l->jobs, struct store_job, node);

		list_remove(&job->node);
		l->queued--;
		g->jobs[g->count++] = job;
	}
	return g;
}

/* Behind an answered group: the copying delays nobody whose work is done. */
static void bound_wal(struct store *s)
{
	struct stat st;

	if (stat(s->wal_path, &st) < 0) /* opens nothing */
		return;
	if (st.st_size < s->wal_seen_bytes)
		s->wal_seen_bytes = 0; /* it was cut back since */
	if (st.st_size < BUSY_CHECKPOINT_BYTES ||
		st.st_size < s->wal_seen_bytes + BUSY_CHECKPOINT_STEP_BYTES)
		return;
	db_checkpoint(s->writer);
	s->wal_seen_bytes = st.st_size;
}

static void *writing_main(void *arg)
{
	struct store *s = arg;
	bool dirty = true; /* what an earlier daemon left counts too */
	struct group *g;

	for (;;) {
		lock(&s->lock);
		if (!await(s, &s->writing, dirty)) {
			unlock(&s->lock);
			db_checkpoint(s->writer);
			dirty = false;
			continue;
		}
		g = take(s, &s->writing, GROUP_MAX);
		if (g) {
			s->counts.groups++;
			s->counts.jobs += (int64_t)g->count;
			s->counts.group_sizes[size_bucket(g->count)]++;
		}
		unlock(&s->lock);
		if (!g)
			return NULL;
		run_group(s, g);
		post(g);
		bound_wal(s);
		dirty = true;
	}
}

static void *reading_main(void *arg)
{
	struct store *s = arg;
	struct group *g;

	for (;;) {
		lock(&s->lock);
		(void)await(s, &s->reading, false); /* returns for work or the end only */
		g = take(s, &s->reading, 1);
		if (g)
			s->counts.reads++;
		unlock(&s->lock);
		if (!g)
			return NULL;
		run_read(s, g->jobs[0]);
		post(g);
	}
}

/* Starting, stopping, queueing: on the loop's thread */

static int lane_start(struct store *s, struct store_lane *l, const char *name, void *(*run)(void *),
	struct error *err)
{
	pthread_condattr_t attr;

	must(pthread_condattr_init(&attr) == 0);
	must(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0);
	must(pthread_cond_init(&l->wake, &attr) == 0);
	must(pthread_condattr_destroy(&attr) == 0);
	errno = pthread_create(&l->thread, NULL, run, s);
	if (errno) {
		must(pthread_cond_destroy(&l->wake) == 0);
		return error_sys(err, "start the thread %s", name);
	}
	l->started = true;
	(void)pthread_setname_np(l->thread, name); /* for people with a debugger */
	return 0;
}

static void lane_stop(struct store *s, struct store_lane *l)
{
	if (!l->started)
		return;
	lock(&s->lock);
	l->stop = true;
	must(pthread_cond_signal(&l->wake) == 0);
	unlock(&s->lock);
	must(pthread_join(l->thread, NULL) == 0);
	must(pthread_cond_destroy(&l->wake) == 0);
	l->started = false;
}

int store_threads_start(struct store *s, struct error *err)
{
	sigset_t all, before;
	int rc;

	/* Signals are the loop's business: these threads inherit a full mask. */
	must(sigfillset(&all) == 0);
	must(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
	rc = lane_start(s, &s->writing, "store-write", writing_main, err);
	if (rc == 0)
		rc = lane_start(s, &s->reading, "store-read", reading_main, err);
	if (rc < 0)
		store_threads_stop(s);
	must(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
	return rc;
}

void store_threads_stop(struct store *s)
{
	lane_stop(s, &s->writing);
	lane_stop(s, &s->reading);
}

static void enqueue(struct store *s, struct store_lane *l, struct store_job *job)
{
	list_init(&job->node);
	loop_hold(s->loop); /* until it is delivered */
	lock(&s->lock);
	must(!l->stop);
	list_add_tail(&l->jobs, &job->node);
	l->queued++;
	must(pthread_cond_signal(&l->wake) == 0);
	unlock(&s->lock);
}

void store_write(struct store *s, int (*run)(struct store_tx *tx, void *arg, struct error *err),
	void (*done)(void *arg, int rc, const struct error *err), void *arg)
{
	struct store_job *job = xcalloc(1, sizeof(*job));

	job->write = run;
	job->done = done;
	job->arg = arg;
	enqueue(s, &s->writing, job);
}

void store_read(struct store *s, int (*run)(struct store_view *v, void *arg, struct error *err),
	void (*done)(void *arg, int rc, const struct error *err), void *arg)
{
	struct store_job *job = xcalloc(1, sizeof(*job));

	job->read = run;
	job->done = done;
	job->arg = arg;
	enqueue(s, &s->reading, job);
}
