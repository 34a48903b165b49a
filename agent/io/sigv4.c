/* Signing requests as AWS wants them. */
#include "agent/io/sigv4.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

const struct error_kind SIGV4_INVALID = {"sigv4_invalid", ERROR_CLASS_USAGE};

#define ALGORITHM "AWS4-HMAC-SHA256"
#define UNSIGNED  "UNSIGNED-PAYLOAD"

enum {
	SHA256_BYTES = 32,
	DATE_DAY_BYTES = 8,               /* of a date: its day */
	CANONICAL_MAX_BYTES = 192 * 1024, /* ours: a head as large as http reads, escaped */
	AUTHORIZATION_MAX_BYTES = 4096,   /* ours: the names of many headers */
};
#define TIME_FIRST_S (-62167219200) /* 0000-01-01T00:00:00Z */
#define TIME_LAST_S  253402300799   /* 9999-12-31T23:59:59Z */

void sigv4_date(int64_t time_s, char out[SIGV4_DATE_SIZE])
{
	time_t t = (time_t)time_s;
	struct tm tm;

	if (t < TIME_FIRST_S)
		t = TIME_FIRST_S;
	if (t > TIME_LAST_S)
		t = TIME_LAST_S;
	must(gmtime_r(&t, &tm));
	(void)snprintf(out, SIGV4_DATE_SIZE, "%04u%02u%02uT%02u%02u%02uZ",
		(unsigned)(tm.tm_year + 1900) % 10000, (unsigned)(tm.tm_mon + 1) % 100,
		(unsigned)tm.tm_mday % 100, (unsigned)tm.tm_hour % 100, (unsigned)tm.tm_min % 100,
		(unsigned)tm.tm_sec % 100);
}

void sigv4_hash(const struct str *pieces, size_t count, char out[SIGV4_HEX_SIZE])
{
	unsigned char sum[SHA256_BYTES];
	EVP_MD_CTX *c = EVP_MD_CTX_new();

	must(c && EVP_DigestInit_ex(c, EVP_sha256(), NULL) == 1);
	for (size_t i = 0; i < count; i++)
		must(EVP_DigestUpdate(c, pieces[i].p, pieces[i].len) == 1);
	must(EVP_DigestFinal_ex(c, sum, NULL) == 1);
	EVP_MD_CTX_free(c);
	text_hex(sum, sizeof(sum), out);
}

static void hmac(
	const unsigned char *key, size_t key_len, struct str text, unsigned char out[SHA256_BYTES])
{
	unsigned int len = SHA256_BYTES;

	must(HMAC(EVP_sha256(), key, (int)key_len, (const unsigned char *)text.p, text.len, out,
		&len));
	must(len == SHA256_BYTES);
}

/*
 * The path: dot segments and empty ones go, a slash at the end stays.
 */
static void put_path(struct buf *to, struct str path)
{
	_cleanup_(mem) struct str *kept = xcalloc(path.len / 2 + 1, sizeof(*kept)); /* "/x/x" */
	struct str segment = STR("");
	size_t count = 0;
	bool open = true; /* what was read last names a folder */

	while (str_next(&path, '/', &segment)) {
		open = segment.len == 0 || str_is(segment, ".") || str_is(segment, "..");
		if (!open)
			kept[count++] = segment;
		else if (str_is(segment, "..") && count > 0)
			count--;
	}
	for (size_t i = 0; i < count; i++) {
		(void)buf_putc(to, '/');
		url_put_escaped(to, kept[i], NULL);
	}
	if (open || count == 0)
		(void)buf_putc(to, '/');
}

/*
 * The query: each name and value unescaped where it is escaped, escaped in one way, in the order of
 * their bytes.
 */
struct parameter {
	struct str name, value;
};

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static struct str escape_once(struct arena *a, struct str raw)
{
	char *plain = arena_strndup(a, raw.p, raw.len), *out = plain;
	_cleanup_(buf) struct buf text = BUF_INIT(3 * URL_MAX_BYTES);

	for (size_t i = 0; i < raw.len; i++) {
		int high = i + 2 < raw.len && raw.p[i] == '%' ? hex_digit(raw.p[i + 1]) : -1;
		int low = high >= 0 ? hex_digit(raw.p[i + 2]) : -1;

		if (low >= 0) {
			*out++ = (char)(high * 16 + low);
			i += 2;
		} else {
			*out++ = raw.p[i];
		}
	}
	url_put_escaped(&text, (struct str){plain, (size_t)(out - plain)}, NULL);
	return (struct str){arena_dup(a, buf_str(&text).p, text.len), text.len};
}

