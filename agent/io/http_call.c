/*
 * A model call over HTTP: its place in the pool's line, its place among those that connect, the
 * request, the stream of the reply.
 *
 *	NEW → LINE → ADMISSION → GRANT → SENT → STREAM → OVER
 *	                                      ↘ REFUSED ↗
 *
 * Over WebSocket (agent spec 8.2) the same states hold: the first message of a response is its
 *head.
 *
 * The caller may cancel inside any callback: what a callback may end is not touched after it
 * without a look at `state`. Memory goes back after the round. A call whose reply is told reads the
 * rest of its answer, so that the connection can be used again.
 */
#include "agent/io/provider_http.h"

enum {
	STALL_DEFAULT_MS = 120 * 1000, /* agent spec 2.6 */
	ADMISSION_MAX_MS = 60 * 1000,  /* agent spec 2.6: --max-connecting */
	REFUSAL_MAX_MS = 10 * 1000,    /* ours: for an error's body */
	REST_MAX_MS = 2000,            /* ours: for what comes after the end of a reply */
	RESPONSE_ID_MAX_BYTES = 256,   /* ours */
	WARM_MAX_BYTES = 64 * 1024,    /* ours: a reply without content */
	STATUS_ERRORS_FIRST = 400,
	STATUS_ERRORS_LAST = 599,
	RETRY_AFTER_MAX_MS = 24 * 60 * 60 * 1000, /* ours */
};

enum call_state {
	CALL_NEW,
	CALL_LINE,
	CALL_ADMISSION,
	CALL_GRANT, /* waits for what proves who asks */
	CALL_SENT,
	CALL_STREAM,
	CALL_WARM, /* the one document that answers a request that wants no reply */
	CALL_REFUSED,
	CALL_TOLD,
	CALL_OVER
};

struct http_call {
	struct http_provider *p;
	struct list in_provider, in_admission;
	enum call_state state;
	const struct provider_request *r;
	const struct provider_callbacks *cb;
	void *arg;
	struct loop_timer *timer;
	struct pace_ticket ticket;
	struct body body;
	bool has_body, dropped_thinking;
	bool body_sent;   /* all of it, this time */
	bool connecting;  /* counted among those that wait for a head */
	void *ask;        /* of its authentication */
	uint64_t granted; /* the number of what it brought; 0: nothing */
	uint64_t refused; /* … of what the provider did not take: once is enough */
	struct fetch_call *fetch;
	struct ws_turn *socket; /* in its place, over WebSocket */
	struct buf response_id; /* … of the reply that is read */
	int64_t sent_ms;
	/* The answer. */
	struct http_refusal refusal;
	struct buf refusal_body;
	struct model_decoder *decoder;
	struct gather gather;
	bool has_gather, ended;
	bool has_fault;
	struct provider_failure fault;
	int64_t word_ms; /* when content came last; monotonic */
};

static void begin(struct http_call *c);
static void pump_line(struct http_provider *p, struct pace_pool *pool);

/*
 * Ends.
 */
static void call_free(void *arg)
{
	struct http_call *c = arg;

	if (c->has_body)
		body_release(&c->body);
	if (c->has_gather)
		gather_release(&c->gather);
	model_decoder_free(c->decoder);
	buf_release(&c->refusal_body);
	buf_release(&c->response_id);
	free(c);
}

static void admit_next(struct provider_net *net);

static void leave_admission(struct http_call *c)
{
	list_remove(&c->in_admission);
	if (!c->connecting)
		return;
	c->connecting = false;
	c->p->net->connecting--;
	admit_next(c->p->net);
}

static void drop_ask(struct http_call *c)
{
	if (c->ask)
		c->p->auth->cancel(mem_take(&c->ask));
}

static void drop_connection(struct http_call *c)
{
	fetch_cancel(mem_take(&c->fetch));
	ws_turn_cancel(mem_take(&c->socket));
}

/* No callback comes after this. */
static void end(struct http_call *c)
{
	struct pace_pool *pool = c->ticket.pool;

	c->state = CALL_OVER;
	drop_ask(c);
	drop_connection(c);
	loop_timer_free(mem_take(&c->timer));
	list_remove(&c->in_provider);
	pace_leave(&c->ticket);
	leave_admission(c);
	loop_defer(c->p->loop, call_free, c);
	if (pool)
		pump_line(c->p, pool);
}

