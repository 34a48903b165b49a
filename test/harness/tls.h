#ifndef HARNESS_TLS_H
#define HARNESS_TLS_H
/* The server's side of TLS, as bytes in and bytes out: OpenSSL over memory, no descriptor. */
#include "error/error.h"
#include "text/text.h"

extern const struct error_kind TLS_FAILED; /* tls_failed, io */

struct tls_context;
/* From PEM files: the certificate with its chain, and its key. */
int tls_context_new(
	const char *certificate, const char *key, struct tls_context **ret, struct error *err);
void tls_context_free(struct tls_context *c); /* NULL does nothing */

struct tls;
struct tls *tls_new(struct tls_context *c);
void tls_free(struct tls *t); /* NULL does nothing */

/* Takes what the peer sent. Plain bytes are appended to `plain`, what must be sent to `out`. 1: the
 * peer says no more; 0; -1: it failed, and what is in `out` tells the peer. */
int tls_take(struct tls *t, struct str bytes, struct buf *plain, struct buf *out);
/* Seals plain bytes; nothing before the handshake is over. */
void tls_put(struct tls *t, struct str plain, struct buf *out);
void tls_end(struct tls *t, struct buf *out);

#endif
