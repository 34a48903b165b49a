/*
 * What every reader of a format needs: its answer, and text made clean.
 */
#include "reading.h"

void reading_init(struct reading *r, size_t output_max_bytes)
{
	*r = (struct reading){.text = BUF_INIT(output_max_bytes),
		.title = BUF_INIT(TITLE_MAX_BYTES),
		.charset = "utf-8"};
}

void reading_release(struct reading *r)
{
	buf_release(&r->text);
	buf_release(&r->title);
}

void put_point(struct buf *to, uint32_t point, bool *cut)
{
	char bytes[4];

	if (cell_point_is_clean(point) && buf_put(to, bytes, utf8_encode(point, bytes)) < 0)
		*cut = true;
}
