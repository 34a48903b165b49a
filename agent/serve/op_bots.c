/* create, inspect, bots, configure. */
#include <stdio.h>
#include <stdlib.h>

#include "agent/core/bot.h"
#include "agent/core/confine.h"
#include "agent/serve/lineage.h"
#include "agent/serve/live.h"
#include "agent/serve/op.h"
#include "agent/serve/rulebook.h"
#include "os/os.h"

static const struct error_kind MODEL_REQUIRED = {"model_required", ERROR_CLASS_USAGE};
static const struct error_kind INSTRUCTIONS_REQUIRED = {"instructions_required", ERROR_CLASS_USAGE};
static const struct error_kind INSTRUCTIONS_LIMIT = {"instructions_limit", ERROR_CLASS_LIMIT};
static const struct error_kind TOOLS_REQUIRED = {"tools_required", ERROR_CLASS_USAGE};
static const struct error_kind INVALID_REASONING = {"invalid_reasoning_level", ERROR_CLASS_USAGE};
static const struct error_kind INVALID_BUDGET = {"invalid_budget", ERROR_CLASS_USAGE};
static const struct error_kind FAMILY_MISMATCH = {"provider_family_mismatch", ERROR_CLASS_CONFLICT};
static const struct error_kind INVALID_WORKSPACE = {
	"workspace_must_exist_and_be_absolute", ERROR_CLASS_USAGE};
static const struct error_kind CREATOR_IDENTITY = {"creator_identity_required", ERROR_CLASS_USAGE};

enum { REFERENCE_MAX_BYTES = PROVIDER_NAME_MAX_BYTES + 1 + MODEL_MAX_BYTES };

/* create and configure: what is given replaces, what is not stays. */
struct settings_args {
	struct str bot, model, instructions, reasoning, workspace, created_by;
	struct str compaction_instructions, compaction_model;
	int64_t created_by_id, budget_tokens;
	struct bot_limits limits;
	int cache_ttl;
	struct str_list tools, writable_roots, unix_sockets, fallbacks;
	const struct json *gates, *rules, *served_tools;
	int sandbox;
	bool network, git_commit;
};

enum settings_field {
	F_BOT,
	F_SANDBOX,
	F_ROOTS,
	F_NETWORK,
	F_UNIX,
	F_GIT,
	F_GATES,
	F_RULES,
	F_SERVED,
	F_WORKSPACE,
	F_CACHE_TTL,
	F_COMPACTION_INSTRUCTIONS,
	F_COMPACTION_MODEL,
	F_FALLBACKS,
/* those of bot_limit_table, in its order */
#define F_LIMIT(name, ...) F_##name,
	BOT_LIMITS(F_LIMIT)
#undef F_LIMIT
		F_MODEL,
	F_INSTRUCTIONS,
	F_TOOLS,
	F_REASONING,
	F_BUDGET,
	F_CREATED_BY,
	F_CREATED_BY_ID,
};

#define SETTINGS_ROWS                                                                              \
	[F_BOT] = JSON_STR(struct settings_args, bot, .required = true),                           \
	[F_SANDBOX] = JSON_ENUM(struct settings_args, sandbox, sandbox_mode_names),                \
	[F_ROOTS] = JSON_STRS(struct settings_args, writable_roots, .max = BOT_ROOTS_MAX,          \
		.item_max = GUARD_PATH_MAX_BYTES),                                                 \
	[F_NETWORK] = JSON_BOOL(struct settings_args, network),                                    \
	[F_UNIX] = JSON_STRS(struct settings_args, unix_sockets, .max = BOT_UNIX_SOCKETS_MAX,      \
		.item_max = GUARD_PATH_MAX_BYTES),                                                 \
	[F_GIT] = JSON_BOOL(struct settings_args, git_commit),                                     \
	[F_GATES] = JSON_NODE(struct settings_args, gates),                                        \
	[F_RULES] = JSON_NODE(struct settings_args, rules),                                        \
	[F_SERVED] = JSON_NODE(struct settings_args, served_tools),                                \
	[F_WORKSPACE] = JSON_STR(struct settings_args, workspace),                                 \
	[F_CACHE_TTL] = JSON_ENUM(struct settings_args, cache_ttl, bot_cache_ttl_names),           \
	[F_COMPACTION_INSTRUCTIONS] = JSON_STR(struct settings_args, compaction_instructions,      \
		.nullable = true, .max = BOT_INSTRUCTIONS_MAX_BYTES),                              \
	[F_COMPACTION_MODEL] = JSON_STR(struct settings_args, compaction_model, .nullable = true), \
	[F_FALLBACKS] = JSON_STRS(struct settings_args, fallbacks, .max = BOT_FALLBACKS_MAX,       \
		.item_max = REFERENCE_MAX_BYTES) BOT_LIMITS(LIMIT_ROW)

