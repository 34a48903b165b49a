/*
 * fetch: TLS over a connection's stream. OpenSSL reads straight from what the loop read and writes
 * straight to the stream, so that it never waits and keeps no copy of its own.
 *
 * OpenSSL is not touched before the first https call: loading the trusted certificates takes some
 * 25 ms.
 */
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "internal.h"

enum {
	PLAIN_BYTES = SSL3_RT_MAX_PLAIN_LENGTH, /* one record */
	HELD_MAX_BYTES = 128 * 1024,            /* twice what the loop reads at once */
};

struct tls_shared {
	SSL_CTX *ctx;
	BIO_METHOD *bio;
	char plain[PLAIN_BYTES]; /* lent to one call_input at a time */
};

struct tls {
	struct conn *conn;
	struct tls_shared *shared;
	SSL *ssl;
	struct str in;   /* ciphertext not yet read, while tls_input runs */
	struct buf held; /* ciphertext that a paused call left */
	bool established, broken;
};

/* What OpenSSL reads and writes through */

static int bio_read(BIO *b, char *p, size_t len, size_t *ret_len)
{
	struct tls *t = BIO_get_data(b);

	BIO_clear_retry_flags(b);
	if (t->in.len == 0) {
		BIO_set_retry_read(b);
		return 0;
	}
	len = len < t->in.len ? len : t->in.len;
	memcpy(p, t->in.p, len);
	t->in = (struct str){t->in.p + len, t->in.len - len};
	*ret_len = len;
	return 1;
}

static int bio_write(BIO *b, const char *p, size_t len, size_t *ret_len)
{
	struct tls *t = BIO_get_data(b);

	BIO_clear_retry_flags(b);
	loop_stream_write(t->conn->stream, p, len); /* a failure is told by the stream */
	*ret_len = len;
	return 1;
}

static long bio_ctrl(BIO *b, int cmd, long number, void *p)
{
	(void)b;
	(void)number;
	(void)p;
	return cmd == BIO_CTRL_FLUSH;
}

static BIO_METHOD *new_bio_method(void)
{
	BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stream");

	must(m && BIO_meth_set_read_ex(m, bio_read) && BIO_meth_set_write_ex(m, bio_write) &&
		BIO_meth_set_ctrl(m, bio_ctrl));
	return m;
}

/* Errors in words */

static const char *openssl_reason(void)
{
	const char *reason = ERR_reason_error_string(ERR_peek_error());

	return reason ? reason : "no reason given";
}

static int certificate_error(const struct tls *t, long verdict, struct error *err)
{
	const char *host = t->conn->origin->url.at.host;

	switch (verdict) {
	case X509_V_ERR_CERT_HAS_EXPIRED:
		return error_set(err, &FETCH_TLS, "the certificate of '%s' has expired", host);
	case X509_V_ERR_CERT_NOT_YET_VALID:
		return error_set(err, &FETCH_TLS, "the certificate of '%s' is not valid yet", host);
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		return error_set(err, &FETCH_TLS,
			"the certificate that '%s' shows is for another name", host);
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
		return error_set(err, &FETCH_TLS,
			"the certificate of '%s' comes from an unknown authority", host);
	default:
		return error_set(err, &FETCH_TLS, "the certificate of '%s': %s", host,
			X509_verify_cert_error_string(verdict));
	}
}

static int handshake_error(const struct tls *t, struct error *err)
{
	const char *host = t->conn->origin->url.at.host;
	long verdict = SSL_get_verify_result(t->ssl);

	if (verdict != X509_V_OK)
		return certificate_error(t, verdict, err);
	switch (ERR_GET_REASON(ERR_peek_error())) {
	case SSL_R_UNSUPPORTED_PROTOCOL:
	case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
	case SSL_R_WRONG_SSL_VERSION:
		return error_set(err, &FETCH_TLS, "'%s' speaks no TLS 1.2 or later", host);
	case SSL_R_WRONG_VERSION_NUMBER:
	case SSL_R_HTTP_REQUEST:
		return error_set(err, &FETCH_TLS, "'%s' does not speak TLS there", host);
	default:
		return error_set(
			err, &FETCH_TLS, "TLS handshake with '%s': %s", host, openssl_reason());
	}
}

