/* Certificates for tests, by libcrypto. */
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "os/os.h"
#include "test/harness/harness.h"

enum {
	DAY_S = 86400,
	NAMES_MAX_BYTES = 4096,
	PEM_MAX_BYTES = 64 * 1024,
};

static void free_pkey(EVP_PKEY *p)
{
	EVP_PKEY_free(p);
}
MEM_CLEANUP(pkey, EVP_PKEY *, free_pkey)
static void free_x509(X509 *p)
{
	X509_free(p);
}
MEM_CLEANUP(x509, X509 *, free_x509)
static void free_bio(BIO *p)
{
	BIO_free_all(p);
}
MEM_CLEANUP(bio, BIO *, free_bio)

static int fail(struct error *err, const char *what)
{
	char text[256];

	ERR_error_string_n(ERR_get_error(), text, sizeof(text));
	ERR_clear_error();
	return error_set(err, &HARNESS_FAILED, "%s: %s", what, text);
}

/* The certificate is ours until X509_sign: what of it fails shows there or when it is used. */
static int extend(X509 *x, X509 *issuer, int nid, const char *value, struct error *err)
{
	X509V3_CTX ctx;
	X509_EXTENSION *e;
	int ok;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
	e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	if (!e)
		return fail(err, value);
	ok = X509_add_ext(x, e, -1);
	X509_EXTENSION_free(e);
	return ok ? 0 : fail(err, value);
}

static X509 *make(const char *name, EVP_PKEY *key, const struct harness_certificate *spec)
{
	bool usual = spec->from_days == 0 && spec->to_days == 0;
	X509 *x = X509_new();
	uint64_t serial = 0;

	must(x && os_random(&serial, sizeof(serial), NULL) == 0);
	(void)X509_set_version(x, 2); /* these only fail without memory, or show below */
	(void)ASN1_INTEGER_set_uint64(X509_get_serialNumber(x), serial >> 1);
	(void)X509_gmtime_adj(X509_getm_notBefore(x), (long)DAY_S * (usual ? -1 : spec->from_days));
	(void)X509_gmtime_adj(X509_getm_notAfter(x), (long)DAY_S * (usual ? 1 : spec->to_days));
	(void)X509_set_pubkey(x, key);
	(void)X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_UTF8,
		(const unsigned char *)name, -1, -1, 0);
	return x;
}

static int write_pem(const char *prefix, const char *suffix, BIO *pem, struct error *err)
{
	_cleanup_(mem) char *path = xasprintf("%s%s", prefix, suffix);
	char *p;
	long len = BIO_get_mem_data(pem, &p);

	return os_replace_file(path, (struct str){p, (size_t)len}, 0600, err);
}

static int save(const char *prefix, X509 *x, X509 *issuer, EVP_PKEY *key, struct error *err)
{
	_cleanup_(bio) BIO *certificate = BIO_new(BIO_s_mem()), *secret = BIO_new(BIO_s_mem());

	must(certificate && secret);
	if (!PEM_write_bio_X509(certificate, x) ||
		(issuer && !PEM_write_bio_X509(certificate, issuer)) ||
		!PEM_write_bio_PrivateKey(secret, key, NULL, NULL, 0, NULL, NULL))
		return fail(err, "write a certificate");
	if (write_pem(prefix, ".pem", certificate, err) < 0)
		return -1;
	return write_pem(prefix, ".key", secret, err);
}

int harness_make_authority(const char *prefix, struct error *err)
{
	const struct harness_certificate spec = {.names = NULL};
	_cleanup_(pkey) EVP_PKEY *key = EVP_EC_gen("P-256");
	_cleanup_(x509) X509 *x = NULL;

	if (!key)
		return fail(err, "make a key");
	x = make("Loopback test authority", key, &spec);
	(void)X509_set_issuer_name(x, X509_get_subject_name(x)); /* as in make() */
	if (extend(x, x, NID_basic_constraints, "critical,CA:TRUE", err) < 0 ||
		extend(x, x, NID_key_usage, "critical,keyCertSign,cRLSign", err) < 0 ||
		extend(x, x, NID_subject_key_identifier, "hash", err) < 0)
		return -1;
	if (!X509_sign(x, key, EVP_sha256()))
		return fail(err, "sign an authority");
	return save(prefix, x, NULL, key, err);
}

static int load(const char *prefix, X509 **ret_x, EVP_PKEY **ret_key, struct error *err)
{
	_cleanup_(mem) char *pem = xasprintf("%s.pem", prefix), *key = xasprintf("%s.key", prefix);
	_cleanup_(buf) struct buf certificate = BUF_INIT(PEM_MAX_BYTES);
	_cleanup_(buf) struct buf secret = BUF_INIT(PEM_MAX_BYTES);
	_cleanup_(bio) BIO *from = NULL, *key_from = NULL;

	if (os_read_file(pem, &certificate, err) < 0 || os_read_file(key, &secret, err) < 0)
		return -1;
	from = BIO_new_mem_buf(certificate.data, (int)certificate.len);
	key_from = BIO_new_mem_buf(secret.data, (int)secret.len);
	must(from && key_from);
	*ret_x = PEM_read_bio_X509(from, NULL, NULL, NULL);
	*ret_key = PEM_read_bio_PrivateKey(key_from, NULL, NULL, NULL);
	return *ret_x && *ret_key ? 0 : fail(err, "read an authority");
}

static bool is_address(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (!memchr("0123456789.:", s.p[i], 12))
			return false;
	}
	return s.len > 0;
}

/* "a.test,127.0.0.1" as "DNS:a.test,IP:127.0.0.1". */
static int put_names(struct buf *to, const char *names)
{
	struct str rest = str_from(names), name;

	while (str_next(&rest, ',', &name)) {
		name = str_trim(name);
		(void)buf_printf(to, "%s%s" STR_FMT, to->len ? "," : "", /* full shows below */
			is_address(name) ? "IP:" : "DNS:", STR_ARG(name));
	}
	return to->full || to->len == 0 ? -1 : 0;
}

int harness_make_certificate(const char *prefix, const char *authority,
	const struct harness_certificate *spec, struct error *err)
{
	_cleanup_(buf) struct buf names = BUF_INIT(NAMES_MAX_BYTES);
	_cleanup_(pkey) EVP_PKEY *key = EVP_EC_gen("P-256"), *signer = NULL;
	_cleanup_(x509) X509 *x = NULL, *issuer = NULL;

	if (!key)
		return fail(err, "make a key");
	if (put_names(&names, spec->names) < 0)
		return error_set(err, &HARNESS_FAILED, "a certificate needs names");
	if (load(authority, &issuer, &signer, err) < 0)
		return -1;
	x = make("loopback", key, spec);
	(void)X509_set_issuer_name(x, X509_get_subject_name(issuer)); /* as in make() */
	if (extend(x, issuer, NID_basic_constraints, "critical,CA:FALSE", err) < 0 ||
		extend(x, issuer, NID_ext_key_usage, "serverAuth", err) < 0 ||
		extend(x, issuer, NID_authority_key_identifier, "keyid", err) < 0 ||
		extend(x, issuer, NID_subject_alt_name, names.data, err) < 0)
		return -1;
	if (!X509_sign(x, signer, EVP_sha256()))
		return fail(err, "sign a certificate");
	return save(prefix, x, issuer, key, err);
}