/* A comma stands before each, for there is one before. */
#define LIMIT_ROW(name_, flag, value, min_, max_, fallback, help)                                  \
	, [F_##name_] = {.name = #name_,                                                           \
		  .sort = JSON_FIELD_I64,                                                          \
		  .offset = offsetof(struct settings_args, limits.name_),                          \
		  .min = (min_),                                                                   \
		  .max = (max_)}

static const struct json_field create_fields[] = {
	SETTINGS_ROWS,
	[F_MODEL] = JSON_STR(struct settings_args, model),
	[F_INSTRUCTIONS] = JSON_STR(struct settings_args, instructions),
	[F_TOOLS] = JSON_STRS(
		struct settings_args, tools, .max = BOT_TOOLS_MAX, .item_max = BOT_NAME_MAX_BYTES),
	[F_REASONING] = JSON_STR(struct settings_args, reasoning),
	[F_BUDGET] = JSON_I64(struct settings_args, budget_tokens, .min = INT64_MIN),
	[F_CREATED_BY] = JSON_STR(struct settings_args, created_by),
	[F_CREATED_BY_ID] = JSON_I64(struct settings_args, created_by_id),
};

static const struct json_field configure_fields[] = {SETTINGS_ROWS};

struct settings_work {
	const struct settings_args *args;
	struct bot_settings set; /* what was given, checked and canonical */
	struct str family;       /* of the models it names beside its own, absent: none */
	const char *family_of;   /* which field says so */
	struct store_create create;
	struct bot bot;
};

static bool given(const struct request *r, int field)
{
	return (r->seen >> field & 1) != 0;
}

/* An absolute path of a folder that is there, by its real name. */
int op_real_folder(
	struct request *r, struct str path, const char *what, struct str *ret, struct error *err)
{
	_cleanup_(guard_path) struct guard_path p = {.real = NULL};

	if (path.len == 0 || path.p[0] != '/')
		return error_set(err, &INVALID_WORKSPACE, "%s: must be absolute", what);
	if (guard_resolve("/", path, &p, err) < 0)
		return error_set(err, &INVALID_WORKSPACE, "%s: cannot be resolved", what);
	if (!p.exists || !p.is_dir)
		return error_set(err, &INVALID_WORKSPACE, "%s: '%.*s' is no folder", what,
			(int)str_cut(path, 256).len, path.p);
	*ret = str_from(arena_strndup(&r->arena, p.real, strlen(p.real)));
	return 0;
}

static int read_folders(struct request *r, const struct settings_args *args,
	struct bot_settings *set, struct error *err)
{
	struct str *roots = arena_alloc(
		&r->arena, (args->writable_roots.count + 1) * sizeof(*roots));
	char what[48];

	if (given(r, F_WORKSPACE) &&
		op_real_folder(r, args->workspace, "workspace", &set->workspace, err) < 0)
		return -1;
	for (size_t i = 0; i < args->writable_roots.count; i++) {
		(void)snprintf(what, sizeof(what), "writable_roots[%zu]", i); /* fits */
		if (op_real_folder(r, args->writable_roots.items[i], what, &roots[i], err) < 0)
			return -1;
	}
	set->writable_roots = (struct str_list){roots, args->writable_roots.count};
	for (size_t i = 0; i < args->unix_sockets.count; i++) {
		if (args->unix_sockets.items[i].len == 0 || args->unix_sockets.items[i].p[0] != '/')
			return error_set(err, &REQUEST_INVALID,
				"unix_sockets[%zu]: must be an absolute path", i);
	}
	return 0;
}

/* The confinement as a whole: available, and its roots fit to be written. */
int op_check_sandbox(struct daemon *d, struct arena *a, const struct bot *b, struct error *err)
{
	struct tool_context c = {.host = &d->host, .bot = b, .workspace = b->set.workspace};

	if (b->set.sandbox == SANDBOX_FULL_ACCESS)
		return 0;
	if (sandbox_available(d->sandbox, err) < 0)
		return -1;
	return sandbox_check_roots(d->sandbox, tool_policy(&c, a), err);
}

