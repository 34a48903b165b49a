/*
 * fault: what a provider's error means. Codes decide; where they are general, its words and the
 * HTTP status do.
 */
#include <strings.h>

#include "model/internal.h"

#define WAIT_MAX_MS (INT64_C(31) * 24 * 3600 * 1000) /* ours: a month */

static const struct {
	const char *code;
	enum model_fault fault;
} codes[] = {
	{"rate_limit_exceeded",           MODEL_FAULT_RATE      },
	{"rate_limit_error",              MODEL_FAULT_RATE      },
	{"rate_limit_reached_error",      MODEL_FAULT_RATE      },
	{"too_many_requests",             MODEL_FAULT_RATE      },
	{"resource_exhausted",            MODEL_FAULT_RATE      },
	{"throttlingexception",           MODEL_FAULT_RATE      },
	{"429",			   MODEL_FAULT_RATE      },
	{"server_is_overloaded",          MODEL_FAULT_OVERLOADED},
	{"slow_down",                     MODEL_FAULT_OVERLOADED},
	{"server_error",                  MODEL_FAULT_OVERLOADED},
	{"overloaded_error",              MODEL_FAULT_OVERLOADED},
	{"engine_overloaded_error",       MODEL_FAULT_OVERLOADED},
	{"overloaded",                    MODEL_FAULT_OVERLOADED},
	{"unavailable",                   MODEL_FAULT_OVERLOADED},
	{"service_unavailable",           MODEL_FAULT_OVERLOADED},
	{"insufficient_system_resource",  MODEL_FAULT_OVERLOADED},
	{"503",			   MODEL_FAULT_OVERLOADED},
	{"529",			   MODEL_FAULT_OVERLOADED},
	{"insufficient_quota",            MODEL_FAULT_QUOTA     },
	{"usage_limit_reached",           MODEL_FAULT_QUOTA     },
	{"usage_not_included",            MODEL_FAULT_QUOTA     },
	{"billing_error",                 MODEL_FAULT_QUOTA     },
	{"billing_hard_limit_reached",    MODEL_FAULT_QUOTA     },
	{"billing_not_active",            MODEL_FAULT_QUOTA     },
	{"credit_balance_exhausted",      MODEL_FAULT_QUOTA     },
	{"exceeded_current_quota_error",  MODEL_FAULT_QUOTA     },
	{"insufficient_balance",          MODEL_FAULT_QUOTA     },
	{"402",			   MODEL_FAULT_QUOTA     },
	{"context_length_exceeded",       MODEL_FAULT_CONTEXT   },
	{"context_window_exceeded",       MODEL_FAULT_CONTEXT   },
	{"model_context_window_exceeded", MODEL_FAULT_CONTEXT   },
	{"prompt_too_long",               MODEL_FAULT_CONTEXT   },
	{"invalid_request_error",         MODEL_FAULT_REQUEST   },
	{"invalid_request",               MODEL_FAULT_REQUEST   },
	{"invalid_argument",              MODEL_FAULT_REQUEST   },
	{"invalid_value",                 MODEL_FAULT_REQUEST   },
	{"invalid_prompt",                MODEL_FAULT_REQUEST   },
	{"missing_required_parameter",    MODEL_FAULT_REQUEST   },
	{"unknown_parameter",             MODEL_FAULT_REQUEST   },
	{"unsupported_parameter",         MODEL_FAULT_REQUEST   },
	{"unsupported_value",             MODEL_FAULT_REQUEST   },
	{"request_too_large",             MODEL_FAULT_REQUEST   },
	{"400",			   MODEL_FAULT_REQUEST   },
	{"413",			   MODEL_FAULT_REQUEST   },
	{"422",			   MODEL_FAULT_REQUEST   },
	{"authentication_error",          MODEL_FAULT_AUTH      },
	{"invalid_authentication_error",  MODEL_FAULT_AUTH      },
	{"invalid_api_key",               MODEL_FAULT_AUTH      },
	{"incorrect_api_key_error",       MODEL_FAULT_AUTH      },
	{"permission_error",              MODEL_FAULT_AUTH      },
	{"permission_denied",             MODEL_FAULT_AUTH      },
	{"unauthenticated",               MODEL_FAULT_AUTH      },
	{"unauthorized",                  MODEL_FAULT_AUTH      },
	{"token_expired",                 MODEL_FAULT_AUTH      },
	{"401",			   MODEL_FAULT_AUTH      },
	{"403",			   MODEL_FAULT_AUTH      },
	{"previous_response_not_found",   MODEL_FAULT_NOT_FOUND },
	{"model_not_found",               MODEL_FAULT_NOT_FOUND },
	{"deployment_not_found",          MODEL_FAULT_NOT_FOUND },
	{"deploymentnotfound",            MODEL_FAULT_NOT_FOUND },
	{"resource_not_found_error",      MODEL_FAULT_NOT_FOUND },
	{"not_found_error",               MODEL_FAULT_NOT_FOUND },
	{"not_found",                     MODEL_FAULT_NOT_FOUND },
	{"404",			   MODEL_FAULT_NOT_FOUND },
};

