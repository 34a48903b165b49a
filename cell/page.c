/*
 * A page as text: what its reader would see, with its links, in the marks of Markdown. Headings,
 * lists, quotations, tables and preformatted text keep their shape; what is hidden, and what is no
 * text, is left out. No tree: what is open is counted, within bounds.
 */
#include <stdio.h>

#include "charset.h"
#include "html.h"
#include "mem/mem.h"
#include "reading.h"
#include "url/url.h"

enum {
	GROWTH = 3,               /* a byte becomes three at most: U+FFFD and half of the BMP */
	PRESCAN_MAX_BYTES = 1024, /* HTML 13.2.3.2: where a page may name its charset */
	LISTS_MAX = 8,            /* ours: what is deeper is indented no more */
	QUOTES_MAX = 4,           /* ours */
	LINK_MAX_BYTES = 2048,    /* ours: a longer address is not given */
	ALT_MAX_BYTES = 1024,     /* ours */
	MARK_SIZE = 24,           /* "- ", "12. ", "###### " */
	START_MAX = 1000000,      /* ours: the first number of a list */
};

/* What an element does to the text around it. */
enum effect {
	INLINE,
	LINE,  /* begins and ends a line */
	BLOCK, /* with a blank line around */
	DROP,  /* with all that is in it */
};
enum element {
	OTHER,
	A,
	BASE,
	BLOCKQUOTE,
	BR,
	CODE,
	HEADING,
	HR,
	IMG,
	LI,
	META,
	OL,
	PRE,
	Q,
	TABLE,
	TD,
	TEXTAREA,
	TITLE,
	TR,
	UL,
};
struct sort {
	const char *name;
	enum element element;
	enum effect effect;
	bool is_void; /* it has no content and no end */
};
/* In the order of strcmp. */
static const struct sort sorts[] = {
	{"a",          A,          INLINE, false},
	{"address",    OTHER,      LINE,   false},
	{"area",       OTHER,      INLINE, true },
	{"article",    OTHER,      BLOCK,  false},
	{"aside",      OTHER,      BLOCK,  false},
	{"audio",      OTHER,      DROP,   false},
	{"base",       BASE,       INLINE, true },
	{"blockquote", BLOCKQUOTE, BLOCK,  false},
	{"body",       OTHER,      LINE,   false},
	{"br",         BR,         INLINE, true },
	{"canvas",     OTHER,      DROP,   false},
	{"caption",    OTHER,      LINE,   false},
	{"center",     OTHER,      LINE,   false},
	{"code",       CODE,       INLINE, false},
	{"col",        OTHER,      INLINE, true },
	{"datalist",   OTHER,      DROP,   false},
	{"dd",         OTHER,      LINE,   false},
	{"details",    OTHER,      BLOCK,  false},
	{"dialog",     OTHER,      BLOCK,  false},
	{"dir",        UL,         BLOCK,  false},
	{"div",        OTHER,      LINE,   false},
	{"dl",         OTHER,      BLOCK,  false},
	{"dt",         OTHER,      LINE,   false},
	{"embed",      OTHER,      INLINE, true },
	{"fieldset",   OTHER,      LINE,   false},
	{"figcaption", OTHER,      LINE,   false},
	{"figure",     OTHER,      BLOCK,  false},
	{"footer",     OTHER,      BLOCK,  false},
	{"form",       OTHER,      LINE,   false},
	{"frame",      OTHER,      INLINE, true },
	{"h1",         HEADING,    BLOCK,  false},
	{"h2",         HEADING,    BLOCK,  false},
	{"h3",         HEADING,    BLOCK,  false},
	{"h4",         HEADING,    BLOCK,  false},
	{"h5",         HEADING,    BLOCK,  false},
	{"h6",         HEADING,    BLOCK,  false},
	{"header",     OTHER,      BLOCK,  false},
	{"hr",         HR,         BLOCK,  true },
	{"iframe",     OTHER,      DROP,   false},
	{"img",        IMG,        INLINE, true },
	{"input",      OTHER,      INLINE, true },
	{"legend",     OTHER,      LINE,   false},
	{"li",         LI,         LINE,   false},
	{"link",       OTHER,      INLINE, true },
	{"main",       OTHER,      BLOCK,  false},
	{"menu",       UL,         BLOCK,  false},
	{"meta",       META,       INLINE, true },
	{"nav",        OTHER,      BLOCK,  false},
	{"noembed",    OTHER,      DROP,   false},
	{"noframes",   OTHER,      DROP,   false},
	{"object",     OTHER,      DROP,   false},
	{"ol",         OL,         BLOCK,  false},
	{"optgroup",   OTHER,      LINE,   false},
	{"option",     OTHER,      LINE,   false},
	{"p",          OTHER,      BLOCK,  false},
	{"param",      OTHER,      INLINE, true },
	{"plaintext",  PRE,        BLOCK,  false},
	{"pre",        PRE,        BLOCK,  false},
	{"q",          Q,          INLINE, false},
	{"script",     OTHER,      DROP,   false},
	{"section",    OTHER,      BLOCK,  false},
	{"select",     OTHER,      LINE,   false},
	{"source",     OTHER,      INLINE, true },
	{"style",      OTHER,      DROP,   false},
	{"summary",    OTHER,      LINE,   false},
	{"svg",        OTHER,      DROP,   false},
	{"table",      TABLE,      BLOCK,  false},
	{"td",         TD,         LINE,   false},
	{"template",   OTHER,      DROP,   false},
	{"textarea",   TEXTAREA,   LINE,   false},
	{"th",         TD,         LINE,   false},
	{"title",      TITLE,      DROP,   false},
	{"tr",         TR,         LINE,   false},
	{"track",      OTHER,      INLINE, true },
	{"ul",         UL,         BLOCK,  false},
	{"video",      OTHER,      DROP,   false},
	{"wbr",        OTHER,      INLINE, true },
	{"xmp",        PRE,        BLOCK,  false},
};
static const struct sort unknown = {"", OTHER, INLINE, false};

