/* Who made a bot, and what follows from it. */
#include "agent/serve/lineage.h"

#include "agent/core/confine.h"

int lineage_creator(
	const struct request *r, bool given, struct str *name, int64_t *id, struct error *err)
{
	if (r->as.id == 0)
		return 0;
	if (given && (!str_is(*name, r->as.name) || *id != r->as.id))
		return error_set(err, &REQUEST_NOT_PERMITTED,
			"created_by: what bot '%s' makes is its own", r->as.name);
	*name = str_from(r->as.name);
	*id = r->as.id;
	return 0;
}

/* A creator is older than what it makes, so this ends. One that is gone ends it too. */
int lineage_made(
	struct store_view *v, const struct request *r, const struct bot *b, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {.blocks = NULL};
	int64_t by = b->created_by_id;

	if (r->as.id == 0)
		return 0;
	while (by > r->as.id) {
		struct error gone = ERROR_INIT;
		struct bot maker;

		if (store_bot_get_id(v, by, &scratch, &maker, &gone) < 0) {
			if (error_is(&gone, &STORE_BOT_NOT_FOUND))
				break;
			*err = gone;
			return -1;
		}
		by = maker.created_by_id < by ? maker.created_by_id : 0;
	}
	if (by == r->as.id)
		return 0;
	return error_set(err, &REQUEST_NOT_PERMITTED, "bot '%s' did not make '" STR_FMT "'",
		r->as.name, STR_ARG(b->name));
}

int lineage_find(struct store_view *v, struct arena *a, int64_t creator, struct bot *ret,
	bool *ret_confines, struct error *err)
{
	struct error why = ERROR_INIT;

	*ret_confines = false;
	if (creator <= 0)
		return 0;
	if (store_bot_get_id(v, creator, a, ret, &why) < 0) {
		if (error_is(&why, &STORE_BOT_NOT_FOUND))
			return 0;
		*err = why;
		return -1;
	}
	*ret_confines = ret->set.sandbox != SANDBOX_FULL_ACCESS;
	return 0;
}

/* Whether a command of the bot could write there itself. What its sandbox keeps read-only inside a
 * writable folder is known to that alone. */
static int check_place(struct daemon *d, struct arena *a, const struct bot *of, struct str folder,
	struct error *err)
{
	const struct tool_context c = {.host = &d->host, .bot = of, .workspace = of->set.workspace};
	_cleanup_(guard_path) struct guard_path p = {.real = NULL};
	enum sandbox_place place;

	if (of->set.sandbox != SANDBOX_WORKSPACE_WRITE)
		return 0; /* it writes nowhere, or anywhere */
	if (guard_resolve("/", folder, &p, err) < 0 ||
		sandbox_place(d->sandbox, tool_policy(&c, a), &p, &place, err) < 0)
		return -1;
	if (place == SANDBOX_INSIDE)
		return 0;
	return error_set(err, &CONFINE_WIDENS, "'" STR_FMT "' is not writable for '" STR_FMT "'",
		STR_ARG(str_cut(folder, 256)), STR_ARG(of->name));
}

int lineage_check(struct daemon *d, struct arena *a, const struct bot *than,
	const struct bot_settings *child, struct error *err)
{
	if (confine_check(child, &than->set, &d->temporary, err) < 0)
		return -1;
	if (than->set.sandbox == SANDBOX_FULL_ACCESS || confine_same_folders(child, &than->set))
		return 0;
	if (child->workspace.len > 0 && check_place(d, a, than, child->workspace, err) < 0)
		return error_prefix(err, "workspace");
	for (size_t i = 0; i < child->writable_roots.count; i++) {
		if (check_place(d, a, than, child->writable_roots.items[i], err) < 0)
			return error_prefix(err, "writable_roots");
	}
	return 0;
}

int lineage_check_workspace(struct daemon *d, struct arena *a, const struct bot *target,
	struct str workspace, struct error *err)
{
	if (str_eq(workspace, target->set.workspace))
		return 0;
	if (!confine_within(&target->set, &d->temporary, workspace))
		return error_set(err, &CONFINE_WIDENS,
			"workspace: lies in no folder of bot '" STR_FMT "'", STR_ARG(target->name));
	return check_place(d, a, target, workspace, err);
}
