/*
 * Bots as rows. What `create` sets is one JSON object in the column `settings`, instructions apart,
 * so that lists of bots do not read them.
 */
#include "agent/io/store_internal.h"

#include "sandbox/sandbox.h"

const struct error_kind STORE_BOT_NOT_FOUND = {"bot_not_found", ERROR_CLASS_NOT_FOUND};
const struct error_kind STORE_BOT_EXISTS = {"bot_exists", ERROR_CLASS_CONFLICT};
const struct error_kind STORE_CREATOR = {"creator_not_found", ERROR_CLASS_NOT_FOUND};

/* Columns, as BOT_COLUMNS names them. */
enum {
	COL_ID,
	COL_NAME,
	COL_HEAD,
	COL_STATUS,
	COL_RUNNING_TURN,
	COL_PROVIDER,
	COL_FAMILY,
	COL_CREATED_BY,
	COL_CREATED_BY_ID,
	COL_TOKENS_USED,
	COL_INPUT_TOKENS,
	COL_CACHED_INPUT_TOKENS,
	COL_CLOSED,
	COL_CONTEXT_START,
	COL_NOTE,
	COL_COMPACTION,
	COL_ELISION,
	COL_CACHE_BOT,
	COL_PRUNED_CURSOR,
	COL_DENIALS_IN_ROW,
	COL_SETTINGS,
	COL_INSTRUCTIONS,
};

/* Limits were checked when the settings came in: here only the shape counts. */
struct settings {
	struct bot_settings set;
	int64_t approval_hold_ms; /* where schema 1 kept it */
	const struct json *gates, *limits, *served;
};
#define SETTING(name_, sort_, ...)                                                                 \
	{                                                                                          \
		.name = #name_, .sort = (sort_), .offset = offsetof(struct settings, set.name_),   \
		__VA_ARGS__                                                                        \
	}
static const struct json_field settings_fields[] = {
	SETTING(model, JSON_FIELD_STR, .required = true),
	SETTING(reasoning, JSON_FIELD_STR),
	SETTING(tools, JSON_FIELD_STRS, .required = true),
	SETTING(workspace, JSON_FIELD_STR),
 /* Required: a sandbox that cannot be read must never count as none. */
	SETTING(sandbox, JSON_FIELD_ENUM, .required = true, .names = sandbox_mode_names),
	SETTING(writable_roots, JSON_FIELD_STRS, .required = true),
	SETTING(network, JSON_FIELD_BOOL, .required = true),
	SETTING(unix_sockets, JSON_FIELD_STRS, .required = true),
	SETTING(git_commit, JSON_FIELD_BOOL, .required = true),
	SETTING(budget_tokens, JSON_FIELD_I64, .required = true),
	JSON_I64(struct settings, approval_hold_ms),
	SETTING(rules, JSON_FIELD_STR),
	SETTING(compaction_instructions, JSON_FIELD_STR),
	SETTING(compaction_model, JSON_FIELD_STR),
	SETTING(fallbacks, JSON_FIELD_STRS),
	SETTING(allowed, JSON_FIELD_STRS),
	{.name = "limits",                   .sort = JSON_FIELD_NODE, .offset = offsetof(struct settings, limits)},
	{	       .name = "served_tools",
				    .sort = JSON_FIELD_NODE,
				    .offset = offsetof(struct settings,						     served)       },
	{ .name = "gates",
				    .sort = JSON_FIELD_NODE,
				    .offset = offsetof(struct settings,										gates),
				    .required = true},
};

static void put_given(struct json_out *j, const char *name, struct str value)
{
	if (value.p)
		json_put_str(j, name, value);
}

