#ifndef ATTEST_TLS_H
#define ATTEST_TLS_H
/* TLS in front of a provider that a case plays by hand. */
#include "attest/attest.h"
#include "attest/provider.h"

struct tls_front {
	int port;         /* on 127.0.0.1, which its certificate is for */
	const char *file; /* PEM of that certificate: for SSL_CERT_FILE */
};
/* What comes there goes on to `p` in the clear, and back; one connection at a time. */
void tls_front_open(struct attest *t, const struct played *p, struct tls_front *ret);

#endif
