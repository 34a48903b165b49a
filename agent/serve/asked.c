/* What waits for a verdict, as it is shown. */
#include "agent/serve/asked.h"

#include "agent/serve/daemon.h"
#include "agent/serve/leases.h"

enum {
	/* ours: of one call's arguments, each of their strings cut already; so that parts and pages
	 * can hold any call */
	ARGUMENTS_MAX_BYTES = 64 * 1024,
	ASKED_MAX_BYTES = 256 * 1024, /* ours: above what one call comes to */
	PART_MAX_BYTES = 256 * 1024,  /* ours: as a page of `approvals` */
};

static struct json *cut_value(struct arena *a, const struct json *v, bool *cut);

static const struct json *cut_children(struct arena *a, const struct json *v, bool *cut)
{
	const struct json *first = NULL, **end = &first;

	json_for_each (child, v) {
		struct json *copy = cut_value(a, child, cut);

		*end = copy;
		end = &copy->next;
	}
	return first;
}

/* A copy whose strings, at any depth, are cut to what is shown. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as json_parse reads */
static struct json *cut_value(struct arena *a, const struct json *v, bool *cut)
{
	struct json *copy = arena_alloc(a, sizeof(*copy));

	*copy = *v;
	copy->next = NULL;
	if (v->type == JSON_STRING) {
		copy->text = str_cut(v->text, ARGUMENTS_SHOWN_BYTES);
		*cut = *cut || copy->text.len < v->text.len;
	} else if (v->child) {
		copy->child = cut_children(a, v, cut);
	}
	return copy;
}

static void put_arguments(struct json_out *j, struct str arguments)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	_cleanup_(buf) struct buf text = BUF_INIT(ARGUMENTS_MAX_BYTES);
	struct json_out own = JSON_OUT(&text);
	const struct json *doc;
	bool cut = false;

	if (json_parse(&a, arguments, &doc, NULL) == 0 && doc->type == JSON_OBJECT)
		json_put(&own, NULL, cut_value(&a, doc, &cut));
	if (text.len == 0 || text.full) {
		json_put_bool(j, "arguments_omitted", true);
		return;
	}
	json_put_raw(j, "arguments", buf_str(&text));
	json_put_bool(j, "arguments_cut", cut);
}

static void put_escalation(struct json_out *j, const struct tool_judgement *judged)
{
	if (!judged || (judged->reach != TOOL_LEAVES && !judged->asks)) {
		json_put_null(j, "escalation");
		return;
	}
	json_open_key(j, "escalation", '{');
	json_put_cstr(j, "kind", judged->why);
	json_put_str(j, "justification", str_cut(judged->justification, ARGUMENTS_SHOWN_BYTES));
	json_put_bool(j, "outside", judged->reach == TOOL_LEAVES);
	json_put_raw(j, "rule", judged->rule);
	json_open_key(j, "paths", '[');
	for (size_t i = 0; i < judged->path_count; i++)
		json_put_str(j, NULL, judged->paths[i]);
	json_close(j, ']');
	json_close(j, '}');
}

