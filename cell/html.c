#include "html.h"

#include <string.h>
#include <strings.h>

#include "mem/mem.h"

static const struct {
	const char *name;
	enum html_attr attr;
} attr_names[] = {
	{"alt",        ATTR_ALT       },
	{"charset",    ATTR_CHARSET   },
	{"content",    ATTR_CONTENT   },
	{"hidden",     ATTR_HIDDEN    },
	{"href",       ATTR_HREF      },
	{"http-equiv", ATTR_HTTP_EQUIV},
	{"start",      ATTR_START     },
	{"style",      ATTR_STYLE     },
};

/* Elements whose content is no markup. */
static const char *const opaque[] = {"script", "style", "title", "textarea", "iframe", "noembed",
	"noframes", "xmp", "plaintext"};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool ends_name(char c)
{
	return is_blank(c) || c == '/' || c == '>';
}

static bool in_list(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(name, list[i]) == 0)
			return true;
	}
	return false;
}

/* The offset of c at or after `at`, or the end. */
static size_t find_byte(struct str s, size_t at, char c)
{
	const char *p = at < s.len ? memchr(s.p + at, c, s.len - at) : NULL;

	return p ? (size_t)(p - s.p) : s.len;
}

/* Past the end of a comment whose "<!--" starts at `at`. */
static size_t skip_comment(struct str s, size_t at)
{
	size_t from = at + 4;

	if (from < s.len && s.p[from] == '>') /* "<!-->" */
		return from + 1;
	if (from + 1 < s.len && s.p[from] == '-' && s.p[from + 1] == '>') /* "<!--->" */
		return from + 2;
	for (;;) {
		size_t end = find_byte(s, from, '>');

		if (end == s.len)
			return s.len;
		if (end >= at + 6 && s.p[end - 1] == '-' && s.p[end - 2] == '-')
			return end + 1;
		if (end >= at + 7 && s.p[end - 1] == '!' && s.p[end - 2] == '-' &&
			s.p[end - 3] == '-')
			return end + 1;
		from = end + 1;
	}
}

/* Past what is neither tag nor text: a comment, a declaration, an odd end tag. */
static size_t skip_other(struct str s, size_t at)
{
	size_t end;

	if (at + 4 <= s.len && memcmp(s.p + at, "<!--", 4) == 0)
		return skip_comment(s, at);
	end = find_byte(s, at + 2 <= s.len ? at + 2 : s.len, '>');
	return end < s.len ? end + 1 : s.len;
}

static void set_name(struct html_token *t, struct str name)
{
	t->name[0] = '\0';
	if (name.len > HTML_NAME_MAX_BYTES)
		return;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.p[i];

		t->name[i] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
	}
	t->name[name.len] = '\0';
}

static void keep_attr(struct html_token *t, struct str name, struct str value)
{
	for (size_t i = 0; i < ARRAY_LEN(attr_names); i++) {
		struct str *at = &t->attrs[attr_names[i].attr];

		if (name.len == strlen(attr_names[i].name) &&
			strncasecmp(name.p, attr_names[i].name, name.len) == 0 && !at->p)
			*at = value;
	}
}

/* The value of an attribute, from after its '='. Leaves *at past it. */
static struct str read_value(struct str s, size_t *at)
{
	struct str value;
	size_t end;

	while (*at < s.len && is_blank(s.p[*at]))
		++*at;
	if (*at < s.len && (s.p[*at] == '"' || s.p[*at] == '\'')) {
		end = find_byte(s, *at + 1, s.p[*at]);
		value = (struct str){s.p + *at + 1, end > *at ? end - *at - 1 : 0};
		*at = end < s.len ? end + 1 : s.len;
		return value;
	}
	for (end = *at; end < s.len && !is_blank(s.p[end]) && s.p[end] != '>'; end++)
		;
	value = (struct str){s.p + *at, end - *at};
	*at = end;
	return value;
}

