/* Amazon Bedrock: whose AWS keys sign a request. The endpoint is on loopback, and TLS is real. */
#include "attest/suites.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "attest/provider.h"
#include "attest/tls.h"
#include "attest/trace.h"

#define REGION  "eu-attest-1"
#define SERVICE "bedrock-mantle"

enum { SUM_BYTES = 32 };
static const char set_region[] = "AWS_REGION=" REGION;

/*
 * What AWS does with a signature, in short: the canonical request of what stands in SignedHeaders.
 */
static struct str header(struct attest *t, struct str raw, struct str name)
{
	struct str line, rest = raw;

	while (str_next(&rest, '\n', &line)) {
		if (line.len > name.len && line.p[name.len] == ':' &&
			strncasecmp(line.p, name.p, name.len) == 0)
			return str_trim(
				(struct str){line.p + name.len + 1, line.len - name.len - 1});
	}
	attest_broken(t, "the request has no header " STR_FMT, STR_ARG(name));
}

static struct str between(struct attest *t, struct str s, const char *from, const char *to)
{
	ptrdiff_t at = str_find(s, str_from(from), 0), end;

	attest_true(t, at >= 0, "the authorization has no '%s'", from);
	at += (ptrdiff_t)strlen(from);
	end = to[0] ? str_find(s, str_from(to), (size_t)at) : (ptrdiff_t)s.len;
	attest_true(t, end >= 0, "the authorization has no '%s'", to);
	return (struct str){s.p + at, (size_t)(end - at)};
}

static const char *hex_sum(struct attest *t, const char *text)
{
	unsigned char sum[SUM_BYTES];
	char hex[2 * SUM_BYTES + 1];

	must(EVP_Digest(text, strlen(text), sum, NULL, EVP_sha256(), NULL) == 1);
	text_hex(sum, sizeof(sum), hex);
	return attest_path(t, "%s", hex);
}

static void step(unsigned char key[SUM_BYTES], const char *word)
{
	unsigned char out[SUM_BYTES];

	must(HMAC(EVP_sha256(), key, SUM_BYTES, (const unsigned char *)word, strlen(word), out,
		NULL));
	memcpy(key, out, sizeof(out));
}

static const char *signature(
	struct attest *t, const char *secret, const char *day, const char *text)
{
	const char *first = attest_path(t, "AWS4%s", secret);
	unsigned char key[SUM_BYTES];
	char hex[2 * SUM_BYTES + 1];

	must(HMAC(EVP_sha256(), first, (int)strlen(first), (const unsigned char *)day, strlen(day),
		key, NULL));
	step(key, REGION);
	step(key, SERVICE);
	step(key, "aws4_request");
	step(key, text);
	text_hex(key, sizeof(key), hex);
	return attest_path(t, "%s", hex);
}

/* The request is signed with this key, and signs host, date and token. */
static void check_signature(
	struct attest *t, struct str raw, const char *id, const char *secret, const char *token)
{
	struct str authorization = header(t, raw, STR("authorization"));
	struct str names = between(t, authorization, "SignedHeaders=", ","), rest = names, name;
	struct str date = header(t, raw, STR("x-amz-date"));
	const char *day = attest_path(t, "%.8s", date.p), *headers = "", *text;

	attest_has(t, "the authorization", authorization,
		attest_path(t, "Credential=%s/%s/" REGION "/" SERVICE "/aws4_request", id, day));
	while (str_next(&rest, ';', &name))
		headers = attest_path(t, "%s" STR_FMT ":" STR_FMT "\n", headers, STR_ARG(name),
			STR_ARG(header(t, raw, name)));
	attest_has(t, "what is signed", names, "host;");
	attest_has(t, "what is signed", names, "x-amz-date");
	if (token) {
		attest_has(t, "what is signed", names, "x-amz-security-token");
		attest_true(t, str_is(header(t, raw, STR("x-amz-security-token")), token),
			"it sends another session token");
	} else {
		attest_lacks(t, "the request", raw, "x-amz-security-token");
	}
	text = attest_path(t, "POST\n/v1/chat/completions\n\n%s\n" STR_FMT "\n" STR_FMT, headers,
		STR_ARG(names), STR_ARG(header(t, raw, STR("x-amz-content-sha256"))));
	text = attest_path(t,
		"AWS4-HMAC-SHA256\n" STR_FMT "\n%s/" REGION "/" SERVICE "/aws4_request\n%s",
		STR_ARG(date), day, hex_sum(t, text));
	attest_true(t,
		str_is(between(t, authorization, "Signature=", ""),
			signature(t, secret, day, text)),
		"the signature is not that of the key '%s'", id);
}

/*
 * A turn.
 */
struct bedrock {
	struct played provider;
	struct tls_front front;
	const char *spec, *certificate;
};

