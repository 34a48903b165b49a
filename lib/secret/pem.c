/*
 * The second stage: the body of a private-key block becomes one mark; its BEGIN and END lines stay.
 *
 * A header followed by a line end, a blank, an escape (the block inside a JSON string) or base64
 * opens a body at once, and a body without its END reaches to the end of the stream. A header
 * followed by anything else, such as a quote, is first of all a program that speaks of such blocks:
 * there the body begins only if what follows looks like one, so that reading source code is not cut
 * short.
 */
#include <string.h>

#include "mem/mem.h"
#include "secret/internal.h"

enum { SCAN, OPENED, PERHAPS, BODY };                   /* struct pem */
enum { LINE_DASHES, LINE_WORD, LINE_LABEL, LINE_TAIL }; /* struct pem_line */
enum pem_line_is { LINE_NOT, LINE_MORE, LINE_DONE };

static bool is_base64(unsigned char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '+' || c == '/' || c == '=';
}

static bool is_space(unsigned char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_label(unsigned char c)
{
	return is_base64(c) || c == ' ' || c == '_' || c == '.';
}

static bool is_private(const struct pem_line *l)
{
	struct str label = {l->label, l->label_len};

	return str_ends(label, STR("PRIVATE KEY")) || str_ends(label, STR("PRIVATE KEY BLOCK"));
}

/* The byte does not fit: it may still be the first dash of another line. */
static enum pem_line_is restart(struct pem_line *l, unsigned char c)
{
	l->state = LINE_DASHES;
	l->at = c == '-';
	return l->at ? LINE_MORE : LINE_NOT;
}

static enum pem_line_is line_dashes(struct pem_line *l, unsigned char c, const char *word)
{
	if (c == '-') {
		if (l->at < PEM_DASHES) /* of more, the last five count */
			l->at++;
		return LINE_MORE;
	}
	if (l->at < PEM_DASHES || c != (unsigned char)word[0])
		return restart(l, c);
	l->state = LINE_WORD;
	l->at = 1;
	return LINE_MORE;
}

static enum pem_line_is line_label(struct pem_line *l, unsigned char c)
{
	if (is_label(c) && l->label_len < sizeof(l->label)) {
		l->label[l->label_len++] = (char)c;
		return LINE_MORE;
	}
	if (c != '-' || !is_private(l))
		return restart(l, c);
	l->state = LINE_TAIL;
	l->at = 1;
	return LINE_MORE;
}

/* `word` is "BEGIN " or "END ". */
static enum pem_line_is line_step(struct pem_line *l, unsigned char c, const char *word)
{
	switch (l->state) {
	case LINE_DASHES:
		return line_dashes(l, c, word);
	case LINE_WORD:
		if (c != (unsigned char)word[l->at])
			return restart(l, c);
		if (!word[++l->at]) {
			l->state = LINE_LABEL;
			l->label_len = 0;
		}
		return LINE_MORE;
	case LINE_LABEL:
		return line_label(l, c);
	default:
		if (c != '-')
			return restart(l, c);
		return ++l->at == PEM_DASHES ? LINE_DONE : LINE_MORE;
	}
}

static void line_reset(struct pem_line *l)
{
	l->state = LINE_DASHES;
	l->at = 0;
}

/* Passes bytes on up to and with a header's last dash; returns how many. */
static size_t scan(struct secret_filter *f, const char *p, size_t len)
{
	struct pem *s = &f->pem;
	size_t i = 0;

	while (i < len) {
		if (s->line.state == LINE_DASHES && s->line.at == 0) {
			const char *dash = memchr(p + i, '-', len - i);

			if (!dash) {
				i = len;
				break;
			}
			i = (size_t)(dash - p);
		}
		if (line_step(&s->line, (unsigned char)p[i++], "BEGIN ") == LINE_DONE) {
			line_reset(&s->line);
			s->state = OPENED;
			break;
		}
	}
	fields_put(f, p, i);
	return i;
}

static void open_body(struct pem *s)
{
	s->state = BODY;
	s->marked = false;
	s->after_newline = false;
	line_reset(&s->line);
}

/* The first byte after a header that is no dash decides; returns how many it took. */
static size_t opened(struct secret_filter *f, unsigned char c)
{
	struct pem *s = &f->pem;

	if (c == '-') {
		fields_put(f, "-", 1);
		return 1;
	}
	if (is_space(c) || c == '\\' || is_base64(c)) {
		open_body(s);
	} else {
		s->state = PERHAPS;
		s->held_len = s->run_len = 0;
	}
	return 0;
}

static void release_held(struct secret_filter *f)
{
	fields_put(f, f->pem.held, f->pem.held_len);
	f->pem.held_len = 0;
	f->pem.state = SCAN;
}

/* Holds back a gap and then a run of base64; a dash ends the doubt, so nothing held needs a new
 * scan. */
static size_t perhaps(struct secret_filter *f, unsigned char c)
{
	struct pem *s = &f->pem;
	bool in_run = is_base64(c) && (s->run_len || c != '+'); /* '+' also joins strings */

	if (c == '-' || (!in_run && (s->run_len || s->held_len == PEM_GAP_MAX))) {
		release_held(f);
		return 0;
	}
	s->held[s->held_len++] = (char)c;
	if (in_run && ++s->run_len == PEM_RUN_MIN) {
		fields_put(f, s->held, s->held_len - s->run_len);
		explicit_bzero(s->held, sizeof(s->held));
		open_body(s);
		fields_put(f, SECRET_MARK, sizeof(SECRET_MARK) - 1);
		s->marked = true;
	}
	return 1;
}

static void close_body(struct secret_filter *f)
{
	struct pem *s = &f->pem;

	if (s->marked && s->after_newline)
		fields_put(f, "\n", 1);
	fields_put(f, "-----END ", 9);
	fields_put(f, s->line.label, s->line.label_len);
	fields_put(f, "-----", PEM_DASHES);
	line_reset(&s->line);
	s->state = SCAN;
}

/* Takes a byte of the body. What could be the END line is neither dropped nor shown until it is
 * known; white space before the first other byte stays, since it is the header's line end. */
static void body(struct secret_filter *f, unsigned char c)
{
	struct pem *s = &f->pem;
	bool idle = s->line.state == LINE_DASHES && s->line.at == 0;
	enum pem_line_is is = line_step(&s->line, c, "END ");
	bool fell_back = !idle && s->line.state == LINE_DASHES && s->line.at == 1;

	if (is == LINE_DONE) {
		close_body(f);
		return;
	}
	if (is == LINE_MORE && !fell_back)
		return;
	if (!s->marked && idle && is_space(c)) {
		fields_put(f, (const char[]){(char)c}, 1);
		return;
	}
	if (!s->marked)
		fields_put(f, SECRET_MARK, sizeof(SECRET_MARK) - 1);
	s->marked = true;
	s->after_newline = c == '\n';
}

void pem_put(struct secret_filter *f, const char *p, size_t len)
{
	struct pem *s = &f->pem;
	size_t i = 0;

	while (i < len) {
		switch (s->state) {
		case SCAN:
			i += scan(f, p + i, len - i);
			break;
		case OPENED:
			i += opened(f, (unsigned char)p[i]);
			break;
		case PERHAPS:
			i += perhaps(f, (unsigned char)p[i]);
			break;
		default:
			body(f, (unsigned char)p[i++]);
			break;
		}
	}
}

void pem_end(struct secret_filter *f)
{
	struct pem *s = &f->pem;

	if (s->state == PERHAPS)
		release_held(f);
	/* A body that ends in what could have been its END line: part of the body. */
	if (s->state == BODY && !s->marked && (s->line.at || s->line.state != LINE_DASHES))
		fields_put(f, SECRET_MARK, sizeof(SECRET_MARK) - 1);
	explicit_bzero(s, sizeof(*s));
}
