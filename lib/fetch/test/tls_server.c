/* tls_server: see tls_server.h. */
#include "tls_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mem/mem.h"

enum {
	CONNECTIONS_MAX = 64,
	REQUEST_MAX_BYTES = 4 * 1024 * 1024,
	DAY_S = 24 * 60 * 60,
};

/* Certificates */

struct authority {
	EVP_PKEY *key;
	X509 *cert;
};

static void add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *e;

	X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
	e = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	must(e && X509_add_ext(cert, e, -1) == 1);
	X509_EXTENSION_free(e);
}

static X509 *new_cert(const char *name, EVP_PKEY *key, const struct certificate *c)
{
	static long serial = 1000;
	X509 *cert = X509_new();
	X509_NAME *subject = X509_get_subject_name(cert);
	EVP_PKEY *signing = c->signer ? c->signer->key : key;

	must(X509_set_version(cert, X509_VERSION_3) == 1);
	must(ASN1_INTEGER_set(X509_get_serialNumber(cert), serial++) == 1);
	must(X509_NAME_add_entry_by_txt(
		     subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0) == 1);
	must(X509_gmtime_adj(X509_getm_notBefore(cert), (long)c->from_days * DAY_S) != NULL);
	must(X509_gmtime_adj(X509_getm_notAfter(cert), (long)c->until_days * DAY_S) != NULL);
	must(X509_set_pubkey(cert, key) == 1);
	must(X509_set_issuer_name(
		     cert, c->signer ? X509_get_subject_name(c->signer->cert) : subject) == 1);
	if (c->names)
		add_extension(
			cert, c->signer ? c->signer->cert : cert, NID_subject_alt_name, c->names);
	else
		add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE");
	must(X509_sign(cert, signing, EVP_sha256()) > 0);
	return cert;
}

struct authority *authority_new(const char *name)
{
	struct authority *a = xcalloc(1, sizeof(*a));

	a->key = EVP_EC_gen("P-256");
	must(a->key);
	a->cert = new_cert(name, a->key, &(struct certificate){.from_days = -30, .until_days = 30});
	return a;
}

void authority_write(const struct authority *a, const char *path)
{
	FILE *f = fopen(path, "we");

	must(f && PEM_write_X509(f, a->cert) == 1 && fclose(f) == 0);
}

void authority_free(struct authority *a)
{
	EVP_PKEY_free(a->key);
	X509_free(a->cert);
	free(a);
}

/* The server */

struct tls_server {
	struct tls_server_options options;
	SSL_CTX *ctx;
	int fd;
	uint16_t port;
	pthread_t acceptor, threads[CONNECTIONS_MAX];
	int fds[CONNECTIONS_MAX];
	int connections;      /* the acceptor's alone */
	pthread_mutex_t lock; /* guards the counts */
	struct tls_server_counts counts;
};

struct session { /* one connection */
	struct tls_server *server;
	int fd;
	SSL *ssl;
	char *in; /* read, and how much */
	size_t len;
};

static void count(struct tls_server *s, int *counter)
{
	must(pthread_mutex_lock(&s->lock) == 0);
	++*counter;
	must(pthread_mutex_unlock(&s->lock) == 0);
}

static bool read_more(struct session *s)
{
	int n;

	must(s->len < REQUEST_MAX_BYTES);
	n = SSL_read(s->ssl, s->in + s->len, (int)(REQUEST_MAX_BYTES - s->len));
	if (n <= 0) {
		if (SSL_get_error(s->ssl, n) == SSL_ERROR_ZERO_RETURN)
			count(s->server, &s->server->counts.goodbyes);
		return false;
	}
	s->len += (size_t)n;
	s->in[s->len] = '\0';
	return true;
}

static void say(struct session *s, const char *p, size_t len)
{
	if (len > 0)
		(void)SSL_write(s->ssl, p, (int)len); /* a peer that left shows in reading */
}

static void say_text(struct session *s, const char *text)
{
	say(s, text, strlen(text));
}

