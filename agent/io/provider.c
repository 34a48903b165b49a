/*
 * The providers of a daemon: specs read, calls started and ended. What a family does is in its own
 * file.
 */
#include "agent/io/provider.h"

#include "agent/io/aws_credentials.h"
#include "agent/io/provider_auth.h"
#include "agent/io/provider_spec.h"

const struct error_kind PROVIDER_INVALID_SPEC = {"invalid_provider_spec", ERROR_CLASS_USAGE};
const struct error_kind PROVIDER_DUPLICATE = {"duplicate_provider", ERROR_CLASS_CONFLICT};
const struct error_kind PROVIDER_UNAVAILABLE = {"provider_unavailable", ERROR_CLASS_UNAVAILABLE};
const struct error_kind PROVIDER_STREAM_FAILED = {
	"provider_stream_failed", ERROR_CLASS_UNAVAILABLE};
const struct error_kind PROVIDER_REFUSED = {"provider_refusal", ERROR_CLASS_DENIED};
const struct error_kind PROVIDER_KEY = {"provider_key_unavailable", ERROR_CLASS_UNAVAILABLE};
const struct error_kind PROVIDER_NONE = {"no_providers", ERROR_CLASS_USAGE};

enum {
	PROVIDERS_MAX = 64, /* ours: each is a line of the person's */
};

static const struct provider_family *const families[] = {
	&provider_rehearsal,
	&provider_responses,
	&provider_responses_ws,
	&provider_anthropic,
	&provider_chat,
};

struct provider {
	struct loop *loop;
	char *name, *url, *key_env, *region;
	const struct provider_family *family;
	const struct provider_auth *auth;
	const struct secret *key;
	void *state;
};

struct providers {
	struct loop *loop;
	struct provider_net *net;
	struct provider *list[PROVIDERS_MAX]; /* each by itself: pointers to them stay good */
	size_t count;
};

struct provider_call {
	const struct provider_family *family;
	void *call; /* the family's */
	const struct provider_callbacks *cb;
	void *arg;
	bool finished; /* done or failed is being told; it frees itself then */
};

struct providers *providers_new(struct loop *l)
{
	struct providers *p = xcalloc(1, sizeof(*p));

	p->loop = l;
	return p;
}

static void provider_free(struct provider *p)
{
	if (p->family && p->state)
		p->family->close(p->state);
	free(p->name);
	free(p->url);
	free(p->key_env);
	free(p->region);
	free(p);
}

void providers_free(struct providers *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++)
		provider_free(p->list[i]);
	free(p);
}

void providers_connect(struct providers *p, struct provider_net *net)
{
	p->net = net;
	list_init(&net->in_line);
}

static const struct provider_family *find_family(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		if (str_is(name, families[i]->name))
			return families[i];
	}
	return NULL;
}

static int check_spec(const struct providers *p, const struct provider_spec *s, struct error *err)
{
	if (!find_family(s->family))
		return error_set(err, &PROVIDER_INVALID_SPEC,
			"'" STR_FMT "': the families are responses, responses-ws, anthropic, chat "
			"and rehearsal",
			STR_ARG(s->name));
	if (str_is(s->family, "rehearsal") && s->key_env.p)
		return error_set(err, &PROVIDER_INVALID_SPEC,
			"'" STR_FMT "': a rehearsal takes no key, and its path no comma",
			STR_ARG(s->name));
	if (providers_find(p, s->name))
		return error_set(err, &PROVIDER_DUPLICATE, "'" STR_FMT "' is there already",
			STR_ARG(s->name));
	if (p->count == PROVIDERS_MAX)
		return error_set(
			err, &PROVIDER_INVALID_SPEC, "more than %d providers", PROVIDERS_MAX);
	return 0;
}

/* How it proves who it is, and the key for that. */
static int find_key(const struct providers *p, const struct provider_spec *s,
	struct provider_setup *to, struct error *err)
{
	_cleanup_(mem) char *name = NULL;

