#ifndef AGENT_SERVE_SETUP_H
#define AGENT_SERVE_SETUP_H
/*
 * What a daemon gathers before it listens: providers, keys, the sandbox, the programs beside it.
 */
#include "error/error.h"

struct bot;
struct daemon;
struct store_turn;

/* The store's folder is made 0700 when it is not there (AG-029), else left alone (AG-031). */
int setup_store_folder(const char *store, struct error *err);
/* ~/.agent/config.toml. CONFIG_INVALID. */
int setup_config(struct daemon *d, struct error *err);
/* ~/.agent/env. */
int setup_keys(struct daemon *d, struct error *err);
/* The providers that the options name, else those of the well-known keys that are set; then the
 * keys that no bot's command gets, and the values taken out of what tools return. */
int setup_providers(struct daemon *d, struct error *err);
/* Finds the programs beside this one. Makes nothing. */
int setup_helpers(struct daemon *d, struct error *err);
/* For store_open: a turn was interrupted by the daemon's death. Removes what its command's sandbox
 * left in the workspace. arg: the daemon, whose helpers are found. */
void setup_sweep(void *arg, const struct bot *b, const struct store_turn *t);
/* After the store is there: the sandbox, what tools are handed. */
void setup_tools(struct daemon *d);
void setup_release(struct daemon *d);

#endif
