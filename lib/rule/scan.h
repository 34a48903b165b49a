#ifndef RULE_SCAN_H
#define RULE_SCAN_H
/*
 * scan: how far a script has been read, for lex.c (words, and where commands begin) and quote.c
 * (what stands in quotes and substitutions).
 */
#include "rule/internal.h"

enum {
	HEREDOCS_MAX = 16, /* ours: begun in one line */
};

struct heredoc {
	struct str end;
	bool quoted, tabs;
};
struct heredocs {
	struct heredoc items[HEREDOCS_MAX];
	size_t count;
};

/* What the next word is, besides a part of the command. */
enum next { NEXT_WORD, NEXT_DROPPED, NEXT_HERE_STRING, NEXT_HEREDOC };

struct scan {
	struct finder *f;
	struct str text;
	size_t at;
	struct heredocs *heredocs; /* of this text, whatever stands inside what */
	bool inside;               /* in $( or <( : a ')' ends it */
	size_t parens, cases;      /* open ones */

	struct rule_word *words; /* of the command so far */
	size_t count, cap;
	enum next next;
	bool heredoc_tabs;

	struct buf word;
	bool in_word;
	bool bare;   /* without quotes and substitutions so far */
	bool any;    /* only running would tell it, and how many words it is */
	bool hole;   /* only running would tell it, and it is one word */
	bool shape;  /* a glob */
	bool brace;  /* '{' and then ',' or ".." */
	bool opened; /* '{' */
};

static inline int scan_peek(const struct scan *s, size_t ahead)
{
	return s->at + ahead < s->text.len ? (unsigned char)s->text.p[s->at + ahead] : -1;
}

static inline bool scan_is_digit(int c)
{
	return c >= '0' && c <= '9';
}
static inline bool scan_is_name(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || scan_is_digit(c) || c == '_';
}

static inline struct str scan_rest(const struct scan *s, size_t at)
{
	return (struct str){s->text.p + at, s->text.len - at};
}

/* Ends everything: there is more to this than is worth following. */
static inline void scan_give_up(struct scan *s)
{
	s->f->tangled = true;
	s->at = s->text.len;
}

static inline void scan_read_again(struct scan *s, size_t from)
{
	rule_find_script(s->f, scan_rest(s, from));
}

static inline void scan_put(struct scan *s, char c)
{
	s->in_word = true;
	(void)buf_putc(&s->word, c); /* a word is no longer than its text */
}

/* Reads what stands at s->at up to the end of the text, or up to its ')' when it is inside. */
void rule_scan_commands(struct scan *s);

/* quote.c: each is read from its first byte to behind its last. A word with a substitution is one
 * that only running tells. */
void rule_scan_single(struct scan *s);
void rule_scan_double(struct scan *s);
void rule_scan_dollar(struct scan *s, bool quoted);
void rule_scan_backticks(struct scan *s, bool quoted);
/* $(…, <(… and >(…: `skip` bytes, and a script up to its ')', which is read in place. */
void rule_scan_inside(struct scan *s, size_t skip, bool quoted);
/* One byte, or what begins with it, between double quotes or in a here-document. */
void rule_scan_in_double(struct scan *s, int c);

#endif