	to->auth = provider_auth_find(s->auth);
	if (!to->auth)
		return error_set(err, &PROVIDER_UNAVAILABLE,
			"'" STR_FMT "': this version cannot sign in by '" STR_FMT "' yet",
			STR_ARG(s->name), STR_ARG(s->auth));
	if (to->auth->check && to->auth->check(p->net, s, err) < 0)
		return error_prefix(err, "'" STR_FMT "'", STR_ARG(s->name));
	if (!to->auth->keyed)
		return 0;
	name = xstrndup(s->key_env.p, s->key_env.len);
	to->key = p->net && p->net->keys ? secret_store_get(p->net->keys, name) : NULL;
	if (!to->key)
		return error_set(err, &PROVIDER_KEY,
			"'" STR_FMT "': %s is neither in the environment nor in ~/.agent/env",
			STR_ARG(s->name), name);
	return 0;
}

/* The URL with the region in it, which *ret_text owns. */
static int fill_region(
	const struct providers *p, struct provider_spec *s, char **ret_text, struct error *err)
{
	ptrdiff_t at = s->url.p ? str_find(s->url, STR(PROVIDER_REGION), 0) : -1;
	size_t after = (size_t)at + strlen(PROVIDER_REGION);
	struct str region;

	if (at < 0 || !str_is(s->auth, auth_sigv4.name))
		return 0;
	if (!p->net || !p->net->aws)
		return error_set(err, &PROVIDER_UNAVAILABLE, "nothing is asked of AWS here");
	region = aws_region(p->net->aws, err);
	if (!region.p)
		return error_prefix(err, "'" STR_FMT "'", STR_ARG(s->name));
	*ret_text = xasprintf("%.*s" STR_FMT "%.*s", (int)at, s->url.p, STR_ARG(region),
		(int)(s->url.len - after), s->url.p + after);
	s->url = str_from(*ret_text);
	return 0;
}

/* What it signs for; NULL: nothing. The caller frees. */
static char *region_of(
	const struct providers *p, const struct provider_spec *s, const struct provider_auth *auth)
{
	struct str region;
	struct url u;

	if (!auth->region || url_parse(s->url, &u, NULL) < 0)
		return NULL;
	region = auth->region(p->net, &u);
	return region.p ? xstrndup(region.p, region.len) : NULL;
}

int providers_add(struct providers *p, struct str spec, struct error *err)
{
	_cleanup_(mem) char *url = NULL;
	struct provider_setup setup = {.loop = p->loop, .net = p->net};
	struct provider *made;
	struct provider_spec s;
	void *state;

	if (provider_spec_read(spec, &s, err) < 0 || check_spec(p, &s, err) < 0 ||
		fill_region(p, &s, &url, err) < 0 || find_key(p, &s, &setup, err) < 0)
		return -1;
	setup.url = s.url;
	if (find_family(s.family)->open(&setup, &state, err) < 0)
		return error_prefix(err, "provider '" STR_FMT "'", STR_ARG(s.name));
	made = xcalloc(1, sizeof(*made));
	made->loop = p->loop;
	made->name = xstrndup(s.name.p, s.name.len);
	made->url = s.url.p ? xstrndup(s.url.p, s.url.len) : NULL;
	made->key_env = setup.key ? xstrndup(s.key_env.p, s.key_env.len) : NULL;
	made->region = region_of(p, &s, setup.auth);
	made->family = find_family(s.family);
	made->auth = setup.auth;
	made->key = setup.key;
	made->state = state;
	p->list[p->count++] = made;
	return 0;
}

int providers_add_known(struct providers *p, struct error *err)
{
	struct str name;
	const char *key_env;

	for (size_t i = 0; provider_well_known(i, &name, &key_env); i++) {
		if (p->net && secret_store_get(p->net->keys, key_env) &&
			providers_add(p, name, err) < 0)
			return -1;
	}
	if (p->count > 0)
		return 0;
	return error_set(err, &PROVIDER_NONE,
		"give a --provider, or set ANTHROPIC_API_KEY, OPENAI_API_KEY or "
		"OPENROUTER_API_KEY");
}

size_t providers_count(const struct providers *p)
{
	return p->count;
}

struct provider *providers_at(const struct providers *p, size_t i)
{
	must(i < p->count);
	return p->list[i];
}

struct provider *providers_find(const struct providers *p, struct str name)
{
	for (size_t i = 0; i < p->count; i++) {
		if (str_is(name, p->list[i]->name))
			return p->list[i];
	}
	return NULL;
}

