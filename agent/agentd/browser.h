#ifndef AGENT_AGENTD_BROWSER_H
#define AGENT_AGENTD_BROWSER_H
/* A page in the person's browser: xdg-open, given the address as its one argument, no shell
 * between. */
#include "error/error.h"
#include "loop/loop.h"

struct browser;
/* Starts it; what becomes of it is not waited for. */
int browser_open(struct loop *l, const char *url, struct browser **ret, struct error *err);
void browser_free(struct browser *b); /* the program goes on; NULL does nothing */

#endif
