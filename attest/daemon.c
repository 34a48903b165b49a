/* Daemons of a case: started as a person would, in the case's home. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attest/internal.h"
#include "clock/clock.h"
#include "os/os.h"

enum {
	ARGS_MAX = 64,
	STOP_MS = 20000,
};

static const char one_reply[] = "{\"rehearsal\":1,\"repeat\":true}\n{\"say\":\"ok\"}\n";

static size_t add_all(const char **argv, size_t count, const char *const *more)
{
	for (size_t i = 0; more && more[i]; i++) {
		must(count < ARGS_MAX - 8);
		argv[count++] = more[i];
	}
	return count;
}

static void spawn_daemon(struct attest *t, struct attest_daemon *d, const struct attest_start *s)
{
	const char *argv[ARGS_MAX];
	size_t count = add_all(argv, 0, s->wrap);
	struct error err = ERROR_INIT;
	mode_t mask = s->umask == ATTEST_UMASK_NONE ? 0 : s->umask ? s->umask : 0022;
	int log = -1;

	argv[count++] = attest_path(t, "%s", attest_bin("agent"));
	argv[count++] = "serve";
	argv[count++] = "--provider";
	argv[count++] = attest_path(t, "drill=rehearsal,%s/drill.jsonl", d->home);
	if (s->store) {
		argv[count++] = "--store";
		argv[count++] = s->store;
	}
	count = add_all(argv, count, s->args);
	argv[count] = NULL;
	if (os_open(d->log, O_WRONLY | O_CREAT | O_APPEND, 0600, &log, &err) < 0)
		attest_broken(t, "attest: %s", err.text);
	d->pid = attest_spawn(t, argv, attest_environ(t, s->env),
		&(struct attest_setting){d->home, -1, log, mask});
	os_close(log);
}

struct looking {
	struct attest_daemon *d;
	struct client *client;
};

static bool answers(struct attest *t, void *arg)
{
	struct looking *l = arg;
	struct error err = ERROR_INIT;
	int status;

	if (client_open(l->d->socket, NULL, &l->client, &err) == 0)
		return true;
	attest_true(t, error_is(&err, &CLIENT_NO_DAEMON), "the daemon's socket: %s", err.text);
	if (waitpid(l->d->pid, &status, WNOHANG) == l->d->pid)
		attest_broken(t, "the daemon did not start: " STR_FMT,
			STR_ARG(attest_read(t, l->d->log)));
	return false;
}

static void keep(struct attest *t, struct client *c)
{
	must(t->client_count < CLIENTS_MAX);
	t->clients[t->client_count++] = c;
}

static void connect_daemon(struct attest *t, struct attest_daemon *d)
{
	struct looking l = {.d = d};

	attest_until(t, "the daemon answers", answers, &l);
	d->client = l.client;
	keep(t, l.client);
}

void attest_daemon_again(struct attest *t, struct attest_daemon *d, const struct attest_start *s)
{
	char *script = attest_path(t, "%s/drill.jsonl", d->home);

	d->client = NULL;
	if (s->script || !attest_exists(script))
		attest_write(t, script, s->script ? s->script : one_reply);
	spawn_daemon(t, d, s);
	if (!s->expect_failure)
		connect_daemon(t, d);
}

struct attest_daemon *attest_daemon_start(struct attest *t, const struct attest_start *s)
{
	struct attest_daemon *d = arena_alloc(&t->arena, sizeof(*d));

	d->home = attest_path(t, "%s", attest_home(t));
	d->store = s->store ? attest_path(t, "%s", s->store)
			    : attest_path(t, "%s/.agent/state.sqlite", d->home);
	d->socket = client_socket_path(d->store);
	d->log = attest_path(t, "%s/daemon.log", d->home);
	d->workspace = attest_path(t, "%s/ws", d->home);
	if (mkdir(d->workspace, 0755) < 0 && !attest_exists(d->workspace))
		attest_broken(t, "attest: no workspace");
	attest_daemon_again(t, d, s);
	return d;
}

struct client *attest_connect(struct attest *t, const char *socket)
{
	struct error err = ERROR_INIT;
	struct client *c = NULL;

	if (client_open(socket, NULL, &c, &err) < 0)
		attest_broken(t, "connect to '%s': %s", socket, err.text);
	keep(t, c);
	return c;
}

void attest_disconnect(struct attest *t, struct attest_daemon *d)
{
	for (size_t i = 0; i < t->client_count; i++)
		client_free(t->clients[i]);
	t->client_count = 0;
	d->client = NULL;
}

void attest_daemon_kill(struct attest *t, struct attest_daemon *d)
{
	(void)t;
	(void)kill(d->pid, SIGKILL);
	(void)waitpid(d->pid, NULL, 0); /* a child of ours that was told to die */
}

int attest_daemon_wait(struct attest *t, struct attest_daemon *d)
{
	return attest_reap(t, d->pid, "the daemon", STOP_MS);
}

void attest_daemon_stop(struct attest *t, struct attest_daemon *d)
{
	int status;

	(void)kill(d->pid, SIGTERM); /* gone already: the status says so */
	status = attest_daemon_wait(t, d);
	attest_true(t, status == 0, "the daemon ended with %d: " STR_FMT, status,
		STR_ARG(attest_read(t, d->log)));
}

struct attest_ran attest_agent(struct attest *t, const struct attest_daemon *d,
	const char *const *args, const char *const *env)
{
	const char *argv[ARGS_MAX];
	size_t count = 0;

	argv[count++] = attest_path(t, "%s", attest_bin("agent"));
	argv[count++] = *args++;
	if (d) {
		argv[count++] = "--store";
		argv[count++] = d->store;
	}
	count = add_all(argv, count, args);
	argv[count] = NULL;
	return attest_run(t, argv, env);
}
