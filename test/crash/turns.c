/* Turns and calls as the events tell them, and the ledger. */
#include "test/crash/turns.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "os/os.h"

enum {
	TURNS_MAX = 10 * 1000 * 1000, /* ours: an id past this is a fault */
	LEDGER_MAX_BYTES = 64 * 1024 * 1024,
};

void turns_release(struct turns *t)
{
	for (int64_t i = 0; i < t->cap; i++) {
		for (size_t k = 0; k < t->rows[i].call_count; k++)
			free(t->rows[i].calls[k].id);
		free(t->rows[i].calls);
		free(t->rows[i].bot);
	}
	free(t->rows);
	*t = (struct turns){.cap = 0};
}

struct turn *turns_get(struct turns *t, int64_t id)
{
	return id > 0 && id < t->cap && t->rows[id].id ? &t->rows[id] : NULL;
}

static struct turn *turn_at(struct turns *t, int64_t id, struct str bot)
{
	struct turn *row;

	rig_true(id > 0 && id < TURNS_MAX, "a turn %lld", (long long)id);
	if (id >= t->cap) {
		int64_t cap = id * 2 > 1024 ? id * 2 : 1024;

		t->rows = xrealloc(t->rows, (size_t)cap, sizeof(*t->rows));
		memset(t->rows + t->cap, 0, (size_t)(cap - t->cap) * sizeof(*t->rows));
		t->cap = cap;
	}
	row = &t->rows[id];
	if (!row->id) {
		row->id = id;
		row->bot = xstrndup(bot.p, bot.len);
		t->last = id > t->last ? id : t->last;
	}
	rig_true(str_is(bot, row->bot), "turn %lld is of %s and of " STR_FMT, (long long)id,
		row->bot, STR_ARG(bot));
	return row;
}

/* The newest: a model may use an id again in a later round. */
static struct call *find_call(struct turn *row, struct str id)
{
	for (size_t i = row->call_count; i > 0; i--) {
		if (str_is(id, row->calls[i - 1].id))
			return &row->calls[i - 1];
	}
	return NULL;
}

static struct call *add_call(struct turn *row, struct str id)
{
	struct call *c;

	if (row->call_count == row->call_cap) {
		row->call_cap = row->call_cap ? row->call_cap * 2 : 8;
		row->calls = xrealloc(row->calls, row->call_cap, sizeof(*row->calls));
	}
	c = &row->calls[row->call_count++];
	*c = (struct call){.id = xstrndup(id.p, id.len)};
	return c;
}

static int64_t read_mark(struct str arguments)
{
	static const char sign[] = "$AGENT_TURN ";
	ptrdiff_t at = str_find(arguments, str_from(sign), 0);
	int64_t mark = 0;

	if (at < 0)
		return 0;
	for (size_t i = (size_t)at + sizeof(sign) - 1; i < arguments.len; i++) {
		if (arguments.p[i] < '0' || arguments.p[i] > '9')
			break;
		mark = mark * 10 + (arguments.p[i] - '0');
	}
	return mark;
}

static void on_queued(struct turns *t, struct turn *row, const struct json *data)
{
	(void)t;
	(void)data;
	rig_true(!row->queued && !row->accepted && !row->finished, "turn %lld was queued late",
		(long long)row->id);
	row->queued = true;
}

/* The turn of this bot that runs, before `row`. */
static void only_one_runs(struct turns *t, const struct turn *row)
{
	for (int64_t i = row->id - 1, looked = 0; i > 0 && looked < 512; i--, looked++) {
		const struct turn *other = &t->rows[i];

		if (other->id && strcmp(other->bot, row->bot) == 0)
			rig_true(other->finished, "turn %lld of %s began while turn %lld was %s",
				(long long)row->id, row->bot, (long long)other->id,
				other->accepted ? "running" : "queued before it");
	}
}

