/*
 * Request bodies: what goes out for a conversation, in each family, compared as JSON; and what of
 * an item is repaired on its way.
 */
#include "agent/io/body.h"

#include "agent/io/claude.h"
#include "testing.h"

enum { WHATS_MAX = 8 };

struct built {
	struct arena a;
	struct body body;
	char *text;
	const struct json *doc;
	char *what[WHATS_MAX];
	size_t what_count;
};

static void note(void *arg, const char *what)
{
	struct built *b = arg;

	must(b->what_count < WHATS_MAX);
	b->what[b->what_count++] = xstrdup(what);
}

static struct built *build(enum item_family f, const struct provider_request *r, bool drop)
{
	struct built *b = xcalloc(1, sizeof(*b));
	const struct body_options o = {.drop_thinking = drop, .repaired = note, .arg = b};
	struct buf all = BUF_INIT(1 << 20);
	struct error err = ERROR_INIT;

	body_init(&b->body, f, r, &o);
	for (size_t i = 0; i < b->body.piece_count; i++)
		must(buf_put_str(&all, b->body.pieces[i]) == 0);
	assert_int_equal(all.len, b->body.bytes);
	b->text = buf_take(&all);
	assert_ok(json_parse(&b->a, str_from(b->text), &b->doc, &err), &err);
	return b;
}

static void built_free(struct built *b)
{
	body_release(&b->body);
	arena_release(&b->a);
	free(b->text);
	for (size_t i = 0; i < b->what_count; i++)
		free(b->what[i]);
	free(b);
}
MEM_CLEANUP(built, struct built *, built_free)

/* The same value, whatever order members stand in. */
static bool same(const struct json *a, const struct json *b)
{
	const struct json *other = b->child;

	if (a->type != b->type || a->count != b->count || !str_eq(a->text, b->text))
		return false;
	json_for_each (child, a) {
		const struct json *match = other;

		if (a->type == JSON_OBJECT) {
			_cleanup_(mem) char *key = xstrndup(child->key.p, child->key.len);

			match = json_get(b, key);
		} else {
			other = other->next;
		}
		if (!match || !same(child, match))
			return false;
	}
	return true;
}

static void assert_json(const struct json *is, const char *expected)
{
	_cleanup_(arena) struct arena a = {NULL};
	_cleanup_(buf) struct buf b = BUF_INIT(1 << 20);
	struct json_out j = JSON_OUT(&b);
	struct error err = ERROR_INIT;
	const struct json *doc;

	assert_ok(json_parse(&a, str_from(expected), &doc, &err), &err);
	json_put(&j, NULL, is);
	if (!is || !same(is, doc))
		fail_msg("is\n%s\nnot\n%s", buf_str(&b).p, expected);
}

static const struct provider_tool tool = {
	"echo", "says it", "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}}}"};

static struct provider_request request(const char *model, const struct str *items, size_t count)
{
	return (struct provider_request){.model = str_from(model),
		.instructions = STR("Be good."),
		.tools = &tool,
		.tool_count = 1,
		.items = items,
		.item_count = count,
		.cache_key = STR("key-1")};
}

static void responses_bodies_are_as_written(void **state)
{
	struct str items[] = {
		STR("{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"hi\"}]}"),
		STR("{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":"
		    "\"gAAA\"}"),
		STR("{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"echo\","
		    "\"arguments\":\"{ \\\"text\\\" : 1.0 }\"}"),
		STR("{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"one\"}"),
	};
	struct provider_request r = request("gpt-5", items, ARRAY_LEN(items));
	_cleanup_(built) struct built *b = NULL;

	(void)state;
	r.summary = STR("S");
	r.omitted = STR("O");
	r.reasoning = STR("max");
	r.max_output_tokens = 77;
	b = build(ITEM_RESPONSES, &r, false);
	assert_int_equal(b->what_count, 0);
	assert_json(b->doc,
		"{\"model\":\"gpt-5\",\"stream\":true,\"store\":false,"
		"\"include\":[\"reasoning.encrypted_content\"],\"prompt_cache_key\":\"key-1\","
		"\"reasoning\":{\"effort\":\"xhigh\",\"summary\":\"auto\"},"
		"\"max_output_tokens\":77,\"instructions\":\"Be good.\","
		"\"tools\":[{\"type\":\"function\",\"name\":\"echo\",\"description\":\"says it\","
		"\"parameters\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":"
		"\"string\"}}},\"strict\":false}],\"input\":["
		"{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"S\"}]},"
		"{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"O\"}]},"
		"{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"hi\"}]},"
		"{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":"
		"\"gAAA\"},"
		"{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"echo\",\"arguments\":"
		"\"{ \\\"text\\\" : 1.0 }\"},"
		"{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"one\"}]}");
	/* verbatim, as pieces of the store's own text */
	assert_non_null(strstr(b->text, items[2].p));
	assert_int_equal(body_blamed(&b->body, STR("Invalid 'input[4].name'")), 2);
	assert_int_equal(body_blamed(&b->body, STR("Invalid 'input[0]'")), -1);
	assert_int_equal(body_blamed(&b->body, STR("Invalid model")), -1);
}

