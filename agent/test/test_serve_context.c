/*
 * Turns whose context outgrows its budget: results go as stubs, what is old is summarised, a script
 * goes on where it stood, and whatever becomes of a summary the turn goes on.
 */
#include "agent/serve/artifact.h"
#include "serving.h"

#define CREATE                                                                                     \
	"{\"id\":1,\"op\":\"create\",\"bot\":\"b\",\"model\":\"drill/x\",\"instructions\":\"\","   \
	"\"tools\":[%s]}\n"
#define SUBMIT "{\"id\":2,\"op\":\"submit\",\"bot\":\"b\",\"request_id\":\"r\",\"prompt\":\"p\"}\n"
#define WAIT   "{\"id\":3,\"op\":\"wait\",\"handles\":[\"turn:b/1\"]}\n"
#define REPEAT "{\"rehearsal\":1,\"repeat\":true}\n"
#define EVENTS "{\"id\":4,\"op\":\"events\",\"bot\":\"b\",\"after\":0,\"limit\":256}\n"

enum { BUDGET = 8000 };

/* `rounds` calls whose results are some 700 bytes each; the end is said only behind all of them. */
static char *long_script(int rounds)
{
	struct buf b = BUF_INIT(1024 * 1024);
	char filler[601];

	memset(filler, 'x', 600);
	filler[600] = '\0';
	for (int i = 0; i < rounds; i++)
		must(buf_printf(&b,
			     "{\"calls\":[{\"tool\":\"echo\",\"arguments\":{\"text\":\"M%d %s\"}}]}"
			     "\n",
			     i, filler) == 0);
	must(buf_printf(&b, "{\"when\":{\"result_has\":\"M%d \"},\"say\":\"the end\"}\n",
		     rounds - 1) == 0);
	return buf_take(&b);
}

struct shape {
	const char *model; /* of the summary; NULL: the bot has none made */
	int64_t bytes;
	int rc;
};

static int run_shape(struct store_tx *tx, void *arg, struct error *err)
{
	const struct shape *s = arg;
	_cleanup_(arena) struct arena a = {0};
	struct bot b;

	if (store_bot_get(store_tx_view(tx), STR("b"), &a, &b, err) < 0)
		return -1;
	b.set.limits.context_bytes = s->bytes;
	if (s->model) {
		b.set.compaction_instructions = STR("Summarise.");
		b.set.compaction_model = str_from(s->model);
	}
	return store_bot_configure(tx, &b, err);
}

static void shaped(void *arg, int rc, const struct error *err)
{
	struct shape *s = arg;

	(void)err;
	s->rc = rc == 0 ? 1 : -1;
}

static struct shape asked; /* the job's, until it is done */

static bool is_shaped(struct served *s)
{
	(void)s;
	return asked.rc != 0;
}

/* A daemon with a bot of these tools and this budget; `summaries` is the script of the model that
 * makes them. */
static void open_small(struct served *s, const char *script, const char *tools,
	const char *summaries, int64_t bytes)
{
	_cleanup_(mem) char *path = NULL, *spec = NULL, *create = xasprintf(CREATE, tools);
	struct error err = ERROR_INIT;
	_cleanup_(fd) int fd = -1;

	served_open(s, script);
	s->d.host.history = history_fetch;
	s->d.host.artifact = artifact_fetch;
	s->d.host.history_arg = s->d.host.artifact_arg = &s->d;
	path = xasprintf("%s/sum", s->dir);
	spec = xasprintf("sum=rehearsal,%s", path);
	if (summaries) {
		assert_ok(os_open(path, O_WRONLY | O_CREAT, 0600, &fd, &err), &err);
		assert_ok(os_write_all(fd, summaries, strlen(summaries), &err), &err);
		assert_ok(providers_add(s->d.providers, str_from(spec), &err), &err);
	}
	served_ask(s, create);
	asked = (struct shape){.model = summaries ? "sum/x" : NULL, .bytes = bytes};
	store_write(s->d.store, run_shape, shaped, &asked);
	served_until(s, is_shaped);
	assert_int_equal(asked.rc, 1);
}