static int compare_str(struct str a, struct str b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int order = len > 0 ? memcmp(a.p, b.p, len) : 0;

	if (order != 0)
		return order;
	return a.len < b.len ? -1 : a.len > b.len;
}

static int compare_parameters(const void *pa, const void *pb)
{
	const struct parameter *a = pa, *b = pb;
	int order = compare_str(a->name, b->name);

	return order != 0 ? order : compare_str(a->value, b->value);
}

static int put_query(struct buf *to, struct str query, struct error *err)
{
	_cleanup_(arena) struct arena a = {NULL, 0};
	struct parameter list[SIGV4_PARAMETERS_MAX] = {{.name = {NULL, 0}}};
	struct str one, name;
	size_t count = 0;

	while (str_next(&query, '&', &one)) {
		if (one.len == 0)
			continue;
		if (count == SIGV4_PARAMETERS_MAX)
			return error_set(err, &SIGV4_INVALID, "a query of over %d parameters",
				SIGV4_PARAMETERS_MAX);
		name = STR("");
		(void)str_next(&one, '=', &name);
		list[count++] = (struct parameter){
			escape_once(&a, name), escape_once(&a, one.p ? one : STR(""))};
	}
	qsort(list, count, sizeof(*list), compare_parameters);
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			(void)buf_putc(to, '&');
		(void)buf_put_str(to, list[i].name);
		(void)buf_putc(to, '=');
		(void)buf_put_str(to, list[i].value);
	}
	return 0;
}

/*
 * Headers: names in small letters and in order, runs of blanks as one, those of one name joined in
 * the order they came.
 */
struct signed_header {
	char *name;
	struct str value;
	size_t at; /* its place in the request */
};

static int compare_headers(const void *pa, const void *pb)
{
	const struct signed_header *a = pa, *b = pb;
	int order = strcmp(a->name, b->name);

	if (order != 0)
		return order;
	return a->at < b->at ? -1 : a->at > b->at;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void put_value(struct buf *to, struct str value)
{
	bool blank = false;

	value = str_trim(value);
	for (size_t i = 0; i < value.len; i++) {
		if (!is_blank(value.p[i]))
			(void)buf_putc(to, value.p[i]);
		else if (!blank)
			(void)buf_putc(to, ' ');
		blank = is_blank(value.p[i]);
	}
}

static int check_header(const struct http_header *h, struct error *err)
{
	if (h->name.len == 0 || memchr(h->name.p, '\0', h->name.len))
		return error_set(err, &SIGV4_INVALID, "a header without a proper name");
	for (size_t i = 0; i < h->value.len; i++) {
		unsigned char c = (unsigned char)h->value.p[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return error_set(
				err, &SIGV4_INVALID, "a header's value with a control character");
	}
	for (size_t i = 0; i < h->name.len; i++) {
		if (h->name.p[i] <= ' ' || h->name.p[i] > '~' || strchr(":;,", h->name.p[i]))
			return error_set(err, &SIGV4_INVALID, "a header without a proper name");
	}
	return 0;
}

static int sort_headers(struct arena *a, const struct sigv4_request *r,
	struct signed_header list[SIGV4_HEADERS_MAX], struct error *err)
{
	if (r->header_count > SIGV4_HEADERS_MAX)
		return error_set(err, &SIGV4_INVALID, "over %d headers to sign", SIGV4_HEADERS_MAX);
	for (size_t i = 0; i < r->header_count; i++) {
		if (check_header(&r->headers[i], err) < 0)
			return -1;
		list[i] = (struct signed_header){
			arena_strndup(a, r->headers[i].name.p, r->headers[i].name.len),
			r->headers[i].value, i};
		for (char *c = list[i].name; *c; c++) {
			if (*c >= 'A' && *c <= 'Z')
				*c = (char)(*c - 'A' + 'a');
		}
	}
	qsort(list, r->header_count, sizeof(*list), compare_headers);
	return 0;
}

static void put_headers(struct buf *to, const struct signed_header *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && strcmp(list[i].name, list[i - 1].name) == 0) {
			(void)buf_putc(to, ',');
		} else {
			(void)buf_puts(to, i > 0 ? "\n" : "");
			(void)buf_puts(to, list[i].name);
			(void)buf_putc(to, ':');
		}
		put_value(to, list[i].value);
	}
	(void)buf_puts(to, count > 0 ? "\n" : "");
}

