/*
 * The third stage: the value after a field named like a secret becomes one mark; the name stays.
 *
 * Nothing is held back while looking for a name: a separator is found first, and the name is looked
 * for before it, in what has passed. A name may have anything in front of it (DB_PASSWORD,
 * x-api-key) and nothing behind ("passwords are bad" stays). A value in quotes goes up to its
 * closing quote or the end of the line; a bare one of six bytes or more up to white space, or,
 * where the name stands in a JSON object, in a query or inside a quoted string, up to what ends a
 * value there.
 */
#include <string.h>

#include "mem/mem.h"
#include "secret/internal.h"

enum {
	SCAN,      /* looking for a separator */
	SEPARATED, /* right after one that has a name before it */
	BLANK,     /* the same, blanks or a second sign later */
	SLASHES,   /* backslashes that may belong to an opening quote */
	BARE,      /* a bare value, held: less than six bytes so far */
	BARE_GONE, /* the same, its mark written */
	QUOTED,    /* inside quotes */
	CLOSED,    /* right after a closing quote */
	JOINED,    /* after a quote and a backslash: 'it'\''s' is one value */
};

enum { STOP_SPACE, STOP_JSON, STOP_QUERY, STOP_QUOTE };

static const unsigned char separators[256] = {[':'] = 1, ['='] = 1};

/* How a name can end, both cases, and what may stand between it and its separator. */
static const unsigned char before_separator[256] = {
	['d'] = 1,
	['e'] = 1,
	['y'] = 1,
	['t'] = 1,
	['n'] = 1,
	['D'] = 1,
	['E'] = 1,
	['Y'] = 1,
	['T'] = 1,
	['N'] = 1,
	[' '] = 1,
	['\t'] = 1,
	['"'] = 1,
	['\''] = 1,
	['`'] = 1,
	[']'] = 1,
};

/* The last word and what may come before it, with '-', '_' or nothing between. "secret access key"
 * ends like "access key", and so on. */
static const struct {
	const char *last;
	const char *first[5];
} names[] = {
	{"password",   {NULL}				},
	{"passwd",     {NULL}				},
	{"passphrase", {NULL}				},
	{"key",        {"api", "access", "secret", "private"}},
	{"secret",     {"client"}                            },
	{"token",      {"auth", "access", "refresh"}         },
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* NUL ends a value of /proc/PID/environ. */
static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0';
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'' || c == '`';
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.';
}

/* The length without `word` at the end of w, in any case; 0 when it does not end so. */
static size_t before_word(const char *w, size_t len, const char *word)
{
	size_t n = strlen(word);

	if (len < n)
		return SIZE_MAX;
	for (size_t i = 0; i < n; i++) {
		if ((w[len - n + i] | 0x20) != word[i])
			return SIZE_MAX;
	}
	return len - n;
}

/* Where the name that w ends with begins, or SIZE_MAX. */
static size_t before_name(const char *w, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		size_t at = before_word(w, len, names[i].last);

		if (at == SIZE_MAX)
			continue;
		if (!names[i].first[0])
			return at;
		if (at && (w[at - 1] == '-' || w[at - 1] == '_'))
			at--;
		for (size_t k = 0; names[i].first[k]; k++) {
			size_t start = before_word(w, at, names[i].first[k]);

			if (start != SIZE_MAX)
				return start;
		}
	}
	return SIZE_MAX;
}

static size_t before_slashes(const char *w, size_t at, unsigned *ret_count)
{
	*ret_count = 0;
	while (at && w[at - 1] == '\\' && *ret_count < FIELD_SLASHES_MAX) {
		at--;
		++*ret_count;
	}
	return at;
}

/* What a bare value ends with, told by what stands before the whole name. */
static void set_place(struct field_place *place, const char *w, size_t at)
{
	while (at && is_name(w[at - 1]))
		at--;
	place->stop = STOP_SPACE;
	if (!at)
		return;
	if (w[at - 1] == '?' || w[at - 1] == '&') {
		place->stop = STOP_QUERY;
	} else if (is_quote(w[at - 1])) {
		place->stop = STOP_QUOTE;
		place->outer = w[at - 1];
		(void)before_slashes(w, at - 1, &place->outer_level);
	}
}