/* Nobody but a client on the daemon's own socket declares tools that run outside every sandbox. */
static int read_served(struct request *r, const struct settings_args *args,
	struct served_tools *ret, struct error *err)
{
	if (r->session->as.id > 0)
		return error_set(err, &REQUEST_NOT_PERMITTED,
			"served_tools: a bot's own socket does not set them");
	if (served_tools_read(&r->arena, args->served_tools, ret, err) < 0)
		return -1;
	for (size_t i = 0; i < ret->count; i++) {
		if (tool_find(ret->items[i].name))
			return error_set(err, &SERVED_INVALID,
				"served_tools[%zu].name: there is a built-in tool of that name", i);
	}
	return 0;
}

static int read_settings(struct request *r, const struct settings_args *args,
	struct bot_settings *set, struct error *err)
{
	struct gate *gates = NULL;

	set->sandbox = args->sandbox;
	set->network = args->network;
	set->git_commit = args->git_commit;
	set->unix_sockets = args->unix_sockets;
	if (read_folders(r, args, set, err) < 0 ||
		(given(r, F_RULES) && rulebook_read(&r->arena, args->rules, &set->rules, err) < 0))
		return -1;
	if (given(r, F_SERVED) && read_served(r, args, &set->served, err) < 0)
		return -1;
	if (!given(r, F_GATES))
		return 0;
	if (bot_read_gates(&r->arena, args->gates, &gates, &set->gate_count, err) < 0)
		return -1;
	set->gates = gates;
	return 0;
}

/* A model that would do the bot's work in its own one's place: of a provider that is there. */
static int read_other_model(struct request *r, struct str reference, const char *field,
	struct settings_work *w, struct error *err)
{
	struct str name, model;
	struct provider *p;

	if (bot_split_model(reference, &name, &model, err) < 0)
		return error_prefix(err, "%s", field);
	p = providers_find(r->d->providers, name);
	if (!p)
		return error_set(err, &PROVIDER_UNAVAILABLE,
			"%s: this daemon has no provider '" STR_FMT "'", field, STR_ARG(name));
	if (w->family.p && !str_is(w->family, provider_family(p)->name))
		return error_set(err, &FAMILY_MISMATCH,
			"%s: '" STR_FMT "' is not of family " STR_FMT, field, STR_ARG(name),
			STR_ARG(w->family));
	w->family = str_from(provider_family(p)->name);
	w->family_of = field;
	return 0;
}

static int read_other_models(struct request *r, const struct settings_args *args,
	struct settings_work *w, struct error *err)
{
	if (args->compaction_model.p &&
		read_other_model(r, args->compaction_model, "compaction_model", w, err) < 0)
		return -1;
	for (size_t i = 0; i < args->fallbacks.count; i++) {
		const char *field = arena_printf(&r->arena, "fallbacks[%zu]", i);

		if (read_other_model(r, args->fallbacks.items[i], field, w, err) < 0)
			return -1;
	}
	return 0;
}

static int check_family(const struct settings_work *w, struct str family, struct error *err)
{
	if (!w->family.p || str_eq(w->family, family))
		return 0;
	return error_set(err, &FAMILY_MISMATCH, "%s: the bot is bound to family " STR_FMT,
		w->family_of, STR_ARG(family));
}

/* What of limits and the like was given replaces; and what has to hold between them then does. */
static int merge_limits(const struct request *r, const struct settings_args *args,
	struct bot_settings *to, struct error *err)
{
	struct bot_limits given_limits = args->limits;

	for (size_t i = 0; i < bot_limit_count; i++) {
		const struct bot_limit *row = &bot_limit_table[i];

		if (given(r, F_context_bytes + (int)i))
			*bot_limit_at(&to->limits, row) = *bot_limit_at(&given_limits, row);
	}
	if (given(r, F_CACHE_TTL))
		to->limits.cache_hours = args->cache_ttl;
	if (given(r, F_COMPACTION_INSTRUCTIONS))
		to->compaction_instructions = args->compaction_instructions.len > 0
						      ? args->compaction_instructions
						      : (struct str){NULL, 0};
	if (given(r, F_COMPACTION_MODEL))
		to->compaction_model = args->compaction_model;
	if (given(r, F_FALLBACKS))
		to->fallbacks = args->fallbacks;
	if (bot_limits_check(&to->limits, err) == 0)
		return 0;
	if (err)
		err->kind = &REQUEST_INVALID;
	return -1;
}

