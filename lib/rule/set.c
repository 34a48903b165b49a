/* set: rules as they are filled, and found by the first word of a command. */
#include "rule/internal.h"

const struct error_kind RULES_INVALID = {"invalid_rules", ERROR_CLASS_USAGE};
const struct error_kind RULES_UNREADABLE = {"rules_unreadable", ERROR_CLASS_DENIED};
const struct error_kind RULES_LIMIT = {"rules_limit", ERROR_CLASS_LIMIT};
const struct error_kind RULES_FORBIDDEN = {"rule_forbidden", ERROR_CLASS_DENIED};

const char *const rule_decision_names[] = {"none", "allow", "prompt", "forbidden", NULL};

enum {
	WHY_MAX_BYTES = 1024, /* rule.h */
};

struct rules *rules_new(void)
{
	struct rules *r = xcalloc(1, sizeof(*r));

	r->by_word = table_new();
	return r;
}

void rules_free(struct rules *r)
{
	struct rule_bucket *b;
	size_t at = 0;

	if (!r)
		return;
	while ((b = table_next(r->by_word, &at))) {
		free(b->items);
		free(b);
	}
	table_free(r->by_word);
	free(r->items);
	arena_release(&r->a);
	free(r);
}

struct rules *rules_new_unreadable(struct str why)
{
	/* an escape is at most eight bytes long */
	_cleanup_(buf) struct buf clean = BUF_INIT(8 * WHY_MAX_BYTES);
	struct rules *r = rules_new();
	struct str cut;

	(void)text_put_line(
		&clean, (struct str){why.p, why.len < WHY_MAX_BYTES ? why.len : WHY_MAX_BYTES});
	cut = str_cut(buf_str(&clean), WHY_MAX_BYTES);
	if (cut.len == 0)
		cut = STR("no reason was given");
	r->unreadable = (struct str){arena_strndup(&r->a, cut.p, cut.len), cut.len};
	return r;
}

struct str rules_unreadable(const struct rules *r)
{
	return r->unreadable;
}

size_t rules_count(const struct rules *r)
{
	return r->count;
}

const struct rule *rules_at(const struct rules *r, size_t i)
{
	must(i < r->count);
	return &r->items[i];
}

/*
 * Adding.
 */
static bool has_control(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
			return true;
	return false;
}

const char *rule_check_word(struct str word)
{
	if (word.len == 0)
		return "a word is empty";
	if (word.len > RULE_WORD_MAX_BYTES)
		return "a word is over 1024 bytes";
	return has_control(word) ? "a word has a control character" : NULL;
}

const char *rule_check_justification(struct str text)
{
	if (text.len > RULE_JUSTIFICATION_MAX_BYTES)
		return "justification is over 1024 bytes";
	return has_control(text) ? "justification has a control character" : NULL;
}

static struct str keep(struct rules *r, struct str s)
{
	return s.p ? (struct str){arena_strndup(&r->a, s.p, s.len), s.len} : s;
}

static void file_under(struct rules *r, struct str word, uint32_t place)
{
	struct rule_bucket *b = table_get(r->by_word, word);

	if (!b) {
		b = xcalloc(1, sizeof(*b));
		(void)table_set(r->by_word, word, b); /* there was none */
	}
	if (b->count > 0 && b->items[b->count - 1] == place)
		return; /* an alternative given twice */
	if (b->count == b->cap) {
		b->cap = b->cap ? 2 * b->cap : 4;
		b->items = xrealloc(b->items, b->cap, sizeof(*b->items));
	}
	b->items[b->count++] = place;
}

static struct str_list keep_element(struct rules *r, const struct str_list *from)
{
	struct str_list to = {arena_alloc(&r->a, from->count * sizeof(*to.items)), from->count};

	for (size_t i = 0; i < from->count; i++)
		to.items[i] = keep(r, from->items[i]);
	return to;
}

int rules_add(struct rules *r, const struct rule_draft *d, struct error *err)
{
	struct rule *rule;

	must(d->length > 0 && d->length <= RULE_PATTERN_MAX && d->decision != RULE_NONE);
	if (r->count == RULES_MAX)
		return error_set(err, &RULES_LIMIT, "more than %d rules", RULES_MAX);
	if (r->count == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 16;
		r->items = xrealloc(r->items, r->cap, sizeof(*r->items));
	}
	rule = &r->items[r->count];
	*rule = (struct rule){
		.pattern = arena_alloc(&r->a, d->length * sizeof(*rule->pattern)),
		.length = d->length,
		.decision = d->decision,
		.justification = keep(r, d->justification),
		.file = keep(r, d->file),
		.line = d->line,
	};
	for (size_t i = 0; i < d->length; i++)
		rule->pattern[i] = keep_element(r, &d->pattern[i]);
	for (size_t i = 0; i < d->pattern[0].count; i++)
		file_under(r, d->pattern[0].items[i], (uint32_t)r->count);
	r->count++;
	r->count_of[d->decision]++;
	return 0;
}
