/*
 * Frames: their heads, what clean text is, and the reader that believes nothing.
 */
#include "cell/cell.h"
#include "mem/mem.h"

enum {
	C0_END = 0x20,
	DEL = 0x7f,
	C1_END = 0xa0,
	LAST_CONTROL = 0x9f,
	/* The longest payload of all: a TEXT frame. */
	PAYLOAD_MAX_BYTES = CELL_TEXT_MAX_BYTES,
};

const struct error_kind CELL_FAILED = {"cell_failed", ERROR_CLASS_IO};
const struct error_kind CELL_REFUSED = {"cell_refused", ERROR_CLASS_IO};

void cell_put_head(char to[CELL_FRAME_HEAD_BYTES], enum cell_frame type, uint32_t len)
{
	to[0] = (char)type;
	for (size_t i = 1; i < CELL_FRAME_HEAD_BYTES; i++, len >>= 8)
		to[i] = (char)(len & 0xff);
}

uint32_t cell_head_length(const char head[CELL_FRAME_HEAD_BYTES])
{
	uint32_t len = 0;

	for (size_t i = CELL_FRAME_HEAD_BYTES - 1; i > 0; i--)
		len = len << 8 | (unsigned char)head[i];
	return len;
}

bool cell_point_is_clean(uint32_t point)
{
	if (point < C0_END)
		return point == '\n' || point == '\t';
	if (point < DEL)
		return true;
	if (point < C1_END)
		return false;
	/* marks, embeddings, overrides and isolates of direction; separators that end a line */
	if (point == 0x61c || point == 0x200e || point == 0x200f ||
		(point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069))
		return false;
	/* a byte order mark in the text, interlinear marks, tags: nobody sees them */
	return point != 0xfeff && !(point >= 0xfff9 && point <= 0xfffb) &&
	       !(point >= 0xe0000 && point <= 0xe0fff);
}

bool cell_text_is_clean(struct str s)
{
	for (size_t at = 0, n; at < s.len; at += n) {
		unsigned char c = (unsigned char)s.p[at];
		uint32_t point = c;

		n = 1;
		if (c >= 0x80)
			n = utf8_decode(s.p + at, s.len - at, &point);
		if (n == 0 || !cell_point_is_clean(point))
			return false;
	}
	return true;
}

struct cell_reader {
	const struct cell_kind *kind;
	const struct cell_callbacks *cb;
	void *arg;
	struct buf frame; /* the one that is coming: head, then payload */
	size_t text_bytes;
	bool greeted, over;
	bool had[CELL_FIELDS_MAX];
	struct cell_end end;
};

struct cell_reader *cell_reader_new(
	const struct cell_kind *kind, const struct cell_callbacks *cb, void *arg)
{
	struct cell_reader *r = xcalloc(1, sizeof(*r));

	r->kind = kind;
	r->cb = cb;
	r->arg = arg;
	r->frame = (struct buf)BUF_INIT(CELL_FRAME_HEAD_BYTES + PAYLOAD_MAX_BYTES);
	return r;
}

void cell_reader_free(struct cell_reader *r)
{
	if (!r)
		return;
	buf_release(&r->frame);
	free(r);
}

static int lied(struct error *err, const char *what)
{
	return error_set(err, &CELL_FAILED, "the reader of the format answered %s", what);
}

static int take_field(struct cell_reader *r, struct str payload, struct error *err)
{
	const char *nul = memchr(payload.p, '\0', payload.len);
	struct str name, value;
	size_t i = 0;

	if (!nul)
		return lied(err, "a field without a value");
	name = (struct str){payload.p, (size_t)(nul - payload.p)};
	value = (struct str){nul + 1, payload.len - name.len - 1};
	while (r->kind->fields[i] && !str_is(name, r->kind->fields[i]))
		i++;
	if (!r->kind->fields[i] || r->had[i])
		return lied(err, "a field that it has not, or twice");
	if (!cell_text_is_clean(value) || memchr(value.p, '\n', value.len) ||
		memchr(value.p, '\t', value.len))
		return lied(err, "a field with control characters, or bytes that are not UTF-8");
	r->had[i] = true;
	r->cb->field(r->arg, name, value);
	return 0;
}

