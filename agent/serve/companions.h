#ifndef AGENT_SERVE_COMPANIONS_H
#define AGENT_SERVE_COMPANIONS_H
/*
 * Companions (agent spec 9): programs that a client asks the daemon to keep. Each is started with
 * the daemon's whole environment, provider keys included (AG-186), and AGENT_SOCKET, unconfined,
 * under the supervisor, so that its tree ends with it and with the daemon; started again when it
 * has ended, with a delay that grows while it does not stay; and told to end, by SIGTERM, when it
 * is not wanted any more or the daemon goes. What does not end within a second is ended.
 *
 * No more than one is started in 20 ms, whatever happens to all of them at once.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/io/store.h"
#include "json/json.h"
#include "mem/mem.h"

struct daemon;

enum {
	COMPANIONS_MAX = 64,            /* ours */
	COMPANION_ARGS_MAX = 64,        /* ours */
	COMPANION_ARG_MAX_BYTES = 4096, /* ours */
	COMPANIONS_MAX_BYTES = 512 *
			       1024, /* ours: all of them as JSON, so that a list fits a line */
};
extern const struct error_kind COMPANION_INVALID; /* invalid_companion */

struct companion_spec {
	struct str name;
	struct str_list argv; /* C strings, the first an absolute path */
	struct str cwd;       /* absent: the person's home */
};

struct companions {
	struct list all;      /* struct companion, those that are to end too */
	char **env;           /* NULL: nothing is started yet */
	char *folder, *home;  /* of the logs; where one starts without a cwd */
	int logs;             /* the folder, or -1: made when first needed */
	int64_t next_mono_ms; /* none is started before */
	bool stopping;
};
void companions_init(struct daemon *d);
/* Tightens what logs there are. */
int companions_setup(struct daemon *d, struct error *err);
/* Starts those of the store, when it has said which. */
void companions_load(struct daemon *d);
/* All are told to end; daemon_look_idle is called when they have. */
void companions_stop(struct daemon *d);
bool companions_are_over(const struct daemon *d);
/* Ends at once what is left, silently. */
void companions_release(struct daemon *d);

/* Out of an array; `where` starts the path in errors. What is wrong with one is COMPANION_INVALID;
 * whether program and folder are there is looked at only when `paths` says so. */
int companions_read(struct arena *a, const struct json *list, bool paths,
	struct companion_spec **ret, size_t *ret_count, struct error *err);
void companions_write(
	struct json_out *j, const char *name, const struct companion_spec *list, size_t count);
/* These and no others. One that is as it was runs on. */
void companions_apply(struct daemon *d, const struct companion_spec *list, size_t count);
/* What they are doing. */
void companions_put(const struct daemon *d, struct json_out *j, const char *name);

#endif