static char *ask(struct served *s, const char *line)
{
	served_send(s, line);
	return served_line(s);
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no %s in %s", part, text);
}

static void answered(struct served *s, const char *line, const char *part)
{
	_cleanup_(mem) char *reply = ask(s, line);

	has(reply, part);
}

static int times(const char *text, const char *part)
{
	int n = 0;

	while ((text = strstr(text, part))) {
		text += strlen(part);
		n++;
	}
	return n;
}

static void a_script_goes_on_though_results_go_as_stubs(void **state)
{
	_cleanup_(mem) char *script = long_script(3), *events = NULL;
	_cleanup_(mem) char *big = NULL;
	struct served s;
	char filler[4001];

	(void)state;
	memset(filler, 'y', 4000);
	filler[4000] = '\0';
	big = xasprintf("{\"calls\":[{\"tool\":\"echo\",\"arguments\":{\"text\":\"%s\"}}]}\n%s",
		filler, script);
	open_small(&s, big, "\"echo\",\"read\"", NULL, 15000);
	served_ask(&s, SUBMIT);
	answered(&s, WAIT, "the end");
	events = ask(&s, EVENTS);
	assert_int_equal(times(events, "\"event\":\"elided\""), 1);
	answered(&s, "{\"id\":5,\"op\":\"inspect\",\"bot\":\"b\"}\n", "\"elision\":1,");
	/* what was said is there, whole */
	answered(&s, "{\"id\":6,\"op\":\"item\",\"bot\":\"b\",\"node\":3}\n", filler);
	served_close(&s);
}

static void a_script_goes_on_behind_summaries(void **state)
{
	_cleanup_(mem) char *script = long_script(40), *events = NULL;
	struct served s;

	(void)state;
	open_small(&s, script, "\"echo\"", REPEAT "{\"say\":\"what was old\"}\n", BUDGET);
	served_ask(&s, SUBMIT);
	answered(&s, WAIT, "the end");
	events = ask(&s, "{\"id\":4,\"op\":\"events\",\"bot\":\"b\",\"after\":0,\"limit\":256}\n");
	assert_true(times(events, "\"event\":\"compacted\"") > 3);
	assert_int_equal(times(events, "\"event\":\"compacted\""),
		times(events, "\"purpose\":\"compaction\""));
	has(events, "\"model\":\"sum/x\"");
	served_close(&s);
}

/* Without a model for it, a turn that outgrows its context ends with that. */
static void a_turn_too_large_for_its_context_fails(void **state)
{
	_cleanup_(mem) char *script = long_script(40);
	struct served s;

	(void)state;
	open_small(&s, script, "\"echo\"", NULL, BUDGET);
	served_ask(&s, SUBMIT);
	answered(&s, WAIT, "\"error\":\"context_limit\"");
	served_close(&s);
}

/* Six rounds come to some 9,500 bytes: over what is due, under the budget. */
static void open_failing(struct served *s, const char *summaries)
{
	_cleanup_(mem) char *script = long_script(6);

	open_small(s, script, "\"echo\"", summaries, 11000);
	served_ask(s, "{\"id\":7,\"op\":\"follow\",\"bot\":\"b\"}\n");
}

/* All lines up to the end of the turn, one after the other. */
static char *lines_to_the_end(struct served *s)
{
	struct buf b = BUF_INIT(4 * 1024 * 1024);

	for (;;) {
		_cleanup_(mem) char *line = served_line(s);

		must(buf_printf(&b, "%s\n", line) == 0);
		if (strstr(line, "turn_finished"))
			return buf_take(&b);
	}
}