static void tell_failure(struct http_call *c, struct provider_failure *f)
{
	const struct provider_callbacks *cb = c->cb;
	struct pace_pool *pool = c->ticket.pool;
	void *arg = c->arg;

	if (c->has_gather && c->gather.has_usage) {
		f->has_usage = true;
		f->usage = gather_usage(&c->gather);
	}
	if (f->retry == PROVIDER_RETRY_PACE && pool)
		f->delay_ms = pace_close(pool, f->delay_ms, loop_now_ms(c->p->loop));
	end(c);
	cb->failed(arg, f);
}

static void fail(struct http_call *c, const struct error *err, enum provider_retry retry)
{
	struct provider_failure f = {.err = *err, .retry = retry, .delay_ms = -1};

	tell_failure(c, &f);
}

static void tell_paced(struct http_call *c, int64_t wait_ms)
{
	const struct provider_callbacks *cb = c->cb;
	void *arg = c->arg;
	int64_t until = loop_now_ms(c->p->loop) + wait_ms;

	end(c);
	cb->paced(arg, until);
}

/*
 * The answer.
 */
static void on_event(void *arg, const struct model_event *e)
{
	struct http_call *c = arg;
	struct error err = ERROR_INIT;

	if (c->state != CALL_STREAM || c->has_fault)
		return;
	if (e->kind != MODEL_EV_KEEPALIVE)
		c->word_ms = clock_mono_ms(clock_system());
	if (gather_take(&c->gather, e, &err) < 0) {
		c->has_fault = true;
		http_read_stream(&err, &c->fault);
		return;
	}
	switch (e->kind) {
	case MODEL_EV_DELTA:
		if (e->sort == MODEL_TEXT || e->sort == MODEL_REFUSAL)
			c->cb->text(c->arg, e->text); /* may cancel */
		else if (e->sort == MODEL_THINKING)
			c->cb->thinking(c->arg, e->text);
		break;
	case MODEL_EV_FAULT:
		c->has_fault = true;
		http_read_fault(e, &c->fault);
		break;
	case MODEL_EV_START:
		if (c->socket && c->response_id.len == 0)
			(void)buf_put_str(&c->response_id, e->text); /* one too long is none */
		break;
	case MODEL_EV_END:
		c->ended = true;
		break;
	default:
		break;
	}
}

/* The reply is whole and told; what is left of the answer is read so that the connection is good
 * for another. */
static void tell_reply(struct http_call *c)
{
	struct provider_reply reply;
	struct error err = ERROR_INIT;

	if (gather_finish(&c->gather, &reply, &err) < 0) {
		fail(c, &err, PROVIDER_RETRY_NEVER);
		return;
	}
	reply.sent_ms = c->sent_ms;
	pace_used(&c->ticket, c->gather.usage.input);
	if (c->ticket.pool) {
		struct pace_pool *pool = c->ticket.pool;

		pace_well(pool);
		pace_leave(&c->ticket);
		pump_line(c->p, pool);
	}
	c->state = CALL_TOLD;
	if (c->fetch)
		loop_timer_set(c->timer, REST_MAX_MS);
	if (c->socket)
		ws_turn_whole(mem_take(&c->socket), buf_str(&c->response_id), reply.items,
			reply.item_count);
	c->cb->done(c->arg, &reply);
	if (!c->fetch)
		end(c);
}

/* After bytes were decoded, or the stream's end: rc and err of the decoder. */
static void look(struct http_call *c, int rc, const struct error *err)
{
	struct provider_failure f;

	if (c->state != CALL_STREAM)
		return;
	if (c->has_fault) {
		f = c->fault;
		tell_failure(c, &f);
	} else if (c->ended) {
		tell_reply(c);
	} else if (rc < 0) {
		http_read_stream(err, &f);
		tell_failure(c, &f);
	}
}

/* What proved who asks was not taken, and there may be something better by now. */
static bool may_prove_again(const struct http_call *c)
{
	return c->granted != 0 && c->refused == 0 &&
	       c->p->auth->again(c->p->net, c->refusal.status, c->granted);
}

