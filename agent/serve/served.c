/* Calls of served tools: to their host, and what it says back. */
#include "agent/serve/served.h"

#include <string.h>

#include "agent/io/chatgpt.h"
#include "agent/serve/daemon.h"
#include "agent/serve/leases.h"
#include "agent/serve/live.h"
#include "agent/serve/session.h"
#include "agent/serve/steps.h"

const struct error_kind SERVED_NO_CALL = {"no_pending_call", ERROR_CLASS_NOT_FOUND};
static const struct error_kind HOST_GONE = {"tool_host_gone", ERROR_CLASS_UNAVAILABLE};
static const struct error_kind CALL_LIMIT = {"tool_call_limit", ERROR_CLASS_LIMIT};

enum {
	HALF_SHOWN_BYTES = TOOL_OUTPUT_SHOWN_BYTES / 2,
	/* what one line can hold, and the marks that redaction puts in */
	CLEAN_MAX_BYTES = 4 * 1024 * 1024,
	ERROR_SHOWN_BYTES = 16 * 1024, /* ours: what a model is told of a failure */
};

static const char unknown_gone[] =
	"{\"error\":\"tool_outcome_unknown\",\"detail\":\"whoever carries this tool out had the "
	"call and is gone: it may have had effects and may still be running\"}";
static const char unknown_stopped[] =
	"{\"error\":\"tool_outcome_unknown\",\"detail\":\"the turn was stopped while the call was "
	"carried out: it may have had effects and may still be running\"}";

static struct lease *host_of(struct daemon *d, struct str tag)
{
	struct lease *l = lease_of_tag(d, LEASE_TOOLS, tag);

	return l && l->serving ? l : NULL;
}

bool served_has_host(struct daemon *d, struct str tag)
{
	return host_of(d, tag) != NULL;
}

static struct live_call *current(struct live_turn *t)
{
	return t->at < t->call_count ? &t->calls[t->at] : NULL;
}

void served_host_came(struct lease *l)
{
	size_t at = 0;
	struct live_turn *t;

	l->serving = true;
	while ((t = table_next(l->d->live, &at))) {
		const struct live_call *c = current(t);

		if (t->state == TURN_HOSTLESS && str_is(c->served->host, l->tag)) {
			loop_timer_stop(t->timer);
			live_step(t, EV_HOSTED);
		}
	}
	parks_host_came(l->d, str_from(l->tag));
}

/* Its call is nobody's any more; what was asked about it is answered. */
static void let_go(struct live_turn *t)
{
	t->served_lease[0] = '\0';
	steps_over(t);
}

static void end_unknown(struct live_turn *t, const char *output)
{
	let_go(t);
	live_set_result(t, str_from(output), true);
	t->result.outcome_unknown = true;
	live_step(t, EV_TOOL_DONE);
}

void served_lease_over(struct daemon *d, const char *lease)
{
	size_t at = 0;
	struct live_turn *t;

	while ((t = table_next(d->live, &at))) {
		if (t->state == TURN_TOOL && !t->abandoned && strcmp(t->served_lease, lease) == 0)
			end_unknown(t, unknown_gone);
	}
}

/* What the host has to know of where the bot may act: its own rules are the host's to keep. */
static void put_sandbox(struct json_out *j, const struct bot_settings *s)
{
	json_open_key(j, "sandbox", '{');
	json_put_cstr(j, "mode", sandbox_mode_names[s->sandbox]);
	bot_write_strings(j, "writable_roots", &s->writable_roots);
	json_put_bool(j, "network", s->network);
	json_close(j, '}');
}

static bool send_call(struct live_turn *t, const struct live_call *c, const struct lease *to)
{
	struct lease_line l;

	lease_line_begin(&l, "tool_call", t->bot.name, t->info.id);
	json_put_cstr(&l.j, "lease", to->name);
	json_put_i64(&l.j, "bot_id", t->bot.id);
	json_put_str(&l.j, "call_id", c->call_id);
	json_put_str(&l.j, "name", c->name);
	json_put_raw(&l.j, "arguments", c->arguments);
	json_put_str(&l.j, "workspace", t->workspace);
	put_sandbox(&l.j, &t->bot.set);
	return lease_line_send(&l, to);
}

static void end_ungiven(struct live_turn *t, const struct error *err)
{
	live_set_error(t, err);
	live_step(t, EV_TOOL_DONE);
}

void served_run(struct live_turn *t)
{
	struct live_call *c = current(t);
	struct lease *l = host_of(t->d, c->served->host);
	struct error err = ERROR_INIT;

	if (!l) { /* it left between the commit and now; the call was given to nobody */
		(void)error_set(&err, &HOST_GONE,
			"whoever carries this tool out left before it got the call: nothing was "
			"done");
		end_ungiven(t, &err);
	} else if (!send_call(t, c, l)) {
		(void)error_set(&err, &CALL_LIMIT,
			"the call is too long for whoever carries it out: nothing was done");
		end_ungiven(t, &err);
	} else {
		memcpy(t->served_lease, l->name, sizeof(t->served_lease));
	}
}