static void write_settings(struct buf *to, const struct bot_settings *set)
{
	struct json_out j = JSON_OUT(to);

	json_open(&j, '{');
	json_put_str(&j, "model", set->model);
	put_given(&j, "reasoning", set->reasoning);
	bot_write_strings(&j, "tools", &set->tools);
	put_given(&j, "workspace", set->workspace);
	json_put_cstr(&j, "sandbox", sandbox_mode_names[set->sandbox]);
	bot_write_strings(&j, "writable_roots", &set->writable_roots);
	json_put_bool(&j, "network", set->network);
	bot_write_strings(&j, "unix_sockets", &set->unix_sockets);
	json_put_bool(&j, "git_commit", set->git_commit);
	bot_write_gates(&j, "gates", set->gates, set->gate_count);
	if (set->served.count > 0)
		served_tools_write(&j, "served_tools", &set->served);
	json_put_i64(&j, "budget_tokens", set->budget_tokens);
	put_given(&j, "rules", set->rules);
	put_given(&j, "compaction_instructions", set->compaction_instructions);
	put_given(&j, "compaction_model", set->compaction_model);
	bot_write_strings(&j, "fallbacks", &set->fallbacks);
	if (set->has_allowed)
		bot_write_strings(&j, "allowed", &set->allowed);
	json_open_key(&j, "limits", '{');
	bot_limits_write(&j, &set->limits);
	json_close(&j, '}');
	json_close(&j, '}');
}

static int read_settings(
	struct arena *a, struct str text, struct bot_settings *ret, struct error *err)
{
	static const struct json_table table = {
		settings_fields, ARRAY_LEN(settings_fields), "settings", NULL};
	struct settings s = {0};
	const struct json *doc;
	struct gate *gates = NULL;
	size_t gate_count = 0;

	if (json_parse(a, text, &doc, err) < 0 || json_decode(a, doc, &table, &s, NULL, err) < 0 ||
		bot_read_gates(a, s.gates, &gates, &gate_count, err) < 0 ||
		(s.served && served_tools_read(a, s.served, &s.set.served, err) < 0) ||
		bot_limits_read(s.limits, &s.set.limits, err) < 0)
		return -1;
	if (json_get(doc, "approval_hold_ms"))
		s.set.limits.approval_hold_ms = s.approval_hold_ms;
	s.set.has_allowed = json_get(doc, "allowed") != NULL;
	s.set.gates = gates;
	s.set.gate_count = gate_count;
	*ret = s.set;
	return 0;
}

/* What cannot be read back must not be stored: the bot would be lost with it. */
static int encode_settings(struct buf *to, const struct bot_settings *set, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	struct bot_settings again;

	write_settings(to, set);
	if (to->full)
		return error_set(err, &ERROR_LIMIT, "the bot's settings are over %d bytes",
			SETTINGS_MAX_BYTES);
	return read_settings(&scratch, buf_str(to), &again, err);
}

static int from_row(
	struct db_stmt *s, bool instructions, struct arena *a, struct bot *ret, struct error *err)
{
	struct error cause = ERROR_INIT;
	int status = store_index_of(bot_status_names, db_col_str(s, COL_STATUS));
	struct bot b = {
		.id = db_col_i64(s, COL_ID),
		.name = store_col(s, COL_NAME, a),
		.head = db_col_i64(s, COL_HEAD),
		.running_turn = db_col_i64(s, COL_RUNNING_TURN),
		.provider = store_col(s, COL_PROVIDER, a),
		.family = store_col(s, COL_FAMILY, a),
		.created_by = store_col(s, COL_CREATED_BY, a),
		.created_by_id = db_col_i64(s, COL_CREATED_BY_ID),
		.tokens_used = db_col_i64(s, COL_TOKENS_USED),
		.input_tokens = db_col_i64(s, COL_INPUT_TOKENS),
		.cached_input_tokens = db_col_i64(s, COL_CACHED_INPUT_TOKENS),
		.closed = db_col_i64(s, COL_CLOSED),
		.context_start = db_col_i64(s, COL_CONTEXT_START),
		.note = db_col_i64(s, COL_NOTE),
		.compaction = db_col_i64(s, COL_COMPACTION),
		.elision = db_col_i64(s, COL_ELISION),
		.cache_bot = db_col_i64(s, COL_CACHE_BOT),
		.pruned_cursor = db_col_i64(s, COL_PRUNED_CURSOR),
		.denials_in_row = db_col_i64(s, COL_DENIALS_IN_ROW),
	};

	if (status < 0 || read_settings(a, db_col_str(s, COL_SETTINGS), &b.set, &cause) < 0)
		return error_set(err, &DB_ERROR, "the row of bot %lld is damaged: %s",
			(long long)b.id, status < 0 ? "status" : cause.text);
	b.status = (enum bot_status)status;
	if (instructions)
		b.set.instructions = store_col(s, COL_INSTRUCTIONS, a);
	if (!b.cache_bot)
		b.cache_bot = b.id;
	*ret = b;
	return 0;
}

