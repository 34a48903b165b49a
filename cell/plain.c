/*
 * Text of any character set: as UTF-8, its line ends newlines, without what shows in no text.
 */
#include "charset.h"
#include "mem/mem.h"
#include "reading.h"

enum {
	GROWTH = 3,                  /* a byte becomes three at most: U+FFFD and half of the BMP */
	DECLARATION_MAX_BYTES = 256, /* ours: <?xml version="1.0" encoding="…"?> */
};

/* What an XML declaration says of the encoding; absent when it says nothing. */
static struct str declared(struct str bytes)
{
	static const struct str key = {"encoding=", 9};
	struct str head = {
		bytes.p, bytes.len < DECLARATION_MAX_BYTES ? bytes.len : DECLARATION_MAX_BYTES};
	ptrdiff_t end = str_find(head, STR("?>"), 0), at;
	struct str rest, value;

	if (!str_starts(head, STR("<?xml")) || end < 0)
		return (struct str){NULL, 0};
	head.len = (size_t)end;
	at = str_find(head, key, 0);
	if (at < 0 || (size_t)at + key.len + 2 > head.len)
		return (struct str){NULL, 0};
	rest = (struct str){head.p + at + key.len + 1, head.len - (size_t)at - key.len - 1};
	(void)str_next(&rest, head.p[(size_t)at + key.len], &value); /* there is a rest */
	return value;
}

static void put_lines(struct str s, struct reading *r)
{
	for (size_t at = 0, n; at < s.len && !r->cut; at += n) {
		uint32_t point = (unsigned char)s.p[at];

		n = 1;
		if (point >= 0x80)
			n = utf8_decode(s.p + at, s.len - at, &point);
		must(n > 0); /* it was made so */
		if (point == '\r' && !(at + 1 < s.len && s.p[at + 1] == '\n'))
			point = '\n';
		put_point(&r->text, point, &r->cut);
	}
}

int read_text(const struct request *q, struct reading *r)
{
	_cleanup_(buf) struct buf room = BUF_INIT(q->unpack_max_bytes + 1);
	_cleanup_(buf) struct buf utf8 = BUF_INIT(GROWTH * q->unpack_max_bytes + GROWTH);
	const struct charset *said = charset_find(q->charset);
	const struct charset *c;
	struct str bytes;
	int rc = unpack(q, &room, &bytes);

	if (rc != 0)
		return rc;
	if (!said && q->xml)
		said = charset_find(declared(bytes));
	c = charset_choose(&bytes, said);
	if (charset_put(c, bytes, &utf8) < 0)
		return CELL_REFUSED_SIZE;
	if (utf8.len > 0 && memchr(utf8.data, '\0', utf8.len))
		return CELL_REFUSED_BINARY;
	r->charset = c->name;
	put_lines(buf_str(&utf8), r);
	return 0;
}