/* One attribute; leaves *at past it. */
static void read_attr(struct str s, size_t *at, struct html_token *t)
{
	size_t start = *at, end;
	struct str value = {"", 0};

	/* a '=' may begin a name, not end in it */
	for (end = start + 1; end < s.len && !ends_name(s.p[end]) && s.p[end] != '='; end++)
		;
	*at = end;
	while (*at < s.len && is_blank(s.p[*at]))
		++*at;
	if (*at < s.len && s.p[*at] == '=') {
		++*at;
		value = read_value(s, at);
	}
	keep_attr(t, (struct str){s.p + start, end - start}, value);
}

/* A tag whose name begins at h->at; false when it has no end: nothing of it counts then. */
static bool read_tag(struct html *h, struct html_token *t)
{
	struct str s = h->in;
	size_t at = h->at, start = at;

	while (at < s.len && !ends_name(s.p[at]))
		at++;
	set_name(t, (struct str){s.p + start, at - start});
	while (at < s.len && s.p[at] != '>') {
		t->self_closing = s.p[at] == '/';
		if (is_blank(s.p[at]) || s.p[at] == '/')
			at++;
		else
			read_attr(s, &at, t);
	}
	if (at == s.len) {
		h->at = s.len;
		return false;
	}
	/* blanks between the slash and the end: no self-closing tag */
	t->self_closing = s.p[at - 1] == '/' && t->self_closing;
	h->at = at + 1;
	if (t->type == HTML_START && in_list(t->name, opaque, ARRAY_LEN(opaque)))
		memcpy(h->inside, t->name, sizeof(h->inside));
	return true;
}

/* Where the end tag of the opaque element stands, or the end. */
static size_t find_own_end(const struct html *h)
{
	size_t name = strlen(h->inside);

	for (size_t at = h->at;; at++) {
		at = find_byte(h->in, at, '<');
		if (at + 2 + name >= h->in.len)
			return h->in.len;
		if (h->in.p[at + 1] == '/' && strncasecmp(h->in.p + at + 2, h->inside, name) == 0 &&
			ends_name(h->in.p[at + 2 + name]))
			return at;
	}
}

static bool read_opaque(struct html *h, struct html_token *t)
{
	/* plaintext has no end */
	size_t end = strcmp(h->inside, "plaintext") == 0 ? h->in.len : find_own_end(h);

	t->type = HTML_TEXT;
	t->text = (struct str){h->in.p + h->at, end - h->at};
	t->raw = strcmp(h->inside, "title") != 0 && strcmp(h->inside, "textarea") != 0;
	h->at = end;
	h->inside[0] = '\0';
	return t->text.len > 0;
}

/* Where text that begins at h->at ends: at the next '<' that begins a tag, a comment or the like.
 */
static size_t find_text_end(const struct html *h)
{
	for (size_t at = h->at;; at++) {
		at = find_byte(h->in, at, '<');
		if (at + 1 >= h->in.len)
			return h->in.len;
		if (is_letter(h->in.p[at + 1]) || strchr("!/?", h->in.p[at + 1]))
			return at;
	}
}

static bool read_markup(struct html *h, struct html_token *t)
{
	struct str s = h->in;

	if (is_letter(s.p[h->at + 1])) {
		t->type = HTML_START;
		h->at += 1;
		return read_tag(h, t);
	}
	if (s.p[h->at + 1] == '/' && h->at + 2 < s.len && is_letter(s.p[h->at + 2])) {
		t->type = HTML_END;
		h->at += 2;
		return read_tag(h, t);
	}
	h->at = skip_other(s, h->at);
	return false;
}

bool html_next(struct html *h, struct html_token *t)
{
	while (h->at < h->in.len) {
		size_t end;

		*t = (struct html_token){.type = HTML_TEXT};
		if (h->inside[0]) {
			if (read_opaque(h, t))
				return true;
			continue;
		}
		end = find_text_end(h);
		if (end > h->at) {
			t->text = (struct str){h->in.p + h->at, end - h->at};
			h->at = end;
			return true;
		}
		if (read_markup(h, t))
			return true;
	}
	return false;
}