static void put_names(struct buf *to, const struct signed_header *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && strcmp(list[i].name, list[i - 1].name) == 0)
			continue;
		(void)buf_puts(to, i > 0 ? ";" : "");
		(void)buf_puts(to, list[i].name);
	}
}

static int too_long(struct error *err)
{
	return error_set(err, &SIGV4_INVALID, "a request too long to be signed");
}

int sigv4_put_canonical(struct buf *to, const struct sigv4_request *r, struct error *err)
{
	_cleanup_(arena) struct arena a = {NULL, 0};
	struct signed_header list[SIGV4_HEADERS_MAX];

	if (r->path.len > URL_MAX_BYTES || r->query.len > URL_MAX_BYTES)
		return too_long(err);
	if (sort_headers(&a, r, list, err) < 0)
		return -1;
	(void)buf_puts(to, r->method);
	(void)buf_putc(to, '\n');
	put_path(to, r->path);
	(void)buf_putc(to, '\n');
	if (put_query(to, r->query, err) < 0)
		return -1;
	(void)buf_putc(to, '\n');
	put_headers(to, list, r->header_count);
	(void)buf_putc(to, '\n');
	put_names(to, list, r->header_count);
	(void)buf_putc(to, '\n');
	(void)buf_put_str(to, r->payload);
	return to->full ? too_long(err) : 0;
}

int sigv4_put_signed_names(struct buf *to, const struct sigv4_request *r, struct error *err)
{
	_cleanup_(arena) struct arena a = {NULL, 0};
	struct signed_header list[SIGV4_HEADERS_MAX];

	if (sort_headers(&a, r, list, err) < 0)
		return -1;
	put_names(to, list, r->header_count);
	return to->full ? too_long(err) : 0;
}

/*
 * The signature.
 */
static bool is_word(struct str s, size_t max)
{
	if (s.len == 0 || s.len > max)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (s.p[i] <= ' ' || s.p[i] > '~' || s.p[i] == ',')
			return false;
	}
	return true;
}

static int check_keys(const struct sigv4_scope *s, const struct sigv4_keys *k, struct error *err)
{
	if (!is_word(k->id, SIGV4_KEY_MAX_BYTES) || memchr(k->id.p, '/', k->id.len))
		return error_set(err, &SIGV4_INVALID, "the AWS access key's id is none");
	if (!is_word(k->secret, SIGV4_KEY_MAX_BYTES))
		return error_set(err, &SIGV4_INVALID, "the AWS secret access key is none");
	if (k->token.p && !is_word(k->token, SIGV4_TOKEN_MAX_BYTES))
		return error_set(err, &SIGV4_INVALID, "the AWS session token is none");
	if (!is_word(s->region, SIGV4_NAME_MAX_BYTES) || !is_word(s->service, SIGV4_NAME_MAX_BYTES))
		return error_set(err, &SIGV4_INVALID, "a region or a service that is none");
	return 0;
}

/* The key of a day, a region and a service. */
static void derive(const struct sigv4_scope *s, struct str secret, struct str day,
	unsigned char out[SHA256_BYTES])
{
	unsigned char first[4 + SIGV4_KEY_MAX_BYTES] = "AWS4", key[SHA256_BYTES];

	memcpy(first + 4, secret.p, secret.len); /* check_keys bounds it */
	hmac(first, 4 + secret.len, day, out);
	hmac(out, SHA256_BYTES, s->region, key);
	hmac(key, SHA256_BYTES, s->service, out);
	hmac(out, SHA256_BYTES, STR("aws4_request"), key);
	memcpy(out, key, SHA256_BYTES);
	OPENSSL_cleanse(first, sizeof(first));
	OPENSSL_cleanse(key, sizeof(key));
}

