#ifndef AGENT_CORE_BOT_H
#define AGENT_CORE_BOT_H
/*
 * A bot as the daemon knows it: identity, settings, where its conversation stands. Pure data.
 *
 * A bot is not a process: an idle one is rows of the store. A struct bot is read for a request or a
 * turn into an arena and dies with it; nothing in it is shared.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/bot_limits.h"
#include "agent/core/limits.h"
#include "agent/core/served.h"
#include "error/error.h"
#include "json/json.h"
#include "mem/mem.h"
#include "text/text.h"

/* Kinds of this file: the names on the wire (spec 2.3). */
extern const struct error_kind BOT_INVALID_NAME;  /* invalid_name */
extern const struct error_kind BOT_INVALID_MODEL; /* invalid_model_reference */
extern const struct error_kind BOT_INVALID_GATE;  /* invalid_gate */
extern const struct error_kind BOT_UNKNOWN_TOOL;  /* unknown_tool */

enum bot_status {
	BOT_IDLE,
	BOT_RUNNING,
	BOT_WAITING,
	BOT_PACED,
	BOT_COMPLETED,
	BOT_FAILED,
	BOT_INTERRUPTED,
	BOT_DELETING,
};
/* By enum, NULL-terminated; what the store keeps too. */
extern const char *const bot_status_names[];

/* A gate names tools whose calls wait for a verdict from whoever serves its tag (spec 6.1). */
struct gate {
	struct str tag;
	struct str_list tools;
	int64_t expire_ms; /* 0: never */
};

/* What `create` sets and `configure` replaces. */
struct bot_settings {
	struct str model; /* PROVIDER/MODEL */
	struct str instructions;
	struct str reasoning; /* low … max, or absent */
	struct str_list tools;
	struct str workspace; /* canonical, or absent */
	int sandbox;          /* enum sandbox_mode; SANDBOX_FULL_ACCESS is the default (AG-137) */
	struct str_list writable_roots; /* canonical */
	bool network;
	struct str_list unix_sockets;
	bool git_commit;
	struct str rules; /* JSON, as rules_put_json writes it; absent: none */
	const struct gate *gates;
	size_t gate_count;
	struct served_tools served; /* what its client declared */
	int64_t budget_tokens;      /* 0: none */
	struct bot_limits limits;
	struct str compaction_instructions; /* absent: no compaction */
	struct str compaction_model; /* PROVIDER/MODEL of the bot's family; absent: its own */
	struct str_list fallbacks;   /* PROVIDER/MODEL, tried in order when its own fails */
	bool has_allowed;            /* of a fork: it may call `allowed` and no other … */
	struct str_list allowed;     /* … of its tools, which the model is shown all the same */
};

struct bot {
	struct str name;
	int64_t id;
	int64_t head; /* node id, 0: none */
	enum bot_status status;
	int64_t running_turn; /* 0: none */
	struct str provider, family;
	struct bot_settings set;
	struct str created_by;
	int64_t created_by_id;
	int64_t tokens_used, input_tokens, cached_input_tokens;
	int64_t closed;        /* node: the newest with no call left open after it; 0: none */
	int64_t context_start; /* node: where the window begins; 0: at the beginning */
	int64_t note, compaction, elision; /* the versions that hold, 0: none */
	int64_t cache_bot;                 /* whose prompt cache key it has */
	int64_t pruned_cursor;             /* events up to it may be gone */
	int64_t denials_in_row; /* calls denied since one that a gate judged was allowed */
};

/* 1 to 128 of A-Za-z0-9-_. (spec 2.3); `what` names the field in the error. */
int bot_check_name(struct str name, const char *what, struct error *err);
/* Splits PROVIDER/MODEL at the first slash (spec 8.1). */
int bot_split_model(
	struct str reference, struct str *ret_provider, struct str *ret_model, struct error *err);

/* Reads `gates`: an array of {tag, tools, expire_ms|null}. Everything wrong is BOT_INVALID_GATE and
 * names the place: a tag twice, a tool twice in one gate, what is no name. Whether the tools exist
 * and are the bot's is the caller's to say. Lives in `a`. */
int bot_read_gates(struct arena *a, const struct json *gates, struct gate **ret, size_t *ret_count,
	struct error *err);
void bot_write_gates(struct json_out *j, const char *name, const struct gate *gates, size_t count);
bool gate_names_tool(const struct gate *g, struct str tool);
/* Adds gates that come with where a bot is from (spec 6.1): of one tag, the tools of both and the
 * shorter expiry; of their tools only those it has; none that would name no tool.
 * BOT_INVALID_GATE when there would be too many. Lives in `a`. */
int bot_add_gates(struct arena *a, struct bot_settings *set, const struct gate *add, size_t count,
	struct error *err);

/* Where its command rules are from: NULL (there are none), "client", or "unreadable": its client
 * could not read them, and they refuse every command. */
const char *bot_rules_source(const struct bot_settings *s);
/* Whether two bots go by the same command rules. */
bool bot_rules_same(const struct bot_settings *x, const struct bot_settings *y);

/* The record of `create`, `inspect`, `bots` (spec 2.3). instructions and rules are left out unless
 * asked for. name: NULL in an array. */
void bot_write_record(struct json_out *j, const char *name, const struct bot *b, bool instructions);

/* Its limits, fallbacks and the model that summarises, as members of the open object. */
void bot_write_limits(struct json_out *j, const struct bot_settings *s);

/* For list fields: ["a","b"]. */
void bot_write_strings(struct json_out *j, const char *name, const struct str_list *l);

#endif
