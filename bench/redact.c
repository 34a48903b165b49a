/*
 * What it costs to take secrets out of what a tool printed: a mebibyte of each of four sorts of
 * output, in the pieces a pipe gives, with the keys of a machine that has many.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "measure.h"
#include "mem/mem.h"
#include "secret/secret.h"

enum {
	RUNS = 31,
	OUTPUT_BYTES = 1024 * 1024,
	PIECE_BYTES = 65536, /* what a pipe holds */
	KEYS = 12,
	KEY_BYTES = 64,
	REACH_MS = 3, /* ours: less than a tenth of what reading it from a command takes */
};

static const struct {
	const char *name, *lines; /* repeated until it is long enough; %KEY% is one of the keys */
} outputs[] = {
	{"a build's log",
         "[ 12%] Building C object lib/secret/CMakeFiles/secret.dir/filter.c.o\n"
		"/usr/include/x86_64-linux-gnu/bits/types.h:139:30: note: previous declaration\n"
		"make[2]: Entering directory '/srv/project/build'\n"                      },
	{"source text",
         "static int read_key(struct str key, const char *password, struct error *err)\n{\n"
		"\tif (key.len == 0)\n\t\treturn error_set(err, &NO_KEY, \"key: is empty\");\n"
		"\treturn compare(key, password, api_key_of(err)); /* token: none */\n}\n"},
	{"JSON with fields that hold secrets",
         "{\"id\": 17, \"user\": \"ann\", \"password\": \"correct horse\", \"url\": "
		"\"https://example.org/?q=1&api_key=0123456789abcdef\"},\n"               },
	{"lines that hold keys",
         "export PROVIDER_TOKEN=%KEY%\nsk-0000 and sk-1111 are none of them\n"            },
};

/* Of the processor: nothing here waits, and what else the machine does stays out. */
static double now_ms(void)
{
	struct timespec t;

	must(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* They begin alike, as the keys of one provider do. */
static char *make_key(int n)
{
	char *key = xasprintf("sk-%0*d", KEY_BYTES - 3, n);

	for (size_t i = 3; i < KEY_BYTES; i++)
		key[i] = (char)('a' + (key[i] + n + (int)i * 7) % 26);
	return key;
}

static struct secret_set *make_set(void)
{
	struct secret_set *set = secret_set_new();

	for (int i = 0; i < KEYS; i++) {
		_cleanup_(mem) char *key = make_key(i);

		secret_set_add(set, str_from(key));
	}
	return set;
}

static void fill(struct buf *to, const char *lines)
{
	const char *mark = strstr(lines, "%KEY%");

	for (int i = 0; to->len < OUTPUT_BYTES; i++) {
		_cleanup_(mem) char *key = make_key(i % KEYS);

		if (mark)
			(void)buf_printf(to, "%.*s%s%s", (int)(mark - lines), lines, key,
				mark + strlen("%KEY%")); /* has room */
		else
			(void)buf_put(to, lines, strlen(lines)); /* has room */
	}
}

static void measure_output(const struct secret_set *set, const char *name, const char *lines)
{
	_cleanup_(buf) struct buf in = BUF_INIT(2 * OUTPUT_BYTES);
	_cleanup_(buf) struct buf out = BUF_INIT(4 * OUTPUT_BYTES);
	_cleanup_(mem) char *what = NULL;
	double ms[RUNS];

	fill(&in, lines);
	for (int i = 0; i < RUNS; i++) {
		const double start = now_ms();
		struct secret_filter *f = secret_filter_new(set);

		buf_clear(&out);
		for (size_t at = 0; at < OUTPUT_BYTES; at += PIECE_BYTES)
			(void)secret_filter_put(f, in.data + at, PIECE_BYTES, &out); /* has room */
		(void)secret_filter_end(f, &out);                                    /* has room */
		secret_filter_free(f);
		ms[i] = now_ms() - start;
	}
	if (out.full)
		measure_fail("what is left of %s is too long", name);
	what = xasprintf("redact: 1 MiB, %s", name);
	measure_row(what, measure_median(ms, RUNS), "ms", MEASURE_MOST, REACH_MS, "target");
}

int main(void)
{
	struct secret_set *set = make_set();

	for (size_t i = 0; i < ARRAY_LEN(outputs); i++)
		measure_output(set, outputs[i].name, outputs[i].lines);
	secret_set_free(set);
	return 0;
}
