/*
 * json values: the few questions that are asked of a parsed tree without a table.
 */
#include "json/internal.h"

const struct json *json_get(const struct json *object, const char *name)
{
	const struct str wanted = str_from(name);

	if (!object || object->type != JSON_OBJECT)
		return NULL;
	json_for_each (member, object) {
		if (str_eq(member->key, wanted))
			return member;
	}
	return NULL;
}

struct str json_str(const struct json *value)
{
	return value && value->type == JSON_STRING ? value->text : (struct str){NULL, 0};
}

int json_i64(const struct json *value, int64_t *ret)
{
	if (!value || value->type != JSON_NUMBER)
		return -1;
	if (str_is(value->text, "-0")) { /* a number of JSON, but no spelling `text` has */
		*ret = 0;
		return 0;
	}
	return text_i64(value->text, INT64_MIN, INT64_MAX, "number", ret, NULL);
}