static int take_text(struct cell_reader *r, struct str payload, struct error *err)
{
	r->text_bytes += payload.len;
	if (r->text_bytes > r->kind->output_max_bytes)
		return lied(err, "more than its kind may");
	if (payload.len == 0 || !cell_text_is_clean(payload))
		return lied(err, "a text with control characters, or bytes that are not UTF-8");
	r->cb->text(r->arg, payload);
	return 0;
}

static int take_byte(struct cell_reader *r, enum cell_frame type, int value, struct error *err)
{
	if (type == CELL_FRAME_HELLO) {
		r->greeted = true;
		r->end.landlock = value;
		return 0;
	}
	if (value < 1 || value > CELL_REFUSAL_LAST)
		return lied(err, "a refusal that there is not");
	r->end.refusal = value;
	r->over = true;
	return 0;
}

/* The longest payload of a type, 0 for a type that no answer has. */
static size_t payload_max(int type)
{
	switch (type) {
	case CELL_FRAME_HELLO:
	case CELL_FRAME_REFUSED:
		return 1;
	case CELL_FRAME_FIELD:
		return CELL_NAME_MAX_BYTES + 1 + CELL_VALUE_MAX_BYTES;
	case CELL_FRAME_TEXT:
		return CELL_TEXT_MAX_BYTES;
	default:
		return 0;
	}
}

static int take_frame(struct cell_reader *r, struct error *err)
{
	int type = (unsigned char)r->frame.data[0];
	struct str payload = {
		r->frame.data + CELL_FRAME_HEAD_BYTES, r->frame.len - CELL_FRAME_HEAD_BYTES};

	switch (type) {
	case CELL_FRAME_FIELD:
		return take_field(r, payload, err);
	case CELL_FRAME_TEXT:
		return take_text(r, payload, err);
	case CELL_FRAME_HELLO:
	case CELL_FRAME_REFUSED:
		if (payload.len != 1)
			return lied(err, "a frame without its byte");
		return take_byte(r, (enum cell_frame)type, (unsigned char)payload.p[0], err);
	default: /* END: check_head let nothing else through */
		r->over = true;
		return 0;
	}
}

/* Before a byte of the payload is kept. */
static int check_head(const struct cell_reader *r, struct error *err)
{
	int type = (unsigned char)r->frame.data[0];
	uint32_t len = cell_head_length(r->frame.data);

	if ((type == CELL_FRAME_HELLO) == r->greeted)
		return lied(err, "out of order");
	if (type != CELL_FRAME_END && payload_max(type) == 0)
		return lied(err, "a frame that there is not");
	if (len > payload_max(type))
		return lied(err, "a frame that is too long");
	return 0;
}

/* Up to `want` bytes of the frame that is coming; whether they are there. */
static bool fill(struct cell_reader *r, struct str *bytes, size_t want)
{
	size_t n = want - r->frame.len;

	if (n > bytes->len)
		n = bytes->len;
	must(buf_put(&r->frame, bytes->p, n) == 0); /* no head that says more was let through */
	*bytes = (struct str){bytes->p + n, bytes->len - n};
	return r->frame.len == want;
}

int cell_reader_put(struct cell_reader *r, struct str bytes, struct error *err)
{
	while (bytes.len > 0) {
		if (r->over)
			return lied(err, "more after its end");
		if (r->frame.len < CELL_FRAME_HEAD_BYTES) {
			if (!fill(r, &bytes, CELL_FRAME_HEAD_BYTES))
				return 0;
			if (check_head(r, err) < 0)
				return -1;
		}
		if (!fill(r, &bytes, CELL_FRAME_HEAD_BYTES + cell_head_length(r->frame.data)))
			return 0;
		if (take_frame(r, err) < 0)
			return -1;
		buf_clear(&r->frame);
	}
	return 0;
}

int cell_reader_end(struct cell_reader *r, struct cell_end *ret, struct error *err)
{
	static const char *const reasons[] = {
		[CELL_REFUSED_SIZE] = "unpacked it is over the limit",
		[CELL_REFUSED_PACKING] = "it is not packed as it says, or is cut",
		[CELL_REFUSED_BINARY] = "it is no text",
	};

	*ret = r->end;
	if (!r->over)
		return lied(err, "only in part");
	if (r->end.refusal)
		return error_set(err, &CELL_REFUSED, "%s", reasons[r->end.refusal]);
	return 0;
}
