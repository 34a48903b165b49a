/* The server's side of TLS. */
#include "test/harness/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "mem/mem.h"

const struct error_kind TLS_FAILED = {"tls_failed", ERROR_CLASS_IO};

enum { RECORD_BYTES = 16384 };

struct tls_context {
	SSL_CTX *ctx;
};

struct tls {
	SSL *ssl;
	BIO *in, *out; /* of ssl */
};

static int fail(struct error *err, const char *what)
{
	char text[256];

	ERR_error_string_n(ERR_get_error(), text, sizeof(text));
	ERR_clear_error();
	return error_set(err, &TLS_FAILED, "%s: %s", what, text);
}

/* HTTP/1.1, as far as the client offers it. */
static int choose_protocol(SSL *ssl, const unsigned char **ret, unsigned char *ret_len,
	const unsigned char *offered, unsigned int offered_len, void *arg)
{
	static const unsigned char ours[] = "\x08http/1.1";
	unsigned char *chosen;

	(void)ssl;
	(void)arg;
	if (SSL_select_next_proto(&chosen, ret_len, ours, sizeof(ours) - 1, offered, offered_len) !=
		OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*ret = chosen;
	return SSL_TLSEXT_ERR_OK;
}

int tls_context_new(
	const char *certificate, const char *key, struct tls_context **ret, struct error *err)
{
	struct tls_context *c = xcalloc(1, sizeof(*c));

	c->ctx = SSL_CTX_new(TLS_server_method());
	must(c->ctx);
	if (SSL_CTX_use_certificate_chain_file(c->ctx, certificate) != 1 ||
		SSL_CTX_use_PrivateKey_file(c->ctx, key, SSL_FILETYPE_PEM) != 1 ||
		SSL_CTX_check_private_key(c->ctx) != 1) {
		tls_context_free(c);
		return fail(err, "load certificate and key");
	}
	(void)SSL_CTX_set_min_proto_version(c->ctx, TLS1_2_VERSION); /* a version it has */
	(void)SSL_CTX_set_mode(c->ctx, SSL_MODE_RELEASE_BUFFERS);    /* says all modes */
	SSL_CTX_set_alpn_select_cb(c->ctx, choose_protocol, NULL);
	*ret = c;
	return 0;
}

void tls_context_free(struct tls_context *c)
{
	if (!c)
		return;
	SSL_CTX_free(c->ctx);
	free(c);
}

struct tls *tls_new(struct tls_context *c)
{
	struct tls *t = xcalloc(1, sizeof(*t));

	t->ssl = SSL_new(c->ctx);
	t->in = BIO_new(BIO_s_mem());
	t->out = BIO_new(BIO_s_mem());
	must(t->ssl && t->in && t->out);
	SSL_set_bio(t->ssl, t->in, t->out);
	SSL_set_accept_state(t->ssl);
	return t;
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	SSL_free(t->ssl);
	free(t);
}

static void take_out(struct tls *t, struct buf *out)
{
	char *p;
	long len = BIO_get_mem_data(t->out, &p);

	if (len > 0)
		(void)buf_put(out, p, (size_t)len); /* what is full fails the connection */
	(void)BIO_reset(t->out);
}

int tls_take(struct tls *t, struct str bytes, struct buf *plain, struct buf *out)
{
	int n, why;

	must(BIO_write(t->in, bytes.p, (int)bytes.len) == (int)bytes.len);
	ERR_clear_error();
	do {
		must(buf_reserve(plain, RECORD_BYTES) == 0);
		n = SSL_read(t->ssl, plain->data + plain->len, RECORD_BYTES);
		if (n > 0)
			plain->len += (size_t)n;
	} while (n > 0);
	why = SSL_get_error(t->ssl, n);
	take_out(t, out);
	if (why == SSL_ERROR_WANT_READ)
		return 0;
	return why == SSL_ERROR_ZERO_RETURN ? 1 : -1;
}

void tls_put(struct tls *t, struct str plain, struct buf *out)
{
	while (plain.len > 0) {
		int len = plain.len < RECORD_BYTES ? (int)plain.len : RECORD_BYTES;

		ERR_clear_error();
		if (SSL_write(t->ssl, plain.p, len) != len)
			return; /* the handshake is not over, or the peer ended it */
		plain.p += len;
		plain.len -= (size_t)len;
	}
	take_out(t, out);
}

void tls_end(struct tls *t, struct buf *out)
{
	ERR_clear_error();
	(void)SSL_shutdown(t->ssl); /* the peer's half is not waited for */
	take_out(t, out);
}
