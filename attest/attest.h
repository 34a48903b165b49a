#ifndef ATTEST_ATTEST_H
#define ATTEST_ATTEST_H
/*
 * attest: the promises of the policies, run on this machine against the programs installed here.
 *
 * A case is a row: the promise's id, what it needs of the machine, a function. It runs in a process
 *of its own, in a private home below /var/tmp, does what the third column of docs/promises says
 *against the real binaries, and fails when the property is broken. A case that returns held.
 *Whatever it started ends with it, whatever it made below its home is removed.
 *
 *	static void AG_012_socket_is_private(struct attest *t)
 *	{
 *		struct attest_daemon *d = attest_daemon_start(t, &(struct attest_start){.umask =
 *0022});
 *
 *		attest_mode(t, "the socket", d->socket, 0600);
 *	}
 *	const struct attest_case attest_agent_files[] = {
 *		{"AG-012", NEEDS_NOTHING, AG_012_socket_is_private},
 *		{NULL, 0, NULL},
 *	};
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "client/client.h"
#include "json/json.h"
#include "mem/mem.h"
#include "text/text.h"

/* What a case needs; where it is missing the row says `not here` and why. */
enum attest_need {
	NEEDS_NOTHING = 0,
	NEEDS_SANDBOX = 1 << 0, /* bubblewrap can make its namespaces */
	NEEDS_STRACE = 1 << 1,  /* strace is there and may trace */
	NEEDS_NAMESPACE =
		1 << 2, /* this user can make user, mount and network namespaces (unshare -Ur) */
	NEEDS_SQLITE3 = 1 << 3, /* the sqlite3 program */
	NEEDS_GIT = 1 << 4,
	NEEDS_CC = 1 << 5,     /* a C compiler, for a probe program */
	NEEDS_SOURCE = 1 << 6, /* the source tree (ATTEST_SOURCE): release and repository rows */
	NEEDS_ROUGH = 1 << 7,  /* --rough: can hurt a machine */
};

struct attest;
struct attest_case {
	const char *id;
	unsigned needs;
	void (*run)(struct attest *t);
};

/* The tables of cases, each ended by a row without an id; suites are in suites.c. */

/*
 * Outcomes. All of them end the case's process but attest_note.
 */
/* The promise is broken: says how. */
void attest_broken(struct attest *t, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));
void attest_not_here(struct attest *t, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));
/* Broken unless cond. */
#define attest_true(t, cond, ...)                                                                  \
	do {                                                                                       \
		if (!(cond))                                                                       \
			attest_broken(t, __VA_ARGS__);                                             \
	} while (0)
