/*
 * The tables of the store (agent spec 4.2), one SQL text per version. A text that was released
 * never changes: what comes later is another one.
 *
 * Ids come from AUTOINCREMENT, which keeps its high-water mark: none is used twice, whatever is
 * deleted. A foreign key stands only where an index holds its child side. Wide columns come last in
 * a row, so that reading the others does not walk their overflow pages.
 */
#include "agent/io/store_internal.h"

static const char version_1[] =
	/* One row: what is true of the whole store. */
	"CREATE TABLE store ("
	" id INTEGER PRIMARY KEY CHECK (id = 1),"
	" lineage TEXT NOT NULL,"
	" queued_turns INTEGER NOT NULL DEFAULT 0," /* turns queued or ready … */
	" queued_bytes INTEGER NOT NULL DEFAULT 0"  /* … and their prompts */
	") STRICT;"

	"CREATE TABLE bots ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" name TEXT NOT NULL UNIQUE,"
	" head INTEGER," /* node: the newest of the conversation */
	" status TEXT NOT NULL,"
	" running_turn INTEGER,"
	" provider TEXT NOT NULL,"
	" family TEXT NOT NULL,"
	" created_by TEXT,"
	" created_by_id INTEGER,"
	" tokens_used INTEGER NOT NULL DEFAULT 0,"
	" input_tokens INTEGER NOT NULL DEFAULT 0,"
	" cached_input_tokens INTEGER NOT NULL DEFAULT 0,"
	" settings TEXT NOT NULL," /* JSON object */
	" instructions TEXT NOT NULL"
	") STRICT;"

	"CREATE TABLE turns ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" bot INTEGER NOT NULL REFERENCES bots (id),"
	" request_id TEXT NOT NULL,"
	" status TEXT NOT NULL,"
	" delivery TEXT NOT NULL,"
	" workspace TEXT,"
	" workspace_given INTEGER NOT NULL," /* by the submission, not the bot's */
	" model TEXT NOT NULL,"
	" model_given INTEGER NOT NULL,"
	" from_bot TEXT,"
	" from_bot_id INTEGER,"
	" from_turn INTEGER,"
	" checkpoint INTEGER,"   /* node: the head when the turn ended */
	" last_message INTEGER," /* node: the model's newest item of this turn */
	" input_tokens INTEGER NOT NULL DEFAULT 0,"
	" output_tokens INTEGER NOT NULL DEFAULT 0,"
	" cached_input_tokens INTEGER NOT NULL DEFAULT 0,"
	" rounds INTEGER NOT NULL DEFAULT 0,"
	" started_ms INTEGER,"
	" finished_ms INTEGER,"
	" error TEXT,"
	" detail TEXT,"
	" preview TEXT NOT NULL," /* the prompt's beginning, for lists */
	" prompt TEXT NOT NULL,"
	" UNIQUE (bot, request_id)"
	") STRICT;"
	"CREATE INDEX turns_bot ON turns (bot, id);"
	"CREATE INDEX turns_queued ON turns (bot, id) WHERE status = 'queued';"
	"CREATE INDEX turns_ready ON turns (id) WHERE status = 'ready';"
	"CREATE INDEX turns_running ON turns (id) WHERE status = 'running';"
	/* AG-206: one owner of a bot's continuation, whatever a program does wrong. */
	"CREATE UNIQUE INDEX turns_live ON turns (bot)"
	" WHERE status IN ('ready', 'running', 'waiting', 'paced');"

	"CREATE TABLE nodes ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" parent INTEGER," /* node; always smaller than id */
	" turn INTEGER NOT NULL,"
	" depth INTEGER NOT NULL,"       /* items of the lineage up to this one … */
	" total_bytes INTEGER NOT NULL," /* … and their bytes */
	" item TEXT NOT NULL"            /* JSON in the encoding of the provider's family */
	") STRICT;"

	"CREATE TABLE tools ("
	" id INTEGER PRIMARY KEY,"
	" turn INTEGER NOT NULL REFERENCES turns (id),"
	" call_id TEXT NOT NULL,"
	" name TEXT NOT NULL,"
	" status TEXT NOT NULL,"     /* planned, executing, completed */
	" node INTEGER NOT NULL,"    /* whose item holds the call */
	" result INTEGER,"           /* node of its result */
	" request INTEGER NOT NULL," /* announcements so far: the number a verdict names */
	" announced_ms INTEGER,"
	" gates TEXT,"    /* JSON: those that must allow it */
	" verdicts TEXT," /* JSON: what was decided, and by whom */
	" arguments_cut INTEGER NOT NULL,"
	" arguments TEXT NOT NULL" /* their beginning; whole in the node */
	") STRICT;"
	/* Some models number their calls from the start in every response: an id is one call's
	 * among those under way, and otherwise means the newest. */
	"CREATE INDEX tools_call ON tools (turn, call_id);"
	"CREATE UNIQUE INDEX tools_open_call ON tools (turn, call_id) WHERE status <> 'completed';"
	"CREATE INDEX tools_open ON tools (turn, id) WHERE status <> 'completed';"

	"CREATE TABLE events ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT," /* the cursor */
	" bot INTEGER REFERENCES bots (id),"
	" turn INTEGER,"
	" kind TEXT NOT NULL,"
	" data TEXT NOT NULL" /* JSON object */
	") STRICT;"
	"CREATE INDEX events_bot ON events (bot, id);"

	"CREATE TABLE artifacts ("
	" id INTEGER PRIMARY KEY,"
	" turn INTEGER NOT NULL REFERENCES turns (id),"
	" call_id TEXT NOT NULL,"
	" stream TEXT NOT NULL,"
	" bytes BLOB NOT NULL"
	") STRICT;"
	"CREATE INDEX artifacts_call ON artifacts (turn, call_id, stream);";

