#ifndef AGENT_CMD_PROMPT_H
#define AGENT_CMD_PROMPT_H
/* The prompt of a command: its words, or standard input where the only word is "-". */
#include "error/error.h"
#include "text/text.h"

/* Not empty, UTF-8, no longer than the daemon takes; appended to b, whose ceiling must have room
 * for PROMPT_MAX_BYTES. */
int prompt_read(char **words, int count, struct buf *b, struct error *err);

#endif
