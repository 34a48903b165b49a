/*
 * json reader: one pass over a copy of the text, without recursion.
 *
 * The copy lies in the arena; strings are decoded where they stand and numbers are slices of it, so
 * a value costs one node and no text. What an opening bracket needs remembered is a frame of a
 * fixed stack.
 */
#include "json/internal.h"

const struct error_kind JSON_SYNTAX = {"invalid_json", ERROR_CLASS_USAGE};
const struct error_kind JSON_LIMIT = {"json_limit", ERROR_CLASS_LIMIT};
const struct error_kind JSON_FIELD = {"invalid_field", ERROR_CLASS_USAGE};

enum {
	SLAB_NODES_MIN = 8,       /* ours: a short request in one allocation */
	SLAB_NODES_MAX = 512,     /* ours: 28 KiB; what a document leaves unused is below that */
	BYTES_PER_NODE_GUESS = 8, /* ours: of text, in the requests and streams measured */
	KEY_SHOWN_MAX_BYTES = 64, /* ours: of a key in an error's text */
};

struct frame {
	struct json *container;
	struct json *last; /* its newest item or member */
};

struct parser {
	struct arena *arena;
	char *start, *at, *end; /* *end is a NUL */
	struct json *slab;
	size_t slab_left;
	uint32_t nodes, depth;
	struct frame stack[JSON_DEPTH_MAX];
	struct error *err;
};

static int fail_at(struct parser *ps, const char *at, const char *what)
{
	return error_set(ps->err, &JSON_SYNTAX, "%s at byte %zu", what, (size_t)(at - ps->start));
}

static int fail(struct parser *ps, const char *what)
{
	if (ps->at == ps->end)
		return error_set(ps->err, &JSON_SYNTAX, "the text ends at byte %zu with %s",
			(size_t)(ps->end - ps->start), what);
	return fail_at(ps, ps->at, what);
}

static inline void skip_blanks(struct parser *ps)
{
	while (*ps->at == ' ' || *ps->at == '\n' || *ps->at == '\t' || *ps->at == '\r')
		ps->at++;
}

static struct json *new_node(struct parser *ps)
{
	if (ps->nodes == JSON_NODES_MAX) {
		(void)error_set(ps->err, &JSON_LIMIT, "more than %d values", JSON_NODES_MAX);
		return NULL;
	}
	ps->nodes++;
	if (ps->slab_left == 0) {
		size_t guess = (size_t)(ps->end - ps->at) / BYTES_PER_NODE_GUESS;

		if (guess < SLAB_NODES_MIN)
			guess = SLAB_NODES_MIN;
		ps->slab_left = guess < SLAB_NODES_MAX ? guess : SLAB_NODES_MAX;
		ps->slab = arena_alloc(ps->arena, ps->slab_left * sizeof(*ps->slab));
	}
	ps->slab_left--;
	return ps->slab++;
}

/* A new value at the end of the innermost container, or the root. */
static struct json *add_node(struct parser *ps)
{
	struct json *node = new_node(ps);
	struct frame *top;

	if (!node || ps->depth == 0)
		return node;
	top = &ps->stack[ps->depth - 1];
	if (top->last)
		top->last->next = node;
	else
		top->container->child = node;
	top->last = node;
	top->container->count++;
	return node;
}

static int read_string(struct parser *ps, struct str *ret)
{
	char *after;
	const char *wrong = json_unquote(ps->at + 1, ps->end, ret, &after);

	ps->at = after;
	return wrong ? fail(ps, wrong) : 0;
}

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* At least one digit, then all there are. */
static int skip_digits(struct parser *ps)
{
	if (!is_digit(*ps->at))
		return fail(ps, "a number without a digit where one belongs");
	while (is_digit(*ps->at))
		ps->at++;
	return 0;
}

static int read_number(struct parser *ps, struct json *node)
{
	const char *first = ps->at;

	node->type = JSON_NUMBER;
	if (*ps->at == '-')
		ps->at++;
	if (*ps->at == '0' && is_digit(ps->at[1]))
		return fail(ps, "a number with a leading zero");
	if (skip_digits(ps) < 0)
		return -1;
	if (*ps->at == '.') {
		ps->at++;
		if (skip_digits(ps) < 0)
			return -1;
	}
	if (*ps->at == 'e' || *ps->at == 'E') {
		ps->at++;
		if (*ps->at == '+' || *ps->at == '-')
			ps->at++;
		if (skip_digits(ps) < 0)
			return -1;
	}
	node->text = (struct str){first, (size_t)(ps->at - first)};
	return 0;
}

