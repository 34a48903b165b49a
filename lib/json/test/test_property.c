/*
 * json against a second opinion: thousands of generated documents, whole and damaged, are accepted
 * or refused alike, and what is written back means the same. The seeds are fixed, so a failure
 * repeats.
 */
#include "testing.h"
#include "json/json.h"
#include "json/test/oracle.h"

enum {
	DOCUMENTS = 3000,
	DAMAGES = 12, /* of each document */
	DOC_MAX_BYTES = 65536,
};

MEM_CLEANUP(oracle, struct oracle_doc *, oracle_free)

static uint64_t random_state;

static uint32_t random_below(uint32_t n) /* xorshift */
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 33) % n;
}

static const char *pick(const char *const *from, uint32_t count)
{
	return from[random_below(count)];
}
#define PICK(array) pick(array, ARRAY_LEN(array))

static void generate_blanks(struct buf *b)
{
	static const char *const blanks[] = {"", "", "", "", " ", "\n", "\t", "\r\n  "};

	(void)buf_puts(b, PICK(blanks));
}

static void generate_string(struct buf *b)
{
	static const char *const pieces[] = {"a", "z", "0", " ", "/", "\\\"", "\\\\", "\\/", "\\b",
		"\\f", "\\n", "\\r", "\\t", "\\u0000", "\\u001f", "\\u0041", "\\u00e9", "\\u20AC",
		"\\uD83D\\uDE00", "\x7f", "\xc3\xa9", "\xe2\x82\xac", "\xef\xbf\xbf",
		"\xf0\x9f\x98\x80", "a plain run of some length", "{", "]", ":", ","};
	uint32_t count = random_below(12);

	(void)buf_putc(b, '"');
	while (count-- > 0)
		(void)buf_puts(b, PICK(pieces));
	(void)buf_putc(b, '"');
}

static void generate_number(struct buf *b)
{
	static const char *const numbers[] = {"0", "-0", "1", "-1", "42", "0.1", "-0.0", "1e5",
		"1E-5", "1.5e+300", "9007199254740993", "9223372036854775807",
		"-9223372036854775809", "18446744073709551616", "123456789012345678901234567890",
		"0.30000000000000004", "5e-324", "1e400", "-1e999"};

	(void)buf_puts(b, PICK(numbers));
}

/* Keys mostly differ; now and then one stands twice. */
static void generate_key(struct buf *b, uint32_t index)
{
	if (random_below(40) == 0)
		(void)buf_puts(b, "\"k0\"");
	else if (random_below(8) == 0)
		generate_string(b);
	else
		(void)buf_printf(b, "\"k%u\"", index);
}

static void generate_value(struct buf *b, int depth)
{
	static const char *const words[] = {"null", "true", "false"};
	const uint32_t sort = random_below(depth > 0 ? 10 : 6);
	const bool object = sort >= 8;
	uint32_t count = random_below(60) == 0 ? 40 : random_below(6);

	generate_blanks(b);
	if (sort < 2) {
		generate_number(b);
	} else if (sort < 4) {
		generate_string(b);
	} else if (sort < 6) {
		(void)buf_puts(b, PICK(words));
	} else {
		(void)buf_putc(b, object ? '{' : '[');
		for (uint32_t i = 0; i < count; i++) {
			if (i > 0)
				(void)buf_putc(b, ',');
			generate_blanks(b);
			if (object) {
				generate_key(b, i);
				generate_blanks(b);
				(void)buf_putc(b, ':');
			}
			generate_value(b, depth - 1);
		}
		generate_blanks(b);
		(void)buf_putc(b, object ? '}' : ']');
	}
	generate_blanks(b);
}

static void write_back(const struct json *root, struct buf *out)
{
	struct json_out j = JSON_OUT(out);

	json_put(&j, NULL, root);
	assert_false(out->full);
}

static void show(const char *what, struct str text, const struct error *err)
{
	_cleanup_(buf) struct buf b = BUF_INIT(1024 * 1024);

	(void)text_put_line(&b, text);
	fail_msg("%s (%s): %s", what, err->text, b.data);
}

/* What we wrote means what was read, to both readers, and is written once more in the same bytes.
 */
static void check_written(struct str text, const struct json *root, const struct oracle_doc *theirs)
{
	_cleanup_(arena) struct arena a = {NULL};
	_cleanup_(buf) struct buf out = BUF_INIT(1024 * 1024), again = BUF_INIT(1024 * 1024);
	_cleanup_(oracle) struct oracle_doc *back = NULL;
	struct error err = ERROR_INIT;

	write_back(root, &out);
	if (json_parse(&a, buf_str(&out), &root, &err) < 0)
		show("what was written is refused", buf_str(&out), &err);
	write_back(root, &again);
	if (!str_eq(buf_str(&out), buf_str(&again)))
		show("written twice it differs", text, &err);
	if (!theirs)
		return;
	if (oracle_parse(out.data, out.len, &back) != ORACLE_ACCEPTED)
		show("the oracle refuses what was written", buf_str(&out), &err);
	if (!oracle_equal(theirs, back))
		show("it means something else", text, &err);
}

