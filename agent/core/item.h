#ifndef AGENT_CORE_ITEM_H
#define AGENT_CORE_ITEM_H
/*
 * Conversation items in the encoding of family `chat`, which `rehearsal` shares (spec 8.1): what a
 * node of the store holds. Pure: text in, text out. A stored item is replayed verbatim, never
 * translated.
 *
 *	user       {"role":"user","content":TEXT}
 *	assistant  {"role":"assistant","content":TEXT|null,"tool_calls":[{"id","type":"function",
 *	            "function":{"name","arguments":JSON TEXT}}]}
 *	result     {"role":"tool","tool_call_id":ID,"content":TEXT}
 */
#include <stdint.h>

#include "error/error.h"
#include "json/json.h"
#include "mem/mem.h"
#include "text/text.h"

struct item_call {
	struct str call_id, name;
	struct str arguments; /* JSON text as the model wrote it */
};

/* Texts live in the arena. */
struct str item_user(struct arena *a, struct str text);
struct str item_result(struct arena *a, struct str call_id, struct str output);
struct str item_assistant(
	struct arena *a, struct str text, const struct item_call *calls, size_t count);

enum item_role { ITEM_USER, ITEM_ASSISTANT, ITEM_RESULT };
struct item {
	enum item_role role;
	struct str text;    /* user and assistant text, result output; absent when null */
	struct str call_id; /* result */
	const struct item_call *calls;
	size_t call_count;
};
/* Reads a stored item. */
int item_read(struct arena *a, struct str json, struct item *ret, struct error *err);

/* A message of another bot with the line that names it before its text (spec 9, AG-207): "[message
 * from bot NAME (id N), turn T]\n…". It is the text of a user item, not an item. */
struct str item_from_bot(
	struct arena *a, struct str name, int64_t id, int64_t turn, struct str text);

#endif
