/*
 * The paths of a call that writes: what decides is where they really lie (AG-088), looked at when
 * the call is judged and once more when it starts.
 */
#include "agent/tool/internal.h"

void tool_targets_release(struct tool_targets *t)
{
	for (size_t i = 0; i < t->count; i++)
		guard_path_release(&t->items[i].path);
	free(t->items);
	*t = (struct tool_targets){.items = NULL};
}

/* Files that this process must not have open, and nobody may replace under it. */
static bool is_the_daemons(const struct tool_host *h, const struct guard_path *p)
{
	for (size_t i = 0; p->exists && i < h->never_count; i++) {
		if (h->never[i].dev == p->dev && h->never[i].ino == p->ino)
			return true;
	}
	return false;
}

static int place(const struct tool_context *c, const struct sandbox_policy *policy,
	struct tool_target *t, struct error *err)
{
	t->place = SANDBOX_OUTSIDE;
	if (tool_sandboxed(c) &&
		sandbox_place(c->host->sandbox, policy, &t->path, &t->place, err) < 0)
		return -1;
	if (t->place == SANDBOX_NEVER || is_the_daemons(c->host, &t->path))
		return error_set(err, &TOOL_REFUSED_PATH,
			"'%s' belongs to the daemon: no tool writes there, whoever allows it",
			t->path.real);
	return 0;
}

/* Resolves every path before anything is done about one. */
static int resolve(const struct tool_context *c, const struct str_list *paths,
	struct tool_targets *ret, struct error *err)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	_cleanup_(tool_targets) struct tool_targets t = {
		.items = xcalloc(paths->count + 1, sizeof(*t.items))};
	const struct sandbox_policy *policy = tool_policy(c, &a);

	for (size_t i = 0; i < paths->count; i++) {
		if (tool_resolve(c, paths->items[i], &t.items[i].path, err) < 0)
			return -1;
		t.count++;
		if (place(c, policy, &t.items[i], err) < 0)
			return -1;
	}
	*ret = t;
	t = (struct tool_targets){.items = NULL};
	return 0;
}

/* Strictest of what was met: a protected name says more than a folder outside. */
static void note_place(const struct tool_target *t, struct tool_judgement *j)
{
	if (t->place == SANDBOX_INSIDE)
		return;
	j->reach = TOOL_LEAVES;
	if (t->place == SANDBOX_PROTECTED)
		j->why = TOOL_WHY_PROTECTED;
	else if (!j->why)
		j->why = TOOL_WHY_OUTSIDE;
}

int tool_targets_judge(const struct tool_context *c, struct arena *a, const struct str_list *paths,
	struct tool_judgement *ret, struct error *err)
{
	_cleanup_(tool_targets) struct tool_targets t = {.items = NULL};
	struct tool_judgement j = {.reach = TOOL_CONFINED};

	if (resolve(c, paths, &t, err) < 0)
		return -1;
	j.real.items = arena_alloc(a, (paths->count + 1) * sizeof(*j.real.items));
	for (size_t i = 0; i < paths->count; i++) {
		struct str real = str_from(t.items[i].path.real);

		real.p = arena_strndup(a, real.p, real.len);
		j.real.items[j.real.count++] = real;
		if (tool_sandboxed(c))
			note_place(&t.items[i], &j);
	}
	if (!tool_sandboxed(c))
		j.reach = TOOL_OUTSIDE;
	/* Shown are those that make the call leave, where it does. */
	for (size_t i = 0; i < paths->count && j.path_count < ARRAY_LEN(j.paths); i++) {
		if (j.reach != TOOL_LEAVES || t.items[i].place != SANDBOX_INSIDE)
			j.paths[j.path_count++] = j.real.items[i];
	}
	*ret = j;
	return 0;
}

static int check_unmoved(
	const struct tool_context *c, const struct tool_targets *t, struct error *err)
{
	const struct str_list *judged = c->judged ? &c->judged->real : NULL;

	if (!judged)
		return 0;
	if (judged->count != t->count)
		return error_set(err, &GUARD_CHANGED, "the call is not the one that was judged");
	for (size_t i = 0; i < t->count; i++) {
		if (!str_is(judged->items[i], t->items[i].path.real))
			return error_set(err, &GUARD_CHANGED,
				"'" STR_FMT "' was judged, but now the path leads to '%s'",
				STR_ARG(judged->items[i]), t->items[i].path.real);
	}
	return 0;
}

int tool_targets_find(const struct tool_context *c, const struct str_list *paths, bool outside,
	struct tool_targets *ret, struct error *err)
{
	_cleanup_(tool_targets) struct tool_targets t = {.items = NULL};

	if (resolve(c, paths, &t, err) < 0 || check_unmoved(c, &t, err) < 0)
		return -1;
	for (size_t i = 0; i < paths->count; i++) {
		if (tool_check_allowed(c, &t.items[i].path, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < paths->count && tool_sandboxed(c) && !outside; i++) {
		if (t.items[i].place != SANDBOX_INSIDE)
			return error_set(err, &GUARD_CHANGED,
				"'%s' lies outside the writable folders now", t.items[i].path.real);
	}
	*ret = t;
	t = (struct tool_targets){.items = NULL};
	return 0;
}