struct page {
	struct reading *out;
	/* What comes before the next character. */
	int breaks; /* newlines: 0, 1, 2 */
	bool space;
	char mark[MARK_SIZE]; /* of a list's item or a heading, or "" */
	bool is_item;         /* the mark is an item's */
	/* What is open. */
	size_t quotes, lists;
	int64_t next[LISTS_MAX]; /* of the list: the next number, 0 for bullets */
	bool pre, fenced, first_of_pre;
	size_t cells;    /* of the row */
	size_t row_from; /* where its text began */
	bool in_cell;    /* which has no text yet: no line ends there */
	struct url base;
	struct buf base_text, link; /* what it borrows; the open link's address */
	bool has_base, base_given, link_open, link_begun;
	/* What is left out until its end. */
	char dropping[HTML_NAME_MAX_BYTES + 1];
	size_t depth; /* elements of that name within each other */
	bool in_title;
};

/*
 * Text out.
 */

static void put_ascii(struct page *p, const char *s)
{
	if (buf_puts(&p->out->text, s) < 0)
		p->out->cut = true;
}

/* What a line begins with. */
static void put_prefix(struct page *p)
{
	size_t depth = p->lists < LISTS_MAX ? p->lists : LISTS_MAX;

	for (size_t i = 0; i < p->quotes && i < QUOTES_MAX; i++)
		put_ascii(p, "> ");
	if (p->mark[0] && p->is_item && depth > 0)
		depth--;
	for (size_t i = 0; i < depth; i++)
		put_ascii(p, "  ");
}

static void put_newline(struct page *p)
{
	put_ascii(p, "\n");
	put_prefix(p);
}

/* All that is due before a character. */
static void begin_text(struct page *p)
{
	bool at_start = p->out->text.len == 0;

	if (at_start) {
		put_prefix(p);
	} else if (p->breaks > 0) {
		put_ascii(p, p->breaks > 1 ? "\n\n" : "\n");
		put_prefix(p);
	} else if (p->space) {
		put_ascii(p, " ");
	}
	p->breaks = 0;
	p->space = p->in_cell = false;
	put_ascii(p, p->mark);
	p->mark[0] = '\0';
	if (p->pre && !p->fenced) {
		p->fenced = true;
		put_ascii(p, "```");
		put_newline(p);
	}
	if (p->link_open && !p->link_begun) {
		p->link_begun = true;
		put_ascii(p, "[");
	}
}