static int check_tools(const struct str_list *tools, struct error *err)
{
	for (size_t i = 0; i < tools->count; i++) {
		if (!tool_find(tools->items[i]))
			return error_set(err, &BOT_UNKNOWN_TOOL,
				"tools[%zu]: there is no tool '" STR_FMT "'", i,
				STR_ARG(tools->items[i]));
		for (size_t k = 0; k < i; k++) {
			if (str_eq(tools->items[k], tools->items[i]))
				return error_set(err, &BOT_UNKNOWN_TOOL,
					"tools[%zu]: stands there twice", i);
		}
	}
	return 0;
}

static int check_reasoning(struct str level, struct error *err)
{
	static const char *const levels[] = {"low", "medium", "high", "xhigh", "max"};

	for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
		if (str_is(level, levels[i]))
			return 0;
	}
	return error_set(err, &INVALID_REASONING, "reasoning: low, medium, high, xhigh or max");
}

static int read_identity(struct request *r, const struct settings_args *args,
	struct store_create *c, struct error *err)
{
	struct str provider, model;
	struct provider *p;

	if (bot_check_name(args->bot, "bot", err) < 0)
		return -1;
	if (!given(r, F_MODEL))
		return error_set(err, &MODEL_REQUIRED, "model: PROVIDER/MODEL is needed");
	if (bot_split_model(args->model, &provider, &model, err) < 0)
		return -1;
	p = providers_find(r->d->providers, provider);
	if (!p)
		return error_set(err, &PROVIDER_UNAVAILABLE,
			"model: this daemon has no provider '" STR_FMT "'", STR_ARG(provider));
	if (given(r, F_CREATED_BY) != given(r, F_CREATED_BY_ID))
		return error_set(
			err, &CREATOR_IDENTITY, "created_by and created_by_id go together");
	if (given(r, F_CREATED_BY) && bot_check_name(args->created_by, "created_by", err) < 0)
		return -1;
	c->created_by = args->created_by;
	c->created_by_id = args->created_by_id;
	if (lineage_creator(r, given(r, F_CREATED_BY), &c->created_by, &c->created_by_id, err) < 0)
		return -1;
	c->name = args->bot;
	c->provider = provider;
	c->family = str_from(provider_family(p)->name);
	return 0;
}

static int read_character(struct request *r, const struct settings_args *args,
	struct bot_settings *set, struct error *err)
{
	if (!given(r, F_INSTRUCTIONS))
		return error_set(
			err, &INSTRUCTIONS_REQUIRED, "instructions: are needed, if only \"\"");
	if (args->instructions.len > BOT_INSTRUCTIONS_MAX_BYTES)
		return error_set(err, &INSTRUCTIONS_LIMIT, "instructions: %zu bytes are over %d",
			args->instructions.len, BOT_INSTRUCTIONS_MAX_BYTES);
	if (!given(r, F_TOOLS))
		return error_set(err, &TOOLS_REQUIRED, "tools: a list is needed, if only []");
	if (check_tools(&args->tools, err) < 0)
		return -1;
	if (given(r, F_REASONING) && check_reasoning(args->reasoning, err) < 0)
		return -1;
	if (given(r, F_BUDGET) && args->budget_tokens < 1)
		return error_set(err, &INVALID_BUDGET, "budget_tokens: must be at least 1");
	set->model = args->model;
	set->instructions = args->instructions;
	set->tools = args->tools;
	set->reasoning = args->reasoning;
	set->budget_tokens = args->budget_tokens;
	return 0;
}

/* What of its confinement a new bot was asked to have. */
static unsigned confinement_given(const struct request *r)
{
	unsigned bits = 0;

	if (given(r, F_SANDBOX))
		bits |= CONFINE_SANDBOX;
	if (given(r, F_ROOTS))
		bits |= CONFINE_ROOTS;
	if (given(r, F_WORKSPACE))
		bits |= CONFINE_WORKSPACE;
	if (given(r, F_RULES))
		bits |= CONFINE_GIVEN_RULES;
	return bits;
}