static int read_word(struct parser *ps, struct json *node, struct str word, enum json_type type)
{
	if ((size_t)(ps->end - ps->at) < word.len || memcmp(ps->at, word.p, word.len) != 0)
		return fail(ps, "something that is no value");
	ps->at += word.len;
	node->type = type;
	return 0;
}

static int open_container(struct parser *ps, struct json *node, enum json_type type)
{
	if (ps->depth == JSON_DEPTH_MAX)
		return error_set(ps->err, &JSON_LIMIT, "more than %d levels deep at byte %zu",
			JSON_DEPTH_MAX, (size_t)(ps->at - ps->start));
	node->type = type;
	ps->stack[ps->depth++] = (struct frame){.container = node};
	ps->at++;
	return 0;
}

static int read_value(struct parser *ps, struct json *node)
{
	switch (*ps->at) {
	case '"':
		node->type = JSON_STRING;
		return read_string(ps, &node->text);
	case '{':
		return open_container(ps, node, JSON_OBJECT);
	case '[':
		return open_container(ps, node, JSON_ARRAY);
	case 't':
		return read_word(ps, node, STR("true"), JSON_TRUE);
	case 'f':
		return read_word(ps, node, STR("false"), JSON_FALSE);
	case 'n':
		return read_word(ps, node, STR("null"), JSON_NULL);
	default:
		if (*ps->at == '-' || is_digit(*ps->at))
			return read_number(ps, node);
		return fail(ps, "no value where one belongs");
	}
}

static int read_key(struct parser *ps, struct json *member)
{
	if (*ps->at != '"')
		return fail(ps, "no key in quotes where one belongs");
	if (read_string(ps, &member->key) < 0)
		return -1;
	skip_blanks(ps);
	if (*ps->at != ':')
		return fail(ps, "no ':' after a key");
	ps->at++;
	skip_blanks(ps);
	return 0;
}

static int close_container(struct parser *ps)
{
	const struct json *container = ps->stack[ps->depth - 1].container;
	const struct json *twice;
	struct str shown;

	ps->at++;
	ps->depth--;
	if (container->type == JSON_ARRAY)
		return 0;
	twice = json_find_duplicate(container);
	if (!twice)
		return 0;
	shown = str_cut(twice->key, KEY_SHOWN_MAX_BYTES);
	return error_set(ps->err, &JSON_SYNTAX, "the key '" STR_FMT "' a second time at byte %zu",
		STR_ARG(shown), (size_t)(twice->key.p - ps->start) - 1);
}

/* One item or member of the innermost container, or its end. */
static int read_next(struct parser *ps)
{
	const struct frame *top = &ps->stack[ps->depth - 1];
	const bool object = top->container->type == JSON_OBJECT;
	struct json *node;

	skip_blanks(ps);
	if (*ps->at == (object ? '}' : ']'))
		return close_container(ps);
	if (top->last) {
		if (*ps->at != ',')
			return fail(ps, object ? "no ',' or '}' after a member"
					       : "no ',' or ']' after an item");
		ps->at++;
		skip_blanks(ps);
	}
	node = add_node(ps);
	if (!node || (object && read_key(ps, node) < 0))
		return -1;
	return read_value(ps, node);
}

static int read_document(struct parser *ps, const struct json **ret)
{
	struct json *root;

	if ((size_t)(ps->end - ps->start) >= 3 && memcmp(ps->at, "\xef\xbb\xbf", 3) == 0)
		return fail(ps, "a byte order mark");
	skip_blanks(ps);
	root = add_node(ps);
	if (!root || read_value(ps, root) < 0)
		return -1;
	while (ps->depth > 0) {
		if (read_next(ps) < 0)
			return -1;
	}
	skip_blanks(ps);
	if (ps->at != ps->end)
		return fail(ps, "text after the value");
	*ret = root;
	return 0;
}

int json_parse(struct arena *a, struct str text, const struct json **ret, struct error *err)
{
	struct parser ps;

	if (text.len > JSON_BYTES_MAX)
		return error_set(err, &JSON_LIMIT, "%zu bytes of JSON are over %d", text.len,
			JSON_BYTES_MAX);
	ps.arena = a;
	ps.start = ps.at = arena_alloc(a, text.len + 1);
	ps.end = ps.start + text.len;
	if (text.len > 0)
		memcpy(ps.start, text.p, text.len);
	ps.slab = NULL;
	ps.slab_left = 0;
	ps.nodes = ps.depth = 0; /* the stack needs no initial value */
	ps.err = err;
	return read_document(&ps, ret);
}
