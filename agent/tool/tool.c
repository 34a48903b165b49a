/*
 * What every call needs before and around its tool: arguments checked, errors as results, the bot's
 * policy, environment and workspace.
 */
#include "agent/tool/internal.h"

const struct error_kind TOOL_INVALID_ARGUMENTS = {"invalid_tool_arguments", ERROR_CLASS_USAGE};
const struct error_kind TOOL_NOT_AVAILABLE = {"tool_not_available", ERROR_CLASS_DENIED};
const struct error_kind TOOL_UNKNOWN = {"unknown_tool", ERROR_CLASS_NOT_FOUND};
const struct error_kind TOOL_WORKSPACE_MISSING = {"workspace_missing", ERROR_CLASS_NOT_FOUND};
const struct error_kind TOOL_NO_GATE = {"sandbox_no_gate", ERROR_CLASS_DENIED};
const struct error_kind TOOL_REFUSED_PATH = {"protected_path", ERROR_CLASS_DENIED};

enum {
	ERROR_OUTPUT_MAX_BYTES = 16 *
				 ERROR_TEXT_MAX, /* ours: an error's text, escaped and redacted */
	ENVIRON_OWN_MAX = 10, /* variables set for a command, see own_variables */
};

const struct tool *tool_find(struct str name)
{
	for (size_t i = 0; tool_table[i]; i++) {
		if (str_is(name, tool_table[i]->name))
			return tool_table[i];
	}
	return NULL;
}

bool tool_judgement_same(const struct tool_judgement *older, const struct tool_judgement *newer)
{
	if (older->reach != newer->reach || older->real.count != newer->real.count)
		return false;
	if (newer->asks && (!older->asks || !str_eq(older->rule, newer->rule)))
		return false;
	for (size_t i = 0; i < older->real.count; i++) {
		if (!str_eq(older->real.items[i], newer->real.items[i]))
			return false;
	}
	return true;
}

/* Whatever was wrong with the text or its fields is the model's mistake, under one code. */
static int invalid_arguments(struct error *err)
{
	if (err)
		err->kind = &TOOL_INVALID_ARGUMENTS;
	return -1;
}

int tool_prepare(const struct tool *t, struct arena *a, struct str arguments, const void **ret_args,
	struct error *err)
{
	const struct json_table table = {t->fields, t->field_count, t->name, NULL};
	void *args = arena_alloc(a, t->args_size);
	const struct json *doc;

	if (json_parse(a, arguments, &doc, err) < 0) {
		(void)error_prefix(err, "%s: the arguments are no JSON", t->name);
		return invalid_arguments(err);
	}
	if (doc->type != JSON_OBJECT)
		return error_set(err, &TOOL_INVALID_ARGUMENTS,
			"%s: the arguments must be an object", t->name);
	if (json_decode(a, doc, &table, args, NULL, err) < 0)
		return invalid_arguments(err);
	if (t->check && t->check(args, err) < 0) {
		(void)error_prefix(err, "%s", t->name);
		return invalid_arguments(err);
	}
	*ret_args = args;
	return 0;
}

struct str tool_keep(struct arena *a, const struct buf *b)
{
	struct str s = buf_str(b);

	return (struct str){arena_strndup(a, s.p, s.len), s.len};
}

char *tool_cstr(struct arena *a, struct str s)
{
	return s.p ? arena_strndup(a, s.p, s.len) : NULL;
}

struct str tool_error_output(const struct tool_host *h, struct arena *a, const struct error *err)
{
	_cleanup_(buf) struct buf detail = BUF_INIT(ERROR_OUTPUT_MAX_BYTES);
	_cleanup_(buf) struct buf out = BUF_INIT(ERROR_OUTPUT_MAX_BYTES);
	struct json_out j = JSON_OUT(&out);

	/* A path or a file's words may stand in the text: what is secret in them leaves here too.
	 */
	if (secret_redact(h->secrets, str_from(err->text), &detail) < 0)
		buf_clear(&detail);
	json_open(&j, '{');
	json_put_cstr(&j, "error", error_code(err));
	json_put_str(&j, "detail", buf_str(&detail));
	json_close(&j, '}');
	return tool_keep(a, &out);
}

int tool_check_text(struct str s, const char *what, struct error *err)
{
	if (s.len > 0 && memchr(s.p, 0, s.len))
		return error_set(err, &TOOL_INVALID_ARGUMENTS, "%s: holds a NUL", what);
	return 0;
}

bool tool_sandboxed(const struct tool_context *c)
{
	return c->bot->set.sandbox != SANDBOX_FULL_ACCESS;
}

/* A NULL-terminated array of C strings. */
static const char *const *cstr_list(struct arena *a, const struct str_list *l)
{
	const char **list = arena_alloc(a, (l->count + 1) * sizeof(*list));

	for (size_t i = 0; i < l->count; i++)
		list[i] = tool_cstr(a, l->items[i]);
	return list;
}

