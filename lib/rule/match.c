/*
 * match: a command against rules, and what all rules say of a script.
 *
 * How far a pattern has come is a set of bits: bit k stands for "the first k elements are matched".
 * A word moves each of them on or drops it; one that may be any number of words sets all above the
 * lowest.
 */
#include "rule/internal.h"

_Static_assert(RULE_PATTERN_MAX < 64, "how far a pattern has come is one word of bits");

bool rule_element_has(const struct str_list *element, struct str word)
{
	for (size_t i = 0; i < element->count; i++)
		if (str_eq(element->items[i], word))
			return true;
	return false;
}

/* The usual walk back to the last hole: in the worst case the product of both lengths, which is
 * bounded by that of a rule's word. */
bool rule_shape_fits(struct str shape, struct str text)
{
	size_t s = 0, t = 0, hole = SIZE_MAX, from = 0;

	while (t < text.len) {
		if (s < shape.len && shape.p[s] == '\0') {
			hole = s++;
			from = t;
		} else if (s < shape.len && shape.p[s] == text.p[t]) {
			s++;
			t++;
		} else if (hole != SIZE_MAX) {
			s = hole + 1;
			t = ++from;
		} else {
			return false;
		}
	}
	while (s < shape.len && shape.p[s] == '\0')
		s++;
	return s == shape.len;
}

static bool element_fits(const struct str_list *element, const struct rule_word *word)
{
	if (word->certainty == RULE_EXACT)
		return rule_element_has(element, word->text);
	for (size_t i = 0; i < element->count; i++)
		if (rule_shape_fits(word->text, element->items[i]))
			return true;
	return false;
}

/* One word that is exactly one. */
static uint64_t step(const struct rule *rule, const struct rule_word *word, uint64_t state)
{
	uint64_t next = 0;

	for (size_t k = 0; k < rule->length; k++)
		if (state >> k & 1 && element_fits(&rule->pattern[k], word))
			next |= UINT64_C(1) << (k + 1);
	return next;
}

bool rule_matches(const struct rule *rule, const struct rule_word *words, size_t count)
{
	const uint64_t end = UINT64_C(1) << rule->length;
	uint64_t state = 1;

	for (size_t i = 0; i < count && state && !(state & end); i++) {
		if (words[i].certainty == RULE_ANY) {
			state |= (end << 1) - (state & -state);
			continue;
		}
		state = step(rule, &words[i], state);
		if (words[i].certainty == RULE_SHAPE) /* a glob makes one word or more */
			for (uint64_t before = 0; before != state;) {
				before = state;
				state |= step(rule, &words[i], state);
			}
	}
	return state & end;
}

bool rule_matches_exactly(const struct rule *rule, const struct str_list *words)
{
	if (words->count < rule->length)
		return false;
	for (size_t i = 0; i < rule->length; i++)
		if (!rule_element_has(&rule->pattern[i], words->items[i]))
			return false;
	return true;
}

/*
 * Deciding.
 */
static bool is_better(const struct rule *rule, const struct rule *than)
{
	return !than || rule->decision > than->decision ||
	       (rule->decision == than->decision && rule < than);
}

/* The strictest rule that matches, or what was best before. */
static const struct rule *judge_found(
	const struct rules *r, const struct rule_found *c, const struct rule *best)
{
	const struct rule_bucket *b = NULL;
	const bool exact = c->words[0].certainty == RULE_EXACT;
	size_t n = r->count;

	if (exact) {
		b = table_get(r->by_word, c->words[0].text);
		n = b ? b->count : 0;
	}
	for (size_t i = 0; i < n; i++) {
		const struct rule *rule = &r->items[b ? b->items[i] : i];

		if (rule->decision > RULE_ALLOW && is_better(rule, best) &&
			rule_matches(rule, c->words, c->count))
			best = rule;
	}
	return best;
}

/* The first that allows a plain command. */
static const struct rule *find_allow(const struct rules *r, const struct str_list *words)
{
	const struct rule_bucket *b = table_get(r->by_word, words->items[0]);

	for (size_t i = 0; b && i < b->count; i++) {
		const struct rule *rule = &r->items[b->items[i]];

		if (rule->decision == RULE_ALLOW && rule_matches_exactly(rule, words))
			return rule;
	}
	return NULL;
}

static const struct rule *judge_any(const struct rules *r, const struct rule *best)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->items[i].decision > RULE_ALLOW && is_better(&r->items[i], best))
			best = &r->items[i];
	return best;
}

static void restrain(
	struct arena *a, const struct rules *r, struct str script, struct rule_verdict *ret)
{
	struct rule_finds finds;

	if (r->count_of[RULE_FORBIDDEN] + r->count_of[RULE_PROMPT] == 0)
		return;
	rule_find(a, script, &finds);
	for (size_t i = 0; i < finds.count; i++)
		ret->rule = judge_found(r, &finds.items[i], ret->rule);
	ret->tangled = finds.tangled;
	if (finds.tangled)
		ret->rule = judge_any(r, ret->rule);
	if (ret->rule)
		ret->decision = ret->rule->decision;
}

void rules_decide(const struct rules *r, struct str script, struct rule_verdict *ret)
{
	_cleanup_(arena) struct arena a = {NULL};
	struct rule_script plain;
	struct rule_doubt doubt;
	const struct rule *first = NULL;

	*ret = (struct rule_verdict){.decision = RULE_NONE};
	if (r->unreadable.p) {
		ret->decision = RULE_FORBIDDEN;
		return;
	}
	restrain(&a, r, script, ret);
	ret->plain = rule_script_read(&a, script, &plain, &doubt);
	if (ret->rule || !ret->plain)
		return;
	for (size_t i = 0; i < plain.count; i++) {
		const struct rule *allow = find_allow(r, &plain.commands[i].words);

		if (!allow)
			return;
		first = first ? first : allow;
	}
	ret->decision = RULE_ALLOW;
	ret->rule = first;
}

static int refuse_by_rule(const struct rule *rule, struct error *err)
{
	_cleanup_(buf) struct buf pattern = BUF_INIT(ERROR_TEXT_MAX);
	const struct str why = rule->justification;

	for (size_t i = 0; i < rule->length; i++) {
		(void)buf_puts(&pattern, i > 0 ? " " : ""); /* cut where it is full */
		for (size_t k = 0; k < rule->pattern[i].count; k++) {
			(void)buf_puts(&pattern, k > 0 ? "|" : "");
			(void)buf_put_str(&pattern, rule->pattern[i].items[k]);
		}
	}
	return error_set(err, &RULES_FORBIDDEN, "a command rule forbids '%.*s'%s%.*s",
		STR_ARG(str_cut(buf_str(&pattern), 200)), why.len > 0 ? ": " : "", (int)why.len,
		why.p ? why.p : "");
}

int rules_refusal(const struct rules *r, const struct rule_verdict *v, struct error *err)
{
	must(v->decision == RULE_FORBIDDEN);
	if (v->rule)
		return refuse_by_rule(v->rule, err);
	return error_set(err, &RULES_UNREADABLE,
		"the command rules could not be read, so no command "
		"runs: %.*s",
		STR_ARG(r->unreadable));
}