static void finish_refusal(struct http_call *c)
{
	struct provider_failure f;
	ptrdiff_t item;

	c->refusal.body = buf_str(&c->refusal_body);
	if (may_prove_again(c)) {
		drop_connection(c);
		c->refused = c->granted;
		begin(c);
		return;
	}
	if (!c->dropped_thinking && http_blames_thinking(c->p->family->model, &c->refusal)) {
		drop_connection(c);
		c->dropped_thinking = true;
		begin(c);
		return;
	}
	http_read_refusal(c->p->family->model, &c->refusal, &f);
	item = body_blamed(&c->body, c->refusal.body);
	if (c->refusal.status == 400 && item >= 0)
		(void)error_prefix(&f.err, "item %td of %zu", item, c->r->item_count);
	tell_failure(c, &f);
}

/* The items may go once all is sent and no refusal can have it sent again: a reply may well begin
 * before its request ends. */
static void look_taken(struct http_call *c)
{
	if (c->state == CALL_STREAM && c->body_sent && c->cb->taken)
		c->cb->taken(c->arg);
}

static void body_done(struct http_call *c)
{
	body_sent(&c->body);
	c->body_sent = true;
}

static void on_sent(void *arg)
{
	struct http_call *c = arg;

	c->sent_ms = clock_real_ms(clock_system());
	body_done(c);
	look_taken(c);
}

static void expected_sse(struct http_call *c, struct str type)
{
	struct error err = ERROR_INIT;

	(void)error_set(&err, &PROVIDER_EXPECTED_SSE,
		"the answer is '" STR_FMT "', not an event stream", STR_ARG(str_cut(type, 100)));
	fail(c, &err, PROVIDER_RETRY_NEVER);
}

static void begin_stream(struct http_call *c)
{
	c->state = CALL_STREAM;
	c->word_ms = clock_mono_ms(clock_system());
	if (c->has_gather)
		gather_release(&c->gather);
	gather_init(&c->gather, c->p->family->model);
	c->has_gather = true;
	model_decoder_free(c->decoder);
	c->decoder = model_decoder_new(c->p->family->model);
	look_taken(c);
}

/* Nothing was said, nor was it to be: what it cost is the answer. */
static void finish_warm(struct http_call *c)
{
	const struct provider_callbacks *cb = c->cb;
	struct provider_reply reply = {.sent_ms = c->sent_ms};
	struct provider_failure f;
	void *arg = c->arg;

	if (http_read_warm(c->p->family->model, buf_str(&c->refusal_body), &reply.usage, &f) < 0) {
		tell_failure(c, &f);
		return;
	}
	pace_used(&c->ticket, reply.usage.input_tokens);
	end(c);
	cb->done(arg, &reply);
}

static void begin_warm(struct http_call *c)
{
	c->state = CALL_WARM;
	c->word_ms = clock_mono_ms(clock_system());
	buf_release(&c->refusal_body);
	c->refusal_body = (struct buf)BUF_INIT(WARM_MAX_BYTES);
}

static void learn(struct http_call *c, const struct http_head *h)
{
	const struct pace_now now = {loop_now_ms(c->p->loop), clock_real_ms(clock_system())};

	pace_learn(&c->ticket, h, &now);
}

static void on_head(void *arg, const struct http_head *h)
{
	struct http_call *c = arg;
	struct pace_now now = {loop_now_ms(c->p->loop), clock_real_ms(clock_system())};
	struct str type = http_header_get(h, "content-type");
	struct error err = ERROR_INIT;
	char media[64];

	leave_admission(c);
	learn(c, h);
	if (c->socket && h->status < 300) {
		(void)error_set(&err, &PROVIDER_CONNECTION,
			"the server answers %d instead of opening a WebSocket", h->status);
		fail(c, &err, PROVIDER_RETRY_NEVER);
		return;
	}
	if (h->status < 200 || h->status > 299) {
		c->state = CALL_REFUSED;
		c->refusal = (struct http_refusal){.status = h->status, .retry_ms = -1};
		(void)http_retry_after(http_header_get(h, "retry-after"), now.real_ms,
			RETRY_AFTER_MAX_MS, &c->refusal.retry_ms); /* else it stays unsaid */
		buf_release(&c->refusal_body);                     /* of a try before this one */
		c->refusal_body = (struct buf)BUF_INIT(HTTP_ERROR_BODY_BYTES);
		loop_timer_set(c->timer, REFUSAL_MAX_MS);
		return;
	}
	if (c->r->warm && str_is(http_media_type(type, media), "application/json")) {
		begin_warm(c);
		return;
	}
	if (!str_is(http_media_type(type, media), "text/event-stream")) {
		expected_sse(c, type.p ? type : STR("of no type"));
		return;
	}
	turn_state_learn(c->p->turn_states, c->r, h);
	begin_stream(c);
}

