#ifndef AGENT_SERVE_COMPANION_SPEC_H
#define AGENT_SERVE_COMPANION_SPEC_H
/* What a companion is made of: copied, compared, written. Reading is companions_read. */
#include "agent/serve/companions.h"

void companion_spec_keep(
	struct arena *a, const struct companion_spec *s, struct companion_spec *ret);
bool companion_spec_eq(const struct companion_spec *a, const struct companion_spec *b);
/* The members, inside an object. */
void companion_spec_put(struct json_out *j, const struct companion_spec *s);

#endif
