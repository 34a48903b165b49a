#ifndef TEST_RULE_GENERATE_H
#define TEST_RULE_GENERATE_H
/*
 * generate: scripts that are made up: mostly plain ones, and what all but is.
 */
#include <stdint.h>

#include "text/text.h"

struct generator {
	uint64_t state; /* the seed at first; equal ones make equal scripts */
};
void generate_script(struct generator *g, struct buf *to);

#endif
