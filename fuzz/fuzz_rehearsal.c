/*
 * fuzz rehearsal: a conversation made of a script's own replies comes to its end, no call's id
 * comes twice in it, and the reply to a conversation is always the same.
 *
 * Input: a byte for what the tools answer, the script.
 */
#include "agent/core/rehearsal.h"
#include "fuzz/fuzz.h"

enum {
	ROUNDS_MAX_HERE = 48, /* ours: of a script that starts again at the top */
	ITEMS_MAX = ROUNDS_MAX_HERE * 66,
};

MEM_CLEANUP(rehearsal, struct rehearsal *, rehearsal_free)

/* A conversation under way. */
struct talk {
	struct arena arena;
	const struct rehearsal *script;
	struct str items[ITEMS_MAX];
	size_t count;
	struct str ids[ITEMS_MAX];
	size_t id_count;
	unsigned answers;
};

static void talk_cleanup(struct talk *t)
{
	arena_release(&t->arena);
}

static void check_same(const struct rehearsal_reply *a, const struct rehearsal_reply *b)
{
	must(str_eq(a->say, b->say) && a->call_count == b->call_count && a->line == b->line);
	must(a->delay_ms == b->delay_ms && a->chunk_bytes == b->chunk_bytes && a->cut == b->cut);
	must(str_eq(a->error, b->error) && str_eq(a->detail, b->detail) && a->ended == b->ended);
	for (size_t i = 0; i < a->call_count; i++) {
		must(str_eq(a->calls[i].call_id, b->calls[i].call_id));
		must(str_eq(a->calls[i].name, b->calls[i].name));
		must(str_eq(a->calls[i].arguments, b->calls[i].arguments));
	}
}

static void check_reply(const struct rehearsal_reply *r)
{
	must(r->say.p && utf8_valid(r->say));
	must(r->delay_ms >= 0 && r->delay_ms <= REHEARSAL_DELAY_MAX_MS);
	must(r->chunk_bytes >= 0 && r->ended == (r->line == 0));
	must(r->ended || r->say.p || r->call_count > 0 || r->cut || r->error.p);
	must(!r->error.p || (r->say.len == 0 && !r->cut && r->call_count == 0));
	must(r->call_count == 0 || r->expects);
	for (size_t i = 0; i < r->call_count; i++)
		must(r->calls[i].name.len > 0 && r->calls[i].arguments.p);
}

/* Asked twice, with the items in other places. */
static struct rehearsal_reply next(struct talk *t)
{
	_cleanup_(arena) struct arena a = {NULL};
	struct rehearsal_reply r, same;
	struct str moved[ITEMS_MAX];

	for (size_t i = 0; i < t->count; i++)
		moved[i] = (struct str){
			arena_strndup(&a, t->items[i].p, t->items[i].len), t->items[i].len};
	must(rehearsal_next(t->script, &t->arena, t->items, t->count, &r, NULL) == 0);
	must(rehearsal_next(t->script, &a, moved, t->count, &same, NULL) == 0);
	check_same(&r, &same);
	check_reply(&r);
	return r;
}

static void add(struct talk *t, struct str item)
{
	must(t->count < ITEMS_MAX);
	t->items[t->count++] = item;
}

static void add_id(struct talk *t, struct str id)
{
	for (size_t i = 0; i < t->id_count; i++)
		must(!str_eq(t->ids[i], id));
	must(id.len > 0);
	t->ids[t->id_count++] = id;
}

static void add_results(struct talk *t, const struct rehearsal_reply *r)
{
	static const char *const outputs[] = {
		"{\"exit_code\":0,\"stdout\":\"ok\"}", "{\"exit_code\":1}", "no", "ok"};

	for (size_t i = 0; i < r->call_count; i++) {
		const char *output = outputs[t->answers++ % ARRAY_LEN(outputs)];

		add_id(t, r->calls[i].call_id);
		add(t, item_result(&t->arena, ITEM_CHAT, r->calls[i].call_id, str_from(output),
			       NULL, 0));
	}
}

/* What the daemon stores after a reply: nothing of one that failed; then somebody says more. */
static void go_on(struct talk *t, const struct rehearsal_reply *r)
{
	if (!r->cut && !r->error.p)
		add(t, item_assistant(&t->arena, r->say, r->calls, r->call_count));
	if (r->call_count > 0)
		add_results(t, r);
	else
		add(t, item_user(&t->arena, ITEM_CHAT, r->cut ? STR("again") : STR("go on"), NULL,
			       0));
}

static size_t count_lines(struct str text)
{
	size_t n = 1;

	for (size_t i = 0; i < text.len; i++)
		n += text.p[i] == '\n';
	return n;
}

static void converse(const struct rehearsal *script, struct str text, unsigned answers)
{
	/* The header's member, perhaps with a letter by number. */
	const bool may_repeat = str_find(text, STR("repeat"), 0) >= 0 ||
				str_find(text, STR("\\u"), 0) >= 0;
	__attribute__((cleanup(talk_cleanup))) struct talk t = {
		.script = script, .answers = answers};
	const struct str prompt = rehearsal_prompt(script);
	int line = 0;

	add(&t, item_user(&t.arena, ITEM_CHAT, prompt.p ? prompt : STR("hello"), NULL, 0));
	for (size_t round = 0; round < ROUNDS_MAX_HERE; round++) {
		const struct rehearsal_reply r = next(&t);

		if (r.ended)
			return;
		must(r.line > line || may_repeat);
		must((size_t)r.line <= count_lines(text));
		line = r.line;
		go_on(&t, &r);
	}
	must(may_repeat || count_lines(text) >= ROUNDS_MAX_HERE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct str text = fuzz_str(data + (size > 0), size > 0 ? size - 1 : 0);
	_cleanup_(rehearsal) struct rehearsal *script = NULL;
	struct error err = ERROR_INIT;
	struct str copy = fuzz_exact(text);
	const int rc = rehearsal_parse(copy, &script, &err);

	fuzz_exact_cleanup(&copy); /* nothing of it is kept */
	if (rc < 0) {
		must(error_is(&err, &REHEARSAL_INVALID) && !script);
		must(strncmp(err.text, "line ", 5) == 0 ||
			strncmp(err.text, "the script ", 11) == 0);
		fuzz_check_error(&err);
		return 0;
	}
	converse(script, text, size > 0 ? data[0] : 0);
	return 0;
}