/* An open link ends here; what follows belongs to it no more. */
static void end_link(struct page *p)
{
	if (p->link_open && p->link_begun) {
		put_ascii(p, "](");
		if (buf_put_str(&p->out->text, buf_str(&p->link)) < 0)
			p->out->cut = true;
		put_ascii(p, ")");
	}
	p->link_open = p->link_begun = false;
}

/* At least so many newlines before what comes. A link over more than one line is one's first. */
static void break_line(struct page *p, int breaks)
{
	if (p->in_cell)
		return;
	if (p->link_begun)
		end_link(p);
	if (p->breaks < breaks)
		p->breaks = breaks;
	p->space = false;
}

static bool is_blank(uint32_t c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == 0xa0;
}

static void put_pre(struct page *p, uint32_t point)
{
	bool first = p->first_of_pre;

	p->first_of_pre = false;
	if (point == '\r' || (first && point == '\n'))
		return;
	if (!cell_point_is_clean(point))
		return;
	if (p->breaks > 0 || !p->fenced || p->mark[0] || (p->link_open && !p->link_begun))
		begin_text(p);
	if (point == '\n')
		put_newline(p);
	else
		put_point(&p->out->text, point, &p->out->cut);
}

static void put_char(struct page *p, uint32_t point)
{
	if (p->pre) {
		put_pre(p, point);
		return;
	}
	if (is_blank(point)) {
		p->space = !p->in_cell;
		return;
	}
	if (!cell_point_is_clean(point))
		return;
	if (p->breaks > 0 || p->space || p->mark[0] || p->in_cell || p->out->text.len == 0 ||
		(p->link_open && !p->link_begun))
		begin_text(p);
	put_point(&p->out->text, point, &p->out->cut);
}

static void put_title(struct page *p, uint32_t point)
{
	struct buf *t = &p->out->title;
	bool full = false;

	if (is_blank(point)) {
		p->space = t->len > 0;
		return;
	}
	if (!cell_point_is_clean(point))
		return;
	if (p->space && !t->full)
		(void)buf_putc(t, ' '); /* a title that is too long is cut */
	p->space = false;
	if (!t->full)
		put_point(t, point, &full);
}

/* Text as it stands in the page; it is valid UTF-8. */
static void put_text(
	struct page *p, struct str s, bool raw, void (*put)(struct page *p, uint32_t point))
{
	for (size_t at = 0, n; at < s.len && !p->out->cut; at += n) {
		uint32_t point = (unsigned char)s.p[at];

		n = 0;
		if (point == '&' && !raw)
			n = html_reference((struct str){s.p + at, s.len - at}, false, &point);
		if (n == 0 && point < 0x80)
			n = 1;
		else if (n == 0)
			n = utf8_decode(s.p + at, s.len - at, &point);
		must(n > 0);
		put(p, point);
	}
}

static void put_words(struct page *p, const char *words)
{
	for (; *words; words++)
		put_char(p, (unsigned char)*words);
}

/*
 * Links.
 */

/* A reference as it stands in pages: bytes that no URL may hold are escaped. */
static void put_reference(struct buf *to, struct str s)
{
	static const char digits[] = "0123456789ABCDEF";

	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c == '\n' || c == '\r' || c == '\t')
			continue;
		if (c > ' ' && c < 0x7f && c != '"' && c != '<' && c != '>' && c != '\\') {
			(void)buf_putc(to, (char)c); /* the caller looks at to->full */
			continue;
		}
		(void)buf_putc(to, '%');
		(void)buf_putc(to, digits[c >> 4]);
		(void)buf_putc(to, digits[c & 15]);
	}
}