static void chat_bodies_are_as_written(void **state)
{
	struct str items[] = {
		STR("{\"role\":\"user\",\"content\":\"hi\"}"),
		STR("{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c1\","
		    "\"type\":\"function\",\"function\":{\"name\":\"echo\",\"arguments\":\"{}\"}}]"
		    "}"),
		STR("{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"one\"}"),
	};
	struct provider_request r = request("llama3", items, ARRAY_LEN(items));
	_cleanup_(built) struct built *b = NULL;

	(void)state;
	r.note = STR("N");
	r.max_output_tokens = 9;
	b = build(ITEM_CHAT, &r, false);
	assert_json(b->doc,
		"{\"model\":\"llama3\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
		"\"max_tokens\":9,\"tools\":[{\"type\":\"function\",\"function\":{\"name\":"
		"\"echo\",\"description\":\"says it\",\"parameters\":{\"type\":\"object\","
		"\"properties\":{\"text\":{\"type\":\"string\"}}}}}],\"messages\":["
		"{\"role\":\"system\",\"content\":\"Be good.\"},{\"role\":\"user\",\"content\":"
		"\"N\"},{\"role\":\"user\",\"content\":\"hi\"},"
		"{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c1\",\"type\":"
		"\"function\",\"function\":{\"name\":\"echo\",\"arguments\":\"{}\"}}]},"
		"{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"one\"}]}");
	assert_int_equal(b->what_count, 0);
}

/* Two results and the person's word are one user message, the results first; marks are at most
 * four. */
static void messages_bodies_alternate(void **state)
{
	struct str items[] = {
		STR("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}"),
		STR("{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":"
		    "\"h\",\"signature\":\"s=\"},{\"type\":\"tool_use\",\"id\":\"a\",\"name\":"
		    "\"echo\",\"input\":{}},{\"type\":\"tool_use\",\"id\":\"b\",\"name\":\"echo\","
		    "\"input\":{}}]}"),
		STR("{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"
		    "\"a\",\"content\":\"1\"}]}"),
		STR("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"steer\"}]}"),
		STR("{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"
		    "\"b\",\"content\":\"2\"}]}"),
	};
	struct provider_request r = request("claude-opus-4-7", items, ARRAY_LEN(items));
	_cleanup_(built) struct built *b = NULL;

	(void)state;
	r.summary = STR("S");
	r.note = STR("N");
	r.omitted = STR("O");
	r.reasoning = STR("high");
	r.cache_hours = 1;
	b = build(ITEM_MESSAGES, &r, false);
	assert_int_equal(b->what_count, 0);
	assert_json(b->doc,
		"{\"model\":\"claude-opus-4-7\",\"max_tokens\":128000,\"stream\":true,"
		"\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"},"
		"\"thinking\":{\"type\":\"adaptive\",\"display\":\"summarized\"},"
		"\"output_config\":{\"effort\":\"high\"},"
		"\"system\":[{\"type\":\"text\",\"text\":\"Be good.\",\"cache_control\":{\"type\":"
		"\"ephemeral\",\"ttl\":\"1h\"}}],"
		"\"tools\":[{\"name\":\"echo\",\"description\":\"says it\",\"input_schema\":"
		"{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}}}}],"
		"\"messages\":[{\"role\":\"user\",\"content\":["
		"{\"type\":\"text\",\"text\":\"S\",\"cache_control\":{\"type\":\"ephemeral\","
		"\"ttl\":\"1h\"}},"
		"{\"type\":\"text\",\"text\":\"N\",\"cache_control\":{\"type\":\"ephemeral\","
		"\"ttl\":\"1h\"}},"
		"{\"type\":\"text\",\"text\":\"O\"},{\"type\":\"text\",\"text\":\"hi\"}]},"
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"h\","
		"\"signature\":\"s=\"},{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"echo\","
		"\"input\":{}},{\"type\":\"tool_use\",\"id\":\"b\",\"name\":\"echo\",\"input\":"
		"{}}]},"
		"{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"a\","
		"\"content\":\"1\"},{\"type\":\"tool_result\",\"tool_use_id\":\"b\",\"content\":"
		"\"2\"},{\"type\":\"text\",\"text\":\"steer\"}]}]}");
	assert_int_equal(body_blamed(&b->body, STR("messages.1.content.0: bad")), 1);
	assert_int_equal(body_blamed(&b->body, STR("messages.9: bad")), -1);
}

