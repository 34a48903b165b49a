/* Rounds: to the store and back. */
#include "agent/serve/round.h"

#include <string.h>

#include "agent/core/item.h"
#include "agent/serve/request.h"

enum {
	/* a name and arguments: what one reply can hold, or one request of a host */
	SUBJECT_MAX_BYTES = 2 * 1024 * 1024,
	JUDGED_MAX_BYTES = 1024 * 1024, /* ours: some thousand paths of one patch */
};

/* Of what was too much to keep: never the same as anything. */
static const char too_much[] = "{\"reach\":\"leaves\",\"too_much\":true}";

static const char *const reach_names[] = {
	[TOOL_IN_DAEMON] = "in_daemon",
	[TOOL_CONFINED] = "confined",
	[TOOL_LEAVES] = "leaves",
	[TOOL_OUTSIDE] = "outside",
	NULL,
};

struct judged {
	int reach;
	bool too_much, asks, free;
	struct str why, justification, rule;
	struct str_list paths, real;
};
static const struct json_field judged_fields[] = {
	JSON_ENUM(struct judged, reach, reach_names, .required = true),
	JSON_BOOL(struct judged, too_much),
	JSON_BOOL(struct judged, asks),
	JSON_BOOL(struct judged, free),
	JSON_STR(struct judged, rule),
	JSON_STR(struct judged, why, .nullable = true),
	JSON_STR(struct judged, justification, .nullable = true),
	JSON_STRS(struct judged, paths),
	JSON_STRS(struct judged, real),
};

struct str round_judged(struct arena *a, const struct tool_judgement *t)
{
	_cleanup_(buf) struct buf text = BUF_INIT(JUDGED_MAX_BYTES);
	const struct str_list paths = {(struct str *)t->paths, t->path_count};
	struct json_out j = JSON_OUT(&text);

	json_open(&j, '{');
	json_put_cstr(&j, "reach", reach_names[t->reach]);
	json_put_cstr(&j, "why", t->why);
	json_put_bool(&j, "asks", t->asks);
	json_put_bool(&j, "free", t->free);
	if (t->asks)
		json_put_str(&j, "rule", t->rule);
	json_put_str(&j, "justification", t->justification);
	bot_write_strings(&j, "paths", &paths);
	bot_write_strings(&j, "real", &t->real);
	json_close(&j, '}');
	if (text.full)
		return STR(too_much);
	return (struct str){arena_strndup(a, text.data, text.len), text.len};
}

static int read_judged(
	struct arena *a, struct str text, struct tool_judgement *ret, struct error *err)
{
	static const struct json_table table = {
		judged_fields, ARRAY_LEN(judged_fields), "judged", NULL};
	struct judged in = {.reach = 0};
	const struct json *doc;

	if (!text.p || json_parse(a, text, &doc, err) < 0 ||
		json_decode(a, doc, &table, &in, NULL, err) < 0)
		return -1;
	if (in.too_much)
		return error_set(err, &GUARD_CHANGED,
			"what the call would touch was too much to be kept while it waited");
	*ret = (struct tool_judgement){
		.reach = (enum tool_reach)in.reach,
		.asks = in.asks,
		.free = in.free,
		.rule = in.rule,
		.why = in.why.p, /* a parsed string has its NUL */
		.real = in.real,
		.justification = in.justification,
	};
	for (size_t i = 0; i < in.paths.count && i < ARRAY_LEN(ret->paths); i++)
		ret->paths[ret->path_count++] = in.paths.items[i];
	return 0;
}

static void take_verdict(struct verdicts *v, const struct store_verdict *row)
{
	for (size_t i = 0; i < v->count; i++) {
		struct verdict_slot *s = &v->slots[i];

		if (s->state != VERDICT_OPEN || !str_eq(s->gate.tag, row->tag))
			continue;
		s->state = row->allow ? VERDICT_ALLOWED : VERDICT_DENIED;
		if (row->by.p && row->by.len <= BY_MAX_BYTES)
			memcpy(s->by, row->by.p, row->by.len); /* the slot was zeroed */
		s->reason = row->reason.p ? xstrndup(row->reason.p, row->reason.len) : NULL;
		s->path = row->path.p ? xstrndup(row->path.p, row->path.len) : NULL;
		s->until_prior = row->until_prior;
		s->recorded = row->recorded;
		s->at_ms = row->at_ms;
		s->waited_ms = row->waited_ms;
		return;
	}
}

