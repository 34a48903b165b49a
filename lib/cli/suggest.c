/*
 * suggest: which word of ours a mistyped one was meant to be.
 */
#include "cli/internal.h"
#include "mem/mem.h"

enum {
	WORD_MAX = 40,    /* ours: longer than any command or option; longer input gets no hint */
	PREFIX_MIN = 2,   /* ours: "in" hints at "interrupt", "i" at nothing */
	DISTANCE_MAX = 3, /* ours: beyond that a hint is a guess */
};

static size_t min2(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The number of letters to insert, drop, change or swap with the next to make one from the other.
 */
static size_t distance(struct str a, struct str b)
{
	size_t rows[3][WORD_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *now = rows[2], *spare;

	for (size_t k = 0; k <= b.len; k++) {
		before[k] = 0;
		last[k] = k;
	}
	for (size_t i = 1; i <= a.len; i++) {
		now[0] = i;
		for (size_t k = 1; k <= b.len; k++) {
			size_t change = last[k - 1] + (a.p[i - 1] != b.p[k - 1]);

			now[k] = min2(min2(last[k], now[k - 1]) + 1, change);
			if (i > 1 && k > 1 && a.p[i - 1] == b.p[k - 2] && a.p[i - 2] == b.p[k - 1])
				now[k] = min2(now[k], before[k - 2] + 1);
		}
		spare = before;
		before = last;
		last = now;
		now = spare;
	}
	return last[b.len];
}

/* How far off; SIZE_MAX for not near at all. */
static size_t nearness(struct str typed, struct str word)
{
	size_t off;

	if (typed.len == 0 || typed.len > WORD_MAX || word.len > WORD_MAX)
		return SIZE_MAX;
	if (typed.len >= PREFIX_MIN && str_starts(word, typed))
		return 1;
	off = distance(typed, word);
	/* A third of the letters, so that short words do not hint at any other short word. */
	return off <= DISTANCE_MAX && off * 3 <= (typed.len > 3 ? typed.len : 3) ? off : SIZE_MAX;
}

const char *cli_suggest_command(const struct cli_program *p, const char *typed)
{
	size_t best = SIZE_MAX, off;
	const char *found = NULL;

	for (size_t i = 0; i < p->count; i++) {
		const struct cli_command *c = p->commands[i];

		off = min2(nearness(str_from(typed), str_from(c->name)),
			nearness(str_from(typed), (struct str){c->name, cli_first_word(c)}));
		if (off < best) {
			best = off;
			found = c->name;
		}
	}
	if (nearness(str_from(typed), STR("help")) < best)
		found = "help";
	return found;
}

const char *cli_suggest_option(const struct cli_command *c, struct str typed)
{
	size_t best = SIZE_MAX, off;
	const struct cli_option *o;
	const char *found = NULL;

	for (size_t n = 0; (o = cli_option_at(c, n, NULL)); n++) {
		off = nearness(typed, str_from(o->name));
		if (off < best) {
			best = off;
			found = o->name;
		}
	}
	if (nearness(typed, STR("help")) < best)
		found = "help";
	return found;
}
