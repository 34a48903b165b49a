/*
 * The spellings in which a tool may print a value: as it is, inside a JSON string, percent-encoded,
 * and quoted for a shell. Where a spelling is the value itself, as for most keys, it adds nothing.
 */
#include <string.h>

#include "mem/mem.h"
#include "secret/internal.h"

enum {
	SPELLING_MAX_GROWTH = 6, /* \u00XX for a byte; %XX and '\'' are less */
	PATTERNS_FIRST = 16,
};

void patterns_release(struct patterns *s)
{
	for (size_t i = 0; i < s->count; i++)
		wipe_free((char *)s->items[i].p, s->items[i].len);
	free(s->items);
	*s = (struct patterns){.items = NULL};
}

static void add_pattern(struct patterns *s, struct str pattern)
{
	for (size_t i = 0; i < s->count; i++) {
		if (str_eq(s->items[i], pattern))
			return;
	}
	if (s->count == s->room) {
		s->room = s->room ? 2 * s->room : PATTERNS_FIRST;
		s->items = xrealloc(s->items, s->room, sizeof(*s->items));
	}
	s->items[s->count++] = (struct str){xmemdup(pattern.p, pattern.len), pattern.len};
}

/* A spelling being written; the room is enough for any. */
struct spelling {
	char *p;
	size_t len;
};

static void put(struct spelling *to, const char *p, size_t len)
{
	memcpy(to->p + to->len, p, len);
	to->len += len;
}

static void put_hex(struct spelling *to, const char *before, unsigned value, int digits, bool upper)
{
	const char *set = upper ? "0123456789ABCDEF" : "0123456789abcdef";

	put(to, before, strlen(before));
	for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
		put(to, &set[value >> shift & 15], 1);
}

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_in(char c, const char *set)
{
	return c && strchr(set, c);
}

/* The two-letter escape of JSON and C for a control character, or 0. */
static char short_escape(char c)
{
	switch (c) {
	case '\n':
		return 'n';
	case '\t':
		return 't';
	case '\r':
		return 'r';
	case '\b':
		return 'b';
	case '\f':
		return 'f';
	default:
		return 0;
	}
}

struct json_style {
	bool ascii, slash, upper; /* \uXXXX for all that is not ASCII; \/; digits A to F */
	const char *hex;          /* ASCII that need not be escaped, or has a shorter escape */
};

/* One character that is not ASCII as \uXXXX, two of them past U+FFFF; returns its length. */
static size_t put_point(struct spelling *to, struct str value, size_t at, bool upper)
{
	uint32_t point;
	size_t n = utf8_decode(value.p + at, value.len - at, &point);

	if (n == 0) {
		put(to, value.p + at, 1);
		return 1;
	}
	if (point > 0xffff) {
		put_hex(to, "\\u", 0xd800 + ((point - 0x10000) >> 10), 4, upper);
		put_hex(to, "\\u", 0xdc00 + ((point - 0x10000) & 0x3ff), 4, upper);
	} else {
		put_hex(to, "\\u", point, 4, upper);
	}
	return n;
}

static void spell_json(struct spelling *to, struct str value, const struct json_style *style)
{
	for (size_t i = 0; i < value.len;) {
		char c = value.p[i];
		char escape = short_escape(c);

		if ((unsigned char)c >= 0x80 && style->ascii) {
			i += put_point(to, value, i, style->upper);
			continue;
		}
		i++;
		if (is_in(c, style->hex) || ((unsigned char)c < 0x20 && !escape)) {
			put_hex(to, "\\u", (unsigned char)c, 4, style->upper);
			continue;
		}
		if (c == '"' || c == '\\' || (c == '/' && style->slash))
			put(to, "\\", 1);
		put(to, escape ? (const char[]){'\\', escape} : &c, escape ? 2 : 1);
	}
}

/* `keep`: what stays besides letters and digits. */
static void spell_percent(
	struct spelling *to, struct str value, const char *keep, bool plus, bool upper)
{
	for (size_t i = 0; i < value.len; i++) {
		char c = value.p[i];

		if (is_alnum(c) || is_in(c, keep))
			put(to, &c, 1);
		else if (c == ' ' && plus)
			put(to, "+", 1);
		else
			put_hex(to, "%", (unsigned char)c, 2, upper);
	}
}

