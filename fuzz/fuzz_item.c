/*
 * fuzz item: what is read is written and read again as the same, and any text can be said, answered
 * and called with.
 *
 * Input: an item; the same bytes, split at 0x1e, are also the texts of items that are made here.
 */
#include "agent/core/item.h"
#include "fuzz/fuzz.h"

enum {
	PARTS_MAX = 10,
	PART_MAX_BYTES = 1024 *
			 1024, /* ours: as the daemon's limits, an item stays within its own */
};

static bool same_text(struct str a, struct str b)
{
	return str_eq(a, b); /* null and "" say the same */
}

static void check_same(const struct item *a, const struct item *b)
{
	must(a->role == b->role && same_text(a->text, b->text) && str_eq(a->call_id, b->call_id));
	must(a->call_count == b->call_count);
	for (size_t i = 0; i < a->call_count; i++) {
		must(str_eq(a->calls[i].call_id, b->calls[i].call_id));
		must(str_eq(a->calls[i].name, b->calls[i].name));
		must(str_eq(a->calls[i].arguments, b->calls[i].arguments));
	}
}

static void check_item(const struct item *it)
{
	must((it->role == ITEM_RESULT) == (it->call_id.p != NULL));
	must(it->role == ITEM_ASSISTANT || it->call_count == 0);
	must(it->text.p || it->call_count > 0 || it->family != ITEM_CHAT);
	must(!it->text.p || utf8_valid(it->text));
}

static struct str write_item(struct arena *a, const struct item *it)
{
	switch (it->role) {
	case ITEM_USER:
		return item_user(a, it->family, it->text, NULL, 0);
	case ITEM_RESULT:
		return item_result(a, it->family, it->call_id, it->text, NULL, 0);
	case ITEM_ASSISTANT:
	case ITEM_REASONING:
	case ITEM_OTHER:
		break;
	}
	return item_assistant(a, it->text, it->calls, it->call_count);
}

static void check_written(struct arena *a, const struct item *it)
{
	const struct str json = write_item(a, it);
	struct item again;

	must(item_read(a, json, &again, NULL) == 0);
	check_item(&again);
	check_same(it, &again);
	must(str_eq(json, write_item(a, &again)));
}

/* The parts, with what is not UTF-8 replaced as the writer would. */
static size_t cut_parts(struct arena *a, struct str rest, struct str *ret)
{
	size_t n = 0;
	struct str part;

	while (n < PARTS_MAX && str_next(&rest, '\x1e', &part)) {
		_cleanup_(buf) struct buf clean = BUF_INIT(PART_MAX_BYTES);

		(void)utf8_put_clean(&clean, part); /* too long: empty */
		ret[n++] = (struct str){arena_strndup(a, buf_str(&clean).p, clean.len), clean.len};
	}
	return n;
}

static void check_made(struct arena *a, struct str input)
{
	struct str parts[PARTS_MAX];
	struct item_call calls[PARTS_MAX];
	const size_t n = cut_parts(a, input, parts);
	size_t count = 0;

	for (size_t i = 1; i + 2 < n; i += 3)
		calls[count++] = (struct item_call){parts[i], parts[i + 1], parts[i + 2]};
	check_written(a, &(struct item){.role = ITEM_USER, .text = parts[0]});
	check_written(a, &(struct item){.role = ITEM_ASSISTANT, .text = parts[0]});
	check_written(a, &(struct item){.role = ITEM_ASSISTANT,
				 .text = parts[0],
				 .calls = calls,
				 .call_count = count});
	check_written(
		a, &(struct item){.role = ITEM_RESULT, .text = parts[0], .call_id = parts[n - 1]});
}

/* The message of another bot: its line, then the text as it is. */
static void check_from_bot(struct arena *a, struct str input)
{
	const struct str whole = item_from_bot(a, STR("b"), 7, 9, input);

	must(str_starts(whole, STR("[message from bot b (id 7), turn 9]\n")));
	must(str_ends(whole, input) && whole.len == input.len + 36);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct str input = fuzz_str(data, size);
	_cleanup_(arena) struct arena a = {NULL};
	struct error err = ERROR_INIT;
	struct item it;

	check_made(&a, input);
	check_from_bot(&a, input);
	if (item_read(&a, input, &it, &err) < 0) {
		fuzz_check_error(&err);
		return 0;
	}
	check_item(&it);
	/* a reply of the other families is its provider's own, and no text of one is no text */
	if (it.family == ITEM_CHAT ||
		(it.text.p && (it.role == ITEM_USER || it.role == ITEM_RESULT)))
		check_written(&a, &it);
	return 0;
}
