/* Steps of a served call, on record. */
#include "agent/io/store_steps.h"

#include "agent/io/store_internal.h"

/* A record of one step: the members that all have are in, the caller adds its own. */
struct recording {
	struct store_line line;
	struct arena scratch;
	struct buf data;
	struct json_out j;
};

static int begin(
	struct store_tx *tx, const struct store_step *s, struct recording *r, struct error *err)
{
	*r = (struct recording){.data = BUF_INIT(EVENT_MAX_BYTES)};
	r->j = (struct json_out)JSON_OUT(&r->data);
	return store_line_open(&tx->view, s->bot, s->turn, &r->scratch, &r->line, err);
}

static void put_step(struct json_out *j, const struct store_step *s)
{
	json_put_str(j, "call_id", s->call_id);
	json_put_str(j, "step", s->step);
}

static void release(struct recording *r)
{
	buf_release(&r->data);
	arena_release(&r->scratch);
}

int store_step_announce(struct store_tx *tx, const struct store_step *s, int64_t *ret_announced_ms,
	struct error *err)
{
	int64_t now_ms = clock_real_ms(tx->clock);
	struct recording r;
	int rc = begin(tx, s, &r, err);

	if (rc == 0) {
		json_open(&r.j, '{');
		json_open_key(&r.j, "calls", '[');
		json_open(&r.j, '{');
		put_step(&r.j, s);
		json_put_i64(&r.j, "request", 1);
		json_put_i64(&r.j, "announced_ms", now_ms);
		store_put_gates(&r.j, "gates", s->gates, s->gate_count);
		json_put_str(&r.j, "name", s->name);
		json_put_i64(&r.j, "node", s->node);
		json_close(&r.j, '}');
		json_close(&r.j, ']');
		json_close(&r.j, '}');
		rc = store_record(tx, &r.line.at, "approval_requested", &r.data, err);
	}
	release(&r);
	*ret_announced_ms = now_ms;
	return rc;
}

/* NOLINTNEXTLINE(readability-function-size): what was decided, and on what */
int store_step_decide(struct store_tx *tx, const struct store_step *s,
	const struct store_verdict *verdicts, size_t count, bool allow, struct error *err)
{
	struct recording r;
	int rc = begin(tx, s, &r, err);

	if (rc == 0) {
		const struct store_settled settled = {.at = &r.line.at,
			.call_id = s->call_id,
			.step = s->step,
			.name = s->name,
			.verdicts = verdicts,
			.count = count,
			.outcome = allow ? SETTLED_ALLOWED : SETTLED_DENIED};

		json_open(&r.j, '{');
		put_step(&r.j, s);
		json_put_str(&r.j, "name", s->name);
		json_put_cstr(&r.j, "decision", allow ? "allow" : "deny");
		store_put_approvals(&r.j, "approvals", verdicts, count, true);
		json_close(&r.j, '}');
		rc = store_settle(tx, &settled, err);
		if (rc == 0)
			rc = store_record(tx, &r.line.at, "step_decided", &r.data, err);
	}
	release(&r);
	return rc;
}

int store_step_end(struct store_tx *tx, const struct store_step *s, bool ok, struct str summary,
	struct error *err)
{
	struct recording r;
	int rc = begin(tx, s, &r, err);

	if (rc == 0) {
		json_open(&r.j, '{');
		put_step(&r.j, s);
		json_put_bool(&r.j, "ok", ok);
		json_put_str(&r.j, "summary", summary);
		json_close(&r.j, '}');
		rc = store_record(tx, &r.line.at, "step_completed", &r.data, err);
	}
	release(&r);
	return rc;
}
