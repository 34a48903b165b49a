/* What is sent to an issuer of tokens, and what comes back. */
#include "agent/io/oauth.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "json/json.h"
#include "url/url.h"

enum {
	REFUSAL_MAX_BYTES = 64,
	CLAIMS_MAX_BYTES = OAUTH_TOKEN_MAX_BYTES,
	LIFE_MAX_S = 10 * 366 * 24 * 3600, /* ours: what says more means never */
};

const struct error_kind OAUTH_ISSUER = {"invalid_issuer", ERROR_CLASS_USAGE};
const struct error_kind OAUTH_INVALID = {"signin_invalid_answer", ERROR_CLASS_IO};

const struct oauth_facts oauth_chatgpt = {
	.issuer = "https://auth.openai.com",
	.client_id = "app_EMoamEEZ73f0CkXaXp7hrann",
	.scope = "openid profile email offline_access",
	.originator = "consort_agent",
	.account_claim = "chatgpt_account_id",
	.claims = "https://api.openai.com/auth",
	.port = 1455,
};

/*
 * base64url without padding (RFC 4648 5).
 */
static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void oauth_spell(const unsigned char random[OAUTH_RANDOM_BYTES], char ret[OAUTH_CHARS_SIZE])
{
	unsigned held = 0, bits = 0;
	char *to = ret;

	for (size_t i = 0; i < OAUTH_RANDOM_BYTES; i++) {
		held = (held << 8 | random[i]) & 0xffff;
		for (bits += 8; bits >= 6; bits -= 6)
			*to++ = digits[held >> (bits - 6) & 63];
	}
	*to++ = digits[held << (6 - bits) & 63];
	*to = '\0';
}

static int put_decoded(struct buf *to, struct str text)
{
	unsigned held = 0, bits = 0;

	for (size_t i = 0; i < text.len; i++) {
		const char *at = text.p[i] ? strchr(digits, text.p[i]) : NULL;

		if (!at)
			return -1;
		held = (held << 6 | (unsigned)(at - digits)) & 0xffff;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			if (buf_putc(to, (char)(held >> bits & 0xff)) < 0)
				return -1;
		}
	}
	return 0;
}

void oauth_challenge(const char *verifier, char ret[OAUTH_CHARS_SIZE])
{
	unsigned char hash[EVP_MAX_MD_SIZE];
	unsigned len = 0;

	must(EVP_Digest(verifier, strlen(verifier), hash, &len, EVP_sha256(), NULL) == 1);
	must(len == OAUTH_RANDOM_BYTES);
	oauth_spell(hash, ret);
}

bool oauth_same(struct str a, struct str b)
{
	unsigned char differ = a.len != b.len;
	size_t n = a.len < b.len ? a.len : b.len;

	for (size_t i = 0; i < n; i++)
		differ |= (unsigned char)(a.p[i] ^ b.p[i]);
	return !differ;
}

/*
 * What is sent.
 */
int oauth_check_issuer(struct str issuer, struct str *ret, struct error *err)
{
	struct url u;

	while (issuer.len > 0 && issuer.p[issuer.len - 1] == '/')
		issuer.len--;
	if (url_parse(issuer, &u, err) < 0) {
		if (err)
			err->kind = &OAUTH_ISSUER;
		return error_prefix(err, "the issuer");
	}
	if (u.query.p)
		return error_set(err, &OAUTH_ISSUER, "the issuer's URL must have no query");
	if (u.scheme != URL_HTTPS && (u.scheme != URL_HTTP || !url_is_loopback(&u.at)))
		return error_set(err, &OAUTH_ISSUER,
			"the issuer's URL must be https://, or http:// to this machine: tokens "
			"would travel in the clear");
	*ret = issuer;
	return 0;
}

static void put_pair(struct buf *to, const char *name, struct str value)
{
	if (to->len > 0 && to->data[to->len - 1] != '?')
		(void)buf_putc(to, '&'); /* callers look at `full` */
	(void)buf_puts(to, name);
	(void)buf_putc(to, '=');
	url_put_escaped(to, value, NULL);
}

/* `localhost` and not the address: that is what is registered for the client. */
static void put_redirect(struct buf *to, uint16_t port)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "http://localhost:%" PRIu16 OAUTH_CALLBACK_PATH, port);
	put_pair(to, "redirect_uri", str_from(text));
}

void oauth_put_authorize_url(struct buf *to, const struct oauth_ask *a)
{
	char challenge[OAUTH_CHARS_SIZE];

	oauth_challenge(a->verifier, challenge);
	(void)buf_printf(to, "%s/oauth/authorize?", a->issuer);
	put_pair(to, "response_type", STR("code"));
	put_pair(to, "client_id", str_from(oauth_chatgpt.client_id));
	put_redirect(to, a->port);
	put_pair(to, "scope", str_from(oauth_chatgpt.scope));
	put_pair(to, "code_challenge", str_from(challenge));
	put_pair(to, "code_challenge_method", STR("S256"));
	put_pair(to, "state", str_from(a->state));
	/* So that the id token says which account it is, and the pages are those for a command
	 * line. */
	put_pair(to, "id_token_add_organizations", STR("true"));
	put_pair(to, "codex_cli_simplified_flow", STR("true"));
	put_pair(to, "originator", str_from(oauth_chatgpt.originator));
}

