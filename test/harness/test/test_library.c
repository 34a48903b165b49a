/* The library that starts the loopback provider: its own child, record and certificates. */
#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "os/os.h"
#include "test/harness/harness.h"
#include "testing.h"

enum { LIMIT_MS = 60000 };

static int connect_to(const struct harness *h)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)harness_port(h))};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_return_code(connect(fd, (const struct sockaddr *)&at, sizeof(at)), errno);
	return fd;
}

static const char request[] =
	"POST /v1/responses HTTP/1.1\r\nHost: a\r\nX-Test: yes\r\nContent-Length: 42\r\n"
	"Connection: close\r\n\r\n"
	"{\"model\":\"m\",\"input\":\"#a b\",\"stream\":true}";

static void starts_answers_and_records(void **state)
{
	_cleanup_(harness) struct harness *h = NULL;
	_cleanup_(buf) struct buf answer = BUF_INIT(65536);
	_cleanup_(fd) int fd = -1;
	struct error err = ERROR_INIT;
	ssize_t n = 1;

	(void)state;
	assert_ok(harness_start(
			  &(struct harness_start){.script = "{\"a\":[{\"say\":\"hello you\"}]}"},
			  &h, &err),
		&err);
	fd = connect_to(h);
	assert_ok(os_write_all(fd, request, sizeof(request) - 1, &err), &err);
	while (n > 0) {
		assert_return_code(buf_reserve(&answer, 4096), 0);
		n = read(fd, answer.data + answer.len, 4096);
		answer.len += n > 0 ? (size_t)n : 0;
	}
	assert_true(str_starts(buf_str(&answer), STR("HTTP/1.1 200 ")));
	assert_true(str_find(buf_str(&answer), STR("hello you"), 0) > 0);

	assert_ok(harness_wait(h, 1, LIMIT_MS, &err), &err);
	assert_int_equal(harness_count(h), 1);
	assert_true(str_is(harness_header(harness_row(h, 0), "x-test"), "yes"));
	assert_true(str_is(json_str(json_get(harness_row(h, 0), "conversation")), "a"));
	assert_fails(harness_wait(h, 2, 20, &err), &err, HARNESS_FAILED);
}

static void ends_with_its_folder(void **state)
{
	struct harness *h = NULL;
	_cleanup_(mem) char *dir = NULL;
	struct error err = ERROR_INIT;
	pid_t pid;

	(void)state;
	assert_ok(harness_start(&(struct harness_start){.script = NULL}, &h, &err), &err);
	dir = xstrdup(harness_dir(h));
	pid = harness_pid(h);
	assert_int_equal(kill(pid, 0), 0);
	harness_stop(h);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(os_exists(dir, NULL), 0);
}

static void says_what_is_wrong_with_a_script(void **state)
{
	struct harness *h = NULL;
	struct error err = ERROR_INIT;

	(void)state;
	assert_fails(harness_start(&(struct harness_start){.script = "{\"a\":1}"}, &h, &err), &err,
		HARNESS_FAILED);
	assert_null(h);
}

/* How a client that trusts the authority and asks for `host` sees the certificate: X509_V_OK or why
 * not. */
static long handshake(const struct harness *h, const char *authority, const char *host)
{
	_cleanup_(fd) int fd = connect_to(h);
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL *ssl;
	bool connected;
	long result;

	assert_non_null(ctx);
	if (authority)
		assert_int_equal(SSL_CTX_load_verify_locations(ctx, authority, NULL), 1);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	ssl = SSL_new(ctx);
	assert_non_null(ssl);
	assert_int_equal(SSL_set_fd(ssl, fd), 1);
	if (strcmp(host, "127.0.0.1") == 0)
		assert_int_equal(X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host), 1);
	else
		assert_int_equal(SSL_set1_host(ssl, host), 1);
	connected = SSL_connect(ssl) == 1;
	result = SSL_get_verify_result(ssl);
	assert_int_equal(connected, result == X509_V_OK);
	SSL_free(ssl);
	SSL_CTX_free(ctx);
	ERR_clear_error();
	return result;
}

static void certificates_hold_for_their_names(void **state)
{
	_cleanup_(harness) struct harness *h = NULL, *old = NULL;
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(harness_start(&(struct harness_start){.tls_names = "provider.test, 127.0.0.1"},
			  &h, &err),
		&err);
	assert_true(str_starts(str_from(harness_url(h)), STR("https://127.0.0.1:")));
	assert_int_equal(handshake(h, harness_authority(h), "provider.test"), X509_V_OK);
	assert_int_equal(handshake(h, harness_authority(h), "127.0.0.1"), X509_V_OK);
	assert_int_equal(
		handshake(h, harness_authority(h), "other.test"), X509_V_ERR_HOSTNAME_MISMATCH);
	assert_int_not_equal(handshake(h, NULL, "provider.test"), X509_V_OK);

	assert_ok(harness_start(&(struct harness_start){.tls_names = "provider.test",
					.tls_from_days = -3,
					.tls_to_days = -1},
			  &old, &err),
		&err);
	assert_int_equal(handshake(old, harness_authority(old), "provider.test"),
		X509_V_ERR_CERT_HAS_EXPIRED);
	assert_int_not_equal(handshake(old, harness_authority(h), "provider.test"), X509_V_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_answers_and_records),
		cmocka_unit_test(ends_with_its_folder),
		cmocka_unit_test(says_what_is_wrong_with_a_script),
		cmocka_unit_test(certificates_hold_for_their_names),
	};

	return cmocka_run_group_tests_name("harness", tests, NULL, NULL);
}
