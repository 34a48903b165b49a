/*
 * fuzz json: what is accepted is written, read and written again with the same values and bytes;
 * what a table accepts is within its bounds; every refusal has a kind and a text fit to be shown.
 */
#include "fuzz/fuzz.h"
#include "json/json.h"

enum {
	OUT_MAX_BYTES = 64 * 1024 * 1024, /* ours: a byte becomes six at most */
	NAME_MAX_BYTES = 8,
	TAGS_MAX = 3,
	TURNS_MAX = 100,
};

struct inner {
	int64_t turns;
};

struct request {
	struct str name, cwd;
	int64_t n;
	bool on;
	int mode;
	struct str_list tags;
	const struct json *data;
	struct inner inner;
};

static const char *const modes[] = {"ask", "auto", NULL};

static const struct json_field inner_fields[] = {
	JSON_I64(struct inner, turns, .required = true, .min = 1, .max = TURNS_MAX),
};

static const struct json_field request_fields[] = {
	JSON_STR(struct request, name, .required = true, .min = 1, .max = NAME_MAX_BYTES),
	JSON_STR(struct request, cwd, .nullable = true, .cstr = true),
	JSON_I64(struct request, n, .min = -TURNS_MAX, .max = TURNS_MAX),
	JSON_BOOL(struct request, on),
	JSON_ENUM(struct request, mode, modes),
	JSON_STRS(struct request, tags, .max = TAGS_MAX, .item_max = NAME_MAX_BYTES),
	JSON_NODE(struct request, data, .nullable = true),
	JSON_OBJ(struct request, inner, inner_fields),
};

static void check_same(const struct json *a, const struct json *b)
{
	must(a->type == b->type && a->count == b->count);
	must(str_eq(a->text, b->text) && str_eq(a->key, b->key));
}

/* Both trees in one walk; as deep as the reader lets them be. */
static void compare(const struct json *a, const struct json *b)
{
	check_same(a, b);
	for (a = a->child, b = b->child; a && b; a = a->next, b = b->next)
		compare(a, b);
	must(!a && !b);
}

static void check_values(const struct json *value, size_t depth)
{
	uint32_t count = 0;

	must(depth <= JSON_DEPTH_MAX);
	if (value->type == JSON_STRING)
		must(utf8_valid(value->text) && value->text.p[value->text.len] == '\0');
	json_for_each (item, value) {
		must(value->type == JSON_ARRAY || value->type == JSON_OBJECT);
		must((item->key.p != NULL) == (value->type == JSON_OBJECT));
		count++;
		check_values(item, depth + 1);
	}
	must(count == value->count);
}

static void check_decoded(const struct request *r, uint64_t seen)
{
	must(r->name.len >= 1 && r->name.len <= NAME_MAX_BYTES);
	must(!r->cwd.p || strlen(r->cwd.p) == r->cwd.len);
	must(r->n >= -TURNS_MAX && r->n <= TURNS_MAX);
	must(r->mode == 0 || r->mode == 1);
	must(r->tags.count <= TAGS_MAX);
	for (size_t i = 0; i < r->tags.count; i++)
		must(r->tags.items[i].p && r->tags.items[i].len <= NAME_MAX_BYTES);
	must((seen & 1) && seen < UINT64_C(1) << ARRAY_LEN(request_fields));
	if (seen >> 7 & 1)
		must(r->inner.turns >= 1 && r->inner.turns <= TURNS_MAX);
}

static void decode(struct arena *a, const struct json *root)
{
	static const char *const skip[] = {"id", NULL};
	static const struct json_table table = {
		request_fields, ARRAY_LEN(request_fields), "x", skip};
	struct request r = {.mode = 0};
	struct error err = ERROR_INIT;
	uint64_t seen = 0;

	if (json_decode(a, root, &table, &r, &seen, &err) == 0) {
		check_decoded(&r, seen);
		return;
	}
	must(error_is(&err, &JSON_FIELD));
	must(err.text[0] == 'x' && (err.text[1] == '.' || err.text[1] == ':'));
	fuzz_check_error(&err);
}

static void write_tree(const struct json *root, struct buf *out)
{
	struct json_out j = JSON_OUT(out);

	json_put(&j, NULL, root);
	must(!out->full);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(arena) struct arena a = {NULL};
	_cleanup_(buf) struct buf first = BUF_INIT(OUT_MAX_BYTES), second = BUF_INIT(OUT_MAX_BYTES);
	const struct json *root, *again;
	struct error err = ERROR_INIT;

	if (json_parse(&a, fuzz_str(data, size), &root, &err) < 0) {
		must(error_is(&err, &JSON_SYNTAX) || error_is(&err, &JSON_LIMIT));
		fuzz_check_error(&err);
		return 0;
	}
	must(utf8_valid(fuzz_str(data, size)));
	check_values(root, 0);
	decode(&a, root);
	write_tree(root, &first);
	must(json_parse(&a, buf_str(&first), &again, NULL) == 0);
	compare(root, again);
	write_tree(again, &second);
	must(str_eq(buf_str(&first), buf_str(&second)));
	return 0;
}
