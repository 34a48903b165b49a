/*
 * bounds: how many parts a key has, before the parser sees it. toml++ makes a table of each part,
 * each inside the one before, without a limit, and takes them down by recursion.
 *
 * Only strings and comments have to be told from the rest, and what the parser would take otherwise
 * is a fault to it: it stops there.
 */
#include "toml/internal.h"

struct scan {
	struct str text;
	size_t at;
	uint32_t line;
	int parts; /* dots since a key could have begun */
};

static bool next_is(const struct scan *s, const char *mark, size_t len)
{
	return s->text.len - s->at >= len && memcmp(s->text.p + s->at, mark, len) == 0;
}

/* Behind the three quotes: to behind the next three, and up to two more that are still content. */
static void skip_long(struct scan *s, char quote)
{
	const char end[3] = {quote, quote, quote};

	while (s->at < s->text.len && !next_is(s, end, sizeof(end))) {
		char c = s->text.p[s->at];

		s->at += c == '\\' && quote == '"' && s->at + 1 < s->text.len ? 2 : 1;
		s->line += c == '\n';
	}
	s->at += s->at < s->text.len ? sizeof(end) : 0;
	for (int more = 0; more < 2 && s->at < s->text.len && s->text.p[s->at] == quote; more++)
		s->at++;
}

/* Behind the quote: to behind the next one, or to the end of the line, where it is a fault. */
static void skip_short(struct scan *s, char quote)
{
	while (s->at < s->text.len && s->text.p[s->at] != '\n') {
		char c = s->text.p[s->at++];

		if (c == quote)
			return;
		if (c == '\\' && quote == '"' && s->at < s->text.len && s->text.p[s->at] != '\n')
			s->at++;
	}
}

static void skip_string(struct scan *s, char quote)
{
	const char three[3] = {quote, quote, quote};

	if (next_is(s, three, sizeof(three))) {
		s->at += sizeof(three);
		skip_long(s, quote);
	} else {
		s->at++;
		skip_short(s, quote);
	}
}

static void skip_comment(struct scan *s)
{
	while (s->at < s->text.len && s->text.p[s->at] != '\n')
		s->at++;
}

static void take(struct scan *s)
{
	char c = s->text.p[s->at];

	if (c == '"' || c == '\'') {
		skip_string(s, c);
		return;
	}
	if (c == '#') {
		skip_comment(s);
		return;
	}
	if (c == '.')
		s->parts++;
	else if (c == '\n' || c == '=' || c == ',' || c == '{' || c == '[')
		s->parts = 0;
	s->line += c == '\n';
	s->at++;
}

int toml_check_bounds(struct str text, struct error *err)
{
	struct scan s = {.text = text, .line = 1};

	while (s.at < text.len) {
		take(&s);
		if (s.parts >= TOML_KEY_PARTS_MAX)
			return error_set(err, &TOML_LIMIT, "line %u: a key of more than %d parts",
				s.line, TOML_KEY_PARTS_MAX);
	}
	return 0;
}