int sigv4_put_authorization(struct buf *to, const struct sigv4_request *r,
	const struct sigv4_scope *s, const struct sigv4_keys *k, struct error *err)
{
	_cleanup_(buf) struct buf canonical = BUF_INIT(CANONICAL_MAX_BYTES);
	_cleanup_(buf) struct buf scope = BUF_INIT(4 * SIGV4_NAME_MAX_BYTES);
	_cleanup_(buf) struct buf text = BUF_INIT(8 * SIGV4_NAME_MAX_BYTES);
	unsigned char key[SHA256_BYTES], sum[SHA256_BYTES];
	char date[SIGV4_DATE_SIZE], hex[SIGV4_HEX_SIZE];
	struct str whole;

	if (check_keys(s, k, err) < 0 || sigv4_put_canonical(&canonical, r, err) < 0)
		return -1;
	sigv4_date(s->time_s, date);
	(void)buf_printf(&scope, "%.*s/" STR_FMT "/" STR_FMT "/aws4_request", DATE_DAY_BYTES, date,
		STR_ARG(s->region), STR_ARG(s->service));
	whole = buf_str(&canonical);
	sigv4_hash(&whole, 1, hex);
	(void)buf_printf(
		&text, ALGORITHM "\n%s\n" STR_FMT "\n%s", date, STR_ARG(buf_str(&scope)), hex);
	must(!scope.full && !text.full);
	derive(s, k->secret, (struct str){date, DATE_DAY_BYTES}, key);
	hmac(key, sizeof(key), buf_str(&text), sum);
	OPENSSL_cleanse(key, sizeof(key));
	text_hex(sum, sizeof(sum), hex);
	(void)buf_printf(to,
		ALGORITHM " Credential=" STR_FMT "/" STR_FMT ", SignedHeaders=", STR_ARG(k->id),
		STR_ARG(buf_str(&scope)));
	if (sigv4_put_signed_names(to, r, err) < 0)
		return -1;
	(void)buf_printf(to, ", Signature=%s", hex);
	return to->full ? too_long(err) : 0;
}

/*
 * A call.
 */
/* Appends a value that stays where it is: there is room. */
static void add(struct http_header *to, const char *name, struct buf *text, struct str value)
{
	size_t at = text->len;

	must(value.len < text->cap - text->len && buf_put_str(text, value) == 0);
	*to = (struct http_header){
		str_from(name), {text->data + at, value.len}
        };
}

int sigv4_sign(const struct sigv4_call *c, const struct sigv4_scope *s, const struct sigv4_keys *k,
	struct buf *text, struct http_header to[SIGV4_ADDED_MAX], struct error *err)
{
	_cleanup_(buf) struct buf host = BUF_INIT(URL_MAX_BYTES);
	_cleanup_(buf) struct buf authorization = BUF_INIT(AUTHORIZATION_MAX_BYTES);
	char date[SIGV4_DATE_SIZE], hash[SIGV4_HEX_SIZE] = UNSIGNED;
	struct http_header list[SIGV4_HEADERS_MAX];
	struct sigv4_request r = {
		c->method, c->url->path, c->url->query, list, 0, {NULL, 0}
        };
	size_t added = 0;

	if (c->header_count + SIGV4_ADDED_MAX > SIGV4_HEADERS_MAX)
		return error_set(err, &SIGV4_INVALID, "over %d headers to sign",
			SIGV4_HEADERS_MAX - SIGV4_ADDED_MAX);
	if (check_keys(s, k, err) < 0)
		return -1;
	if (buf_reserve(text, k->token.len + 2 * (size_t)AUTHORIZATION_MAX_BYTES) < 0)
		return too_long(err);
	sigv4_date(s->time_s, date);
	if (!c->unsigned_payload)
		sigv4_hash(c->body, c->body_count, hash);
	add(&to[added++], "x-amz-date", text, str_from(date));
	add(&to[added++], "x-amz-content-sha256", text, str_from(hash));
	if (k->token.p)
		add(&to[added++], "x-amz-security-token", text, k->token);
	url_put_host(&host, c->url);
	r.payload = str_from(hash);
	list[r.header_count++] = (struct http_header){STR("host"), buf_str(&host)};
	for (size_t i = 0; i < added; i++)
		list[r.header_count++] = to[i];
	for (size_t i = 0; i < c->header_count; i++)
		list[r.header_count++] = c->headers[i];
	if (sigv4_put_authorization(&authorization, &r, s, k, err) < 0)
		return -1;
	add(&to[added++], "authorization", text, buf_str(&authorization));
	return (int)added;
}