/* The address that an href means, appended to `to`; false for one that leads nowhere. */
static bool resolve(const struct page *p, struct str href, struct buf *to)
{
	_cleanup_(buf) struct buf value = BUF_INIT(2 * LINK_MAX_BYTES);
	_cleanup_(buf) struct buf reference = BUF_INIT(2 * LINK_MAX_BYTES);
	struct str whole;

	if (html_put_value(&value, href) < 0)
		return false;
	put_reference(&reference, str_trim(buf_str(&value)));
	if (reference.full || reference.len == 0 || reference.data[0] == '#')
		return false;
	if (str_starts(buf_str(&reference), STR("mailto:")))
		return buf_put_str(to, buf_str(&reference)) == 0;
	if (!p->has_base || url_resolve(&p->base, buf_str(&reference), to, NULL) < 0)
		return false;
	whole = buf_str(to);
	return !to->full && whole.len <= LINK_MAX_BYTES &&
	       (str_starts(whole, STR("http://")) || str_starts(whole, STR("https://")));
}

static void start_link(struct page *p, const struct html_token *t)
{
	end_link(p);
	buf_clear(&p->link);
	p->link_open = t->attrs[ATTR_HREF].p && resolve(p, t->attrs[ATTR_HREF], &p->link);
}

static void take_base(struct page *p, const struct html_token *t)
{
	struct buf text = BUF_INIT(URL_MAX_BYTES);
	struct url base;

	if (p->base_given || !t->attrs[ATTR_HREF].p)
		return;
	if (!resolve(p, t->attrs[ATTR_HREF], &text) || url_parse(buf_str(&text), &base, NULL) < 0) {
		buf_release(&text);
		return;
	}
	buf_release(&p->base_text);
	p->base_text = text;
	p->base = base;
	p->base_given = true;
}

/*
 * Elements.
 */

static int compare(const void *key, const void *row)
{
	return strcmp(key, ((const struct sort *)row)->name);
}

static const struct sort *sort_of(const struct html_token *t)
{
	const struct sort *s = bsearch(t->name, sorts, ARRAY_LEN(sorts), sizeof(sorts[0]), compare);

	return s ? s : &unknown;
}

/* Whether a style attribute hides: blanks and case apart, "display:none" or "visibility:hidden". */
static bool style_hides(struct str style)
{
	_cleanup_(buf) struct buf b = BUF_INIT(4096);
	struct str s;

	for (size_t i = 0; i < style.len; i++) {
		char c = style.p[i];

		if (!is_blank((unsigned char)c))
			(void)buf_putc(
				&b, (char)(c >= 'A' && c <= 'Z' ? c + 32 : c)); /* else cut */
	}
	s = buf_str(&b);
	return str_find(s, STR("display:none"), 0) >= 0 ||
	       str_find(s, STR("visibility:hidden"), 0) >= 0;
}

static bool is_left_out(const struct html_token *t, const struct sort *s)
{
	if (s->effect == DROP)
		return true;
	if (t->attrs[ATTR_HIDDEN].p && !str_is(t->attrs[ATTR_HIDDEN], "until-found"))
		return true;
	return t->attrs[ATTR_STYLE].p && style_hides(t->attrs[ATTR_STYLE]);
}

static void start_list(struct page *p, const struct html_token *t, bool numbered)
{
	uint64_t start = 1;

	/* a list in a list has no blank line around it */
	break_line(p, p->lists > 0 ? 1 : 2);
	if (numbered && t->attrs[ATTR_START].p)
		(void)text_u64(t->attrs[ATTR_START], START_MAX, "start", &start, NULL);
	if (p->lists < LISTS_MAX)
		p->next[p->lists] = numbered ? (int64_t)start : 0;
	p->lists++;
}

static void start_item(struct page *p)
{
	int64_t *next = p->lists > 0 && p->lists <= LISTS_MAX ? &p->next[p->lists - 1] : NULL;

	break_line(p, 1);
	p->is_item = true;
	if (next && *next > 0)
		(void)snprintf(p->mark, sizeof(p->mark), "%lld. ", (long long)(*next)++);
	else
		(void)snprintf(p->mark, sizeof(p->mark), "- ");
}

static void start_heading(struct page *p, const struct html_token *t)
{
	int level = t->name[1] - '0';

	p->is_item = false;
	(void)snprintf(p->mark, sizeof(p->mark), "%.*s ", level, "######");
}

