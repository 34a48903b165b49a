#ifndef AGENT_CORE_ITEM_H
#define AGENT_CORE_ITEM_H
/*
 * Conversation items: what a node of the store holds, in the encoding of the bot's provider family
 * (spec 8.1). Pure: text in, text out. A stored item is replayed verbatim, never translated.
 *
 * chat (rehearsal shares it)
 *	user       {"role":"user","content":TEXT | [{"type":"text","text"},
 *	            {"type":"image_url","image_url":{"url":DATA URL}}]}
 *	assistant  {"role":"assistant","content":TEXT|null,"tool_calls":[{"id","type":"function",
 *	            "function":{"name","arguments":JSON TEXT}}]}
 *	result     {"role":"tool","tool_call_id":ID,"content":as of a user}
 * responses: input items of the Responses API; a reply is several (message, function_call,
 *reasoning) user       {"role":"user","content":[{"type":"input_text","text"},
 *	            {"type":"input_image","image_url":DATA URL}]}
 *	result     {"type":"function_call_output","call_id":ID,"output":TEXT | [parts as of a user]}
 * messages: messages of the Messages API; a reply is one, with all its content blocks
 *	user       {"role":"user","content":[{"type":"text","text"},{"type":"image","source":
 *	            {"type":"base64","media_type","data"}}]}
 *	result     {"role":"user","content":[{"type":"tool_result","tool_use_id":ID,
 *	            "content":TEXT | [parts as of a user]}]}
 */
#include <stdint.h>

#include "error/error.h"
#include "json/json.h"
#include "mem/mem.h"
#include "text/text.h"

enum item_family { ITEM_CHAT, ITEM_RESPONSES, ITEM_MESSAGES };
/* The encoding of a provider family's items: rehearsal, chat, responses, responses-ws, anthropic.
 * Any other name (none is stored): ITEM_CHAT. */
enum item_family item_family(struct str provider_family);

struct item_call {
	struct str call_id, name;
	struct str arguments; /* JSON text as the model wrote it */
};
struct item_picture {
	struct str media_type; /* "image/png" */
	struct str base64;
};

/* Texts live in the arena. Pictures follow the text, in order. */
struct str item_user(struct arena *a, enum item_family f, struct str text,
	const struct item_picture *pictures, size_t picture_count);
struct str item_result(struct arena *a, enum item_family f, struct str call_id, struct str output,
	const struct item_picture *pictures, size_t picture_count);
/* A whole reply of family chat. */
struct str item_assistant(
	struct arena *a, struct str text, const struct item_call *calls, size_t count);

enum item_role { ITEM_USER, ITEM_ASSISTANT, ITEM_RESULT, ITEM_REASONING, ITEM_OTHER };
struct item {
	enum item_role role;
	enum item_family family;
	struct str text;    /* user and assistant text, result output, a summary of reasoning; parts
			       one after the other; absent when there is none */
	struct str call_id; /* result */
	const struct item_call *calls;
	size_t call_count;
	size_t picture_count;
};
/* Reads a stored item of any family; its shape says which. */
int item_read(struct arena *a, struct str json, struct item *ret, struct error *err);
/* The same of one that is parsed already; its arena is the document's. */
int item_read_parsed(struct arena *a, const struct json *doc, struct item *ret, struct error *err);

/* A message of another bot with the line that names it before its text (spec 9, AG-207): "[message
 * from bot NAME (id N), turn T]\n…". It is the text of a user item, not an item. */
struct str item_from_bot(
	struct arena *a, struct str name, int64_t id, int64_t turn, struct str text);

/* What no person and no bot said: "[event from KIND NAME]\n…" before it (spec 9, AG-209). */
struct str item_from_origin(struct arena *a, struct str kind, struct str name, struct str text);

#endif
