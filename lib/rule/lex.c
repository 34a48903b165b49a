/*
 * lex: shell scripts read leniently: words, and where commands begin.
 *
 * It never fails. Where dash and bash would read on differently, or where a quote is left open, it
 * goes on in one way and reads the rest once more in the other (read_again). What stands inside of
 * substitutions is read in place, since only reading tells where it ends.
 */
#include "rule/scan.h"

/*
 * Words.
 */
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
	add_word(s, STR("\0"), RULE_ANY);
	s->count = 0;
	rule_find_command(
		s->f, arena_dup(s->f->a, s->words, (count + 1) * sizeof(*s->words)), count);
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

		if (!rule_find_spend(s->f, word.len))
			return true;
		(void)buf_put(&one, word.p, (size_t)open); /* parts of the word */
		(void)buf_put_str(&one, part);
		(void)buf_put(&one, word.p + close + 1, word.len - (size_t)close - 1);
		if (one.len > 0)
			add_word(s, buf_str(&one), certainty);
	}
	return true;
}

static enum rule_certainty certainty_of(const struct scan *s)
{
	if (s->any || (s->shape && s->hole))
		return RULE_ANY;
	if (s->shape)
		return RULE_SHAPE;
	return s->hole ? RULE_HOLE : RULE_EXACT;
}

static void take_word(struct scan *s, struct str word)
{
	const enum rule_certainty certainty = certainty_of(s);

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

	if (s->any || s->hole || h->count == HEREDOCS_MAX) {
		scan_give_up(s);
		return;
	}
	word.p = arena_strndup(s->f->a, word.p, word.len);
	h->items[h->count++] = (struct heredoc){word, !s->bare, s->heredoc_tabs};
}

static void forget_word(struct scan *s)
{
	buf_clear(&s->word);
	s->in_word = s->any = s->hole = s->shape = s->brace = s->opened = false;
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
		rule_find_script(
			s->f, (struct str){arena_strndup(s->f->a, word.p, word.len), word.len});
	forget_word(s);
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

	for (int c; (c = scan_peek(&in, 0)) >= 0 && rule_find_spend(s->f, 1);)
		rule_scan_in_double(&in, c);
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

		if (!rule_find_spend(s->f, end - line + 1))
			return;
		next = newline < 0 ? s->text.len : end + 1;
		while (h->tabs && from < end && s->text.p[from] == '\t')
			from++;
		if (!str_eq((struct str){s->text.p + from, end - from}, h->end))
			continue;
		if (!h->quoted && is_continued(s, line)) {
			scan_read_again(s, next); /* not its end, by all accounts */
			continue;
		}
		ended = true;
		s->at = next;
		next = line;
	}
	if (!ended)
		s->at = s->text.len;
	rule_find_script(s->f, (struct str){s->text.p + begin, line - begin});
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
		if (!scan_is_digit((unsigned char)word.p[i]))
			return false;
	return true;
}

static void read_redirection(struct scan *s)
{
	const int c = scan_peek(s, 0), second = scan_peek(s, 1);

	if (second == '(') {
		s->f->flows = true;
		rule_scan_inside(s, 2, true); /* a part of the word */
		return;
	}
	if (s->bare && is_descriptor(buf_str(&s->word)))
		forget_word(s);
	end_word(s);
	if (c == '<' && second == '<' && scan_peek(s, 2) == '<') {
		s->at += 3;
		s->next = NEXT_HERE_STRING;
	} else if (c == '<' && second == '<') {
		s->heredoc_tabs = scan_peek(s, 2) == '-';
		s->at += s->heredoc_tabs ? 3 : 2;
		s->next = NEXT_HEREDOC;
	} else {
		s->at += second > 0 && strchr(c == '<' ? ">&" : ">|&", second) ? 2 : 1;
		s->next = NEXT_DROPPED;
	}
}

static void read_ampersand(struct scan *s)
{
	if (scan_peek(s, 1) == '>') { /* bash: a redirection; dash: a command ends, too */
		end_word(s);
		scan_read_again(s, s->at + 1);
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
	size_t ahead = scan_peek(s, 1) == ']' ? 2 : 1; /* "[]…]" holds one */
	int c;

	while ((c = scan_peek(s, ahead)) >= 0 && !strchr("] \t\n;|&()<>'\"\\$`", c))
		ahead++;
	s->any = s->any || (c > 0 && strchr("'\"\\$`", c));
	s->shape = s->shape || c == ']';
	if (c == ']')
		scan_put(s, '\0');
	else
		scan_put(s, '[');
	s->at += c == ']' ? ahead + 1 : 1;
}

static void read_backslash(struct scan *s)
{
	const int next = scan_peek(s, 1);

	if (next != '\n') {
		s->bare = false;
		scan_put(s, (char)(next < 0 ? '\\' : next));
	}
	s->at += next < 0 ? 1 : 2;
}

static void read_bare(struct scan *s, int c)
{
	if (c == '*' || c == '?') {
		s->shape = true;
		c = '\0';
	}
	s->brace = s->brace || (s->opened && (c == ',' || (c == '.' && scan_peek(s, 1) == '.')));
	s->opened = s->opened || c == '{';
	scan_put(s, (char)c);
	s->at++;
}

static void read_word_part(struct scan *s, int c)
{
	switch (c) {
	case '\\':
		read_backslash(s);
		return;
	case '\'':
		rule_scan_single(s);
		return;
	case '"':
		rule_scan_double(s);
		return;
	case '$':
		rule_scan_dollar(s, false);
		return;
	case '`':
		rule_scan_backticks(s, false);
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
		s->f->flows = s->f->flows || (c == '|' && scan_peek(s, 1) != '|');
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

void rule_scan_commands(struct scan *s)
{
	int c;

	while ((c = scan_peek(s, 0)) >= 0 && rule_find_spend(s->f, 1)) {
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

void rule_find_script(struct finder *f, struct str text)
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
	if (!rule_find_spend(f, text.len)) /* for what is passed over at once: quotes, comments */
		return;
	f->depth++;
	rule_scan_commands(&s);
	f->depth--;
	buf_release(&s.word);
	free(s.words);
}
