#ifndef AGENT_IO_PROVIDER_H
#define AGENT_IO_PROVIDER_H
/*
 * Model providers: one call streams a conversation to a model and its reply back (spec 8).
 *
 * A provider is NAME[=FAMILY[,BASE_URL[,KEY_ENV]]]. A family is one file that exports one const
 * entry; to add one is to add a file and a line. This version has `rehearsal` alone: a model that
 * is a script (rehearsal(5)); its BASE_URL is the script's path.
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

struct provider_tool {
	const char *name, *description, *parameters; /* parameters: JSON Schema text */
};
/* Everything lives until the call's done() or failed(), or provider_call_cancel. */
struct provider_request {
	struct str model; /* without the provider's name */
	struct str instructions;
	const struct provider_tool *tools;
	size_t tool_count;
	const struct str *items; /* the context, oldest first, in the family's encoding */
	size_t item_count;
};
struct provider_reply {
	const struct str *items; /* to store as nodes, in order */
	size_t item_count;
	const struct item_call *calls;
	const size_t *call_items; /* index into items of each call */
	size_t call_count;
	struct str text;
	int64_t input_tokens, output_tokens, cached_input_tokens;
};
struct provider_callbacks {
	void (*text)(void *arg, struct str delta);
	/* One of the two, once; what they are handed dies when they return. */
	void (*done)(void *arg, const struct provider_reply *r);
	void (*failed)(void *arg, const struct error *err);
};

struct provider;
struct provider_call;
struct provider_family {
	const char *name;
	const char *transport; /* for `ready` */
	int (*open)(struct loop *l, struct str url, void **ret_state, struct error *err);
	void (*close)(void *state);
	/* Callbacks never come inside start. */
	int (*start)(void *state, const struct provider_request *r,
		const struct provider_callbacks *cb, void *arg, void **ret_call, struct error *err);
	void (*cancel)(void *call); /* no callback afterwards; frees */
};
extern const struct provider_family provider_rehearsal;

/* The providers of a daemon. */
struct providers;
struct providers *providers_new(struct loop *l);
void providers_free(struct providers *p);
int providers_add(struct providers *p, struct str spec, struct error *err);
size_t providers_count(const struct providers *p);
struct provider *providers_at(const struct providers *p, size_t i);
struct provider *providers_find(const struct providers *p, struct str name); /* NULL */
struct str provider_name(const struct provider *p);
struct str provider_url(const struct provider *p);
const struct provider_family *provider_family(const struct provider *p);

int provider_call_start(struct provider *p, const struct provider_request *r,
	const struct provider_callbacks *cb, void *arg, struct provider_call **ret,
	struct error *err);
/* NULL does nothing; allowed in a callback. After done() or failed() the call frees itself. */
void provider_call_cancel(struct provider_call *c);

#endif
