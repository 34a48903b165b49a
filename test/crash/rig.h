#ifndef CRASH_RIG_H
#define CRASH_RIG_H
/*
 * What the crash tests share: a private home below /var/tmp, a daemon in it that is started, killed
 * and started again, requests, and the one way to fail.
 *
 * A test is a plain program. rig_broken says what does not hold, ends everything that was started,
 * leaves the home in place when CRASH_KEEP is set, and exits 1. Memory that lives as long as the
 * program comes from rig_keep and is freed by rig_end.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "client/client.h"
#include "json/json.h"
#include "mem/mem.h"
#include "text/text.h"

enum {
	RIG_SKIP = 77, /* ctest: not here */
#ifdef CONSORT_SANITIZED
	RIG_SLOW = 4, /* limits on time grow by this under the sanitizers */
#else
	RIG_SLOW = 1,
#endif
};

struct rig {
	char *bin;  /* folder of the programs */
	char *home; /* private; HOME of the daemon */
	char *script, *store, *socket, *log;
	pid_t child; /* what was started, a wrapper such as strace included; 0: nothing */
	const char *const *env; /* more "NAME=value" for the daemon, NULL-terminated; may be NULL */
	struct arena arena;
};

/* `bin` NULL: ../bin from where this program lies. Makes the home, becomes a subreaper. */
void rig_init(struct rig *r, const char *bin);
/* Stops the daemon, if there is one, and removes the home. */
void rig_end(struct rig *r);
void rig_broken(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
#define rig_true(cond, ...)                                                                        \
	do {                                                                                       \
		if (!(cond))                                                                       \
			rig_broken(__VA_ARGS__);                                                   \
	} while (0)
/* Ends the program as skipped, with the reason. */
void rig_not_here(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

char *rig_keep(struct rig *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
void rig_write(const char *path, const char *content);
/* The content in the rig's arena, "" when nothing is there. */
struct str rig_read(struct rig *r, const char *path);
int64_t rig_now_ms(void);
/* For what has no descriptor to wait for. */
void rig_pause(int ms);

/* Starts `agent serve` in the home, behind `wrap` (such as strace) when that is not NULL. */
void rig_start(struct rig *r, const char *const *wrap, const char *const *args);
/* Connected and the ready line read; broken when the daemon ends before or takes too long. */
struct client *rig_connect(struct rig *r);
/* The same, but NULL when the daemon has ended: its status is in *ret_status (128 + signal). */
struct client *rig_try_connect(struct rig *r, int *ret_status);
bool rig_has_ended(struct rig *r, int *ret_status);
/* Waits for its end, at most limit_ms; broken when that is over. */
int rig_wait(struct rig *r, int limit_ms);
/* SIGKILL to the daemon's own process, and reap. Broken when it had ended by itself. */
void rig_kill(struct rig *r);
/* SIGTERM; broken unless it ends with 0 and its log holds no sanitizer's report. */
void rig_stop(struct rig *r);
/* Nothing that the dead daemon started is left within `limit_ms`: this process adopts what it
 * orphaned. */
void rig_no_survivors(struct rig *r, int limit_ms);
/* Broken when the log holds a sanitizer's report or an abort. */
void rig_check_log(struct rig *r);
/* `sqlite3` on a copy of the store says ok; false when there is no such program. */
bool rig_integrity(struct rig *r);

/* Runs a program to its end and gives its exit status, 128 + signal, 127: it is not there. */
int rig_run(const char *const *argv);

/* Requests: the members without the id, printf-style. */
const struct json *rig_call(struct client *c, const char *body, ...)
	__attribute__((format(printf, 2, 3)));
/* Must be refused with this code. */
void rig_refused(struct client *c, const char *code, const char *body, ...)
	__attribute__((format(printf, 3, 4)));
/* Either: NULL and the code (client_remote_code) when it is refused. */
const struct json *rig_ask(struct client *c, const char *body, ...)
	__attribute__((format(printf, 2, 3)));
int64_t rig_i64(const struct json *object, const char *name); /* broken when it is none */

/* Repeatable numbers. */
struct dice {
	uint64_t state;
};
void dice_init(struct dice *d, uint64_t seed);
/* low to high, both included */
int64_t dice(struct dice *d, int64_t low, int64_t high);

#endif