static void bedrock_open(struct attest *t, struct bedrock *b)
{
	played_open(t, &b->provider);
	tls_front_open(t, &b->provider, &b->front);
	b->spec = attest_path(
		t, "bed=chat,https://127.0.0.1:%d/v1,AWS_SECRET_ACCESS_KEY", b->front.port);
	b->certificate = attest_path(t, "SSL_CERT_FILE=%s", b->front.file);
}

/* One turn; returns what it sent. */
static struct str turn(struct attest *t, struct bedrock *b, struct attest_daemon *d)
{
	const struct json *r, *outcome;
	struct played_request q;
	int64_t number = 0;

	(void)attest_call(t, d->client,
		"\"op\":\"create\",\"bot\":\"b\",\"model\":\"bed/m\",\"instructions\":\"i\","
		"\"tools\":[\"echo\"]");
	r = attest_call(t, d->client,
		"\"op\":\"submit\",\"bot\":\"b\",\"request_id\":\"r1\",\"prompt\":\"hello\"");
	attest_true(t, json_i64(json_get(r, "turn"), &number) == 0, "no turn");
	q = played_next(t, &b->provider);
	played_say(t, &q, "well");
	outcome = attest_wait(t, d, "b", number);
	attest_true(t, str_is(attest_said(outcome), "well"), "the turn did not complete: " STR_FMT,
		STR_ARG(json_str(json_get(outcome, "detail"))));
	return q.raw;
}

static void AG_172_bedrock_uses_static_aws_variables(struct attest *t)
{
	struct attest_daemon *d;
	struct bedrock b;

	bedrock_open(t, &b);
	const char *const args[] = {"--provider", b.spec, NULL};
	const char *const env[] = {"AWS_ACCESS_KEY_ID=attest-static-id",
		"AWS_SECRET_ACCESS_KEY=attest/static+secret",
		"AWS_SESSION_TOKEN=attest-static-token", set_region, b.certificate, NULL};
	d = attest_daemon_start(t, &(struct attest_start){.args = args, .env = env});
	check_signature(t, turn(t, &b, d), "attest-static-id", "attest/static+secret",
		"attest-static-token");
}

/* The program is a script on PATH that notes its words; AWS's own file holds other keys. */
static void AG_173_bedrock_otherwise_asks_the_aws_program(struct attest *t)
{
	const char *bin = attest_path(t, "%s/bin", attest_home(t));
	const char *program = attest_path(t, "%s/aws", bin);
	const char *words = attest_path(t, "%s/words", attest_home(t));
	char *file = attest_path(t, "%s/trace", attest_home(t));
	const char *path = getenv("PATH");
	struct attest_daemon *d;
	struct bedrock b;
	struct trace tr;

	bedrock_open(t, &b);
	attest_write(t, attest_path(t, "%s/.aws/credentials", attest_home(t)),
		"[default]\naws_access_key_id = attest-file-id\n"
		"aws_secret_access_key = attest-file-secret\n");
	attest_write(t, program,
		attest_path(t,
			"#!/bin/sh\necho \"$@\" >> %s\n"
			"echo "
			"'{\"Version\":1,\"AccessKeyId\":\"attest-program-id\",\"SecretAccessKey\":"
			"\"attest-program-secret\"}'\n",
			words));
	attest_true(t, chmod(program, 0700) == 0, "attest: no mode");
	const char *const args[] = {"--provider", b.spec, NULL};
	const char *const env[] = {set_region, b.certificate,
		attest_path(t, "PATH=%s:%s", bin, path ? path : "/usr/bin:/bin"), NULL};
	d = trace_daemon(t, &(struct attest_start){.args = args, .env = env}, file,
		"open,openat,openat2,execve");
	check_signature(t, turn(t, &b, d), "attest-program-id", "attest-program-secret", NULL);
	attest_true(t,
		str_is(attest_read(t, words), "configure export-credentials --format process\n"),
		"the program was called with: " STR_FMT, STR_ARG(attest_read(t, words)));
	trace_stop(t, d);
	tr = trace_read(t, file);
	for (size_t i = 0; i < tr.count; i++)
		attest_true(t, !trace_has(&tr.calls[i], ".aws/credentials"),
			"AWS's own file is opened: %s(" STR_FMT ")", tr.calls[i].name,
			STR_ARG(tr.calls[i].args));
	attest_true(t, trace_find(&tr, 0, "execve", "export-credentials") >= 0,
		"the trace has no start of the program");
}

const struct attest_case attest_agent_bedrock[] = {
	{"AG-172", NEEDS_NOTHING, AG_172_bedrock_uses_static_aws_variables     },
	{"AG-173", NEEDS_STRACE,  AG_173_bedrock_otherwise_asks_the_aws_program},
	{NULL,     0,             NULL					 },
};
