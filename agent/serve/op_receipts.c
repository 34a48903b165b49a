/* receipts: the chain of verdicts, page by page; who asks verifies it. */
#include "agent/serve/op.h"

struct receipts_args {
	int64_t after, limit;
};
static const struct json_field receipts_fields[] = {
	JSON_I64(struct receipts_args, after),
	JSON_I64(struct receipts_args, limit, .min = INT64_MIN),
};

struct receipts_work {
	int limit;
	struct store_receipts page;
};

static int run_receipts(struct store_view *v, struct request *r, struct error *err)
{
	const struct receipts_args *args = r->args;
	struct receipts_work *w = r->work;

	return store_receipts_read(v, args->after, w->limit, &r->arena, &w->page, err);
}

static void answer_receipts(struct request *r)
{
	const struct receipts_work *w = r->work;
	struct json_out j = request_begin(r);

	json_open_key(&j, "result", '{');
	json_put_str(&j, "chain", w->page.chain);
	json_put_i64(&j, "count", w->page.head.count);
	json_put_cstr(&j, "head", w->page.head.hash);
	json_open_key(&j, "receipts", '[');
	for (size_t i = 0; i < w->page.count && r->reply.len < PAGE_MAX_BYTES; i++) {
		json_open(&j, '{');
		json_put_i64(&j, "number", w->page.rows[i].number);
		json_put_str(&j, "hash", w->page.rows[i].hash);
		json_put_str(&j, "record", w->page.rows[i].record);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	request_end(r, &j);
}

static void op_receipts(struct request *r, const void *raw)
{
	const struct receipts_args *args = raw;
	struct receipts_work *w = arena_alloc(&r->arena, sizeof(*w));
	struct error err = ERROR_INIT;

	w->limit = op_page_limit((r->seen & 2) != 0, args->limit);
	r->work = w;
	if (w->limit > 0) {
		op_read(r, run_receipts, answer_receipts);
		return;
	}
	(void)error_set(&err, &REQUEST_INVALID, "receipts.limit: 1 to %d", PAGE_MAX);
	request_fail(r, &err);
}

const struct request_row receipt_requests[] = {
	{"receipts",                  receipts_fields, ARRAY_LEN(receipts_fields), sizeof(struct receipts_args),
         op_receipts, REQUEST_OWNER, false},
	{.op = NULL},
};
