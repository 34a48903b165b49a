/* submit, interrupt, turns, result, wait. */
#include <stdlib.h>

#include "agent/core/item.h"
#include "agent/serve/lineage.h"
#include "agent/serve/live.h"
#include "agent/serve/op.h"
#include "agent/serve/handles.h"
#include "agent/serve/pictures.h"
#include "agent/serve/wait.h"

static const struct error_kind PROMPT_LIMIT = {"prompt_limit", ERROR_CLASS_LIMIT};
static const struct error_kind INVALID_DELIVERY = {"invalid_delivery", ERROR_CLASS_USAGE};
static const struct error_kind FAMILY_MISMATCH = {"provider_family_mismatch", ERROR_CLASS_CONFLICT};
static const struct error_kind INVALID_SUBMIT_WORKSPACE = {
	"workspace_must_exist_and_be_absolute", ERROR_CLASS_USAGE};
static const struct error_kind NO_ACTIVE_TURN = {"no_active_turn", ERROR_CLASS_NOT_FOUND};

/*
 * submit
 */
struct from_args {
	struct str bot;
	int64_t bot_id, turn;
};
static const struct json_field from_fields[] = {
	JSON_STR(struct from_args, bot, .required = true),
	JSON_I64(struct from_args, bot_id, .required = true, .min = 1),
	JSON_I64(struct from_args, turn),
};

struct origin_args {
	struct str kind, name;
};
static const struct json_field origin_fields[] = {
	JSON_STR(struct origin_args, kind, .required = true),
	JSON_STR(struct origin_args, name, .required = true),
};

struct submit_args {
	struct str bot, request_id, prompt, workspace, model, delivery;
	int64_t bot_id;
	struct from_args from;
	int64_t expected_turn;
	struct origin_args origin;
	struct str_list images;
	int64_t turn_budget_tokens;
};
enum submit_field {
	S_BOT,
	S_REQUEST,
	S_PROMPT,
	S_BOT_ID,
	S_WORKSPACE,
	S_MODEL,
	S_DELIVERY,
	S_FROM,
	S_EXPECTED,
	S_ORIGIN,
	S_IMAGES,
	S_TURN_BUDGET
};
static const struct json_field submit_fields[] = {
	[S_BOT] = JSON_STR(struct submit_args, bot, .required = true),
	[S_REQUEST] = JSON_STR(struct submit_args, request_id, .required = true),
	[S_PROMPT] = JSON_STR(struct submit_args, prompt, .required = true),
	[S_BOT_ID] = JSON_I64(struct submit_args, bot_id, .min = 1),
	[S_WORKSPACE] = JSON_STR(struct submit_args, workspace),
	[S_MODEL] = JSON_STR(struct submit_args, model),
	[S_DELIVERY] = JSON_STR(struct submit_args, delivery),
	[S_FROM] = JSON_OBJ(struct submit_args, from, from_fields),
	[S_EXPECTED] = JSON_I64(struct submit_args, expected_turn, .min = 1),
	[S_ORIGIN] = JSON_OBJ(struct submit_args, origin, origin_fields),
	[S_IMAGES] = JSON_STRS(
		struct submit_args, images, .max = PICTURES_MAX, .item_max = GUARD_PATH_MAX_BYTES),
	[S_TURN_BUDGET] = JSON_I64(struct submit_args, turn_budget_tokens, .min = 1),
};

struct submit_work {
	struct store_submit submit;
	struct store_submitted done;
	struct str family; /* of the model asked for, absent: the bot's own */
	bool reserved;
};

static bool given(const struct request *r, int field)
{
	return (r->seen >> field & 1) != 0;
}

static int read_delivery(struct str name, enum delivery *ret, struct error *err)
{
	for (int i = 0; delivery_names[i]; i++) {
		if (str_is(name, delivery_names[i])) {
			*ret = (enum delivery)i;
			return 0;
		}
	}
	return error_set(err, &INVALID_DELIVERY, "delivery: reject, queue or steer");
}

static int read_workspace(struct request *r, struct str path, struct str *ret, struct error *err)
{
	_cleanup_(guard_path) struct guard_path p = {.real = NULL};

	if (path.len == 0 || path.p[0] != '/' || guard_resolve("/", path, &p, NULL) < 0 ||
		!p.exists || !p.is_dir)
		return error_set(err, &INVALID_SUBMIT_WORKSPACE,
			"workspace: must be a folder by absolute path");
	*ret = str_from(arena_strndup(&r->arena, p.real, strlen(p.real)));
	return 0;
}

