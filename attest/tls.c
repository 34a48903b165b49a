/* TLS in front of a played provider: a thread that takes it off. */
#include "attest/tls.h"

#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attest/drill.h"
#include "os/os.h"

enum {
	PIECE_BYTES = 16384,
	DAY_S = 24 * 60 * 60,
};

struct front {
	int listener, to_port;
	SSL_CTX *context;
};

static X509 *make_certificate(EVP_PKEY *key)
{
	X509 *cert = X509_new();
	X509_NAME *name = X509_NAME_new();
	X509_EXTENSION *names, *authority;

	names = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "IP:127.0.0.1");
	authority = X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints, "critical,CA:TRUE");
	must(cert && name && names && authority && X509_set_version(cert, 2) == 1);
	must(ASN1_INTEGER_set(X509_get_serialNumber(cert), 1) == 1);
	must(X509_gmtime_adj(X509_getm_notBefore(cert), -DAY_S) &&
		X509_gmtime_adj(X509_getm_notAfter(cert), DAY_S));
	must(X509_NAME_add_entry_by_txt(
		     name, "CN", MBSTRING_ASC, (const unsigned char *)"attest", -1, -1, 0) == 1);
	must(X509_set_subject_name(cert, name) == 1 && X509_set_issuer_name(cert, name) == 1);
	must(X509_add_ext(cert, names, -1) == 1 && X509_add_ext(cert, authority, -1) == 1);
	must(X509_set_pubkey(cert, key) == 1 && X509_sign(cert, key, EVP_sha256()) > 0);
	X509_NAME_free(name);
	X509_EXTENSION_free(names);
	X509_EXTENSION_free(authority);
	return cert;
}

static SSL_CTX *make_context(struct attest *t, const char *file)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = make_certificate(key);
	FILE *f = fopen(file, "we");

	attest_true(t, f && PEM_write_X509(f, cert) == 1 && fclose(f) == 0,
		"attest: no certificate can be written");
	must(SSL_CTX_use_certificate(context, cert) == 1 &&
		SSL_CTX_use_PrivateKey(context, key) == 1);
	X509_free(cert);
	EVP_PKEY_free(key);
	return context;
}

static int connect_to(int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		os_close(fd_take(&fd));
	return fd;
}

/* Both ways until one side ends. */
static void pump(SSL *s, int sealed, int plain)
{
	struct pollfd both[] = {
		{.fd = sealed, .events = POLLIN},
                {.fd = plain,  .events = POLLIN}
        };
	char piece[PIECE_BYTES];

	while (SSL_pending(s) > 0 || poll(both, 2, -1) > 0) {
		int n = 0;

		if (SSL_pending(s) > 0 || both[0].revents) {
			n = SSL_read(s, piece, sizeof(piece));
			if (n <= 0 || os_write_all(plain, piece, (size_t)n, NULL) < 0)
				return;
		} else if (both[1].revents) {
			n = (int)recv(plain, piece, sizeof(piece), 0);
			if (n <= 0 || SSL_write(s, piece, n) <= 0)
				return;
		}
	}
}

static void *run(void *arg)
{
	const struct front *f = arg;

	for (;;) {
		_cleanup_(fd) int sealed = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
		_cleanup_(fd) int plain = -1;
		SSL *s = SSL_new(f->context);

		must(s && SSL_set_fd(s, sealed) == 1);
		if (SSL_accept(s) == 1 && (plain = connect_to(f->to_port)) >= 0) {
			pump(s, sealed, plain);
			(void)SSL_shutdown(s); /* a courtesy */
		}
		SSL_free(s);
	}
	return NULL;
}

void tls_front_open(struct attest *t, const struct played *p, struct tls_front *ret)
{
	struct front *f = arena_alloc(attest_arena(t), sizeof(*f));
	pthread_t thread;

	ret->file = attest_path(t, "%s/certificate.pem", attest_home(t));
	f->listener = drill_listen_tcp(t, &ret->port);
	f->to_port = p->port;
	f->context = make_context(t, ret->file);
	must(pthread_create(&thread, NULL, run, f) == 0);
	must(pthread_detach(thread) == 0);
}