/* Words that tell apart what many providers send under one general code. */
static const struct {
	struct str words;
	enum model_fault fault;
} phrases[] = {
	{{"maximum context length", 22},      MODEL_FAULT_CONTEXT  },
	{{"context_length_exceeded", 23},     MODEL_FAULT_CONTEXT  },
	{{"context window", 14},              MODEL_FAULT_CONTEXT  },
	{{"prompt is too long", 18},          MODEL_FAULT_CONTEXT  },
	{{"input is too long", 17},           MODEL_FAULT_CONTEXT  },
	{{"input token count", 17},           MODEL_FAULT_CONTEXT  },
	{{"exceeds the context", 19},         MODEL_FAULT_CONTEXT  },
	{{"exceed context limit", 20},        MODEL_FAULT_CONTEXT  },
	{{"credit balance is too low", 25},   MODEL_FAULT_QUOTA    },
	{{"insufficient balance", 20},        MODEL_FAULT_QUOTA    },
	{{"insufficient credits", 20},        MODEL_FAULT_QUOTA    },
	{{"exceeded your current quota", 27}, MODEL_FAULT_QUOTA    },
	{{"previous_response_id", 20},        MODEL_FAULT_NOT_FOUND},
};

static bool same_word(struct str a, const char *b)
{
	return a.len == strlen(b) && (a.len == 0 || strncasecmp(a.p, b, a.len) == 0);
}

/* Where `words` (lower case) begins in s at or after `from`, or -1. */
static ptrdiff_t find_words(struct str s, struct str words, size_t from)
{
	for (size_t i = from; i + words.len <= s.len; i++) {
		if (strncasecmp(s.p + i, words.p, words.len) == 0)
			return (ptrdiff_t)i;
	}
	return -1;
}

enum model_fault fault_of_code(struct str code)
{
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		if (same_word(code, codes[i].code))
			return codes[i].fault;
	}
	return MODEL_FAULT_OTHER;
}

struct str fault_code(enum model_fault fault, struct str name)
{
	static const struct str common[] = {
		[MODEL_FAULT_OTHER] = {"unknown_error",           13},
		[MODEL_FAULT_RATE] = {"rate_limit_exceeded",     19},
		[MODEL_FAULT_OVERLOADED] = {"server_is_overloaded",    20},
		[MODEL_FAULT_QUOTA] = {"insufficient_quota",      18},
		[MODEL_FAULT_CONTEXT] = {"context_length_exceeded", 23},
		[MODEL_FAULT_REQUEST] = {"invalid_request_error",   21},
		[MODEL_FAULT_AUTH] = {"invalid_api_key",         15},
		[MODEL_FAULT_NOT_FOUND] = {"not_found",               9 },
	};

	return name.len > 0 && fault_of_code(name) == fault ? name : common[fault];
}

static enum model_fault fault_of_status(int status)
{
	switch (status) {
	case 400:
	case 405:
	case 413:
	case 415:
	case 422:
		return MODEL_FAULT_REQUEST;
	case 401:
	case 403:
		return MODEL_FAULT_AUTH;
	case 402:
		return MODEL_FAULT_QUOTA;
	case 404:
		return MODEL_FAULT_NOT_FOUND;
	case 429:
		return MODEL_FAULT_RATE;
	case 503:
	case 529:
		return MODEL_FAULT_OVERLOADED;
	default:
		return MODEL_FAULT_OTHER;
	}
}