static int read_model(
	struct request *r, struct str reference, struct submit_work *w, struct error *err)
{
	struct str name, model;
	struct provider *p;

	if (bot_split_model(reference, &name, &model, err) < 0)
		return -1;
	p = providers_find(r->d->providers, name);
	if (!p)
		return error_set(err, &PROVIDER_UNAVAILABLE,
			"model: this daemon has no provider '" STR_FMT "'", STR_ARG(name));
	w->family = str_from(provider_family(p)->name);
	w->submit.model = reference;
	return 0;
}

static int check_names(struct request *r, const struct submit_args *args, struct error *err)
{
	if (bot_check_name(args->bot, "bot", err) < 0 ||
		bot_check_name(args->request_id, "request_id", err) < 0)
		return -1;
	if (given(r, S_FROM) && bot_check_name(args->from.bot, "from.bot", err) < 0)
		return -1;
	if (args->prompt.len > PROMPT_MAX_BYTES)
		return error_set(err, &PROMPT_LIMIT, "prompt: %zu bytes are over %d",
			args->prompt.len, PROMPT_MAX_BYTES);
	return 0;
}

/* Both stand in the line before the text, which they must not be able to end or imitate. */
static int read_origin(
	struct request *r, const struct origin_args *o, struct str *ret, struct error *err)
{
	_cleanup_(buf) struct buf text = BUF_INIT(16 * BOT_NAME_MAX_BYTES);
	struct json_out j = JSON_OUT(&text);

	if (bot_check_name(o->kind, "origin.kind", err) < 0 ||
		bot_check_name(o->name, "origin.name", err) < 0)
		return -1;
	if (given(r, S_FROM))
		return error_set(err, &REQUEST_INVALID,
			"submit.origin: goes without from: a text has one author");
	json_open(&j, '{');
	json_put_str(&j, "kind", o->kind);
	json_put_str(&j, "name", o->name);
	json_close(&j, '}');
	*ret = (struct str){arena_strndup(&r->arena, text.data, text.len), text.len};
	return 0;
}

static int read_steer(struct request *r, const struct submit_args *args, struct store_submit *s,
	struct error *err)
{
	if (given(r, S_EXPECTED) && s->delivery != DELIVERY_STEER)
		return error_set(
			err, &INVALID_DELIVERY, "expected_turn: goes with delivery \"steer\"");
	s->expected_turn = args->expected_turn;
	if (given(r, S_ORIGIN))
		return read_origin(r, &args->origin, &s->origin, err);
	return 0;
}

/* What the sandbox confines works in a folder. */
static const char *const *confined_tools(struct request *r)
{
	const char **names = arena_alloc(&r->arena, (BOT_TOOLS_MAX + 1) * sizeof(*names));
	size_t count = 0;

	for (size_t i = 0; tool_table[i] && count < BOT_TOOLS_MAX; i++) {
		if (tool_table[i]->confined)
			names[count++] = tool_table[i]->name;
	}
	return names;
}

/* On a bot's own socket whoever submits is that bot, whatever the request says. */
static int check_author(struct request *r, const struct submit_args *args, struct error *err)
{
	const struct session *s = r->session;

	if (r->as.id == 0)
		return 0;
	if (given(r, S_ORIGIN))
		return error_set(
			err, &REQUEST_NOT_PERMITTED, "submit.origin: a bot speaks as itself");
	if (!given(r, S_FROM))
		return 0;
	if (!str_is(args->from.bot, r->as.name) || args->from.bot_id != r->as.id)
		return error_set(err, &REQUEST_NOT_PERMITTED,
			"submit.from: bot '%s' speaks as itself", r->as.name);
	if (s->turn > 0 && args->from.turn != s->turn)
		return error_set(err, &REQUEST_NOT_PERMITTED,
			"submit.from.turn: this command is of turn %lld", (long long)s->turn);
	return 0;
}

