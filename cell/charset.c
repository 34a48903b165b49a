/*
 * Which character set a text is in, and the text as UTF-8.
 */
#include "charset.h"

#include <strings.h>

#include "mem/mem.h"
#include "tables.h"

enum {
	REPLACEMENT = 0xfffd,
	SURROGATE_FIRST = 0xd800,
	SURROGATE_LOW = 0xdc00,
	SURROGATE_END = 0xe000,
	ASTRAL = 0x10000,
	LABEL_MAX_BYTES = 40, /* ours: the longest label there is has 19 */
	HALF_KATAKANA = 0xff61,
};

const struct charset CHARSET_IS_UTF8 = {"utf-8", CHARSET_UTF8, NULL};
static const struct charset utf16le = {"utf-16le", CHARSET_UTF16LE, NULL};
static const struct charset utf16be = {"utf-16be", CHARSET_UTF16BE, NULL};

/* Other labels of what the tables have, as the standard for the web lists them (Encoding, 4.2).
 * What is named the same but for its case, or differs from it by one of the prefixes below, is not
 * here.
 */
static const struct {
	const char *label, *name;
} aliases[] = {
	{"utf8",              "utf-8"       },
	{"unicode-1-1-utf-8", "utf-8"       },
	{"utf-16",            "utf-16le"    },
	{"unicode",           "utf-16le"    },
	{"ucs-2",             "utf-16le"    },
	{"iso-10646-ucs-2",   "utf-16le"    },
	{"ascii",             "windows-1252"},
	{"us-ascii",          "windows-1252"},
	{"ansi_x3.4-1968",    "windows-1252"},
	{"latin1",            "windows-1252"},
	{"l1",		"windows-1252"},
	{"iso-8859-1",        "windows-1252"},
	{"iso8859-1",         "windows-1252"},
	{"iso_8859-1",        "windows-1252"},
	{"latin2",            "iso-8859-2"  },
	{"latin3",            "iso-8859-3"  },
	{"latin4",            "iso-8859-4"  },
	{"cyrillic",          "iso-8859-5"  },
	{"arabic",            "iso-8859-6"  },
	{"greek",             "iso-8859-7"  },
	{"hebrew",            "iso-8859-8"  },
	{"iso-8859-8-i",      "iso-8859-8"  },
	{"iso-8859-9",        "windows-1254"},
	{"iso8859-9",         "windows-1254"},
	{"iso_8859-9",        "windows-1254"},
	{"latin5",            "windows-1254"},
	{"latin6",            "iso-8859-10" },
	{"iso-8859-11",       "windows-874" },
	{"tis-620",           "windows-874" },
	{"dos-874",           "windows-874" },
	{"latin-9",           "iso-8859-15" },
	{"l9",		"iso-8859-15" },
	{"koi8",              "koi8-r"      },
	{"koi",               "koi8-r"      },
	{"koi8-ru",           "koi8-u"      },
	{"mac",               "macintosh"   },
	{"x-mac-roman",       "macintosh"   },
	{"cp866",             "ibm866"      },
	{"866",               "ibm866"      },
	{"sjis",              "shift_jis"   },
	{"shift-jis",         "shift_jis"   },
	{"x-sjis",            "shift_jis"   },
	{"ms_kanji",          "shift_jis"   },
	{"windows-31j",       "shift_jis"   },
	{"x-euc-jp",          "euc-jp"      },
	{"gb2312",            "gbk"         },
	{"gb_2312-80",        "gbk"         },
	{"gb18030",           "gbk"         },
	{"x-gbk",             "gbk"         },
	{"chinese",           "gbk"         },
	{"big5-hkscs",        "big5"        },
	{"cn-big5",           "big5"        },
	{"x-x-big5",          "big5"        },
	{"euckr",             "euc-kr"      },
	{"korean",            "euc-kr"      },
	{"ks_c_5601-1987",    "euc-kr"      },
	{"ksc5601",           "euc-kr"      },
	{"windows-949",       "euc-kr"      },
};
/* iso8859-2 and iso_8859-2 are iso-8859-2; cp1251 and x-cp1251 are windows-1251. */
static const struct {
	const char *spelled, *meant;
} prefixes[] = {
	{"iso8859-",  "iso-8859-"},
	{"iso_8859-", "iso-8859-"},
	{"cp",        "windows-" },
	{"x-cp",      "windows-" },
};

