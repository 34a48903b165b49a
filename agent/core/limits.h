#ifndef AGENT_CORE_LIMITS_H
#define AGENT_CORE_LIMITS_H
/*
 * The daemon's limits that more than one file needs, each with its source. A module's own
 * stand in it.
 */
enum {
	BOT_NAME_MAX_BYTES = 128,               /* agent spec 2.3: 1 to 128 of A-Za-z0-9-_. */
	BOT_INSTRUCTIONS_MAX_BYTES = 65536,     /* spec 2.3 */
	BOT_FALLBACKS_MAX = 8,                  /* ours */
	BOT_TOOLS_MAX = 64,                     /* ours: several times the built-in ones */
	BOT_GATES_MAX = 8,                      /* ours */
	BOT_ROOTS_MAX = 32,                     /* ours: each is a mount of every command */
	BOT_UNIX_SOCKETS_MAX = 32,              /* ours */
	BOT_RULES_MAX_BYTES = 262144,           /* ours: a file of rules may be as long */
	GATE_TAG_MAX_BYTES = 128,               /* as a name */
	GATE_EXPIRE_MAX_MS = 86400000,          /* spec 6.1 */
	MODEL_MAX_BYTES = 256,                  /* spec 8.1: MODEL; PROVIDER is at most 64 */
	PROVIDER_NAME_MAX_BYTES = 64,           /* spec 8.1 */
	PROMPT_MAX_BYTES = 262144,              /* spec 2.6 */
	REASON_MAX_BYTES = 16384,               /* spec 6.2 */
	BY_MAX_BYTES = 128,                     /* spec 6.2 */
	ROUNDS_MAX = 200,                       /* spec 2.6: model rounds per turn */
	CALLS_MAX = 64,                         /* spec 2.6: items of one provider output */
	PROVIDER_OUTPUT_MAX_BYTES = 768 * 1024, /* spec 2.6, encoded */
	CONTEXT_MAX_BYTES = 8 * 1024 * 1024,    /* spec 2.6 */
	CONTEXT_MAX_ITEMS = 4096,               /* spec 2.6 */
	APPROVAL_HOLD_DEFAULT_MS = 2000,        /* spec 2.6 */
	PAGE_DEFAULT = 64,                      /* spec 2.3 */
	PAGE_MAX = 256,                         /* spec 2.3 */
	PAGE_MAX_BYTES = 512 * 1024,            /* spec 2.3 */
	HISTORY_NODES_MAX = 400,                /* spec 2.3 */
	HISTORY_ITEMS_MAX_BYTES = 768 * 1024,   /* spec 2.3 */
	APPROVALS_MAX_BYTES = 256 * 1024,       /* spec 6.4 */
	WAIT_HANDLES_MAX = 64,                  /* spec 2.3 */
	WAIT_MAX_MS = 86400000,                 /* spec 2.3 */
	RESULT_TEXT_MAX_BYTES = 16384,          /* spec 2.3 */
	PREVIEW_MAX_BYTES = 120,                /* spec 4.4: first lines */
	ARGUMENTS_SHOWN_BYTES = 2048,           /* spec 2.5, 6.4 */
	TOOL_OUTPUT_KEPT_BYTES = 1024 * 1024,   /* spec 4.3: per stream */
	TOOL_SPILLED_MAX_BYTES = 64 << 20, /* ours: per stream of a command in the background */
	TOOL_OUTPUT_SHOWN_BYTES = 65536,   /* spec 4.3: above, 32 KiB head + 32 KiB tail */
};
#endif
