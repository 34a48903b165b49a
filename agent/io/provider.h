#ifndef AGENT_IO_PROVIDER_H
#define AGENT_IO_PROVIDER_H
/*
 * Model providers: one call streams a conversation to a model and its reply back (spec 8).
 *
 * A provider is NAME[=FAMILY[,BASE_URL[,KEY_ENV]]] (io/provider_spec.h). A family is one file that
 * exports one const entry; to add one is to add a file and a line. `rehearsal` is a model that is a
 * script (rehearsal(5)); its BASE_URL is the script's path. `responses`, `anthropic` and `chat` ask
 * over HTTP (io/provider_http.c).
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/item.h"
#include "error/error.h"
#include "loop/loop.h"
#include "mem/mem.h"
#include "text/text.h"

extern const struct error_kind PROVIDER_INVALID_SPEC;  /* invalid_provider_spec */
extern const struct error_kind PROVIDER_DUPLICATE;     /* duplicate_provider */
extern const struct error_kind PROVIDER_UNAVAILABLE;   /* provider_unavailable */
extern const struct error_kind PROVIDER_STREAM_FAILED; /* provider_stream_failed */
extern const struct error_kind PROVIDER_REFUSED;       /* provider_refusal */
extern const struct error_kind PROVIDER_KEY;           /* provider_key_unavailable */
extern const struct error_kind PROVIDER_NONE;          /* no_providers */

struct provider_tool {
	const char *name, *description, *parameters; /* parameters: JSON Schema text */
};
/* Everything lives until the call's end, or provider_call_cancel. */
struct provider_request {
	struct str model; /* without the provider's name */
	struct str instructions;
	const struct provider_tool *tools;
	size_t tool_count;
	/* What stands before the items, each a user's message, in this order; absent ones are left
	 * out (spec 4.4): the summary of what was compacted, the bot's note, what was left out. */
	struct str summary, note, omitted;
	const struct str *items; /* the context, oldest first, in the family's encoding */
	size_t item_count;
	/* The whole conversation as it was said, where the items are not that; only for a family
	 * that goes by_place. */
	const struct str *whole;
	size_t whole_count;
	struct str reasoning;      /* low … max, or absent */
	int64_t max_output_tokens; /* 0: the model's limit */
	int64_t cache_hours;       /* 0: the provider keeps the prompt five minutes */
	struct str cache_key;      /* one for all calls of a bot and its forks */
	int64_t bot, turn; /* whose call it is: connections and turn state are kept by them */
	bool warm;         /* only to keep the provider's cache warm: no reply is wanted */
};
/* Tokens of a call. input counts all of the prompt. */
struct provider_usage {
	int64_t input_tokens, output_tokens, cached_input_tokens;
	int64_t cache_write_tokens, cache_write_1h_tokens; /* -1: not said */
};
struct provider_reply {
	const struct str *items; /* to store as nodes, in order */
	size_t item_count;
	const struct item_call *calls;
	const size_t *call_items; /* index into items of each call */
	size_t call_count;
	struct str text;
	struct provider_usage usage;
	int64_t sent_ms; /* real time when the request was sent */
};
/* What may be done about a failed call (spec 8.4). */
enum provider_retry {
	PROVIDER_RETRY_NEVER,
	PROVIDER_RETRY_BACKOFF, /* 5xx, transport, stall: a few times, further and further apart */
	PROVIDER_RETRY_PACE,    /* the provider asked to wait: many times */
};
struct provider_failure {
	struct error err;
	enum provider_retry retry;
	int64_t delay_ms; /* the provider named it; -1: it did not */
	bool has_usage;   /* tokens that the failed call cost all the same */
	struct provider_usage usage;
};
struct provider_callbacks {
	void (*text)(void *arg, struct str delta);
	void (*thinking)(void *arg, struct str delta);
	/* An item had to be changed on its way out, as the provider would refuse it: what, for the
	 * record. The stored item stays as it is. */
	void (*repaired)(void *arg, const char *what);
	/* One of the three, once; what they are handed dies when they return. */
	void (*done)(void *arg, const struct provider_reply *r);
	void (*failed)(void *arg, const struct provider_failure *f);
	/* Nothing was sent: calls to this model are held until then (monotonic ms), far enough off
	 * that the turn should park (8.4: 250 ms and more). */
	void (*paced)(void *arg, int64_t until_mono_ms);
	/* The request is with the provider and its reply has begun: summary, note, omitted, items,
	 * whole and cache_key are not looked at any more and may be let go. May be NULL; need not
	 * come. */
	void (*taken)(void *arg);
};

