/*
 * script: plain scripts, read and written. Whatever is not said to be plain in rule.h is not; the
 * reader has no state but where it is, so that there is nothing to be fooled about.
 */
#include "rule/internal.h"

struct reader {
	struct str text;
	size_t at;
	struct rule_doubt doubt;
	char *out; /* where words go: each is shorter than what it was made of */
	struct str *words;
	size_t count, cap;
	struct rule_command *commands; /* their words only counted until the end */
	size_t command_count, command_cap;
};

static int doubt(struct reader *r, const char *why)
{
	r->doubt = (struct rule_doubt){why, r->at};
	return -1;
}

static int next_byte(const struct reader *r)
{
	return r->at < r->text.len ? (unsigned char)r->text.p[r->at] : -1;
}

static void skip_blanks(struct reader *r, bool newlines)
{
	int c = next_byte(r);

	while (c == ' ' || c == '\t' || (newlines && c == '\n')) {
		r->at++;
		c = next_byte(r);
	}
}

/* ASCII: isalnum asks the locale. */
static bool is_word_byte(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_bare(int c)
{
	return is_word_byte(c) || (c > 0 && strchr("_-./,:+=@%^]!", c));
}

static bool ends_word(int c)
{
	return c < 0 || strchr(" \t\n;|&", c);
}

static const char *why_not_bare(int c)
{
	switch (c) {
	case '$':
	case '`':
		return "a substitution";
	case '<':
	case '>':
		return "a redirection";
	case '(':
	case ')':
		return "a subshell or function";
	case '{':
	case '}':
		return "a brace";
	case '*':
	case '?':
	case '[':
		return "a glob";
	case '#':
		return "a comment";
	case '\\':
		return "a backslash";
	case '~':
		return "a tilde";
	}
	return "a character that has to stand in quotes";
}

/* From the byte after the quote to the one that ends it. */
static int read_quoted(struct reader *r, char quote)
{
	r->at++;
	for (int c; (c = next_byte(r)) != quote; r->at++) {
		if (c < 0)
			return doubt(r, "a quote that does not end");
		if (quote == '"' && (c == '$' || c == '`'))
			return doubt(r, "a substitution");
		if (quote == '"' && c == '\\')
			return doubt(r, "a backslash");
		*r->out++ = (char)c;
	}
	r->at++;
	return 0;
}

/* What was written from `word` on is a word. */
static void keep_word(struct reader *r, const char *word)
{
	if (r->count == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 16;
		r->words = xrealloc(r->words, r->cap, sizeof(*r->words));
	}
	r->words[r->count++] = (struct str){word, (size_t)(r->out - word)};
	*r->out++ = '\0';
}

static int read_word(struct reader *r)
{
	const size_t begin = r->at;
	char *const word = r->out;

	for (int c; !ends_word(c = next_byte(r));) {
		if (c == '\'' || c == '"') {
			if (read_quoted(r, (char)c) < 0)
				return -1;
		} else if (is_bare(c) || (c == '#' && r->at > begin)) {
			*r->out++ = (char)c;
			r->at++;
		} else {
			return doubt(r, why_not_bare(c));
		}
	}
	keep_word(r, word);
	return 0;
}

/* "[" alone is a program and no glob. */
static bool at_bracket(const struct reader *r)
{
	return next_byte(r) == '[' && (r->at + 1 == r->text.len || ends_word(r->text.p[r->at + 1]));
}

static void read_bracket(struct reader *r)
{
	const char *const word = r->out;

	*r->out++ = '[';
	r->at++;
	keep_word(r, word);
}

static int check_program(struct reader *r, size_t at, struct str word)
{
	const char *why = NULL;

	for (size_t i = 0; i < word.len; i++)
		if (!is_word_byte((unsigned char)word.p[i]) && !strchr("_-./,:+@", word.p[i]) &&
			!str_is(word, "["))
			why = "a program's name of unusual characters";
	if (word.p[0] == '-' || word.p[0] == '+') /* `sh -c` takes the first one for an option */
		why = "a program's name like an option";
	if (rule_is_variable(word))
		why = "a variable is set";
	else if (word.len == 0)
		why = "a program without a name";
	else if (rule_is_reserved(word))
		why = "a reserved word of the shell";
	else if (rule_is_meddling(word))
		why = "a builtin that may change what follows";
	if (!why)
		return 0;
	r->at = at;
	return doubt(r, why);
}

static int check_command(struct reader *r, size_t at, const struct str *words, size_t count)
{
	if (check_program(r, at, words[0]) < 0)
		return -1;
	if (!str_is(words[0], "test") && !str_is(words[0], "["))
		return 0;
	for (size_t i = 1; i < count; i++) {
		if (str_is(words[i], "-v")) {
			r->at = at;
			return doubt(r, "a test that bash evaluates");
		}
	}
	return 0;
}

static int read_command(struct reader *r, enum rule_join join)
{
	const size_t first = r->count, at = r->at;

	if (ends_word(next_byte(r)))
		return doubt(r, "a command is missing");
	while (!ends_word(next_byte(r))) {
		if (r->count == first && at_bracket(r))
			read_bracket(r);
		else if (read_word(r) < 0)
			return -1;
		skip_blanks(r, false);
	}
	if (check_command(r, at, r->words + first, r->count - first) < 0)
		return -1;
	if (r->command_count == r->command_cap) {
		r->command_cap = r->command_cap ? 2 * r->command_cap : 8;
		r->commands = xrealloc(r->commands, r->command_cap, sizeof(*r->commands));
	}
	r->commands[r->command_count++] = (struct rule_command){
		.words = {NULL, r->count - first},
                  .join = join
        };
	return 0;
}

/* What stands behind a command, and the blanks behind that. */
static int read_join(struct reader *r, enum rule_join *ret)
{
	const int c = next_byte(r);
	const bool twice = r->at + 1 < r->text.len && r->text.p[r->at + 1] == c;

	if (c == '&' && !twice)
		return doubt(r, "a command in the background");
	if (c == '&')
		*ret = RULE_AND;
	else if (c == '|')
		*ret = twice ? RULE_OR : RULE_PIPE;
	else
		*ret = RULE_THEN;
	r->at += (c == '&' || c == '|') && twice ? 2 : 1;
	skip_blanks(r, true);
	return 0;
}

static int check_bytes(struct reader *r)
{
	if (r->text.len > RULE_SCRIPT_MAX_BYTES)
		return doubt(r, "too long");
	for (r->at = 0; r->at < r->text.len; r->at++) {
		const unsigned char c = (unsigned char)r->text.p[r->at];

		if ((c < 0x20 && c != '\t' && c != '\n') || c == 0x7f)
			return doubt(r, "a control character");
	}
	r->at = 0;
	if (!utf8_valid(r->text))
		return doubt(r, "bytes that are not UTF-8");
	return 0;
}

static int read_script(struct reader *r)
{
	enum rule_join join = RULE_FIRST;

	skip_blanks(r, true);
	if (r->at == r->text.len)
		return doubt(r, "no command");
	for (;;) {
		if (read_command(r, join) < 0)
			return -1;
		if (r->at == r->text.len)
			return 0;
		if (read_join(r, &join) < 0)
			return -1;
		if (r->at == r->text.len)
			return join == RULE_THEN ? 0 : doubt(r, "a command is missing");
	}
}

int rule_script_read(
	struct arena *a, struct str script, struct rule_script *ret, struct rule_doubt *ret_doubt)
{
	struct reader r = {.text = script};
	bool plain = false;

	if (check_bytes(&r) == 0) {
		r.out = arena_alloc(a, script.len + 1);
		plain = read_script(&r) == 0;
	}
	if (plain) {
		struct str *words = arena_dup(a, r.words, r.count * sizeof(*r.words));

		ret->commands = arena_dup(a, r.commands, r.command_count * sizeof(*r.commands));
		ret->count = r.command_count;
		for (size_t i = 0; i < ret->count; i++) {
			ret->commands[i].words.items = words;
			words += ret->commands[i].words.count;
		}
	} else {
		*ret_doubt = r.doubt;
	}
	free(r.words);
	free(r.commands);
	return plain;
}

/*
 * Writing.
 */
static bool needs_no_quotes(struct str word)
{
	if (word.len == 0 || word.p[0] == '#')
		return false;
	for (size_t i = 0; i < word.len; i++)
		if (!is_bare((unsigned char)word.p[i]) && word.p[i] != '#')
			return false;
	return true;
}

static void put_word(struct buf *to, struct str word)
{
	char quote = '\0';

	if (needs_no_quotes(word)) {
		(void)buf_put_str(to, word); /* a full buffer says so itself, here and below */
		return;
	}
	if (word.len == 0)
		(void)buf_puts(to, "''");
	for (size_t i = 0; i < word.len; i++) {
		const char wanted = word.p[i] == '\'' ? '"' : '\'';

		if (wanted != quote && quote)
			(void)buf_putc(to, quote);
		if (wanted != quote)
			(void)buf_putc(to, wanted);
		quote = wanted;
		(void)buf_putc(to, word.p[i]);
	}
	if (quote)
		(void)buf_putc(to, quote);
}

void rule_script_put(struct buf *to, const struct rule_script *s)
{
	static const char *const joins[] = {"", "; ", " && ", " || ", " | "};

	for (size_t i = 0; i < s->count; i++) {
		const struct str_list *words = &s->commands[i].words;

		(void)buf_puts(to, joins[s->commands[i].join]);
		for (size_t k = 0; k < words->count; k++) {
			if (k > 0)
				(void)buf_putc(to, ' ');
			put_word(to, words->items[k]);
		}
	}
}
