/* agent run: gives a bot a prompt and shows what it does, to the end of the turn. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cmd/caller.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/interrupts.h"
#include "agent/cmd/limits.h"
#include "agent/cmd/newbot.h"
#include "agent/cmd/outcome.h"
#include "agent/cmd/output.h"
#include "agent/cmd/prompt.h"
#include "agent/cmd/watch.h"
#include "agent/cmd/words.h"
#include "agent/core/limits.h"
#include "mem/mem.h"
#include "os/os.h"

static const struct error_kind LEFT = {"left", ERROR_CLASS_UNAVAILABLE};

struct options {
	struct place_options place;
	struct newbot_options newbot;
	struct limit_options limits;
	struct startup_options startup;
	const char *bot, *delivery, *model, *workspace, *request_id;
	struct cli_texts images;
	struct cli_number bot_id, turn, turn_budget;
	bool new, detach, pretty, no_spawn;
};

static const struct cli_option own[] = {
	CLI_OPT_TEXT(
		struct options, bot, "bot", "NAME", "the bot to go on with; with --new, its name"),
	CLI_OPT_FLAG(struct options, new, "new", "make a new bot of that name"),
	CLI_OPT_TEXT(struct options, model, "model", "PROVIDER/MODEL",
		"the model (AGENT_MODEL for a new bot)"),
	CLI_OPT_TEXT(struct options, workspace, "workspace", "DIR",
		"the folder to work in (the current one for a new bot)"),
	CLI_OPT_TEXT(struct options, delivery, "delivery", "MODE",
		"when the bot is busy: reject, queue or steer (AGENT_DELIVERY, reject)"),
	CLI_OPT_NUMBER(struct options, turn, "turn", "N", 1, INT64_MAX,
		"with --delivery steer: fail unless this turn takes it up"),
	CLI_OPT_TEXTS(struct options, images, "image", "FILE",
		"a picture that goes with the prompt; several may be given"),
	CLI_OPT_NUMBER(struct options, turn_budget, "turn-budget-tokens", "N", 1, INT64_MAX,
		"how many tokens the turn may use"),
	CLI_OPT_TEXT(struct options, request_id, "request-id", "ID",
		"names this request: the same again is not done twice"),
	CLI_OPT_NUMBER(struct options, bot_id, "bot-id", "ID", 1, INT64_MAX,
		"fail unless the name still means this bot"),
	CLI_OPT_FLAG(struct options, detach, "detach", "print the turn's handle and leave"),
	CLI_OPT_FLAG(struct options, pretty, "pretty", "print for people instead of JSON lines"),
	CLI_OPT_FLAG(struct options, no_spawn, "no-spawn", "fail when no daemon runs"),
};

struct running {
	const struct options *o;
	struct str prompt;
	struct watch *watch;
	char *bot; /* its name */
	int64_t turn;
	bool final;     /* the turn was over before we asked */
	int interrupts; /* Ctrl-C so far */
};

static bool makes_bot(const struct options *o)
{
	return o->new || !o->bot;
}

static struct newbot planned(const struct options *o)
{
	return (struct newbot){o->bot, o->model, o->workspace, &o->newbot, &o->limits};
}

static int check_newbot(const struct options *o)
{
	struct newbot n = planned(o);
	struct error err = ERROR_INIT;

	if (newbot_check(&n, &err) == 0)
		return CLI_OK;
	if (error_is(&err, &CLI_USAGE_ERROR))
		return cli_usage("run", "%s", err.text);
	return ask_failed("run", NULL, &err);
}

static const char *delivery_of(const struct options *o)
{
	return o->delivery ? o->delivery : getenv("AGENT_DELIVERY");
}

/* CLI_OK, or the status to end with. */
static int check_usage(const struct options *o)
{
	const char *flag = newbot_given(&o->newbot);

	if (!flag)
		flag = limits_given(&o->limits);
	if (!makes_bot(o) && flag)
		return cli_usage("run",
			"'--%s' is for a new bot: '%s' keeps what it was made with (see agent "
			"configure)",
			flag, o->bot);
	if (makes_bot(o) && o->bot_id.set)
		return cli_usage("run", "'--bot-id' goes with the '--bot' that has it");
	if (o->delivery && strcmp(o->delivery, "reject") != 0 &&
		strcmp(o->delivery, "queue") != 0 && strcmp(o->delivery, "steer") != 0)
		return cli_usage(
			"run", "'--delivery %s': must be reject, queue or steer", o->delivery);
	if (o->turn.set && (!delivery_of(o) || strcmp(delivery_of(o), "steer") != 0))
		return cli_usage("run", "'--turn' goes with '--delivery steer'");
	return makes_bot(o) ? check_newbot(o) : CLI_OK;
}

static int find_bot(struct running *r, const struct json **ret, struct error *err)
{
	struct newbot n = planned(r->o);
	struct ask a;

	if (makes_bot(r->o))
		return newbot_create(r->watch->stream.client, &n, ret, err);
	ask_begin(&a, "inspect");
	json_put_cstr(&a.j, "bot", r->o->bot);
	return ask_call(&a, r->watch->stream.client, ret, err);
}