/* Whether a separator after w separates a secret from its name: NAME, "NAME", x["NAME"], then
 * blanks. */
static bool is_named(const char *w, size_t len, struct field_place *ret_place)
{
	size_t at = len, start;
	unsigned level;

	while (at && is_blank(w[at - 1]))
		at--;
	if (at > 1 && w[at - 1] == ']' && is_quote(w[at - 2]))
		at--;
	if (at && is_quote(w[at - 1])) {
		at = before_slashes(w, at - 1, &level);
		ret_place->stop = STOP_JSON;
		return before_name(w, at) != SIZE_MAX;
	}
	start = before_name(w, at);
	if (start == SIZE_MAX)
		return false;
	set_place(ret_place, w, start);
	return true;
}

static void remember(struct fields *s, const char *p, size_t len)
{
	if (len >= FIELD_WINDOW) {
		memcpy(s->history, p + len - FIELD_WINDOW, FIELD_WINDOW);
		s->history_len = FIELD_WINDOW;
		return;
	}
	if (s->history_len + len > FIELD_HISTORY) {
		memmove(s->history, s->history + s->history_len - FIELD_WINDOW, FIELD_WINDOW);
		s->history_len = FIELD_WINDOW;
	}
	memcpy(s->history + s->history_len, p, len);
	s->history_len += len;
}

/* The separator at p[at], where p began right after the history. */
static bool found(const struct fields *s, const char *p, size_t at, struct field_place *ret_place)
{
	char window[2 * FIELD_WINDOW];
	size_t old = s->history_len < FIELD_WINDOW ? s->history_len : FIELD_WINDOW;
	unsigned char last;

	if (at == 0 && old == 0)
		return false;
	last = (unsigned char)(at ? p[at - 1] : s->history[s->history_len - 1]);
	if (!before_separator[last])
		return false;
	if (at >= FIELD_WINDOW)
		return is_named(p + at - FIELD_WINDOW, FIELD_WINDOW, ret_place);
	if (old + at > FIELD_WINDOW)
		old = FIELD_WINDOW - at;
	memcpy(window, s->history + s->history_len - old, old);
	memcpy(window + old, p, at);
	return is_named(window, old + at, ret_place);
}

static size_t next_separator(const char *chars, size_t at, size_t len)
{
	const unsigned char *p = (const unsigned char *)chars;

	while (at + 4 <= len && !(separators[p[at]] | separators[p[at + 1]] |
					separators[p[at + 2]] | separators[p[at + 3]]))
		at += 4;
	while (at < len && !separators[p[at]])
		at++;
	return at;
}

/* Passes bytes on up to and with a separator that follows a name; returns how many. */
static size_t scan(struct secret_filter *f, const char *p, size_t len)
{
	struct fields *s = &f->fields;
	size_t i = next_separator(p, 0, len);

	for (; i < len; i = next_separator(p, i + 1, len)) {
		if (!found(s, p, i, &s->place))
			continue;
		s->state = SEPARATED;
		s->separator = p[i];
		s->history_len = 0;
		filter_out(f, p, i + 1);
		return i + 1;
	}
	remember(s, p, len);
	filter_out(f, p, len);
	return len;
}

static void mark(struct secret_filter *f)
{
	if (!f->fields.marked)
		filter_out(f, SECRET_MARK, sizeof(SECRET_MARK) - 1);
	f->fields.marked = true;
}

static void release_held(struct secret_filter *f)
{
	filter_out(f, f->fields.held, f->fields.held_len);
	f->fields.held_len = 0;
}

static void hold(struct fields *s, char c)
{
	must(s->held_len < sizeof(s->held));
	s->held[s->held_len++] = c;
}

/* Whether c is the unescaped quote of a string whose quotes have `level` backslashes (1 for \", 3
 * for
 * \\\"). An escaped one inside has more; one with fewer ends a string further out, and this one
 * with it. */
static bool closes(char c, char quote, unsigned level, unsigned slashes)
{
	return c == quote && (slashes < level || slashes % (2 * (level + 1)) == level);
}

