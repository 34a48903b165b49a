/* companions: the programs that the daemon keeps. */
#include <stdlib.h>

#include "agent/io/store_companions.h"
#include "agent/serve/companions.h"
#include "agent/serve/op.h"

struct companions_args {
	const struct json *set;
	bool list;
};
enum companions_field { C_SET, C_LIST };
static const struct json_field companions_fields[] = {
	[C_SET] = JSON_NODE(struct companions_args, set),
	[C_LIST] = JSON_BOOL(struct companions_args, list),
};

struct companions_work {
	struct companion_spec *specs;
	size_t count;
	struct str json;
};

static void answer(struct request *r)
{
	struct json_out j = request_begin(r);

	json_open_key(&j, "result", '{');
	companions_put(r->d, &j, "companions");
	json_close(&j, '}');
	request_end(r, &j);
}

static int run_set(struct store_tx *tx, struct request *r, struct error *err)
{
	const struct companions_work *w = r->work;

	return store_companions_set(tx, w->json, err);
}

static void answer_set(struct request *r)
{
	const struct companions_work *w = r->work;

	companions_apply(r->d, w->specs, w->count);
	answer(r);
}

static int prepare(struct request *r, const struct companions_args *args, struct error *err)
{
	_cleanup_(buf) struct buf text = BUF_INIT(COMPANIONS_MAX_BYTES);
	struct companions_work *w = arena_alloc(&r->arena, sizeof(*w));
	struct json_out j = JSON_OUT(&text);

	r->work = w;
	if (companions_read(&r->arena, args->set, true, &w->specs, &w->count, err) < 0)
		return -1;
	companions_write(&j, NULL, w->specs, w->count);
	if (text.full)
		return error_set(
			err, &COMPANION_INVALID, "set: over %d bytes in all", COMPANIONS_MAX_BYTES);
	w->json = (struct str){arena_strndup(&r->arena, text.data, text.len), text.len};
	return 0;
}

static void op_companions(struct request *r, const void *raw)
{
	const struct companions_args *args = raw;
	struct error err = ERROR_INIT;
	bool set = (r->seen >> C_SET & 1) != 0;

	if (set == args->list) {
		(void)error_set(&err, &REQUEST_INVALID,
			"companions: takes one of set, a list, and list, true");
		request_fail(r, &err);
	} else if (!set) {
		answer(r);
	} else if (prepare(r, args, &err) < 0) {
		request_fail(r, &err);
	} else {
		op_write(r, run_set, answer_set);
	}
}

const struct request_row companion_requests[] = {
	{"companions",                  companions_fields, ARRAY_LEN(companions_fields),
         sizeof(struct companions_args), op_companions, REQUEST_OWNER, false},
	{.op = NULL},
};