static void models_of_each_generation_get_their_limits(void **state)
{
	static const struct {
		const char *model;
		int64_t max_tokens, cap, budget; /* budget -1: adaptive, 0: none */
	} rows[] = {
		{"claude-3-opus-20240229",              4096,   0,    0    },
		{"claude-3-5-sonnet-20241022",          8192,   0,    0    },
		{"claude-3-7-sonnet-20250219",          64000,  0,    16384},
		{"claude-opus-4-1-20250805",            32000,  0,    16384},
		{"claude-opus-4-20250514",              32000,  0,    16384},
		{"claude-haiku-4-5",                    64000,  0,    16384},
		{"us.anthropic.claude-sonnet-4-5-v1:0", 64000,  0,    16384},
		{"claude-haiku-4-5",                    8000,   8000, 6976 },
		{"claude-haiku-4-5",                    1500,   1500, 0    },
		{"claude-opus-4-6",                     128000, 0,    -1   },
		{"claude-newest-9",                     128000, 0,    -1   },
		{"other-model",                         32000,  0,    0    },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct provider_request r = request(rows[i].model, NULL, 0);
		_cleanup_(built) struct built *b = NULL;
		const struct json *thinking;
		int64_t n = 0;

		r.reasoning = STR("high");
		r.max_output_tokens = rows[i].cap;
		b = build(ITEM_MESSAGES, &r, false);
		assert_int_equal(json_i64(json_get(b->doc, "max_tokens"), &n), 0);
		assert_int_equal(n, rows[i].max_tokens);
		thinking = json_get(b->doc, "thinking");
		if (rows[i].budget == -1)
			assert_true(str_is(json_str(json_get(thinking, "type")), "adaptive"));
		else if (rows[i].budget == 0)
			assert_null(thinking);
		else
			assert_int_equal(
				json_i64(json_get(thinking, "budget_tokens"), &n) == 0 ? n : -2,
				rows[i].budget);
	}
}