static void on_body(void *arg, struct str bytes)
{
	struct http_call *c = arg;
	struct error err = ERROR_INIT;
	size_t room;

	if (c->state == CALL_STREAM) {
		look(c, model_decode(c->decoder, bytes, on_event, c, &err), &err);
		return;
	}
	if (c->state == CALL_WARM)
		(void)buf_put_str(&c->refusal_body, bytes); /* one too long is no JSON at its end */
	if (c->state != CALL_REFUSED)
		return;
	room = HTTP_ERROR_BODY_BYTES - c->refusal_body.len;
	(void)buf_put(&c->refusal_body, bytes.p, bytes.len < room ? bytes.len : room);
	if (bytes.len >= room)
		finish_refusal(c);
}

static void on_done(void *arg, const struct error *failed)
{
	struct http_call *c = arg;
	struct error err = ERROR_INIT;
	struct provider_failure f;

	c->fetch = NULL;
	if (c->state == CALL_TOLD) {
		end(c);
	} else if (c->state == CALL_REFUSED) {
		finish_refusal(c);
	} else if (!failed && c->state == CALL_WARM) {
		finish_warm(c);
	} else if (failed) {
		http_read_broken(failed, c->state == CALL_STREAM, &f);
		tell_failure(c, &f);
	} else {
		look(c, model_decode_end(c->decoder, on_event, c, &err), &err);
	}
}

/*
 * The answer over WebSocket.
 */
static void on_opened(void *arg, const struct http_head *h)
{
	struct http_call *c = arg;

	learn(c, h);
	turn_state_learn(c->p->turn_states, c->r, h);
}

static void refused_in_message(struct http_call *c, int64_t status, struct str json)
{
	c->state = CALL_REFUSED;
	c->refusal = (struct http_refusal){.status = (int)status, .retry_ms = -1};
	buf_release(&c->refusal_body); /* of a try before this one */
	c->refusal_body = (struct buf)BUF_INIT(HTTP_ERROR_BODY_BYTES);
	(void)buf_put_str(&c->refusal_body, str_cut(json, HTTP_ERROR_BODY_BYTES)); /* fits */
	finish_refusal(c);
}

/* Whether a response's first message is an error, which was then dealt with: as the answer of that
 * status that a POST would have had. */
static bool is_refusal(struct http_call *c, struct str json)
{
	_cleanup_(arena) struct arena scratch = {.blocks = NULL};
	struct http_message_error said;
	struct error err = ERROR_INIT;

	if (!http_read_message_error(&scratch, json, &said))
		return false;
	if (str_is(said.code, "previous_response_not_found") && ws_turn_is_partial(c->socket)) {
		ws_turn_again(c->socket); /* the server has forgotten: the same call, whole */
		return true;
	}
	if (str_is(said.code, "websocket_connection_limit_reached")) {
		(void)error_set(
			&err, &PROVIDER_CONNECTION, "the connection is too old for its server");
		fail(c, &err, PROVIDER_RETRY_BACKOFF);
		return true;
	}
	if (said.status < STATUS_ERRORS_FIRST || said.status > STATUS_ERRORS_LAST)
		return false;
	refused_in_message(c, said.status, json);
	return true;
}

static void on_message(void *arg, struct str json)
{
	struct http_call *c = arg;
	struct error err = ERROR_INIT;

	leave_admission(c);
	if (c->state == CALL_SENT) {
		if (is_refusal(c, json))
			return;
		ws_turn_taken(c->socket);
		body_done(c);
		begin_stream(c);
	}
	look(c, model_decode_message(c->decoder, json, on_event, c, &err), &err);
}

static void on_socket_over(void *arg, const struct error *failed)
{
	struct http_call *c = arg;
	struct provider_failure f;

	c->socket = NULL;
	if (c->state == CALL_REFUSED) {
		finish_refusal(c);
	} else {
		http_read_broken(failed, c->state == CALL_STREAM, &f);
		tell_failure(c, &f);
	}
}

static const struct ws_turn_callbacks socket_callbacks = {
	on_opened, on_head, on_body, on_message, on_socket_over};

