/*
 * Writes the tables of tables.h as C, asking iconv about every byte and every pair of bytes. Run by
 * the build.
 */
#include <iconv.h>
#include <stdio.h>
#include <stdlib.h>

#include "tables.h"

/* The name of the standard for the web, and iconv's. */
static const struct {
	const char *name, *iconv;
} singles[SINGLES] = {
	{"windows-1252", "CP1252"     },
	{"windows-1250", "CP1250"     },
	{"windows-1251", "CP1251"     },
	{"windows-1253", "CP1253"     },
	{"windows-1254", "CP1254"     },
	{"windows-1255", "CP1255"     },
	{"windows-1256", "CP1256"     },
	{"windows-1257", "CP1257"     },
	{"windows-1258", "CP1258"     },
	{"windows-874",  "CP874"      },
	{"iso-8859-2",   "ISO-8859-2" },
	{"iso-8859-3",   "ISO-8859-3" },
	{"iso-8859-4",   "ISO-8859-4" },
	{"iso-8859-5",   "ISO-8859-5" },
	{"iso-8859-6",   "ISO-8859-6" },
	{"iso-8859-7",   "ISO-8859-7" },
	{"iso-8859-8",   "ISO-8859-8" },
	{"iso-8859-10",  "ISO-8859-10"},
	{"iso-8859-13",  "ISO-8859-13"},
	{"iso-8859-14",  "ISO-8859-14"},
	{"iso-8859-15",  "ISO-8859-15"},
	{"iso-8859-16",  "ISO-8859-16"},
	{"koi8-r",       "KOI8-R"     },
	{"koi8-u",       "KOI8-U"     },
	{"macintosh",    "MACINTOSH"  },
	{"ibm866",       "CP866"      },
};
static const struct {
	const char *name, *iconv;
} doubles[DOUBLES] = {
	{"shift_jis", "CP932"  },
	{"euc-jp",    "EUC-JP" },
	{"gbk",       "GB18030"},
	{"big5",      "BIG5"   },
	{"euc-kr",    "CP949"  },
};

static iconv_t open_set(const char *name)
{
	iconv_t cd = iconv_open("UTF-16LE", name);

	/* the value that iconv_open(3) says, which is a pointer that no conversion has */
	if (cd == (iconv_t)-1) { /* NOLINT(performance-no-int-to-ptr) */
		(void)fprintf(stderr, "charset_make: iconv does not know '%s'\n", name);
		exit(1);
	}
	return cd;
}

/* The one UTF-16 unit that the bytes are, or 0. */
static unsigned ask(iconv_t cd, const unsigned char *bytes, size_t len)
{
	char in[2], out[8];
	char *from = in, *to = out;
	size_t left = len, room = sizeof(out);
	unsigned low, high;

	for (size_t i = 0; i < len; i++)
		in[i] = (char)bytes[i];
	(void)iconv(cd, NULL, NULL, NULL, NULL); /* back to its first state: cannot fail */
	if (iconv(cd, &from, &left, &to, &room) == (size_t)-1 || left > 0)
		return 0;
	(void)iconv(cd, NULL, NULL, &to, &room); /* some hold a letter back for its accent */
	if (sizeof(out) - room != 2)
		return 0;
	low = (unsigned char)out[0];
	high = (unsigned char)out[1];
	return low | high << 8;
}

static void write_single(size_t i)
{
	iconv_t cd = open_set(singles[i].iconv);

	(void)printf("\t{");
	for (unsigned b = 0; b < SINGLE_COUNT; b++) {
		const unsigned char byte = (unsigned char)(SINGLE_FIRST + b);

		(void)printf("0x%x,", ask(cd, &byte, 1));
	}
	(void)printf("},\n");
	(void)iconv_close(cd); /* nothing was written */
}

static void write_double(size_t i)
{
	iconv_t cd = open_set(doubles[i].iconv);

	(void)printf("\t{\n");
	for (unsigned lead = 0; lead < LEAD_COUNT; lead++) {
		for (unsigned trail = 0; trail < TRAIL_COUNT; trail++) {
			const unsigned char pair[2] = {(unsigned char)(LEAD_FIRST + lead),
				(unsigned char)(TRAIL_FIRST + trail)};

			(void)printf("0x%x,", ask(cd, pair, sizeof(pair)));
		}
		(void)printf("\n");
	}
	(void)printf("},\n");
	(void)iconv_close(cd); /* nothing was written */
}

int main(void)
{
	(void)printf("/* Made by charset_make. */\n#include \"tables.h\"\n\n");
	(void)printf("const char *const table_single_names[SINGLES] = {\n");
	for (size_t i = 0; i < SINGLES; i++)
		(void)printf("\t\"%s\",\n", singles[i].name);
	(void)printf("};\nconst char *const table_double_names[DOUBLES] = {\n");
	for (size_t i = 0; i < DOUBLES; i++)
		(void)printf("\t\"%s\",\n", doubles[i].name);
	(void)printf("};\nconst uint16_t table_single[SINGLES][SINGLE_COUNT] = {\n");
	for (size_t i = 0; i < SINGLES; i++)
		write_single(i);
	(void)printf("};\nconst uint16_t table_double[DOUBLES][LEAD_COUNT * TRAIL_COUNT] = {\n");
	for (size_t i = 0; i < DOUBLES; i++)
		write_double(i);
	(void)printf("};\n");
	return fflush(stdout) == 0 ? 0 : 1;
}