/* Says nothing of what was wrong with a request, or of a request at all. */
static bool is_general(enum model_fault fault)
{
	return fault == MODEL_FAULT_OTHER || fault == MODEL_FAULT_REQUEST;
}

static enum model_fault fault_of_words(struct str text)
{
	for (size_t i = 0; i < ARRAY_LEN(phrases); i++) {
		if (find_words(text, phrases[i].words, 0) >= 0)
			return phrases[i].fault;
	}
	return MODEL_FAULT_OTHER;
}

/*
 * Waiting times: "try again in 1.2s", "retry after 20 seconds", "in 6m0s", "in 350ms".
 */
static const struct {
	const char *unit;
	int64_t ms;
} units[] = {
	{"ms",           1      },
	{"milliseconds", 1      },
	{"s",            1000   },
	{"sec",          1000   },
	{"second",       1000   },
	{"seconds",      1000   },
	{"m",            60000  },
	{"min",          60000  },
	{"minute",       60000  },
	{"minutes",      60000  },
	{"h",            3600000},
	{"hour",         3600000},
	{"hours",        3600000},
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A number with at most three places at *at, in thousandths; -1 when there is none. */
static int64_t read_thousandths(struct str s, size_t *at)
{
	int64_t value = 0, place = 1000;
	size_t i = *at;

	if (i >= s.len || !is_digit(s.p[i]))
		return -1;
	for (; i < s.len && is_digit(s.p[i]); i++) {
		value = value * 10 + (s.p[i] - '0');
		if (value > WAIT_MAX_MS / 1000)
			value = WAIT_MAX_MS / 1000;
	}
	value *= 1000;
	if (i + 1 < s.len && s.p[i] == '.' && is_digit(s.p[i + 1])) {
		for (i++; i < s.len && is_digit(s.p[i]); i++) {
			place /= 10;
			value += place * (s.p[i] - '0');
		}
	}
	*at = i;
	return value;
}

/* The milliseconds of the unit at *at; 0 when there is none. */
static int64_t read_unit(struct str s, size_t *at)
{
	size_t from = *at, end;
	struct str word;

	if (from < s.len && s.p[from] == ' ')
		from++;
	for (end = from; end < s.len && is_letter(s.p[end]);)
		end++;
	word = (struct str){s.p + from, end - from};
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (same_word(word, units[i].unit)) {
			*at = end;
			return units[i].ms;
		}
	}
	return 0;
}

/* A duration at `at`: numbers with units, one behind the other; a number alone is seconds. */
static int64_t read_wait(struct str s, size_t at)
{
	int64_t total = -1, n, unit;

	while (at < s.len && s.p[at] == ' ')
		at++;
	while ((n = read_thousandths(s, &at)) >= 0) {
		unit = read_unit(s, &at);
		if (unit == 0 && total >= 0)
			break;
		total = (total < 0 ? 0 : total) + (unit ? n * unit / 1000 : n);
		if (total > WAIT_MAX_MS)
			total = WAIT_MAX_MS;
	}
	return total;
}

static int64_t wait_of_words(struct str text)
{
	static const struct str leads[] = {
		{"try again in",    12},
                {"retry in",        8 },
                {"retry after",     11},
		{"try again after", 15}
        };

	for (size_t i = 0; i < ARRAY_LEN(leads); i++) {
		const ptrdiff_t found = find_words(text, leads[i], 0);

		if (found >= 0)
			return read_wait(text, (size_t)found + leads[i].len);
	}
	return -1;
}

/* A member that is a number or text with one; -1: there is none. */
static int64_t wait_member(const struct json *object, const char *name, int64_t unit_ms)
{
	const struct json *value = json_get(object, name);
	size_t at = 0;
	int64_t n;

	if (!value)
		return -1;
	if (value->type == JSON_STRING)
		return unit_ms == 1000 ? read_wait(value->text, 0) : -1;
	if (value->type != JSON_NUMBER)
		return -1;
	n = read_thousandths(value->text, &at);
	return n < 0 ? -1 : n / 1000 * unit_ms + n % 1000 * unit_ms / 1000;
}