/* A goodbye, or the bare end of the connection. */
static void leave(struct session *s, bool politely)
{
	if (politely)
		(void)SSL_shutdown(s->ssl); /* one way is enough */
	(void)shutdown(s->fd, SHUT_RDWR);   /* the peer may be gone already */
}

static void echo_body(struct session *s, const char *body, size_t len)
{
	char head[128];

	(void)snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",
		len); /* fits */
	say_text(s, head);
	say(s, body, len);
}

static void echo_raw(struct session *s)
{
	say_text(s, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n"
		    "Connection: Upgrade\r\n\r\nfirst,");
	s->len = 0;
	while (read_more(s)) {
		bool bye = s->len >= 3 && memcmp(s->in + s->len - 3, "bye", 3) == 0;

		say(s, s->in, s->len);
		s->len = 0;
		if (bye) {
			leave(s, true);
			return;
		}
	}
}

static void answer(struct session *s, const char *path, const char *body, size_t len)
{
	static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

	if (strcmp(path, "/echo") == 0) {
		echo_body(s, body, len);
	} else if (strcmp(path, "/bytes") == 0) {
		for (size_t i = 0; i < sizeof(ok) - 1; i++)
			say(s, ok + i, 1);
	} else if (strcmp(path, "/end") == 0 || strcmp(path, "/cut") == 0) {
		say_text(s, "HTTP/1.1 200 OK\r\n\r\nok");
		leave(s, path[1] == 'e');
	} else if (strcmp(path, "/half") == 0) {
		say_text(s, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok");
		leave(s, false);
	} else if (strcmp(path, "/raw") == 0) {
		echo_raw(s);
	} else {
		say_text(s, ok);
		if (strcmp(path, "/bye") == 0)
			leave(s, true);
	}
}

/* One request; false at the end. Its headers are few and known, so they are found, not parsed. */
static bool serve_request(struct session *s)
{
	char path[64] = "";
	size_t head_len, body_len = 0;
	const char *end, *length;

	s->len = 0;
	s->in[0] = '\0';
	while (!(end = strstr(s->in, "\r\n\r\n")))
		if (!read_more(s))
			return false;
	head_len = (size_t)(end - s->in) + 4;
	(void)snprintf(path, sizeof(path), "%.*s", (int)strcspn(strchr(s->in, '/'), " "),
		strchr(s->in, '/')); /* fits */
	length = strstr(s->in, "Content-Length: ");
	for (const char *c = length ? length + 16 : ""; *c >= '0' && *c <= '9'; c++)
		body_len = body_len * 10 + (size_t)(*c - '0');
	while (s->len < head_len + body_len)
		if (!read_more(s))
			return false;
	count(s->server, &s->server->counts.requests);
	answer(s, path, s->in + head_len, body_len);
	return true;
}

static void note_handshake(struct session *s)
{
	struct tls_server_counts *c = &s->server->counts;
	const char *name = SSL_get_servername(s->ssl, TLSEXT_NAMETYPE_host_name);
	const unsigned char *protocol;
	unsigned len;

	SSL_get0_alpn_selected(s->ssl, &protocol, &len);
	must(pthread_mutex_lock(&s->server->lock) == 0);
	c->handshakes++;
	c->resumed += SSL_session_reused(s->ssl);
	(void)snprintf(c->asked, sizeof(c->asked), "%s", name ? name : ""); /* cut is fine */
	(void)snprintf(c->protocol, sizeof(c->protocol), "%.*s", (int)len,
		(const char *)protocol); /* cut is fine */
	must(pthread_mutex_unlock(&s->server->lock) == 0);
}

static void *serve(void *arg)
{
	struct session *s = arg;

	if (s->server->options.no_tls) {
		static const char clear[] = "HTTP/1.1 400 Bad\r\n\r\n";

		(void)send(s->fd, clear, sizeof(clear) - 1, MSG_NOSIGNAL); /* the peer's to see */
	} else if (SSL_accept(s->ssl) == 1) {
		note_handshake(s);
		while (serve_request(s))
			;
	}
	(void)shutdown(s->fd, SHUT_RDWR); /* closed by tls_server_free, whose number it is */
	SSL_free(s->ssl);
	ERR_clear_error();
	free(s->in);
	free(s);
	return NULL;
}

static void *accept_all(void *arg)
{
	struct tls_server *s = arg;

	for (;;) {
		int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
		struct session *session;

		if (fd < 0)
			return NULL; /* shut down */
		must(s->connections < CONNECTIONS_MAX);
		session = xcalloc(1, sizeof(*session));
		session->server = s;
		session->fd = fd;
		session->in = xmalloc(REQUEST_MAX_BYTES + 1);
		session->ssl = SSL_new(s->ctx);
		must(SSL_set_fd(session->ssl, fd) == 1);
		count(s, &s->counts.connections);
		s->fds[s->connections] = fd;
		must(pthread_create(&s->threads[s->connections++], NULL, serve, session) == 0);
	}
}

/* Takes http/1.1 when offered, nothing else. */
static int choose(SSL *ssl, const unsigned char **out, unsigned char *out_len,
	const unsigned char *in, unsigned in_len, void *arg)
{
	static const unsigned char ours[] = "\x08http/1.1";

	(void)ssl;
	(void)arg;
	return SSL_select_next_proto((unsigned char **)out, out_len, ours, sizeof(ours) - 1, in,
		       in_len) == OPENSSL_NPN_NEGOTIATED
		       ? SSL_TLSEXT_ERR_OK
		       : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static SSL_CTX *new_ctx(const struct tls_server_options *o)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = new_cert("test", key, &o->certificate);

	must(ctx);
	must(SSL_CTX_set_cipher_list(ctx, "ALL:@SECLEVEL=0") == 1); /* or there is no TLS 1.1 */
	must(SSL_CTX_set_min_proto_version(ctx, o->min_version) == 1);
	must(SSL_CTX_set_max_proto_version(ctx, o->max_version) == 1);
	must(SSL_CTX_use_certificate(ctx, cert) == 1 && SSL_CTX_use_PrivateKey(ctx, key) == 1);
	SSL_CTX_set_alpn_select_cb(ctx, choose, NULL);
	X509_free(cert);
	EVP_PKEY_free(key);
	return ctx;
}

struct tls_server *tls_server_new(const struct tls_server_options *o)
{
	struct tls_server *s = xcalloc(1, sizeof(*s));
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);

	s->options = *o;
	s->ctx = new_ctx(o);
	must(pthread_mutex_init(&s->lock, NULL) == 0);
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(s->fd >= 0 && bind(s->fd, (struct sockaddr *)&at, sizeof(at)) == 0);
	must(getsockname(s->fd, (struct sockaddr *)&at, &len) == 0 && listen(s->fd, 64) == 0);
	s->port = ntohs(at.sin_port);
	must(pthread_create(&s->acceptor, NULL, accept_all, s) == 0);
	return s;
}

uint16_t tls_server_port(const struct tls_server *s)
{
	return s->port;
}

void tls_server_counts(struct tls_server *s, struct tls_server_counts *ret)
{
	must(pthread_mutex_lock(&s->lock) == 0);
	*ret = s->counts;
	must(pthread_mutex_unlock(&s->lock) == 0);
}

void tls_server_free(struct tls_server *s)
{
	(void)shutdown(s->fd, SHUT_RDWR); /* wakes the acceptor */
	must(pthread_join(s->acceptor, NULL) == 0);
	for (int i = 0; i < s->connections; i++) {
		(void)shutdown(s->fds[i], SHUT_RDWR); /* wakes its thread */
		must(pthread_join(s->threads[i], NULL) == 0);
		(void)close(s->fds[i]); /* nothing to do about a failed close */
	}
	(void)close(s->fd); /* likewise */
	must(pthread_mutex_destroy(&s->lock) == 0);
	SSL_CTX_free(s->ctx);
	free(s);
}
