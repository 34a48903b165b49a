/*
 * lex: shell scripts read leniently: words, and where commands begin.
 *
 * It never fails. Where dash and bash would read on differently, or where a quote is left open, it
 * goes on in one way and reads the rest once more in the other (read_again). What stands inside of
 * substitutions is read in place, since only reading tells where it ends.
 */
#include "rule/internal.h"

enum {
	HEREDOCS_MAX = 16, /* ours: begun in one line */
	WORD_MAX_BYTES = 2 * RULE_SCRIPT_MAX_BYTES, /* a mark for what is not known may be longer than it */
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
	bool any;    /* only running would tell it */
	bool shape;  /* a glob */
	bool brace;  /* '{' and then ',' or ".." */
	bool opened; /* '{' */
};

static void scan_commands(struct scan *s);
static void read_dollar(struct scan *s, bool quoted);
static void read_backticks(struct scan *s, bool quoted);

static int peek(const struct scan *s, size_t ahead)
{
	return s->at + ahead < s->text.len ? (unsigned char)s->text.p[s->at + ahead] : -1;
}

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}
static bool is_name(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

static struct str rest_from(const struct scan *s, size_t at)
{
	return (struct str){s->text.p + at, s->text.len - at};
}

/* Ends everything: there is more to this than is worth following. */
static void give_up(struct scan *s)
{
	s->f->tangled = true;
	s->at = s->text.len;
}

static void read_again(struct scan *s, size_t from)
{
	find_script(s->f, rest_from(s, from));
}

/*
 * Words.
 */
static void put(struct scan *s, char c)
{
	s->in_word = true;
	(void)buf_putc(&s->word, c); /* a word is no longer than its text */
}

static void add_word(struct scan *s, struct str text, enum rule_certainty certainty)
{
	if (s->count == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 8;
		s->words = xrealloc(s->words, s->cap, sizeof(*s->words));
	}
	text.p = arena_strndup(s->f->a, text.p, text.len);
	s->words[s->count++] = (struct rule_word){text, certainty};
}

static void end_command(struct scan *s)
{
	const size_t count = s->count;

	s->next = NEXT_WORD;
	if (count == 0)
		return;
	add_word(s, STR("$?"), RULE_ANY);
	s->count = 0;
	find_command(s->f, arena_dup(s->f->a, s->words, (count + 1) * sizeof(*s->words)), count);
}

/* Where the reading of what follows hangs on a word. 1: it is no part of a command. */
static bool take_reserved(struct scan *s, struct str word)
{
	if (str_is(word, "time") || str_is(word, "coproc") || !rule_is_reserved(word))
		return false; /* those two are, but take words as a program does */
	if (str_is(word, "case"))
		s->cases++;
	if (str_is(word, "esac") && s->cases > 0)
		s->cases--;
	if (str_is(word, "case") || str_is(word, "for") || str_is(word, "select") ||
		str_is(word, "function"))
		s->next = NEXT_DROPPED;
	return true;
}

/* BEFORE{a,b}BEHIND is the words that bash makes of it, where it is as simple as that. */
static bool take_braces(struct scan *s, struct str word, enum rule_certainty certainty)
{
	const ptrdiff_t open = str_find(word, STR("{"), 0), close = str_find(word, STR("}"), 0);
	struct str rest, part;

	if (open < 0 || close < open || str_find(word, STR("{"), (size_t)open + 1) >= 0 ||
		str_find(word, STR(".."), (size_t)open) >= 0)
		return false;
	rest = (struct str){word.p + open + 1, (size_t)(close - open - 1)};
	while (str_next(&rest, ',', &part)) {
		_cleanup_(buf) struct buf one = BUF_INIT(WORD_MAX_BYTES);

		if (!find_spend(s->f, word.len))
			return true;
		(void)buf_put(&one, word.p, (size_t)open); /* parts of the word */
		(void)buf_put_str(&one, part);
		(void)buf_put(&one, word.p + close + 1, word.len - (size_t)close - 1);
		if (one.len > 0)
			add_word(s, buf_str(&one), certainty);
	}
	return true;
}

static void take_word(struct scan *s, struct str word)
{
	const enum rule_certainty certainty = s->any ? RULE_ANY : s->shape ? RULE_SHAPE : RULE_EXACT;

	if (s->count == 0 && s->bare && take_reserved(s, word))
		return;
	if (s->count == 0 && rule_is_variable(word))
		return;
	if (s->brace && s->bare && !s->any && take_braces(s, word, certainty))
		return;
	add_word(s, word, s->brace ? RULE_ANY : certainty);
}

static void take_heredoc(struct scan *s, struct str word)
{
	struct heredocs *h = s->heredocs;

	if (s->any || h->count == HEREDOCS_MAX) {
		give_up(s);
		return;
	}
	word.p = arena_strndup(s->f->a, word.p, word.len);
	h->items[h->count++] = (struct heredoc){word, !s->bare, s->heredoc_tabs};
}

static void forget_word(struct scan *s)
{
	buf_clear(&s->word);
	s->in_word = s->any = s->shape = s->brace = s->opened = false;
	s->bare = true;
}

static void end_word(struct scan *s)
{
	const enum next what = s->next;
	const struct str word = buf_str(&s->word);

	if (!s->in_word)
		return;
	s->next = NEXT_WORD;
	if (what == NEXT_WORD)
		take_word(s, word);
	else if (what == NEXT_HEREDOC)
		take_heredoc(s, word);
	else if (what == NEXT_HERE_STRING)
		find_script(s->f, (struct str){arena_strndup(s->f->a, word.p, word.len), word.len});
	forget_word(s);
}

/*
 * Quotes and substitutions: each is read from its first byte to behind its last. A word with a
 * substitution is one that only running tells.
 */
static void unsure(struct scan *s)
{
	(void)buf_puts(&s->word, "$?"); /* and says so where the word is read as a script */
	s->in_word = true;
	s->any = true;
	s->bare = false;
}

/* A script up to its ')', which is read in place. */
static void read_inside(struct scan *s, size_t skip)
{
	struct scan in = {
		.f = s->f,
		.text = s->text,
		.at = s->at + skip,
		.heredocs = s->heredocs,
		.inside = true,
		.word = BUF_INIT(WORD_MAX_BYTES),
		.bare = true,
	};

	unsure(s);
	if (s->f->depth == FIND_DEPTH_MAX) {
		give_up(s);
		return;
	}
	s->f->depth++;
	scan_commands(&in);
	s->f->depth--;
	s->at = in.at;
	buf_release(&in.word);
	free(in.words);
}

static void read_double(struct scan *s);

static void read_single(struct scan *s)
{
	const size_t begin = s->at + 1;
	const ptrdiff_t end = str_find(s->text, STR("'"), begin);

	s->in_word = true;
	s->bare = false;
	if (end < 0)
		read_again(s, begin);
	s->at = end < 0 ? s->text.len : (size_t)end + 1;
	(void)buf_put(&s->word, s->text.p + begin, (end < 0 ? s->text.len : (size_t)end) - begin);
}

/* ${NAME…}: what stands behind the name is read twice, once as a part of the word, to see its end,
 * and once as a script, since a default may be a command. */
static void read_parameter(struct scan *s)
{
	size_t from;

	unsure(s);
	if (s->f->depth == FIND_DEPTH_MAX) {
		give_up(s);
		return;
	}
	s->f->depth++;
	s->at += 2;
	while (peek(s, 0) == '#' || peek(s, 0) == '!')
		s->at++;
	while (is_name(peek(s, 0)))
		s->at++;
	while (peek(s, 0) > 0 && strchr(":-+=?%#/^,@*", peek(s, 0)))
		s->at++;
	from = s->at;
	for (int c; (c = peek(s, 0)) >= 0 && c != '}' && find_spend(s->f, 1);) {
		if (c == '\\')
			s->at += 2;
		else if (c == '\'')
			read_single(s);
		else if (c == '"')
			read_double(s);
		else if (c == '$')
			read_dollar(s, true);
		else if (c == '`')
			read_backticks(s, true);
		else
			s->at++;
	}
	s->f->depth--;
	if (s->at > s->text.len)
		s->at = s->text.len;
	if (s->at > from)
		find_script(s->f, (struct str){s->text.p + from, s->at - from});
	if (peek(s, 0) == '}')
		s->at++;
	else
		read_again(s, from);
}

/* The number after a backslash in $'…': up to `max` digits of a base. */
static unsigned read_number(struct scan *s, unsigned base, int max)
{
	static const char digits[] = "0123456789abcdef";
	unsigned value = 0;

	for (int i = 0; i < max; i++, s->at++) {
		const int c = peek(s, 0);
		const char *digit = c > 0 ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;

		if (!digit || (unsigned)(digit - digits) >= base)
			break;
		value = value * base + (unsigned)(digit - digits);
	}
	return value;
}

static void put_point(struct scan *s, unsigned point)
{
	char bytes[4];

	if (point < 0x110000 && (point < 0xd800 || point > 0xdfff))
		(void)buf_put(&s->word, bytes, utf8_encode(point, bytes)); /* shorter than its escape */
}

/* What follows a backslash in bash's $'…'. */
static void read_escape(struct scan *s)
{
	static const char letters[] = "abefnrtvE", meant[] = "\a\b\x1b\f\n\r\t\v\x1b";
	const int c = peek(s, 0);
	const char *letter = c > 0 ? strchr(letters, c) : NULL;

	if (c >= '0' && c <= '7') {
		put(s, (char)read_number(s, 8, 3));
		return;
	}
	s->at++;
	if (c == 'x')
		put(s, (char)read_number(s, 16, 2));
	else if (c == 'u' || c == 'U')
		put_point(s, read_number(s, 16, c == 'u' ? 4 : 8));
	else if (c == 'c') {
		put(s, (char)(peek(s, 0) & 0x1f));
		s->at++;
	} else if (letter)
		put(s, meant[letter - letters]);
	else if (c >= 0)
		put(s, (char)c);
}

static void read_ansi(struct scan *s)
{
	const size_t begin = s->at, before = s->word.len;
	bool quotes = false;
	const char *nul;

	s->in_word = true;
	s->bare = false;
	s->at += 2;
	for (int c; (c = peek(s, 0)) >= 0 && c != '\'' && find_spend(s->f, 1);) {
		s->at++;
		if (c != '\\') {
			put(s, (char)c);
			continue;
		}
		quotes = quotes || peek(s, 0) == '\'';
		read_escape(s);
	}
	nul = memchr(buf_str(&s->word).p + before, '\0', s->word.len - before);
	if (nul) /* bash stops there */
		s->word.len = (size_t)(nul - s->word.data);
	if (s->at >= s->text.len) {
		s->at = s->text.len;
		read_again(s, begin + 2);
		return;
	}
	s->at++;
	if (quotes) /* dash reads on after the first quote */
		read_again(s, begin + 1);
}

static void read_dollar(struct scan *s, bool quoted)
{
	const int c = peek(s, 1);

	if (c == '(') {
		read_inside(s, 2);
	} else if (c == '{') {
		read_parameter(s);
	} else if (c == '\'' && !quoted) {
		read_ansi(s);
	} else if (c == '"' && !quoted) {
		s->at++;
	} else if (is_name(c)) {
		unsure(s);
		s->at++;
		while (is_name(peek(s, 0)))
			s->at++;
	} else if (c > 0 && strchr("@*#?$!-[", c)) {
		unsure(s);
		s->at += 2;
	} else {
		put(s, '$');
		s->at++;
	}
}

static void read_backticks(struct scan *s, bool quoted)
{
	const size_t begin = s->at + 1;
	_cleanup_(buf) struct buf in = BUF_INIT(WORD_MAX_BYTES);

	unsure(s);
	s->at++;
	for (int c; (c = peek(s, 0)) >= 0 && c != '`' && find_spend(s->f, 1);) {
		const int next = peek(s, 1);

		s->at++;
		if (c == '\\' && next > 0 && (strchr("\\`$", next) || (quoted && next == '"'))) {
			c = next;
			s->at++;
		}
		(void)buf_putc(&in, (char)c); /* a part of the text */
	}
	find_script(s->f, (struct str){arena_strndup(s->f->a, buf_str(&in).p, in.len), in.len});
	if (peek(s, 0) == '`')
		s->at++;
	else
		read_again(s, begin);
}

/* One byte, or what begins with it, between double quotes or in a here-document. */
static void read_in_double(struct scan *s, int c)
{
	const int next = peek(s, 1);

	if (c == '$') {
		read_dollar(s, true);
	} else if (c == '`') {
		read_backticks(s, true);
	} else if (c == '\\' && next > 0 && strchr("$`\"\\\n", next)) {
		if (next != '\n')
			put(s, (char)next);
		s->at += 2;
	} else {
		put(s, (char)c);
		s->at++;
	}
}

static void read_double(struct scan *s)
{
	const size_t begin = s->at + 1;
	int c;

	s->in_word = true;
	s->bare = false;
	s->at++;
	while ((c = peek(s, 0)) >= 0 && c != '"' && find_spend(s->f, 1))
		read_in_double(s, c);
	if (c == '"')
		s->at++;
	else
		read_again(s, begin);
}

/*
 * Here-documents.
 */
/* What a body without quotes at its beginning has substituted. */
static void read_substitutions(struct scan *s, struct str body)
{
	struct heredocs none = {.count = 0};
	struct scan in = {
		.f = s->f,
		.text = body,
		.heredocs = &none,
		.word = BUF_INIT(WORD_MAX_BYTES),
	};

	for (int c; (c = peek(&in, 0)) >= 0 && find_spend(s->f, 1);)
		read_in_double(&in, c);
	buf_release(&in.word);
}

/* Whether the line that ends before `at` goes on after it. */
static bool is_continued(const struct scan *s, size_t at)
{
	size_t n = 0;

	while (n + 1 < at && s->text.p[at - 2 - n] == '\\')
		n++;
	return n % 2 == 1;
}

/* From the line at s->at to the one that ends it. */
static void read_heredoc(struct scan *s, const struct heredoc *h)
{
	const size_t begin = s->at;
	size_t line = begin, next = begin;
	bool ended = false;

	for (; line < s->text.len && !ended; line = next) {
		const ptrdiff_t newline = str_find(s->text, STR("\n"), line);
		size_t end = newline < 0 ? s->text.len : (size_t)newline, from = line;

		if (!find_spend(s->f, end - line + 1))
			return;
		next = newline < 0 ? s->text.len : end + 1;
		while (h->tabs && from < end && s->text.p[from] == '\t')
			from++;
		if (!str_eq((struct str){s->text.p + from, end - from}, h->end))
			continue;
		if (!h->quoted && is_continued(s, line)) {
			read_again(s, next); /* not its end, by all accounts */
			continue;
		}
		ended = true;
		s->at = next;
		next = line;
	}
	if (!ended)
		s->at = s->text.len;
	find_script(s->f, (struct str){s->text.p + begin, line - begin});
	if (!h->quoted)
		read_substitutions(s, (struct str){s->text.p + begin, line - begin});
}

static void read_heredocs(struct scan *s)
{
	const struct heredocs here = *s->heredocs;

	s->heredocs->count = 0;
	for (size_t i = 0; i < here.count && !s->f->tangled; i++)
		read_heredoc(s, &here.items[i]);
}

/*
 * Operators.
 */
static bool is_descriptor(struct str word)
{
	if (word.len > 2 && word.p[0] == '{' && word.p[word.len - 1] == '}')
		return true; /* bash's {NAME}> */
	for (size_t i = 0; i < word.len; i++)
		if (!is_digit((unsigned char)word.p[i]))
			return false;
	return true;
}

static void read_redirection(struct scan *s)
{
	const int c = peek(s, 0), second = peek(s, 1);

	if (second == '(') {
		s->f->flows = true;
		read_inside(s, 2); /* a part of the word */
		return;
	}
	if (s->bare && is_descriptor(buf_str(&s->word)))
		forget_word(s);
	end_word(s);
	if (c == '<' && second == '<' && peek(s, 2) == '<') {
		s->at += 3;
		s->next = NEXT_HERE_STRING;
	} else if (c == '<' && second == '<') {
		s->heredoc_tabs = peek(s, 2) == '-';
		s->at += s->heredoc_tabs ? 3 : 2;
		s->next = NEXT_HEREDOC;
	} else {
		s->at += second > 0 && strchr(c == '<' ? ">&" : ">|&", second) ? 2 : 1;
		s->next = NEXT_DROPPED;
	}
}

static void read_ampersand(struct scan *s)
{
	if (peek(s, 1) == '>') { /* bash: a redirection; dash: a command ends, too */
		end_word(s);
		read_again(s, s->at + 1);
		s->at++;
		return;
	}
	end_word(s);
	end_command(s);
	s->at++;
}

/* False when it ends what is read. */
static bool read_paren(struct scan *s, int c)
{
	end_word(s);
	end_command(s);
	s->at++;
	if (c == '(')
		s->parens++;
	else if (s->parens > 0)
		s->parens--;
	else if (s->cases == 0 && s->inside) /* else it ends a pattern */
		return false;
	return true;
}

/* A glob's [class] is one hole. */
static void read_class(struct scan *s)
{
	size_t ahead = 2;
	int c;

	while ((c = peek(s, ahead)) >= 0 && !strchr("] \t\n;|&()<>'\"\\$`", c))
		ahead++;
	s->any = s->any || (c > 0 && strchr("'\"\\$`", c));
	s->shape = s->shape || c == ']';
	put(s, c == ']' ? '\0' : '[');
	s->at += c == ']' ? ahead + 1 : 1;
}

static void read_backslash(struct scan *s)
{
	const int next = peek(s, 1);

	if (next != '\n') {
		s->bare = false;
		put(s, next < 0 ? '\\' : (char)next);
	}
	s->at += next < 0 ? 1 : 2;
}

static void read_bare(struct scan *s, int c)
{
	if (c == '*' || c == '?') {
		s->shape = true;
		c = '\0';
	}
	s->brace = s->brace || (s->opened && (c == ',' || (c == '.' && peek(s, 1) == '.')));
	s->opened = s->opened || c == '{';
	put(s, (char)c);
	s->at++;
}

static void read_word_part(struct scan *s, int c)
{
	switch (c) {
	case '\\':
		read_backslash(s);
		return;
	case '\'':
		read_single(s);
		return;
	case '"':
		read_double(s);
		return;
	case '$':
		read_dollar(s, false);
		return;
	case '`':
		read_backticks(s, false);
		return;
	case '[':
		read_class(s);
		return;
	}
	read_bare(s, c);
}

/* One byte, or what begins with it; false when it ends what is read. */
static bool read_part(struct scan *s, int c)
{
	switch (c) {
	case ' ':
	case '\t':
		end_word(s);
		s->at++;
		return true;
	case '\0': /* no shell gets to see it */
	case '\n':
		end_word(s);
		end_command(s);
		s->at++;
		if (c == '\n')
			read_heredocs(s);
		return true;
	case ';':
	case '|':
		end_word(s);
		end_command(s);
		s->f->flows = s->f->flows || (c == '|' && peek(s, 1) != '|');
		s->at++;
		return true;
	case '&':
		read_ampersand(s);
		return true;
	case '(':
	case ')':
		return read_paren(s, c);
	case '<':
	case '>':
		read_redirection(s);
		return true;
	}
	read_word_part(s, c);
	return true;
}

static void scan_commands(struct scan *s)
{
	int c;

	while ((c = peek(s, 0)) >= 0 && find_spend(s->f, 1)) {
		if (c == '#' && !s->in_word) {
			const ptrdiff_t newline = str_find(s->text, STR("\n"), s->at);

			s->at = newline < 0 ? s->text.len : (size_t)newline;
			continue;
		}
		if (!read_part(s, c))
			return;
	}
	end_word(s);
	end_command(s);
}

void find_script(struct finder *f, struct str text)
{
	struct heredocs none = {.count = 0};
	struct scan s = {
		.f = f,
		.text = text,
		.heredocs = &none,
		.word = BUF_INIT(WORD_MAX_BYTES),
		.bare = true,
	};

	if (f->depth == FIND_DEPTH_MAX)
		f->tangled = true;
	if (f->tangled)
		return;
	f->depth++;
	scan_commands(&s);
	f->depth--;
	buf_release(&s.word);
	free(s.words);
}
