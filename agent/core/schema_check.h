#ifndef AGENT_CORE_SCHEMA_CHECK_H
#define AGENT_CORE_SCHEMA_CHECK_H
/*
 * A value against the part of JSON Schema that core/served.h names. What else a schema says is not
 * looked at. Pure.
 */
#include "error/error.h"
#include "json/json.h"

/* `where` names the value in the error, which has the kind given and repeats nothing of the value.
 */
int schema_check(const struct json *schema, const struct json *value, const char *where,
	const struct error_kind *kind, struct error *err);

#endif
