/*
 * quote: quotes and substitutions, read leniently. Where one is left open, what follows its
 * beginning is read once more as a script.
 */
#include "rule/scan.h"

/* Something that only running tells: in quotes any bytes of one word, else any words. */
static void unsure(struct scan *s, bool quoted)
{
	scan_put(s, '\0');
	s->bare = false;
	if (quoted)
		s->hole = true;
	else
		s->any = true;
}

/* A script up to its ')', which is read in place. */
void rule_scan_inside(struct scan *s, size_t skip, bool quoted)
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

	unsure(s, quoted);
	if (s->f->depth == FIND_DEPTH_MAX) {
		scan_give_up(s);
		return;
	}
	s->f->depth++;
	rule_scan_commands(&in);
	s->f->depth--;
	s->at = in.at;
	buf_release(&in.word);
	free(in.words);
}

void rule_scan_single(struct scan *s)
{
	const size_t begin = s->at + 1;
	const ptrdiff_t end = str_find(s->text, STR("'"), begin);

	s->in_word = true;
	s->bare = false;
	if (end < 0)
		scan_read_again(s, begin);
	s->at = end < 0 ? s->text.len : (size_t)end + 1;
	(void)buf_put(&s->word, s->text.p + begin, (end < 0 ? s->text.len : (size_t)end) - begin);
}

/* ${NAME…}: what stands behind the name is read twice, once as a part of the word, to see its end,
 * and once as a script, since a default may be a command. */
static void read_parameter(struct scan *s, bool quoted)
{
	const size_t begin = s->at;
	size_t from;

	unsure(s, quoted);
	if (s->f->depth == FIND_DEPTH_MAX) {
		scan_give_up(s);
		return;
	}
	s->f->depth++;
	s->at += 2;
	while (scan_peek(s, 0) == '#' || scan_peek(s, 0) == '!')
		s->at++;
	while (scan_is_name(scan_peek(s, 0)))
		s->at++;
	while (scan_peek(s, 0) > 0 && strchr(":-+=?%#/^,@*", scan_peek(s, 0)))
		s->at++;
	from = s->at;
	for (int c; (c = scan_peek(s, 0)) >= 0 && c != '}' && rule_find_spend(s->f, 1);) {
		if (c == '\\')
			s->at += 2;
		else if (c == '\'')
			rule_scan_single(s);
		else if (c == '"')
			rule_scan_double(s);
		else if (c == '$')
			rule_scan_dollar(s, true);
		else if (c == '`')
			rule_scan_backticks(s, true);
		else
			s->at++;
	}
	s->f->depth--;
	if (s->at > s->text.len)
		s->at = s->text.len;
	if (memchr(s->text.p + begin, '@',
		    s->at - begin)) /* "${a[@]}" and its like are many words */
		s->any = true;
	if (s->at > from)
		rule_find_script(s->f, (struct str){s->text.p + from, s->at - from});
	if (scan_peek(s, 0) == '}')
		s->at++;
	else
		scan_read_again(s, from);
}

/* The number after a backslash in $'…': up to `max` digits of a base. */
static unsigned read_number(struct scan *s, unsigned base, int max)
{
	static const char digits[] = "0123456789abcdef";
	unsigned value = 0;

	for (int i = 0; i < max; i++, s->at++) {
		const int c = scan_peek(s, 0);
		const char *digit = c > 0 ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c)
					  : NULL;

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
		(void)buf_put(
			&s->word, bytes, utf8_encode(point, bytes)); /* shorter than its escape */
}

/* What follows a backslash in bash's $'…'. */
static void read_escape(struct scan *s)
{
	static const char letters[] = "abefnrtvE", meant[] = "\a\b\x1b\f\n\r\t\v\x1b";
	const int c = scan_peek(s, 0);
	const char *letter = c > 0 ? strchr(letters, c) : NULL;

	if (c >= '0' && c <= '7') {
		scan_put(s, (char)read_number(s, 8, 3));
		return;
	}
	s->at++;
	if (c == 'x')
		scan_put(s, (char)read_number(s, 16, 2));
	else if (c == 'u' || c == 'U')
		put_point(s, read_number(s, 16, c == 'u' ? 4 : 8));
	else if (c == 'c') {
		scan_put(s, (char)(scan_peek(s, 0) & 0x1f));
		s->at++;
	} else if (letter)
		scan_put(s, meant[letter - letters]);
	else if (c >= 0)
		scan_put(s, (char)c);
}

