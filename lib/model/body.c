/*
 * body: the body of an HTTP error: JSON of a provider, what is left of it where it was cut, a
 * proxy's HTML, or anything.
 */
#include "model/internal.h"

enum {
	NAME_MAX_BYTES = 128,       /* ours: of a code; longer ones are no code */
	TEXT_MAX_BYTES = 2048,      /* ours: of the provider's words */
	BODY_MAX_BYTES = 64 * 1024, /* ours: more is not looked at; the agent reads 4 KiB */
};

/* How far a cut document goes: what is open, and where the last whole value ends. */
struct scan {
	char closers[JSON_DEPTH_MAX];
	size_t depth;
	size_t whole;
	bool in_string, is_key, key_next;
	size_t escape, escape_end; /* the last escape */
};

/* The length of the escape at i, with the second half of a pair: a lone one is no JSON. */
static size_t escape_len(struct str text, size_t i)
{
	if (i + 1 >= text.len || text.p[i + 1] != 'u')
		return 2;
	if (i + 3 >= text.len || (text.p[i + 2] | 0x20) != 'd')
		return 6;
	return text.p[i + 3] && strchr("89abAB", text.p[i + 3]) ? 12 : 6;
}

static void scan_in_string(struct scan *s, struct str text, size_t i)
{
	if (i < s->escape_end)
		return;
	if (text.p[i] == '\\') {
		s->escape = i;
		s->escape_end = i + escape_len(text, i);
	} else if (text.p[i] == '"') {
		s->in_string = false;
		if (!s->is_key)
			s->whole = i + 1;
	}
}

static void scan_bracket(struct scan *s, char c, size_t i)
{
	if (c == '{' || c == '[') {
		if (s->depth < JSON_DEPTH_MAX)
			s->closers[s->depth++] = c == '{' ? '}' : ']';
		s->key_next = c == '{';
	} else if (s->depth > 0) {
		s->depth--;
	}
	s->whole = i + 1;
}

static void scan_byte(struct scan *s, struct str text, size_t i)
{
	switch (text.p[i]) {
	case '"':
		s->in_string = true;
		s->is_key = s->key_next;
		s->key_next = false;
		break;
	case '{':
	case '[':
	case '}':
	case ']':
		scan_bracket(s, text.p[i], i);
		break;
	case ',':
		s->whole = i;
		s->key_next = s->depth > 0 && s->closers[s->depth - 1] == '}';
		break;
	default:
		break;
	}
}

static const struct json *parse_closed(
	struct arena *a, struct str text, bool quote, const struct scan *s)
{
	_cleanup_(buf) struct buf whole = BUF_INIT(BODY_MAX_BYTES + JSON_DEPTH_MAX + 1);
	const struct json *root = NULL;

	(void)buf_put_str(&whole, text); /* fits: text is below BODY_MAX_BYTES */
	if (quote)
		(void)buf_putc(&whole, '"');
	for (size_t i = s->depth; i > 0; i--)
		(void)buf_putc(&whole, s->closers[i - 1]);
	return json_parse(a, buf_str(&whole), &root, NULL) == 0 ? root : NULL;
}

/* What a document says whose end is missing. NULL: nothing that can be read. */
static const struct json *parse_cut(struct arena *a, struct str text)
{
	struct scan s = {.depth = 0};
	const struct json *root = NULL;
	struct str cut;

	for (size_t i = 0; i < text.len; i++) {
		if (s.in_string)
			scan_in_string(&s, text, i);
		else
			scan_byte(&s, text, i);
	}
	if (s.in_string && !s.is_key) {
		cut = str_cut(text, s.escape_end > text.len ? s.escape : text.len);
		root = parse_closed(a, cut, true, &s);
	}
	return root ? root : parse_closed(a, (struct str){text.p, s.whole}, false, &s);
}

/* What an HTML page calls itself; empty when it does not. */
static struct str html_title(struct str page)
{
	const ptrdiff_t open = str_find(page, STR("<title>"), 0);
	ptrdiff_t close;

	if (open < 0)
		return STR("");
	close = str_find(page, STR("</title>"), (size_t)open);
	if (close < 0)
		return STR("");
	return str_trim((struct str){page.p + open + 7, (size_t)(close - open) - 7});
}

/* Appends as much as there is room for and says where it lies, as an offset. */
static size_t keep_text(struct buf *keep, struct str text, size_t max, size_t *ret_len)
{
	const size_t at = keep->len, room = keep->full ? 0 : keep->max - keep->len;
	_cleanup_(buf) struct buf clean = BUF_INIT(4 * BODY_MAX_BYTES);
	struct str cut;

	(void)utf8_put_clean(&clean, (struct str){text.p, text.len < max ? text.len : max});
	cut = str_cut(buf_str(&clean), room < max ? room : max);
	*ret_len = cut.len;
	(void)buf_put_str(keep, cut); /* fits */
	return at;
}

static struct str kept(const struct buf *keep, size_t at, size_t len)
{
	return len > 0 ? (struct str){keep->data + at, len} : STR("");
}

void model_read_fault(
	enum model_family f, int status, struct str body, struct buf *keep, struct model_event *ret)
{
	_cleanup_(arena) struct arena a = {NULL};
	struct json plain = {.type = JSON_STRING};
	const struct json *root = &plain;
	size_t name_at, name_len, text_at, text_len;
	struct fault fault;

	(void)f; /* all of them say it alike, and proxies in between mix them */
	body = body.p ? str_trim(body) : STR("");
	if (body.len > BODY_MAX_BYTES)
		body.len = BODY_MAX_BYTES;
	plain.text = body;
	if (body.len > 0 && (body.p[0] == '{' || body.p[0] == '[')) {
		if (json_parse(&a, body, &root, NULL) < 0)
			root = parse_cut(&a, body);
		if (!root)
			root = &plain;
	} else if (body.len > 0 && body.p[0] == '<') {
		plain.text = html_title(body);
	}
	fault_read(root, status, &fault);
	if (fault.text.len == 0 && root != &plain)
		fault.text = body;
	name_at = keep_text(keep, fault.name, NAME_MAX_BYTES, &name_len);
	text_at = keep_text(keep, fault.text, TEXT_MAX_BYTES, &text_len);
	*ret = (struct model_event){
		.kind = MODEL_EV_FAULT,
		.fault = fault.fault,
		.name = kept(keep, name_at, name_len),
		.text = kept(keep, text_at, text_len),
		.usage = {-1, -1, -1, -1, -1, -1},
		.retry_ms = fault.retry_ms
        };
}