/* What a listing of a provider's models says: their names, as a model reference has them behind the
 * slash. */
struct provider_listing {
	const struct str *models;
	size_t count;
};
/* err NULL: it is whole. Once; what it is handed dies when it returns. */
typedef void (*provider_on_listing)(
	void *arg, const struct provider_listing *l, const struct error *err);

/* What the families over HTTP need of a daemon. Lives as long as its providers. */
struct fetch;
struct secret;
struct secret_store;
struct provider_auth;
struct aws;
struct chatgpt;
struct provider_net {
	struct fetch *fetch;
	struct secret_store *keys;
	struct aws *aws;         /* credentials of AWS; NULL: no provider uses them */
	struct chatgpt *chatgpt; /* the ChatGPT sign-in; set before the first call */
	int64_t stall_ms;        /* without a word of the reply; 0: 120 s */
	int64_t socket_idle_ms, socket_life_ms; /* of WebSockets; 0: 60 s, 55 min */
	int64_t connecting_max; /* requests that wait for a reply's head; 0: no limit */
	int64_t connecting;     /* … now */
	struct list in_line;    /* further ones; the families' own */
};

/* What a provider is opened with. */
struct provider_setup {
	struct loop *loop;
	struct str url;
	struct provider_net *net; /* NULL: nothing over HTTP */
	const struct provider_auth *auth;
	const struct secret *key; /* NULL: none */
};

struct provider;
struct provider_call;
struct provider_family {
	const char *name;
	const char *transport; /* for `ready` */
	bool over_http;
	int (*open)(const struct provider_setup *s, void **ret_state, struct error *err);
	void (*close)(void *state);
	/* Callbacks never come inside start. */
	int (*start)(void *state, const struct provider_request *r,
		const struct provider_callbacks *cb, void *arg, void **ret_call, struct error *err);
	void (*cancel)(void *call); /* no callback afterwards; frees */
	/* start() copies or encodes what it needs of summary, note, omitted, items and whole: they
	 * may be let go when it returns, long before the reply is there. */
	bool copies;
	bool by_place; /* a script: it has to see the whole conversation to find its place */
	/* As start and cancel. NULL: it has no listing. */
	int (*list)(void *state, provider_on_listing done, void *arg, void **ret_call,
		struct error *err);
	void (*list_cancel)(void *call);
	/* Members of its object in `stats`. May be NULL. */
	void (*stats)(void *state, struct json_out *j);
};
extern const struct provider_family provider_responses;
extern const struct provider_family provider_responses_ws;
extern const struct provider_family provider_anthropic;
extern const struct provider_family provider_chat;
extern const struct provider_family provider_rehearsal;

/* The providers of a daemon. */
struct providers;
struct providers *providers_new(struct loop *l);
void providers_free(struct providers *p);
/* Before those over HTTP are added. */
void providers_connect(struct providers *p, struct provider_net *net);
int providers_add(struct providers *p, struct str spec, struct error *err);
/* Those whose well-known key variable is set; PROVIDER_NONE when there is none. */
int providers_add_known(struct providers *p, struct error *err);
size_t providers_count(const struct providers *p);
struct provider *providers_at(const struct providers *p, size_t i);
struct provider *providers_find(const struct providers *p, struct str name); /* NULL */
struct str provider_name(const struct provider *p);
struct str provider_url(const struct provider *p);
const struct provider_family *provider_family(const struct provider *p);
const char *provider_auth_name(const struct provider *p); /* "none", "bearer", … */
struct str provider_region(const struct provider *p);     /* what it signs for; absent: nothing */
/* The variable its key comes from, and the key; absent, NULL: it has none. */
struct str provider_key_env(const struct provider *p);
const struct secret *provider_key(const struct provider *p);
void provider_stats(const struct provider *p, struct json_out *j); /* its members */

int provider_call_start(struct provider *p, const struct provider_request *r,
	const struct provider_callbacks *cb, void *arg, struct provider_call **ret,
	struct error *err);
/* NULL does nothing; allowed in a callback. After done() or failed() the call frees itself. */
void provider_call_cancel(struct provider_call *c);

/* Asks for the models it has. A family without a listing has none: done() is told so. */
struct provider_list_call;
int provider_list(struct provider *p, provider_on_listing done, void *arg,
	struct provider_list_call **ret, struct error *err);
/* NULL does nothing; allowed in the callback. After done() it frees itself. */
void provider_list_cancel(struct provider_list_call *c);

#endif
