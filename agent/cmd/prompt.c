/* The prompt of a command. */
#include "agent/cmd/prompt.h"

#include <string.h>
#include <unistd.h>

#include "agent/core/limits.h"
#include "mem/mem.h"
#include "os/os.h"

static const struct error_kind PROMPT_LIMIT = {"prompt_limit", ERROR_CLASS_LIMIT};
static const struct error_kind INVALID_PROMPT = {"invalid_prompt", ERROR_CLASS_USAGE};

static int too_long(struct error *err)
{
	return error_set(err, &PROMPT_LIMIT, "the prompt is over %d bytes", PROMPT_MAX_BYTES);
}

static int read_stdin(struct buf *b, struct error *err)
{
	_cleanup_(mem) char *room = xmalloc(PROMPT_MAX_BYTES + 1);
	size_t len;

	if (os_read_full(STDIN_FILENO, room, PROMPT_MAX_BYTES + 1, &len, err) < 0)
		return error_prefix(err, "read the prompt");
	if (len > PROMPT_MAX_BYTES)
		return too_long(err);
	return buf_put(b, room, len);
}

static void join(char **words, int count, struct buf *b)
{
	for (int i = 0; i < count; i++) {
		(void)buf_puts(b, i ? " " : ""); /* full is seen by the caller */
		(void)buf_puts(b, words[i]);
	}
}

int prompt_read(char **words, int count, struct buf *b, struct error *err)
{
	struct str text;

	if (count == 1 && strcmp(words[0], "-") == 0) {
		if (read_stdin(b, err) < 0)
			return -1;
	} else {
		join(words, count, b);
	}
	text = buf_str(b);
	if (b->full || text.len > PROMPT_MAX_BYTES)
		return too_long(err);
	if (text.len == 0)
		return error_set(err, &INVALID_PROMPT, "the prompt is empty");
	if (!utf8_valid(text))
		return error_set(err, &INVALID_PROMPT, "the prompt is not UTF-8");
	return 0;
}
