#ifndef AGENT_TOOL_TOOL_H
#define AGENT_TOOL_TOOL_H
/*
 * Tools: what a model can call (spec 5). One file per tool, each exporting one const entry; the
 * table is in tool/table.c.
 *
 * A call goes: tool_prepare (arguments against the schema; nothing recorded before they hold) → the
 * tool's judge (where would it run?) → verdicts, by the caller → its start → done() with a result →
 * its free, which may be called inside done(). Results are redacted before they leave this layer.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/bot.h"
#include "agent/core/item.h"
#include "error/error.h"
#include "fetch/fetch.h"
#include "guard/guard.h"
#include "json/json.h"
#include "loop/loop.h"
#include "mem/mem.h"
#include "rule/rule.h"
#include "sandbox/sandbox.h"
#include "secret/secret.h"
#include "text/text.h"

extern const struct error_kind TOOL_INVALID_ARGUMENTS; /* invalid_tool_arguments */
extern const struct error_kind TOOL_NOT_AVAILABLE;     /* tool_not_available */
extern const struct error_kind TOOL_UNKNOWN;           /* unknown_tool */
extern const struct error_kind TOOL_WORKSPACE_MISSING; /* workspace_missing: it vanished */
extern const struct error_kind TOOL_NO_GATE;           /* sandbox_no_gate */
extern const struct error_kind TOOL_REFUSED_PATH; /* protected_path: refused whatever a gate says */

/* A text, or a part of one that begins with a line of it and has more than a page. */
struct tool_text {
	struct str bytes;
	int64_t lines_before; /* lines before the bytes */
	int64_t lines_total;  /* of the whole; 0: the bytes are the whole */
};

/* Where the output of a command in the background is written while it runs, redacted; its owner
 * keeps it. Blocks briefly. */
struct tool_spill {
	int (*put)(struct tool_spill *k, size_t stream, struct str bytes, struct error *err);
};

struct tool_context;
/* A confined command's way to the daemon, as its bot: agent-protocol(7). */
struct tool_door {
	char *socket; /* the bot's own, there until the door is closed */
	int fd;       /* the command's end; whoever has passed it on closes it and says -1 */
};

/* What tools need of the daemon; one, for its whole life. */
struct tool_host {
	struct loop *loop;
	struct sandbox *sandbox;
	const struct secret_set *secrets;
	char *const *env;       /* of a bot's commands, provider keys withheld already */
	const char *writer;     /* path of consort-write */
	const char *supervisor; /* path of consort-supervise */
	const char *socket;     /* the daemon's own: AGENT_SOCKET of commands outside the sandbox */
	const char *program;    /* path of agent: AGENT_BIN */
	const char *path;    /* PATH of the daemon, for what an allow rule lets out; NULL: none */
	const char *cell;    /* path of consort-cell */
	struct fetch *pages; /* for web_fetch, and nothing else: no credentials, no pool shared */
	const struct guard_id *never; /* files this process must not open (the store) */
	size_t never_count;
	/* Reads an artifact for `read`, from a line on (1: the first): asynchronous, done on the
	 * loop; see tool/read.c. */
	void (*artifact)(void *arg, int64_t bot, struct str reference, int64_t line, void *run,
		void (*done)(void *run, const struct tool_text *text, const struct error *err));
	void *artifact_arg;
	/* The items of one turn of the bot's conversation, oldest first, for `history`, and how
	 * many bytes a result may have without crowding out the turn; as artifact. */
	void (*history)(void *arg, int64_t bot, int64_t turn, void *run,
		void (*done)(void *run, const struct str_list *items, int64_t room_bytes,
			const struct error *err));
	void *history_arg;
	/* For one confined command, closed when it has ended. NULL: commands have none. */
	int (*open_door)(
		void *arg, const struct tool_context *c, struct tool_door **ret, struct error *err);
	void (*close_door)(struct tool_door *door); /* NULL does nothing */
	void *door_arg;
};

struct tool_judgement;
/* One call of one turn; lives until the run is freed. */
struct tool_context {
	const struct tool_host *host;
	const struct bot *bot;
	struct str workspace; /* of the turn, canonical; absent when the bot has none */
	struct str model;
	int64_t turn;
	struct str call_id;
	struct tool_spill *spill;  /* of a command in the background, else NULL */
	const struct rules *rules; /* for judge: the bot's command rules, NULL: none */
	/* For start: what was judged and allowed, or NULL. A path that by then resolves elsewhere
	 * is refused (path_changed), so that an allow holds for what was shown and for nothing
	 * else. */
	const struct tool_judgement *judged;
	/* For start of read, write and edit: the file that verdicts named, once per verdict. */
	struct str_list allowed;
};