/*
 * The request.
 */
static const struct fetch_callbacks fetch_callbacks = {on_sent, on_head, on_body, on_done};

static int64_t stall_ms(const struct http_call *c)
{
	return c->p->net->stall_ms > 0 ? c->p->net->stall_ms : STALL_DEFAULT_MS;
}

static int start_turn(struct http_call *c, const struct fetch_request *q, struct error *err)
{
	const struct ws_turn_request r = {.bot = c->r->bot,
		.url = q->url,
		.headers = q->headers,
		.header_count = q->header_count,
		.body = &c->body};

	buf_clear(&c->response_id);
	return ws_turn_start(c->p->lines, &r, &socket_callbacks, c, &c->socket, err);
}

static int send_request(struct http_call *c, const struct auth_grant *g, struct error *err)
{
	_cleanup_(buf) struct buf text = BUF_INIT(URL_MAX_BYTES);
	struct auth_request what;
	struct fetch_request q = {
		.method = "POST", .body = c->body.pieces, .body_count = c->body.piece_count};
	struct http_headers headers;
	struct url url;
	int rc;

	if (http_url(c->p, c->p->family->path, &text, &url, err) < 0)
		return -1;
	if (c->p->lines)
		what = http_auth_request("GET", &url, NULL, 0); /* the handshake */
	else
		what = http_auth_request("POST", &url, c->body.pieces, c->body.piece_count);
	if (http_headers_make(c->p, g, &what, c->r, &headers, err) < 0)
		return -1;
	q.url = &url;
	q.headers = headers.items;
	q.header_count = headers.count;
	c->sent_ms = clock_real_ms(clock_system());
	if (c->p->lines)
		rc = start_turn(c, &q, err);
	else
		rc = fetch_start(c->p->net->fetch, &q, &fetch_callbacks, c, &c->fetch, err);
	auth_headers_release(&headers.auth);
	return rc;
}

static void send_now(struct http_call *c, const struct auth_grant *g)
{
	struct error err = ERROR_INIT;

	c->state = CALL_SENT;
	c->word_ms = clock_mono_ms(clock_system());
	loop_timer_set(c->timer, stall_ms(c));
	if (send_request(c, g, &err) < 0)
		fail(c, &err, PROVIDER_RETRY_NEVER);
}

static void on_grant(void *arg, const struct auth_grant *g, const struct error *err)
{
	struct http_call *c = arg;
	const struct error_kind *later = c->p->auth->later;

	c->ask = NULL;
	if (err) {
		fail(c, err,
			later && error_is(err, later) ? PROVIDER_RETRY_BACKOFF
						      : PROVIDER_RETRY_NEVER);
		return;
	}
	c->granted = g->number;
	send_now(c, g);
}

static void go(struct http_call *c)
{
	c->connecting = true;
	c->p->net->connecting++;
	if (!c->p->auth->ask) {
		send_now(c, NULL);
		return;
	}
	c->state = CALL_GRANT;
	loop_timer_stop(c->timer); /* an ask has a limit of its own */
	c->ask = c->p->auth->ask(c->p->net, c->refused, on_grant, c);
}

/*
 * The two lines.
 */
static bool may_connect(const struct provider_net *net)
{
	return net->connecting_max <= 0 || net->connecting < net->connecting_max;
}

static void admit_next(struct provider_net *net)
{
	while (may_connect(net) && !list_empty(&net->in_line)) {
		struct http_call *c = list_first(&net->in_line, struct http_call, in_admission);

		list_remove(&c->in_admission);
		loop_timer_set(
			c->timer, 0); /* from the loop: nothing is told inside another's step */
		c->state = CALL_SENT;
		c->connecting = true;
		net->connecting++;
	}
}

static void admit(struct http_call *c)
{
	if (may_connect(c->p->net)) {
		go(c);
		return;
	}
	c->state = CALL_ADMISSION;
	list_add_tail(&c->p->net->in_line, &c->in_admission);
	loop_timer_set(c->timer, ADMISSION_MAX_MS);
}

/* The first of the pool's line is looked at on the loop. */
static void pump_line(struct http_provider *p, struct pace_pool *pool)
{
	struct pace_ticket *first = pace_first(pool);

	(void)p;
	if (first)
		loop_timer_set(container_of(first, struct http_call, ticket)->timer, 0);
}

