#ifndef AGENT_IO_CONFIG_H
#define AGENT_IO_CONFIG_H
/*
 * ~/.agent/config.toml: what the daemon and the CLI read of it (agent spec 1.4). Other keys are
 * somebody else's and are ignored; of these, what is no value stops the reader. No file is the
 * defaults; a file that cannot be read, or is no regular one, never is.
 */
#include <stdbool.h>
#include <stddef.h>

#include "error/error.h"
#include "mem/mem.h"
#include "text/text.h"

/* config_invalid: the text names the file, and the line or the key. */
extern const struct error_kind CONFIG_INVALID;

enum config_inherit { CONFIG_ALL, CONFIG_CORE, CONFIG_NONE };

struct config {
	struct arena arena;
	bool no_web_search; /* web_search = "disabled": new bots get no web_fetch unasked (AG-219)
			     */
	bool web_refuses_private; /* [web_fetch] private = "refuse": checked on every hop */
	/* [shell_environment_policy] */
	enum config_inherit inherit;
	bool default_excludes;        /* ignore_default_excludes = false */
	struct str_list exclude;      /* globs */
	struct str_list include_only; /* globs; none: keep all */
	struct str_list set;          /* NAME=value */
};

/* HOME/.agent/config.toml. The caller frees. */
int config_path(char **ret, struct error *err);
int config_read(const char *path, struct config **ret, struct error *err);
/* The same of a text; `name` is what errors call it. */
int config_parse(const char *name, struct str text, struct config **ret, struct error *err);
void config_free(struct config *c); /* NULL does nothing */
static inline void config_cleanup(struct config **c)
{
	config_free(*c);
}

/* The environment that commands get of `env`, by the policy: NULL-terminated, one allocation with
 * the entries, which the caller frees (AG-184, AG-185). */
char **config_environ(const struct config *c, char *const *env);

#endif
