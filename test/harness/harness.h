#ifndef HARNESS_HARNESS_H
#define HARNESS_HARNESS_H
/*
 * harness: the loopback provider for tests, in a few lines.
 *
 *	struct harness *h;
 *
 *	must(harness_start(&(struct harness_start){.script = "{\"default\":[{\"say\":\"hi\"}]}"},
 *&h, &err) == 0); … ask harness_url(h) for a reply … must(harness_wait(h, 1, 5000, &err) == 0);
 *	assert_int_equal(harness_count(h), 1);
 *	harness_stop(h);
 *
 * It runs as a child, ends with harness_stop, with the thread that started it, and with the
 *process. Everything lies in a private folder of its own below /var/tmp, which goes with it. The
 *script's format stands in README.md beside this file.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "error/error.h"
#include "json/json.h"
#include "mem/mem.h"
#include "text/text.h"

extern const struct error_kind HARNESS_FAILED; /* harness_failed, io */

struct harness;

struct harness_start {
	const char *script;      /* the JSON itself; NULL: it says "done" to everything */
	const char *script_file; /* or a file that holds it */
	const char *tls_names;   /* TLS with a certificate for these, "localhost,127.0.0.1" */
	int tls_from_days, tls_to_days; /* of its certificate: 0, 0: yesterday to tomorrow */
	int latency_ms;                 /* before each answer */
	int port;                       /* 0: a free one */
	bool no_record;                 /* for load */
	const char *program;            /* NULL: the one of this build */
};
int harness_start(const struct harness_start *start, struct harness **ret, struct error *err);
/* Ends it (SIGTERM) and removes its folder. NULL does nothing. */
void harness_stop(struct harness *h);
static inline void harness_cleanup(struct harness **h) /* _cleanup_(harness) */
{
	harness_stop(*h);
}

int harness_port(const struct harness *h);
pid_t harness_pid(const struct harness *h);
/* "http://127.0.0.1:PORT/v1", with https under TLS. */
const char *harness_url(const struct harness *h);
const char *harness_dir(const struct harness *h); /* private; for what else a test needs */
/* Of TLS: the PEM file of the authority that made its certificate; NULL without. */
const char *harness_authority(const struct harness *h);

/*
 * The record, as far as it is written: a request is there before it is answered. Rows live until
 * harness_stop. harness_read looks again; harness_count is how many there are.
 */
int harness_read(struct harness *h, struct error *err);
size_t harness_count(const struct harness *h);
const struct json *harness_row(const struct harness *h, size_t i);
/* Waits until `count` rows are there; -1 after timeout_ms. */
int harness_wait(struct harness *h, size_t count, int timeout_ms, struct error *err);
/* Of a request's row: one of its headers (name in lower case), absent when there is none. */
struct str harness_header(const struct json *row, const char *name);

/*
 * Certificates for tests: an authority, and what it vouches for. P-256, valid from a day ago to a
 * day from now, or as days say.
 */
struct harness_certificate {
	const char *names;      /* of a server: names and addresses, by commas */
	int from_days, to_days; /* 0, 0: -1 to 1 */
};
/* Makes PREFIX.pem and PREFIX.key. */
int harness_make_authority(const char *prefix, struct error *err);
/* Makes PREFIX.pem (its authority's behind it) and PREFIX.key, from those of make_authority. */
int harness_make_certificate(const char *prefix, const char *authority,
	const struct harness_certificate *spec, struct error *err);

#endif