static int64_t wait_of_details(const struct json *details)
{
	int64_t ms = -1;

	if (!details || details->type != JSON_ARRAY)
		return -1;
	json_for_each (detail, details) {
		ms = wait_member(detail, "retryDelay", 1000);
		if (ms >= 0)
			break;
	}
	return ms;
}

static int64_t wait_of(const struct json *error, struct str text)
{
	static const struct {
		const char *name;
		int64_t unit_ms;
	} members[] = {
		{"retry_after_ms",    1   },
		{"retry_after",       1000},
		{"resets_in_seconds", 1000},
	};
	int64_t ms = -1;

	for (size_t i = 0; ms < 0 && i < ARRAY_LEN(members); i++)
		ms = wait_member(error, members[i].name, members[i].unit_ms);
	if (ms < 0)
		ms = wait_of_details(json_get(error, "details"));
	return ms >= 0 ? ms : wait_of_words(text);
}

/* A code is a word or a number. */
static struct str code_text(const struct json *value)
{
	if (value && (value->type == JSON_STRING || value->type == JSON_NUMBER))
		return value->text;
	return (struct str){NULL, 0};
}

/* The object that holds code and message: `error` in the event or in its response, or the event. */
static const struct json *error_object(const struct json *root)
{
	const struct json *error;

	if (root && root->type == JSON_ARRAY) /* as Gemini's bodies are */
		root = root->child;
	error = json_get(root, "error");
	if (!error)
		error = json_get(json_get(root, "response"), "error");
	if (!error)
		error = json_get(json_get(root, "detail"), "message") ? json_get(root, "detail")
								      : NULL;
	return error && (error->type == JSON_OBJECT || error->type == JSON_STRING) ? error : root;
}

static struct str message_of(const struct json *error)
{
	struct str text = json_str(error); /* the error is its own message */

	if (!text.p)
		text = json_str(json_get(error, "message"));
	if (!text.p)
		text = json_str(json_get(error, "detail"));
	if (!text.p && json_get(error, "detail"))
		text = json_str(json_get(json_get(error, "detail")->child, "msg"));
	return text.p ? text : STR("");
}

/* `type` of an event that is itself the error only says so. */
static struct str type_of(const struct json *error)
{
	const struct str type = json_str(json_get(error, "type"));

	return str_is(type, "error") ? (struct str){NULL, 0} : type;
}

/* The first of several meanings that says more than that a request was wrong; else the first that
 * says that. */
static enum model_fault first_meaning(const enum model_fault *meanings, size_t count)
{
	enum model_fault general = MODEL_FAULT_OTHER;

	for (size_t i = 0; i < count; i++) {
		if (!is_general(meanings[i]))
			return meanings[i];
		if (general == MODEL_FAULT_OTHER)
			general = meanings[i];
	}
	return general;
}

/* A status that came as a member, as over a WebSocket; 0: none. */
static int status_member(const struct json *root)
{
	int64_t said;

	return json_i64(json_get(root, "status"), &said) == 0 && said > 0 && said < 600 ? (int)said
											: 0;
}

/* A code that is a word, else the error's type or state, else the code after all. */
static struct str name_of(const struct json *code, struct str type, struct str state)
{
	const struct str text = code_text(code);

	if (text.len > 0 && code->type == JSON_STRING)
		return text;
	if (type.len > 0)
		return type;
	if (state.len > 0)
		return state;
	return text.p ? text : STR("");
}

void fault_read(const struct json *root, int status, struct fault *ret)
{
	const struct json *error = error_object(root), *code = json_get(error, "code");
	const struct str type = type_of(error), state = json_str(json_get(error, "status"));
	enum model_fault meanings[5], words;

	ret->text = message_of(error);
	ret->name = name_of(code, type, state);
	meanings[0] = fault_of_code(code_text(code));
	meanings[1] = fault_of_code(type);
	meanings[2] = fault_of_code(state);
	meanings[3] = words = fault_of_words(ret->text);
	meanings[4] = fault_of_status(status ? status : status_member(root));
	ret->fault = first_meaning(meanings, ARRAY_LEN(meanings));
	if (ret->fault == MODEL_FAULT_RATE && words == MODEL_FAULT_QUOTA)
		ret->fault = MODEL_FAULT_QUOTA;
	ret->retry_ms = wait_of(error, ret->text);
}