void served_stop(struct live_turn *t)
{
	const struct live_call *c = current(t);
	struct lease *l = NULL;

	if (!t->served_lease[0])
		return; /* its result stands already */
	list_for_each (one, &t->d->leases, struct lease, in_daemon) {
		if (strcmp(one->name, t->served_lease) == 0)
			l = one;
	}
	if (l) {
		struct lease_line line;

		lease_line_begin(&line, "tool_cancel", t->bot.name, t->info.id);
		json_put_cstr(&line.j, "lease", l->name);
		json_put_str(&line.j, "call_id", c->call_id);
		(void)lease_line_send(&line, l); /* short */
	}
	end_unknown(t, unknown_stopped);
}

void served_recorded(struct live_turn *t, bool ok)
{
	struct request *r = mem_take(&t->served_reply);
	struct error err = ERROR_INIT;

	if (!r)
		return;
	if (ok) {
		request_answer(r, STR("{\"recorded\":true}"));
		return;
	}
	(void)error_set(&err, &STORE_STALE_TURN, "the turn ended before the result was recorded");
	request_fail(r, &err);
}

struct live_turn *served_turn(struct daemon *d, struct str bot, int64_t turn, struct str call_id,
	struct str lease, struct error *err)
{
	struct live_turn *t = live_find(d, bot);
	const struct live_call *c = t ? current(t) : NULL;

	if (!t || t->info.id != turn) {
		(void)error_set(err, &STORE_STALE_TURN, "turn %lld is not the bot's running turn",
			(long long)turn);
		return NULL;
	}
	if (t->state != TURN_TOOL || !t->served_lease[0] || !c || !str_eq(c->call_id, call_id)) {
		(void)error_set(err, &SERVED_NO_CALL, "no call '%.*s' of turn %lld is carried out",
			(int)str_cut(call_id, BOT_NAME_MAX_BYTES).len, call_id.p, (long long)turn);
		return NULL;
	}
	if (lease.p && !str_is(lease, t->served_lease)) {
		(void)error_set(err, &SERVED_NO_CALL, "the call was not given to this lease");
		return NULL;
	}
	return t;
}

/*
 * Results: redacted first, cut then, so that no cut can split a secret.
 */
static struct str keep(struct live_turn *t, struct str s)
{
	return (struct str){arena_strndup(&t->round, s.p, s.len), s.len};
}

static struct str tail_of(struct str all, size_t bytes)
{
	size_t from = all.len - bytes;

	while (from < all.len && ((unsigned char)all.p[from] & 0xc0) == 0x80)
		from++;
	return (struct str){all.p + from, all.len - from};
}

/* The whole is an artifact then, named in what is shown. */
static struct str cut_output(struct live_turn *t, struct str all)
{
	_cleanup_(buf) struct buf shown = BUF_INIT(2 * TOOL_OUTPUT_SHOWN_BYTES);
	struct str head = str_cut(all, HALF_SHOWN_BYTES), tail = tail_of(all, HALF_SHOWN_BYTES);

	(void)buf_put_str(&shown, head); /* the buffer is larger than both and the line */
	(void)buf_printf(&shown,
		"\n[%zu bytes are left out here; read them in artifact %lld/" STR_FMT "/output]\n",
		all.len - head.len - tail.len, (long long)t->info.id, STR_ARG(current(t)->call_id));
	(void)buf_put_str(&shown, tail);
	return keep(t, buf_str(&shown));
}

static struct str as_error(struct live_turn *t, struct str text)
{
	_cleanup_(buf) struct buf out = BUF_INIT(8 * ERROR_SHOWN_BYTES);
	struct json_out j = JSON_OUT(&out);

	json_open(&j, '{');
	json_put_str(&j, "error", str_cut(text, ERROR_SHOWN_BYTES));
	json_close(&j, '}');
	return keep(t, buf_str(&out));
}

static void set_output(struct live_turn *t, const struct served_result *s, struct str clean)
{
	bool cut = !s->failed && clean.len > TOOL_OUTPUT_SHOWN_BYTES;
	struct str shown = s->failed ? as_error(t, clean) : cut ? cut_output(t, clean) : clean;
	struct store_artifact *whole;

	live_set_result_with(t, shown, s->failed, s->pictures, s->picture_count);
	if (!cut)
		return;
	whole = arena_alloc(&t->round, sizeof(*whole));
	*whole = (struct store_artifact){
		STR("output"), keep(t, str_cut(clean, TOOL_OUTPUT_KEPT_BYTES))};
	t->result.artifacts = whole;
	t->result.artifact_count = 1;
}

int served_take(struct request *r, const struct served_result *s, struct error *err)
{
	_cleanup_(buf) struct buf clean = BUF_INIT(CLEAN_MAX_BYTES);
	struct live_turn *t = served_turn(r->d, s->bot, s->turn, s->call_id, s->lease, err);

	if (!t)
		return -1;
	chatgpt_look(r->d->chatgpt); /* a sign-in since the last call is redacted in this one */
	if (secret_redact(r->d->secrets, s->text, &clean) < 0)
		return error_set(err, &ERROR_LIMIT,
			"the result grew past %d bytes when secrets "
			"were taken out",
			CLEAN_MAX_BYTES);
	let_go(t);
	set_output(t, s, buf_str(&clean));
	t->served_reply = r;
	live_step(t, EV_TOOL_DONE);
	return 0;
}
