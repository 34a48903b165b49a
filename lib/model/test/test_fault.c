/* error bodies of HTTP answers: every family's, a proxy's, cut ones, none. */
#include "testing.h"
#include "model/model.h"

enum { KEEP_MAX = 4096 };

static const struct {
	const char *name;
	int status;
	const char *body;
	enum model_fault fault;
	const char *code, *text;
	int64_t retry_ms;
} rows[] = {
	{"OpenAI, no money",                429,
         "{\"error\":{\"message\":\"You exceeded your current quota\",\"type\":"
		"\"insufficient_quota\",\"param\":null,\"code\":\"insufficient_quota\"}}",		    MODEL_FAULT_QUOTA,      "insufficient_quota",          "You exceeded your current quota", -1    },
	{"OpenAI, too fast",                429,
         "{\"error\":{\"message\":\"Rate limit reached for gpt-x on tokens per min (TPM): "
		"Limit 30000. Please try again in 6m1.5s.\",\"type\":\"tokens\",\"code\":"
		"\"rate_limit_exceeded\"}}",								  MODEL_FAULT_RATE,       "rate_limit_exceeded",
         "Rate limit reached for gpt-x on tokens per min (TPM): Limit 30000. Please try "
		"again in 6m1.5s.",																				     361500},
	{"OpenAI, too long",                400,
         "{\"error\":{\"message\":\"This model's maximum context length is 8192 tokens\","
		"\"type\":\"invalid_request_error\",\"param\":\"messages\",\"code\":"
		"\"context_length_exceeded\"}}",							      MODEL_FAULT_CONTEXT,    "context_length_exceeded",
         "This model's maximum context length is 8192 tokens",																	  -1    },
	{"OpenAI, a wrong key",             401,
         "{\"error\":{\"message\":\"Incorrect API key\",\"type\":\"invalid_request_error\","
		"\"code\":\"invalid_api_key\"}}",							     MODEL_FAULT_AUTH,       "invalid_api_key",             "Incorrect API key",               -1    },
	{"OpenAI, an unknown reply",        400,
         "{\"error\":{\"message\":\"Previous response with id 'r' not found.\",\"type\":"
		"\"invalid_request_error\",\"code\":\"previous_response_not_found\"}}",		       MODEL_FAULT_NOT_FOUND,  "previous_response_not_found",
         "Previous response with id 'r' not found.",																		    -1    },
	{"OpenAI, a parameter",             400,
         "{\"error\":{\"message\":\"Unsupported\",\"type\":\"invalid_request_error\","
		"\"param\":\"stop\",\"code\":\"unsupported_parameter\"}}",				    MODEL_FAULT_REQUEST,    "unsupported_parameter",       "Unsupported",                     -1    },
	{"Anthropic, busy",                 529,
         "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":"
		"\"Overloaded\"},\"request_id\":\"req_1\"}",						  MODEL_FAULT_OVERLOADED, "overloaded_error",            "Overloaded",                      -1    },
	{"Anthropic, too long",             400,
         "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":"
		"\"prompt is too long: 213462 tokens > 200000 maximum\"}}",				   MODEL_FAULT_CONTEXT,    "invalid_request_error",
         "prompt is too long: 213462 tokens > 200000 maximum",																	  -1    },
	{"Anthropic, no money",             400,
         "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":"
		"\"Your credit balance is too low to access the API.\"}}",				    MODEL_FAULT_QUOTA,      "invalid_request_error",
         "Your credit balance is too low to access the API.",																	   -1    },
	{"Anthropic, a request",            400,
         "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":"
		"\"messages: too few\"}}",								    MODEL_FAULT_REQUEST,    "invalid_request_error",       "messages: too few",               -1    },
	{"Anthropic, their fault",          500,
         "{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"Internal\"}}",		  MODEL_FAULT_OTHER,      "api_error",                   "Internal",                        -1    },
	{"OpenRouter, a number for a code", 429,
         "{\"error\":{\"code\":429,\"message\":\"Provider returned error\"}}",				MODEL_FAULT_RATE,       "429",                         "Provider returned error",         -1    },
	{"Gemini, a list",                  429,
         "[{\"error\":{\"code\":429,\"message\":\"Quota\",\"status\":\"RESOURCE_EXHAUSTED\","
		"\"details\":[{\"@type\":\"x\"},{\"retryDelay\":\"34s\"}]}}]",				MODEL_FAULT_RATE,       "RESOURCE_EXHAUSTED",          "Quota",                           34000 },
	{"ChatGPT, a limit",                429,
         "{\"error\":{\"type\":\"usage_limit_reached\",\"message\":\"The usage limit\","
		"\"plan_type\":\"plus\",\"resets_in_seconds\":120}}",					 MODEL_FAULT_QUOTA,      "usage_limit_reached",         "The usage limit",                 120000},
	{"ChatGPT, a detail",               400, "{\"detail\":\"System messages are not allowed\"}",
         MODEL_FAULT_REQUEST,													 "",                            "System messages are not allowed", -1    },
	{"FastAPI, a list of details",      422,
         "{\"detail\":[{\"loc\":[\"body\"],\"msg\":\"field required\"}]}",				    MODEL_FAULT_REQUEST,    "",                            "field required",                  -1    },
	{"Ollama, an error that is a text", 404, "{\"error\":\"model 'x' not found\"}",
         MODEL_FAULT_NOT_FOUND,												       "",                            "model 'x' not found",             -1    },
	{"vLLM",			    400,
         "{\"object\":\"error\",\"message\":\"bad\",\"type\":\"BadRequestError\",\"code\":"
		"400}",										       MODEL_FAULT_REQUEST,    "BadRequestError",             "bad",                             -1    },
	{"retry_after as a member",         429,
         "{\"error\":{\"message\":\"slow\",\"code\":\"x\",\"retry_after\":1.5}}",			     MODEL_FAULT_RATE,       "x",                           "slow",                            1500  },
	{"JSON of no known shape",          500, "{\"oops\":1}",                                              MODEL_FAULT_OTHER,      "",                            "{\"oops\":1}",                    -1    },
	{"HTML",			    502,
         "<html>\r\n<head><title>502 Bad Gateway</title></head><body>nginx</body></html>",		    MODEL_FAULT_OTHER,      "",                            "502 Bad Gateway",                 -1    },
	{"HTML without a title",            503, "<h1>busy</h1>",                                             MODEL_FAULT_OVERLOADED, "",                            "",                                -1    },
	{"plain text",                      429, "  slow down, try again in 20 seconds \n",                   MODEL_FAULT_RATE,       "",
         "slow down, try again in 20 seconds",																			  20000 },
	{"nothing",			 401, "",							  MODEL_FAULT_AUTH,       "",                            "",                                -1    },
	{"bytes",			   500, "\xff\xfe!",						 MODEL_FAULT_OTHER,      "",                            "\xef\xbf\xbd\xef\xbf\xbd!",       -1    },
	{"cut in its message",              429,
         "{\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"Slow \\\"do",			    MODEL_FAULT_RATE,       "rate_limit_exceeded",         "Slow \"do",                       -1    },
	{"cut in an escape",                400, "{\"error\":{\"type\":\"t\",\"message\":\"a\\u00e",
         MODEL_FAULT_REQUEST,													 "t",                           "a",                               -1    },
	{"cut in a character",              400, "{\"error\":{\"type\":\"t\",\"message\":\"a\xc3",
         MODEL_FAULT_REQUEST,													 "t",                           "a",                               -1    },
	{"cut in half a pair",              400, "{\"error\":{\"type\":\"t\",\"message\":\"a\\ud83d\\u",
         MODEL_FAULT_REQUEST,													 "t",                           "a",                               -1    },
	{"cut in a key",                    400, "{\"error\":{\"message\":\"bad\",\"type\":\"t\",\"par",
         MODEL_FAULT_REQUEST,													 "t",                           "bad",                             -1    },
	{"cut before a value",              400, "{\"error\":{\"message\":\"bad\",\"n\":",                    MODEL_FAULT_REQUEST,
         "",																			 "bad",			     -1    },
	{"cut in a list",                   429, "{\"error\":{\"message\":\"bad\",\"l\":[1,[2,{\"a\":\"b\"}",
         MODEL_FAULT_RATE,													    "",                            "bad",                             -1    },
};

