#ifndef AGENT_TOOL_PICTURE_H
#define AGENT_TOOL_PICTURE_H
/*
 * Pictures that go to a model (spec 5.6): told by their first bytes, passed on as they are, never
 * decoded.
 */
#include "agent/core/item.h"
#include "error/error.h"
#include "mem/mem.h"
#include "text/text.h"

extern const struct error_kind PICTURE_UNSUPPORTED; /* picture_unsupported */

enum { PICTURE_MAX_BYTES = 4 * 1024 * 1024 /* spec 5.6 */ };

/* PNG, JPEG, GIF or WebP. Strings live in the arena. PICTURE_UNSUPPORTED for anything else; `what`
 * names the file in the text. */
int picture_read(struct arena *a, struct str bytes, const char *what, struct item_picture *ret,
	struct error *err);

#endif
