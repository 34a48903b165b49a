#ifndef AGENT_SERVE_MODELS_H
#define AGENT_SERVE_MODELS_H
/*
 * What models the providers have: asked for when a client wants to know, and kept for five minutes
 * (agent spec 2.3). Requests that want the same list at once share one question to the provider.
 */
#include "mem/mem.h"
#include "text/text.h"

struct daemon;
struct request;

struct models {
	struct list entries; /* one for each provider that was asked */
};
void models_init(struct models *m);
/* Ends what is being asked; who waits for it is refused. */
void models_stop(struct daemon *d);
void models_release(struct models *m);

/* {"provider":NAME?} */
struct models_args {
	struct str provider;
};
void op_models(struct request *r, const void *raw); /* struct models_args */

#endif
