/*
 * wait: until turns and background commands end (spec 3.7, 5.7). Its caller does the waiting, since
 * the turn parks: only the arguments are here.
 */
#include "agent/core/limits.h"
#include "agent/tool/entries.h"
#include "agent/tool/internal.h"

enum { HANDLE_MAX_BYTES = BOT_NAME_MAX_BYTES + 32 /* "turn:", the name, "/" and a number */ };

static const struct json_field wait_fields[] = {
	JSON_STRS(struct tool_wait, handles, .required = true, .min = 1, .max = WAIT_HANDLES_MAX,
		.item_max = HANDLE_MAX_BYTES),
	JSON_I64(struct tool_wait, timeout_ms, .min = 1, .max = WAIT_MAX_MS),
	JSON_BOOL(struct tool_wait, any),
};

static const struct tool_wait *waits(const void *args)
{
	return args;
}

const struct tool tool_wait = {
	.name = "wait",
	.description = "Waits for results that come later: handles are proc:N, as shell with "
		       "background gives them, and turn:BOT/N of other bots' turns. Returns JSON: "
		       "results by handle, and pending, the handles that were not done in time.",
	.parameters =
		"{\"type\":\"object\",\"properties\":{"
		"\"handles\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"minItems\":1,"
		"\"maxItems\":64,\"description\":\"What to wait for.\"},"
		"\"timeout_ms\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":86400000,"
		"\"description\":\"Waits at most so long; as long as it takes when left out.\"},"
		"\"any\":{\"type\":\"boolean\",\"description\":\"One of them is enough.\"}"
		"},\"required\":[\"handles\"],\"additionalProperties\":false}",
	.fields = wait_fields,
	.field_count = ARRAY_LEN(wait_fields),
	.args_size = sizeof(struct tool_wait),
	.waits = waits,
};
