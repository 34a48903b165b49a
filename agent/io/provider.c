/*
 * The providers of a daemon: specs read, calls started and ended. What a family does is in its own
 * file.
 */
#include "agent/io/provider.h"

#include "agent/core/limits.h"

const struct error_kind PROVIDER_INVALID_SPEC = {"invalid_provider_spec", ERROR_CLASS_USAGE};
const struct error_kind PROVIDER_DUPLICATE = {"duplicate_provider", ERROR_CLASS_CONFLICT};
const struct error_kind PROVIDER_UNAVAILABLE = {"provider_unavailable", ERROR_CLASS_UNAVAILABLE};
const struct error_kind PROVIDER_STREAM_FAILED = {
	"provider_stream_failed", ERROR_CLASS_UNAVAILABLE};
const struct error_kind PROVIDER_REFUSED = {"provider_refusal", ERROR_CLASS_DENIED};

enum {
	PROVIDERS_MAX = 64,    /* ours: each is a line of the person's */
	SPEC_MAX_BYTES = 8192, /* ours: a name, a family, a path or URL of 4,096, a variable */
};

static const struct provider_family *const families[] = {
	&provider_rehearsal,
};

struct provider {
	char *name, *url;
	const struct provider_family *family;
	void *state;
};

struct providers {
	struct loop *loop;
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

static bool is_name(struct str s)
{
	if (s.len == 0 || s.len > PROVIDER_NAME_MAX_BYTES)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		char c = s.p[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
			c != '-' && c != '_')
			return false;
	}
	return true;
}

static const struct provider_family *find_family(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		if (str_is(name, families[i]->name))
			return families[i];
	}
	return NULL;
}

/* The parts of a spec; absent ones stay absent. */
struct spec {
	struct str name, family, url, key;
};

static int read_spec(struct str text, struct spec *ret, struct error *err)
{
	struct spec s = {
		.name = {NULL, 0}
        };
	struct str rest = text;

	if (text.len > SPEC_MAX_BYTES || (text.len > 0 && memchr(text.p, 0, text.len)))
		return error_set(err, &PROVIDER_INVALID_SPEC,
			"a provider must be at most %d bytes of text", SPEC_MAX_BYTES);
	(void)str_next(&rest, '=', &s.name); /* what is missing is seen below */
	if (!is_name(s.name))
		return error_set(err, &PROVIDER_INVALID_SPEC,
			"a provider's name must be 1 to %d of A-Z a-z 0-9 - _",
			PROVIDER_NAME_MAX_BYTES);
	if (!rest.p)
		return error_set(err, &PROVIDER_INVALID_SPEC,
			"'" STR_FMT "': must be NAME=FAMILY,URL; this version presets no provider",
			STR_ARG(s.name));
	(void)str_next(&rest, ',', &s.family);
	if (rest.p)
		(void)str_next(&rest, ',', &s.url);
	s.key = rest;
	*ret = s;
	return 0;
}

int providers_add(struct providers *p, struct str spec, struct error *err)
{
	const struct provider_family *family;
	struct provider *made;
	struct spec s;
	void *state;

	if (read_spec(spec, &s, err) < 0)
		return -1;
	family = find_family(s.family);
	if (!family)
		return error_set(err, &PROVIDER_INVALID_SPEC,
			"'" STR_FMT "': this version knows the family rehearsal alone",
			STR_ARG(s.name));
	if (s.key.p)
		return error_set(err, &PROVIDER_INVALID_SPEC,
			"'" STR_FMT "': a rehearsal takes no key, and its path no comma",
			STR_ARG(s.name));
	if (providers_find(p, s.name))
		return error_set(err, &PROVIDER_DUPLICATE, "'" STR_FMT "' is there already",
			STR_ARG(s.name));
	if (p->count == PROVIDERS_MAX)
		return error_set(
			err, &PROVIDER_INVALID_SPEC, "more than %d providers", PROVIDERS_MAX);
	if (family->open(p->loop, s.url, &state, err) < 0)
		return error_prefix(err, "provider '" STR_FMT "'", STR_ARG(s.name));
	made = xcalloc(1, sizeof(*made));
	made->name = xstrndup(s.name.p, s.name.len);
	made->url = s.url.p ? xstrndup(s.url.p, s.url.len) : NULL;
	made->family = family;
	made->state = state;
	p->list[p->count++] = made;
	return 0;
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

static const struct provider_callbacks family_callbacks = {
	.text = on_text,
	.thinking = on_thinking,
	.repaired = on_repaired,
	.done = on_done,
	.failed = on_failed,
	.paced = on_paced,
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