/* The bot, and its events from now on. */
static int open_bot(struct running *r, struct error *err)
{
	const struct json *record;
	struct str name;
	int64_t cursor = 0;

	if (find_bot(r, &record, err) < 0)
		return -1;
	name = json_str(json_get(record, "name"));
	r->bot = xstrndup(name.p ? name.p : "", name.len);
	r->watch->bot = r->bot;
	if (r->watch->pretty && !r->o->detach) {
		render_bot(&r->watch->render, record, makes_bot(r->o));
		watch_print(r->watch);
	}
	if (r->o->detach)
		return 0;
	if (!makes_bot(r->o) && stream_newest(&r->watch->stream, r->bot, &cursor, err) < 0)
		return -1;
	return stream_follow(&r->watch->stream, r->bot, cursor, err);
}

/* By their real names: the daemon has another current folder. */
static int put_images(struct json_out *j, const struct cli_texts *images, struct error *err)
{
	if (images->count == 0)
		return 0;
	json_open_key(j, "images", '[');
	for (size_t i = 0; i < images->count; i++) {
		_cleanup_(mem) char *real = NULL;

		if (newbot_path("image", images->items[i], &real, err) < 0)
			return -1;
		json_put_cstr(j, NULL, real);
	}
	json_close(j, ']');
	return 0;
}

static int put_turn_settings(struct json_out *j, const struct options *o, struct error *err)
{
	const char *delivery = delivery_of(o);
	_cleanup_(mem) char *workspace = NULL;

	if (delivery && *delivery)
		json_put_cstr(j, "delivery", delivery);
	if (o->turn.set)
		json_put_i64(j, "expected_turn", o->turn.value);
	if (o->bot_id.set)
		json_put_i64(j, "bot_id", o->bot_id.value);
	if (o->turn_budget.set)
		json_put_i64(j, "turn_budget_tokens", o->turn_budget.value);
	if (put_images(j, &o->images, err) < 0)
		return -1;
	if (makes_bot(o))
		return 0; /* the bot has them */
	if (o->model)
		json_put_cstr(j, "model", o->model);
	if (!o->workspace)
		return 0;
	if (newbot_path("workspace", o->workspace, &workspace, err) < 0)
		return -1;
	json_put_cstr(j, "workspace", workspace);
	return 0;
}

static int submit(struct running *r, struct error *err)
{
	char made[WORDS_REQUEST_SIZE];
	const struct json *result;
	struct str handle;
	struct ask a;

	if (!r->o->request_id && words_request(made, err) < 0)
		return -1;
	ask_begin(&a, "submit");
	json_put_cstr(&a.j, "bot", r->bot);
	json_put_cstr(&a.j, "request_id", r->o->request_id ? r->o->request_id : made);
	json_put_str(&a.j, "prompt", r->prompt);
	if (put_turn_settings(&a.j, r->o, err) < 0 || caller_put_from(&a.j, err) < 0) {
		buf_release(&a.text);
		return -1;
	}
	if (stream_call(&r->watch->stream, &a, &result, err) < 0)
		return -1;
	if (json_i64(json_get(result, "turn"), &r->turn) < 0)
		return error_set(err, &CLIENT_LOST, "the daemon named no turn");
	handle = json_str(json_get(result, "handle"));
	r->final = outcome_is_over(json_str(json_get(result, "status")));
	if (r->o->detach) {
		output_text(handle);
		output_text(STR("\n"));
	} else if (!r->watch->pretty) {
		output_member("submitted", result);
	}
	return 0;
}

/* Ctrl-C: once stops the turn, twice leaves. True: leave. */
static bool interrupted(struct running *r, int fd)
{
	struct error err = ERROR_INIT;
	int64_t id;
	struct ask a;
	int before = r->interrupts;

	r->interrupts += interrupts_take(fd);
	if (r->interrupts > 1)
		return true;
	if (before == r->interrupts)
		return false;
	ask_begin(&a, "interrupt");
	json_put_cstr(&a.j, "bot", r->bot);
	json_put_i64(&a.j, "turn", r->turn);
	/* a lost connection is seen by whoever reads next */
	(void)ask_send(&a, r->watch->stream.client, &id, &err);
	if (r->watch->pretty) {
		person_step_aside(&r->watch->person);
		render_note(&r->watch->render, "stopping the turn; Ctrl-C again leaves it");
		watch_print(r->watch);
	}
	return false;
}

static int leave(struct running *r)
{
	struct error err = ERROR_INIT;

	(void)error_set(&err, &LEFT, "left before turn %" PRId64 " was over", r->turn);
	return watch_lost(r->watch, r->turn, &err);
}

