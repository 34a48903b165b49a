/*
 * Pictures that come with a prompt, and the budget of one turn.
 */
#include <sys/stat.h>

#include "os/os.h"
#include "serving.h"

/* A PNG's signature and a word, and both in base64. */
#define PNG(word)     "\x89PNG\r\n\x1a\n" word
#define BASE64_FIRST  "iVBORw0KGgpGSVJTVA=="
#define BASE64_SECOND "iVBORw0KGgpTRUNPTkQ="
#define CREATE                                                                                     \
	"{\"id\":1,\"op\":\"create\",\"bot\":\"b\",\"model\":\"drill/x\",\"instructions\":\"\","   \
	"\"tools\":[\"echo\"]}\n"
#define WAIT(turn) "{\"id\":4,\"op\":\"wait\",\"handles\":[\"turn:b/" turn "\"]}\n"
#define ITEM(node) "{\"id\":5,\"op\":\"item\",\"bot\":\"b\",\"node\":" node "}\n"
#define STATS      "{\"id\":8,\"op\":\"stats\"}\n"
#define TURNS      "{\"id\":6,\"op\":\"turns\",\"bot\":\"b\"}\n"

static void put_file(const struct served *s, const char *name, const char *content)
{
	_cleanup_(mem) char *path = xasprintf("%s/%s", s->dir, name);
	_cleanup_(fd) int fd = -1;
	struct error err = ERROR_INIT;

	assert_ok(os_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600, &fd, &err), &err);
	assert_ok(os_write_all(fd, content, strlen(content), &err), &err);
}

static void answered(struct served *s, const char *line, const char *part)
{
	_cleanup_(mem) char *reply = NULL;

	served_send(s, line);
	reply = served_line(s);
	if (!strstr(reply, part))
		fail_msg("no %s in %s", part, reply);
}

/* A submission with the pictures of these names in the daemon's folder; NULL: without a list. */
static void submitted(struct served *s, const char *request, const char *names, const char *more,
	const char *part)
{
	_cleanup_(buf) struct buf b = BUF_INIT(64 * 1024);
	struct str rest = str_from(names);

	(void)buf_printf(&b,
		"{\"id\":2,\"op\":\"submit\",\"bot\":\"b\",\"request_id\":\"%s\","
		"\"prompt\":\"look\",\"images\":[",
		request);
	for (const char *between = ""; rest.len > 0; between = ",") {
		size_t len = strcspn(rest.p, " ");

		(void)buf_printf(&b, "%s\"%s/%.*s\"", between, s->dir, (int)len, rest.p);
		rest.p += len + (rest.p[len] == ' ');
		rest.len = strlen(rest.p);
	}
	(void)buf_printf(&b, "]%s}\n", more);
	answered(s, b.data, part);
}

static void open_with_files(struct served *s, const char *script)
{
	served_open(s, script);
	put_file(s, "first", PNG("FIRST"));
	put_file(s, "second", PNG("SECOND"));
	put_file(s, "text", "no picture at all");
	served_ask(s, CREATE);
}

static void pictures_follow_the_text_in_order(void **state)
{
	struct served s;

	(void)state;
	open_with_files(&s, "{\"say\":\"seen\"}\n");
	submitted(&s, "r1", "first second", "", "\"status\":\"running\"");
	answered(&s, WAIT("1"), "\"text\":\"seen\"");
	answered(&s, ITEM("1"),
		"\"content\":[{\"type\":\"text\",\"text\":\"look\"},"
		"{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64," //
		BASE64_FIRST "\"}},"
		"{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64," //
		BASE64_SECOND "\"}}]");
	served_close(&s);
}

static bool asks_model(struct served *s)
{
	const struct live_turn *t = live_find(&s->d, STR("b"));

	return t && t->state == TURN_MODEL;
}

static void a_queued_prompt_keeps_its_pictures(void **state)
{
	struct served s;

	(void)state;
	open_with_files(&s, "{\"say\":\"one\",\"delay_ms\":300}\n{\"say\":\"two\"}\n");
	submitted(&s, "r1", "", "", "\"status\":\"running\"");
	served_until(&s, asks_model);
	submitted(&s, "r2", "first", ",\"delivery\":\"queue\"", "\"status\":\"queued\"");
	put_file(&s, "first", PNG("OTHER")); /* what was read is what counts */
	answered(&s, STATS, "\"queued_turns\":1,\"pending_bytes\":64"); /* "look" and the list */
	answered(&s, WAIT("2"), "\"text\":\"two\"");
	answered(&s, ITEM("3"), BASE64_FIRST);
	answered(&s, STATS, "\"queued_turns\":0,\"pending_bytes\":0");
	served_close(&s);
}

static void a_queued_prompt_that_goes_takes_its_pictures_along(void **state)
{
	struct served s;

	(void)state;
	open_with_files(&s, "{\"say\":\"one\",\"delay_ms\":300}\n");
	submitted(&s, "r1", "", "", "\"status\":\"running\"");
	served_until(&s, asks_model);
	submitted(&s, "r2", "first", ",\"delivery\":\"queue\"", "\"status\":\"queued\"");
	answered(&s, "{\"id\":7,\"op\":\"interrupt\",\"bot\":\"b\",\"turn\":2}\n",
		"\"queued\":true");
	answered(&s, STATS, "\"queued_turns\":0,\"pending_bytes\":0");
	submitted(&s, "r2", "first", ",\"delivery\":\"queue\"", "\"duplicate\":true");
	answered(&s, WAIT("1"), "\"text\":\"one\"");
	served_close(&s);
}