/* A line for --verbose. */
void attest_note(struct attest *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

void attest_mode(struct attest *t, const char *what, const char *path, mode_t mode);
void attest_absent(struct attest *t, const char *path);
void attest_has(struct attest *t, const char *what, struct str text, const char *needle);
void attest_lacks(struct attest *t, const char *what, struct str text, const char *needle);

/* The row's id. */
const char *attest_id(const struct attest *t);

/*
 * The case's own world. Everything is freed with the process; paths are absolute.
 */
const char *attest_home(
	struct attest *t); /* private, 0700, below /var/tmp; HOME of what is started */
const char *attest_outside(struct attest *t); /* a folder below /var/tmp that no bot may write */
const char *attest_tmp(struct attest *t);     /* a folder below /tmp, which every bot may write */
const char *attest_bin(const char *program);  /* path of agent, consort-write … */
struct arena *attest_arena(struct attest *t); /* freed with the case */
char *attest_path(struct attest *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void attest_write(struct attest *t, const char *path, const char *content); /* makes parents */
/* The content, "" when it is not there. */
struct str attest_read(struct attest *t, const char *path);
bool attest_exists(const char *path);

/* Runs a program to its end, at most 30 s; env entries "NAME=value" are added to the case's. */
struct attest_ran {
	int status; /* exit status, 128 + signal */
	struct str out, err;
};
struct attest_ran attest_run(struct attest *t, const char *const *argv, const char *const *env);
/* /bin/sh -c, in the case's home. */
struct attest_ran attest_sh(struct attest *t, const char *script, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Daemons.
 */
struct attest_start {
	mode_t umask;            /* of the daemon; 0: 0022. Say ATTEST_UMASK_NONE for 000 */
	const char *script;      /* JSON Lines of the rehearsal model `drill/x`; NULL: one "ok" */
	const char *store;       /* NULL: the default of HOME */
	const char *const *args; /* more arguments of `agent serve`, NULL-terminated */
	const char *const *env;  /* "NAME=value", NULL-terminated */
	const char *const
		*wrap; /* a program before `agent`, such as strace or unshare, NULL-terminated */
	bool expect_failure; /* do not wait for ready: see attest_daemon_wait */
};
enum { ATTEST_UMASK_NONE = 01000 };

struct attest_daemon {
	pid_t pid;                                     /* of what was started (wrap included) */
	char *home, *store, *socket, *log, *workspace; /* workspace: HOME/ws, made */
	struct client *client;                         /* connected, unless expect_failure */
};
struct attest_daemon *attest_daemon_start(struct attest *t, const struct attest_start *s);
/* Replaces the script of the running daemon's provider for daemons started from now on. */
void attest_daemon_kill(struct attest *t, struct attest_daemon *d); /* SIGKILL and reap */
void attest_daemon_stop(
	struct attest *t, struct attest_daemon *d); /* SIGTERM; broken unless it exits 0 */
int attest_daemon_wait(
	struct attest *t, struct attest_daemon *d); /* its exit status, at most 20 s */
/* The same home and arguments again. */
void attest_daemon_again(struct attest *t, struct attest_daemon *d, const struct attest_start *s);
/* Ends every connection of the case, d->client too: as if all clients were gone. */
void attest_disconnect(struct attest *t, struct attest_daemon *d);
/* Another connection, ended with the case. */
struct client *attest_connect(struct attest *t, const char *socket);

/*
 * Requests. `body` is the members of the request without its id, printf-style.
 */
const struct json *attest_call(struct attest *t, struct client *c, const char *body, ...)
	__attribute__((format(printf, 3, 4)));
/* Must fail with this code; returns the detail. */
const char *attest_refused(struct attest *t, struct client *c, const char *code, const char *body,
	...) __attribute__((format(printf, 4, 5)));

/* A bot `b` of the daemon's workspace with all of its tools; `more` is more members ("" or
 * "\"sandbox\":\"read-only\""). Returns its id. */
int64_t attest_bot(struct attest *t, struct attest_daemon *d, const char *name, const char *more);
/* Submits and waits for the end; the outcome object. */
const struct json *attest_turn(
	struct attest *t, struct attest_daemon *d, const char *bot, const char *prompt);
/* Submits without waiting; the turn's number. */
int64_t attest_submit(
	struct attest *t, struct attest_daemon *d, const char *bot, const char *prompt);
const struct json *attest_wait(
	struct attest *t, struct attest_daemon *d, const char *bot, int64_t turn);
/* The number of the bot's newest turn. */
int64_t attest_last_turn(struct attest *t, struct attest_daemon *d, const char *bot);
/* The output of call number `nth` (from 0) of the bot's whole conversation, as the model was given
 * it. */
struct str attest_output(struct attest *t, struct attest_daemon *d, const char *bot, int nth);
/* The bot's whole conversation, oldest first: an array of {"node","item"}. What the model's next
 * request holds, since items are replayed as they are stored. */
const struct json *attest_items(struct attest *t, struct client *c, const char *bot);
/* The conversation's items one a line, as JSON text. */
struct str attest_items_text(struct attest *t, struct client *c, const char *bot);
/* The final text of an outcome. */
struct str attest_said(const struct json *outcome);
/* Whether the daemon has this operation. A case that leaves one out since it is not there yet says
 * so with this, and so breaks once it is. */
bool attest_has_op(const struct client *c, const char *op);
/* The command line: `agent ARGS… ` in the case's home, --store put behind the command's name. */
struct attest_ran attest_agent(struct attest *t, const struct attest_daemon *d,
	const char *const *args, const char *const *env);
/* One turn of a new bot: runs `command` by its shell tool under the sandbox named and returns
 * stdout and stderr joined; *ret_status may be NULL. The daemon must have been started with a
 * script that has this command: see attest_script_shell. */
/* A script whose replies call the shell with these commands, one a turn, each followed by a final
 * text. */
char *attest_script_shell(struct attest *t, const char *const *commands, size_t count);
/* Waits until the bot has a pending approval; the approval object. */
const struct json *attest_pending(struct attest *t, struct attest_daemon *d, const char *bot);
void attest_answer(struct attest *t, struct attest_daemon *d, const struct json *approval,
	const char *decision, const char *more);
/* Calls try until it says true; broken with `what` after 10 s. */
void attest_until(
	struct attest *t, const char *what, bool (*try)(struct attest *t, void *arg), void *arg);

#endif