/* A sandboxed bot's child starts under its creator's sandbox and may only be asked to have less. */
static int confine_child(struct store_tx *tx, struct request *r, struct error *err)
{
	struct settings_work *w = r->work;
	struct bot creator;
	bool confines;

	if (lineage_find(store_tx_view(tx), &r->arena, w->create.created_by_id, &creator, &confines,
		    err) < 0)
		return -1;
	if (!confines)
		return 0;
	confine_inherit(&w->create.set, &creator.set, confinement_given(r));
	return lineage_check(r->d, &r->arena, &creator, &w->create.set, err);
}

static int run_create(struct store_tx *tx, struct request *r, struct error *err)
{
	struct settings_work *w = r->work;
	struct bot planned;

	if (confine_child(tx, r, err) < 0)
		return -1;
	planned = (struct bot){.name = w->create.name, .set = w->create.set};
	if (op_check_sandbox(r->d, &r->arena, &planned, err) < 0)
		return -1;
	return store_bot_create(tx, &w->create, &r->arena, &w->bot, err);
}

static void answer_bot(struct request *r)
{
	struct settings_work *w = r->work;

	op_answer_record(r, &w->bot);
}

static int prepare_create(struct request *r, const struct settings_args *args,
	struct settings_work *w, struct error *err)
{
	if (read_identity(r, args, &w->create, err) < 0 ||
		read_character(r, args, &w->set, err) < 0 ||
		read_settings(r, args, &w->set, err) < 0 ||
		read_other_models(r, args, w, err) < 0 ||
		check_family(w, w->create.family, err) < 0)
		return -1;
	bot_limits_init(&w->set.limits);
	if (merge_limits(r, args, &w->set, err) < 0)
		return -1;
	if (r->as.id > 0 && w->set.gate_count > 0)
		return error_set(err, &REQUEST_NOT_PERMITTED,
			"gates: what a bot makes has its maker's and no others");
	w->create.set = w->set;
	return 0;
}

static void op_create(struct request *r, const void *raw)
{
	struct settings_work *w = arena_alloc(&r->arena, sizeof(*w));
	struct error err = ERROR_INIT;

	r->work = w;
	if (prepare_create(r, raw, w, &err) < 0)
		request_fail(r, &err);
	else
		op_write(r, run_create, answer_bot);
}

static void merge(const struct request *r, const struct bot_settings *from, struct bot_settings *to)
{
	if (given(r, F_SANDBOX))
		to->sandbox = from->sandbox;
	if (given(r, F_ROOTS))
		to->writable_roots = from->writable_roots;
	if (given(r, F_NETWORK))
		to->network = from->network;
	if (given(r, F_UNIX))
		to->unix_sockets = from->unix_sockets;
	if (given(r, F_GIT))
		to->git_commit = from->git_commit;
	if (given(r, F_WORKSPACE))
		to->workspace = from->workspace;
	if (given(r, F_RULES))
		to->rules = from->rules;
	if (given(r, F_SERVED))
		to->served = from->served;
	if (given(r, F_GATES)) {
		to->gates = from->gates;
		to->gate_count = from->gate_count;
	}
}

/* A bot whose creator is sandboxed keeps within that one's reach, or within what it had. */
static int check_lineage(struct store_tx *tx, struct request *r, const struct bot *was,
	const struct bot *now, struct error *err)
{
	struct bot creator;
	bool confines;

	if (confinement_given(r) == 0 && !given(r, F_NETWORK) && !given(r, F_UNIX) &&
		!given(r, F_GIT))
		return 0;
	if (lineage_find(
		    store_tx_view(tx), &r->arena, now->created_by_id, &creator, &confines, err) < 0)
		return -1;
	if (!confines)
		return 0;
	if (was->set.sandbox != SANDBOX_FULL_ACCESS &&
		lineage_check(r->d, &r->arena, was, &now->set, NULL) == 0)
		return 0;
	return lineage_check(r->d, &r->arena, &creator, &now->set, err);
}

/* Read, merged, checked and written in one job, so that two clients cannot mix their halves. */
static int run_configure(struct store_tx *tx, struct request *r, struct error *err)
{
	struct settings_work *w = r->work;
	struct bot was;

	if (store_bot_get(store_tx_view(tx), w->args->bot, &r->arena, &was, err) < 0)
		return -1;
	w->bot = was;
	merge(r, &w->set, &w->bot.set);
	if (check_lineage(tx, r, &was, &w->bot, err) < 0)
		return -1;
	if (check_family(w, w->bot.family, err) < 0 ||
		merge_limits(r, w->args, &w->bot.set, err) < 0)
		return -1;
	if (op_check_sandbox(r->d, &r->arena, &w->bot, err) < 0)
		return -1;
	return store_bot_configure(tx, &w->bot, err);
}

