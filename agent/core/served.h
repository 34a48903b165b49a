#ifndef AGENT_CORE_SERVED_H
#define AGENT_CORE_SERVED_H
/*
 * Served tools: tools that a bot's client declares and a host carries out, by tag (agent spec 5.9).
 * Pure.
 *
 * Their parameters are JSON Schema, shown to the model whole. Of it the daemon checks: type (one or
 * several), enum, const; of objects properties, required and additionalProperties: false; of arrays
 * items, minItems and maxItems; minLength and maxLength; minimum and maximum of whole numbers. The
 * rest is the host's to check, who must not rely on this.
 */
#include <stdbool.h>

#include "agent/core/limits.h"
#include "error/error.h"
#include "json/json.h"
#include "mem/mem.h"
#include "text/text.h"

extern const struct error_kind SERVED_INVALID;   /* invalid_served_tool */
extern const struct error_kind SERVED_ARGUMENTS; /* invalid_tool_arguments */

enum {
	SERVED_MAX = 64,                     /* ours: as many as built-in ones can be named */
	SERVED_NAME_MAX_BYTES = 64,          /* what providers take: A-Za-z0-9-_ */
	SERVED_DESCRIPTION_MAX_BYTES = 8192, /* ours: it is in every request */
	SERVED_PARAMETERS_MAX_BYTES = 32768, /* ours, as written compactly */
	SERVED_PARAMETERS_DEPTH_MAX = 16,    /* ours */
	SERVED_TOTAL_MAX_BYTES = 262144,     /* ours: descriptions and parameters of one bot */
};

struct served_tool {
	struct str name, description;
	struct str parameters; /* JSON Schema as text, compact */
	struct str host;       /* tag of who carries it out */
	bool gate;             /* waits for a verdict although the bot is sandboxed */
};
struct served_tools {
	const struct served_tool *items;
	size_t count;
};

/* Reads `served_tools`. Everything wrong is SERVED_INVALID and names the place. Names of built-in
 * tools are the caller's to refuse. Lives in `a`. */
int served_tools_read(
	struct arena *a, const struct json *list, struct served_tools *ret, struct error *err);
void served_tools_write(struct json_out *j, const char *name, const struct served_tools *l);
/* The names alone, for lists and events. */
void served_tools_write_names(struct json_out *j, const char *name, const struct served_tools *l);
const struct served_tool *served_tools_find(
	const struct served_tools *l, struct str name); /* NULL */
/* Arguments of a call against the parameters: SERVED_ARGUMENTS names the place. */
int served_tool_check(const struct served_tool *t, struct str arguments, struct error *err);
/* Deep copies. */
void served_tools_keep(struct arena *a, struct served_tools *l);

#endif
