/*
 * Bots as data: names, model references, gates, and the record that requests answer with.
 */
#include "agent/core/bot.h"

#include "sandbox/sandbox.h"

const struct error_kind BOT_INVALID_NAME = {"invalid_name", ERROR_CLASS_USAGE};
const struct error_kind BOT_INVALID_MODEL = {"invalid_model_reference", ERROR_CLASS_USAGE};
const struct error_kind BOT_INVALID_GATE = {"invalid_gate", ERROR_CLASS_USAGE};
const struct error_kind BOT_UNKNOWN_TOOL = {"unknown_tool", ERROR_CLASS_USAGE};

const char *const bot_status_names[] = {
	[BOT_IDLE] = "idle",
	[BOT_RUNNING] = "running",
	[BOT_WAITING] = "waiting",
	[BOT_PACED] = "paced",
	[BOT_COMPLETED] = "completed",
	[BOT_FAILED] = "failed",
	[BOT_INTERRUPTED] = "interrupted",
	[BOT_DELETING] = "deleting",
	NULL,
};

/* As in a request; tag and tools are looked at again below. */
struct gate_fields {
	struct str tag;
	struct str_list tools;
	int64_t expire_ms;
};

static const struct json_field gate_fields[] = {
	JSON_STR(struct gate_fields, tag, .required = true, .min = 1, .max = GATE_TAG_MAX_BYTES),
	JSON_STRS(struct gate_fields, tools, .required = true, .min = 1, .max = BOT_TOOLS_MAX,
		.item_max = BOT_NAME_MAX_BYTES),
	JSON_I64(struct gate_fields, expire_ms, .nullable = true, .min = 1,
		.max = GATE_EXPIRE_MAX_MS),
};

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

int bot_check_name(struct str name, const char *what, struct error *err)
{
	if (!name.p || name.len == 0)
		return error_set(err, &BOT_INVALID_NAME, "%s: is empty", what);
	if (name.len > BOT_NAME_MAX_BYTES)
		return error_set(err, &BOT_INVALID_NAME, "%s: %zu bytes are over %d", what,
			name.len, BOT_NAME_MAX_BYTES);
	for (size_t i = 0; i < name.len; i++) {
		if (!is_name_byte(name.p[i]) && name.p[i] != '.')
			return error_set(err, &BOT_INVALID_NAME,
				"%s: byte %zu is none of A-Z a-z 0-9 - _ .", what, i + 1);
	}
	return 0;
}

static int check_provider(struct str provider, struct error *err)
{
	if (provider.len == 0 || provider.len > PROVIDER_NAME_MAX_BYTES)
		return error_set(err, &BOT_INVALID_MODEL,
			"the provider's name must have 1 to %d bytes", PROVIDER_NAME_MAX_BYTES);
	for (size_t i = 0; i < provider.len; i++) {
		if (!is_name_byte(provider.p[i]))
			return error_set(err, &BOT_INVALID_MODEL,
				"the provider's name may hold A-Z a-z 0-9 - _ only");
	}
	return 0;
}

static int check_model(struct str model, struct error *err)
{
	if (model.len == 0 || model.len > MODEL_MAX_BYTES)
		return error_set(err, &BOT_INVALID_MODEL,
			"the model's name must have 1 to %d bytes", MODEL_MAX_BYTES);
	if (!utf8_valid(model))
		return error_set(err, &BOT_INVALID_MODEL, "the model's name is not UTF-8");
	for (size_t i = 0; i < model.len; i++) {
		if ((unsigned char)model.p[i] <= ' ' || model.p[i] == 0x7f)
			return error_set(err, &BOT_INVALID_MODEL,
				"the model's name holds a blank or a control character");
	}
	return 0;
}

int bot_split_model(
	struct str reference, struct str *ret_provider, struct str *ret_model, struct error *err)
{
	const char *slash = reference.len > 0 ? memchr(reference.p, '/', reference.len) : NULL;
	struct str provider, model;

