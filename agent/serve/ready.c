/* What the daemon says of itself. */
#include "agent/serve/ready.h"

#include <unistd.h>

#include "agent/io/config.h"
#include "agent/serve/daemon.h"
#include "agent/serve/live.h"
#include "agent/serve/steps.h"
#include "agent/serve/request.h"
#include "agent/serve/session.h"
#include "fetch/fetch.h"
#include "suite_config.h"

static void put_limit(struct json_out *j, const char *name, int64_t value)
{
	if (value > 0)
		json_put_i64(j, name, value);
	else
		json_put_null(j, name);
}

static void put_limits(struct json_out *j, const struct daemon_options *o)
{
	json_open_key(j, "limits", '{');
	json_put_i64(j, "processes", o->max_processes);
	json_put_i64(j, "active", o->max_active);
	put_limit(j, "pending", o->max_pending);
	put_limit(j, "pending_bytes", o->max_pending_bytes);
	put_limit(j, "idle_exit_seconds", o->idle_exit_seconds);
	put_limit(j, "connecting", o->max_connecting);
	json_put_i64(j, "stall_timeout_seconds", o->stall_seconds);
	json_close(j, '}');
}

static void put_sandbox(struct json_out *j, struct daemon *d)
{
	struct error err = ERROR_INIT;
	bool there = sandbox_available(d->sandbox, &err) == 0;

	json_open_key(j, "sandbox", '{');
	json_put_bool(j, "available", there);
	json_put_cstr(j, "kind", "bubblewrap");
	json_put_cstr(j, "version", sandbox_version(d->sandbox));
	json_put_cstr(j, "detail", there ? NULL : err.text);
	json_close(j, '}');
}

static void put_providers(struct json_out *j, const struct providers *p)
{
	json_open_key(j, "providers", '{');
	for (size_t i = 0; i < providers_count(p); i++) {
		struct provider *one = providers_at(p, i);
		_cleanup_(mem) char *name = xstrndup(provider_name(one).p, provider_name(one).len);

		json_open_key(j, name, '{');
		json_put_cstr(j, "family", provider_family(one)->name);
		json_put_str(j, "url", provider_url(one));
		json_put_cstr(j, "transport", provider_family(one)->transport);
		json_put_cstr(j, "auth", provider_auth_name(one));
		if (provider_region(one).p)
			json_put_str(j, "region", provider_region(one));
		json_close(j, '}');
	}
	json_close(j, '}');
}

static void put_paths(struct json_out *j, const char *name, const char *const *paths)
{
	json_open_key(j, name, '[');
	for (size_t i = 0; paths && paths[i]; i++)
		json_put_cstr(j, NULL, paths[i]);
	json_close(j, ']');
}

static void put_as(struct json_out *j, const struct session_bot *as)
{
	json_open_key(j, "as", '{');
	json_put_cstr(j, "bot", as->name);
	json_put_i64(j, "bot_id", as->id);
	json_close(j, '}');
}

void ready_put(struct daemon *d, const struct session_bot *as, struct buf *to)
{
	struct json_out j = JSON_OUT(to);
	const struct store_identity *id = store_identity(d->store);

	json_open(&j, '{');
	json_put_cstr(&j, "event", "ready");
	json_put_i64(&j, "protocol", PROTOCOL_VERSION);
	json_put_cstr(&j, "version", SUITE_VERSION);
	json_put_i64(&j, "pid", getpid());
	if (as && as->id > 0)
		put_as(&j, as);
	json_open_key(&j, "store", '{');
	json_put_cstr(&j, "identity", id->identity);
	json_put_cstr(&j, "lineage", id->lineage);
	json_close(&j, '}');
	request_put_names(&j, "capabilities");
	put_limits(&j, d->o);
	json_put_i64(&j, "schema", id->schema);
	json_open_key(&j, "tools", '[');
	for (size_t i = 0; tool_table[i]; i++)
		json_put_cstr(&j, NULL, tool_table[i]->name);
	json_close(&j, ']');
	/* what a client gives no new bot unasked (AG-219) */
	json_open_key(&j, "not_by_default", '[');
	if (d->config && d->config->no_web_search)
		json_put_cstr(&j, NULL, "web_fetch");
	json_close(&j, ']');
	put_providers(&j, d->providers);
	json_put_cstr(&j, "durability", "sqlite_full");
	json_put_bool(&j, "partial_text_durable", false);
	store_pause_put(&j, "paused", &d->pause.now);
	put_sandbox(&j, d);
	put_paths(&j, "walls", d->o->walls);
	put_paths(&j, "protected_paths", d->o->protected_paths);
	json_close(&j, '}');
}

static void put_store(struct json_out *j, struct daemon *d)
{
	struct store_counts c;

	store_counts(d->store, &c);
	json_open_key(j, "store", '{');
	json_put_i64(j, "file_bytes", c.file_bytes);
	json_put_i64(j, "wal_bytes", c.wal_bytes);
	json_put_i64(j, "jobs", c.jobs);
	json_put_i64(j, "reads", c.reads);
	json_put_i64(j, "groups", c.groups);
	json_put_i64(j, "queued_jobs", c.queued_jobs);
	json_open_key(j, "group_sizes", '[');
	for (size_t i = 0; i < ARRAY_LEN(c.group_sizes); i++)
		json_put_i64(j, NULL, c.group_sizes[i]);
	json_close(j, ']');
	json_close(j, '}');
}

static void put_provider_stats(struct json_out *j, const struct daemon *d)
{
	struct fetch_counts counts = {.connections = 0};

	if (d->fetch)
		fetch_counts(d->fetch, &counts);
	json_open_key(j, "transport", '{');
	json_put_u64(j, "connections", counts.connections);
	json_put_u64(j, "idle", counts.idle);
	json_put_u64(j, "in_line", counts.waiting);
	json_put_i64(j, "connecting", d->net.connecting);
	json_close(j, '}');
	json_open_key(j, "providers", '{');
	for (size_t i = 0; i < providers_count(d->providers); i++) {
		const struct provider *one = providers_at(d->providers, i);
		_cleanup_(mem) char *name = xstrndup(provider_name(one).p, provider_name(one).len);

		json_open_key(j, name, '{');
		provider_stats(one, j);
		json_close(j, '}');
	}
	json_close(j, '}');
}

static int64_t pending_approvals(const struct daemon *d)
{
	int64_t count = d->parks.requests;
	size_t at = 0;
	const struct live_turn *t;

	while ((t = table_next(d->live, &at))) {
		for (size_t i = 0; i < t->call_count; i++)
			count += live_call_pending(t, i);
		count += (int64_t)steps_pending(t);
	}
	return count;
}

void stats_open(struct daemon *d, struct json_out *j, const char *name)
{
	const struct schedule *s = &d->sched;

	json_open_key(j, name, '{');
	json_put_i64(j, "sessions", (int64_t)d->session_count);
	json_put_i64(j, "active_turns", s->active);
	json_put_i64(j, "active_limit", s->active_max);
	json_put_i64(j, "waiting_turns", d->parks.waiting);
	json_put_i64(j, "paced_turns", d->parks.paced);
	json_put_i64(j, "approval_requests", pending_approvals(d));
	json_put_i64(j, "running_processes", s->processes);
	json_put_i64(j, "queued_processes", s->process_queued);
	json_put_i64(j, "process_limit", s->processes_max);
	put_provider_stats(j, d);
	put_store(j, d);
	json_put_bool(j, "draining", d->draining);
	store_pause_put(j, "paused", &d->pause.now);
}
