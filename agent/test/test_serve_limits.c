/* A bot's own limits, as requests set them and records show them. */
#include "serving.h"

#define CREATE                                                                                     \
	"{\"id\":1,\"op\":\"create\",\"bot\":\"ada\",\"model\":\"drill/x\",\"instructions\":\"\"," \
	"\"tools\":[]"
#define CONFIGURE "{\"id\":2,\"op\":\"configure\",\"bot\":\"ada\""

/* The reply to one request, which holds all of the texts (NULL-terminated). */
static void says(struct served *s, const char *line, const char *const *texts)
{
	_cleanup_(mem) char *reply = NULL;

	served_send(s, line);
	reply = served_line(s);
	for (; *texts; texts++) {
		if (!strstr(reply, *texts))
			fail_msg("%s: %s lacks %s", line, reply, *texts);
	}
}
#define SAYS(s, line, ...) says(s, line, (const char *const[]){__VA_ARGS__, NULL})

static void limits_are_set_replaced_and_shown(void **state)
{
	struct served s;

	(void)state;
	served_open(&s, "{\"rehearsal\":1}\n{\"say\":\"ok\"}\n");
	SAYS(&s,
		CREATE ",\"context_bytes\":2048,\"retain_turns\":3,\"cache_ttl\":\"1h\","
		       "\"compaction_instructions\":\"short\",\"compaction_model\":\"drill/y\","
		       "\"fallbacks\":[\"drill/z\"]}\n",
		"\"context_bytes\":2048", "\"context_items\":4096", "\"retain_turns\":3",
		"\"cache_ttl\":\"1h\"", "\"approval_hold_ms\":2000",
		"\"compaction_instructions\":\"short\"", "\"compaction_model\":\"drill/y\"",
		"\"fallbacks\":[\"drill/z\"]", "\"allowed\":null");
	SAYS(&s,
		CONFIGURE ",\"approval_hold_ms\":7,\"compaction_instructions\":null,"
			  "\"compaction_model\":null,\"fallbacks\":[],\"cache_ttl\":\"5m\"}\n",
		"\"context_bytes\":2048", "\"retain_turns\":3", "\"approval_hold_ms\":7",
		"\"compaction_instructions\":null", "\"compaction_model\":null", "\"fallbacks\":[]",
		"\"cache_ttl\":\"5m\"");
	served_close(&s);
}

static void what_is_wrong_is_named_and_changes_nothing(void **state)
{
	struct served s;

	(void)state;
	served_open(&s, "{\"rehearsal\":1}\n{\"say\":\"ok\"}\n");
	SAYS(&s, CREATE ",\"context_bytes\":1023}\n", "invalid_request", "create.context_bytes");
	SAYS(&s, CREATE ",\"keep_warm\":300}\n", "invalid_request", "create.keep_warm");
	SAYS(&s, CREATE ",\"cache_ttl\":\"2h\"}\n", "invalid_request", "create.cache_ttl");
	SAYS(&s, CREATE ",\"compact_keep\":75}\n", "invalid_request", "compact_keep: 75");
	SAYS(&s, CREATE ",\"fallbacks\":[\"none/x\"]}\n", "provider_unavailable", "fallbacks[0]");
	SAYS(&s, CREATE ",\"compaction_model\":\"x\"}\n", "invalid_model_reference",
		"compaction_model");
	SAYS(&s, CREATE "}\n", "\"result\"");
	SAYS(&s, CONFIGURE ",\"compact_at\":25}\n", "invalid_request", "compact_keep: 25");
	SAYS(&s, "{\"id\":3,\"op\":\"inspect\",\"bot\":\"ada\"}\n", "\"compact_at\":75");
	served_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_set_replaced_and_shown),
		cmocka_unit_test(what_is_wrong_is_named_and_changes_nothing),
	};

	return cmocka_run_group_tests_name("agent.serve_limits", tests, NULL, NULL);
}
