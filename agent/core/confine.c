/* What a creator's confinement means for the bots it makes. */
#include "agent/core/confine.h"

#include "sandbox/sandbox.h"

const struct error_kind CONFINE_WIDENS = {"sandbox_widens", ERROR_CLASS_DENIED};
const struct error_kind CONFINE_RULES = {"rules_not_own", ERROR_CLASS_DENIED};

/* agent spec 7.2, at any depth: one that is not covered in the creator's sandbox would not become
 * writable by this, but nobody needs it. */
static const char *const protected_names[] = {".git", ".agents", ".codex", ".aws"};

/* Tools by which a bot reaches out that no sandbox holds. */
static const char *const outward_tools[] = {"web_fetch"};

static bool is_listed(const struct str_list *l, struct str s)
{
	for (size_t i = 0; i < l->count; i++) {
		if (str_eq(l->items[i], s))
			return true;
	}
	return false;
}

/*
 * Folders
 */

/* What of `path` follows `folder`: empty for the folder itself; false: it does not lie in there. */
static bool below(struct str folder, struct str path, struct str *ret_rest)
{
	if (str_is(folder, "/")) {
		*ret_rest = path;
		return path.len > 0;
	}
	if (folder.len == 0 || path.len < folder.len || memcmp(path.p, folder.p, folder.len) != 0)
		return false;
	*ret_rest = (struct str){path.p + folder.len, path.len - folder.len};
	return ret_rest->len == 0 || ret_rest->p[0] == '/';
}

static bool has_protected_part(struct str rest)
{
	struct str part;

	while (str_next(&rest, '/', &part)) {
		for (size_t i = 0; i < ARRAY_LEN(protected_names); i++) {
			if (str_is(part, protected_names[i]))
				return true;
		}
	}
	return false;
}

/* How a folder lies to some of the creator's. */
struct lies {
	bool within, is_protected;
};

static void look(struct lies *l, struct str folder, struct str path)
{
	struct str rest;

	if (!below(folder, path, &rest))
		return;
	l->within = true;
	l->is_protected = l->is_protected || has_protected_part(rest);
}

bool confine_within(
	const struct bot_settings *of, const struct str_list *temporary, struct str folder)
{
	struct lies l = {false, false};

	look(&l, of->workspace, folder);
	for (size_t i = 0; i < of->writable_roots.count; i++)
		look(&l, of->writable_roots.items[i], folder);
	for (size_t i = 0; i < temporary->count; i++)
		look(&l, temporary->items[i], folder);
	return l.within && !l.is_protected;
}

static bool same_list(const struct str_list *a, const struct str_list *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (!str_eq(a->items[i], b->items[i]))
			return false;
	}
	return true;
}

bool confine_same_folders(const struct bot_settings *a, const struct bot_settings *b)
{
	return str_eq(a->workspace, b->workspace) &&
	       same_list(&a->writable_roots, &b->writable_roots);
}

/*
 * Comparing
 */

/* How much a mode lets a bot do. */
static int reach_of(int mode)
{
	switch (mode) {
	case SANDBOX_READ_ONLY:
		return 0;
	case SANDBOX_WORKSPACE_WRITE:
		return 1;
	default:
		return 2;
	}
}

static int widens(struct error *err, const char *field, const char *how)
{
	return error_set(err, &CONFINE_WIDENS,
		"%s: %s: a bot made by a sandboxed one reaches no further than its creator", field,
		how);
}

static int check_folders(const struct bot_settings *child, const struct bot_settings *creator,
	const struct str_list *temporary, struct error *err)
{
	if (confine_same_folders(child, creator))
		return 0;
	if (child->workspace.len > 0 && !confine_within(creator, temporary, child->workspace))
		return widens(err, "workspace", "lies in no folder of the creator's");
	for (size_t i = 0; i < child->writable_roots.count; i++) {
		if (!confine_within(creator, temporary, child->writable_roots.items[i]))
			return widens(
				err, "writable_roots", "one lies in no folder of the creator's");
	}
	return 0;
}

static bool may_call(const struct bot_settings *s, struct str tool)
{
	return is_listed(&s->tools, tool) && (!s->has_allowed || is_listed(&s->allowed, tool));
}

static int check_tools(
	const struct bot_settings *child, const struct bot_settings *creator, struct error *err)
{
	for (size_t i = 0; i < child->served.count; i++) {
		if (!served_tools_find(&creator->served, child->served.items[i].name))
			return widens(err, "served_tools", "one is none of the creator's");
	}
	for (size_t i = 0; i < ARRAY_LEN(outward_tools); i++) {
		struct str tool = str_from(outward_tools[i]);

		if (may_call(child, tool) && !may_call(creator, tool))
			return widens(
				err, "tools", "the creator may not call one that reaches out");
	}
	return 0;
}