static const struct charset *find_name(const char *name)
{
	static struct charset found; /* one text is read at a time */

	if (strcmp(name, CHARSET_IS_UTF8.name) == 0)
		return &CHARSET_IS_UTF8;
	if (strcmp(name, utf16le.name) == 0)
		return &utf16le;
	if (strcmp(name, utf16be.name) == 0)
		return &utf16be;
	for (size_t i = 0; i < SINGLES; i++) {
		if (strcmp(name, table_single_names[i]) != 0)
			continue;
		found = (struct charset){table_single_names[i], CHARSET_SINGLE, table_single[i]};
		return &found;
	}
	for (size_t i = 0; i < DOUBLES; i++) {
		if (strcmp(name, table_double_names[i]) != 0)
			continue;
		found = (struct charset){table_double_names[i], CHARSET_DOUBLE, table_double[i]};
		return &found;
	}
	return NULL;
}

static const struct charset *find_prefixed(const char *label)
{
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		char name[2 * LABEL_MAX_BYTES];
		size_t n = strlen(prefixes[i].spelled), m = strlen(prefixes[i].meant);

		if (strncmp(label, prefixes[i].spelled, n) != 0)
			continue;
		memcpy(name, prefixes[i].meant, m);
		memcpy(name + m, label + n, strlen(label + n) + 1);
		return find_name(name);
	}
	return NULL;
}

const struct charset *charset_find(struct str label)
{
	char name[LABEL_MAX_BYTES];
	const struct charset *c;

	label = str_trim(label);
	if (label.len == 0 || label.len >= sizeof(name) || memchr(label.p, '\0', label.len))
		return NULL;
	for (size_t i = 0; i < label.len; i++)
		name[i] = (char)(label.p[i] >= 'A' && label.p[i] <= 'Z' ? label.p[i] + 32
									: label.p[i]);
	name[label.len] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(aliases); i++) {
		if (strcmp(name, aliases[i].label) == 0)
			return find_name(aliases[i].name);
	}
	c = find_name(name);
	return c ? c : find_prefixed(name);
}

static bool is_value_end(char c)
{
	return c == ';' || c == ' ' || c == '\t' || c == '"' || c == '\'' || c == ',';
}

struct str charset_of_type(struct str type)
{
	static const struct str key = {"charset=", 8};

	for (size_t at = 0; at + key.len < type.len; at++) {
		size_t start = at + key.len, end;

		if (strncasecmp(type.p + at, key.p, key.len) != 0)
			continue;
		if (type.p[start] == '"' || type.p[start] == '\'')
			start++;
		for (end = start; end < type.len && !is_value_end(type.p[end]); end++)
			;
		return (struct str){type.p + start, end - start};
	}
	return (struct str){NULL, 0};
}

static bool starts_with(struct str s, const char *bytes, size_t len)
{
	return s.len >= len && memcmp(s.p, bytes, len) == 0;
}

static void drop(struct str *s, size_t n)
{
	*s = (struct str){s->p + n, s->len - n};
}

const struct charset *charset_choose(struct str *bytes, const struct charset *said)
{
	if (starts_with(*bytes, "\xef\xbb\xbf", 3)) {
		drop(bytes, 3);
		return &CHARSET_IS_UTF8;
	}
	if (starts_with(*bytes, "\xff\xfe", 2)) {
		drop(bytes, 2);
		return &utf16le;
	}
	if (starts_with(*bytes, "\xfe\xff", 2)) {
		drop(bytes, 2);
		return &utf16be;
	}
	if (said)
		return said;
	return utf8_valid(*bytes) ? &CHARSET_IS_UTF8 : find_name("windows-1252");
}

