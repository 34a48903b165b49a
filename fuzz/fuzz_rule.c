/*
 * fuzz rule: a plain script is written and read as the same, and the lenient reader finds each of
 * its commands; a rule for any of them is met. A `.rules` file that is read is the same as JSON,
 * and decides without losing what is strict.
 *
 * Input: a script, and after 0x1e a `.rules` file.
 */
#include "fuzz/fuzz.h"
#include "rule/rule.h"

enum {
	OUT_MAX_BYTES = 8 * RULE_SCRIPT_MAX_BYTES, /* ours: a byte is at most a quoted one */
	JSON_OUT_MAX_BYTES = 64 << 20,
};

static void check_same(const struct rule_script *a, const struct rule_script *b)
{
	must(a->count == b->count);
	for (size_t i = 0; i < a->count; i++) {
		const struct rule_command *x = &a->commands[i], *y = &b->commands[i];

		must(x->join == y->join && x->words.count == y->words.count);
		for (size_t k = 0; k < x->words.count; k++)
			must(str_eq(x->words.items[k], y->words.items[k]));
	}
}

static bool covers(const struct rule_found *c, const struct str_list *words)
{
	if (c->count < words->count)
		return false;
	for (size_t k = 0; k < words->count; k++)
		if (c->words[k].certainty == RULE_EXACT &&
			!str_eq(c->words[k].text, words->items[k]))
			return false;
	return c->words[0].certainty == RULE_EXACT;
}

static bool is_found(const struct rule_finds *finds, const struct str_list *words)
{
	for (size_t i = 0; i < finds->count; i++)
		if (covers(&finds->items[i], words))
			return true;
	return false;
}

/* Allowed by its own words, prompted for one of them, forbidden by both. */
static void check_rules_for(struct str script, const struct rule_script *plain)
{
	_cleanup_(rules) struct rules *r = rules_new();
	struct rule_verdict v;

	for (size_t i = 0; i < plain->count; i++) {
		_cleanup_(buf) struct buf text = BUF_INIT(OUT_MAX_BYTES);

		(void)buf_puts(&text, "prefix_rule(pattern=['");
		(void)buf_put_str(&text, plain->commands[i].words.items[0]); /* needs no escape */
		(void)buf_puts(&text, "'])\n");
		if (rules_count(r) < 64 &&
			plain->commands[i].words.items[0].len <= RULE_WORD_MAX_BYTES)
			must(rules_read_text(r, "x", buf_str(&text), NULL) == 0);
		rules_decide(r, script, &v);
		must(v.plain && !v.tangled);
		must(v.decision == RULE_NONE || v.decision == RULE_ALLOW);
		if (i + 1 == plain->count && rules_count(r) == plain->count)
			must(v.decision == RULE_ALLOW && v.rule == rules_at(r, 0));
	}
}

static void check_plain(struct arena *a, struct str script, const struct rule_script *plain)
{
	_cleanup_(buf) struct buf put = BUF_INIT(OUT_MAX_BYTES);
	struct rule_script again;
	struct rule_doubt doubt;
	struct rule_finds finds;

	must(plain->count > 0);
	rule_script_put(&put, plain);
	must(!put.full);
	if (put.len <= RULE_SCRIPT_MAX_BYTES) { /* quotes may have made it longer */
		must(rule_script_read(a, buf_str(&put), &again, &doubt) == 1);
		check_same(plain, &again);
	}
	rule_find(a, script, &finds);
	for (size_t i = 0; i < plain->count && !finds.tangled; i++)
		must(is_found(&finds, &plain->commands[i].words));
	if (plain->count <= 16)
		check_rules_for(script, plain);
}

static void check_explained(const struct rules *r, struct str script)
{
	_cleanup_(buf) struct buf text = BUF_INIT(JSON_OUT_MAX_BYTES);
	struct rule_verdict v;
	struct error err = ERROR_INIT;

	rules_decide(r, script, &v);
	must((v.decision == RULE_NONE) == (v.rule == NULL));
	must(!v.rule || v.rule->decision == v.decision);
	must(v.decision != RULE_ALLOW || v.plain);
	if (v.decision == RULE_FORBIDDEN) {
		must(rules_refusal(r, &v, &err) == -1);
		fuzz_check_error(&err);
	}
	rules_explain(r, script, &text);
	must(text.len > 0 && utf8_valid(buf_str(&text)));
	must(str_starts(buf_str(&text), str_from(rule_decision_names[v.decision])));
}

static void check_file(struct str file, struct str script)
{
	_cleanup_(arena) struct arena a = {NULL};
	_cleanup_(rules) struct rules *r = rules_new(), *again = NULL;
	_cleanup_(buf) struct buf json = BUF_INIT(JSON_OUT_MAX_BYTES),
				  second = BUF_INIT(JSON_OUT_MAX_BYTES);
	struct json_out j = JSON_OUT(&json), k = JSON_OUT(&second);
	struct error err = ERROR_INIT;
	const struct json *value;

	if (rules_read_text(r, "fuzz", file, &err) < 0) {
		fuzz_check_error(&err);
		must(error_is(&err, &RULES_UNREADABLE) || error_is(&err, &RULES_LIMIT));
		must(str_starts(str_from(err.text), STR("fuzz:")));
		return;
	}
	rules_put_json(r, &j, NULL);
	must(json_parse(&a, buf_str(&json), &value, NULL) == 0);
	must(rules_from_json(value, &again, NULL) == 0);
	rules_put_json(again, &k, NULL);
	must(str_eq(buf_str(&json), buf_str(&second)));
	check_explained(r, script);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = fuzz_str(data, size), first = STR(""), second = STR("");
	_cleanup_(arena) struct arena a = {NULL};
	struct rule_script plain;
	struct rule_doubt doubt = {NULL, 0};
	struct rule_finds finds;

	(void)str_next(&rest, '\x1e', &first);
	(void)str_next(&rest, '\x1e', &second);
	_cleanup_(fuzz_exact) const struct str script = fuzz_exact(first);
	_cleanup_(fuzz_exact) const struct str file = fuzz_exact(second);

	if (rule_script_read(&a, script, &plain, &doubt)) {
		check_plain(&a, script, &plain);
	} else {
		must(doubt.why && doubt.at <= script.len);
		rule_find(&a, script, &finds);
	}
	check_file(file, script);
	return 0;
}