void round_subject(struct str name, struct str arguments, struct verdicts *ret)
{
	_cleanup_(buf) struct buf text = BUF_INIT(SUBJECT_MAX_BYTES);

	if (buf_put_str(&text, name) == 0 && buf_puts(&text, "\n") == 0 &&
		buf_put_str(&text, arguments) == 0)
		receipt_digest(buf_str(&text), ret->subject);
}

void round_verdicts(const struct store_open_call *row, struct verdicts *ret)
{
	*ret = (struct verdicts){.request = row->request, .announced_ms = row->announced_ms};
	for (size_t i = 0; i < row->gate_count && i < BOT_GATES_MAX; i++)
		ret->slots[ret->count++].gate = row->gates[i];
	for (size_t i = 0; i < row->verdict_count; i++)
		take_verdict(ret, &row->verdicts[i]);
}

size_t round_decided(const struct verdicts *v, struct store_verdict *rows)
{
	size_t count = 0;

	for (size_t i = 0; i < v->count; i++) {
		const struct verdict_slot *s = &v->slots[i];

		if (s->state == VERDICT_OPEN)
			continue;
		rows[count++] = (struct store_verdict){
			.tag = s->gate.tag,
			.by = s->by[0] ? str_from(s->by) : (struct str){NULL, 0},
			.reason = str_from(s->reason),
			.allow = s->state == VERDICT_ALLOWED,
			.at_ms = s->at_ms,
			.waited_ms = s->waited_ms,
			.request = v->request,
			.path = str_from(s->path),
			.subject = v->subject[0] ? str_from(v->subject) : (struct str){NULL, 0},
			.until_prior = s->until_prior,
			.recorded = s->recorded,
		};
	}
	return count;
}

bool round_is_after(const struct store_park *p, struct str call_id)
{
	for (size_t i = 0; i < p->prior_done.count; i++) {
		if (str_eq(p->prior_done.items[i], call_id))
			return true;
	}
	return false;
}

int round_path_fits(struct str tool, const struct verdict_answer *a, struct error *err)
{
	if (!a->path.p || str_is(tool, "read") || str_is(tool, "write") || str_is(tool, "edit"))
		return 0;
	return error_set(err, &REQUEST_INVALID,
		"answer.path: goes with a call of read, write or edit, not of '" STR_FMT "'",
		STR_ARG(str_cut(tool, BOT_NAME_MAX_BYTES)));
}

/* The arguments, which are whole in the conversation's item alone. */
static int find_arguments(
	struct arena *a, const struct store_open_call *row, struct str *ret, struct error *err)
{
	struct item item;

	if (item_read(a, row->item, &item, err) < 0)
		return -1;
	for (size_t i = 0; i < item.call_count; i++) {
		if (!str_eq(item.calls[i].call_id, row->call_id))
			continue;
		*ret = item.calls[i].arguments;
		return 0;
	}
	return error_set(
		err, &ERROR_INVALID, "node %lld holds no call of that id", (long long)row->node);
}

static struct str keep(struct arena *a, struct str s)
{
	return s.p ? (struct str){arena_strndup(a, s.p, s.len), s.len} : s;
}

int round_call(struct arena *a, const struct store_open_call *row, int64_t offset_ms,
	struct live_call *ret, struct error *err)
{
	struct live_call c = {
		.call_id = keep(a, row->call_id),
		.name = keep(a, row->name),
		.announced_mono_ms = row->announced_ms - offset_ms,
		.required = row->gate_count > 0,
		.started = row->executing,
		.node = row->node,
	};
	struct error cause = ERROR_INIT;

	if (find_arguments(a, row, &c.arguments, err) < 0)
		return -1;
	round_verdicts(row, &c.verdicts);
	round_subject(c.name, c.arguments, &c.verdicts);
	for (size_t i = 0; i < c.verdicts.count; i++)
		c.verdicts.slots[i].gate.tag = keep(a, c.verdicts.slots[i].gate.tag);
	if (c.required && read_judged(a, row->judged, &c.judged, &cause) < 0)
		(void)error_set(&c.refusal, &GUARD_CHANGED, "%s",
			cause.kind ? cause.text : "what its verdict was asked for is not known");
	*ret = c;
	return 0;
}
