#ifndef ATTEST_SITE_H
#define ATTEST_SITE_H
/*
 * A web site that a case serves: a process of the case, one connection at a time, every request
 * kept byte for byte. What a path answers is said by the path:
 *
 *	/text/WORDS    a text that says "page WORDS"
 *	/caesar/WORDS  the same with each letter a to z replaced by the one before it, so that what
 *	               it says does not stand in its address
 *	/hop/N         a redirect to /hop/N-1; /hop/0 is "page arrived"
 *	/to/URL        a redirect there, with a cookie and a demand for a login
 *	/bytes/N       a text of N bytes; /packed/N the same as gzip
 *	/endless       a text that never ends; /packed-endless the same as gzip
 */
#include "attest/attest.h"

struct site;
/* At a free port of an address of this host: "127.0.0.1", "::1". Ends with the case. */
struct site *site_start(struct attest *t, const char *address);
int site_port(const struct site *s);
/* "http://127.0.0.1:PORT" and the path. */
const char *site_url(struct attest *t, const struct site *s, const char *path);
/* All requests so far; how many there were, or hold a text; the bytes of bodies that were taken. */
struct str site_heard(struct attest *t, struct site *s);
int site_count(struct attest *t, struct site *s, const char *text);
int64_t site_sent(struct site *s);

#endif