static bool closes_outer(const struct fields *s, char c)
{
	return s->place.stop == STOP_QUOTE &&
	       closes(c, s->place.outer, s->place.outer_level, s->slashes);
}

/* Backslashes are dropped while it is open whose they are; those of a closing quote come back. */
static void restore_slashes(struct secret_filter *f, unsigned level)
{
	unsigned count = f->fields.slashes < level ? f->fields.slashes : level;

	for (unsigned i = 0; i < count; i++)
		filter_out(f, "\\", 1);
}

static void open_quote(struct secret_filter *f, char c, unsigned level)
{
	struct fields *s = &f->fields;

	s->state = QUOTED;
	s->history_len = 0;
	s->quote = c;
	s->level = level;
	s->slashes = 0;
	filter_out(f, &c, 1);
}

/*
 * The states after a separator. Each returns whether it took the byte; if not, the new state gets
 * it.
 */
static bool after_separator(struct secret_filter *f, char c)
{
	struct fields *s = &f->fields;
	bool at_once = s->state == SEPARATED;

	if (is_blank(c) || (at_once && s->separator == ':' && c == '=') ||
		(at_once && s->separator == '=' && c == '>')) {
		s->state = BLANK;
		filter_out(f, &c, 1);
		return true;
	}
	s->marked = false;
	s->named = false;
	s->held_len = 0;
	s->slashes = 0;
	/* No value: a path (password::check), an object, whose own fields count, the string's end.
	 */
	if (is_space(c) || (at_once && s->separator == ':' && c == ':') ||
		(s->place.stop == STOP_JSON && c == '{') || closes_outer(s, c)) {
		s->state = SCAN;
		return false;
	}
	if (is_quote(c)) {
		open_quote(f, c, 0);
		return true;
	}
	s->state = c == '\\' ? SLASHES : BARE;
	return false;
}

/* One, three or seven backslashes and a quote open a string inside a string; others are a bare
 * value. */
static bool after_slashes(struct secret_filter *f, char c)
{
	struct fields *s = &f->fields;
	unsigned level = (unsigned)s->held_len;

	s->slashes = level;
	if (c == '\\' && level < FIELD_SLASHES_MAX) {
		hold(s, c);
		return true;
	}
	if (is_quote(c) && (level & (level + 1)) == 0 && !closes_outer(s, c)) {
		release_held(f);
		open_quote(f, c, level);
		return true;
	}
	s->state = BARE;
	return false;
}

static bool ends_bare(const struct fields *s, char c)
{
	if (is_space(c))
		return true;
	switch (s->place.stop) {
	case STOP_JSON:
		return c == ',' || c == '}';
	case STOP_QUERY:
		return c == '&' || c == '#' || c == '<' || c == '>' || is_quote(c);
	case STOP_QUOTE:
		return closes_outer(s, c);
	default:
		return false;
	}
}

/* A bare value that ends like "password: password:" has its value behind the blank. */
static void end_bare(struct fields *s, char c)
{
	s->state = is_blank(c) && s->named ? BLANK : SCAN;
	s->history_len = 0;
}

static void note_bare(struct fields *s, char c)
{
	struct field_place inner;

	s->named = separators[(unsigned char)c] && found(s, "", 0, &inner);
	remember(s, &c, 1);
	s->slashes = c == '\\' ? s->slashes + 1 : 0;
}

static bool bare(struct secret_filter *f, char c)
{
	struct fields *s = &f->fields;

	if (ends_bare(s, c)) {
		release_held(f);
		end_bare(s, c);
		return false;
	}
	/* b"…", f'…', $'…' */
	if (s->held_len == 1 && is_quote(c) && strchr("bBfFrRuULS$@", s->held[0])) {
		release_held(f);
		open_quote(f, c, 0);
		return true;
	}
	hold(s, c);
	note_bare(s, c);
	if (s->held_len >= FIELD_RUN_MIN) {
		mark(f);
		explicit_bzero(s->held, sizeof(s->held));
		s->held_len = 0;
		s->state = BARE_GONE;
	}
	return true;
}