static void what_becomes_of_a_bad_summary(void **state)
{
	static const struct {
		const char *summaries, *error;
		bool billed;
	} rows[] = {
		{REPEAT "{\"error\":{\"code\":\"provider_refusal\",\"detail\":\"no\"}}\n",
                 "\"error\":\"provider_refusal\"",									       false},
		{REPEAT "{\"say\":\"\"}\n",						"\"error\":\"compaction_empty\"",     true },
		{"{\"say\":\"%s\"}\n",						     "\"error\":\"compaction_too_large\"", true },
	};
	char large[4001];

	(void)state;
	memset(large, 's', 4000);
	large[4000] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(mem) char *lines = NULL, *summaries = NULL;
		struct served s;

		summaries = strchr(rows[i].summaries, '%')
				    ? xasprintf(REPEAT "{\"say\":\"%s\"}\n", large)
				    : xstrdup(rows[i].summaries);
		open_failing(&s, summaries);
		served_send(&s, SUBMIT);
		lines = lines_to_the_end(&s);
		has(lines, "\"event\":\"compaction_failed\"");
		has(lines, rows[i].error);
		has(lines, "\"status\":\"completed\"");
		assert_int_equal(times(lines, "\"event\":\"compacted\""), 0);
		assert_int_equal(times(lines, "\"purpose\":\"compaction\"") > 0, rows[i].billed);
		answered(
			&s, "{\"id\":5,\"op\":\"inspect\",\"bot\":\"b\"}\n", "\"compaction\":null");
		served_close(&s);
	}
}

static void a_summary_is_heard_as_it_is_written(void **state)
{
	_cleanup_(mem) char *lines = NULL;
	struct served s;

	(void)state;
	open_failing(&s, REPEAT "{\"say\":\"what was old\",\"chunk_bytes\":5}\n");
	served_send(&s, SUBMIT);
	lines = lines_to_the_end(&s);
	has(lines, "\"event\":\"compaction_text_delta\"");
	has(lines, "{\"text\":\"what \"}");
	assert_int_equal(times(lines, "\"event\":\"compacted\""), 1);
	served_close(&s);
}

static bool is_summing_up(struct served *s)
{
	const struct live_turn *t = live_find(&s->d, STR("b"));

	return t && t->state == TURN_SUMMING_UP;
}

static void a_turn_can_be_stopped_during_a_summary(void **state)
{
	_cleanup_(mem) char *script = long_script(40);
	struct served s;

	(void)state;
	open_small(&s, script, "\"echo\"", REPEAT "{\"say\":\"x\",\"delay_ms\":600000}\n", BUDGET);
	served_ask(&s, SUBMIT);
	served_until(&s, is_summing_up);
	served_ask(&s, "{\"id\":3,\"op\":\"interrupt\",\"bot\":\"b\",\"turn\":1}\n");
	answered(&s, WAIT, "\"error\":\"cancelled\"");
	answered(&s, "{\"id\":5,\"op\":\"inspect\",\"bot\":\"b\"}\n", "\"compaction\":null");
	served_close(&s);
}

/* The tools */

static void a_note_is_kept_with_its_result(void **state)
{
	struct served s;

	(void)state;
	open_small(&s,
		"{\"calls\":[{\"tool\":\"note\",\"arguments\":{\"text\":\"remember\"}}]}\n"
		"{\"when\":{\"result_has\":\"\\\"noted_bytes\\\":8\"},\"say\":\"kept\"}\n"
		"{\"say\":\"lost\"}\n",
		"\"note\"", NULL, 1 << 20);
	served_ask(&s, SUBMIT);
	answered(&s, WAIT, "kept");
	answered(&s, "{\"id\":5,\"op\":\"inspect\",\"bot\":\"b\"}\n", "\"note\":1,");
	served_close(&s);
}

