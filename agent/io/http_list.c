/* A provider's list of models: GET BASE/models, as all three families have it. */
#include "agent/io/provider_http.h"

enum {
	LIST_MAX_BYTES = 4 << 20,  /* ours: the longest known is below 1 MiB */
	LIST_MAX_MS = 30 * 1000,   /* ours */
	LIST_MODELS_MAX = 10000,   /* ours */
	LIST_NAME_MAX_BYTES = 256, /* agent spec 8.1: MODEL */
};

struct list_call {
	struct http_provider *p;
	struct fetch_call *fetch;
	void *ask;                 /* of its authentication */
	uint64_t granted, refused; /* as in http_call.c */
	provider_on_listing done;
	void *arg;
	int status;
	struct buf body;
	bool over;
};

static void list_free(void *arg)
{
	struct list_call *c = arg;

	buf_release(&c->body);
	free(c);
}

static void end(struct list_call *c)
{
	c->over = true;
	if (c->ask)
		c->p->auth->cancel(mem_take(&c->ask));
	fetch_cancel(mem_take(&c->fetch));
	loop_defer(c->p->loop, list_free, c);
}

static void fail(struct list_call *c, const struct error *err)
{
	provider_on_listing done = c->done;
	void *arg = c->arg;

	end(c);
	done(arg, NULL, err);
}

static bool take_name(const struct json *one, struct str *ret)
{
	struct str id = json_str(json_get(one, "id"));

	*ret = id;
	return id.len > 0 && id.len <= LIST_NAME_MAX_BYTES && !memchr(id.p, 0, id.len);
}

static int read_list(
	struct arena *a, struct str body, struct provider_listing *ret, struct error *err)
{
	const struct json *doc, *data;
	struct str *models;
	size_t count = 0;

	if (json_parse(a, body, &doc, err) < 0)
		return error_prefix(err, "its list of models");
	data = json_get(doc, "data");
	if (!data || data->type != JSON_ARRAY)
		return error_set(
			err, &PROVIDER_STREAM_FAILED, "its list of models has no array 'data'");
	models = arena_alloc(a, (data->count + 1) * sizeof(*models));
	json_for_each (one, data) {
		if (count < LIST_MODELS_MAX)
			count += take_name(one, &models[count]);
	}
	*ret = (struct provider_listing){models, count};
	return 0;
}

static void on_head(void *arg, const struct http_head *h)
{
	struct list_call *c = arg;

	c->status = h->status;
}

static void on_body(void *arg, struct str bytes)
{
	struct list_call *c = arg;
	struct error err = ERROR_INIT;

	if (c->over || buf_put(&c->body, bytes.p, bytes.len) == 0)
		return;
	(void)error_set(&err, &PROVIDER_RESPONSE_LIMIT, "its list of models has more than %d bytes",
		LIST_MAX_BYTES);
	fail(c, &err);
}

static int begin(struct list_call *c, struct error *err);

/* What proved who asks was not taken, and there may be something better by now. */
static bool prove_again(struct list_call *c)
{
	if (c->granted == 0 || c->refused != 0 ||
		!c->p->auth->again(c->p->net, c->status, c->granted))
		return false;
	c->refused = c->granted;
	buf_clear(&c->body);
	return begin(c, NULL) == 0;
}

static void on_done(void *arg, const struct error *failed)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	struct list_call *c = arg;
	struct provider_failure f;
	struct provider_listing l;
	struct error err = ERROR_INIT;

	c->fetch = NULL;
	if (c->over)
		return;
	if (failed) {
		http_read_broken(failed, false, &f);
		fail(c, &f.err);
	} else if (c->status < 200 || c->status > 299) {
		if (prove_again(c))
			return;
		const struct http_refusal r = {.status = c->status,
			.retry_ms = -1,
			.body = str_cut(buf_str(&c->body), HTTP_ERROR_BODY_BYTES)};

		http_read_refusal(c->p->family->model, &r, &f);
		fail(c, &f.err);
	} else if (read_list(&a, buf_str(&c->body), &l, &err) < 0) {
		fail(c, &err);
	} else {
		provider_on_listing done = c->done;
		void *done_arg = c->arg;

		end(c);
		done(done_arg, &l, NULL);
	}
}

static int send_request(struct list_call *c, const struct auth_grant *g, struct error *err)
{
	static const struct fetch_callbacks callbacks = {NULL, on_head, on_body, on_done};
	_cleanup_(buf) struct buf text = BUF_INIT(URL_MAX_BYTES);
	_cleanup_(mem) char *path = xasprintf("/models%s", c->p->family->list_query);
	struct auth_request what;
	struct fetch_request q = {.method = "GET", .total_ms = LIST_MAX_MS};
	struct http_headers headers;
	struct url url;
	int rc;

	if (http_url(c->p, path, &text, &url, err) < 0)
		return -1;
	what = http_auth_request("GET", &url, NULL, 0);
	if (http_headers_make(c->p, g, &what, NULL, &headers, err) < 0)
		return -1;
	q.url = &url;
	q.headers = headers.items;
	q.header_count = headers.count;
	rc = fetch_start(c->p->net->fetch, &q, &callbacks, c, &c->fetch, err);
	auth_headers_release(&headers.auth);
	return rc;
}

static void on_grant(void *arg, const struct auth_grant *g, const struct error *failed)
{
	struct list_call *c = arg;
	struct error err = ERROR_INIT;

	c->ask = NULL;
	if (failed) {
		fail(c, failed);
		return;
	}
	c->granted = g->number;
	if (send_request(c, g, &err) < 0)
		fail(c, &err);
}

static int begin(struct list_call *c, struct error *err)
{
	if (!c->p->auth->ask)
		return send_request(c, NULL, err);
	c->ask = c->p->auth->ask(c->p->net, c->refused, on_grant, c);
	return 0;
}

int http_list(void *state, provider_on_listing done, void *arg, void **ret_call, struct error *err)
{
	struct list_call *c = xcalloc(1, sizeof(*c));

	c->p = state;
	c->done = done;
	c->arg = arg;
	c->body = (struct buf)BUF_INIT(LIST_MAX_BYTES);
	if (begin(c, err) < 0) {
		list_free(c);
		return -1;
	}
	*ret_call = c;
	return 0;
}

void http_list_cancel(void *call)
{
	end(call);
}
