/*
 * Private-key blocks: bodies go, BEGIN and END lines stay, other blocks and talk about them stay.
 */
#include "redact_testing.h"

#define BEGIN "-----BEGIN PRIVATE KEY-----"
#define END   "-----END PRIVATE KEY-----"
#define LINE  "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"

static void bodies_go(void **state)
{
	_cleanup_(set) struct secret_set *set = secret_set_new();

	(void)state;
	becomes(set, BEGIN "\n" LINE "\n" LINE "\nabc=\n" END "\nafter\n",
		BEGIN "\n[REDACTED]\n" END "\nafter\n");
	becomes(set, BEGIN "\r\n" LINE "\r\n" END "\r\n", BEGIN "\r\n[REDACTED]\n" END "\r\n");
	becomes(set,
		"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n" LINE
		"\n-----END RSA PRIVATE KEY-----\n",
		"-----BEGIN RSA PRIVATE KEY-----\n[REDACTED]\n-----END RSA PRIVATE KEY-----\n");
	becomes(set,
		"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nx\n-----END PGP PRIVATE KEY BLOCK-----",
		"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n[REDACTED]\n-----END PGP PRIVATE KEY "
		"BLOCK-----");
	becomes(set, BEGIN LINE END, BEGIN "[REDACTED]" END);
	becomes(set, BEGIN " " LINE " " END, BEGIN " [REDACTED]" END);
	becomes(set, "{\"k\":\"" BEGIN "\\n" LINE "\\n" END "\\n\",\"x\":1}",
		"{\"k\":\"" BEGIN "[REDACTED]" END "\\n\",\"x\":1}");
	becomes(set, "  1\t" BEGIN "\n  2\t" LINE "\n  3\t" END "\n",
		"  1\t" BEGIN "\n  [REDACTED]" END "\n");
	becomes(set, "x-----" BEGIN "\n" LINE "\n" END "-----y",
		"x-----" BEGIN "\n[REDACTED]\n" END "-----y");
	becomes(set, "[\"" BEGIN "\",\n \"" LINE "\",\n \"" END "\"]",
		"[\"" BEGIN "\",\n \"[REDACTED]" END "\"]");
	becomes(set, "\"" BEGIN "\" + \"" LINE "\" + \"" END "\"",
		"\"" BEGIN "\" + \"[REDACTED]" END "\"");
	stays(set, BEGIN "\n" END "\n");
	becomes(set, BEGIN "\n-x\n" END "\n", BEGIN "\n[REDACTED]\n" END "\n");
	becomes(set, BEGIN "\n" LINE "\n" END "\n" BEGIN "\n" LINE "\n" END "\n",
		BEGIN "\n[REDACTED]\n" END "\n" BEGIN "\n[REDACTED]\n" END "\n");
}

static void body_without_end_goes_to_the_end(void **state)
{
	_cleanup_(set) struct secret_set *set = secret_set_new();

	(void)state;
	becomes(set, BEGIN "\n" LINE "\n" LINE, BEGIN "\n[REDACTED]");
	becomes(set, BEGIN "\n" LINE "\n-----END PRIV", BEGIN "\n[REDACTED]");
	becomes(set, BEGIN "\n-----END PRIV", BEGIN "\n[REDACTED]");
	becomes(set, BEGIN "\n" LINE "\n-----END CERTIFICATE-----\nx", BEGIN "\n[REDACTED]");
	becomes(set, BEGIN "\n-----END CERTIFICATE-----" LINE "\n" END " x",
		BEGIN "\n[REDACTED]\n" END " x");
	stays(set, BEGIN "\n");
	stays(set, BEGIN);
}

static void other_text_stays(void **state)
{
	_cleanup_(set) struct secret_set *set = secret_set_new();

	(void)state;
	stays(set, "-----BEGIN CERTIFICATE-----\n" LINE "\n-----END CERTIFICATE-----\n");
	stays(set, "-----BEGIN PUBLIC KEY-----\n" LINE "\n-----END PUBLIC KEY-----\n");
	stays(set, "----BEGIN PRIVATE KEY-----\n" LINE "\n");
	stays(set, "-----BEGIN PRIVATE KEY----\n" LINE "\n");
	stays(set, "-----begin private key-----\n" LINE "\n");
	stays(set, "if (starts(s, \"" BEGIN "\")) return is_key(s);\nand so on\n");
	stays(set, "`" BEGIN "` is how it begins, `" END "` how it ends\n");
	stays(set, "[\"" BEGIN "\", \"short\", \"" END "\"]");
	stays(set, "\"" BEGIN "\"                                        x");
	stays(set, "a - b -- c --- d ---- e ----- f ------\n----------\n| --- | --- |\n");
	stays(set, "-----BEGIN ");
	stays(set, "-----BEGIN a label that is much longer than any label that was ever seen "
		   "PRIVATE KEY-----\nx");
	stays(set, END "\nx");
}

static void inside_a_field(void **state)
{
	_cleanup_(set) struct secret_set *set = secret_set_new();

	(void)state;
	becomes(set, "PRIVATE_KEY=\"" BEGIN "\n" LINE "\n" LINE "\n" END "\"\nX=1\n",
		"PRIVATE_KEY=\"[REDACTED]\n[REDACTED]\n" END "\"\nX=1\n");
	becomes(set, "\"private_key\": \"" BEGIN "\\n" LINE "\\n" END "\\n\", \"x\": 1",
		"\"private_key\": \"[REDACTED]\", \"x\": 1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bodies_go),
		cmocka_unit_test(body_without_end_goes_to_the_end),
		cmocka_unit_test(other_text_stays),
		cmocka_unit_test(inside_a_field),
	};

	return cmocka_run_group_tests_name("secret.pem", tests, NULL, NULL);
}