static bool bare_gone(struct secret_filter *f, char c)
{
	struct fields *s = &f->fields;

	if (ends_bare(s, c)) {
		if (closes_outer(s, c))
			restore_slashes(f, s->place.outer_level);
		end_bare(s, c);
		return false;
	}
	note_bare(s, c);
	return true;
}

static bool quoted(struct secret_filter *f, char c)
{
	struct fields *s = &f->fields;

	if (closes(c, s->quote, s->level, s->slashes)) {
		if (s->slashes > s->level)
			mark(f);
		restore_slashes(f, s->level);
		filter_out(f, &c, 1);
		s->state = s->level ? SCAN : CLOSED;
		return true;
	}
	/* A string that nobody closes must not take the rest of the text along. */
	if (c == '\n' || closes_outer(s, c)) {
		if (c != '\n')
			restore_slashes(f, s->place.outer_level);
		s->state = SCAN;
		return false;
	}
	if (c == '\\') {
		s->slashes++;
		return true;
	}
	mark(f);
	s->slashes = 0;
	return true;
}

/* A string right behind a string is part of the value: 'it''s', """…""", 'it'"'"'s'. */
static bool closed(struct secret_filter *f, char c)
{
	struct fields *s = &f->fields;

	s->slashes = 0;
	if (closes_outer(s, c)) {
		s->state = SCAN;
		return false;
	}
	if (c == s->quote || (is_quote(c) && s->place.stop != STOP_JSON)) {
		open_quote(f, c, 0);
		return true;
	}
	if (c == '\\' && s->quote == '\'') {
		s->state = JOINED;
		hold(s, c);
		return true;
	}
	s->state = SCAN;
	return false;
}

static bool joined(struct secret_filter *f, char c)
{
	struct fields *s = &f->fields;

	release_held(f);
	s->state = c == '\'' ? CLOSED : SCAN;
	if (c == '\'')
		filter_out(f, &c, 1);
	return c == '\'';
}

/* How many bytes from p on are plain inside a value: what ends or escapes anything, in whatever
 * place, is not. The states take those one at a time. */
static size_t plain_run(const char *p, size_t len)
{
	static const unsigned char special[256] = {
		['\0'] = 1,
		['\t'] = 1,
		['\n'] = 1,
		['\v'] = 1,
		['\f'] = 1,
		['\r'] = 1,
		[' '] = 1,
		['"'] = 1,
		['\''] = 1,
		['`'] = 1,
		['\\'] = 1,
		[','] = 1,
		['}'] = 1,
		['&'] = 1,
		['#'] = 1,
		['<'] = 1,
		['>'] = 1,
		[':'] = 1,
		['='] = 1,
	};
	size_t n = 0;

	while (n < len && !special[(unsigned char)p[n]])
		n++;
	return n;
}

/* The same as its state would make of these bytes one by one; returns how many. */
static size_t drop_run(struct secret_filter *f, const char *p, size_t len)
{
	struct fields *s = &f->fields;
	size_t n = s->state == QUOTED || s->state == BARE_GONE ? plain_run(p, len) : 0;

	if (n == 0)
		return 0;
	s->slashes = 0;
	if (s->state == QUOTED) {
		mark(f);
	} else {
		s->named = false;
		remember(s, p, n);
	}
	return n;
}

void fields_put(struct secret_filter *f, const char *p, size_t len)
{
	static bool (*const steps[])(struct secret_filter * f, char c) = {
		[SEPARATED] = after_separator,
		[BLANK] = after_separator,
		[SLASHES] = after_slashes,
		[BARE] = bare,
		[BARE_GONE] = bare_gone,
		[QUOTED] = quoted,
		[CLOSED] = closed,
		[JOINED] = joined,
	};
	struct fields *s = &f->fields;
	size_t i = 0;

	while (i < len) {
		size_t run = s->state == SCAN ? scan(f, p + i, len - i)
					      : drop_run(f, p + i, len - i);

		if (run == 0)
			run = steps[s->state](f, p[i]);
		i += run;
	}
}

void fields_end(struct secret_filter *f)
{
	struct fields *s = &f->fields;

	if (s->state == QUOTED && s->slashes)
		mark(f);
	release_held(f);
	explicit_bzero(s, sizeof(*s));
}
