/*
 * What is sent to an issuer of tokens, and what is read of its answers.
 */
#include "agent/io/oauth.h"
#include "testing.h"

#define NOW_S 1700000000

/* RFC 7636, appendix B: the octets of the verifier, the verifier, its challenge. */
static void the_vectors_of_the_rfc(void **state)
{
	static const unsigned char octets[OAUTH_RANDOM_BYTES] = {116, 24, 223, 180, 151, 153, 224,
		37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212, 37, 77, 105, 214, 191, 240, 91,
		88, 5, 88, 83, 132, 141, 121};
	char verifier[OAUTH_CHARS_SIZE], challenge[OAUTH_CHARS_SIZE];

	(void)state;
	oauth_spell(octets, verifier);
	assert_string_equal(verifier, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
	oauth_challenge(verifier, challenge);
	assert_string_equal(challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

static void all_digits_are_spelled(void **state)
{
	static const unsigned char octets[OAUTH_RANDOM_BYTES] = {
		0xff, 0xef, 0xbe, 0xfb, 0xef, 0xbe, [30] = 0xff, [31] = 0xff};
	char text[OAUTH_CHARS_SIZE];

	(void)state;
	oauth_spell(octets, text);
	assert_string_equal(text, "_-------AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA__8");
}

static void texts_are_compared(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} rows[] = {
		{"state",  "state",  true },
		{"",       "",       true },
		{"state",  "statf",  false},
		{"state",  "ttate",  false},
		{"state",  "state2", false},
		{"state2", "state",  false},
		{"",       "s",      false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(
			oauth_same(str_from(rows[i].a), str_from(rows[i].b)), rows[i].same);
	assert_true(oauth_same((struct str){NULL, 0}, STR("")));
}

static void issuers(void **state)
{
	static const struct {
		const char *text, *want; /* NULL: refused */
	} rows[] = {
		{"https://auth.openai.com",    "https://auth.openai.com"},
		{"https://auth.example/a//",   "https://auth.example/a" },
		{"http://127.0.0.1:8080/",     "http://127.0.0.1:8080"  },
		{"http://localhost:8080",      "http://localhost:8080"  },
		{"http://[::1]:8080",          "http://[::1]:8080"      },
		{"http://auth.example",        NULL                     },
		{"http://127.0.0.1.example",   NULL                     },
		{"https://auth.example/?a=b",  NULL                     },
		{"https://me:pw@auth.example", NULL                     },
		{"wss://auth.example",         NULL                     },
		{"file:///etc/passwd",         NULL                     },
		{"auth.example",               NULL                     },
		{"",			   NULL                     },
		{"///",			NULL                     },
	};
	struct error err = ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct str got = {NULL, 0};

		if (!rows[i].want) {
			assert_fails(oauth_check_issuer(str_from(rows[i].text), &got, &err), &err,
				OAUTH_ISSUER);
			continue;
		}
		assert_ok(oauth_check_issuer(str_from(rows[i].text), &got, &err), &err);
		assert_true(str_is(got, rows[i].want));
	}
}

static void what_is_sent(void **state)
{
	static const struct oauth_ask ask = {"https://auth.example",
		"dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "st-1", 1455};
	_cleanup_(buf) struct buf url = BUF_INIT(4096), code = BUF_INIT(4096);
	_cleanup_(buf) struct buf refresh = BUF_INIT(4096);

	(void)state;
	oauth_put_authorize_url(&url, &ask);
	assert_string_equal(url.data,
		"https://auth.example/oauth/authorize?response_type=code"
		"&client_id=app_EMoamEEZ73f0CkXaXp7hrann"
		"&redirect_uri=http%3A%2F%2Flocalhost%3A1455%2Fauth%2Fcallback"
		"&scope=openid%20profile%20email%20offline_access"
		"&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
		"&code_challenge_method=S256&state=st-1&id_token_add_organizations=true"
		"&codex_cli_simplified_flow=true&originator=consort_agent");
	oauth_put_code_form(&code, &ask, STR("a+b&c=d"));
	assert_string_equal(code.data,
		"grant_type=authorization_code&client_id=app_EMoamEEZ73f0CkXaXp7hrann"
		"&code=a%2Bb%26c%3Dd&redirect_uri=http%3A%2F%2Flocalhost%3A1455%2Fauth%2Fcallback"
		"&code_verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
	oauth_put_refresh_form(&refresh, STR("r=1"));
	assert_string_equal(refresh.data,
		"grant_type=refresh_token&client_id=app_EMoamEEZ73f0CkXaXp7hrann"
		"&refresh_token=r%3D1");
}

/* {"exp":1700009999} and {"https://api.openai.com/auth":{"chatgpt_account_id":"acct-7"}}. */
#define EXP_1700009999 "e30.eyJleHAiOjE3MDAwMDk5OTl9.c2ln"
#define ACCOUNT_7                                                                                  \
	"e30.eyJodHRwczovL2FwaS5vcGVuYWkuY29tL2F1dGgiOnsiY2hhdGdwdF9hY2NvdW50X2lkIjoi"             \
	"YWNjdC03In19.c2ln"

static void answers(void **state)
{
	static const struct {
		const char *body;
		const char *access, *refresh, *id, *account; /* access NULL: refused */
		int64_t expires_s;
	} rows[] = {
		{"{\"access_token\":\"" EXP_1700009999
		 "\",\"refresh_token\":\"r\",\"id_token\":\"" ACCOUNT_7 "\",\"expires_in\":5}",
                 EXP_1700009999,											    "r",  ACCOUNT_7, "acct-7", 1700009999},
		{"{\"access_token\":\"opaque\",\"expires_in\":60}",                                              "opaque",  NULL, NULL,      NULL,
                 NOW_S + 60																      },
		{"{\"access_token\":\"" ACCOUNT_7 "\"}",							 ACCOUNT_7, NULL, NULL,      "acct-7", 0         },
		{"{\"access_token\":\"a.b.c\",\"expires_in\":-1}",                                               "a.b.c",   NULL, NULL,      NULL,     0         },
		{"{\"access_token\":\"a\",\"expires_in\":99999999999}",                                          "a",       NULL, NULL,      NULL,     0         },
		{"{\"access_token\":\"a\",\"expires_in\":\"60\",\"more\":[1]}",                                  "a",       NULL, NULL,
                 NULL,																 0         },
		{"{\"access_token\":\"a b\"}",								   NULL,      NULL, NULL,      NULL,     0         },
		{"{\"access_token\":\"a\\r\\nx: y\"}",							   NULL,      NULL, NULL,      NULL,     0         },
		{"{\"access_token\":\"a\",\"refresh_token\":\"\\u0000\"}",                                       NULL,      NULL, NULL,      NULL,
                 0																	       },
		{"{\"access_token\":\"a\",\"id_token\":\"\"}",                                                   NULL,      NULL, NULL,      NULL,     0         },
		{"{\"access_token\":\"\"}",								      NULL,      NULL, NULL,      NULL,     0         },
		{"{\"access_token\":7}",									 NULL,      NULL, NULL,      NULL,     0         },
		{"{\"refresh_token\":\"r\"}",								    NULL,      NULL, NULL,      NULL,     0         },
		{"[]",											   NULL,      NULL, NULL,      NULL,     0         },
		{"",											     NULL,      NULL, NULL,      NULL,     0         },
		{"<html>",										       NULL,      NULL, NULL,      NULL,     0         },
	};
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	struct error err = ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct oauth_answer got = {.expires_s = -1};

		if (!rows[i].access) {
			assert_fails(
				oauth_read_answer(&a, str_from(rows[i].body), NOW_S, &got, &err),
				&err, OAUTH_INVALID);
			assert_null(strstr(err.text, "a b"));
			continue;
		}
		assert_ok(oauth_read_answer(&a, str_from(rows[i].body), NOW_S, &got, &err), &err);
		assert_true(str_eq(got.access, str_from(rows[i].access)));
		assert_true(str_eq(got.refresh, str_from(rows[i].refresh)));
		assert_true(str_eq(got.id, str_from(rows[i].id)));
		assert_true(str_eq(got.account, str_from(rows[i].account)));
		assert_int_equal(got.expires_s, rows[i].expires_s);
	}
}

static void a_token_past_the_limit_is_refused(void **state)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	_cleanup_(buf) struct buf body = BUF_INIT(OAUTH_ANSWER_MAX_BYTES);
	struct error err = ERROR_INIT;
	struct oauth_answer got;

	(void)state;
	(void)buf_puts(&body, "{\"access_token\":\"");
	for (int i = 0; i < OAUTH_TOKEN_MAX_BYTES + 1; i++)
		(void)buf_putc(&body, 'a');
	(void)buf_puts(&body, "\"}");
	assert_fails(oauth_read_answer(&a, buf_str(&body), NOW_S, &got, &err), &err, OAUTH_INVALID);
}

static void refusals(void **state)
{
	static const struct {
		const char *body, *want; /* NULL: absent */
	} rows[] = {
		{"{\"error\":\"invalid_grant\",\"error_description\":\"x\"}",      "invalid_grant"},
		{"{\"error\":{\"code\":\"refresh_token_reused\",\"type\":\"t\"}}",
                 "refresh_token_reused"							   },
		{"{\"error\":\"has the code 4711\"}",                              NULL           },
		{"{\"error\":\"Invalid\"}",                                        NULL           },
		{"{\"error\":\"\"}",					       NULL           },
		{"{\"error\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		 "\"}",					   NULL           },
		{"{\"error\":7}",						  NULL           },
		{"no",							     NULL           },
	};
	_cleanup_(arena) struct arena a = {.blocks = NULL};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_true(str_eq(
			oauth_read_refusal(&a, str_from(rows[i].body)), str_from(rows[i].want)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_vectors_of_the_rfc),
		cmocka_unit_test(all_digits_are_spelled),
		cmocka_unit_test(texts_are_compared),
		cmocka_unit_test(issuers),
		cmocka_unit_test(what_is_sent),
		cmocka_unit_test(answers),
		cmocka_unit_test(a_token_past_the_limit_is_refused),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests_name("oauth", tests, NULL, NULL);
}