/* The turn it speaks from: its command's, the one it says, or the one under way. */
static void set_author(struct request *r, const struct submit_args *args, struct store_submit *s)
{
	const struct live_turn *t;

	s->from_bot = args->from.bot;
	s->from_bot_id = args->from.bot_id;
	s->from_turn = args->from.turn;
	if (r->as.id == 0)
		return;
	s->from_bot = str_from(r->as.name);
	s->from_bot_id = r->as.id;
	if (r->session->turn > 0)
		s->from_turn = r->session->turn;
	if (s->from_turn > 0)
		return;
	t = live_find(r->d, s->from_bot);
	s->from_turn = t && t->bot.id == r->as.id ? t->info.id : 0;
}

/* In the job: that bot is there and had that turn, and the folder is one of the other's. */
static int check_as_bot(struct store_tx *tx, struct request *r, struct error *err)
{
	struct store_view *v = store_tx_view(tx);
	const struct submit_work *w = r->work;
	const struct store_submit *s = &w->submit;
	struct bot author, target;
	struct store_turn turn;

	if (r->as.id == 0)
		return 0;
	if (store_bot_get_id(v, r->as.id, &r->arena, &author, err) < 0)
		return -1;
	if (s->from_turn > 0 &&
		store_turn_get(v, r->as.id, s->from_turn, &r->arena, &turn, NULL) < 0)
		return error_set(err, &REQUEST_NOT_PERMITTED,
			"submit.from.turn: bot '%s' has no turn %lld", r->as.name,
			(long long)s->from_turn);
	if (!s->workspace.p)
		return 0;
	if (store_bot_get(v, s->bot, &r->arena, &target, err) < 0)
		return -1;
	return lineage_check_workspace(r->d, &r->arena, &target, s->workspace, err);
}

static int prepare_submit(
	struct request *r, const struct submit_args *args, struct submit_work *w, struct error *err)
{
	struct store_submit *s = &w->submit;

	if (check_names(r, args, err) < 0 || check_author(r, args, err) < 0)
		return -1;
	if (given(r, S_DELIVERY) && read_delivery(args->delivery, &s->delivery, err) < 0)
		return -1;
	if (read_steer(r, args, s, err) < 0)
		return -1;
	if (given(r, S_WORKSPACE) && read_workspace(r, args->workspace, &s->workspace, err) < 0)
		return -1;
	if (given(r, S_MODEL) && read_model(r, args->model, w, err) < 0)
		return -1;
	if (r->d->draining && s->delivery == DELIVERY_REJECT)
		return error_set(err, &DAEMON_DRAINING, "the daemon is shutting down");
	s->bot = args->bot;
	s->bot_id = args->bot_id;
	s->request_id = args->request_id;
	s->prompt = args->prompt;
	s->budget_tokens = args->turn_budget_tokens;
	set_author(r, args, s);
	s->pending_max = r->d->o->max_pending;
	s->pending_max_bytes = r->d->o->max_pending_bytes;
	s->workspace_tools = confined_tools(r);
	s->user_item = live_user_item;
	return 0;
}

static int run_submit(struct store_tx *tx, void *arg, struct error *err)
{
	struct request *r = arg;
	struct submit_work *w = r->work;
	struct bot b;

	if (check_as_bot(tx, r, err) < 0)
		return -1;
	if (w->family.p) {
		if (store_bot_get(store_tx_view(tx), w->submit.bot, &r->arena, &b, err) < 0)
			return -1;
		if (!str_eq(b.family, w->family))
			return error_set(err, &FAMILY_MISMATCH,
				"model: the bot is bound to family " STR_FMT, STR_ARG(b.family));
	}
	return store_turn_submit(tx, &w->submit, &r->arena, &w->done, err);
}

static void answer_submit(struct request *r)
{
	const struct store_submitted *s = &((struct submit_work *)r->work)->done;
	struct json_out j = request_begin(r);
	_cleanup_(mem) char *handle = xasprintf(
		"turn:" STR_FMT "/%lld", STR_ARG(s->turn.bot_name), (long long)s->turn.id);

	json_open_key(&j, "result", '{');
	json_put_str(&j, "bot", s->turn.bot_name);
	json_put_i64(&j, "bot_id", s->turn.bot);
	json_put_i64(&j, "turn", s->turn.id);
	json_put_str(&j, "request_id", s->turn.request_id);
	json_put_bool(&j, "duplicate", s->duplicate);
	json_put_cstr(&j, "status", turn_status_names[s->turn.status]);
	json_put_i64(&j, "cursor", s->cursor);
	json_put_cstr(&j, "handle", handle);
	json_close(&j, '}');
	request_end(r, &j);
}

