/*
 * What a decision by command rules costs: a thousand rules, and scripts as models write them.
 */
#include <time.h>

#include "measure.h"
#include "mem/mem.h"
#include "rule/rule.h"

enum {
	RUNS = 101,
	DECISIONS = 50, /* per run, so that the clock's grain does not show */
	RULES = 1000,
	REACH_US = 200, /* ours: a decision is not to be felt beside the start of a sandbox */
	FILE_MAX_BYTES = 1 << 20,
};

static const struct {
	const char *name, *text;
} scripts[] = {
	{"one command",                    "git status --short"                                        },
	{"a plain script of six commands", "cd src && git add -A && git commit -m 'a message of "
					   "some length' && git log -1 | head -n 5 "
					   "; make -j4 check"},
	{"a script of 30 lines",
         "set -eu\nfor f in src/*.c; do\n\tif grep -q \"TODO\" \"$f\"; then\n\t\techo "
		"\"$f\" >&2\n"
		"\tfi\ndone\ncat > /tmp/note.md <<'EOT'\n# A note\n\nIt's text, with \"quotes\" "
		"and (parens).\n"
		"Several lines of it, as a model would write into a file of its own making.\nEOT\n"
		"count=$(git diff --name-only | wc -l)\ncase $count in\n0) echo none ;;\n"
		"*) git diff --stat | tail -n 1 ;;\nesac\nfind . -name '*.o' -exec rm -f {} +\n"
		"env CC=gcc timeout 60 make -j4 2>&1 | tee build.log\nfunction show() {\n"
		"\tprintf '%s\\n' \"$1\"\n}\nshow \"done: ${count:-0}\"\n"
		"sh -c 'cd build && ctest -j2 --output-on-failure'\nexit 0\n"                          },
};

/* Of the processor: nothing here waits, and what else the machine does stays out. */
static double now_ms(void)
{
	struct timespec t;

	must(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Every tenth of them is for git, so that a script meets many. */
static struct rules *make_rules(void)
{
	static const char *const decisions[] = {"allow", "prompt", "forbidden"};
	_cleanup_(buf) struct buf text = BUF_INIT(FILE_MAX_BYTES);
	struct rules *r = rules_new();
	struct error err = ERROR_INIT;

	for (int i = 0; i < RULES; i++) {
		_cleanup_(mem) char *name = i % 10 ? xasprintf("tool%d", i) : xstrdup("git");

		(void)buf_printf(&text,
			"prefix_rule(pattern=['%s', ['a%d', 'b']], decision='%s')\n", name, i,
			decisions[i % 3]); /* cleared long before it is full */
		if (text.len > RULES_FILE_MAX_BYTES / 2 || i == RULES - 1) {
			if (rules_read_text(r, "bench", buf_str(&text), &err) < 0)
				measure_fail("%s", err.text);
			buf_clear(&text);
		}
	}
	return r;
}

static void measure_script(const struct rules *r, const char *name, struct str script)
{
	_cleanup_(mem) char *what = NULL;
	double us[RUNS];
	struct rule_verdict v;

	for (int i = 0; i < RUNS; i++) {
		const double start = now_ms();

		for (int k = 0; k < DECISIONS; k++)
			rules_decide(r, script, &v);
		us[i] = (now_ms() - start) * 1e3 / DECISIONS;
	}
	what = xasprintf("rule: %zu rules, %s", rules_count(r), name);
	measure_row(what, measure_median(us, RUNS), "us", MEASURE_MOST, REACH_US, "target");
}

int main(void)
{
	struct rules *r = make_rules();

	for (size_t i = 0; i < ARRAY_LEN(scripts); i++)
		measure_script(r, scripts[i].name, str_from(scripts[i].text));
	rules_free(r);
	return 0;
}
