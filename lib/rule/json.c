/* json: rules as they go over the wire and into the store. */
#include "rule/internal.h"

struct member {
	const struct json *pattern;
	int decision;
	struct str justification;
};

static const char *const decisions[] = {"allow", "prompt", "forbidden", NULL};

static const struct json_field rule_fields[] = {
	JSON_NODE(struct member, pattern, .required = true),
	JSON_ENUM(struct member, decision, decisions, .required = true),
	JSON_STR(struct member, justification),
};
static const struct json_table rule_table = {rule_fields, ARRAY_LEN(rule_fields), NULL, NULL};

/* One element: a word, or a list of them. */
static int read_element(
	struct arena *a, const struct json *value, struct str_list *ret, struct error *err)
{
	const struct json *word = value->type == JSON_ARRAY ? value->child : value;
	const char *wrong = NULL;
	size_t n = 0;

	if (value->type == JSON_ARRAY && value->count == 0)
		return error_set(err, &RULES_INVALID, "an empty list of alternatives");
	if (value->type == JSON_ARRAY && value->count > RULE_ALTERNATIVES_MAX)
		return error_set(
			err, &RULES_LIMIT, "more than %d alternatives", RULE_ALTERNATIVES_MAX);
	ret->count = value->type == JSON_ARRAY ? value->count : 1;
	ret->items = arena_alloc(a, ret->count * sizeof(*ret->items));
	for (; n < ret->count; word = word->next) {
		if (word->type != JSON_STRING)
			return error_set(err, &RULES_INVALID, "not a word or a list of words");
		wrong = rule_check_word(word->text);
		if (wrong)
			return error_set(err, &RULES_INVALID, "%s", wrong);
		ret->items[n++] = word->text;
	}
	return 0;
}

static int read_pattern(
	struct arena *a, const struct json *value, struct rule_draft *d, struct error *err)
{
	if (value->type != JSON_ARRAY || value->count == 0)
		return error_set(err, &RULES_INVALID, "pattern: not a list with a word in it");
	if (value->count > RULE_PATTERN_MAX)
		return error_set(
			err, &RULES_LIMIT, "pattern: more than %d elements", RULE_PATTERN_MAX);
	json_for_each (element, value) {
		if (read_element(a, element, &d->pattern[d->length], err) < 0)
			return error_prefix(err, "pattern[%zu]", d->length);
		d->length++;
	}
	return 0;
}

static int read_rule(struct rules *r, const struct json *value, uint32_t place, struct error *err)
{
	_cleanup_(arena) struct arena a = {NULL};
	struct error why = ERROR_INIT;
	struct member m = {.pattern = NULL};
	struct rule_draft d = {.line = place};
	const char *wrong;

	if (json_decode(&a, value, &rule_table, &m, NULL, &why) < 0)
		return error_set(err, &RULES_INVALID, "%s", why.text);
	if (read_pattern(&a, m.pattern, &d, err) < 0)
		return -1;
	wrong = rule_check_justification(m.justification);
	if (wrong)
		return error_set(err, &RULES_INVALID, "%s", wrong);
	d.decision = (enum rule_decision)(m.decision + RULE_ALLOW);
	d.justification = m.justification;
	return rules_add(r, &d, err);
}

static int read_list(struct rules *r, const struct json *value, struct error *err)
{
	uint32_t place = 0;

	json_for_each (item, value) {
		if (read_rule(r, item, place + 1, err) < 0)
			return error_prefix(err, "rules[%u]", place);
		place++;
	}
	return 0;
}

int rules_from_json(const struct json *value, struct rules **ret, struct error *err)
{
	const struct json *why = json_get(value, "unreadable");
	_cleanup_(rules) struct rules *r = NULL;

	if (value && value->type == JSON_OBJECT) {
		if (!why || why->type != JSON_STRING || value->count != 1)
			return error_set(err, &RULES_INVALID,
				"rules: an object other than {\"unreadable\": \"why\"}");
		*ret = rules_new_unreadable(why->text);
		return 0;
	}
	if (!value || value->type != JSON_ARRAY)
		return error_set(err, &RULES_INVALID,
			"rules: neither a list of rules nor {\"unreadable\": \"why\"}");
	r = rules_new();
	if (read_list(r, value, err) < 0)
		return -1;
	*ret = mem_take(&r);
	return 0;
}

/*
 * Writing.
 */
static void open(struct json_out *j, const char *name, char kind)
{
	if (name)
		json_open_key(j, name, kind);
	else
		json_open(j, kind);
}

static void put_element(struct json_out *j, const struct str_list *element)
{
	if (element->count == 1) {
		json_put_str(j, NULL, element->items[0]);
		return;
	}
	json_open(j, '[');
	for (size_t i = 0; i < element->count; i++)
		json_put_str(j, NULL, element->items[i]);
	json_close(j, ']');
}

void rule_put_pattern(const struct rule *rule, struct json_out *j)
{
	json_open_key(j, "pattern", '[');
	for (size_t i = 0; i < rule->length; i++)
		put_element(j, &rule->pattern[i]);
	json_close(j, ']');
}

static void put_rule(struct json_out *j, const struct rule *rule)
{
	json_open(j, '{');
	rule_put_pattern(rule, j);
	json_put_cstr(j, "decision", rule_decision_names[rule->decision]);
	if (rule->justification.p)
		json_put_str(j, "justification", rule->justification);
	json_close(j, '}');
}

void rules_put_json(const struct rules *r, struct json_out *j, const char *name)
{
	if (r->unreadable.p) {
		open(j, name, '{');
		json_put_str(j, "unreadable", r->unreadable);
		json_close(j, '}');
		return;
	}
	open(j, name, '[');
	for (size_t i = 0; i < r->count; i++)
		put_rule(j, &r->items[i]);
	json_close(j, ']');
}
