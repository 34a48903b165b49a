/*
 * consort-cell KIND PARENT: reads one input of the kind from standard input, as lib/cell asks, and
 * answers in frames. Before it looks at a byte it gives up every right that it could do without.
 */
#include <string.h>
#include <unistd.h>

#include "mem/mem.h"
#include "reading.h"
#include "wall.h"

enum {
	USAGE_STATUS = 2,
	BROKEN_STATUS = 1,
	READ_BYTES = 65536,
	/* The parameters of a request, each at its longest. */
	PARAMS_MAX_BYTES = CELL_FIELDS_MAX *
			   (CELL_FRAME_HEAD_BYTES + CELL_NAME_MAX_BYTES + 1 + CELL_VALUE_MAX_BYTES),
};

static int write_all(const char *p, size_t len)
{
	while (len > 0) {
		ssize_t n = write(STDOUT_FILENO, p, len);

		if (n <= 0)
			return -1;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int answer(enum cell_frame type, struct str payload)
{
	char head[CELL_FRAME_HEAD_BYTES];

	cell_put_head(head, type, (uint32_t)payload.len);
	return write_all(head, sizeof(head)) < 0 ? -1 : write_all(payload.p, payload.len);
}

static int answer_byte(enum cell_frame type, int value)
{
	char byte = (char)value;

	return answer(type, (struct str){&byte, 1});
}

static int answer_field(const char *name, struct str value)
{
	_cleanup_(buf) struct buf b = BUF_INIT(CELL_NAME_MAX_BYTES + 1 + CELL_VALUE_MAX_BYTES);

	if (buf_puts(&b, name) < 0 || buf_putc(&b, '\0') < 0 || buf_put_str(&b, value) < 0)
		return -1;
	return answer(CELL_FRAME_FIELD, buf_str(&b));
}

static int answer_text(struct str text)
{
	while (text.len > 0) {
		struct str piece = str_cut(text, CELL_TEXT_MAX_BYTES);

		if (answer(CELL_FRAME_TEXT, piece) < 0)
			return -1;
		text = (struct str){text.p + piece.len, text.len - piece.len};
	}
	return 0;
}

static int read_all(struct buf *in)
{
	for (;;) {
		ssize_t n;

		if (buf_reserve(in, READ_BYTES) < 0)
			return -1;
		n = read(STDIN_FILENO, in->data + in->len, READ_BYTES);
		if (n <= 0)
			return (int)n;
		in->len += (size_t)n;
	}
}

static int take_param(struct str payload, struct request *q)
{
	const char *nul = memchr(payload.p, '\0', payload.len);
	struct str name, value;
	uint64_t most;

	if (!nul)
		return -1;
	name = (struct str){payload.p, (size_t)(nul - payload.p)};
	value = (struct str){nul + 1, payload.len - name.len - 1};
	if (str_is(name, "packed"))
		q->packed = value;
	else if (str_is(name, "charset"))
		q->charset = value;
	else if (str_is(name, "url"))
		q->url = value;
	else if (str_is(name, "xml"))
		q->xml = true;
	else if (!str_is(name, "unpack_max") ||
		 text_u64(value, q->unpack_max_bytes, "unpack_max", &most, NULL) < 0)
		return -1;
	else
		q->unpack_max_bytes = (size_t)most;
	return 0;
}

static int take_request(struct str in, struct request *q)
{
	while (in.len >= CELL_FRAME_HEAD_BYTES) {
		size_t len = cell_head_length(in.p);
		struct str payload = {in.p + CELL_FRAME_HEAD_BYTES, len};
		char type = in.p[0];

		if (len > in.len - CELL_FRAME_HEAD_BYTES)
			return -1;
		in = (struct str){payload.p + len, in.len - CELL_FRAME_HEAD_BYTES - len};
		if (type == CELL_FRAME_INPUT) {
			q->input = payload;
			return in.len == 0 ? 0 : -1;
		}
		if (type != CELL_FRAME_PARAM || take_param(payload, q) < 0)
			return -1;
	}
	return -1;
}

static int work(const struct cell_kind *kind, const struct request *q)
{
	struct reading r;
	int refusal;

	reading_init(&r, kind->output_max_bytes);
	refusal = (kind == &CELL_HTML ? read_html : read_text)(q, &r);
	if (refusal)
		return answer_byte(CELL_FRAME_REFUSED, refusal);
	if (r.title.len > 0 && answer_field("title", buf_str(&r.title)) < 0)
		return -1;
	if (answer_field("charset", str_from(r.charset)) < 0 ||
		(r.cut && answer_field("cut", STR("1")) < 0) || answer_text(buf_str(&r.text)) < 0)
		return -1;
	return answer(CELL_FRAME_END, STR("")); /* what it holds goes with the process */
}

int main(int argc, char **argv)
{
	const struct cell_kind *const *kind = cell_kinds;
	struct request q = {.unpack_max_bytes = 0};
	struct buf in = BUF_INIT(0);
	uint64_t parent;
	int landlock;

	if (argc != 3 || text_u64(str_from(argv[2]), INT32_MAX, "PARENT", &parent, NULL) < 0)
		return USAGE_STATUS;
	while (*kind && strcmp((*kind)->name, argv[1]) != 0)
		kind++;
	if (!*kind || wall_up(*kind, (int)parent, &landlock) < 0)
		return USAGE_STATUS;
	q.unpack_max_bytes = (*kind)->unpack_max_bytes;
	in.max = (*kind)->input_max_bytes + PARAMS_MAX_BYTES + READ_BYTES;
	if (answer_byte(CELL_FRAME_HELLO, landlock) < 0 || read_all(&in) < 0 ||
		take_request(buf_str(&in), &q) < 0 || work(*kind, &q) < 0)
		return BROKEN_STATUS;
	return 0;
}
