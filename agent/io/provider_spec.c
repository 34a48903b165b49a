/* Reading provider specs. */
#include "agent/io/provider_spec.h"

#include "agent/core/limits.h"
#include "agent/io/provider.h"
#include "mem/mem.h"
#include "url/url.h"

enum {
	SPEC_MAX_BYTES = 8192,   /* ours: a name, a family, a path or URL of 4,096, a variable */
	KEY_ENV_MAX_BYTES = 256, /* ours */
};

#define SOCKET_FAMILY "responses-ws"
/* Names AWS credentials where a spec names a key: they sign then. */
#define AWS_KEY_ENV   "AWS_SECRET_ACCESS_KEY"
#define MANTLE        "https://bedrock-mantle." PROVIDER_REGION ".api.aws"

static const struct preset {
	const char *name, *family, *url, *key_env, *auth;
} presets[] = {
	{"openai",         "responses", "https://api.openai.com/v1",             "OPENAI_API_KEY",     "bearer" },
	{"openrouter",     "responses", "https://openrouter.ai/api/v1",          "OPENROUTER_API_KEY", "bearer" },
	{"anthropic",      "anthropic", "https://api.anthropic.com/v1",          "ANTHROPIC_API_KEY",
         "x-api-key"											    },
	{"chatgpt",        "responses", "https://chatgpt.com/backend-api/codex", NULL,                 "chatgpt"},
	{"bedrock",        "anthropic", MANTLE "/anthropic/v1",                  NULL,                 "sigv4"  },
	{"bedrock-openai", "responses", MANTLE "/openai/v1",                     NULL,                 "sigv4"  },
};

const char *const provider_key_names[] = {
	"ANTHROPIC_API_KEY",
	"OPENAI_API_KEY",
	"OPENROUTER_API_KEY",
	"AWS_ACCESS_KEY_ID",
	"AWS_SECRET_ACCESS_KEY",
	"AWS_SESSION_TOKEN",
	NULL,
};

bool provider_well_known(size_t i, struct str *ret_name, const char **ret_key_env)
{
	size_t seen = 0;

	for (size_t k = 0; k < ARRAY_LEN(presets); k++) {
		if (!presets[k].key_env || seen++ != i)
			continue;
		*ret_name = str_from(presets[k].name);
		*ret_key_env = presets[k].key_env;
		return true;
	}
	return false;
}

static bool is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool is_name(struct str s)
{
	if (s.len == 0 || s.len > PROVIDER_NAME_MAX_BYTES)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (!is_word_char(s.p[i]) && s.p[i] != '-')
			return false;
	}
	return true;
}

static bool is_variable(struct str s)
{
	if (s.len == 0 || s.len > KEY_ENV_MAX_BYTES || (s.p[0] >= '0' && s.p[0] <= '9'))
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (!is_word_char(s.p[i]))
			return false;
	}
	return true;
}

static const struct preset *preset_named(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(presets); i++) {
		if (str_is(name, presets[i].name))
			return &presets[i];
	}
	return NULL;
}

/* What stands where the pattern has its region: a label of a host. */
static bool in_pattern(struct str text, const char *pattern, struct str *ret_region)
{
	struct str p = str_from(pattern);
	ptrdiff_t at = str_find(p, STR(PROVIDER_REGION), 0);
	struct str after, region;

	if (at < 0)
		return false;
	after = (struct str){
		p.p + at + strlen(PROVIDER_REGION), p.len - (size_t)at - strlen(PROVIDER_REGION)};
	if (text.len <= (size_t)at + after.len ||
		!str_starts(text, (struct str){p.p, (size_t)at}) || !str_ends(text, after))
		return false;
	region = (struct str){text.p + at, text.len - (size_t)at - after.len};
	for (size_t i = 0; i < region.len; i++) {
		if (!(region.p[i] >= 'a' && region.p[i] <= 'z') &&
			!(region.p[i] >= '0' && region.p[i] <= '9') && region.p[i] != '-')
			return false;
	}
	*ret_region = region;
	return true;
}

bool provider_spec_region(struct str host, struct str *ret_region)
{
	return in_pattern(host, "bedrock-mantle." PROVIDER_REGION ".api.aws", ret_region) ||
	       in_pattern(host, "bedrock-runtime." PROVIDER_REGION ".amazonaws.com", ret_region);
}

/* The one whose URL this is; NULL: it is the person's own. */
static const struct preset *preset_at(struct str url)
{
	struct str region;

	for (size_t i = 0; i < ARRAY_LEN(presets); i++) {
		if (str_is(url, presets[i].url) || in_pattern(url, presets[i].url, &region))
			return &presets[i];
	}
	return NULL;
}

/* Where a family's own API is, for a name of the person's: the first preset of the family. */
static const struct preset *preset_of_family(struct str family)
{
	for (size_t i = 0; i < ARRAY_LEN(presets); i++) {
		if (str_is(family, presets[i].family))
			return &presets[i];
	}
	return NULL;
}