/* The oracle's own spelling of the document is read as the same document. */
static void check_respelled(struct str text, const struct oracle_doc *theirs)
{
	_cleanup_(arena) struct arena a = {NULL};
	_cleanup_(buf) struct buf out = BUF_INIT(1024 * 1024);
	_cleanup_(oracle) struct oracle_doc *back = NULL;
	_cleanup_(mem) char *ascii = oracle_write_ascii(theirs);
	const struct json *root;
	struct error err = ERROR_INIT;

	assert_non_null(ascii);
	if (json_parse(&a, str_from(ascii), &root, &err) < 0)
		show("the oracle's spelling is refused", str_from(ascii), &err);
	write_back(root, &out);
	if (oracle_parse(out.data, out.len, &back) != ORACLE_ACCEPTED ||
		!oracle_equal(theirs, back))
		show("the oracle's spelling means something else", text, &err);
}

/* Returns whether it was accepted. */
static bool check_document(struct str text)
{
	_cleanup_(arena) struct arena a = {NULL};
	_cleanup_(oracle) struct oracle_doc *theirs = NULL;
	const struct json *root;
	struct error err = ERROR_INIT;
	const int ours = json_parse(&a, text, &root, &err);
	const enum oracle_answer answer = oracle_parse(text.p, text.len, &theirs);

	if (ours < 0 && answer == ORACLE_ACCEPTED)
		show("refused, and the oracle accepts it", text, &err);
	if (ours == 0 && answer == ORACLE_REFUSED)
		show("accepted, and the oracle refuses it", text, &err);
	if (ours == 0)
		check_written(text, root, theirs);
	if (theirs)
		check_respelled(text, theirs);
	return ours == 0;
}

static void damage(struct buf *b)
{
	static const char bytes[] =
		"\"\\{}[]:,0123456789eE+-. \n\tutfn\x01\x7f\x80\xbf\xc0\xc3\xe2\xed\xf0\xf4\xff";
	const size_t at = random_below((uint32_t)b->len);
	const char byte = bytes[random_below(sizeof(bytes))]; /* the NUL too */

	switch (random_below(4)) {
	case 0:
		b->data[at] = byte;
		break;
	case 1:
		memmove(b->data + at, b->data + at + 1, b->len - at); /* with the NUL */
		b->len--;
		break;
	case 2:
		if (buf_putc(b, ' ') == 0) {
			memmove(b->data + at + 1, b->data + at, b->len - at - 1);
			b->data[at] = byte;
		}
		break;
	default:
		b->len = at;
		b->data[at] = '\0';
	}
}

static void documents_are_read_as_by_the_oracle(void **state)
{
	size_t accepted = 0, refused = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= DOCUMENTS; seed++) {
		_cleanup_(buf) struct buf b = BUF_INIT(DOC_MAX_BYTES);

		random_state = seed * 0x9e3779b97f4a7c15u;
		generate_value(&b, 5);
		if (b.full)
			continue;
		accepted += check_document(buf_str(&b));
		for (int i = 0; i < DAMAGES && b.len > 0; i++) {
			damage(&b);
			refused += !check_document(buf_str(&b));
		}
	}
	/* Otherwise the generator proves nothing. */
	assert_true(accepted > DOCUMENTS / 2);
	assert_true(refused > DOCUMENTS);
}

/* Compact text without escapes comes back byte for byte, numbers in every spelling. */
static void compact_text_comes_back_byte_for_byte(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= DOCUMENTS; seed++) {
		_cleanup_(arena) struct arena a = {NULL};
		_cleanup_(buf) struct buf b = BUF_INIT(DOC_MAX_BYTES),
					  out = BUF_INIT(DOC_MAX_BYTES);
		const struct json *root;
		struct error err = ERROR_INIT;
		uint32_t count = 1 + random_below(20);

		random_state = seed * 0x9e3779b97f4a7c15u;
		(void)buf_putc(&b, '[');
		for (uint32_t i = 0; i < count; i++) {
			(void)buf_puts(&b, i ? "," : "");
			if (random_below(3) == 0)
				(void)buf_printf(&b, "{\"\xe2\x82\xac%u\":\"x\"}", i);
			else if (random_below(3) == 0)
				(void)buf_printf(&b, "%s%u.%0*u%s%u", random_below(2) ? "-" : "",
					random_below(1000000), 1 + (int)random_below(30),
					random_below(1000), random_below(2) ? "e+" : "E-",
					random_below(100000));
			else
				generate_number(&b);
		}
		(void)buf_putc(&b, ']');
		assert_ok(json_parse(&a, buf_str(&b), &root, &err), &err);
		write_back(root, &out);
		assert_string_equal(out.data, b.data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documents_are_read_as_by_the_oracle),
		cmocka_unit_test(compact_text_comes_back_byte_for_byte),
	};

	return cmocka_run_group_tests_name("json property", tests, NULL, NULL);
}
