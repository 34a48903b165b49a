/* Bedrock's requests: signed with AWS credentials. */
#include <stdlib.h>

#include "agent/io/aws_credentials.h"
#include "agent/io/provider.h"
#include "agent/io/provider_auth.h"
#include "agent/io/provider_spec.h"

enum {
	STATUS_UNAUTHORIZED = 401,
	STATUS_FORBIDDEN = 403,
	TEXT_MAX_BYTES = 32 * 1024, /* ours: a session token and what stands beside it */
};

/* The runtime takes the body's sum, Mantle none; each has a name of its own in the signature (agent
 * spec 8.6). */
static bool is_runtime(const struct url *u)
{
	return str_find(str_from(u->at.host), STR("bedrock-runtime"), 0) >= 0;
}

/* Of a host of AWS's own, which names it; else of the environment. */
static struct str region_of(struct provider_net *net, const struct url *u)
{
	struct str host = str_from(u->at.host), region;

	if (provider_spec_region(host, &region))
		return region;
	return aws_region(net->aws, NULL);
}

/* What signing needs. */
struct sigv4_more {
	struct provider_net *net;
	const struct aws_grant *grant;
};

static int sign(const struct auth_grant *g, const struct auth_request *r, struct auth_headers *to,
	struct error *err)
{
	const struct sigv4_more *more = g->more;
	const struct http_header type = {STR("content-type"), r->content_type};
	const bool runtime = is_runtime(r->url);
	const struct sigv4_scope scope = {region_of(more->net, r->url),
		runtime ? STR("bedrock") : STR("bedrock-mantle"),
		clock_real_ms(clock_system()) / 1000};
	const struct sigv4_call call = {.method = r->method,
		.url = r->url,
		.headers = &type,
		.header_count = r->content_type.p ? 1 : 0,
		.body = r->body,
		.body_count = r->body_count,
		.unsigned_payload = !runtime};
	int count;

	must(to->count == 0 && to->text.len == 0);
	to->text = (struct buf)BUF_INIT(TEXT_MAX_BYTES);
	count = sigv4_sign(&call, &scope, &more->grant->keys, &to->text, to->items, err);
	if (count < 0)
		return -1;
	to->count = (size_t)count;
	return 0;
}

static int check(struct provider_net *net, const struct provider_spec *s, struct error *err)
{
	struct url u;

	if (!net || !net->aws)
		return error_set(err, &PROVIDER_UNAVAILABLE, "nothing is asked of AWS here");
	if (url_parse(s->url, &u, err) < 0)
		return -1;
	if (u.scheme != URL_HTTPS)
		return error_set(err, &PROVIDER_INVALID_SPEC, "its URL must be https://");
	if (str_is(s->family, "responses-ws"))
		return error_set(err, &PROVIDER_INVALID_SPEC, "it is never asked over WebSocket");
	if (!region_of(net, &u).p && !aws_region(net->aws, err).p)
		return -1;
	return aws_check(net->aws, err);
}

/*
 * An ask.
 */
struct sigv4_ask {
	struct provider_net *net;
	struct aws_ask *ask;
	auth_on_grant told;
	void *arg;
};

static void on_ready(void *arg, const struct aws_grant *g, const struct error *err)
{
	struct sigv4_ask *k = arg;
	const struct sigv4_more more = {k->net, g};
	const struct auth_grant grant = {.more = &more, .number = g ? g->number : 0};
	auth_on_grant told = k->told;
	void *told_arg = k->arg;

	free(k);
	told(told_arg, err ? NULL : &grant, err);
}

static void *ask(struct provider_net *net, uint64_t refused, auth_on_grant told, void *arg)
{
	struct sigv4_ask *k = xcalloc(1, sizeof(*k));

	k->net = net;
	k->told = told;
	k->arg = arg;
	k->ask = aws_ask(net->aws, refused, on_ready, k);
	return k;
}

static void cancel(void *arg)
{
	struct sigv4_ask *k = arg;

	aws_cancel(k->ask);
	free(k);
}

static bool again(struct provider_net *net, int status, uint64_t number)
{
	return (status == STATUS_UNAUTHORIZED || status == STATUS_FORBIDDEN) &&
	       aws_may_renew(net->aws, number);
}

const struct provider_auth auth_sigv4 = {
	.name = "sigv4",
	.sign = sign,
	.check = check,
	.region = region_of,
	.ask = ask,
	.cancel = cancel,
	.again = again,
};
