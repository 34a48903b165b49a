#ifndef TOML_INTERNAL_H
#define TOML_INTERNAL_H
/* toml, inside: what is looked at before the parser sees a text. */
#include "toml/toml.h"

/* Whether every key has at most TOML_KEY_PARTS_MAX parts. TOML_LIMIT names the line. */
int toml_check_bounds(struct str text, struct error *err);

#endif
