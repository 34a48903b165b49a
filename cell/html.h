#ifndef CELL_HTML_H
#define CELL_HTML_H
/*
 * HTML as tokens, in one pass that looks at each byte a bounded number of times. There is no tree:
 * building one is where parsers of hostile pages spend their time.
 *
 * As the standard's tokenizer does (HTML 13.2.5), but for what shows in no text: CDATA, and script
 * inside of an escaped script.
 */
#include <stdbool.h>
#include <stddef.h>

#include "text/text.h"

/* The attributes that anybody asks for. */
enum html_attr {
	ATTR_ALT,
	ATTR_CHARSET,
	ATTR_CONTENT,
	ATTR_HIDDEN,
	ATTR_HREF,
	ATTR_HTTP_EQUIV,
	ATTR_START,
	ATTR_STYLE,
	ATTRS
};
enum { HTML_NAME_MAX_BYTES = 15 /* a longer name is no element that we know */ };

enum html_type { HTML_TEXT, HTML_START, HTML_END };
struct html_token {
	enum html_type type;
	struct str text; /* of HTML_TEXT: as it stands, references and all */
	bool raw;        /* … that is the content of a script and the like: no references in it */
	char name[HTML_NAME_MAX_BYTES + 1]; /* in lower case; "" for a longer one */
	bool self_closing;
	struct str attrs[ATTRS]; /* as they stand; absent when not there; the first of two holds */
};

struct html {
	struct str in;
	size_t at;
	char inside[HTML_NAME_MAX_BYTES + 1]; /* the element whose content is no markup, or "" */
};
/* The next token; false at the end. The token points into `in`. */
bool html_next(struct html *h, struct html_token *ret);

/* A character reference at s.p[0] == '&': its length, and the character; 0 when it is
 * just an ampersand. Inside an attribute the old ones without ';' hold less often. */
size_t html_reference(struct str s, bool in_attribute, uint32_t *ret);
/* Appends an attribute's value with its references read. -1: `to` is full. */
int html_put_value(struct buf *to, struct str value);

#endif