static int split(struct str text, struct provider_spec *ret, struct error *err)
{
	struct provider_spec s = {
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
	if (rest.p)
		(void)str_next(&rest, ',', &s.family);
	if (rest.p)
		(void)str_next(&rest, ',', &s.url);
	s.key_env = rest;
	*ret = s;
	return 0;
}

/* Which preset says what the spec leaves out; NULL: none. */
static const struct preset *preset_for(const struct provider_spec *s)
{
	const struct preset *named = preset_named(s->name);
	/* the same API, asked in another way */
	struct str family = str_is(s->family, SOCKET_FAMILY) ? STR("responses") : s->family;

	if (s->url.p)
		return preset_at(s->url);
	if (named && (!family.p || str_is(family, named->family)))
		return named;
	return family.p ? preset_of_family(family) : NULL;
}

static int check_url(const struct provider_spec *s, struct error *err)
{
	const bool socket = str_is(s->family, SOCKET_FAMILY);
	struct url u;

	if (url_parse(s->url, &u, err) < 0) {
		if (err)
			err->kind = &PROVIDER_INVALID_SPEC;
		return error_prefix(err, "'" STR_FMT "': its URL", STR_ARG(s->name));
	}
	if (u.scheme != URL_HTTP && u.scheme != URL_HTTPS && !socket)
		return error_set(err, &PROVIDER_INVALID_SPEC,
			"'" STR_FMT "': its URL must be http:// or https://", STR_ARG(s->name));
	if (u.query.p)
		return error_set(err, &PROVIDER_INVALID_SPEC,
			"'" STR_FMT "': its URL must have no query", STR_ARG(s->name));
	return 0;
}

/* In place of a variable: the ChatGPT sign-in, for a URL of the person's own. */
static bool names_sign_in(struct str key)
{
	return str_is(key, "@chatgpt");
}

static int check_key(const struct provider_spec *s, struct error *err)
{
	if (!s->key_env.p || is_variable(s->key_env) || names_sign_in(s->key_env))
		return 0;
	return error_set(err, &PROVIDER_INVALID_SPEC,
		"'" STR_FMT
		"': its key must be named by a variable, A-Z a-z 0-9 _; never be the key",
		STR_ARG(s->name));
}

static int complete(struct provider_spec *s, const struct preset *p, struct error *err)
{
	bool custom = s->url.p != NULL, named = s->key_env.p != NULL;

	if (!p && !s->family.p)
		return error_set(err, &PROVIDER_INVALID_SPEC,
			"'" STR_FMT "' is no provider known here: write NAME=FAMILY,URL[,KEY_ENV]",
			STR_ARG(s->name));
	if (!p && !custom)
		return error_set(err, &PROVIDER_INVALID_SPEC,
			"'" STR_FMT "': family '" STR_FMT "' needs a URL", STR_ARG(s->name),
			STR_ARG(s->family));
	if (p && !s->family.p)
		s->family = str_from(p->family);
	if (p && !custom)
		s->url = str_from(p->url);
	if (p && !s->key_env.p)
		s->key_env = str_from(p->key_env);
	if (names_sign_in(s->key_env))
		s->auth = STR("chatgpt");
	else if (str_is(s->key_env, AWS_KEY_ENV))
		s->auth = STR("sigv4");
	else if (p && !named)
		s->auth = str_from(p->auth);
	else if (!s->key_env.p)
		s->auth = STR("none");
	else
		s->auth = str_is(s->family, "anthropic") ? STR("x-api-key") : STR("bearer");
	return 0;
}

/* Its tokens are a person's, not one program's: they go nowhere in the clear. */
static int check_sign_in(const struct provider_spec *s, struct error *err)
{
	struct url u;

	if (!str_is(s->family, "responses"))
		return error_set(err, &PROVIDER_INVALID_SPEC,
			"'" STR_FMT "': the ChatGPT sign-in is for the family responses",
			STR_ARG(s->name));
	if (url_parse(s->url, &u, err) < 0)
		return -1;
	if (u.scheme != URL_HTTPS && !url_is_loopback(&u.at))
		return error_set(err, &PROVIDER_INVALID_SPEC,
			"'" STR_FMT
			"': the ChatGPT sign-in needs https://, or a URL of this machine",
			STR_ARG(s->name));
	return 0;
}

int provider_spec_read(struct str text, struct provider_spec *ret, struct error *err)
{
	struct provider_spec s;

	if (split(text, &s, err) < 0)
		return -1;
	if (str_is(s.family, "rehearsal")) {
		s.auth = STR("none");
		*ret = s;
		return 0;
	}
	while (s.url.len > 0 && s.url.p[s.url.len - 1] == '/')
		s.url.len--;
	if (check_key(&s, err) < 0 || complete(&s, preset_for(&s), err) < 0)
		return -1;
	if (s.url.p && check_url(&s, err) < 0)
		return -1;
	if (str_is(s.auth, "chatgpt") && check_sign_in(&s, err) < 0)
		return -1;
	*ret = s;
	return 0;
}
