/* file: the language of `.rules` files, whose grammar stands in rule.h. */
#include "rule/internal.h"

enum {
	LIST_MAX = RULE_ALTERNATIVES_MAX, /* examples and paths are as many at most */
};
_Static_assert(
	RULE_EXAMPLES_MAX <= RULE_ALTERNATIVES_MAX && RULE_PATTERN_MAX <= RULE_ALTERNATIVES_MAX,
	"the longest list that is allowed");

enum token {
	END,
	NEWLINE,
	NAME,
	STRING,
	OTHER, /* one character */
};

struct parser {
	struct rules *r;
	struct arena a; /* of one statement */
	const char *name;
	struct str text;
	size_t at;
	uint32_t line;
	enum token token;
	struct str value; /* a name, what a string means, or the character */
	struct error *err;
};

static int fail(struct parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int fail(struct parser *p, const char *format, ...)
{
	va_list args;
	_cleanup_(mem) char *text = NULL;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	return error_set(p->err, &RULES_UNREADABLE, "%s:%u: %s", p->name, p->line, text);
}

static int peek(const struct parser *p)
{
	return p->at < p->text.len ? (unsigned char)p->text.p[p->at] : -1;
}

static bool is_name(int c, bool first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (!first && c >= '0' && c <= '9');
}

/*
 * Tokens.
 */
static int read_escape(struct parser *p, struct buf *to)
{
	static const char letters[] = "\\\"'nt", meant[] = "\\\"'\n\t";
	const int c = peek(p);
	const char *letter = c > 0 ? strchr(letters, c) : NULL;

	if (!letter)
		return fail(p, "a string has an escape other than \\\\ \\\" \\' \\n and \\t");
	p->at++;
	return buf_putc(to, meant[letter - letters]);
}

static int read_string(struct parser *p)
{
	_cleanup_(buf) struct buf to = BUF_INIT(RULES_FILE_MAX_BYTES);
	const int quote = peek(p);
	int c;

	p->at++;
	while ((c = peek(p)) != quote) {
		if (c < 0 || c == '\n' || c == '\r')
			return fail(p, "a string that does not end on its line");
		p->at++;
		if (c == '\\' ? read_escape(p, &to) < 0 : buf_putc(&to, (char)c) < 0)
			return -1;
	}
	p->at++;
	p->token = STRING;
	p->value = (struct str){arena_strndup(&p->a, buf_str(&to).p, to.len), to.len};
	return 0;
}

static void skip_space(struct parser *p)
{
	int c;

	while ((c = peek(p)) == ' ' || c == '\t' || c == '\r')
		p->at++;
	if (c == '#')
		while ((c = peek(p)) >= 0 && c != '\n')
			p->at++;
}

static int next(struct parser *p)
{
	const size_t begin = (skip_space(p), p->at);
	const int c = peek(p);

	if (c == '"' || c == '\'')
		return read_string(p);
	p->token = c < 0 ? END : c == '\n' ? NEWLINE : is_name(c, true) ? NAME : OTHER;
	while (p->token == NAME && is_name(peek(p), false))
		p->at++;
	if (p->token == NEWLINE || p->token == OTHER)
		p->at++;
	p->value = (struct str){p->text.p + begin, p->at - begin};
	return 0;
}

/* The next token in parentheses, where a newline is a blank. */
static int next_inside(struct parser *p)
{
	do {
		if (p->token == NEWLINE)
			p->line++;
		if (next(p) < 0)
			return -1;
	} while (p->token == NEWLINE);
	return 0;
}

static bool is_char(const struct parser *p, const char *c)
{
	return p->token == OTHER && str_is(p->value, c);
}

static int fail_token(struct parser *p, const char *wanted)
{
	if (p->token == END)
		return fail(p, "the file ends where %s is expected", wanted);
	if (p->token == STRING)
		return fail(p, "a string where %s is expected", wanted);
	return fail(p, "'%.*s' where %s is expected", STR_ARG(str_cut(p->value, 40)), wanted);
}

static int expect(struct parser *p, const char *c)
{
	_cleanup_(mem) char *wanted = NULL;

	if (is_char(p, c))
		return next_inside(p);
	wanted = xasprintf("'%s'", c);
	return fail_token(p, wanted);
}

/*
 * Values.
 */
struct value {
	bool is_list;
	struct str text;
	struct value *items;
	size_t count;
	uint32_t line;
};

static int read_value(struct parser *p, int depth, struct value *ret);

static int read_items(struct parser *p, int depth, struct value *list)
{
	struct value items[LIST_MAX];
	size_t n = 0;

	for (; !is_char(p, "]"); n++) {
		if (n == LIST_MAX)
			return error_set(p->err, &RULES_LIMIT,
				"%s:%u: more than %d items in a list", p->name, p->line, LIST_MAX);
		if (read_value(p, depth, &items[n]) < 0)
			return -1;
		if (is_char(p, "]"))
			continue;
		if (expect(p, ",") < 0)
			return -1;
	}
	list->items = arena_dup(&p->a, items, n * sizeof(*items));
	list->count = n;
	return next_inside(p);
}

/* A string, or a list of values with `depth` more lists in it at most. */
static int read_value(struct parser *p, int depth, struct value *ret)
{
	*ret = (struct value){.line = p->line};
	if (p->token == STRING) {
		ret->text = p->value;
		return next_inside(p);
	}
	if (depth == 0)
		return fail_token(p, "a string");
	if (!is_char(p, "["))
		return fail_token(p, "a string or a list");
	ret->is_list = true;
	return next_inside(p) < 0 ? -1 : read_items(p, depth - 1, ret);
}

/* The named arguments of a call: each at most once. What was not given is absent. */
struct argument {
	const char *name;
	int depth; /* of lists in it; 0: a string */
	bool required;
	bool given;
	struct value value;
};

static int read_argument(struct parser *p, const char *call, struct argument *args, size_t count)
{
	size_t i = 0;

	if (p->token != NAME)
		return fail_token(p, "the name of an argument");
	while (i < count && !str_is(p->value, args[i].name))
		i++;
	if (i == count)
		return fail(p, "%s has no argument '%.*s'", call, STR_ARG(str_cut(p->value, 40)));
	if (args[i].given)
		return fail(p, "%s is given a second time", args[i].name);
	args[i].given = true;
	if (next_inside(p) < 0 || expect(p, "=") < 0 ||
		read_value(p, args[i].depth, &args[i].value) < 0)
		return -1;
	if (args[i].depth > 0 && !args[i].value.is_list)
		return fail(p, "%s is not a list", args[i].name);
	return 0;
}

/* From the '(' to the ')', which is left as the token. */
static int read_arguments(struct parser *p, const char *call, struct argument *args, size_t count)
{
	if (next(p) < 0 || expect(p, "(") < 0)
		return -1;
	while (!is_char(p, ")")) {
		if (read_argument(p, call, args, count) < 0)
			return -1;
		if (!is_char(p, ")") && expect(p, ",") < 0)
			return -1;
	}
	for (size_t i = 0; i < count; i++)
		if (args[i].required && !args[i].given)
			return fail(p, "%s without %s", call, args[i].name);
	return 0;
}

/*
 * prefix_rule.
 */
enum { PATTERN, DECISION, JUSTIFICATION, MATCH, NOT_MATCH, ARGUMENTS };

static int fail_at(struct parser *p, uint32_t line, const char *wrong)
{
	p->line = line;
	return fail(p, "%s", wrong);
}

static int take_words(struct parser *p, const struct value *v, struct str_list *ret)
{
	const struct value *items = v->is_list ? v->items : v;
	const char *wrong;

	ret->count = v->is_list ? v->count : 1;
	ret->items = arena_alloc(&p->a, ret->count * sizeof(*ret->items));
	if (ret->count == 0)
		return fail_at(p, v->line, "an empty list");
	for (size_t i = 0; i < ret->count; i++) {
		wrong = rule_check_word(items[i].text);
		if (wrong)
			return fail_at(p, items[i].line, wrong);
		ret->items[i] = items[i].text;
	}
	return 0;
}

static int take_pattern(struct parser *p, const struct value *v, struct rule_draft *d)
{
	if (v->count == 0)
		return fail_at(p, v->line, "pattern is an empty list");
	if (v->count > RULE_PATTERN_MAX)
		return error_set(p->err, &RULES_LIMIT, "%s:%u: pattern has more than %d elements",
			p->name, v->line, RULE_PATTERN_MAX);
	for (; d->length < v->count; d->length++)
		if (take_words(p, &v->items[d->length], &d->pattern[d->length]) < 0)
			return -1;
	return 0;
}

static int take_decision(struct parser *p, const struct argument *a, struct rule_draft *d)
{
	d->decision = RULE_ALLOW;
	if (!a->given)
		return 0;
	while (d->decision <= RULE_FORBIDDEN &&
		!str_is(a->value.text, rule_decision_names[d->decision]))
		d->decision++;
	if (d->decision > RULE_FORBIDDEN)
		return fail_at(p, a->value.line, "decision is none of allow, prompt and forbidden");
	return 0;
}

/* An example's words: given as such, or as the plain script of one command. */
static int take_example(struct parser *p, const struct value *v, struct str_list *ret)
{
	struct rule_script script;
	struct rule_doubt doubt;

	if (v->is_list)
		return take_words(p, v, ret);
	p->line = v->line;
	if (!rule_script_read(&p->a, v->text, &script, &doubt))
		return fail(
			p, "an example is no plain script: %s at byte %zu", doubt.why, doubt.at);
	if (script.count != 1)
		return fail(p, "an example of %zu commands", script.count);
	*ret = script.commands[0].words;
	return 0;
}

static int check_examples(
	struct parser *p, const struct argument *a, const struct rule *rule, bool matching)
{
	for (size_t i = 0; a->given && i < a->value.count; i++) {
		struct str_list words;

		if (take_example(p, &a->value.items[i], &words) < 0)
			return -1;
		if (rule_matches_exactly(rule, &words) != matching)
			return fail_at(p, a->value.items[i].line,
				matching ? "an example of match that the rule does not match"
					 : "an example of not_match that the rule matches");
	}
	return 0;
}

static int read_prefix_rule(struct parser *p)
{
	struct argument args[ARGUMENTS] = {
		[PATTERN] = {"pattern",       2, true,  false, {.count = 0}},
		[DECISION] = {"decision",      0, false, false, {.count = 0}},
		[JUSTIFICATION] = {"justification", 0, false, false, {.count = 0}},
		[MATCH] = {"match",         2, false, false, {.count = 0}},
		[NOT_MATCH] = {"not_match",     2, false, false, {.count = 0}},
	};
	struct rule_draft d = {.file = str_from(p->name), .line = p->line};
	const char *wrong;
	uint32_t last;

	if (read_arguments(p, "prefix_rule", args, ARGUMENTS) < 0)
		return -1;
	last = p->line;
	d.justification = args[JUSTIFICATION].value.text;
	wrong = rule_check_justification(d.justification);
	if (wrong)
		return fail_at(p, args[JUSTIFICATION].value.line, wrong);
	if (take_pattern(p, &args[PATTERN].value, &d) < 0 ||
		take_decision(p, &args[DECISION], &d) < 0)
		return -1;
	if (rules_add(p->r, &d, p->err) < 0)
		return error_prefix(p->err, "%s:%u", p->name, d.line);
	if (check_examples(p, &args[MATCH], &p->r->items[p->r->count - 1], true) < 0 ||
		check_examples(p, &args[NOT_MATCH], &p->r->items[p->r->count - 1], false) < 0)
		return -1;
	p->line = last;
	return 0;
}

/* It says which paths may stand for a name. No path does here, so that nothing hangs on it. */
static int read_host_executable(struct parser *p)
{
	struct argument args[] = {
		{"name",  0, true, false, {.count = 0}},
		{"paths", 1, true, false, {.count = 0}},
	};
	struct str_list words;

	if (read_arguments(p, "host_executable", args, ARRAY_LEN(args)) < 0)
		return -1;
	if (take_words(p, &args[0].value, &words) < 0)
		return -1;
	if (memchr(words.items[0].p, '/', words.items[0].len))
		return fail_at(p, args[0].value.line, "name is a path");
	if (args[1].value.count > 0 && take_words(p, &args[1].value, &words) < 0)
		return -1;
	for (size_t i = 0; i < args[1].value.count; i++)
		if (args[1].value.items[i].text.p[0] != '/')
			return fail_at(
				p, args[1].value.items[i].line, "a path that is not absolute");
	return 0;
}

/*
 * Files.
 */
static int read_statement(struct parser *p)
{
	int rc;

	if (str_is(p->value, "prefix_rule"))
		rc = read_prefix_rule(p);
	else if (str_is(p->value, "host_executable"))
		rc = read_host_executable(p);
	else
		return fail(p, "'%.*s' is neither prefix_rule nor host_executable",
			STR_ARG(str_cut(p->value, 40)));
	if (rc < 0 || next(p) < 0)
		return -1;
	if (p->token != NEWLINE && p->token != END)
		return fail_token(p, "the end of the line");
	return 0;
}

static int read_file(struct parser *p)
{
	do {
		const size_t begin = p->at;

		if (next(p) < 0)
			return -1;
		if (p->token == NAME && p->value.p != p->text.p + begin)
			return fail(p, "blanks before a call");
		if (p->token == NAME && read_statement(p) < 0)
			return -1;
		if (p->token != NEWLINE && p->token != END)
			return fail_token(p, "a call");
		if (p->token == NEWLINE)
			p->line++;
		arena_release(&p->a);
	} while (p->token != END);
	return 0;
}

/* Bytes that an editor does not show. Lines may end in CR LF. */
static int check_bytes(struct parser *p)
{
	for (; p->at < p->text.len; p->at++) {
		const int c = peek(p);

		if ((c < 0x20 && !strchr("\t\n\r", c)) || c == 0x7f || c == 0)
			return fail(p, "a control character");
		if (c == '\r' && (p->at + 1 == p->text.len || p->text.p[p->at + 1] != '\n'))
			return fail(p, "a carriage return within a line");
		p->line += c == '\n';
	}
	p->at = 0;
	p->line = 1;
	if (!utf8_valid(p->text))
		return fail(p, "the file is not UTF-8");
	return 0;
}

int rules_read_text(struct rules *r, const char *name, struct str text, struct error *err)
{
	struct parser p = {.r = r, .name = name, .text = text, .line = 1, .err = err};
	int rc;

	if (text.len > RULES_FILE_MAX_BYTES)
		return error_set(
			err, &RULES_LIMIT, "%s: over %d bytes", name, RULES_FILE_MAX_BYTES);
	rc = check_bytes(&p) < 0 || read_file(&p) < 0 ? -1 : 0;
	arena_release(&p.a);
	return rc;
}