	if (!slash)
		return error_set(err, &BOT_INVALID_MODEL, "must be PROVIDER/MODEL");
	provider = (struct str){reference.p, (size_t)(slash - reference.p)};
	model = (struct str){slash + 1, reference.len - provider.len - 1};
	if (check_provider(provider, err) < 0 || check_model(model, err) < 0)
		return -1;
	*ret_provider = provider;
	*ret_model = model;
	return 0;
}

static bool listed_before(const struct str_list *l, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (str_eq(l->items[i], l->items[at]))
			return true;
	}
	return false;
}

/* Decodes one gate; `where` names it in errors. */
static int read_gate(struct arena *a, const struct json *value, const char *where, struct gate *ret,
	struct error *err)
{
	const struct json_table table = {gate_fields, ARRAY_LEN(gate_fields), where, NULL};
	struct gate_fields f = {.expire_ms = 0};

	if (json_decode(a, value, &table, &f, NULL, err) < 0) {
		if (err)
			err->kind = &BOT_INVALID_GATE;
		return -1;
	}
	if (bot_check_name(f.tag, where, err) < 0)
		return error_set(err, &BOT_INVALID_GATE,
			"%s.tag: must be 1 to %d of A-Z a-z 0-9 - _ .", where, GATE_TAG_MAX_BYTES);
	for (size_t i = 0; i < f.tools.count; i++) {
		if (bot_check_name(f.tools.items[i], where, NULL) < 0)
			return error_set(err, &BOT_INVALID_GATE, "%s.tools[%zu]: is no tool's name",
				where, i);
		if (listed_before(&f.tools, i))
			return error_set(err, &BOT_INVALID_GATE,
				"%s.tools[%zu]: stands there twice", where, i);
	}
	*ret = (struct gate){.tag = f.tag, .tools = f.tools, .expire_ms = f.expire_ms};
	return 0;
}

static bool tag_taken(const struct gate *gates, size_t count, struct str tag)
{
	for (size_t i = 0; i < count; i++) {
		if (str_eq(gates[i].tag, tag))
			return true;
	}
	return false;
}

int bot_read_gates(struct arena *a, const struct json *gates, struct gate **ret, size_t *ret_count,
	struct error *err)
{
	struct gate *list;
	size_t count = 0;

	if (!gates || gates->type != JSON_ARRAY)
		return error_set(err, &BOT_INVALID_GATE, "gates: must be an array");
	if (gates->count > BOT_GATES_MAX)
		return error_set(err, &BOT_INVALID_GATE, "gates: %u are over %d", gates->count,
			BOT_GATES_MAX);
	list = arena_alloc(a, (gates->count + 1) * sizeof(*list));
	json_for_each (value, gates) {
		const char *where = arena_printf(a, "gates[%zu]", count);

		if (value->type != JSON_OBJECT)
			return error_set(err, &BOT_INVALID_GATE, "%s: must be an object", where);
		if (read_gate(a, value, where, &list[count], err) < 0)
			return -1;
		if (tag_taken(list, count, list[count].tag))
			return error_set(
				err, &BOT_INVALID_GATE, "%s.tag: another gate has it", where);
		count++;
	}
	*ret = list;
	*ret_count = count;
	return 0;
}

void bot_write_strings(struct json_out *j, const char *name, const struct str_list *l)
{
	if (name)
		json_open_key(j, name, '[');
	else
		json_open(j, '[');
	for (size_t i = 0; i < l->count; i++)
		json_put_str(j, NULL, l->items[i]);
	json_close(j, ']');
}

void bot_write_gates(struct json_out *j, const char *name, const struct gate *gates, size_t count)
{
	if (name)
		json_open_key(j, name, '[');
	else
		json_open(j, '[');
	for (size_t i = 0; i < count; i++) {
		json_open(j, '{');
		json_put_str(j, "tag", gates[i].tag);
		bot_write_strings(j, "tools", &gates[i].tools);
		if (gates[i].expire_ms > 0)
			json_put_i64(j, "expire_ms", gates[i].expire_ms);
		else
			json_put_null(j, "expire_ms");
		json_close(j, '}');
	}
	json_close(j, ']');
}

