#ifndef AGENT_TOOL_SHELL_OUTPUT_H
#define AGENT_TOOL_SHELL_OUTPUT_H
/*
 * One output stream of a command: redacted as it comes, kept whole up to a limit, shown in part
 * (spec 4.3). That of a command in the background is spilled as well, and its limit is that of
 * spilled output: beyond what is kept, only the spill has it.
 */
#include <stdbool.h>

#include "agent/core/limits.h"
#include "agent/tool/tool.h"
#include "json/json.h"
#include "mem/mem.h"
#include "secret/secret.h"
#include "text/text.h"

/* Room for what is shown: head, tail and the line between them. */
enum { SHELL_SHOWN_MAX_BYTES = 2 * TOOL_OUTPUT_SHOWN_BYTES, SHELL_PAGE = 2 };

struct shell_stream {
	const char *name; /* "stdout", "stderr", "page" */
	struct secret_filter *filter;
	struct buf kept; /* the beginning of what the filter let through */
	struct buf last; /* the end of it, once there is more than is kept */
	int64_t total;   /* bytes that are kept or spilled */
	bool over;       /* there was more than the limit */
	struct tool_spill *spill;
	size_t index;           /* of the stream there */
	struct error spill_err; /* it failed, and has nothing any more: only what is kept counts */
};

/* index: 0 and 1 of a command, 2 is a page. spill: NULL when only what is kept counts; kept.max may
 * be set before the first put. */
void shell_stream_init(struct shell_stream *s, size_t index, const struct secret_set *secrets,
	struct tool_spill *spill);
void shell_stream_release(struct shell_stream *s);
/* Takes what was read; false once the stream is past its limit. */
bool shell_stream_put(struct shell_stream *s, const char *p, size_t len);
/* No more comes: what the filter held back is settled. */
void shell_stream_end(struct shell_stream *s);
/* How many bytes it may have. */
int64_t shell_stream_limit(const struct shell_stream *s);
/* > 0: so many bytes were spilled, more than are kept. */
int64_t shell_stream_spilled(const struct shell_stream *s);
/* Whether the model is shown less than is kept, so that the whole is an artifact. */
bool shell_stream_is_cut(const struct shell_stream *s);
/* What the model is shown: all of it, or head and tail around a line that says what was left out
 * and, unless NULL, which artifact has it. */
void shell_stream_show(const struct shell_stream *s, const char *artifact, struct buf *to);
/* The same as a member of `j`. */
void shell_stream_write(const struct shell_stream *s, struct json_out *j, const char *artifact);

#endif