/* 1 found, 0 not, -1. */
static int get(struct db_stmt *s, struct arena *a, struct bot *ret, struct error *err)
{
	struct bot b;
	int rc = db_step(s, err);

	if (rc == 1 && from_row(s, true, a, &b, err) < 0)
		rc = -1;
	db_reset(s);
	if (rc == 1 && b.status == BOT_DELETING)
		rc = 0;
	if (rc == 1)
		*ret = b;
	return rc;
}

int store_bot_get(
	struct store_view *v, struct str name, struct arena *a, struct bot *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_BOT_BY_NAME);
	int rc;

	db_bind_str(s, 1, name);
	rc = get(s, a, ret, err);
	if (rc == 0)
		return error_set(err, &STORE_BOT_NOT_FOUND, "there is no bot '" STR_FMT "'",
			STR_ARG(str_cut(name, BOT_NAME_MAX_BYTES)));
	return rc < 0 ? -1 : 0;
}

int store_bot_get_id(
	struct store_view *v, int64_t id, struct arena *a, struct bot *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_BOT_BY_ID);
	int rc;

	db_bind_i64(s, 1, id);
	rc = get(s, a, ret, err);
	if (rc == 0)
		return error_set(
			err, &STORE_BOT_NOT_FOUND, "there is no bot with id %lld", (long long)id);
	return rc < 0 ? -1 : 0;
}

/* NOLINTNEXTLINE(readability-function-size): what is asked for, and where it goes */
int store_bot_list(struct store_view *v, struct str after, int limit, struct arena *a,
	struct bot **ret, size_t *ret_count, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_BOT_LIST);
	struct bot *list = arena_alloc(a, (size_t)limit * sizeof(*list));
	size_t count = 0;
	int rc;

	db_bind_str(s, 1, after.p ? after : STR(""));
	db_bind_i64(s, 2, limit);
	while ((rc = db_step(s, err)) == 1) {
		if (from_row(s, false, a, &list[count], err) < 0) {
			rc = -1;
			break;
		}
		count++;
	}
	db_reset(s);
	if (rc < 0)
		return -1;
	*ret = list;
	*ret_count = count;
	return 0;
}

/* 1 there is a bot of this name and id, 0 not, -1. */
static int is_there(struct store_view *v, struct str name, int64_t id, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_BOT_IS);
	int rc;

	db_bind_str(s, 1, name);
	db_bind_i64(s, 2, id);
	rc = db_step(s, err);
	db_reset(s);
	return rc;
}

/* Under the lock of the transaction: no bot takes a name or goes away in between. */
static int check_create(struct store_view *v, const struct store_create *c, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_BOT_BY_NAME);
	int rc;

	db_bind_str(s, 1, c->name);
	rc = db_step(s, err);
	db_reset(s);
	if (rc < 0)
		return -1;
	if (rc == 1)
		return error_set(err, &STORE_BOT_EXISTS, "there is a bot '" STR_FMT "' already",
			STR_ARG(c->name));
	if (!c->created_by.p)
		return 0;
	rc = is_there(v, c->created_by, c->created_by_id, err);
	if (rc == 0)
		return error_set(err, &STORE_CREATOR,
			"created_by: there is no bot '" STR_FMT "' with id %lld",
			STR_ARG(str_cut(c->created_by, BOT_NAME_MAX_BYTES)),
			(long long)c->created_by_id);
	return rc < 0 ? -1 : 0;
}

static int insert(struct store_tx *tx, const struct store_create *c, struct error *err)
{
	_cleanup_(buf) struct buf settings = BUF_INIT(SETTINGS_MAX_BYTES);
	struct db_stmt *s = store_stmt(&tx->view, SQL_BOT_INSERT);

	if (encode_settings(&settings, &c->set, err) < 0)
		return -1;
	db_bind_str(s, 1, c->name);
	db_bind_str(s, 2, str_from(bot_status_names[BOT_IDLE]));
	db_bind_str(s, 3, c->provider);
	db_bind_str(s, 4, c->family);
	db_bind_str(s, 5, c->created_by);
	store_bind_id(s, 6, c->created_by.p ? c->created_by_id : 0);
	db_bind_str(s, 7, buf_str(&settings));
	db_bind_str(s, 8, c->set.instructions.p ? c->set.instructions : STR(""));
	return db_run(s, err);
}