/* In line: it goes, waits a little, or is told to come back. */
static void step_line(struct http_call *c)
{
	struct pace_pool *pool = c->ticket.pool;
	int64_t wait = pace_ask(&c->ticket, loop_now_ms(c->p->loop));

	if (wait >= PACE_PARK_MS) {
		tell_paced(c, wait);
	} else if (wait > 0) {
		loop_timer_set(c->timer, wait);
	} else {
		admit(c);
		pump_line(c->p, pool);
	}
}

static void on_repaired(void *arg, const char *what)
{
	struct http_call *c = arg;

	if (c->state == CALL_NEW)
		c->cb->repaired(c->arg, what);
}

static void begin(struct http_call *c)
{
	const struct body_options how = {.drop_thinking = c->dropped_thinking,
		.socket = c->p->lines != NULL,
		.full_openai = strcmp(c->p->url.at.host, "api.openai.com") == 0,
		.repaired = on_repaired,
		.arg = c};
	struct pace_cost cost;
	struct error err = ERROR_INIT;

	c->state = CALL_NEW;
	c->body_sent = false;
	if (c->has_body)
		body_release(&c->body);
	body_init(&c->body, c->p->family->items, c->r, &how);
	c->has_body = true;
	if (c->state != CALL_NEW)
		return; /* cancelled while it was told of repairs */
	cost = (struct pace_cost){(int64_t)c->body.text_bytes, c->body.output_cap};
	pace_leave(&c->ticket);
	if (pace_enter(pace_pool(c->p->pace, c->r->model), &c->ticket, &cost, &err) < 0) {
		fail(c, &err, PROVIDER_RETRY_NEVER);
		return;
	}
	c->state = CALL_LINE;
	step_line(c);
}

static void stalled(struct http_call *c)
{
	struct error err = ERROR_INIT;

	(void)error_set(&err, &PROVIDER_STALLED, "nothing of a reply came for %lld s",
		(long long)(stall_ms(c) / 1000));
	fail(c, &err, PROVIDER_RETRY_BACKOFF);
}

static void not_admitted(struct http_call *c)
{
	struct error err = ERROR_INIT;

	(void)error_set(&err, &PROVIDER_CONNECTION,
		"%lld requests wait for their reply's head, and none got it within %d s",
		(long long)c->p->net->connecting, ADMISSION_MAX_MS / 1000);
	fail(c, &err, PROVIDER_RETRY_BACKOFF);
}

static void on_timer(void *arg)
{
	struct http_call *c = arg;
	/* not the loop's time, which stands still while a round is long */
	int64_t quiet = clock_mono_ms(clock_system()) - c->word_ms;

	switch (c->state) {
	case CALL_NEW:
		begin(c);
		break;
	case CALL_LINE:
		step_line(c);
		break;
	case CALL_ADMISSION:
		not_admitted(c);
		break;
	case CALL_SENT:
	case CALL_STREAM:
	case CALL_WARM:
		if (!c->fetch && !c->socket) { /* admitted */
			c->connecting = false;
			c->p->net->connecting--;
			go(c);
		} else if (quiet < stall_ms(c)) {
			loop_timer_set(c->timer, stall_ms(c) - quiet);
		} else {
			stalled(c);
		}
		break;
	case CALL_REFUSED:
		finish_refusal(c);
		break;
	case CALL_TOLD:
		end(c);
		break;
	case CALL_GRANT:
	case CALL_OVER:
		break;
	}
}

int http_start(void *state, const struct provider_request *r, const struct provider_callbacks *cb,
	void *arg, void **ret_call, struct error *err)
{
	struct http_provider *p = state;
	struct http_call *c = xcalloc(1, sizeof(*c));

	(void)err;
	c->p = p;
	c->r = r;
	c->cb = cb;
	c->arg = arg;
	list_init(&c->in_admission);
	list_add_tail(&p->calls, &c->in_provider);
	c->response_id = (struct buf)BUF_INIT(RESPONSE_ID_MAX_BYTES);
	c->timer = loop_timer_new(p->loop, on_timer, c);
	loop_timer_set(c->timer, 0);
	*ret_call = c;
	return 0;
}

void http_cancel(void *call)
{
	end(call);
}

void http_calls_end(struct http_provider *p)
{
	list_for_each_safe (c, &p->calls, struct http_call, in_provider)
		end(c);
}
