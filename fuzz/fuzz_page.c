/*
 * fuzz page: what a cell makes of a page or a text is clean, within its ceiling, and the same with
 * a lower ceiling as far as that goes; of a text of its own it makes the same once more.
 *
 * Input: a byte (bit 0: HTML; bits 1 and 2: gzip, deflate; bits 3 to 6: the charset), the input.
 */
#include "cell/reading.h"
#include "fuzz/fuzz.h"

enum {
	UNPACK_MAX_BYTES = 64 * 1024, /* ours: small, so that inputs reach it */
	OUTPUT_MAX_BYTES = 256 * 1024,
	LOW_MAX_BYTES = 100,
};

static int read_it(const struct request *q, bool html, size_t most, struct reading *r)
{
	int rc;

	reading_init(r, most);
	rc = html ? read_html(q, r) : read_text(q, r);
	must(rc >= 0 && rc <= CELL_REFUSAL_LAST);
	must(r->text.len <= most && r->title.len <= TITLE_MAX_BYTES);
	must(utf8_valid(buf_str(&r->text)) && cell_text_is_clean(buf_str(&r->text)));
	must(utf8_valid(buf_str(&r->title)) && cell_text_is_clean(buf_str(&r->title)));
	must(rc == 0 || r->text.len == 0);
	return rc;
}

static void check_twice(const struct reading *first)
{
	const struct request again = {.charset = STR("utf-8"),
		.input = buf_str(&first->text),
		.unpack_max_bytes = OUTPUT_MAX_BYTES};
	struct reading r;

	must(read_it(&again, false, OUTPUT_MAX_BYTES, &r) == 0);
	must(str_eq(buf_str(&r.text), buf_str(&first->text)));
	reading_release(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const charsets[16] = {NULL, "utf-8", "utf-16le", "utf-16be", "koi8-r",
		"shift_jis", "euc-jp", "gbk", "big5", "euc-kr", "windows-1255", "x"};
	const unsigned how = size > 0 ? data[0] : 0;
	const size_t head = size > 0 ? 1 : 0;
	const struct request q = {
		.charset = str_from(charsets[how >> 3 & 15]),
		.packed = str_from((how & 2)   ? "gzip"
				   : (how & 4) ? "deflate"
					       : NULL),
		.url = STR("http://host.test/a/b?c"),
		.xml = true,
		.unpack_max_bytes = UNPACK_MAX_BYTES,
		.input = fuzz_str(data + head, size - head),
	};
	struct reading r, low;
	int rc = read_it(&q, how & 1, OUTPUT_MAX_BYTES, &r);

	must(read_it(&q, how & 1, LOW_MAX_BYTES, &low) == rc);
	must(low.text.len <= r.text.len || low.cut);
	must(low.cut || str_eq(buf_str(&low.text), buf_str(&r.text)));
	if (rc == 0)
		check_twice(&r);
	reading_release(&low);
	reading_release(&r);
	return 0;
}