static void says_what_a_body_means(void **state)
{
	static const enum model_family families[] = {MODEL_RESPONSES, MODEL_CHAT, MODEL_MESSAGES};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t k = 0; k < ARRAY_LEN(families); k++) {
			_cleanup_(buf) struct buf keep = BUF_INIT(KEEP_MAX);
			struct model_event e;

			(void)buf_puts(&keep, "before");
			model_read_fault(
				families[k], rows[i].status, str_from(rows[i].body), &keep, &e);
			if (e.fault != rows[i].fault || !str_is(e.name, rows[i].code) ||
				!str_is(e.text, rows[i].text) || e.retry_ms != rows[i].retry_ms)
				fail_msg("%s: fault %d, '" STR_FMT "', '" STR_FMT "', %lld",
					rows[i].name, (int)e.fault, STR_ARG(e.name),
					STR_ARG(e.text), (long long)e.retry_ms);
			assert_int_equal(e.kind, MODEL_EV_FAULT);
			assert_true(str_starts(buf_str(&keep), STR("before")));
		}
	}
}

static void a_long_message_is_cut_to_the_room(void **state)
{
	_cleanup_(buf) struct buf body = BUF_INIT(1 << 20), keep = BUF_INIT(100);
	struct model_event e;

	(void)state;
	(void)buf_puts(&body, "{\"error\":{\"code\":\"x\",\"message\":\"");
	for (int i = 0; i < 2000; i++)
		(void)buf_puts(&body, "\xc3\xa9");
	(void)buf_puts(&body, "\"}}");
	model_read_fault(MODEL_CHAT, 500, buf_str(&body), &keep, &e);
	assert_true(str_is(e.name, "x"));
	assert_int_equal(e.text.len, 98); /* of 99, at a character */
	assert_true(utf8_valid(e.text));
}

static void reads_waiting_times(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
	} waits[] = {
		{"Please try again in 1.2s.",             1200      },
		{"Please try again in 350ms. Visit",      350       },
		{"try again in 6m0s",                     360000    },
		{"try again in 1h2m3s",                   3723000   },
		{"Try Again In 2 minutes",                120000    },
		{"retry after 5 seconds",                 5000      },
		{"Please retry after 5",                  5000      },
		{"Please retry in 12.5s",                 12500     },
		{"try again in 0.0001s",                  0         },
		{"try again in a moment",                 -1        },
		{"try again in ",                         -1        },
		{"try again in 99999999999999999999999h", 2678400000},
		{"tried again in 5s",                     -1        },
		{"",				      -1        },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
		_cleanup_(buf) struct buf keep = BUF_INIT(KEEP_MAX);
		struct model_event e;

		model_read_fault(MODEL_CHAT, 429, str_from(waits[i].text), &keep, &e);
		if (e.retry_ms != waits[i].ms)
			fail_msg("'%s': %lld", waits[i].text, (long long)e.retry_ms);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_what_a_body_means),
		cmocka_unit_test(a_long_message_is_cut_to_the_room),
		cmocka_unit_test(reads_waiting_times),
	};

	return cmocka_run_group_tests_name("model fault", tests, NULL, NULL);
}