static void on_accepted(struct turns *t, struct turn *row, const struct json *data)
{
	(void)data;
	rig_true(!row->accepted && !row->finished, "turn %lld was accepted twice",
		(long long)row->id);
	row->accepted = true;
	only_one_runs(t, row);
}

static void on_started(struct turns *t, struct turn *row, const struct json *data)
{
	struct str id = json_str(json_get(data, "call_id"));
	struct call *c = find_call(row, id);

	rig_true(
		!c || c->completed, "call %s of turn %lld started twice", id.p, (long long)row->id);
	c = add_call(row, id);
	c->started = true;
	c->mark = read_mark(json_str(json_get(data, "arguments")));
	t->started++;
}

static void on_completed(struct turns *t, struct turn *row, const struct json *data)
{
	struct str id = json_str(json_get(data, "call_id"));
	struct call *c = find_call(row, id);

	if (!c || c->completed)
		c = add_call(row, id); /* it never started: refused, denied or cancelled */
	c->completed = true;
	c->node = rig_i64(data, "node");
	c->cancelled = json_is_true(json_get(data, "cancelled"));
	c->denied = json_is_true(json_get(data, "denied"));
	c->unknown = json_is_true(json_get(data, "outcome_unknown"));
	rig_true(!c->unknown || c->started, "call %s of turn %lld: unknown, but never started",
		id.p, (long long)row->id);
	t->completed++;
	t->unknown += c->unknown;
	t->cancelled += c->cancelled;
}

static void copy_text(char *to, size_t room, struct str from)
{
	must(from.len < room);
	memcpy(to, from.len ? from.p : "", from.len);
	to[from.len] = '\0';
}

static void on_finished(struct turns *t, struct turn *row, const struct json *data)
{
	rig_true(!row->finished, "turn %lld finished twice", (long long)row->id);
	row->finished = true;
	copy_text(row->status, sizeof(row->status), json_str(json_get(data, "status")));
	copy_text(row->error, sizeof(row->error), json_str(json_get(data, "error")));
	rig_true(row->accepted || strcmp(row->error, "cancelled") == 0 ||
			 strcmp(row->status, "steered") == 0,
		"turn %lld never began and ended as %s/%s", (long long)row->id, row->status,
		row->error);
	for (size_t i = 0; i < row->call_count; i++)
		rig_true(row->calls[i].completed, "turn %lld ended, call %s has no result",
			(long long)row->id, row->calls[i].id);
	t->finished++;
	t->interrupted += strcmp(row->status, "interrupted") == 0;
}

static void on_work(struct turns *t, struct turn *row, const struct json *data)
{
	(void)t;
	(void)row;
	(void)data;
}

static void on_parked(struct turns *t, struct turn *row, const struct json *data)
{
	(void)data;
	rig_true(!row->parked, "turn %lld parked twice", (long long)row->id);
	row->parked = true;
	t->parks++;
}

static void on_resumed(struct turns *t, struct turn *row, const struct json *data)
{
	(void)t;
	(void)data;
	rig_true(row->parked, "turn %lld came back and was not parked", (long long)row->id);
	row->parked = false;
}

