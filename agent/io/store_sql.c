/*
 * The statements. Columns that are read together are named once.
 */
#include "agent/io/store_sql.h"

/* As store_bots.c reads them. */
#define BOT_COLUMNS                                                                                \
	"id, name, head, status, running_turn, provider, family, created_by, created_by_id,"       \
	" tokens_used, input_tokens, cached_input_tokens, closed, context_start, note,"            \
	" compaction, elision, cache_bot, pruned_cursor, denials_in_row, settings"

/* As store_turn_from_row reads them; the prompt, or what stands for it, comes after. */
#define TURN_COLUMNS                                                                               \
	"t.id, t.bot, b.name, t.request_id, t.status, t.workspace, t.model, t.from_bot,"           \
	" t.from_bot_id, t.from_turn, t.error, t.detail, t.checkpoint, t.input_tokens,"            \
	" t.output_tokens, t.cached_input_tokens, t.rounds, t.started_ms, t.finished_ms,"          \
	" b.family, t.into_turn, t.steered_node, t.origin, t.retries, t.paced_ms,"                 \
	" t.budget_tokens, t.denials"

#define EVENT_COLUMNS "e.id, e.bot, b.name, e.turn, e.kind, e.data"

const char *const store_sql[SQL_COUNT] = {
	[SQL_STORE_GET] = "SELECT lineage FROM store WHERE id = 1",
	[SQL_STORE_INSERT] = "INSERT INTO store (id, lineage) VALUES (1, ?1)",
	[SQL_STORE_QUEUED] = "SELECT queued_turns, queued_bytes FROM store WHERE id = 1",
	[SQL_STORE_QUEUE_ADD] = "UPDATE store SET queued_turns = queued_turns + ?1,"
				" queued_bytes = queued_bytes + ?2 WHERE id = 1",
	[SQL_STORE_PRUNED] = "SELECT pruned_cursor FROM store WHERE id = 1",
	[SQL_STORE_SET_PRUNED] = "UPDATE store SET pruned_cursor = max(pruned_cursor, ?1)"
				 " WHERE id = 1",
	[SQL_STORE_RECEIPTS] = "SELECT lineage, receipt_count, receipt_hash FROM store"
			       " WHERE id = 1",
	[SQL_STORE_SET_RECEIPTS] = "UPDATE store SET receipt_count = ?1, receipt_hash = ?2"
				   " WHERE id = 1",
	[SQL_STORE_PAUSE_GET] = "SELECT paused_ms, paused_by, paused_by_id, paused_reason"
				" FROM store WHERE id = 1",
	[SQL_STORE_PAUSE_SET] = "UPDATE store SET paused_ms = ?1, paused_by = ?2,"
				" paused_by_id = ?3, paused_reason = ?4 WHERE id = 1",
	[SQL_STORE_COMPANIONS_GET] = "SELECT companions FROM store WHERE id = 1",
	[SQL_STORE_COMPANIONS_SET] = "UPDATE store SET companions = ?1 WHERE id = 1",

	[SQL_BOT_INSERT] = "INSERT INTO bots (name, status, provider, family, created_by,"
			   " created_by_id, settings, instructions)"
			   " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[SQL_BOT_BY_NAME] = "SELECT " BOT_COLUMNS ", instructions FROM bots WHERE name = ?1",
	[SQL_BOT_BY_ID] = "SELECT " BOT_COLUMNS ", instructions FROM bots WHERE id = ?1",
	[SQL_BOT_LIST] = "SELECT " BOT_COLUMNS " FROM bots WHERE name > ?1"
			 " ORDER BY name LIMIT ?2",
	[SQL_BOT_CONFIGURE] = "UPDATE bots SET settings = ?2, instructions = ?3 WHERE id = ?1",
	[SQL_BOT_IS] = "SELECT 1 FROM bots WHERE name = ?1 AND id = ?2 AND status <> 'deleting'",
	[SQL_BOT_START] = "UPDATE bots SET status = 'running', running_turn = ?2, head = ?3"
			  " WHERE id = ?1",
	[SQL_BOT_FINISH] = "UPDATE bots SET status = ?2, running_turn = NULL,"
			   " closed = head WHERE id = ?1",
	[SQL_BOT_STATUS] = "UPDATE bots SET status = ?2 WHERE id = ?1",
	[SQL_BOT_HEAD] = "SELECT head FROM bots WHERE id = ?1",
	[SQL_BOT_SET_HEAD] = "UPDATE bots SET head = ?2 WHERE id = ?1",
	[SQL_BOT_USAGE] = "UPDATE bots SET tokens_used = tokens_used + ?2 + ?3,"
			  " input_tokens = input_tokens + ?2,"
			  " cached_input_tokens = cached_input_tokens + ?4 WHERE id = ?1",
	/* With no call of the turn open, the conversation may be taken up from here. */
	[SQL_BOT_CLOSE] = "UPDATE bots SET closed = head WHERE id = ?1 AND NOT EXISTS"
			  " (SELECT 1 FROM tools WHERE turn = ?2 AND status <> 'completed')",
	[SQL_BOT_FORK] = "UPDATE bots SET head = ?2, closed = ?2, base = ?2, cache_bot = ?3"
			 " WHERE id = ?1",
	[SQL_BOT_PRUNED] = "SELECT pruned_cursor FROM bots WHERE id = ?1",
	[SQL_BOT_SET_PRUNED] = "UPDATE bots SET pruned_cursor = max(pruned_cursor, ?2)"
			       " WHERE id = ?1",
	[SQL_BOT_IN_USE] = "SELECT"
			   " (SELECT id FROM turns WHERE bot = b.id AND status IN"
			   "  ('ready', 'running', 'waiting', 'paced')),"
			   " (SELECT id FROM turns WHERE bot = b.id AND status = 'queued' LIMIT 1),"
			   " (SELECT id FROM processes WHERE bot = b.id AND status = 'running'"
			   "  LIMIT 1)"
			   " FROM bots b WHERE b.id = ?1",
	[SQL_BOT_SET_DELETING] = "UPDATE bots SET status = 'deleting' WHERE id = ?1",
	[SQL_BOT_DELETING] = "SELECT head FROM bots WHERE id = ?1 AND status = 'deleting'",
	[SQL_BOT_DELETING_NAME] = "SELECT id FROM bots WHERE name = ?1 AND status = 'deleting'",
	[SQL_BOT_NEXT_DELETING] = "SELECT id FROM bots WHERE status = 'deleting' AND id > ?1"
				  " ORDER BY id LIMIT 1",
	[SQL_BOT_DELETE] = "DELETE FROM bots WHERE id = ?1",

	[SQL_TURN_INSERT] = "INSERT INTO turns (bot, request_id, status, delivery, workspace,"
			    " workspace_given, model, model_given, from_bot, from_bot_id,"
			    " from_turn, started_ms, preview, prompt, expected_turn, origin,"
			    " budget_tokens, pictures)"
			    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,"
			    " ?15, ?16, ?17, CASE WHEN ?18 IS NULL THEN NULL"
			    " WHEN ?19 IS NULL THEN json_object('sha256', ?18)"
			    " ELSE json_object('sha256', ?18, 'list', json(?19)) END)",
	[SQL_TURN_PICTURES] = "SELECT json_extract(pictures, '$.list') FROM turns WHERE id = ?1",
	[SQL_TURN_BY_ID] = "SELECT " TURN_COLUMNS ", t.prompt FROM turns t"
			   " JOIN bots b ON b.id = t.bot WHERE t.id = ?1",
	[SQL_TURN_BY_REQUEST] = "SELECT " TURN_COLUMNS ", t.prompt, t.delivery,"
				" t.workspace_given, t.model_given,"
				" t.expected_turn, json_extract(t.pictures, '$.sha256')"
				" FROM turns t"
				" JOIN bots b ON b.id = t.bot"
				" WHERE t.bot = ?1 AND t.request_id = ?2",
	[SQL_TURN_LIVE] = "SELECT id, status FROM turns WHERE bot = ?1"
			  " AND status IN ('ready', 'running', 'waiting', 'paced')",
	[SQL_TURN_FIRST_READY] = "SELECT id FROM turns WHERE status = 'ready' AND id > 0"
				 " ORDER BY id LIMIT 1",
	[SQL_TURN_NEXT_QUEUED] = "SELECT id FROM turns WHERE bot = ?1 AND status = 'queued'"
				 " ORDER BY id LIMIT 1",
	[SQL_TURN_SET_READY] = "UPDATE turns SET status = 'ready' WHERE id = ?1",
	[SQL_TURN_START] = "UPDATE turns SET status = 'running', started_ms = ?2,"
			   " pictures = json_remove(pictures, '$.list') WHERE id = ?1",
	[SQL_TURN_FINISH] = "UPDATE turns SET status = ?2, error = ?3, detail = ?4,"
			    " checkpoint = ?5, finished_ms = ?6,"
			    " pictures = json_remove(pictures, '$.list') WHERE id = ?1",
	[SQL_TURN_ROUND] = "UPDATE turns SET rounds = rounds + 1, input_tokens = input_tokens + ?2,"
			   " output_tokens = output_tokens + ?3,"
			   " cached_input_tokens = cached_input_tokens + ?4,"
			   " last_message = coalesce(?5, last_message) WHERE id = ?1",
	[SQL_TURN_RETRIES] = "UPDATE turns SET retries = retries + ?2 WHERE id = ?1",
	[SQL_TURN_LIST] = "SELECT " TURN_COLUMNS ", t.preview FROM turns t"
			  " JOIN bots b ON b.id = t.bot WHERE t.bot = ?1 AND t.id > ?2"
			  " ORDER BY t.id LIMIT ?3",
	[SQL_TURN_LAST_MESSAGE] = "SELECT last_message FROM turns WHERE id = ?1 AND bot = ?2",
	[SQL_TURN_STEER] = "UPDATE turns SET status = 'steered', into_turn = ?2, steered_node = ?3,"
			   " finished_ms = ?4, pictures = json_remove(pictures, '$.list')"
			   " WHERE id = ?1",
	/* where the conversation stood before the turn */
	[SQL_TURN_BEGINNING] = "SELECT depth - 1, total_bytes - length(CAST(item AS BLOB))"
			       " FROM nodes WHERE turn = ?1 ORDER BY id LIMIT 1",
	[SQL_STEERS_QUEUED] = "SELECT id, workspace_given, model_given FROM turns"
			      " WHERE bot = ?1 AND status = 'queued' AND delivery = 'steer'"
			      " ORDER BY id LIMIT ?2",
	[SQL_STEER_MISSED] = "SELECT id FROM turns WHERE bot = ?1 AND status = 'queued'"
			     " AND expected_turn = ?2 ORDER BY id LIMIT 1",
	/* bytes and number of the texts that stand before the conversation */
	[SQL_BOT_PINNED] = "SELECT coalesce(length(CAST(n.text AS BLOB)), 0) +"
			   " coalesce(length(CAST(c.text AS BLOB)), 0),"
			   " (n.id IS NOT NULL) + (c.id IS NOT NULL) FROM bots b"
			   " LEFT JOIN notes n ON n.id = b.note"
			   " LEFT JOIN compactions c ON c.id = b.compaction WHERE b.id = ?1",
	[SQL_TURN_PARK] = "UPDATE turns SET status = ?2, waiting = ?3, resume_ms = ?4"
			  " WHERE id = ?1",
	[SQL_TURN_WAITING] = "SELECT b.name, t.waiting FROM turns t JOIN bots b ON b.id = t.bot"
			     " WHERE t.id = ?1 AND t.bot = ?2",
	[SQL_TURN_RESUME] = "UPDATE turns SET status = 'running', waiting = NULL,"
			    " resume_ms = NULL, paced_ms = paced_ms + ?2 WHERE id = ?1",
	[SQL_TURNS_WAITING] = "SELECT id, bot FROM turns WHERE status = 'waiting' AND id > ?1"
			      " ORDER BY id LIMIT ?2",
	[SQL_TURNS_PACED] = "SELECT id, bot FROM turns WHERE status = 'paced' AND id > ?1"
			    " ORDER BY id LIMIT ?2",
	[SQL_TURNS_RUNNING] = "SELECT id, bot FROM turns WHERE status = 'running' AND id > ?1"
			      " ORDER BY id LIMIT ?2",
	[SQL_TURNS_READY_COUNT] = "SELECT count(*) FROM turns WHERE status = 'ready' AND id > 0",
	[SQL_TURN_KEPT] = "SELECT id FROM turns WHERE bot = ?1 AND pruned = 0"
			  " AND finished_ms IS NOT NULL ORDER BY id DESC LIMIT 1 OFFSET ?2",
	[SQL_TURNS_TO_PRUNE] = "SELECT t.id FROM turns t WHERE t.bot = ?1 AND t.id <= ?2"
			       " AND t.id <> ?3 AND t.pruned = 0 AND t.finished_ms IS NOT NULL"
			       " AND NOT EXISTS (SELECT 1 FROM processes p WHERE p.turn = t.id"
			       "  AND p.status = 'running')"
			       " ORDER BY t.id LIMIT ?4",
	[SQL_TURN_SET_PRUNED] = "UPDATE turns SET pruned = 1 WHERE id = ?1",
	[SQL_TURNS_NEWEST] = "SELECT id FROM turns WHERE bot = ?1 ORDER BY id DESC LIMIT ?2",
	[SQL_TURN_DELETE] = "DELETE FROM turns WHERE id = ?1",
	[SQL_TURN_PRUNED] = "SELECT bot, pruned FROM turns WHERE id = ?1",

	[SQL_LINE] = "SELECT b.name, t.status, b.head, n.depth, n.total_bytes, b.family"
		     " FROM turns t"
		     " JOIN bots b ON b.id = t.bot LEFT JOIN nodes n ON n.id = b.head"
		     " WHERE t.id = ?1 AND t.bot = ?2",
	[SQL_NODE_INSERT] = "INSERT INTO nodes (parent, turn, depth, total_bytes, item)"
			    " VALUES (?1, ?2, ?3, ?4, ?5)",
	[SQL_NODE_LINK] = "SELECT parent, turn, depth, total_bytes FROM nodes WHERE id = ?1",
	[SQL_NODE_ITEM] = "SELECT turn, item FROM nodes WHERE id = ?1",
	[SQL_NODE_OWNER] = "SELECT t.bot FROM nodes n JOIN turns t ON t.id = n.turn"
			   " WHERE n.id = ?1",
	[SQL_NODE_WHOLE] = "SELECT parent, turn, item FROM nodes WHERE id = ?1",
	/* What a bot that goes may take with it: nothing hangs on the node, and whose turn made it
	 * is that bot, gone, or going. */
	[SQL_NODE_USED] = "SELECT n.parent, n.turn,"
			  " EXISTS (SELECT 1 FROM nodes c WHERE c.parent = n.id)"
			  " OR EXISTS (SELECT 1 FROM bots f WHERE f.base = n.id AND f.id <> ?2)"
			  " OR EXISTS (SELECT 1 FROM turns t JOIN bots b ON b.id = t.bot"
			  "  WHERE t.id = n.turn AND b.status <> 'deleting')"
			  " FROM nodes n WHERE n.id = ?1",
	[SQL_NODE_DELETE] = "DELETE FROM nodes WHERE id = ?1",

	[SQL_NODE_WINDOW] = "SELECT n.parent, n.turn, n.total_bytes, s.bytes FROM nodes n"
			    " LEFT JOIN stubs s ON s.node = n.id WHERE n.id = ?1",
	[SQL_NODE_ITEM_HEAD] = "SELECT substr(item, 1, ?2) FROM nodes WHERE id = ?1",
	[SQL_TURN_FIRST_NODE] = "SELECT min(id) FROM nodes WHERE turn = ?1",
	[SQL_TURN_NODES] = "SELECT id FROM nodes WHERE turn = ?1 AND id <= ?2 ORDER BY id",

	[SQL_STUB_GET] = "SELECT item FROM stubs WHERE node = ?1",
	[SQL_STUB_INSERT] = "INSERT INTO stubs (node, bytes, item) VALUES (?1, ?2, ?3)"
			    " ON CONFLICT DO NOTHING",
	[SQL_OMISSION_GET] = "SELECT start, turns, text FROM omissions WHERE bot = ?1",
	[SQL_OMISSION_SET] = "INSERT INTO omissions (bot, start, turns, text)"
			     " VALUES (?1, ?2, ?3, ?4) ON CONFLICT (bot) DO UPDATE SET"
			     " start = excluded.start, turns = excluded.turns,"
			     " text = excluded.text",
	[SQL_BOT_SET_START] = "UPDATE bots SET context_start = ?2 WHERE id = ?1",
	[SQL_BOT_SET_NOTE] = "UPDATE bots SET note = ?2 WHERE id = ?1",
	[SQL_BOT_SET_COMPACTION] = "UPDATE bots SET compaction = ?2 WHERE id = ?1",
	[SQL_BOT_SET_ELISION] = "UPDATE bots SET elision = ?2 WHERE id = ?1",
	[SQL_BOT_BIND] = "UPDATE bots SET note = ?2, compaction = ?3, elision = ?4,"
			 " context_start = ?5 WHERE id = ?1",
	[SQL_NOTE_INSERT] = "INSERT INTO notes (node, previous, text)"
			    " VALUES (?2, (SELECT note FROM bots WHERE id = ?1), ?3)",
	[SQL_NOTE_GET] = "SELECT node, previous, text FROM notes WHERE id = ?1",
	[SQL_COMPACTION_INSERT] = "INSERT INTO compactions (node, previous, coverage, text) VALUES"
				  " (?2, (SELECT compaction FROM bots WHERE id = ?1), ?3, ?4)",
	[SQL_COMPACTION_GET] = "SELECT node, previous, text, coverage FROM compactions"
			       " WHERE id = ?1",
	[SQL_ELISION_INSERT] = "INSERT INTO elisions (node, previous, floor) VALUES"
			       " (?2, (SELECT elision FROM bots WHERE id = ?1), ?3)",
	[SQL_ELISION_GET] = "SELECT node, previous, floor FROM elisions WHERE id = ?1",
	[SQL_TURN_CHARGE] = "UPDATE turns SET input_tokens = input_tokens + ?2,"
			    " output_tokens = output_tokens + ?3,"
			    " cached_input_tokens = cached_input_tokens + ?4 WHERE id = ?1",

	[SQL_CALL_INSERT] = "INSERT INTO tools (turn, call_id, name, status, node, request,"
			    " announced_ms, gates, arguments_cut, arguments, judged)"
			    " VALUES (?1, ?2, ?3, 'planned', ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
			    " ON CONFLICT DO NOTHING",
	[SQL_CALL_GET] = "SELECT id, name, status, node, request, arguments_cut, arguments"
			 " FROM tools WHERE turn = ?1 AND call_id = ?2"
			 " ORDER BY id DESC LIMIT 1",
	[SQL_CALL_ANNOUNCE] = "UPDATE tools SET request = ?2, announced_ms = ?3, gates = ?4,"
			      " judged = ?5, verdicts = NULL WHERE id = ?1",
	[SQL_CALL_START] = "UPDATE tools SET status = 'executing', verdicts = ?2 WHERE id = ?1",
	[SQL_CALL_FINISH] = "UPDATE tools SET status = 'completed', result = ?2,"
			    " verdicts = coalesce(?3, verdicts) WHERE id = ?1",
	[SQL_CALLS_OPEN] = "SELECT call_id, status FROM tools WHERE turn = ?1"
			   " AND status <> 'completed' ORDER BY id",
	[SQL_CALLS_ROUND] = "SELECT t.call_id, t.name, t.status, t.node, t.request,"
			    " t.announced_ms, t.gates, t.judged, t.verdicts, n.item"
			    " FROM tools t JOIN nodes n ON n.id = t.node"
			    " WHERE t.turn = ?1 AND t.status <> 'completed' ORDER BY t.id",
	[SQL_CALL_DECIDED] = "UPDATE tools SET verdicts = ?2 WHERE id = ?1",
	[SQL_CALLS_DELETE] = "DELETE FROM tools WHERE turn = ?1",
	[SQL_CALL_RESULT] = "SELECT result FROM tools WHERE turn = ?1 AND call_id = ?2"
			    " ORDER BY id DESC LIMIT 1",

	[SQL_RECEIPT_INSERT] = "INSERT INTO receipts (id, hash, record) VALUES (?1, ?2, ?3)",
	[SQL_RECEIPTS] = "SELECT id, hash, record FROM receipts WHERE id > ?1"
			 " ORDER BY id LIMIT ?2",
	[SQL_BOT_DENIED] = "UPDATE bots SET denials_in_row = denials_in_row + 1 WHERE id = ?1",
	[SQL_BOT_ALLOWED] = "UPDATE bots SET denials_in_row = 0 WHERE id = ?1",
	[SQL_TURN_DENIED] = "UPDATE turns SET denials = denials + 1 WHERE id = ?1",

	[SQL_PROCESS_INSERT] = "INSERT INTO processes (bot, turn, call_id, status)"
			       " VALUES (?1, ?2, ?3, 'running')",
	[SQL_PROCESS_FINISH] = "UPDATE processes SET status = 'finished', result = ?2"
			       " WHERE id = ?1 AND status = 'running'",
	[SQL_PROCESS_GET] = "SELECT bot, turn, call_id, status, result FROM processes"
			    " WHERE id = ?1",
	[SQL_PROCESS_RUNNING] = "SELECT id, bot, turn, call_id FROM processes"
				" WHERE status = 'running' AND id > 0 ORDER BY id LIMIT 1",

	[SQL_EVENT_INSERT] = "INSERT INTO events (bot, turn, kind, data) VALUES (?1, ?2, ?3, ?4)",
	[SQL_EVENTS_OF_BOT] = "SELECT " EVENT_COLUMNS " FROM events e JOIN bots b ON b.id = e.bot"
			      " WHERE e.bot = ?1 AND e.id > ?2 ORDER BY e.id LIMIT ?3",
	[SQL_EVENTS_OF_ALL] = "SELECT " EVENT_COLUMNS " FROM events e"
			      " LEFT JOIN bots b ON b.id = e.bot"
			      " WHERE e.id > ?1 ORDER BY e.id LIMIT ?2",
	[SQL_EVENT_LAST] = "SELECT max(id) FROM events",
	[SQL_EVENT_LAST_OF_TURN] = "SELECT id FROM events WHERE turn = ?1"
				   " ORDER BY id DESC LIMIT 1",
	[SQL_EVENTS_DELETE_TURN] = "DELETE FROM events WHERE turn = ?1",
	[SQL_EVENT_FIRST_OF_BOT] = "SELECT id FROM events WHERE bot = ?1 ORDER BY id LIMIT 1",
	[SQL_EVENT_DELETE] = "DELETE FROM events WHERE id = ?1",

	[SQL_ARTIFACT_INSERT] = "INSERT INTO artifacts (turn, call_id, stream, encoding,"
				" total_bytes, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
	[SQL_ARTIFACT_GET] = "SELECT encoding, total_bytes, bytes FROM artifacts WHERE turn = ?1"
			     " AND call_id = ?2 AND stream = ?3 ORDER BY id DESC LIMIT 1",
	[SQL_ARTIFACTS_OF_CALL] = "SELECT DISTINCT stream FROM artifacts WHERE turn = ?1"
				  " AND call_id = ?2 ORDER BY stream LIMIT ?3",
	[SQL_ARTIFACTS_DELETE] = "DELETE FROM artifacts WHERE turn = ?1",

	[SQL_PROCESS_OF_CALL] = "SELECT id FROM processes WHERE turn = ?1 AND call_id = ?2"
				" LIMIT 1",
	[SQL_PROCESS_LIVE] = "SELECT id FROM processes WHERE turn = ?1 AND call_id = ?2"
			     " AND status = 'running' ORDER BY id DESC LIMIT 1",
	[SQL_SPILLED_TURN] = "SELECT t.bot FROM artifacts a JOIN turns t ON t.id = a.turn"
			     " WHERE a.turn = ?1 AND a.encoding = 'spill' LIMIT 1",
	[SQL_SPILLED_FILE] = "SELECT 1 FROM artifacts WHERE turn = ?1 AND encoding = 'spill'"
			     " AND bytes = ?2 LIMIT 1",
	[SQL_PROCESSES_DELETE_TURN] = "DELETE FROM processes WHERE turn = ?1"
				      " AND status = 'finished'",
	[SQL_PROCESSES_DELETE_BOT] = "DELETE FROM processes WHERE bot = ?1",
};
