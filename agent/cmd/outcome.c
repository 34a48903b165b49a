/* The outcome of a turn. */
#include "agent/cmd/outcome.h"

#include "agent/cmd/style.h"
#include "mem/mem.h"

enum { DETAIL_BYTES = 1000 /* ours: an error's text has 512 */ };

static bool is_one_of(struct str s, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (str_is(s, list[i]))
			return true;
	}
	return false;
}

bool outcome_is_over(struct str status)
{
	static const char *const over[] = {"completed", "failed", "interrupted", "steered"};

	return is_one_of(status, over, ARRAY_LEN(over));
}

bool outcome_is_good(const struct json *outcome)
{
	static const char *const good[] = {"completed", "steered"};

	return is_one_of(json_str(json_get(outcome, "status")), good, ARRAY_LEN(good));
}

void outcome_write(struct buf *to, bool colours, const struct json *outcome)
{
	struct str status = json_str(json_get(outcome, "status"));
	struct str error = json_str(json_get(outcome, "error"));
	struct str detail = json_str(json_get(outcome, "detail"));
	struct str text = json_str(json_get(outcome, "text"));
	enum style look = outcome_is_good(outcome) ? STYLE_GOOD : STYLE_BAD;

	if (json_is_true(json_get(outcome, "pending")))
		status = STR("pending");
	style_line(
		to, colours, status.p ? look : STYLE_BAD, status.p ? status : error, DETAIL_BYTES);
	if (status.p && error.p) {
		(void)buf_puts(to, ": "); /* full is seen by the owner of the buffer */
		style_line(to, colours, STYLE_PLAIN, error, DETAIL_BYTES);
	}
	if (detail.len > 0 && !str_eq(detail, error)) {
		(void)buf_puts(to, ": ");
		style_line(to, colours, STYLE_PLAIN, detail, DETAIL_BYTES);
	}
	(void)buf_putc(to, '\n');
	if (text.len == 0)
		return;
	(void)text_put_visible(to, text);
	if (!str_ends(text, STR("\n")))
		(void)buf_putc(to, '\n');
	if (json_is_true(json_get(outcome, "text_truncated")))
		style_put(to, colours, STYLE_DIM, "(there is more: see its events)\n");
}