const struct sandbox_policy *tool_policy(const struct tool_context *c, struct arena *a)
{
	const struct bot_settings *s = &c->bot->set;
	struct sandbox_policy *p = arena_alloc(a, sizeof(*p));

	p->mode = s->sandbox;
	p->workspace = tool_cstr(a, c->workspace);
	p->writable_roots = cstr_list(a, &s->writable_roots);
	p->network = s->network;
	p->any_unix_socket = s->unix_sockets.count > 0;
	p->git_commit = s->git_commit;
	return p;
}

static bool is_let_out(const struct tool_context *c)
{
	return c->judged && c->judged->free;
}

/* Who is running, for the command and for the CLI in it (spec 1.3). Returns how many. */
static size_t own_variables(const struct tool_context *c, struct arena *a, bool outside,
	const struct tool_door *door, char **set)
{
	size_t n = 0;

	set[n++] = arena_printf(a, "AGENT_BIN=%s", c->host->program);
	set[n++] = arena_printf(a, "AGENT_BOT=" STR_FMT, STR_ARG(c->bot->name));
	set[n++] = arena_printf(a, "AGENT_BOT_ID=%lld", (long long)c->bot->id);
	set[n++] = arena_printf(a, "AGENT_TURN=%lld", (long long)c->turn);
	set[n++] = arena_printf(a, "AGENT_MODEL=" STR_FMT, STR_ARG(c->model));
	set[n++] = arena_printf(a, "AGENT_SHELL_CONTEXT=1");
	if (c->bot->created_by.p) {
		set[n++] = arena_printf(a, "AGENT_PARENT=" STR_FMT, STR_ARG(c->bot->created_by));
		set[n++] = arena_printf(
			a, "AGENT_PARENT_ID=%lld", (long long)c->bot->created_by_id);
	}
	/* A confined command must not find the daemon's own socket; it is masked there, too. */
	if (outside || !tool_sandboxed(c)) {
		set[n++] = arena_printf(a, "AGENT_SOCKET=%s", c->host->socket);
	} else if (door) {
		set[n++] = arena_printf(a, "AGENT_SOCKET=%s", door->socket);
		set[n++] = arena_printf(a, "AGENT_SOCKET_FD=%d", TOOL_DOOR_FD);
	}
	/* What an allow rule lets out was named by its bare name (AG-228). */
	if (outside && is_let_out(c) && c->host->path)
		set[n++] = arena_printf(a, "PATH=%s", c->host->path);
	must(n <= ENVIRON_OWN_MAX);
	set[n] = NULL;
	return n;
}

char **tool_environ(
	const struct tool_context *c, struct arena *a, bool outside, const struct tool_door *door)
{
	static const struct str drop[] = {
		{"AGENT_SOCKET",    12},
                {"AGENT_SOCKET_FD", 15},
                {"AGENT_PARENT",    12},
		{"AGENT_PARENT_ID", 15},
		{"PATH",            4 }, /* the last: of what an allow rule lets out only */
	};
	size_t dropped = outside && is_let_out(c) ? ARRAY_LEN(drop) : ARRAY_LEN(drop) - 1;
	char *set[ENVIRON_OWN_MAX + 1];
	_cleanup_(mem) char **made = NULL;
	size_t count = 0;
	char **env;

	(void)own_variables(c, a, outside, door, set);
	made = secret_environ(c->host->env, drop, dropped, set);
	while (made[count])
		count++;
	env = arena_alloc(a, (count + 1) * sizeof(*env));
	for (size_t i = 0; i < count; i++)
		env[i] = arena_strndup(a, made[i], strlen(made[i]));
	return env;
}

int tool_check_workspace(const struct tool_context *c, struct error *err)
{
	_cleanup_(guard_path) struct guard_path at = {.real = NULL};

	if (!c->workspace.p)
		return error_set(err, &TOOL_WORKSPACE_MISSING, "the turn has no workspace");
	if (guard_resolve("/", c->workspace, &at, err) < 0)
		return error_prefix(err, "the workspace");
	if (!at.exists || !at.is_dir)
		return error_set(err, &TOOL_WORKSPACE_MISSING,
			"the workspace '" STR_FMT "' is gone", STR_ARG(c->workspace));
	if (!str_is(c->workspace, at.real))
		return error_set(err, &TOOL_WORKSPACE_MISSING,
			"the workspace '" STR_FMT "' is a link to elsewhere now",
			STR_ARG(c->workspace));
	return 0;
}

int tool_resolve(
	const struct tool_context *c, struct str path, struct guard_path *ret, struct error *err)
{
	_cleanup_(mem) char *base = NULL;
	bool absolute = path.len > 0 && path.p[0] == '/';

	if (!absolute && !c->workspace.p)
		return error_set(err, &TOOL_WORKSPACE_MISSING,
			"a relative path needs a workspace, and the turn has none");
	if (!absolute && tool_check_workspace(c, err) < 0)
		return -1;
	base = absolute ? xstrdup("/") : xstrndup(c->workspace.p, c->workspace.len);
	return guard_resolve(base, path, ret, err);
}
