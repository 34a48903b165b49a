/* Verdicts on one call. */
#include "agent/core/verdict.h"

#include <stdlib.h>

#include "mem/mem.h"

const struct error_kind VERDICT_ALREADY = {"approval_already_answered", ERROR_CLASS_CONFLICT};
const struct error_kind VERDICT_SUPERSEDED = {"approval_superseded", ERROR_CLASS_CONFLICT};
const struct error_kind VERDICT_NONE_PENDING = {"no_pending_approval", ERROR_CLASS_NOT_FOUND};
const struct error_kind VERDICT_TAG_REQUIRED = {"tag_required", ERROR_CLASS_USAGE};

void verdicts_init(struct verdicts *v, const struct bot *b, struct str tool)
{
	*v = (struct verdicts){.count = 0};
	for (size_t i = 0; i < b->set.gate_count && v->count < BOT_GATES_MAX; i++) {
		if (gate_names_tool(&b->set.gates[i], tool))
			v->slots[v->count++].gate = b->set.gates[i];
	}
}

static void slot_release(struct verdict_slot *s)
{
	free(s->reason);
	free(s->path);
}

void verdicts_release(struct verdicts *v)
{
	for (size_t i = 0; i < v->count; i++)
		slot_release(&v->slots[i]);
	v->count = 0;
}

void verdicts_announce(struct verdicts *v, int64_t request, int64_t now_ms)
{
	for (size_t i = 0; i < v->count; i++) {
		struct gate gate = v->slots[i].gate;

		slot_release(&v->slots[i]);
		v->slots[i] = (struct verdict_slot){.gate = gate};
	}
	v->prior_done = false;
	v->request = request;
	v->announced_ms = now_ms;
}

enum verdict_state verdicts_outcome(const struct verdicts *v)
{
	enum verdict_state outcome = VERDICT_ALLOWED;

	for (size_t i = 0; i < v->count; i++) {
		if (v->slots[i].state == VERDICT_DENIED)
			return VERDICT_DENIED;
		if (v->slots[i].state == VERDICT_OPEN)
			outcome = VERDICT_OPEN;
	}
	return outcome;
}

const struct verdict_slot *verdicts_denier(const struct verdicts *v)
{
	for (size_t i = 0; i < v->count; i++) {
		if (v->slots[i].state == VERDICT_DENIED)
			return &v->slots[i];
	}
	return NULL;
}

static struct verdict_slot *find_slot(struct verdicts *v, struct str tag, struct error *err)
{
	if (!tag.p && v->count == 1)
		return &v->slots[0];
	if (!tag.p) {
		(void)error_set(err, &VERDICT_TAG_REQUIRED,
			"the call waits on %zu gates: name one by `tag`", v->count);
		return NULL;
	}
	for (size_t i = 0; i < v->count; i++) {
		if (str_eq(v->slots[i].gate.tag, tag))
			return &v->slots[i];
	}
	(void)error_set(
		err, &VERDICT_NONE_PENDING, "no gate '" STR_FMT "' holds this call", STR_ARG(tag));
	return NULL;
}

size_t verdicts_expire(struct verdicts *v, int64_t now_ms)
{
	size_t expired = 0;

	for (size_t i = 0; i < v->count; i++) {
		struct verdict_slot *slot = &v->slots[i];

		if (slot->state != VERDICT_OPEN || slot->gate.expire_ms == 0 ||
			now_ms - v->announced_ms < slot->gate.expire_ms)
			continue;
		slot->state = VERDICT_DENIED;
		slot->reason = xstrdup("not reviewed: no verdict"); /* spec 6.3 */
		slot->at_ms = now_ms;
		slot->waited_ms = now_ms - v->announced_ms;
		expired++;
	}
	return expired;
}

int verdicts_answer(
	struct verdicts *v, const struct verdict_answer *a, int64_t now_ms, struct error *err)
{
	struct verdict_slot *slot;

	if (v->request == 0 || v->count == 0)
		return error_set(err, &VERDICT_NONE_PENDING, "the call waits for no verdict");
	if (a->request != v->request)
		return error_set(err, &VERDICT_SUPERSEDED, "request %lld was replaced by %lld",
			(long long)a->request, (long long)v->request);
	(void)verdicts_expire(v, now_ms); /* its time may be over without anybody having looked */
	slot = find_slot(v, a->tag, err);
	if (!slot)
		return -1;
	if (slot->state != VERDICT_OPEN || verdicts_outcome(v) == VERDICT_DENIED)
		return error_set(err, &VERDICT_ALREADY, "already %s",
			verdicts_outcome(v) == VERDICT_DENIED ? "denied" : "allowed");
	slot->state = a->allow ? VERDICT_ALLOWED : VERDICT_DENIED;
	must(a->by.len <= BY_MAX_BYTES);
	if (a->by.len > 0)
		memcpy(slot->by, a->by.p, a->by.len);
	slot->by[a->by.len] = '\0';
	slot->reason = a->reason.p ? xstrndup(a->reason.p, a->reason.len) : NULL;
	slot->path = a->path.p ? xstrndup(a->path.p, a->path.len) : NULL;
	slot->until_prior = a->until_prior;
	slot->at_ms = now_ms;
	slot->waited_ms = now_ms > v->announced_ms ? now_ms - v->announced_ms : 0;
	return 0;
}

void verdicts_prior_done(struct verdicts *v)
{
	v->prior_done = v->request > 0;
}

bool verdicts_may_lapse(const struct verdicts *v)
{
	for (size_t i = 0; i < v->count; i++) {
		if (v->slots[i].state == VERDICT_ALLOWED && v->slots[i].until_prior)
			return true;
	}
	return false;
}

bool verdicts_lapsed(const struct verdicts *v)
{
	return v->prior_done && verdicts_may_lapse(v);
}

int64_t verdicts_expire_in(const struct verdicts *v, int64_t now_ms)
{
	int64_t least = -1;

	for (size_t i = 0; i < v->count; i++) {
		const struct verdict_slot *slot = &v->slots[i];
		int64_t left = v->announced_ms + slot->gate.expire_ms - now_ms;

		if (slot->state != VERDICT_OPEN || slot->gate.expire_ms == 0)
			continue;
		if (left < 0)
			left = 0;
		if (left > slot->gate.expire_ms)
			left = slot->gate.expire_ms; /* the clock was set back: never longer than
							asked */
		if (least < 0 || left < least)
			least = left;
	}
	return least;
}
