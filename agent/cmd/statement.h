#ifndef AGENT_CMD_STATEMENT_H
#define AGENT_CMD_STATEMENT_H
/* Whether a call went as a drill states. Pure. */
#include "agent/core/rehearsal_drill.h"

/* `output` is the result as the model was given it. NULL when all that is stated holds, else the
 * first that does not, as one line. The caller frees. */
char *statement_unlike(const struct drill_expect *e, enum drill_verdict verdict, struct str output);

#endif