static void start_cell(struct page *p)
{
	p->in_cell = false;
	p->cells++;
	if (p->cells == 1 || p->out->text.len == p->row_from) {
		break_line(p, 1);
		return;
	}
	end_link(p);
	p->breaks = 0;
	p->space = false;
	p->in_cell = true;
	put_ascii(p, " | ");
}

static void start_pre(struct page *p)
{
	p->pre = p->first_of_pre = true;
	p->fenced = false;
}

static void end_pre(struct page *p)
{
	end_link(p);
	if (p->pre && p->fenced) {
		if (p->out->text.data[p->out->text.len - 1] != '\n')
			put_newline(p);
		put_ascii(p, "```");
	}
	p->pre = p->fenced = false;
	break_line(p, 2);
}

static void put_image(struct page *p, const struct html_token *t)
{
	_cleanup_(buf) struct buf alt = BUF_INIT(ALT_MAX_BYTES);
	struct str trimmed;

	if (!t->attrs[ATTR_ALT].p || html_put_value(&alt, t->attrs[ATTR_ALT]) < 0)
		return;
	trimmed = str_trim(buf_str(&alt));
	if (trimmed.len == 0)
		return;
	put_words(p, "[image: ");
	put_text(p, trimmed, true, put_char);
	put_words(p, "]");
}

static void put_rule(struct page *p)
{
	break_line(p, 2);
	put_words(p, "---");
	break_line(p, 2);
}

/* What an element's start does beyond its effect. */
static void start_element(struct page *p, const struct html_token *t, const struct sort *s)
{
	switch (s->element) {
	case A:
		start_link(p, t);
		break;
	case BASE:
		take_base(p, t);
		break;
	case BLOCKQUOTE:
		p->quotes++;
		break;
	case BR:
		if (p->pre)
			put_pre(p, '\n');
		else
			break_line(p, p->breaks < 2 ? p->breaks + 1 : 2);
		break;
	case CODE:
		put_words(p, p->pre ? "" : "`");
		break;
	case HEADING:
		start_heading(p, t);
		break;
	case HR:
		put_rule(p);
		break;
	case IMG:
		put_image(p, t);
		break;
	case LI:
		start_item(p);
		break;
	case PRE:
		start_pre(p);
		break;
	case Q:
		put_words(p, "\"");
		break;
	case TD:
		start_cell(p);
		break;
	case TR:
		p->in_cell = false;
		break_line(p, 1);
		p->cells = 0;
		p->row_from = p->out->text.len;
		break;
	default:
		break;
	}
}

static void on_start(struct page *p, const struct html_token *t)
{
	const struct sort *s = sort_of(t);

	if (s->element == TITLE && !p->out->title.len) {
		p->in_title = true;
		p->space = false;
		return;
	}
	if (is_left_out(t, s)) {
		if (s->is_void || t->self_closing)
			return;
		memcpy(p->dropping, t->name, sizeof(p->dropping));
		p->depth = 1;
		return;
	}
	if (s->element == UL || s->element == OL) {
		start_list(p, t, s->element == OL);
		return;
	}
	if (s->element != TD && s->element != HR && s->effect != INLINE)
		break_line(p, s->effect == BLOCK ? 2 : 1);
	start_element(p, t, s);
}

static void end_element(struct page *p, const struct sort *s)
{
	switch (s->element) {
	case A:
		end_link(p);
		break;
	case BLOCKQUOTE:
		if (p->quotes > 0)
			p->quotes--;
		break;
	case CODE:
		put_ascii(p, p->pre ? "" : "`");
		break;
	case HEADING:
	case LI:
		p->mark[0] = '\0';
		break; /* it was empty */
	case Q:
		put_ascii(p, "\"");
		break;
	case UL:
	case OL:
		if (p->lists > 0)
			p->lists--;
		break;
	default:
		break;
	}
}

static void on_end(struct page *p, const struct html_token *t)
{
	const struct sort *s = sort_of(t);

	if (s->element == PRE) {
		end_pre(p);
		return;
	}
	if (s->is_void) {
		if (s->element == BR) /* "</br>" is read as "<br>" */
			start_element(p, t, s);
		return;
	}
	if (s->element == TD || s->element == TR || s->element == TABLE)
		p->in_cell = false;
	end_element(p, s);
	if (s->effect == LINE)
		break_line(p, 1);
	else if (s->effect == BLOCK)
		break_line(p, (s->element == UL || s->element == OL) && p->lists > 0 ? 1 : 2);
}