/* Inside '…': each quote becomes `quote`. */
static void spell_single(struct spelling *to, struct str value, const char *quote)
{
	for (size_t i = 0; i < value.len; i++) {
		if (value.p[i] == '\'')
			put(to, quote, strlen(quote));
		else
			put(to, &value.p[i], 1);
	}
}

/* A backslash before each of `special`; before each byte that is neither listed in `plain` nor a
 * letter or digit, when special is NULL. */
static void spell_backslash(
	struct spelling *to, struct str value, const char *special, const char *plain)
{
	for (size_t i = 0; i < value.len; i++) {
		char c = value.p[i];
		bool escape = special ? is_in(c, special)
				      : (unsigned char)c < 0x80 && !is_alnum(c) && !is_in(c, plain);

		if (escape)
			put(to, "\\", 1);
		put(to, &c, 1);
	}
}

/* Inside $'…'. */
static void spell_ansi(struct spelling *to, struct str value)
{
	for (size_t i = 0; i < value.len; i++) {
		char c = value.p[i];
		char escape = short_escape(c);

		if (c == '\'' || c == '\\')
			put(to, "\\", 1);
		put(to, escape ? (const char[]){'\\', escape} : &c, escape ? 2 : 1);
	}
}

/* RFC 8259 lets DEL stand as it is, and so do most writers; jq escapes it. Go escapes what HTML
 * would read, before 1.22 \b and \f by number; .NET what might harm anywhere. */
static void add_json(struct patterns *s, struct spelling *to, struct str value)
{
	static const char *const hex[] = {"", "\x7f", "<>&", "<>&\b\f", "\"&'+<>`\x7f"};

	for (size_t i = 0; i < 8 * ARRAY_LEN(hex); i++) {
		struct json_style style = {i & 1, i & 2, i & 4, hex[i / 8]};

		to->len = 0;
		spell_json(to, value, &style);
		add_pattern(s, (struct str){to->p, to->len});
	}
}

/* RFC 3986; what encodeURIComponent and encodeURI keep; path segments as curl and Python leave
 * them. */
static void add_percent(struct patterns *s, struct spelling *to, struct str value)
{
	static const struct {
		const char *keep;
		bool plus;
	} styles[] = {
		{"-._~",                 false},
		{"-._~!*'()",            false},
		{"-._~/",                false},
		{"-._~!*'();/?:@&=+$,#", false},
		{"-._~",                 true },
		{"-._*",                 true },
	};

	for (size_t i = 0; i < 2 * ARRAY_LEN(styles); i++) {
		to->len = 0;
		spell_percent(to, value, styles[i / 2].keep, styles[i / 2].plus, i % 2);
		add_pattern(s, (struct str){to->p, to->len});
	}
}

static void add_shell(struct patterns *s, struct spelling *to, struct str value)
{
	to->len = 0;
	spell_single(to, value, "'\\''");
	add_pattern(s, (struct str){to->p, to->len});
	to->len = 0;
	spell_single(to, value, "'\"'\"'");
	add_pattern(s, (struct str){to->p, to->len});
	to->len = 0;
	spell_backslash(to, value, "\"\\$`", "");
	add_pattern(s, (struct str){to->p, to->len});
	to->len = 0;
	spell_backslash(to, value, NULL, "%+-./:=@_"); /* printf %q of bash */
	add_pattern(s, (struct str){to->p, to->len});
	to->len = 0;
	spell_ansi(to, value);
	add_pattern(s, (struct str){to->p, to->len});
}

void patterns_add(struct patterns *s, struct str value)
{
	size_t room = value.len * SPELLING_MAX_GROWTH;
	struct spelling to = {.p = xmalloc(room)};

	add_pattern(s, value);
	add_json(s, &to, value);
	add_percent(s, &to, value);
	add_shell(s, &to, value);
	wipe_free(to.p, room);
}