static void tell_steer(struct daemon *d, struct str bot)
{
	struct live_turn *t = live_find(d, bot);

	if (t)
		t->steers = true;
}

static void submit_done(void *arg, int rc, const struct error *err)
{
	struct request *r = arg;
	struct daemon *d = r->d;
	struct submit_work *w = r->work;

	if (rc == 0 && w->done.started)
		live_start(d, &w->done.turn, &w->done.bot);
	else if (w->reserved)
		schedule_unreserve(d);
	if (rc < 0) {
		request_fail(r, err);
	} else {
		if (w->submit.delivery == DELIVERY_STEER)
			tell_steer(d, w->done.turn.bot_name);
		if (w->done.turn.status == TURN_READY || w->done.turn.status == TURN_QUEUED)
			d->sched.ready = true;
		answer_submit(r);
	}
	schedule_kick(d); /* a slot held for nothing may have been one that a queued turn missed */
}

static void commit_submit(struct request *r)
{
	struct submit_work *w = r->work;

	w->reserved = schedule_reserve(r->d);
	w->submit.may_start = w->reserved;
	w->submit.paused = pause_holds(r->d);
	store_write(r->d->store, run_submit, submit_done, r);
}

/* The daemon may have begun to end meanwhile, or be at it. */
static void with_pictures(struct request *r, const struct pictures *p, const struct error *failed)
{
	struct submit_work *w = r->work;
	struct error err = ERROR_INIT;

	if (failed) {
		request_fail(r, failed);
	} else if (!r->d->store || (r->d->draining && w->submit.delivery == DELIVERY_REJECT)) {
		(void)error_set(&err, &DAEMON_DRAINING, "the daemon is shutting down");
		request_fail(r, &err);
	} else {
		w->submit.pictures = p->list;
		w->submit.pictures_digest = p->digest;
		commit_submit(r);
	}
}

static void op_submit(struct request *r, const void *raw)
{
	const struct submit_args *args = raw;
	struct submit_work *w = arena_alloc(&r->arena, sizeof(*w));
	struct error err = ERROR_INIT;

	r->work = w;
	if (prepare_submit(r, args, w, &err) < 0)
		request_fail(r, &err);
	else if (args->images.count > 0)
		pictures_read(r, args->images.items, args->images.count, with_pictures);
	else
		commit_submit(r);
}

/*
 * interrupt
 */
struct turn_args {
	struct str bot;
	int64_t turn;
};
static const struct json_field interrupt_fields[] = {
	JSON_STR(struct turn_args, bot, .required = true),
	JSON_I64(struct turn_args, turn, .min = 1),
};

static void answer_interrupt(struct request *r, int64_t turn, bool queued)
{
	struct json_out j = request_begin(r);

	json_open_key(&j, "result", '{');
	json_put_bool(&j, "interrupt_requested", true);
	json_put_i64(&j, "turn", turn);
	if (queued)
		json_put_bool(&j, "queued", true);
	json_close(&j, '}');
	request_end(r, &j);
}

static int run_cancel_queued(struct store_tx *tx, void *arg, struct error *err)
{
	struct request *r = arg;
	const struct turn_args *args = r->args;
	struct bot b;

	if (store_bot_get(store_tx_view(tx), args->bot, &r->arena, &b, err) < 0 ||
		lineage_made(store_tx_view(tx), r, &b, err) < 0)
		return -1;
	if ((r->seen & 2) == 0)
		return error_set(err, &NO_ACTIVE_TURN, "the bot has no running turn");
	return store_turn_cancel_queued(tx, b.id, args->turn, err);
}

/* Whether a turn is the bot's that was looked at: of a request by a bot, which was checked. */
static bool is_looked_at(const struct request *r, int64_t bot)
{
	const struct bot *looked_at = r->work;

	return r->as.id == 0 || looked_at->id == bot;
}

