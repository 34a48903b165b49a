/* What stands for a tool result that was left out. */
#include "agent/core/stub.h"

#include "agent/core/item.h"

/* The last characters, at most `max` bytes of them. */
static struct str last_part(struct str s, size_t max)
{
	size_t at = s.len > max ? s.len - max : 0;

	while (at < s.len && ((unsigned char)s.p[at] & 0xc0) == 0x80)
		at++;
	return (struct str){s.p + at, s.len - at};
}

static struct str stub_text(struct arena *a, const struct item *it, int64_t node)
{
	struct str text = it->text.p ? it->text : STR("");
	struct str first = str_cut(text, STUB_SHOWN_BYTES);
	struct str last = last_part(text, STUB_SHOWN_BYTES);
	const char *pictures = it->picture_count ? ", without its pictures" : "";

	return str_from(arena_printf(a,
		"[This result of %zu bytes was left out to save room. The tool read with "
		"{\"artifact\":\"result/%lld\"} shows it%s. It begins:]\n" STR_FMT
		"\n[… and ends:]\n" STR_FMT,
		text.len, (long long)node, pictures, STR_ARG(first), STR_ARG(last)));
}

bool stub_make(struct arena *a, struct str item, int64_t node, struct str *ret)
{
	struct str stub;
	struct item it;

	if (item.len <= STUB_SAVES_MIN_BYTES || item_read(a, item, &it, NULL) < 0 ||
		it.role != ITEM_RESULT)
		return false;
	stub = item_result(a, it.family, it.call_id, stub_text(a, &it, node), NULL, 0);
	if (stub.len + STUB_SAVES_MIN_BYTES > item.len)
		return false;
	*ret = stub;
	return true;
}
