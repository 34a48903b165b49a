/* The shape of a handler that asks the store. */
#include "agent/serve/op.h"

struct job {
	struct request *r;
	int (*read)(struct store_view *v, struct request *r, struct error *err);
	int (*write)(struct store_tx *tx, struct request *r, struct error *err);
	void (*answer)(struct request *r);
};

static int run_read(struct store_view *v, void *arg, struct error *err)
{
	struct job *j = arg;

	return j->read(v, j->r, err);
}

static int run_write(struct store_tx *tx, void *arg, struct error *err)
{
	struct job *j = arg;

	return j->write(tx, j->r, err);
}

static void job_done(void *arg, int rc, const struct error *err)
{
	struct job *j = arg;

	if (rc < 0)
		request_fail(j->r, err);
	else
		j->answer(j->r);
}

void op_read(struct request *r,
	int (*run)(struct store_view *v, struct request *r, struct error *err),
	void (*answer)(struct request *r))
{
	struct job *j = arena_alloc(&r->arena, sizeof(*j));

	*j = (struct job){.r = r, .read = run, .answer = answer};
	store_read(r->d->store, run_read, job_done, j);
}

void op_write(struct request *r,
	int (*run)(struct store_tx *tx, struct request *r, struct error *err),
	void (*answer)(struct request *r))
{
	struct job *j = arena_alloc(&r->arena, sizeof(*j));

	*j = (struct job){.r = r, .write = run, .answer = answer};
	store_write(r->d->store, run_write, job_done, j);
}

void op_answer_record(struct request *r, const struct bot *b)
{
	struct json_out j = request_begin(r);

	bot_write_record(&j, "result", b, true);
	request_end(r, &j);
}

int op_page_limit(bool given, int64_t limit)
{
	if (!given)
		return PAGE_DEFAULT;
	return limit < 1 || limit > PAGE_MAX ? 0 : (int)limit;
}
