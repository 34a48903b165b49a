/* stats, models and shutdown. */
#include <stdlib.h>

#include "agent/serve/op.h"
#include "agent/serve/ready.h"

struct stats_work {
	int64_t turns, bytes;
};

static int run_stats(struct store_view *v, struct request *r, struct error *err)
{
	struct stats_work *w = r->work;

	return store_queued_counts(v, &w->turns, &w->bytes, err);
}

static void answer_stats(struct request *r)
{
	const struct stats_work *w = r->work;
	struct json_out j = request_begin(r);

	stats_open(r->d, &j, "result");
	json_put_i64(&j, "queued_turns", w->turns);
	json_put_i64(&j, "pending_bytes", w->bytes);
	json_close(&j, '}');
	request_end(r, &j);
}

static void op_stats(struct request *r, const void *args)
{
	(void)args;
	r->work = arena_alloc(&r->arena, sizeof(struct stats_work));
	op_read(r, run_stats, answer_stats);
}

enum { GRACE_MAX_MS = 86400000 /* agent spec 2.3 */ };

struct shutdown_args {
	int64_t grace_ms;
};
static const struct json_field shutdown_fields[] = {
	JSON_I64(struct shutdown_args, grace_ms, .max = GRACE_MAX_MS),
};

static void op_shutdown(struct request *r, const void *raw)
{
	const struct shutdown_args *args = raw;
	struct daemon *d = r->d;
	int64_t grace_ms = args->grace_ms;
	struct json_out j = request_begin(r);

	json_open_key(&j, "result", '{');
	json_put_bool(&j, "shutting_down", true);
	json_close(&j, '}');
	request_end(r, &j);
	daemon_shutdown(d, grace_ms, "request");
}

static const struct json_field models_fields[] = {
	JSON_STR(struct models_args, provider, .max = 64, .cstr = true),
};

static const struct json_field no_fields[1];

const struct request_row daemon_requests[] = {
	{"stats",   no_fields, 0, 0, op_stats, REQUEST_READS, false},
	{"shutdown",        shutdown_fields, ARRAY_LEN(shutdown_fields), sizeof(struct shutdown_args),
         op_shutdown, REQUEST_OWNER, false},
	{"models", models_fields, ARRAY_LEN(models_fields), sizeof(struct models_args), op_models,
         REQUEST_READS, false},
	{.op = NULL   },
};
