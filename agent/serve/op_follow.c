/* follow and unfollow. */
#include <stdlib.h>

#include "agent/serve/op.h"
#include "agent/serve/publish.h"

struct follow_args {
	struct str bot;
	int64_t after;
};
static const struct json_field follow_fields[] = {
	JSON_STR(struct follow_args, bot, .required = true),
	JSON_I64(struct follow_args, after),
};
static const struct json_field unfollow_fields[] = {
	JSON_STR(struct follow_args, bot, .required = true),
};

static bool is_all(struct str name)
{
	return str_is(name, "*");
}

static int run_find(struct store_view *v, struct request *r, struct error *err)
{
	const struct follow_args *args = r->args;
	struct bot *b = r->work;

	return store_bot_get(v, args->bot, &r->arena, b, err);
}

/* Follows begin and end with their replies, so in the order of the requests: the replay comes
 * behind the reply to `follow`, and nothing behind the one to `unfollow`. */
static void begin(struct request *r)
{
	const struct follow_args *args = r->args;
	const struct bot *b = r->work; /* id 0: all */
	_cleanup_(mem) char *name = xstrndup(args->bot.p, args->bot.len);

	follow_start(r->session, b->id, name, args->after);
}

static void answer_follow(struct request *r)
{
	const struct follow_args *args = r->args;
	struct json_out j = request_begin(r);

	json_open_key(&j, "result", '{');
	json_put_str(&j, "following", args->bot);
	json_put_i64(&j, "after", args->after);
	json_close(&j, '}');
	r->replied = begin;
	request_end(r, &j);
}

static void op_follow(struct request *r, const void *raw)
{
	const struct follow_args *args = raw;
	struct error err = ERROR_INIT;

	r->work = arena_alloc(&r->arena, sizeof(struct bot));
	if (is_all(args->bot))
		answer_follow(r);
	else if (bot_check_name(args->bot, "bot", &err) < 0)
		request_fail(r, &err);
	else
		op_read(r, run_find, answer_follow);
}

static void end(struct request *r)
{
	const struct follow_args *args = r->args;
	_cleanup_(mem) char *name = xstrndup(args->bot.p, args->bot.len);

	(void)follow_stop(r->session, name); /* none of that name: nothing follows either way */
}

static void op_unfollow(struct request *r, const void *raw)
{
	const struct follow_args *args = raw;
	struct error err = ERROR_INIT;
	struct json_out j;

	if (!is_all(args->bot) && bot_check_name(args->bot, "bot", &err) < 0) {
		request_fail(r, &err);
		return;
	}
	j = request_begin(r);
	json_open_key(&j, "result", '{');
	json_put_null(&j, "following");
	json_close(&j, '}');
	r->replied = end;
	request_end(r, &j);
}

const struct request_row follow_requests[] = {
	{"follow",                  follow_fields, ARRAY_LEN(follow_fields), sizeof(struct follow_args), op_follow,
         REQUEST_READS, false},
	{"unfollow", unfollow_fields, ARRAY_LEN(unfollow_fields), sizeof(struct follow_args),
         op_unfollow, REQUEST_READS, false},
	{.op = NULL               },
};
