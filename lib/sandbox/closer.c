/*
 * closer: closes descriptors of folders that were removed, on a thread of its own. It is the last
 * close that makes the file system free the folder, and that may wait for the disk: 0.3 ms each on
 * an ext4 mounted with `discard`, six of them at the end of a command, and the caller's loop stood
 * still meanwhile. The thread owns what it is given and touches nothing else.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "internal.h"
#include "os/os.h"

enum { WAITING_MAX = 256 /* ours: of some 40 commands; what is beyond is closed at once */ };

struct closer {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	int fds[WAITING_MAX];
	size_t count;
	bool stop;
};

/* Everything that waits, when something does; 0 at the end. */
static size_t take_all(struct closer *c, int fds[WAITING_MAX])
{
	size_t count;

	must(pthread_mutex_lock(&c->lock) == 0);
	while (c->count == 0 && !c->stop)
		must(pthread_cond_wait(&c->wake, &c->lock) == 0);
	count = c->count;
	memcpy(fds, c->fds, count * sizeof(*fds));
	c->count = 0;
	must(pthread_mutex_unlock(&c->lock) == 0);
	return count;
}

static void *closer_main(void *arg)
{
	struct closer *c = arg;
	int fds[WAITING_MAX];
	size_t count;

	while ((count = take_all(c, fds)) > 0) {
		for (size_t i = 0; i < count; i++)
			os_close(fds[i]);
	}
	return NULL;
}

/* NULL where no thread can be had. Signals are its caller's business: it has none. */
static struct closer *closer_new(void)
{
	struct closer *c = xcalloc(1, sizeof(*c));
	sigset_t all, before;
	int rc;

	must(pthread_mutex_init(&c->lock, NULL) == 0 && pthread_cond_init(&c->wake, NULL) == 0);
	must(sigfillset(&all) == 0 && pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
	rc = pthread_create(&c->thread, NULL, closer_main, c);
	must(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
	if (rc == 0) {
		(void)pthread_setname_np(c->thread, "closer"); /* for people with a debugger */
		return c;
	}
	must(pthread_cond_destroy(&c->wake) == 0 && pthread_mutex_destroy(&c->lock) == 0);
	free(c);
	return NULL;
}

void closer_give(struct closer **closer, int fd)
{
	struct closer *c = *closer ? *closer : (*closer = closer_new());
	bool taken = false;

	if (c) {
		must(pthread_mutex_lock(&c->lock) == 0);
		taken = c->count < WAITING_MAX;
		if (taken)
			c->fds[c->count++] = fd;
		must(pthread_cond_signal(&c->wake) == 0);
		must(pthread_mutex_unlock(&c->lock) == 0);
	}
	if (!taken)
		os_close(fd);
}

void closer_free(struct closer *c)
{
	if (!c)
		return;
	must(pthread_mutex_lock(&c->lock) == 0);
	c->stop = true;
	must(pthread_cond_signal(&c->wake) == 0);
	must(pthread_mutex_unlock(&c->lock) == 0);
	must(pthread_join(c->thread, NULL) == 0); /* when everything is closed */
	must(pthread_cond_destroy(&c->wake) == 0 && pthread_mutex_destroy(&c->lock) == 0);
	free(c);
}