int confine_check(const struct bot_settings *child, const struct bot_settings *creator,
	const struct str_list *temporary, struct error *err)
{
	if (creator->sandbox == SANDBOX_FULL_ACCESS)
		return 0;
	if (reach_of(child->sandbox) > reach_of(creator->sandbox))
		return widens(err, "sandbox", "is wider than the creator's");
	if (child->network && !creator->network)
		return widens(err, "network", "the creator has none");
	if (child->git_commit && !creator->git_commit)
		return widens(err, "git_commit", "the creator may not commit");
	for (size_t i = 0; i < child->unix_sockets.count; i++) {
		if (!is_listed(&creator->unix_sockets, child->unix_sockets.items[i]))
			return widens(err, "unix_sockets", "one is none of the creator's");
	}
	if (check_folders(child, creator, temporary, err) < 0 ||
		check_tools(child, creator, err) < 0)
		return -1;
	if (!str_eq(child->rules, creator->rules))
		return error_set(err, &CONFINE_RULES,
			"rules: a bot made by a sandboxed one goes by its creator's");
	return 0;
}

/*
 * Narrowing
 */
static struct str_list only(struct arena *a, const struct str_list *of, const struct str_list *in)
{
	struct str *items = arena_alloc(a, (of->count + 1) * sizeof(*items));
	size_t count = 0;

	for (size_t i = 0; i < of->count; i++) {
		if (is_listed(in, of->items[i]))
			items[count++] = of->items[i];
	}
	return (struct str_list){items, count};
}

static void narrow_folders(struct arena *a, struct bot_settings *child,
	const struct bot_settings *creator, const struct str_list *temporary)
{
	struct str *items;
	size_t count = 0;

	if (confine_same_folders(child, creator))
		return;
	items = arena_alloc(a, (child->writable_roots.count + 1) * sizeof(*items));
	for (size_t i = 0; i < child->writable_roots.count; i++) {
		if (confine_within(creator, temporary, child->writable_roots.items[i]))
			items[count++] = child->writable_roots.items[i];
	}
	child->writable_roots = (struct str_list){items, count};
	if (child->workspace.len > 0 && !confine_within(creator, temporary, child->workspace))
		child->workspace = creator->workspace;
	/* the creator's own one may lie below a protected name of another folder of its */
	if (child->workspace.len > 0 && !confine_within(creator, temporary, child->workspace))
		child->workspace = (struct str){NULL, 0};
}

static void narrow_tools(
	struct arena *a, struct bot_settings *child, const struct bot_settings *creator)
{
	const struct str_list may = child->has_allowed ? child->allowed : child->tools;
	struct str *items = arena_alloc(a, (may.count + 1) * sizeof(*items));
	size_t count = 0;

	for (size_t i = 0; i < may.count; i++) {
		bool out = false;

		for (size_t k = 0; k < ARRAY_LEN(outward_tools); k++)
			out = out || str_is(may.items[i], outward_tools[k]);
		if (!out || may_call(creator, may.items[i]))
			items[count++] = may.items[i];
	}
	if (count == may.count)
		return;
	child->has_allowed = true;
	child->allowed = (struct str_list){items, count};
}

static void narrow_served(
	struct arena *a, struct bot_settings *child, const struct bot_settings *creator)
{
	struct served_tool *items = arena_alloc(a, (child->served.count + 1) * sizeof(*items));
	size_t count = 0;

	for (size_t i = 0; i < child->served.count; i++) {
		if (served_tools_find(&creator->served, child->served.items[i].name))
			items[count++] = child->served.items[i];
	}
	child->served = (struct served_tools){items, count};
}

void confine_narrow(struct arena *a, struct bot_settings *child, const struct bot_settings *creator,
	const struct str_list *temporary)
{
	if (creator->sandbox == SANDBOX_FULL_ACCESS)
		return;
	if (child->sandbox == SANDBOX_FULL_ACCESS) { /* it had no folders: it could write any */
		child->writable_roots = creator->writable_roots;
		child->unix_sockets = creator->unix_sockets;
	}
	if (reach_of(child->sandbox) > reach_of(creator->sandbox))
		child->sandbox = creator->sandbox;
	child->network = child->network && creator->network;
	child->git_commit = child->git_commit && creator->git_commit;
	child->unix_sockets = only(a, &child->unix_sockets, &creator->unix_sockets);
	narrow_folders(a, child, creator, temporary);
	narrow_tools(a, child, creator);
	narrow_served(a, child, creator);
	child->rules = creator->rules;
}

void confine_inherit(struct bot_settings *child, const struct bot_settings *creator, unsigned given)
{
	if (creator->sandbox == SANDBOX_FULL_ACCESS)
		return;
	if (!(given & CONFINE_SANDBOX))
		child->sandbox = creator->sandbox;
	if (!(given & CONFINE_ROOTS))
		child->writable_roots = creator->writable_roots;
	if (!(given & CONFINE_WORKSPACE))
		child->workspace = creator->workspace;
	if (!(given & CONFINE_GIVEN_RULES))
		child->rules = creator->rules;
}