static void a_note_must_leave_room(void **state)
{
	_cleanup_(mem) char *script = NULL;
	struct served s;
	char large[1501];

	(void)state;
	memset(large, 'n', 1500);
	large[1500] = '\0';
	script = xasprintf(
		"{\"calls\":[{\"tool\":\"note\",\"arguments\":{\"text\":\"%s\"}}]}\n"
		"{\"when\":{\"result_has\":\"note_context_limit\"},\"say\":\"refused\"}\n"
		"{\"say\":\"kept\"}\n",
		large);
	open_small(&s, script, "\"note\"", NULL, BUDGET);
	served_ask(&s, SUBMIT);
	answered(&s, WAIT, "refused");
	answered(&s, "{\"id\":5,\"op\":\"inspect\",\"bot\":\"b\"}\n", "\"note\":null,");
	served_close(&s);
}

#define HISTORY(args) "{\"calls\":[{\"tool\":\"history\",\"arguments\":" args "}]}\n"
#define IF(has, say)  "{\"when\":{\"result_has\":\"" has "\"},\"say\":\"" say "\"}\n"

static void history_gives_pages_of_a_turn(void **state)
{
	static const struct {
		const char *args, *result;
	} rows[] = {
		{"{\"turn\":1}",                          "\\\"{\\\\\\\"role\\\\\\\":\\\\\\\"user\\\\\\\",\\\\\\\"content"
				 "\\\\\\\":\\\\\\\"p\\\\\\\"}\\\\n"},
		{"{\"turn\":1,\"offset\":2,\"limit\":4}",
                 "{\\\"text\\\":\\\"role\\\",\\\"next_offset\\\":6,"                               },
		{"{\"turn\":1,\"offset\":100000}",        "invalid_history_page"                   },
		{"{\"turn\":2}",                          "turn_not_in_history"                    },
		{"{\"turn\":1,\"limit\":3}",              "invalid_tool_arguments"                 },
		{"{\"turn\":0}",                          "invalid_tool_arguments"                 },
		{"{\"turn\":1,\"more\":1}",               "invalid_tool_arguments"                 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(mem) char *script = xasprintf(
			"{\"calls\":[{\"tool\":\"history\",\"arguments\":%s}]}\n"
			"{\"when\":{\"result_has\":\"%s\"},\"say\":\"as it should\"}\n"
			"{\"say\":\"otherwise\"}\n",
			rows[i].args, rows[i].result);
		struct served s;

		open_small(&s, script, "\"history\"", NULL, 1 << 20);
		served_ask(&s, SUBMIT);
		answered(&s, WAIT, "as it should");
		served_close(&s);
	}
}

/* A page that would crowd the turn out is not given. */
static void history_stops_where_the_context_ends(void **state)
{
	_cleanup_(mem) char *script = NULL;
	struct served s;
	char large[2501];

	(void)state;
	memset(large, 'h', 2500);
	large[2500] = '\0';
	script = xasprintf(
		"{\"calls\":[{\"tool\":\"echo\",\"arguments\":{\"text\":\"%s\"}}]}\n" HISTORY(
			"{\"turn\":1}")
			IF("history_context_exhausted", "refused") "{\"say\":\"given\"}\n",
		large);
	open_small(&s, script, "\"echo\",\"history\"", NULL, BUDGET);
	served_ask(&s, SUBMIT);
	answered(&s, WAIT, "refused");
	served_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_script_goes_on_though_results_go_as_stubs),
		cmocka_unit_test(a_script_goes_on_behind_summaries),
		cmocka_unit_test(a_turn_too_large_for_its_context_fails),
		cmocka_unit_test(what_becomes_of_a_bad_summary),
		cmocka_unit_test(a_summary_is_heard_as_it_is_written),
		cmocka_unit_test(a_turn_can_be_stopped_during_a_summary),
		cmocka_unit_test(a_note_is_kept_with_its_result),
		cmocka_unit_test(a_note_must_leave_room),
		cmocka_unit_test(history_gives_pages_of_a_turn),
		cmocka_unit_test(history_stops_where_the_context_ends),
	};

	return cmocka_run_group_tests_name("serve_context", tests, NULL, NULL);
}