/* True: the turn is live, and the request answered. */
static bool interrupt_live(struct request *r)
{
	const struct turn_args *args = r->args;
	struct live_turn *t = live_find(r->d, args->bot);

	if (!t || !is_looked_at(r, t->bot.id) || ((r->seen & 2) != 0 && t->info.id != args->turn))
		return false;
	live_stop(t, "cancelled");
	answer_interrupt(r, t->info.id, false);
	return true;
}

/* True: the turn is parked; it is ended, and the request answered behind that. */
static bool interrupt_parked(struct request *r)
{
	const struct turn_args *args = r->args;
	struct parked *p = parked_find(r->d, args->bot);

	if (!p || !is_looked_at(r, p->bot) || ((r->seen & 2) != 0 && p->turn != args->turn))
		return false;
	parked_stop(p, "cancelled", r);
	return true;
}

static void cancel_done(void *arg, int rc, const struct error *err)
{
	struct request *r = arg;
	const struct turn_args *args = r->args;
	struct daemon *d = r->d;
	int64_t turn = args->turn;

	if (rc < 0) {
		/* one that was waiting to start may have started since the request came */
		if (!interrupt_live(r) && !interrupt_parked(r))
			request_fail(r, err);
		return;
	}
	answer_interrupt(r, turn, true);
	waiters_notify(d, turn);
}

/* The daemon may be at its end by the time a bot was looked at. */
static void interrupt(struct request *r)
{
	struct error err = ERROR_INIT;

	if (!r->d->store) {
		(void)error_set(&err, &DAEMON_DRAINING, "the daemon is shutting down");
		request_fail(r, &err);
		return;
	}
	if (!interrupt_live(r) && !interrupt_parked(r))
		store_write(r->d->store, run_cancel_queued, cancel_done, r);
}

static int run_look(struct store_view *v, struct request *r, struct error *err)
{
	const struct turn_args *args = r->args;

	if (store_bot_get(v, args->bot, &r->arena, r->work, err) < 0)
		return -1;
	return lineage_made(v, r, r->work, err);
}

static void op_interrupt(struct request *r, const void *raw)
{
	const struct turn_args *args = raw;
	struct error err = ERROR_INIT;

	if (bot_check_name(args->bot, "bot", &err) < 0) {
		request_fail(r, &err);
	} else if (r->as.id > 0) {
		r->work = arena_alloc(&r->arena, sizeof(struct bot));
		op_read(r, run_look, interrupt);
	} else {
		interrupt(r);
	}
}

/*
 * turns
 */
struct turns_args {
	struct str bot;
	int64_t after, limit;
};
static const struct json_field turns_fields[] = {
	JSON_STR(struct turns_args, bot, .required = true),
	JSON_I64(struct turns_args, after),
	JSON_I64(struct turns_args, limit, .min = INT64_MIN),
};
struct turns_work {
	int limit;
	struct store_turn *turns;
	size_t count;
};

static int run_turns(struct store_view *v, struct request *r, struct error *err)
{
	const struct turns_args *args = r->args;
	struct turns_work *w = r->work;
	struct bot b;

	if (store_bot_get(v, args->bot, &r->arena, &b, err) < 0)
		return -1;
	return store_turn_list(
		v, b.id, args->after, w->limit, &r->arena, &w->turns, &w->count, err);
}

static void put_from(struct json_out *j, const struct store_turn *t)
{
	if (!t->from_bot.p) {
		json_put_null(j, "from");
		return;
	}
	json_open_key(j, "from", '{');
	json_put_str(j, "bot", t->from_bot);
	json_put_i64(j, "bot_id", t->from_bot_id);
	json_put_i64(j, "turn", t->from_turn);
	json_close(j, '}');
}

static void put_turn(struct json_out *j, const struct store_turn *t)
{
	double hit = t->input_tokens > 0 ? (double)t->cached_input_tokens / (double)t->input_tokens
					 : 0.0;

	json_open(j, '{');
	json_put_i64(j, "turn", t->id);
	json_put_str(j, "request_id", t->request_id);
	json_put_cstr(j, "status", turn_status_names[t->status]);
	json_put_str(j, "error", t->error);
	json_put_str(j, "workspace", t->workspace);
	json_put_str(j, "model", t->model);
	json_put_i64(j, "input_tokens", t->input_tokens);
	json_put_i64(j, "output_tokens", t->output_tokens);
	json_put_i64(j, "cached_input_tokens", t->cached_input_tokens);
	json_put_double(j, "cache_hit", hit, 3);
	json_put_i64(j, "model_rounds", t->rounds);
	json_put_i64(j, "retries", t->retries);
	json_put_i64(j, "paced_ms", t->paced_ms);
	if (t->started_ms > 0)
		json_put_i64(j, "started_ms", t->started_ms);
	else
		json_put_null(j, "started_ms");
	if (t->finished_ms > 0)
		json_put_i64(j, "finished_ms", t->finished_ms);
	else
		json_put_null(j, "finished_ms");
	json_put_str(j, "prompt_preview", str_cut(t->prompt, PREVIEW_MAX_BYTES));
	put_from(j, t);
	json_put_raw(j, "origin", t->origin);
	json_close(j, '}');
}

