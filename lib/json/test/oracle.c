/* oracle: jansson behind a few names of ours. */
#include <string.h>

#include <jansson.h>

#include "json/test/oracle.h"

struct oracle_doc {
	json_t root; /* never made: stands for jansson's own pointer */
};

enum oracle_answer oracle_parse(const char *text, size_t len, struct oracle_doc **ret)
{
	const size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL |
			     JSON_DECODE_INT_AS_REAL;
	json_error_t error;
	json_t *root = json_loadb(text, len, flags, &error);
	enum json_error_code code;

	if (root && memchr(text, '\0', len)) { /* which it takes for the end; JSON has no raw NUL */
		json_decref(root);
		return ORACLE_REFUSED;
	}
	if (root) {
		*ret = (struct oracle_doc *)root;
		return ORACLE_ACCEPTED;
	}
	code = json_error_code(&error);
	if (code == json_error_null_byte_in_key || code == json_error_numeric_overflow)
		return ORACLE_CANNOT;
	return ORACLE_REFUSED;
}

int oracle_equal(const struct oracle_doc *a, const struct oracle_doc *b)
{
	return json_equal(&a->root, &b->root);
}

char *oracle_write_ascii(const struct oracle_doc *d)
{
	return json_dumps(&d->root, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_INDENT(1));
}

void oracle_free(struct oracle_doc *d)
{
	if (d)
		json_decref(&d->root);
}
