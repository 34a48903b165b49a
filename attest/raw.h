#ifndef ATTEST_RAW_H
#define ATTEST_RAW_H
/* A connection to the daemon's socket without any client: bytes out, lines in. */
#include "attest/attest.h"

struct raw;
struct raw *raw_open(struct attest *t, const char *socket); /* ends with the case */
/* 0, or the errno of socket() or connect(). */
int raw_try(const char *socket, int *ret_fd);
void raw_send(struct attest *t, struct raw *r, const void *bytes, size_t len);
void raw_puts(struct attest *t, struct raw *r, const char *text);
/* The next line without its newline, waited for at most 10 s; false at the end of the stream. Bytes
 * without a newline before the end break the case. */
bool raw_line(struct attest *t, struct raw *r, struct str *ret);
/* The same as JSON: a line that is none breaks the case. NULL at the end. */
const struct json *raw_json(struct attest *t, struct raw *r);
void raw_close(struct raw *r);

/* attest_until's: the path (the argument) is a socket. */
bool raw_is_socket(struct attest *t, void *path);
/* A listener of the case itself on a free port of 127.0.0.1, and whether somebody connected to it.
 */
int raw_tcp_listener(struct attest *t, int *ret_port);
bool raw_tcp_called(int listener);

#endif