void oauth_put_token_url(struct buf *to, const char *issuer)
{
	(void)buf_printf(to, "%s/oauth/token", issuer);
}

void oauth_put_code_form(struct buf *to, const struct oauth_ask *a, struct str code)
{
	put_pair(to, "grant_type", STR("authorization_code"));
	put_pair(to, "client_id", str_from(oauth_chatgpt.client_id));
	put_pair(to, "code", code);
	put_redirect(to, a->port);
	put_pair(to, "code_verifier", str_from(a->verifier));
}

void oauth_put_refresh_form(struct buf *to, struct str refresh)
{
	put_pair(to, "grant_type", STR("refresh_token"));
	put_pair(to, "client_id", str_from(oauth_chatgpt.client_id));
	put_pair(to, "refresh_token", refresh);
}

/*
 * What comes back.
 */
/* The claims of a JWT; NULL: it is none. Not verified: it came over TLS from who made it. */
static const struct json *read_claims(struct arena *a, struct str token)
{
	_cleanup_(buf) struct buf text = BUF_INIT(CLAIMS_MAX_BYTES);
	struct str rest = token, header, claims;
	const struct json *j;

	if (!token.p || !str_next(&rest, '.', &header) || !str_next(&rest, '.', &claims) || !rest.p)
		return NULL;
	if (put_decoded(&text, claims) < 0 || json_parse(a, buf_str(&text), &j, NULL) < 0)
		return NULL;
	return j;
}

static struct str account_of(const struct json *claims)
{
	return json_str(
		json_get(json_get(claims, oauth_chatgpt.claims), oauth_chatgpt.account_claim));
}

/* What a header can carry, and what fits one. */
static bool is_token(struct str s)
{
	if (s.len == 0 || s.len > OAUTH_TOKEN_MAX_BYTES)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (s.p[i] <= ' ' || s.p[i] > '~')
			return false;
	}
	return true;
}

static int64_t expiry(const struct json *answer, const struct json *claims, int64_t now_s)
{
	int64_t exp = 0, in = 0;

	if (json_i64(json_get(claims, "exp"), &exp) == 0 && exp > 0)
		return exp;
	if (json_i64(json_get(answer, "expires_in"), &in) == 0 && in > 0 && in <= LIFE_MAX_S)
		return now_s + in;
	return 0;
}

int oauth_read_answer(struct arena *a, struct str body, int64_t now_s, struct oauth_answer *ret,
	struct error *err)
{
	const struct json *answer, *access_claims;
	struct oauth_answer r = {.expires_s = 0};

	if (json_parse(a, body, &answer, NULL) < 0)
		return error_set(err, &OAUTH_INVALID, "the issuer's answer is no JSON");
	r.access = json_str(json_get(answer, "access_token"));
	r.refresh = json_str(json_get(answer, "refresh_token"));
	r.id = json_str(json_get(answer, "id_token"));
	if (!is_token(r.access))
		return error_set(err, &OAUTH_INVALID, "the issuer gave no usable access_token");
	if (r.refresh.p && !is_token(r.refresh))
		return error_set(err, &OAUTH_INVALID, "the issuer's refresh_token cannot be used");
	if (r.id.p && !is_token(r.id))
		return error_set(err, &OAUTH_INVALID, "the issuer's id_token cannot be used");
	access_claims = read_claims(a, r.access);
	r.account = account_of(read_claims(a, r.id));
	if (!r.account.p)
		r.account = account_of(access_claims);
	if (r.account.p && !is_token(r.account))
		return error_set(err, &OAUTH_INVALID, "the account of the tokens cannot be used");
	r.expires_s = expiry(answer, access_claims, now_s);
	*ret = r;
	return 0;
}

struct str oauth_read_refusal(struct arena *a, struct str body)
{
	const struct json *answer, *error;
	struct str code;

	if (json_parse(a, body, &answer, NULL) < 0)
		return (struct str){NULL, 0};
	error = json_get(answer, "error");
	code = json_str(error);
	if (!code.p) /* {"error":{"code":…}}, as OpenAI's interfaces have it */
		code = json_str(json_get(error, "code"));
	if (code.len == 0 || code.len > REFUSAL_MAX_BYTES)
		return (struct str){NULL, 0};
	for (size_t i = 0; i < code.len; i++) {
		if (!((code.p[i] >= 'a' && code.p[i] <= 'z') || code.p[i] == '_'))
			return (struct str){NULL, 0};
	}
	return code;
}
