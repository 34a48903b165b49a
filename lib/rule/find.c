/*
 * find: every command that can be told from a script, for rules that restrain. The reading itself
 * is in lex.c, programs that start others are in wrap.c; here commands are noted, and what ends it
 * all.
 */
#include "rule/internal.h"

enum {
	SHAPES_MAX = 64, /* ours: commands named in part; each is compared with every rule */
};

static bool has_letters(struct str shape)
{
	for (size_t i = 0; i < shape.len; i++)
		if (shape.p[i] != '\0')
			return true;
	return false;
}

static void note(struct finder *f, struct rule_word *words, size_t count)
{
	if (f->count == FIND_COMMANDS_MAX) {
		f->tangled = true;
		return;
	}
	if (f->count == f->cap) {
		f->cap = f->cap ? 2 * f->cap : 16;
		f->items = xrealloc(f->items, f->cap, sizeof(*f->items));
	}
	f->items[f->count++] = (struct rule_found){words, count};
}

/* A command whose name is told in part is compared with every rule: there are not to be many. */
static void note_shape(struct finder *f, struct rule_word *words, size_t count)
{
	if (!has_letters(words[0].text))
		return;
	if (f->shapes++ == SHAPES_MAX)
		f->tangled = true;
	note(f, words, count);
}

void rule_find_command(struct finder *f, struct rule_word *words, size_t count)
{
	_cleanup_(mem) bool *begins = xcalloc(count + 1, sizeof(*begins));
	size_t more = 0; /* 1: words may be added behind, and the last one says so */

	begins[0] = true;
	for (size_t i = 0; i < count && !f->tangled; i++) {
		if (!begins[i])
			continue;
		if (words[i].certainty != RULE_EXACT) {
			if (words[i].certainty != RULE_ANY)
				note_shape(f, words + i, count - i + more);
			begins[i + 1] = true; /* it may turn out to be nothing */
			continue;
		}
		note(f, words + i, count - i + more);
		if (rule_find_started(f, words, count, i, begins))
			more = 1;
		/* behind a program that starts others: `time { …`, `env A=b …` */
		if (rule_is_reserved(words[i].text) || rule_is_variable(words[i].text))
			begins[i + 1] = true;
	}
}

/* What is written to a shell: the arguments of every command, alone and in one. */
static void find_fed(struct finder *f)
{
	const size_t count = f->count;

	for (size_t i = 0; i < count && !f->tangled; i++) {
		const struct rule_found c = f->items[i];
		_cleanup_(buf) struct buf all = BUF_INIT(2 * WORD_MAX_BYTES);

		for (size_t k = 1; k < c.count && !rule_find_is_shell(&c); k++) {
			const struct str text = rule_find_text(f, &c.words[k]);

			if (!rule_find_spend(f, text.len + 1))
				return;
			(void)buf_put_str(&all, text); /* shorter than the script */
			(void)buf_putc(&all, ' ');
			if (c.count > 2)
				rule_find_script(f, text);
		}
		rule_find_script(
			f, (struct str){arena_strndup(f->a, buf_str(&all).p, all.len), all.len});
	}
}

void rule_find(struct arena *a, struct str script, struct rule_finds *ret)
{
	struct finder f = {.a = a, .steps = FIND_STEPS_MAX};

	if (script.len > RULE_SCRIPT_MAX_BYTES)
		f.tangled = true;
	else
		rule_find_script(&f, script);
	if (f.fed && f.flows)
		find_fed(&f);
	ret->items = f.count > 0 ? arena_dup(a, f.items, f.count * sizeof(*f.items)) : NULL;
	ret->count = f.count;
	ret->tangled = f.tangled;
	free(f.items);
}
