#ifndef FETCH_TEST_TLS_SERVER_H
#define FETCH_TEST_TLS_SERVER_H
/*
 * tls_server: an authority made for the test, certificates by it, and a TLS server in threads of
 * its own, which knows nothing of the code under test.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct authority;
struct authority *authority_new(const char *name);
void authority_write(const struct authority *a, const char *path); /* PEM */
void authority_free(struct authority *a);

struct certificate {
	const char *names;              /* "DNS:a.test,IP:127.0.0.1"; the common name is "test" */
	int from_days, until_days;      /* from now */
	const struct authority *signer; /* NULL: itself */
};

/*
 * It answers by the request's path: / "ok"; /echo the body; /bytes "ok", a byte a record; /end "ok"
 * without a length, then a goodbye; /cut the same without; /half half of the length it says, then a
 * cut; /bye "ok", a goodbye; /raw switches protocols and sends everything back until "bye".
 */
struct tls_server_options {
	struct certificate certificate;
	int min_version, max_version; /* TLS1_1_VERSION …; 0: what OpenSSL does */
	bool no_tls;                  /* answers in the clear at once */
};
struct tls_server;
struct tls_server *tls_server_new(const struct tls_server_options *o);
uint16_t tls_server_port(const struct tls_server *s);
struct tls_server_counts {
	int connections, handshakes, resumed, requests;
	int goodbyes;      /* connections whose peer said goodbye */
	char asked[64];    /* the name of the last handshake, by SNI; empty without */
	char protocol[16]; /* chosen by ALPN, of the last handshake */
};
void tls_server_counts(struct tls_server *s, struct tls_server_counts *ret);
/* Ends its threads, and so waits for all of them. */
void tls_server_free(struct tls_server *s);

#endif