static void put_gates(struct json_out *j, const struct verdicts *v)
{
	static const char *const decisions[] = {
		[VERDICT_OPEN] = NULL, [VERDICT_ALLOWED] = "allow", [VERDICT_DENIED] = "deny"};

	json_open_key(j, "gates", '[');
	for (size_t i = 0; i < v->count; i++) {
		json_open(j, '{');
		json_put_str(j, "tag", v->slots[i].gate.tag);
		json_put_cstr(j, "decision", decisions[v->slots[i].state]);
		if (v->slots[i].gate.expire_ms > 0)
			json_put_i64(j, "expires_ms", v->announced_ms + v->slots[i].gate.expire_ms);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_denials(struct json_out *j, const struct asked *a)
{
	json_open_key(j, "denials", '{');
	json_put_i64(j, "in_row", a->bot->denials_in_row);
	json_put_i64(j, "in_turn", a->turn->denials);
	json_close(j, '}');
}

void asked_put(struct json_out *j, const struct asked *a)
{
	json_open(j, '{');
	json_put_str(j, "bot", a->bot->name);
	json_put_i64(j, "bot_id", a->bot->id);
	json_put_i64(j, "turn", a->turn->id);
	json_put_str(j, "call_id", a->call_id);
	if (a->step.p)
		json_put_str(j, "step", a->step);
	json_put_i64(j, "request", a->verdicts->request);
	json_put_i64(j, "announced_ms", a->verdicts->announced_ms);
	json_put_str(j, "name", a->name);
	json_put_i64(j, "node", a->node);
	put_arguments(j, a->arguments);
	put_gates(j, a->verdicts);
	json_put_str(
		j, "workspace", a->turn->workspace.p ? a->turn->workspace : a->bot->set.workspace);
	json_put_cstr(j, "sandbox", sandbox_mode_names[a->bot->set.sandbox]);
	put_escalation(j, a->judged);
	put_denials(j, a);
	json_put_str(j, "from", a->turn->from_bot);
	json_put_raw(j, "origin", a->turn->origin);
	json_close(j, '}');
}

bool asked_is_open(const struct verdicts *v, struct str tag)
{
	for (size_t i = 0; i < v->count; i++) {
		const struct verdict_slot *s = &v->slots[i];

		if (s->state == VERDICT_OPEN && (!tag.p || str_eq(s->gate.tag, tag)))
			return true;
	}
	return false;
}

/*
 * To whoever serves the tag.
 */
struct round {
	struct str *calls; /* JSON of each, in the arena */
	size_t count;
};

static void send_part(const struct lease *to, const struct asked *one, const struct round *r,
	size_t from, size_t end, const int64_t numbers[2])
{
	struct lease_line l;

	lease_line_begin(&l, "approval_round", one->bot->name, one->turn->id);
	json_put_cstr(&l.j, "tag", to->tag);
	json_put_cstr(&l.j, "lease", to->name);
	json_put_i64(&l.j, "part", numbers[0]);
	json_put_i64(&l.j, "parts", numbers[1]);
	json_open_key(&l.j, "calls", '[');
	for (size_t i = from; i < end; i++)
		json_put_raw(&l.j, NULL, r->calls[i]);
	json_close(&l.j, ']');
	must(lease_line_send(&l, to)); /* parts stay far below a line */
}

/* Where the part that begins with this call ends: it has one call at least. */
static size_t part_end(const struct round *r, size_t from)
{
	size_t bytes = r->calls[from].len, end = from + 1;

	while (end < r->count && bytes + r->calls[end].len <= PART_MAX_BYTES)
		bytes += r->calls[end++].len;
	return end;
}

static void send_round(const struct lease *to, const struct asked *one, const struct round *r)
{
	int64_t numbers[2] = {0, 0};

	for (size_t at = 0; at < r->count; at = part_end(r, at))
		numbers[1]++;
	for (size_t at = 0; at < r->count; at = part_end(r, at)) {
		numbers[0]++;
		send_part(to, one, r, at, part_end(r, at), numbers);
	}
}

static struct str as_json(struct arena *a, const struct asked *one)
{
	_cleanup_(buf) struct buf text = BUF_INIT(ASKED_MAX_BYTES);
	struct json_out j = JSON_OUT(&text);

	asked_put(&j, one);
	must(!text.full);
	return (struct str){arena_strndup(a, text.data, text.len), text.len};
}

static void push_to(const struct lease *to, const struct asked *list, size_t count)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	struct round r = {.calls = arena_alloc(&a, (count + 1) * sizeof(struct str))};

	for (size_t i = 0; i < count; i++) {
		if (asked_is_open(list[i].verdicts, str_from(to->tag)))
			r.calls[r.count++] = as_json(&a, &list[i]);
	}
	if (r.count > 0)
		send_round(to, &list[0], &r);
}

void asked_push(struct daemon *d, const struct asked *list, size_t count)
{
	list_for_each (l, &d->leases, struct lease, in_daemon) {
		if (l->kind == LEASE_APPROVALS && l->serving)
			push_to(l, list, count);
	}
}