static int put(struct buf *to, uint32_t point)
{
	char bytes[4];

	return buf_put(to, bytes, utf8_encode(point ? point : REPLACEMENT, bytes));
}

static int put_utf16(const struct charset *c, struct str s, struct buf *to)
{
	const size_t low = c->form == CHARSET_UTF16LE ? 0 : 1;
	uint32_t first = 0; /* the first half of a pair, waiting for the second */

	for (size_t at = 0; at + 1 < s.len; at += 2) {
		uint32_t unit = (unsigned char)s.p[at + low] |
				(uint32_t)(unsigned char)s.p[at + 1 - low] << 8;
		bool is_low = unit >= SURROGATE_LOW && unit < SURROGATE_END;

		if (first && is_low) {
			unit = ASTRAL + ((first - SURROGATE_FIRST) << 10) + (unit - SURROGATE_LOW);
			first = 0;
		} else if (first || is_low) {
			if (put(to, REPLACEMENT) < 0)
				return -1;
			first = 0;
			if (is_low)
				continue;
		}
		if (unit >= SURROGATE_FIRST && unit < SURROGATE_LOW)
			first = unit;
		else if (put(to, unit) < 0)
			return -1;
	}
	return first || s.len % 2 ? put(to, REPLACEMENT) : 0;
}

static int put_single(const struct charset *c, struct str s, struct buf *to)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char b = (unsigned char)s.p[i];

		if ((b < SINGLE_FIRST ? buf_putc(to, (char)b)
				      : put(to, c->table[b - SINGLE_FIRST])) < 0)
			return -1;
	}
	return 0;
}

/* The character at s[0], and how many bytes it has; 0 for what is none. */
static uint32_t double_point(const struct charset *c, struct str s, size_t *ret_len)
{
	unsigned lead = (unsigned char)s.p[0];
	unsigned trail = s.len > 1 ? (unsigned char)s.p[1] : 0;
	uint32_t point = 0;

	*ret_len = 1;
	if (lead < SINGLE_FIRST)
		return lead;
	if (lead >= LEAD_FIRST && lead < LEAD_FIRST + LEAD_COUNT && trail >= TRAIL_FIRST &&
		trail < TRAIL_FIRST + TRAIL_COUNT)
		point = c->table[(lead - LEAD_FIRST) * TRAIL_COUNT + trail - TRAIL_FIRST];
	/* An ASCII byte after a lead that makes no pair is itself: it may be the '<' of a tag. */
	if (point || trail >= SINGLE_FIRST)
		*ret_len = 2;
	if (!point && strcmp(c->name, "shift_jis") == 0 && lead >= 0xa1 && lead <= 0xdf) {
		*ret_len = 1;
		point = HALF_KATAKANA + (lead - 0xa1);
	}
	return point;
}

static int put_double(const struct charset *c, struct str s, struct buf *to)
{
	for (size_t at = 0, n; at < s.len; at += n) {
		struct str rest = {s.p + at, s.len - at};

		if (rest.p[0] == '\0') {
			n = 1;
			if (buf_putc(to, '\0') < 0)
				return -1;
		} else if (put(to, double_point(c, rest, &n)) < 0) {
			return -1;
		}
	}
	return 0;
}

int charset_put(const struct charset *c, struct str bytes, struct buf *to)
{
	switch (c->form) {
	case CHARSET_UTF8:
		return utf8_put_clean(to, bytes);
	case CHARSET_UTF16LE:
	case CHARSET_UTF16BE:
		return put_utf16(c, bytes, to);
	case CHARSET_SINGLE:
		return put_single(c, bytes, to);
	default:
		return put_double(c, bytes, to);
	}
}