static int record_created(struct store_tx *tx, const struct bot *b, struct error *err)
{
	const struct store_place at = {.bot = b->id, .bot_name = b->name};
	_cleanup_(buf) struct buf data = BUF_INIT(EVENT_MAX_BYTES);
	struct json_out j = JSON_OUT(&data);

	json_open(&j, '{');
	json_put_i64(&j, "id", b->id);
	json_put_str(&j, "provider", b->provider);
	json_put_str(&j, "model", b->set.model);
	json_put_str(&j, "workspace", b->set.workspace);
	json_put_cstr(&j, "status", bot_status_names[b->status]);
	json_put_null(&j, "running_turn");
	json_put_str(&j, "created_by", b->created_by);
	if (b->created_by_id)
		json_put_i64(&j, "created_by_id", b->created_by_id);
	else
		json_put_null(&j, "created_by_id");
	json_close(&j, '}');
	return store_record(tx, &at, "created", &data, err);
}

/* A bot that a bot makes has its maker's gates too. */
static int take_gates(struct store_view *v, const struct store_create *c, struct arena *a,
	struct bot_settings *set, struct error *err)
{
	struct bot creator;

	if (!c->created_by.p)
		return 0;
	if (store_bot_get_id(v, c->created_by_id, a, &creator, err) < 0)
		return -1;
	return bot_add_gates(a, set, creator.set.gates, creator.set.gate_count, err);
}

int store_bot_add(struct store_tx *tx, const struct store_create *c, struct arena *a,
	struct bot *ret, struct error *err)
{
	struct store_create with = *c;
	struct bot b;

	if (check_create(&tx->view, c, err) < 0 ||
		take_gates(&tx->view, c, a, &with.set, err) < 0 || insert(tx, &with, err) < 0 ||
		store_bot_get_id(&tx->view, db_last_id(tx->view.db), a, &b, err) < 0)
		return -1;
	*ret = b;
	return 0;
}

int store_bot_create(struct store_tx *tx, const struct store_create *c, struct arena *a,
	struct bot *ret, struct error *err)
{
	struct bot b;

	if (store_bot_add(tx, c, a, &b, err) < 0 || record_created(tx, &b, err) < 0)
		return -1;
	*ret = b;
	return 0;
}

static int record_configured(struct store_tx *tx, const struct bot *b, struct error *err)
{
	const struct store_place at = {.bot = b->id, .bot_name = b->name};
	_cleanup_(buf) struct buf data = BUF_INIT(EVENT_MAX_BYTES);
	struct json_out j = JSON_OUT(&data);

	json_open(&j, '{');
	json_put_str(&j, "workspace", b->set.workspace);
	json_put_cstr(&j, "sandbox", sandbox_mode_names[b->set.sandbox]);
	bot_write_strings(&j, "writable_roots", &b->set.writable_roots);
	json_put_bool(&j, "network", b->set.network);
	bot_write_strings(&j, "unix_sockets", &b->set.unix_sockets);
	json_put_bool(&j, "git_commit", b->set.git_commit);
	bot_write_gates(&j, "gates", b->set.gates, b->set.gate_count);
	json_put_cstr(&j, "rules_source", bot_rules_source(&b->set));
	served_tools_write_names(&j, "served_tools", &b->set.served);
	json_put_bool(&j, "compaction", b->set.compaction_instructions.p != NULL);
	bot_write_limits(&j, &b->set);
	json_close(&j, '}');
	return store_record(tx, &at, "configured", &data, err);
}

int store_bot_configure(struct store_tx *tx, const struct bot *b, struct error *err)
{
	_cleanup_(buf) struct buf settings = BUF_INIT(SETTINGS_MAX_BYTES);
	struct db_stmt *s = store_stmt(&tx->view, SQL_BOT_CONFIGURE);

	if (encode_settings(&settings, &b->set, err) < 0)
		return -1;
	db_bind_i64(s, 1, b->id);
	db_bind_str(s, 2, buf_str(&settings));
	db_bind_str(s, 3, b->set.instructions.p ? b->set.instructions : STR(""));
	if (db_run(s, err) < 0)
		return -1;
	if (db_changes(tx->view.db) != 1)
		return error_set(err, &STORE_BOT_NOT_FOUND, "there is no bot with id %lld",
			(long long)b->id);
	return record_configured(tx, b, err);
}
