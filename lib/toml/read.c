/* The parser's document as json values. */
#include "toml/internal.h"
#include "toml/plain.h"

const struct error_kind TOML_SYNTAX = {"invalid_toml", ERROR_CLASS_USAGE};
const struct error_kind TOML_LIMIT = {"toml_limit", ERROR_CLASS_LIMIT};

struct node {
	struct json value;
	uint32_t line;
};

/* What is open: the value, and where its next child is hung. */
struct level {
	struct node *node;
	const struct json **next;
};

struct build {
	struct arena *a;
	struct level levels[TOML_DEPTH_MAX + 1];
	size_t depth;
	struct node *root;
};

static struct str keep(struct arena *a, const char *p, size_t len)
{
	return (struct str){arena_strndup(a, len > 0 ? p : "", len), len};
}

static struct node *add(struct build *b, const struct toml_place *at, enum json_type type)
{
	struct node *n = arena_alloc(b->a, sizeof(*n));

	*n = (struct node){.value = {.type = type}, .line = at->line};
	if (at->key)
		n->value.key = keep(b->a, at->key, at->key_len);
	if (b->depth == 0) {
		b->root = n;
	} else {
		struct level *in = &b->levels[b->depth - 1];

		*in->next = &n->value;
		in->next = &n->value.next;
		in->node->value.count++;
	}
	return n;
}

static void on_open(void *arg, const struct toml_place *at, bool table)
{
	struct build *b = arg;
	struct node *n = add(b, at, table ? JSON_OBJECT : JSON_ARRAY);

	must(b->depth < ARRAY_LEN(b->levels));
	b->levels[b->depth++] = (struct level){n, &n->value.child};
}

static void on_close(void *arg)
{
	struct build *b = arg;

	b->depth--;
}

static void on_string(void *arg, const struct toml_place *at, const char *p, size_t len)
{
	struct build *b = arg;

	add(b, at, JSON_STRING)->value.text = keep(b->a, p, len);
}

static void on_number(void *arg, const struct toml_place *at, const char *p, size_t len)
{
	struct build *b = arg;

	add(b, at, JSON_NUMBER)->value.text = keep(b->a, p, len);
}

static void on_boolean(void *arg, const struct toml_place *at, bool value)
{
	(void)add(arg, at, value ? JSON_TRUE : JSON_FALSE);
}

static const struct toml_sink sink = {on_open, on_close, on_string, on_number, on_boolean};

int toml_parse(struct arena *a, struct str text, const struct json **ret, struct error *err)
{
	struct build b = {.a = a};
	struct toml_fault fault = {0, 0};

	if (text.len > TOML_BYTES_MAX)
		return error_set(
			err, &TOML_LIMIT, "%zu bytes are over %d", text.len, TOML_BYTES_MAX);
	if (toml_check_bounds(text, err) < 0)
		return -1;
	switch (toml_plain_parse(
		text.len > 0 ? text.p : "", text.len, TOML_DEPTH_MAX, &sink, &b, &fault)) {
	case TOML_PLAIN_OK:
		*ret = &b.root->value;
		return 0;
	case TOML_PLAIN_TOO_DEEP:
		return error_set(err, &TOML_LIMIT, "more than %d tables and arrays in each other",
			TOML_DEPTH_MAX);
	case TOML_PLAIN_SYNTAX:
		break;
	}
	return error_set(err, &TOML_SYNTAX, "line %u, column %u: not understood as TOML",
		fault.line, fault.column);
}

uint32_t toml_line(const struct json *value)
{
	return container_of(value, const struct node, value)->line;
}
