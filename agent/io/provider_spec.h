#ifndef AGENT_IO_PROVIDER_SPEC_H
#define AGENT_IO_PROVIDER_SPEC_H
/*
 * Provider specs: NAME[=FAMILY[,BASE_URL[,KEY_ENV]]], and the presets (agent spec 8.1). Pure.
 *
 * A key variable is read only when it is named, or implied by a preset's own URL: a URL of the
 * person's own gets no credential unless one is named for it. `@chatgpt` in place of a variable
 * names the ChatGPT sign-in.
 */
#include "error/error.h"
#include "text/text.h"

struct provider_spec {
	struct str name;
	struct str family;
	/* Without '/' at its end; of a rehearsal: its path. May hold PROVIDER_REGION once: the
	 * region that the person's environment names belongs there. */
	struct str url;
	struct str key_env; /* absent: none */
	struct str auth;    /* name of its authentication */
};
#define PROVIDER_REGION "REGION"
/* What is left out comes from a preset. Borrows from `text`, or is static. */
int provider_spec_read(struct str text, struct provider_spec *ret, struct error *err);

/* Whether a host is Bedrock's at AWS, and of which region. */
bool provider_spec_region(struct str host, struct str *ret_region);

/* The presets whose key is well known, by number: the name and its variable; false at the end. They
 * are the providers of a daemon that nobody told any. */
bool provider_well_known(size_t i, struct str *ret_name, const char **ret_key_env);
/* Every variable that holds a key of some preset, NULL-terminated: no command gets them. */
extern const char *const provider_key_names[];

#endif