static void answer_configured(struct request *r)
{
	struct settings_work *w = r->work;

	live_configured(r->d, &w->bot);
	op_answer_record(r, &w->bot);
}

static void op_configure(struct request *r, const void *raw)
{
	struct settings_work *w = arena_alloc(&r->arena, sizeof(*w));
	struct error err = ERROR_INIT;

	w->args = raw;
	r->work = w;
	if (bot_check_name(w->args->bot, "bot", &err) < 0 ||
		read_settings(r, w->args, &w->set, &err) < 0 ||
		read_other_models(r, w->args, w, &err) < 0)
		request_fail(r, &err);
	else
		op_write(r, run_configure, answer_configured);
}

struct inspect_args {
	struct str bot;
};
static const struct json_field inspect_fields[] = {
	JSON_STR(struct inspect_args, bot, .required = true),
};

static int run_inspect(struct store_view *v, struct request *r, struct error *err)
{
	const struct inspect_args *args = r->args;
	struct settings_work *w = r->work;

	return store_bot_get(v, args->bot, &r->arena, &w->bot, err);
}

static void op_inspect(struct request *r, const void *raw)
{
	const struct inspect_args *args = raw;
	struct error err = ERROR_INIT;

	r->work = arena_alloc(&r->arena, sizeof(struct settings_work));
	if (bot_check_name(args->bot, "bot", &err) < 0)
		request_fail(r, &err);
	else
		op_read(r, run_inspect, answer_bot);
}

struct bots_args {
	struct str after;
	int64_t limit;
};
static const struct json_field bots_fields[] = {
	JSON_STR(struct bots_args, after, .nullable = true),
	JSON_I64(struct bots_args, limit, .min = INT64_MIN),
};

struct bots_work {
	int limit;
	struct bot *bots;
	size_t count;
};

static int run_bots(struct store_view *v, struct request *r, struct error *err)
{
	const struct bots_args *args = r->args;
	struct bots_work *w = r->work;

	return store_bot_list(v, args->after, w->limit, &r->arena, &w->bots, &w->count, err);
}

/* As many as fit PAGE_MAX_BYTES; next_after is the last one given when there may be more. */
static void answer_bots(struct request *r)
{
	const struct bots_work *w = r->work;
	struct json_out j = request_begin(r);
	size_t put = 0;

	json_open_key(&j, "result", '{');
	json_open_key(&j, "bots", '[');
	while (put < w->count && r->reply.len < PAGE_MAX_BYTES)
		bot_write_record(&j, NULL, &w->bots[put++], false);
	json_close(&j, ']');
	if (put < w->count || put == (size_t)w->limit)
		json_put_str(&j, "next_after", w->bots[put - 1].name);
	else
		json_put_null(&j, "next_after");
	json_close(&j, '}');
	request_end(r, &j);
}

static void op_bots(struct request *r, const void *raw)
{
	const struct bots_args *args = raw;
	struct bots_work *w = arena_alloc(&r->arena, sizeof(*w));
	struct error err = ERROR_INIT;

	w->limit = op_page_limit((r->seen & 2) != 0, args->limit);
	r->work = w;
	if (w->limit < 1) {
		(void)error_set(&err, &REQUEST_INVALID_BOT_PAGE, "limit: 1 to %d", PAGE_MAX);
		request_fail(r, &err);
	} else if (args->after.p && bot_check_name(args->after, "after", &err) < 0) {
		err.kind = &REQUEST_INVALID_BOT_PAGE;
		request_fail(r, &err);
	} else {
		op_read(r, run_bots, answer_bots);
	}
}

const struct request_row bot_requests[] = {
	{"create",                  create_fields, ARRAY_LEN(create_fields), sizeof(struct settings_args), op_create,
         REQUEST_AS_BOT, false},
	{"inspect", inspect_fields, ARRAY_LEN(inspect_fields), sizeof(struct inspect_args),
         op_inspect, REQUEST_READS, false},
	{"bots",                bots_fields, ARRAY_LEN(bots_fields), sizeof(struct bots_args), op_bots,
         REQUEST_READS, false},
	{"configure",                    configure_fields, ARRAY_LEN(configure_fields), sizeof(struct settings_args),
         op_configure, REQUEST_OWNER, false},
	{.op = NULL                },
};
