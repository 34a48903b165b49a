/*
 * fuzz toml: whatever is read is JSON that is read back as the same, with each value in a line that
 * the text has.
 */
#include "fuzz/fuzz.h"
#include "toml/toml.h"

enum { OUT_MAX_BYTES = 16 << 20 };

static void check_lines(const struct json *value, uint32_t lines)
{
	must(toml_line(value) <= lines);
	json_for_each (item, value)
		check_lines(item, lines);
}

static void check_same(const struct json *x, const struct json *y)
{
	const struct json *b = y->child;

	must(x->type == y->type && x->count == y->count);
	must(str_eq(x->text, y->text) && str_eq(x->key, y->key));
	json_for_each (a, x) {
		check_same(a, b);
		b = b->next;
	}
	must(!b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	_cleanup_(buf) struct buf out = BUF_INIT(OUT_MAX_BYTES);
	struct json_out j = JSON_OUT(&out);
	const struct str text = {(const char *)data, size};
	const struct json *doc, *again;
	uint32_t lines = 1;

	if (toml_parse(&a, text, &doc, NULL) < 0)
		return 0;
	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	check_lines(doc, lines);
	json_put(&j, NULL, doc);
	must(!out.full);
	must(json_parse(&a, buf_str(&out), &again, NULL) == 0);
	check_same(doc, again);
	return 0;
}