static void read_ansi(struct scan *s)
{
	const size_t begin = s->at, before = s->word.len;
	bool quotes = false;
	const char *nul;

	s->in_word = true;
	s->bare = false;
	s->at += 2;
	for (int c; (c = scan_peek(s, 0)) >= 0 && c != '\'' && rule_find_spend(s->f, 1);) {
		s->at++;
		if (c != '\\') {
			scan_put(s, (char)c);
			continue;
		}
		quotes = quotes || scan_peek(s, 0) == '\'';
		read_escape(s);
	}
	nul = memchr(buf_str(&s->word).p + before, '\0', s->word.len - before);
	if (nul) /* bash stops there */
		s->word.len = (size_t)(nul - s->word.data);
	if (s->at >= s->text.len) {
		s->at = s->text.len;
		scan_read_again(s, begin + 2);
		return;
	}
	s->at++;
	if (quotes) /* dash reads on after the first quote */
		scan_read_again(s, begin + 1);
}

void rule_scan_dollar(struct scan *s, bool quoted)
{
	const int c = scan_peek(s, 1);

	if (c == '(') {
		rule_scan_inside(s, 2, quoted);
	} else if (c == '{') {
		read_parameter(s, quoted);
	} else if (c == '\'' && !quoted) {
		read_ansi(s);
	} else if (c == '"' && !quoted) {
		s->at++;
	} else if (scan_is_name(c)) {
		unsure(s, quoted);
		s->at++;
		while (scan_is_name(scan_peek(s, 0)))
			s->at++;
	} else if (c > 0 && strchr("@*#?$!-[", c)) {
		unsure(s, quoted && c != '@');
		s->at += 2;
	} else {
		scan_put(s, '$');
		s->at++;
	}
}

void rule_scan_backticks(struct scan *s, bool quoted)
{
	const size_t begin = s->at + 1;
	_cleanup_(buf) struct buf in = BUF_INIT(WORD_MAX_BYTES);

	unsure(s, quoted);
	s->at++;
	for (int c; (c = scan_peek(s, 0)) >= 0 && c != '`' && rule_find_spend(s->f, 1);) {
		const int next = scan_peek(s, 1);

		s->at++;
		if (c == '\\' && next > 0 && (strchr("\\`$", next) || (quoted && next == '"'))) {
			c = next;
			s->at++;
		}
		(void)buf_putc(&in, (char)c); /* a part of the text */
	}
	rule_find_script(
		s->f, (struct str){arena_strndup(s->f->a, buf_str(&in).p, in.len), in.len});
	if (scan_peek(s, 0) == '`')
		s->at++;
	else
		scan_read_again(s, begin);
}

/* One byte, or what begins with it, between double quotes or in a here-document. */
void rule_scan_in_double(struct scan *s, int c)
{
	const int next = scan_peek(s, 1);

	if (c == '$') {
		rule_scan_dollar(s, true);
	} else if (c == '`') {
		rule_scan_backticks(s, true);
	} else if (c == '\\' && next > 0 && strchr("$`\"\\\n", next)) {
		if (next != '\n')
			scan_put(s, (char)next);
		s->at += 2;
	} else {
		scan_put(s, (char)c);
		s->at++;
	}
}

void rule_scan_double(struct scan *s)
{
	const size_t begin = s->at + 1;
	int c;

	s->in_word = true;
	s->bare = false;
	s->at++;
	while ((c = scan_peek(s, 0)) >= 0 && c != '"' && rule_find_spend(s->f, 1))
		rule_scan_in_double(s, c);
	if (c == '"')
		s->at++;
	else
		scan_read_again(s, begin);
}