/* Repairs: what is sent of the messages, and what is said of them. */
static const struct repair {
	const char *name;
	enum item_family family;
	bool drop;
	const char *items[5];
	const char *member, *sent, *what;
} repairs[] = {
	{
         .name = "U+0000 in a text",
         .family = ITEM_CHAT,
         .items = {"{\"role\":\"user\",\"content\":\"a\\u0000b\"}"},
         .member = "messages",
         .sent = "[{\"role\":\"user\",\"content\":\"a\\ufffdb\"}]",
         .what = "U+0000",
	 },
	{
         .name = "a backslash before u0000 is no NUL",
         .family = ITEM_CHAT,
         .items = {"{\"role\":\"user\",\"content\":\"a\\\\u0000b\"}"},
         .member = "messages",
         .sent = "[{\"role\":\"user\",\"content\":\"a\\\\u0000b\"}]",
	 },
	{
         .name = "arguments that are no object",
         .family = ITEM_CHAT,
         .items = {"{\"role\":\"user\",\"content\":\"x\"}",
			"{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\","
			"\"type\":"
			"\"function\",\"function\":{\"name\":\"echo\",\"arguments\":\"{\\\"a\\\":"
			"\"}}]}",
			"{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"r\"}"},
         .member = "messages",
         .sent = "[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\","
			"\"content\":null,"
			"\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",\"function\":{"
			"\"name\":\"echo\","
			"\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c\","
			"\"content\":\"r\"}]", .what = "item 1: arguments",
	 },
	{
         .name = "a name providers refuse",
         .family = ITEM_RESPONSES,
         .items = {"{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"a.b "
			  "c\",\"arguments\":\"\"}",
			"{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"r\"}"},
         .member = "input",
         .sent = "[{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"a_b_c\","
			"\"arguments\":\"\"},"
			"{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"r\"}]", .what = "name",
	 },
	{
         .name = "a result without its call",
         .family = ITEM_RESPONSES,
         .items = {"{\"type\":\"function_call_output\",\"call_id\":\"gone\",\"output\":"
			  "\"r\"}",
			"{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"x\"}]"
			"}"},
         .member = "input",
         .sent = "[{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"x\"}]"
			"}]", .what = "item 0: a result without its call",
	 },
	{
         .name = "a call without its result",
         .family = ITEM_RESPONSES,
         .items = {"{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"a\","
			  "\"arguments\":\"{}\"}",
			"{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"x\"}]"
			"}"},
         .member = "input",
         .sent = "[{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"a\","
			"\"arguments\":\"{}\"},"
			"{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"{"
			"\\\"error\\\":\\\"no "
			"result of this call is kept\\\"}\"},"
			"{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"x\"}]}"
			"]", .what = "item 0: a call without its result",
	 },
	{
         .name = "reasoning that leads to nothing",
         .family = ITEM_RESPONSES,
         .items = {"{\"type\":\"reasoning\",\"id\":\"r\",\"summary\":[]}",
			"{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"x\"}]"
			"}"},
         .member = "input",
         .sent = "[{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"x\"}]"
			"}]", .what = "item 0: reasoning",
	 },
	{
         .name = "what is no item",
         .family = ITEM_CHAT,
         .items = {"{\"role\":", "{\"role\":\"user\",\"content\":\"x\"}"},
         .member = "messages",
         .sent = "[{\"role\":\"user\",\"content\":\"x\"}]",
         .what = "item 0: cannot be read",
	 },
	{
         .name = "a picture in a result",
         .family = ITEM_CHAT,
         .items = {"{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\","
			  "\"type\":"
			  "\"function\",\"function\":{\"name\":\"look\",\"arguments\":\"{}\"}}]}",
			"{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":[{\"type\":\"text\","
			"\"text\":"
			"\"seen\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/"
			"png;base64,AA\"}}"
			"]}"},
         .member = "messages",
         .sent = "[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\","
			"\"type\":"
			"\"function\",\"function\":{\"name\":\"look\",\"arguments\":\"{}\"}}]},"
			"{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"seen\\n[the "
			"next message shows it]\"},"
			"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"[shown by "
			"the "
			"results above]\"},{\"type\":\"image_url\",\"image_url\":{\"url\":"
			"\"data:image/png;base64,AA\"}}]}]", },
	{
         .name = "an empty text beside a call",
         .family = ITEM_MESSAGES,
         .items = {"{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\" "
			  "\\n\"},{\"type\":"
			  "\"tool_use\",\"id\":\"c\",\"name\":\"e\",\"input\":\"no\"}]}",
			"{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"
			"\"c\","
			"\"content\":\"\"}]}"},
         .member = "messages",
         .sent = "[{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"c\","
			"\"name\":\"e\","
			"\"input\":{}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
			"\"tool_use_id\":\"c\",\"content\":\"\"}]}]", .what = "empty text",
	 },
	{
         .name = "a reply of nothing",
         .family = ITEM_MESSAGES,
         .items = {"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}",
			"{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"\"}]}",
			"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"y\"}]}"},
         .member = "messages",
         .sent = "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\"},{"
			"\"type\":\"text\","
			"\"text\":\"y\"}]}]", .what = "item 1: nothing was left",
	 },
	{
         .name = "a person's word of nothing",
         .family = ITEM_MESSAGES,
         .items = {"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\" \"}]}"},
         .member = "messages",
         .sent = "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"(an empty "
			"message)\"}]}]", .what = "empty text",
	 },
	{
         .name = "thinking at the end",
         .family = ITEM_MESSAGES,
         .items = {"{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
			  "{\"type\":"
			  "\"thinking\",\"thinking\":\"t\",\"signature\":\"s\"}]}"},
         .member = "messages",
         .sent = "[{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}"
			"]", .what = "thinking",
	 },
	{
         .name = "thinking that was refused",
         .family = ITEM_MESSAGES,
         .drop = true,
         .items = {"{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\","
			  "\"thinking\":\"t\","
			  "\"signature\":\"s\"},{\"type\":\"text\",\"text\":\"a\"}]}"},
         .member = "messages",
         .sent = "[{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}"
			"]", .what = "thinking",
	 },
	{
         .name = "a text that is no list",
         .family = ITEM_MESSAGES,
         .items = {"{\"role\":\"user\",\"content\":\"x\"}"},
         .member = "messages",
         .sent = "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}]",
	 },
};

static void a_stored_item_never_ends_a_conversation(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(repairs); i++) {
		const struct repair *row = &repairs[i];
		_cleanup_(built) struct built *b = NULL;
		struct str items[ARRAY_LEN(row->items)];
		struct provider_request r;
		size_t n = 0;

		for (; n < ARRAY_LEN(row->items) && row->items[n]; n++)
			items[n] = str_from(row->items[n]);
		r = request("m", items, n);
		r.instructions = STR("");
		print_message("%s\n", row->name);
		b = build(row->family, &r, row->drop);
		assert_json(json_get(b->doc, row->member), row->sent);
		assert_int_equal(b->what_count, row->what ? 1 : 0);
		if (row->what && !strstr(b->what[0], row->what))
			fail_msg("said '%s'", b->what[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(responses_bodies_are_as_written),
		cmocka_unit_test(chat_bodies_are_as_written),
		cmocka_unit_test(messages_bodies_alternate),
		cmocka_unit_test(models_of_each_generation_get_their_limits),
		cmocka_unit_test(a_stored_item_never_ends_a_conversation),
	};

	return cmocka_run_group_tests_name("body", tests, NULL, NULL);
}
