#ifndef AGENT_CMD_OUTPUT_H
#define AGENT_CMD_OUTPUT_H
/*
 * Standard output of a command. A write that fails is remembered and told of once, by output_end.
 */
#include <stdbool.h>

#include "json/json.h"
#include "text/text.h"

void output_text(struct str s);
void output_buf(struct buf *b); /* and clears it */
/* One line of JSON. */
void output_json(const struct json *value);
/* {"NAME":VALUE} and a newline. */
void output_member(const char *name, const struct json *value);
void output_flush(void);
bool output_failed(void);
/* Flushes; `status`, or CLI_FAILED with a message when something could not be written (without one
 * where nobody reads any more). */
int output_end(const char *command, int status);

/* Colours are for a terminal that can show them, and only where NO_COLOR is not set. */
bool output_colours(void);
bool output_is_terminal(void);

#endif