/* What connections share */

/* TLS 1.3 sends these after the handshake, and only of one that verified. */
static int keep_session(SSL *ssl, SSL_SESSION *session)
{
	struct tls *t = SSL_get_app_data(ssl);

	tls_session_free(t->conn->origin->session);
	t->conn->origin->session = session;
	return 1; /* it is ours now */
}

void tls_session_free(void *session)
{
	SSL_SESSION_free(session);
}

static int trust(SSL_CTX *ctx, const char *ca_file, struct error *err)
{
	if (ca_file && SSL_CTX_load_verify_file(ctx, ca_file) != 1)
		return error_set(err, &FETCH_TLS, "read the trusted certificates of '%s': %s",
			ca_file, openssl_reason());
	if (!ca_file && SSL_CTX_set_default_verify_paths(ctx) != 1)
		return error_set(err, &FETCH_TLS, "read the system's trusted certificates: %s",
			openssl_reason());
	return 0;
}

static void set_rules(SSL_CTX *ctx)
{
	static const unsigned char http_1_1[] = "\x08http/1.1";

	must(SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1);
	must(SSL_CTX_set_alpn_protos(ctx, http_1_1, sizeof(http_1_1) - 1) == 0);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	(void)SSL_CTX_set_options(
		ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);  /* the new set */
	(void)SSL_CTX_clear_options(ctx, SSL_OP_IGNORE_UNEXPECTED_EOF); /* likewise */
	(void)SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);          /* likewise */
	SSL_CTX_set_read_ahead(ctx, 1);
	(void)SSL_CTX_set_session_cache_mode(
		ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL); /* the mode before */
	SSL_CTX_sess_set_new_cb(ctx, keep_session);
}

static struct tls_shared *shared_new(const struct fetch *f, struct error *err)
{
	struct tls_shared *s = xcalloc(1, sizeof(*s));

	ERR_clear_error();
	s->ctx = SSL_CTX_new(TLS_client_method());
	must(s->ctx);
	set_rules(s->ctx);
	s->bio = new_bio_method();
	if (trust(s->ctx, f->ca_file, err) == 0)
		return s;
	tls_shared_free(s);
	return NULL;
}

void tls_shared_free(void *shared)
{
	struct tls_shared *s = shared;

	if (!s)
		return;
	SSL_CTX_free(s->ctx);
	BIO_meth_free(s->bio);
	free(s);
}

/* One connection */

static void expect_host(SSL *ssl, const struct url_authority *at)
{
	if (at->form == URL_HOST_NAME) {
		SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
		must(SSL_set1_host(ssl, at->host) == 1);
		must(SSL_set_tlsext_host_name(ssl, at->host) == 1);
	} else {
		must(X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), at->host) == 1);
	}
}

static struct tls *tls_new(struct conn *n, struct tls_shared *s)
{
	struct tls *t = xcalloc(1, sizeof(*t));
	BIO *bio = BIO_new(s->bio);

	t->conn = n;
	t->shared = s;
	t->held = (struct buf)BUF_INIT(HELD_MAX_BYTES);
	t->ssl = SSL_new(s->ctx);
	must(bio && t->ssl);
	BIO_set_data(bio, t);
	BIO_set_init(bio, 1);
	SSL_set_bio(t->ssl, bio, bio); /* owns it */
	must(SSL_set_app_data(t->ssl, t) == 1);
	expect_host(t->ssl, &n->origin->url.at);
	if (n->origin->session)
		(void)SSL_set_session(t->ssl, n->origin->session); /* or a full handshake */
	SSL_set_connect_state(t->ssl);
	return t;
}

/* The handshake, then records. Goes on until it has read all, or is paused, or closed. */

/* Only when OpenSSL just failed: why, told to the connection. */
static void fail(struct tls *t, int rc)
{
	struct error err = ERROR_INIT;

	t->broken = true;
	if (!t->established)
		(void)handshake_error(t, &err); /* always -1 */
	else
		(void)error_set(&err, &FETCH_TLS, "TLS with '%s': %s", t->conn->origin->url.at.host,
			rc == SSL_ERROR_SSL ? openssl_reason() : "broken"); /* always -1 */
	ERR_clear_error();
	conn_fail(t->conn, &err);
}

