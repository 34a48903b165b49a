/*
 * explain: why a script is decided as it is: first what comes of it, then command by command what
 * matches, or which word stands in the way.
 */
#include "rule/internal.h"

enum {
	NEAR_MAX = 3,       /* ours: rules that all but match; more say nothing new */
	COMMANDS_MAX = 100, /* ours: shown; who reads on is served by a smaller script */
};

/* Appends go to the caller's buffer, which says itself when it is full. */
static void put_pattern(struct buf *to, const struct rule *rule)
{
	for (size_t i = 0; i < rule->length; i++) {
		(void)buf_puts(to, i > 0 ? " " : "");
		for (size_t k = 0; k < rule->pattern[i].count; k++) {
			(void)buf_puts(to, k > 0 ? "|" : "");
			(void)text_put_line(to, rule->pattern[i].items[k]);
		}
	}
}

void rule_put_text(const struct rule *rule, struct buf *to)
{
	(void)buf_printf(to, "%s [", rule_decision_names[rule->decision]);
	put_pattern(to, rule);
	(void)buf_puts(to, "] (");
	if (rule->file.p) {
		(void)text_put_line(to, rule->file);
		(void)buf_printf(to, ":%u)", rule->line);
	} else {
		(void)buf_printf(to, "rule %u)", rule->line);
	}
	if (rule->justification.len > 0) {
		(void)buf_puts(to, ": ");
		(void)text_put_line(to, rule->justification);
	}
}

static void put_word(struct buf *to, struct arena *a, const struct rule_word *word)
{
	char *text;

	if (word->certainty == RULE_ANY) {
		(void)buf_puts(to, "…");
		return;
	}
	text = arena_strndup(a, word->text.p, word->text.len);
	for (size_t i = 0; i < word->text.len; i++)
		if (text[i] == '\0')
			text[i] = '*';
	(void)buf_putc(to, '\'');
	(void)text_put_line(to, (struct str){text, word->text.len});
	(void)buf_putc(to, '\'');
}

static void put_words(struct buf *to, struct arena *a, const struct rule_found *c)
{
	(void)buf_puts(to, " ");
	for (size_t i = 0; i < c->count; i++) {
		(void)buf_putc(to, ' ');
		put_word(to, a, &c->words[i]);
	}
	(void)buf_putc(to, '\n');
}

/* The first word that is not as the rule wants it. */
static void put_miss(
	struct buf *to, struct arena *a, const struct rule *rule, const struct rule_found *c)
{
	size_t i = 0;

	while (i < c->count && i < rule->length &&
		(c->words[i].certainty != RULE_EXACT ||
			rule_element_has(&rule->pattern[i], c->words[i].text)))
		i++;
	(void)buf_puts(to, "    not ");
	rule_put_text(rule, to);
	if (i < c->count) {
		(void)buf_printf(to, "\n      word %zu is ", i + 1);
		put_word(to, a, &c->words[i]);
		(void)buf_putc(to, '\n');
	} else {
		(void)buf_puts(to, "\n      it has more words\n");
	}
}

/* An allow rule wants words that are told; what may match is enough for the others. */
static bool counts(const struct rule *rule, const struct rule_found *c, bool plain)
{
	if (rule->decision == RULE_ALLOW && !plain)
		return false;
	return rule_matches(rule, c->words, c->count);
}

static void put_command(struct buf *to, struct arena *a, const struct rules *r, bool plain,
	const struct rule_found *c)
{
	const bool exact = c->words[0].certainty == RULE_EXACT;
	size_t matched = 0, missed = 0;

	put_words(to, a, c);
	for (size_t i = 0; i < r->count; i++) {
		if (!counts(&r->items[i], c, plain))
			continue;
		matched++;
		(void)buf_puts(to, "    matches ");
		rule_put_text(&r->items[i], to);
		(void)buf_putc(to, '\n');
	}
	for (size_t i = 0; i < r->count && matched == 0 && exact && missed < NEAR_MAX; i++) {
		if (!rule_element_has(&r->items[i].pattern[0], c->words[0].text) ||
			rule_matches(&r->items[i], c->words, c->count))
			continue;
		missed++;
		put_miss(to, a, &r->items[i], c);
	}
	if (matched + missed == 0)
		(void)buf_puts(to, "    no rule\n");
}

static void put_outcome(
	struct buf *to, const struct rule_verdict *v, const struct rule_doubt *doubt)
{
	static const char *const means[] = {
		[RULE_NONE] = "no rule decides; inside the sandbox, or as it asked",
		[RULE_ALLOW] = "outside the sandbox, without asking",
		[RULE_PROMPT] = "waits for a verdict; refused where nobody is asked",
		[RULE_FORBIDDEN] = "refused, also when it asks to leave the sandbox",
	};

	(void)buf_printf(to, "%s: %s\n", rule_decision_names[v->decision], means[v->decision]);
	if (v->rule && v->decision > RULE_ALLOW) {
		(void)buf_puts(to, "  by ");
		rule_put_text(v->rule, to);
		(void)buf_putc(to, '\n');
	}
	if (v->tangled)
		(void)buf_puts(to, "  too tangled or long to be followed to its end, so that every "
				   "prompt and forbidden rule counts\n");
	if (v->plain)
		(void)buf_puts(to, "  a plain script: allowed when every command is\n");
	else
		(void)buf_printf(to,
			"  not a plain script, so that no allow rule counts: %s at byte %zu\n",
			doubt->why, doubt->at);
}

void rules_explain(const struct rules *r, struct str script, struct buf *to)
{
	_cleanup_(arena) struct arena a = {NULL};
	struct rule_script plain;
	struct rule_doubt doubt = {"", 0};
	struct rule_finds finds;
	struct rule_verdict v;

	if (r->unreadable.p) {
		(void)buf_puts(to, "forbidden: the rules could not be read, so every command is "
				   "refused\n  ");
		(void)text_put_line(to, r->unreadable);
		(void)buf_putc(to, '\n');
		return;
	}
	rules_decide(r, script, &v);
	(void)rule_script_read(&a, script, &plain, &doubt); /* v says whether it is */
	put_outcome(to, &v, &doubt);
	rule_find(&a, script, &finds);
	for (size_t i = 0; i < finds.count && i < COMMANDS_MAX; i++)
		put_command(to, &a, r, v.plain, &finds.items[i]);
	if (finds.count > COMMANDS_MAX)
		(void)buf_printf(to, "  and %zu more\n", finds.count - COMMANDS_MAX);
}