struct str provider_name(const struct provider *p)
{
	return str_from(p->name);
}

struct str provider_url(const struct provider *p)
{
	return str_from(p->url);
}

const struct provider_family *provider_family(const struct provider *p)
{
	return p->family;
}

const char *provider_auth_name(const struct provider *p)
{
	return p->auth->name;
}

struct str provider_region(const struct provider *p)
{
	return str_from(p->region);
}

struct str provider_key_env(const struct provider *p)
{
	return str_from(p->key_env);
}

const struct secret *provider_key(const struct provider *p)
{
	return p->key;
}

void provider_stats(const struct provider *p, struct json_out *j)
{
	if (p->family->stats)
		p->family->stats(p->state, j);
}

/*
 * Calls. The caller may cancel from inside any callback, so nothing is touched after one of them
 * but what `finished` protects.
 */

static void on_text(void *arg, struct str delta)
{
	struct provider_call *c = arg;

	c->cb->text(c->arg, delta);
}

static void on_done(void *arg, const struct provider_reply *r)
{
	struct provider_call *c = arg;

	c->finished = true;
	c->cb->done(c->arg, r);
	free(c);
}

static void on_thinking(void *arg, struct str delta)
{
	struct provider_call *c = arg;

	c->cb->thinking(c->arg, delta);
}

static void on_repaired(void *arg, const char *what)
{
	struct provider_call *c = arg;

	c->cb->repaired(c->arg, what);
}

static void on_failed(void *arg, const struct provider_failure *f)
{
	struct provider_call *c = arg;

	c->finished = true;
	c->cb->failed(c->arg, f);
	free(c);
}

static void on_paced(void *arg, int64_t until_mono_ms)
{
	struct provider_call *c = arg;

	c->finished = true;
	c->cb->paced(c->arg, until_mono_ms);
	free(c);
}

static void on_taken(void *arg)
{
	struct provider_call *c = arg;

	if (c->cb->taken)
		c->cb->taken(c->arg);
}

static const struct provider_callbacks family_callbacks = {
	.text = on_text,
	.thinking = on_thinking,
	.repaired = on_repaired,
	.done = on_done,
	.failed = on_failed,
	.paced = on_paced,
	.taken = on_taken,
};

int provider_call_start(struct provider *p, const struct provider_request *r,
	const struct provider_callbacks *cb, void *arg, struct provider_call **ret,
	struct error *err)
{
	struct provider_call *c = xcalloc(1, sizeof(*c));

	c->family = p->family;
	c->cb = cb;
	c->arg = arg;
	if (p->family->start(p->state, r, &family_callbacks, c, &c->call, err) < 0) {
		free(c);
		return -1;
	}
	*ret = c;
	return 0;
}

void provider_call_cancel(struct provider_call *c)
{
	if (!c || c->finished)
		return;
	c->family->cancel(c->call);
	free(c);
}

/*
 * Listings.
 */
struct provider_list_call {
	const struct provider *provider;
	void *call;               /* the family's */
	struct loop_timer *timer; /* of a family that has no listing */
	provider_on_listing done;
	void *arg;
	bool finished;
};

static void listed(void *arg, const struct provider_listing *l, const struct error *err)
{
	struct provider_list_call *c = arg;

	c->finished = true;
	c->done(c->arg, l, err);
	loop_timer_free(c->timer);
	free(c);
}

static void list_nothing(void *arg)
{
	static const struct provider_listing none;

	listed(arg, &none, NULL);
}

int provider_list(struct provider *p, provider_on_listing done, void *arg,
	struct provider_list_call **ret, struct error *err)
{
	struct provider_list_call *c = xcalloc(1, sizeof(*c));

	c->provider = p;
	c->done = done;
	c->arg = arg;
	if (!p->family->list) {
		c->timer = loop_timer_new(p->loop, list_nothing, c);
		loop_timer_set(c->timer, 0);
	} else if (p->family->list(p->state, listed, c, &c->call, err) < 0) {
		free(c);
		return -1;
	}
	*ret = c;
	return 0;
}

void provider_list_cancel(struct provider_list_call *c)
{
	if (!c || c->finished)
		return;
	if (c->call)
		c->provider->family->list_cancel(c->call);
	loop_timer_free(c->timer);
	free(c);
}