static bool shake(struct tls *t)
{
	int rc;

	ERR_clear_error();
	rc = SSL_do_handshake(t->ssl);
	if (rc == 1) {
		t->established = true;
		conn_secured(t->conn);
		return true;
	}
	rc = SSL_get_error(t->ssl, rc);
	if (rc != SSL_ERROR_WANT_READ)
		fail(t, rc);
	return false;
}

/* Without a call this may run inside another one's callback, which still looks at the shared
 * buffer; nothing is expected then, so a byte is enough to see that something came. */
static bool read_record(struct tls *t)
{
	char byte = 0;
	char *into = t->conn->call ? t->shared->plain : &byte;
	size_t len;
	int rc;

	ERR_clear_error();
	rc = SSL_read_ex(t->ssl, into, t->conn->call ? PLAIN_BYTES : 1, &len);
	if (rc == 1) {
		conn_plain(t->conn, (struct str){into, len});
		return true;
	}
	rc = SSL_get_error(t->ssl, rc);
	if (rc == SSL_ERROR_ZERO_RETURN)
		conn_ended(t->conn, true, NULL);
	else if (rc != SSL_ERROR_WANT_READ)
		fail(t, rc);
	return false;
}

static void run(struct tls *t)
{
	const struct conn *n = t->conn;
	bool more = true;

	while (more && n->state != CONN_CLOSED && !n->paused)
		more = t->established ? read_record(t) : shake(t);
}

static void feed(struct tls *t, struct str bytes)
{
	t->in = bytes;
	run(t);
	if (t->conn->state != CONN_CLOSED && t->in.len > 0)
		must(buf_put_str(&t->held, t->in) == 0);
	t->in = (struct str){0};
	/* A session ticket makes OpenSSL allocate a write buffer that SSL_MODE_RELEASE_BUFFERS
	 * does not free: 16 KiB for as long as a stream is open. */
	if (t->conn->state != CONN_CLOSED && t->established)
		(void)SSL_free_buffers(t->ssl); /* refuses while they hold something */
}

int tls_start(struct conn *n, struct error *err)
{
	struct fetch *f = n->fetch;

	if (!f->tls)
		f->tls = shared_new(f, err);
	if (!f->tls)
		return -1;
	n->tls = tls_new(n, f->tls);
	run(n->tls);
	return 0;
}

void tls_input(struct tls *t, struct str bytes)
{
	feed(t, bytes);
}

void tls_continue(struct tls *t)
{
	struct buf held = t->held;

	t->held = (struct buf)BUF_INIT(HELD_MAX_BYTES);
	feed(t, buf_str(&held));
	buf_release(&held);
}

void tls_write(struct tls *t, struct str bytes)
{
	size_t written;
	int rc;

	if (t->broken || bytes.len == 0)
		return;
	ERR_clear_error();
	rc = SSL_write_ex(t->ssl, bytes.p, bytes.len, &written);
	/* The stream takes everything, so only what broke TLS itself can fail; reading tells. */
	t->broken = rc != 1;
}

bool tls_is_quiet(struct tls *t)
{
	char byte = 0;
	size_t len;
	int rc;

	ERR_clear_error();
	rc = SSL_read_ex(t->ssl, &byte, 1, &len);
	rc = rc == 1 ? SSL_ERROR_NONE : SSL_get_error(t->ssl, rc);
	t->broken = t->broken || rc == SSL_ERROR_SSL || rc == SSL_ERROR_SYSCALL;
	return rc == SSL_ERROR_WANT_READ;
}

void tls_close(struct tls *t)
{
	ERR_clear_error();
	if (t->established && !t->broken)
		(void)SSL_shutdown(t->ssl); /* a goodbye; nobody waits for the answer */
	ERR_clear_error();
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	SSL_free(t->ssl);
	buf_release(&t->held);
	free(t);
}
