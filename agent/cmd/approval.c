/* --approval and --approve as the daemon's gates. */
#include "agent/cmd/approval.h"

#include <string.h>

#include "agent/core/limits.h"
#include "sandbox/sandbox.h"

/* What acts; a call of these is what a person is asked about. */
static const char *const acting[] = {"shell", "write", "edit", "apply_patch"};

static bool holds(const struct str_list *l, struct str name)
{
	for (size_t i = 0; i < l->count; i++) {
		if (str_eq(l->items[i], name))
			return true;
	}
	return false;
}

int approval_check_sandbox(const char *mode, struct error *err)
{
	if (!mode)
		return 0;
	for (size_t i = 0; sandbox_mode_names[i]; i++) {
		if (strcmp(sandbox_mode_names[i], mode) == 0)
			return 0;
	}
	return error_set(err, &CLI_USAGE_ERROR,
		"'--sandbox %s': must be read-only, workspace-write or danger-full-access", mode);
}

int approval_split(struct arena *a, const char *option, const char *text, struct str_list *ret,
	struct error *err)
{
	struct str rest = str_from(text), part;
	struct str_list l = {arena_alloc(a, BOT_TOOLS_MAX * sizeof(struct str)), 0};

	while (str_next(&rest, ',', &part)) {
		part = str_trim(part);
		if (part.len == 0)
			return error_set(err, &CLI_USAGE_ERROR, "'--%s %s': a name is missing",
				option, text);
		if (holds(&l, part))
			return error_set(err, &CLI_USAGE_ERROR,
				"'--%s': '" STR_FMT "' stands there twice", option, STR_ARG(part));
		if (l.count == BOT_TOOLS_MAX)
			return error_set(err, &CLI_USAGE_ERROR, "'--%s' names more than %d", option,
				BOT_TOOLS_MAX);
		l.items[l.count++] = part;
	}
	*ret = l;
	return 0;
}

static int read_mode(const char *mode, bool approve, const char **ret_tag, struct error *err)
{
	if (!mode)
		mode = approve ? "manual" : "full";
	if (strcmp(mode, "full") == 0 && approve)
		return error_set(err, &CLI_USAGE_ERROR,
			"'--approve' goes with manual or auto: with '--approval full' nothing is "
			"asked");
	if (strcmp(mode, "full") == 0)
		*ret_tag = NULL;
	else if (strcmp(mode, "manual") == 0)
		*ret_tag = APPROVAL_PERSON;
	else if (strcmp(mode, "auto") == 0)
		*ret_tag = "auto";
	else
		return error_set(err, &CLI_USAGE_ERROR,
			"'--approval %s': must be full, manual or auto", mode);
	return 0;
}

static struct str_list default_tools(struct arena *a, const struct str_list *tools)
{
	struct str_list l = {arena_alloc(a, sizeof(struct str) * ARRAY_LEN(acting)), 0};

	for (size_t i = 0; i < ARRAY_LEN(acting); i++) {
		if (holds(tools, str_from(acting[i])))
			l.items[l.count++] = str_from(acting[i]);
	}
	return l;
}

int approval_read(struct arena *a, const char *mode, const char *approve,
	const struct str_list *tools, struct approval *ret, struct error *err)
{
	struct approval p = {.tag = NULL};

	if (read_mode(mode, approve != NULL, &p.tag, err) < 0)
		return -1;
	if (approve && approval_split(a, "approve", approve, &p.tools, err) < 0)
		return -1;
	for (size_t i = 0; i < p.tools.count; i++) {
		if (!holds(tools, p.tools.items[i]))
			return error_set(err, &CLI_USAGE_ERROR,
				"'--approve': the bot has no tool '" STR_FMT "'",
				STR_ARG(p.tools.items[i]));
	}
	if (!approve && p.tag)
		p.tools = default_tools(a, tools);
	*ret = p;
	return 0;
}

void approval_put(struct json_out *j, const struct approval *p)
{
	json_open_key(j, "gates", '[');
	if (p->tag && p->tools.count > 0) {
		json_open(j, '{');
		json_put_cstr(j, "tag", p->tag);
		json_open_key(j, "tools", '[');
		for (size_t i = 0; i < p->tools.count; i++)
			json_put_str(j, NULL, p->tools.items[i]);
		json_close(j, ']');
		json_put_null(j, "expire_ms");
		json_close(j, '}');
	}
	json_close(j, ']');
}
