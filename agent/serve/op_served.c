/* serve_tools, tool_result, approve_step and step_result: what a host of served tools asks. */
#include <string.h>

#include "agent/serve/approvals.h"
#include "agent/serve/leases.h"
#include "agent/serve/live.h"
#include "agent/serve/op.h"
#include "agent/serve/pictures.h"
#include "agent/serve/served.h"
#include "agent/serve/steps.h"

/*
 * serve_tools
 */
static const struct json_field serve_fields[] = {
	JSON_STR(struct serve_args, tag, .required = true),
	JSON_I64(struct serve_args, lease_ms, .required = true, .min = LEASE_MIN_MS,
		.max = LEASE_MAX_MS),
};

/* Its lease is known to the holder: now calls may come. */
static void serving_begins(struct request *r)
{
	struct lease *l;

	if (lease_use(r->d, str_from(r->work), &l, NULL) == 0)
		served_host_came(l);
}

static void op_serve_tools(struct request *r, const void *raw)
{
	const struct serve_args *args = raw;
	struct error err = ERROR_INIT;
	struct lease *l;
	struct json_out j;

	if (bot_check_name(args->tag, "tag", &err) < 0 ||
		lease_take(r->session, LEASE_TOOLS, args->tag, args->lease_ms, &l, &err) < 0) {
		request_fail(r, &err);
		return;
	}
	r->work = arena_strndup(&r->arena, l->name, strlen(l->name));
	r->replied = serving_begins;
	j = request_begin(r);
	json_open_key(&j, "result", '{');
	json_put_cstr(&j, "lease", l->name);
	json_put_i64(&j, "lease_ms", l->ms);
	json_close(&j, '}');
	request_end(r, &j);
}

/*
 * tool_result
 */
struct result_args {
	struct str bot, call_id, lease, output, error;
	int64_t turn;
	struct str_list images;
};
static const struct json_field result_fields[] = {
	JSON_STR(struct result_args, bot, .required = true),
	JSON_I64(struct result_args, turn, .required = true, .min = 1),
	JSON_STR(struct result_args, call_id, .required = true),
	JSON_STR(struct result_args, lease, .required = true),
	JSON_STR(struct result_args, output),
	JSON_STR(struct result_args, error, .min = 1),
	JSON_STRS(
		struct result_args, images, .max = PICTURES_MAX, .item_max = GUARD_PATH_MAX_BYTES),
};

static void take(struct request *r, const struct item_picture *pictures, size_t count)
{
	const struct result_args *args = r->args;
	const struct served_result s = {.bot = args->bot,
		.turn = args->turn,
		.call_id = args->call_id,
		.lease = args->lease,
		.text = args->error.p ? args->error : args->output,
		.failed = args->error.p != NULL,
		.pictures = pictures,
		.picture_count = count};
	struct error err = ERROR_INIT;

	if (served_take(r, &s, &err) < 0)
		request_fail(r, &err);
}

static void with_pictures(struct request *r, const struct pictures *p, const struct error *err)
{
	struct item_picture *list;
	size_t count;

	if (err) {
		request_fail(r, err);
		return;
	}
	count = pictures_take(&r->arena, p->list, &list);
	take(r, list, count);
}

static int check_result(struct request *r, const struct result_args *args, struct error *err)
{
	struct lease *l;

	if (bot_check_name(args->bot, "bot", err) < 0 || lease_use(r->d, args->lease, &l, err) < 0)
		return -1;
	if (!args->output.p == !args->error.p)
		return error_set(err, &REQUEST_INVALID, "tool_result: give output or error");
	if (args->error.p && args->images.count)
		return error_set(err, &REQUEST_INVALID, "tool_result.images: goes with output");
	return served_turn(r->d, args->bot, args->turn, args->call_id, args->lease, err) ? 0 : -1;
}

static void op_tool_result(struct request *r, const void *raw)
{
	const struct result_args *args = raw;
	struct error err = ERROR_INIT;

	if (check_result(r, args, &err) < 0)
		request_fail(r, &err);
	else if (args->images.count > 0)
		pictures_read(r, args->images.items, args->images.count, with_pictures);
	else
		take(r, NULL, 0);
}

/*
 * approve_step and step_result
 */
static const struct json_field approve_fields[] = {
	JSON_STR(struct step_ask, bot, .required = true),
	JSON_I64(struct step_ask, turn, .required = true, .min = 1),
	JSON_STR(struct step_ask, call_id, .required = true),
	JSON_STR(struct step_ask, step, .required = true),
	JSON_STR(struct step_ask, name, .required = true),
	JSON_NODE(struct step_ask, arguments, .required = true),
	JSON_STRS(struct step_ask, gates, .min = 1, .max = BOT_GATES_MAX,
		.item_max = GATE_TAG_MAX_BYTES),
	JSON_STR(struct step_ask, lease),
};

static void op_approve_step(struct request *r, const void *raw)
{
	struct error err = ERROR_INIT;

	if (steps_ask(r, raw, &err) < 0)
		request_fail(r, &err);
}

static const struct json_field end_fields[] = {
	JSON_STR(struct step_end, bot, .required = true),
	JSON_I64(struct step_end, turn, .required = true, .min = 1),
	JSON_STR(struct step_end, call_id, .required = true),
	JSON_STR(struct step_end, step, .required = true),
	JSON_BOOL(struct step_end, ok, .required = true),
	JSON_STR(struct step_end, summary, .max = STEP_SUMMARY_MAX_BYTES),
	JSON_STR(struct step_end, lease),
};

static void op_step_result(struct request *r, const void *raw)
{
	struct error err = ERROR_INIT;

	if (steps_end(r, raw, &err) < 0)
		request_fail(r, &err);
}

const struct request_row served_requests[] = {
	{"serve_tools",            serve_fields, ARRAY_LEN(serve_fields), sizeof(struct serve_args),
         op_serve_tools, REQUEST_OWNER, false},
	{"tool_result", result_fields, ARRAY_LEN(result_fields), sizeof(struct result_args),
         op_tool_result, REQUEST_OWNER, true},
	{"approve_step",           approve_fields, ARRAY_LEN(approve_fields), sizeof(struct step_ask),
         op_approve_step, REQUEST_OWNER, true},
	{"step_result",                   end_fields, ARRAY_LEN(end_fields), sizeof(struct step_end), op_step_result,
         REQUEST_OWNER, true},
	{.op = NULL           },
};
