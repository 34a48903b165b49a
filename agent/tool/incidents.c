/*
 * Incidents: what a confined command, or anybody meanwhile, has changed of what is protected.
 */
#include "agent/tool/internal.h"

static struct str shown_path(struct tool_run *r, const char *path)
{
	_cleanup_(buf) struct buf clean = BUF_INIT((size_t)TOOL_INCIDENTS_MAX_BYTES);
	struct str all = str_from(path);

	if (secret_redact(r->context->host->secrets, all, &clean) < 0)
		buf_clear(&clean);
	all = tool_keep(&r->arena, &clean);
	return str_cut(all, TOOL_INCIDENT_MAX_BYTES);
}

void tool_incidents_put(struct tool_run *r, const struct sandbox_survey *v, struct json_out *j)
{
	struct str_list *l = &r->result.incidents;
	const char *path;

	if (!v)
		return;
	if (sandbox_survey_cut(v))
		json_put_bool(j, "protection_cut", true);
	if (!sandbox_survey_changed(v, 0))
		return;
	l->items = arena_alloc(&r->arena, TOOL_INCIDENTS_MAX * sizeof(*l->items));
	json_open_key(j, "incidents", '[');
	while (l->count < TOOL_INCIDENTS_MAX && (path = sandbox_survey_changed(v, l->count))) {
		l->items[l->count] = shown_path(r, path);
		json_put_str(j, NULL, l->items[l->count++]);
	}
	json_close(j, ']');
}