/*
 * What is left out.
 */

/* An element whose end may be left away ends with the next of its like (HTML 13.1.2.4). */
static bool ends_itself(const char *name)
{
	static const char *const names[] = {"p", "li", "dt", "dd", "tr", "td", "th", "option"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

/* Whether the token is still part of what is dropped. */
static bool drop(struct page *p, const struct html_token *t)
{
	bool same = strcmp(t->name, p->dropping) == 0 && t->name[0];

	if (t->type == HTML_END && same && --p->depth == 0) {
		p->dropping[0] = '\0';
		return true;
	}
	if (t->type != HTML_START)
		return true;
	if (ends_itself(p->dropping) &&
		(same || (strcmp(p->dropping, "p") == 0 && sort_of(t)->effect > INLINE &&
				 sort_of(t)->effect != DROP))) {
		p->dropping[0] = '\0';
		return false;
	}
	if (same && !t->self_closing)
		p->depth++;
	return true;
}

static void take_token(struct page *p, const struct html_token *t)
{
	if (p->in_title) {
		if (t->type == HTML_TEXT) {
			put_text(p, t->text, false, put_title);
		} else {
			p->in_title = false;
			p->space = false;
		}
		if (t->type != HTML_START)
			return;
	}
	if (p->dropping[0] && drop(p, t))
		return;
	if (t->type == HTML_TEXT)
		put_text(p, t->text, t->raw, put_char);
	else if (t->type == HTML_START)
		on_start(p, t);
	else
		on_end(p, t);
}

static void write_page(struct str html, struct str url, struct reading *r)
{
	struct html h = {.in = html};
	struct page p = {.out = r,
		.base_text = BUF_INIT(URL_MAX_BYTES),
		.link = BUF_INIT(URL_MAX_BYTES + 2 * LINK_MAX_BYTES)};
	struct html_token t;

	p.has_base = url.p && url_parse(url, &p.base, NULL) == 0;
	while (!r->cut && html_next(&h, &t))
		take_token(&p, &t);
	if (p.pre)
		end_pre(&p);
	end_link(&p);
	buf_release(&p.base_text);
	buf_release(&p.link);
}

/* What the page itself says it is in; absent when it says nothing. */
static struct str declared(struct str bytes)
{
	struct html h = {
		.in = {bytes.p, bytes.len < PRESCAN_MAX_BYTES ? bytes.len : PRESCAN_MAX_BYTES}
        };
	struct html_token t;

	while (html_next(&h, &t)) {
		if (t.type != HTML_START || strcmp(t.name, "meta") != 0)
			continue;
		if (t.attrs[ATTR_CHARSET].p)
			return t.attrs[ATTR_CHARSET];
		if (t.attrs[ATTR_HTTP_EQUIV].p && t.attrs[ATTR_CONTENT].p) {
			struct str found = charset_of_type(t.attrs[ATTR_CONTENT]);

			if (found.p)
				return found;
		}
	}
	return (struct str){NULL, 0};
}

int read_html(const struct request *q, struct reading *r)
{
	_cleanup_(buf) struct buf room = BUF_INIT(q->unpack_max_bytes + 1);
	_cleanup_(buf) struct buf utf8 = BUF_INIT(GROWTH * q->unpack_max_bytes + GROWTH);
	const struct charset *c;
	struct str bytes;
	int rc = unpack(q, &room, &bytes);

	if (rc != 0)
		return rc;
	c = charset_find(q->charset);
	if (!c) {
		c = charset_find(declared(bytes));
		/* a page whose declaration could be read is in no UTF-16 (HTML 13.2.3.2) */
		if (c && (c->form == CHARSET_UTF16LE || c->form == CHARSET_UTF16BE))
			c = &CHARSET_IS_UTF8;
	}
	c = charset_choose(&bytes, c);
	if (charset_put(c, bytes, &utf8) < 0)
		return CELL_REFUSED_SIZE;
	r->charset = c->name;
	write_page(buf_str(&utf8), q->url, r);
	return 0;
}