enum tool_reach {
	TOOL_IN_DAEMON, /* not confined by the sandbox and not judged by it: read, echo */
	TOOL_CONFINED,  /* runs inside the bot's sandbox */
	TOOL_LEAVES,    /* would run outside the bot's sandbox */
	TOOL_OUTSIDE,   /* the bot has no sandbox */
};
struct tool_judgement {
	enum tool_reach reach;
	bool asks; /* a verdict is needed wherever it would run: a prompt rule matched (AG-122) */
	bool free; /* it leaves the sandbox without one: allow rules cover the script (AG-116) */
	const char *why;     /* for TOOL_LEAVES and asks: "require_escalated",
				"outside_writable_folders", "protected", "rule" */
	struct str paths[4]; /* the first real paths concerned, in the arena */
	size_t path_count;
	struct str_list real;     /* all of them, in the order of the call */
	struct str justification; /* what the model said, or absent */
	struct str rule;          /* of asks: {"pattern", "justification", "tangled"}, as JSON */
	struct str rule_shown;    /* the same as a line, when just judged */
};

struct tool_artifact {
	struct str stream, bytes;
	int64_t spilled; /* > 0: all of so many bytes were spilled, and these are their beginning */
};
/* Lives until the run is freed. */
struct tool_result {
	struct str output; /* the text for the model; JSON where the spec says so */
	bool failed; /* an error, a non-zero exit, a timeout: later gated calls are announced again
		      */
	bool cancelled;
	struct tool_artifact artifacts[2];
	size_t artifact_count;
	const struct item_picture *pictures; /* that go to the model beside the text */
	size_t picture_count;
	struct str pin; /* becomes the bot's note, in the commit of this result; or absent */
	/* Files that git would run or be led by and that are not what they were when a confined
	 * command began; the first few. */
	struct str_list incidents;
};
typedef void (*tool_done)(void *arg, const struct tool_result *r);

/* How a call is to run; start copies it. done() never comes inside start. */
struct tool_order {
	bool outside; /* unconfined although the bot has a sandbox: it was allowed to */
	tool_done done;
	void *arg;
};

/* What a tool that only waits is to wait for. */
struct tool_wait {
	struct str_list handles;
	int64_t timeout_ms; /* 0: as long as it takes */
	bool any;
};

struct tool_run; /* each tool's own; freed through its entry */
struct tool {
	const char *name, *description;
	const char *parameters;          /* JSON Schema, as the model is shown it */
	const struct json_field *fields; /* the same, for decoding: unknown members are refused */
	size_t field_count, args_size;
	bool confined; /* one of those the sandbox confines (AG-233) */
	/* Checks that a table cannot say; may be NULL. */
	int (*check)(const void *args, struct error *err);
	/* Where the call would run. Blocking but brief (path walks). NULL: TOOL_IN_DAEMON. */
	int (*judge)(const struct tool_context *c, struct arena *a, const void *args,
		struct tool_judgement *ret, struct error *err);
	/* An error here is a result too: the caller makes it one. */
	int (*start)(const struct tool_context *c, struct arena *a, const void *args,
		const struct tool_order *o, struct tool_run **ret, struct error *err);
	void (*cancel)(struct tool_run *r); /* done() follows, with .cancelled */
	void (*free)(struct tool_run *r);   /* no done() afterwards; ends what still runs */
	/* Whether the call gets a handle as its result and goes on behind it; NULL: never. */
	bool (*background)(const void *args);
	/* A tool that only waits, which its caller does: start, cancel and free are NULL then. */
	const struct tool_wait *(*waits)(const void *args);
};

/* Whether an answer to the older judgement of a call holds for the newer one: the same reach, the
 * same real paths, and no rule that asks but the one that asked then. A call is judged anew when
 * its turn comes, after a restart and after its bot was configured. */
bool tool_judgement_same(const struct tool_judgement *older, const struct tool_judgement *newer);

/* NULL-terminated; in the order the model is shown them. */
extern const struct tool *const tool_table[];
const struct tool *tool_find(struct str name); /* NULL */

/* Parses and checks arguments; *ret_args in the arena. TOOL_INVALID_ARGUMENTS. */
int tool_prepare(const struct tool *t, struct arena *a, struct str arguments, const void **ret_args,
	struct error *err);
/* {"error":CODE,"detail":TEXT}, redacted, in the arena. */
struct str tool_error_output(const struct tool_host *h, struct arena *a, const struct error *err);

/* The sandbox policy of a context, in the arena. */
const struct sandbox_policy *tool_policy(const struct tool_context *c, struct arena *a);
enum { TOOL_DOOR_FD = 30 /* ours: below what sandbox and shells take, above what scripts do */ };
/* The environment of a command: the host's, AGENT_* of this call, AGENT_SOCKET. In the arena. door:
 * of a confined command; NULL: it has none. */
char **tool_environ(
	const struct tool_context *c, struct arena *a, bool outside, const struct tool_door *door);
/* Resolves a path argument against the workspace. */
int tool_resolve(
	const struct tool_context *c, struct str path, struct guard_path *ret, struct error *err);

#endif