void turns_event(void *arg, const struct json *line)
{
	static const struct {
		const char *kind;
		bool inside; /* only of a turn that runs */
		void (*take)(struct turns *t, struct turn *row, const struct json *data);
	} rows[] = {
		{"queued",             false, on_queued   },
		{"accepted",           false, on_accepted },
		{"message",            true,  on_work     },
		{"usage",              true,  on_work     },
		{"approval_requested", true,  on_work     },
		{"tool_started",       true,  on_started  },
		{"tool_completed",     true,  on_completed},
		{"turn_waiting",       true,  on_parked   },
		{"turn_paced",         true,  on_parked   },
		{"turn_resumed",       true,  on_resumed  },
		{"steered",            true,  on_work     },
		{"turn_finished",      false, on_finished },
	};
	struct turns *t = arg;
	struct str kind = json_str(json_get(line, "event"));
	struct turn *row;
	int64_t id;

	if (json_i64(json_get(line, "turn"), &id) < 0) {
		rig_true(str_is(kind, "created") || str_is(kind, "configured") ||
				 str_is(kind, "forked"),
			"an event " STR_FMT " without a turn", STR_ARG(kind));
		return;
	}
	row = turn_at(t, id, json_str(json_get(line, "bot")));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!str_is(kind, rows[i].kind))
			continue;
		rig_true(!rows[i].inside || (row->accepted && !row->finished),
			"%s of turn %lld, which does not run", rows[i].kind, (long long)id);
		rows[i].take(t, row, json_get(line, "data"));
		if (rows[i].take == on_accepted)
			row->accepted_at = rig_i64(line, "cursor");
		if (rows[i].take == on_resumed)
			row->resumed_at = rig_i64(line, "cursor");
		return;
	}
	rig_broken("an event of kind " STR_FMT, STR_ARG(kind));
}

/*
 * The ledger.
 */
static void take_entry(struct turns *t, struct str entry)
{
	struct str rest = entry, bot, turn, mark;
	uint64_t id, number;
	struct turn *row;
	size_t marked = 0;

	rig_true(str_next(&rest, ' ', &bot) && str_next(&rest, ' ', &turn) &&
			 str_next(&rest, ' ', &mark) &&
			 text_u64(turn, TURNS_MAX, "turn", &id, NULL) == 0 &&
			 text_u64(mark, 1000, "mark", &number, NULL) == 0,
		"a ledger line '" STR_FMT "'", STR_ARG(entry));
	row = turns_get(t, (int64_t)id);
	rig_true(row && str_is(bot, row->bot),
		"the ledger has '" STR_FMT "', the store no such turn", STR_ARG(entry));
	for (size_t i = 0; i < row->call_count; i++) {
		struct call *c = &row->calls[i];

		if (c->mark != (int64_t)number)
			continue;
		marked++;
		if (c->lines > 0)
			continue; /* a turn that a steer keeps going makes a call of that mark again
				   */
		c->lines = 1;
		return;
	}
	rig_broken("'" STR_FMT "' stands in the ledger once more than the %zu calls that started",
		STR_ARG(entry), marked);
}

void turns_read_ledger(struct turns *t, const char *path, int64_t *offset)
{
	_cleanup_(buf) struct buf text = BUF_INIT(LEDGER_MAX_BYTES);
	struct error err = ERROR_INIT;
	struct str rest, entry;

	if (os_exists(path, NULL) == 0)
		return;
	if (os_read_file(path, &text, &err) < 0)
		rig_broken("%s", err.text);
	rig_true(text.len >= (size_t)*offset, "the ledger '%s' became shorter", path);
	buf_consume(&text, (size_t)*offset);
	*offset += (int64_t)text.len;
	rig_true(
		text.len == 0 || text.data[text.len - 1] == '\n', "'%s' ends in half a line", path);
	for (rest = buf_str(&text); str_next(&rest, '\n', &entry);) {
		if (entry.len > 0)
			take_entry(t, entry);
	}
}

void turns_check_ledger(const struct turns *t, int64_t from)
{
	for (int64_t i = from; i <= t->last; i++) {
		const struct turn *row = &t->rows[i];

		if (!row->id)
			continue;
		rig_true(row->finished, "turn %lld of %s never ends", (long long)i, row->bot);
		for (size_t k = 0; k < row->call_count; k++) {
			const struct call *c = &row->calls[k];

			rig_true(c->completed, "call %s of turn %lld has no result", c->id,
				(long long)i);
			rig_true(c->mark == 0 || c->lines == 1 || c->unknown || c->cancelled,
				"call %s of turn %lld is done and wrote %d ledger lines", c->id,
				(long long)i, c->lines);
		}
	}
}