static void answer_turns(struct request *r)
{
	const struct turns_work *w = r->work;
	struct json_out j = request_begin(r);

	json_open_key(&j, "result", '[');
	for (size_t i = 0; i < w->count && r->reply.len < PAGE_MAX_BYTES; i++)
		put_turn(&j, &w->turns[i]);
	json_close(&j, ']');
	request_end(r, &j);
}

static void op_turns(struct request *r, const void *raw)
{
	const struct turns_args *args = raw;
	struct turns_work *w = arena_alloc(&r->arena, sizeof(*w));
	struct error err = ERROR_INIT;

	r->work = w;
	w->limit = op_page_limit((r->seen & 4) != 0, args->limit);
	if (w->limit == 0) {
		(void)error_set(&err, &REQUEST_INVALID, "turns.limit: 1 to %d", PAGE_MAX);
		request_fail(r, &err);
	} else if (bot_check_name(args->bot, "bot", &err) < 0) {
		request_fail(r, &err);
	} else {
		op_read(r, run_turns, answer_turns);
	}
}

/*
 * result
 */
static const struct json_field result_fields[] = {
	JSON_STR(struct turn_args, bot, .required = true),
	JSON_I64(struct turn_args, turn, .required = true, .min = 1),
};
struct result_work {
	struct store_turn turn;
	struct str last_item;
};

static int run_result(struct store_view *v, struct request *r, struct error *err)
{
	const struct turn_args *args = r->args;
	struct result_work *w = r->work;
	struct bot b;

	if (store_bot_get(v, args->bot, &r->arena, &b, err) < 0 ||
		store_turn_get(v, b.id, args->turn, &r->arena, &w->turn, err) < 0)
		return -1;
	if (!turn_status_final(w->turn.status))
		return 0;
	return store_turn_last_item(v, b.id, args->turn, &r->arena, &w->last_item, err);
}

static void answer_result(struct request *r)
{
	const struct result_work *w = r->work;
	struct json_out j = request_begin(r);

	handle_put_turn(&j, "result", &w->turn, w->last_item);
	request_end(r, &j);
}

static void op_result(struct request *r, const void *raw)
{
	const struct turn_args *args = raw;
	struct error err = ERROR_INIT;

	r->work = arena_alloc(&r->arena, sizeof(struct result_work));
	if (bot_check_name(args->bot, "bot", &err) < 0)
		request_fail(r, &err);
	else
		op_read(r, run_result, answer_result);
}

static const struct json_field wait_fields[] = {
	JSON_STRS(struct wait_args, handles, .required = true),
	JSON_I64(struct wait_args, timeout_ms, .min = INT64_MIN),
	JSON_BOOL(struct wait_args, any),
};

const struct request_row turn_requests[] = {
	{"submit",		     submit_fields, ARRAY_LEN(submit_fields), sizeof(struct submit_args), op_submit,
         REQUEST_AS_BOT, false},
	{"interrupt",    interrupt_fields, ARRAY_LEN(interrupt_fields), sizeof(struct turn_args),
         op_interrupt, REQUEST_AS_BOT, false},
	{"turns",		   turns_fields, ARRAY_LEN(turns_fields), sizeof(struct turns_args), op_turns,
         REQUEST_READS, false},
	{"result",		       result_fields, ARRAY_LEN(result_fields), sizeof(struct turn_args), op_result,
         REQUEST_READS, false},
	{"wait",		  wait_fields, ARRAY_LEN(wait_fields), sizeof(struct wait_args), op_wait,
         REQUEST_READS, true},
	{.op = NULL},
};