static const char version_2[] =
	/* the newest event that was ever taken out, by a prune or with its bot */
	"ALTER TABLE store ADD COLUMN pruned_cursor INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE store ADD COLUMN paused_ms INTEGER;" /* the andon cord is pulled since then …
							   */
	"ALTER TABLE store ADD COLUMN paused_by TEXT;"    /* … by that bot */
	"ALTER TABLE store ADD COLUMN paused_by_id INTEGER;"
	"ALTER TABLE store ADD COLUMN paused_reason TEXT;"
	"ALTER TABLE store ADD COLUMN companions TEXT;" /* JSON [{name, argv, cwd}] */

	"ALTER TABLE bots ADD COLUMN closed INTEGER;" /* node: the newest with no open call after it
						       */
	"ALTER TABLE bots ADD COLUMN context_start INTEGER;" /* node the window begins with */
	"ALTER TABLE bots ADD COLUMN note INTEGER;"          /* row of notes, compactions … */
	"ALTER TABLE bots ADD COLUMN compaction INTEGER;"
	"ALTER TABLE bots ADD COLUMN elision INTEGER;"
	"ALTER TABLE bots ADD COLUMN cache_bot INTEGER;" /* whose prompt cache key it has; NULL: own
							  */
	"ALTER TABLE bots ADD COLUMN pruned_cursor INTEGER NOT NULL DEFAULT 0;" /* as the store's */
	"ALTER TABLE bots ADD COLUMN base INTEGER;" /* of a fork: the node it begins behind */
	"UPDATE bots SET closed = head WHERE running_turn IS NULL;"
	"CREATE INDEX bots_base ON bots (base) WHERE base IS NOT NULL;"
	"CREATE INDEX bots_deleting ON bots (id) WHERE status = 'deleting';"

	"ALTER TABLE turns ADD COLUMN expected_turn INTEGER;" /* of a strict steer */
	"ALTER TABLE turns ADD COLUMN into_turn INTEGER;" /* of a steered one: who took it up … */
	"ALTER TABLE turns ADD COLUMN steered_node INTEGER;" /* … and where it stands there */
	"ALTER TABLE turns ADD COLUMN waiting TEXT;"         /* JSON: what a parked one waits for */
	"ALTER TABLE turns ADD COLUMN resume_ms INTEGER;"    /* when it goes on by itself */
	"ALTER TABLE turns ADD COLUMN retries INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE turns ADD COLUMN paced_ms INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE turns ADD COLUMN budget_tokens INTEGER;"
	"ALTER TABLE turns ADD COLUMN origin TEXT;"   /* JSON {kind, name} */
	"ALTER TABLE turns ADD COLUMN pictures TEXT;" /* JSON: sha256, and list until it starts */
	"ALTER TABLE turns ADD COLUMN pruned INTEGER NOT NULL DEFAULT 0;" /* its records are gone */
	"CREATE INDEX turns_waiting ON turns (id) WHERE status = 'waiting';"
	"CREATE INDEX turns_paced ON turns (id) WHERE status = 'paced';"
	"CREATE INDEX turns_retained ON turns (bot, id)"
	" WHERE pruned = 0 AND finished_ms IS NOT NULL;"
	"CREATE INDEX events_turn ON events (turn, id) WHERE turn IS NOT NULL;"
	"CREATE INDEX nodes_turn ON nodes (turn, id);"
	"CREATE INDEX nodes_parent ON nodes (parent) WHERE parent IS NOT NULL;"

	"ALTER TABLE tools ADD COLUMN judged TEXT;" /* JSON: where it would run, as verdicts were
						     * asked for */

	/* What was denied: of a bot without an allowed call in between, and in a turn. */
	"ALTER TABLE bots ADD COLUMN denials_in_row INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE turns ADD COLUMN denials INTEGER NOT NULL DEFAULT 0;"
	/* Every verdict that took effect, chained (lib/receipt); no prune and no deletion takes one
	 * out. The head stands in `store`: hash NULL before the first. */
	"CREATE TABLE receipts ("
	" id INTEGER PRIMARY KEY," /* its number, from 1 */
	" hash TEXT NOT NULL,"
	" record TEXT NOT NULL" /* JSON object */
	") STRICT;"
	"ALTER TABLE store ADD COLUMN receipt_count INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE store ADD COLUMN receipt_hash TEXT;"

	/* stored whole (encoding raw), or deflated in blocks of 64 KiB that are read one by one */
	"ALTER TABLE artifacts ADD COLUMN encoding TEXT NOT NULL DEFAULT 'raw';"
	"ALTER TABLE artifacts ADD COLUMN total_bytes INTEGER;" /* NULL: as many as there are */

	/* Commands in the background. */
	"CREATE TABLE processes ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT," /* the N of proc:N */
	" bot INTEGER NOT NULL REFERENCES bots (id),"
	" turn INTEGER NOT NULL,"
	" call_id TEXT NOT NULL,"
	" status TEXT NOT NULL," /* running, finished */
	" result TEXT"           /* JSON, as the shell tool gives it */
	") STRICT;"
	"CREATE INDEX processes_bot ON processes (bot, id);"
	"CREATE INDEX processes_turn ON processes (turn, id);"
	"CREATE INDEX processes_running ON processes (id) WHERE status = 'running';"

	/* Views of a conversation, versioned: each holds from its node on, until the next, and
	 * lives as long as its node, which a fork may share. */
	"CREATE TABLE notes ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" node INTEGER NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,"
	" previous INTEGER,"
	" text TEXT NOT NULL"
	") STRICT;"
	"CREATE INDEX notes_node ON notes (node);"
	"CREATE TABLE compactions ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" node INTEGER NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,"
	" previous INTEGER,"
	" coverage INTEGER NOT NULL," /* node: the last that the summary stands for */
	" text TEXT NOT NULL"
	") STRICT;"
	"CREATE INDEX compactions_node ON compactions (node);"
	"CREATE TABLE elisions ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" node INTEGER NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,"
	" previous INTEGER,"
	" floor INTEGER NOT NULL" /* node: results up to it go as stubs */
	") STRICT;"
	"CREATE INDEX elisions_node ON elisions (node);"
	/* What stands for a result below a bot's floor: one for every lineage the node is in. */
	"CREATE TABLE stubs ("
	" node INTEGER PRIMARY KEY REFERENCES nodes (id) ON DELETE CASCADE,"
	" bytes INTEGER NOT NULL," /* of the item */
	" item TEXT NOT NULL"
	") STRICT;"
	/* What a bot's request says of the turns before the window that begins with `start`. */
	"CREATE TABLE omissions ("
	" bot INTEGER PRIMARY KEY REFERENCES bots (id) ON DELETE CASCADE,"
	" start INTEGER NOT NULL," /* node */
	" turns INTEGER NOT NULL,"
	" text TEXT NOT NULL"
	") STRICT;";

static const char *const migrations[] = {version_1, version_2};

const struct db_schema store_schema = {
	.application_id = 0x61676e74, /* "agnt" */
	.migrations = migrations,
	.count = ARRAY_LEN(migrations),
};