static void a_steer_brings_its_pictures(void **state)
{
	struct served s;

	(void)state;
	open_with_files(&s, "{\"say\":\"one\",\"delay_ms\":300}\n{\"say\":\"two\"}\n");
	submitted(&s, "r1", "", "", "\"status\":\"running\"");
	served_until(&s, asks_model);
	submitted(&s, "r2", "first", ",\"delivery\":\"steer\"", "\"status\":\"queued\"");
	answered(&s, WAIT("2"), "\"status\":\"steered\"");
	answered(&s, ITEM("3"), BASE64_FIRST);
	answered(&s, STATS, "\"queued_turns\":0,\"pending_bytes\":0");
	answered(&s, WAIT("1"), "\"text\":\"two\"");
	served_close(&s);
}

static void the_same_pictures_are_the_same_request(void **state)
{
	struct served s;

	(void)state;
	open_with_files(&s, "{\"say\":\"seen\"}\n");
	submitted(&s, "r1", "first", "", "\"duplicate\":false");
	submitted(&s, "r1", "first", "", "\"duplicate\":true");
	answered(&s, WAIT("1"), "\"text\":\"seen\"");
	submitted(&s, "r1", "first", "", "\"duplicate\":true");
	submitted(&s, "r1", "second", "", "\"error\":\"idempotency_conflict\"");
	submitted(&s, "r1", "first second", "", "\"error\":\"idempotency_conflict\"");
	submitted(&s, "r1", "", "", "\"error\":\"idempotency_conflict\"");
	submitted(&s, "r1", "first", ",\"turn_budget_tokens\":9",
		"\"error\":\"idempotency_conflict\"");
	served_close(&s);
}

static void what_cannot_be_read_is_no_turn(void **state)
{
	static const struct {
		const char *name, *files, *code, *says;
	} rows[] = {
		{"no picture", "first text",                                            "\"error\":\"picture_unsupported\"", "/text'"       },
		{"no file",    "first gone",					    "\"error\":\"file_not_found\"",      "/gone'"       },
		{"a folder",   ".",						     "\"error\":\"file_not_regular\"",    "images[0]"    },
		{"too many",   "first first first first first first first first first",
                 "\"error\":\"invalid_request\"",									    "submit.images"},
	};
	struct served s;

	(void)state;
	open_with_files(&s, "{\"say\":\"seen\"}\n");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		submitted(&s, "r1", rows[i].files, "", rows[i].code);
		submitted(&s, "r1", rows[i].files, "", rows[i].says);
	}
	answered(&s,
		"{\"id\":2,\"op\":\"submit\",\"bot\":\"b\",\"request_id\":\"r1\",\"prompt\":\"x\","
		"\"images\":[\"first\"]}\n",
		"images[0]: 'first' is not an absolute path");
	answered(&s, TURNS, "\"result\":[]");
	submitted(&s, "r1", "first", "", "\"duplicate\":false");
	answered(&s, WAIT("1"), "\"text\":\"seen\"");
	served_close(&s);
}

static void a_large_file_is_refused(void **state)
{
	_cleanup_(mem) char *path = NULL;
	struct served s;

	(void)state;
	open_with_files(&s, "{\"say\":\"seen\"}\n");
	path = xasprintf("%s/first", s.dir);
	assert_int_equal(truncate(path, 4 * 1024 * 1024 + 1), 0);
	submitted(&s, "r1", "first", "", "\"error\":\"file_too_large\"");
	assert_int_equal(truncate(path, 4 * 1024 * 1024), 0);
	submitted(&s, "r2", "first", "", "\"duplicate\":false");
	answered(&s, WAIT("1"), "\"text\":\"seen\"");
	served_close(&s);
}

static void a_turn_keeps_to_its_budget(void **state)
{
	static const char script[] =
		"{\"calls\":[{\"tool\":\"echo\",\"arguments\":{\"text\":\"x\"}}]}\n"
		"{\"say\":\"over\"}\n{\"say\":\"next\"}\n";
	struct served s;

	(void)state;
	open_with_files(&s, script);
	submitted(&s, "r1", "", ",\"turn_budget_tokens\":0", "submit.turn_budget_tokens");
	submitted(&s, "r1", "", ",\"turn_budget_tokens\":1", "\"status\":\"running\"");
	answered(&s, WAIT("1"), "\"error\":\"budget_exhausted\"");
	answered(&s, TURNS, "\"model_rounds\":1");
	submitted(&s, "r2", "", ",\"turn_budget_tokens\":1000000", "\"status\":\"running\"");
	answered(&s, WAIT("2"), "\"status\":\"completed\"");
	served_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pictures_follow_the_text_in_order),
		cmocka_unit_test(a_queued_prompt_keeps_its_pictures),
		cmocka_unit_test(a_queued_prompt_that_goes_takes_its_pictures_along),
		cmocka_unit_test(a_steer_brings_its_pictures),
		cmocka_unit_test(the_same_pictures_are_the_same_request),
		cmocka_unit_test(what_cannot_be_read_is_no_turn),
		cmocka_unit_test(a_large_file_is_refused),
		cmocka_unit_test(a_turn_keeps_to_its_budget),
	};

	return cmocka_run_group_tests_name("serve.pictures", tests, NULL, NULL);
}
