#ifndef AGENT_SERVE_SETUP_H
#define AGENT_SERVE_SETUP_H
/*
 * What a daemon gathers before it listens: providers, keys, the sandbox, the programs beside it.
 */
#include "error/error.h"

struct daemon;

/* The store's folder is made 0700 when it is not there (AG-029), else left alone (AG-031). */
int setup_store_folder(const char *store, struct error *err);
int setup_providers(struct daemon *d, struct error *err);
/* ~/.agent/env, the keys that no bot's command gets, the values taken out of what tools return. */
int setup_secrets(struct daemon *d, struct error *err);
/* After the store is there: the sandbox, the helpers, what tools are handed. */
int setup_tools(struct daemon *d, struct error *err);
void setup_release(struct daemon *d);

#endif