bool gate_names_tool(const struct gate *g, struct str tool)
{
	for (size_t i = 0; i < g->tools.count; i++) {
		if (str_eq(g->tools.items[i], tool))
			return true;
	}
	return false;
}

static void write_id(struct json_out *j, const char *name, int64_t id)
{
	if (id > 0)
		json_put_i64(j, name, id);
	else
		json_put_null(j, name);
}

static void write_usage(struct json_out *j, const struct bot *b)
{
	double hit = b->input_tokens > 0 ? (double)b->cached_input_tokens / (double)b->input_tokens
					 : 0.0;

	write_id(j, "budget_tokens", b->set.budget_tokens);
	json_put_i64(j, "tokens_used", b->tokens_used);
	json_put_i64(j, "input_tokens", b->input_tokens);
	json_put_i64(j, "cached_input_tokens", b->cached_input_tokens);
	json_put_double(j, "cache_hit", hit, 3);
}

const char *bot_rules_source(const struct bot_settings *s)
{
	if (!s->rules.p)
		return NULL;
	return str_starts(s->rules, STR("[")) ? "client" : "unreadable";
}

bool bot_rules_same(const struct bot_settings *x, const struct bot_settings *y)
{
	/* rules_put_json writes the same rules as the same bytes */
	return (x->rules.p != NULL) == (y->rules.p != NULL) && str_eq(x->rules, y->rules);
}

static void write_confinement(struct json_out *j, const struct bot_settings *s)
{
	json_put_cstr(j, "sandbox", sandbox_mode_names[s->sandbox]);
	bot_write_strings(j, "writable_roots", &s->writable_roots);
	json_put_bool(j, "network", s->network);
	bot_write_strings(j, "unix_sockets", &s->unix_sockets);
	json_put_bool(j, "git_commit", s->git_commit);
	json_put_cstr(j, "rules_source", bot_rules_source(s));
	bot_write_gates(j, "gates", s->gates, s->gate_count);
}

void bot_write_limits(struct json_out *j, const struct bot_settings *s)
{
	json_put_str(j, "compaction_model", s->compaction_model);
	bot_write_strings(j, "fallbacks", &s->fallbacks);
	json_open_key(j, "limits", '{');
	bot_limits_write(j, &s->limits);
	json_close(j, '}');
}

/* The versions of its views, and what it shares with others. */
static void write_views(struct json_out *j, const struct bot *b)
{
	write_id(j, "note", b->note);
	write_id(j, "compaction", b->compaction);
	write_id(j, "elision", b->elision);
	write_id(j, "cache_bot", b->cache_bot);
	if (b->set.has_allowed)
		bot_write_strings(j, "allowed", &b->set.allowed);
	else
		json_put_null(j, "allowed");
}

void bot_write_record(struct json_out *j, const char *name, const struct bot *b, bool instructions)
{
	if (name)
		json_open_key(j, name, '{');
	else
		json_open(j, '{');
	json_put_str(j, "name", b->name);
	json_put_i64(j, "id", b->id);
	write_id(j, "head", b->head);
	write_usage(j, b);
	json_put_str(j, "workspace", b->set.workspace);
	json_put_cstr(j, "status", bot_status_names[b->status]);
	write_id(j, "running_turn", b->running_turn);
	json_put_str(j, "provider", b->provider);
	json_put_str(j, "family", b->family);
	json_put_str(j, "model", b->set.model);
	if (instructions)
		json_put_str(j, "instructions", b->set.instructions);
	json_put_str(j, "reasoning", b->set.reasoning);
	bot_write_strings(j, "tools", &b->set.tools);
	json_put_str(j, "created_by", b->created_by);
	write_id(j, "created_by_id", b->created_by_id);
	write_confinement(j, &b->set);
	write_views(j, b);
	if (instructions)
		json_put_str(j, "compaction_instructions", b->set.compaction_instructions);
	if (instructions)
		json_put_raw(j, "rules", b->set.rules);
	bot_write_limits(j, &b->set);
	if (instructions)
		served_tools_write(j, "served_tools", &b->set.served);
	else
		served_tools_write_names(j, "served_tools", &b->set.served);
	json_close(j, '}');
}
