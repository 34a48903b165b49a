#ifndef JSON_TEST_ORACLE_H
#define JSON_TEST_ORACLE_H
/*
 * oracle: what another library makes of a document. Its own header and json.h define the same
 * names, so they meet only here.
 */
#include <stddef.h>

enum oracle_answer {
	ORACLE_REFUSED,
	ORACLE_ACCEPTED,
	ORACLE_CANNOT, /* valid JSON that it does not support: a NUL in a key, a number beyond a
			  double */
};

struct oracle_doc;
enum oracle_answer oracle_parse(const char *text, size_t len, struct oracle_doc **ret);
/* Whether both hold the same values; numbers are compared as doubles. */
int oracle_equal(const struct oracle_doc *a, const struct oracle_doc *b);
/* Its own spelling of the document, escaped down to ASCII; the caller frees. */
char *oracle_write_ascii(const struct oracle_doc *d);
void oracle_free(struct oracle_doc *d); /* NULL does nothing */

#endif
