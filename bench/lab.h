#ifndef BENCH_LAB_H
#define BENCH_LAB_H
/*
 * What benchmarks of the daemon share: a private home, the loopback provider as its model over
 * HTTP, a daemon of the build beside and clients of it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "client/client.h"
#include "json/json.h"
#include "mem/mem.h"
#include "test/harness/harness.h"

struct lab {
	char *dir, *workspace, *agent, *store, *socket, *log;
	struct harness *model;
	pid_t daemon; /* 0: none */
	char *env[8];
};

/* Makes the home and starts the model; NULL: it says "done" to everything. Providers of the daemon
 * are `chat`, `responses` and `anthropic`. */
void lab_init(struct lab *l, const char *script);
/* Ends everything and removes the home. */
void lab_end(struct lab *l);

/* Milliseconds until the ready line was read. `more`: flags, NULL-terminated, or NULL. */
double lab_start(struct lab *l, const char *const *more);
/* SIGTERM, and waits for its end. */
void lab_stop(struct lab *l);

/* Ends the benchmark when there is no daemon. */
struct client *lab_client(struct lab *l);
/* One request and its result, which lives until the client's next call; an error ends the
 * benchmark. */
const struct json *lab_call(struct client *c, const char *body, ...)
	__attribute__((format(printf, 2, 3)));
int64_t lab_i64(const struct json *object, const char *name);
/* Bytes of the store and what lies beside it. */
double lab_store_bytes(const struct lab *l);

double lab_now_ms(void);
/* The median of writing 4 KiB to a file there and syncing it. */
double lab_fsync_ms(const struct lab *l);

/* The value of a flag `--NAME N`, or `usual`. */
int64_t lab_flag(int argc, char **argv, const char *name, int64_t usual);
/* The same for a text; NULL: it is not there. */
const char *lab_text(int argc, char **argv, const char *name);

#endif