/* Shows the turn until it is over. CLI_OK, or the status to end with. */
static int show_turn(struct running *r, int interrupts, struct error *err)
{
	bool over = r->final;

	while (!over) {
		struct stream_event e;
		int rc = watch_next(r->watch, interrupts, &e, err);

		if (rc < 0)
			return watch_lost(r->watch, r->turn, err);
		if (rc == 0 && interrupted(r, interrupts))
			return leave(r);
		if (rc == 0 || e.turn != r->turn)
			continue;
		if (watch_show(r->watch, &e, err) < 0)
			return watch_lost(r->watch, r->turn, err);
		over = str_is(e.kind, "turn_finished");
		if (output_failed())
			return CLI_FAILED;
	}
	return CLI_OK;
}

/* The outcome as the store has it: the last line. */
static int print_result(struct running *r, struct error *err)
{
	_cleanup_(buf) struct buf b = BUF_INIT(65536);
	const struct json *result;
	struct ask a;
	bool good;

	ask_begin(&a, "result");
	json_put_cstr(&a.j, "bot", r->bot);
	json_put_i64(&a.j, "turn", r->turn);
	if (stream_call(&r->watch->stream, &a, &result, err) < 0)
		return error_is(err, &CLIENT_LOST)
			       ? watch_lost(r->watch, r->turn, err)
			       : ask_failed("run", r->watch->stream.client, err);
	good = outcome_is_good(result);
	if (!r->watch->pretty) {
		output_member("result", result);
		return good ? CLI_OK : CLI_FAILED;
	}
	if (r->final)
		render_finished(&r->watch->render, result, NULL);
	paste_continue(&b, &r->watch->paste, str_from(r->bot));
	render_note(&r->watch->render, "go on with: " STR_FMT, STR_ARG(buf_str(&b)));
	watch_print(r->watch);
	return good ? CLI_OK : CLI_FAILED;
}

static int run_turn(struct running *r)
{
	_cleanup_(fd) int interrupts = -1;
	struct error err = ERROR_INIT;
	int status;

	if (open_bot(r, &err) < 0) {
		if (error_is(&err, &CLI_USAGE_ERROR))
			return cli_usage("run", "%s", err.text);
		return ask_failed("run", r->watch->stream.client, &err);
	}
	if (!r->o->detach && interrupts_open(false, &interrupts, &err) < 0)
		return ask_failed("run", NULL, &err);
	if (submit(r, &err) < 0)
		return ask_failed("run", r->watch->stream.client, &err);
	if (r->o->detach)
		return CLI_OK;
	status = show_turn(r, interrupts, &err);
	return status == CLI_OK ? print_result(r, &err) : status;
}

static int run(void *options, char **args, int count)
{
	const struct options *o = options;
	_cleanup_(connection) struct connection c = {.client = NULL};
	_cleanup_(buf) struct buf prompt = BUF_INIT(PROMPT_MAX_BYTES);
	struct running r = {.o = o};
	struct error err = ERROR_INIT;
	struct watch w;
	int status = check_usage(o);

	if (status != CLI_OK)
		return status;
	if (caller_in_tool_shell() && !o->detach)
		return caller_refused("run", "wait for a turn: use --detach");
	if (prompt_read(args, count, &prompt, &err) < 0 ||
		connect_open(&o->place, &o->startup, o->no_spawn ? CONNECT_ONLY : CONNECT_START, &c,
			&err) < 0)
		return ask_failed("run", c.client, &err);
	watch_init(&w, "run", &c, &o->place, o->pretty);
	person_release(&w.person);
	person_init(&w.person, o->pretty && !o->detach);
	r.prompt = buf_str(&prompt);
	r.watch = &w;
	status = run_turn(&r);
	watch_release(&w);
	free(r.bot);
	return output_end("run", status);
}

const struct cli_command cmd_run = {
	.name = "run",
	.arguments = "[--] PROMPT… | -",
	.args_min = 1,
	.args_max = -1,
	.purpose = "give a bot a prompt and show what it does",
	.about = "Without --bot a new bot gets a made-up name; --bot NAME goes on with that bot, "
		 "and fails "
		 "when there is none; --new --bot NAME makes it. A prompt of - is read from "
		 "standard input. "
		 "Prints every event of the turn as a line of JSON and its result last, or with "
		 "--pretty "
		 "what people want to see, and on a terminal asks them for approvals. Ctrl-C stops "
		 "the "
		 "turn, a second one leaves it. Exits 0 when the turn completed.",
	.groups = {{NULL, own, ARRAY_LEN(own), 0},
		   {"A new bot", newbot_options, NEWBOT_OPTIONS, offsetof(struct options, newbot)},
		   {"Limits of a new bot", limit_options, LIMIT_OPTIONS,
			offsetof(struct options, limits)},
		   {"Place", place_options, ARRAY_LEN(place_options), offsetof(struct options, place)},
		   {"Startup", startup_options, STARTUP_OPTIONS, offsetof(struct options, startup)}},
	.options_size = sizeof(struct options),
	.run = run,
};
