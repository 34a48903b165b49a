/*
 * Providers: specs, and a script played on the loop.
 */
#include "agent/io/provider.h"

#include "os/os.h"
#include "testing.h"

struct heard {
	struct loop *loop;
	struct provider_call *call;
	char text[256];
	size_t len;
	int pieces, dones, failures;
	int cancel_after; /* pieces; 0: never */
	char code[64], call_id[32], item[512];
	int64_t input_tokens, output_tokens;
};

static void on_text(void *arg, struct str delta)
{
	struct heard *h = arg;

	must(h->len + delta.len < sizeof(h->text));
	memcpy(h->text + h->len, delta.p, delta.len);
	h->len += delta.len;
	if (++h->pieces == h->cancel_after)
		provider_call_cancel(h->call);
}

static void on_done(void *arg, const struct provider_reply *r)
{
	struct heard *h = arg;

	h->dones++;
	h->input_tokens = r->usage.input_tokens;
	h->output_tokens = r->usage.output_tokens;
	assert_int_equal(r->item_count, 1);
	(void)snprintf(h->item, sizeof(h->item), STR_FMT, STR_ARG(r->items[0]));
	if (r->call_count > 0)
		(void)snprintf(
			h->call_id, sizeof(h->call_id), STR_FMT, STR_ARG(r->calls[0].call_id));
	provider_call_cancel(h->call); /* allowed, and does nothing */
}

static void on_failed(void *arg, const struct provider_failure *f)
{
	struct heard *h = arg;

	h->failures++;
	(void)snprintf(h->code, sizeof(h->code), "%s", error_code(&f->err));
	provider_call_cancel(h->call);
}

static const struct provider_callbacks callbacks = {
	.text = on_text, .done = on_done, .failed = on_failed};

/* The n-th line of the script, played to a conversation of n - 1 exchanges. */
static void play(const char *script, int said, struct heard *h)
{
	_cleanup_(arena) struct arena a = {0};
	_cleanup_(mem) char *dir = testing_dir(), *path = xasprintf("%s/s.jsonl", dir);
	_cleanup_(mem) char *spec = xasprintf("drill=rehearsal,%s", path);
	struct str items[8];
	struct provider_request request = {.instructions = STR("12345678"), .items = items};
	struct provider_tool tool = {"ab", "cd", "efgh"};
	struct providers *p;
	struct error err = ERROR_INIT;

	must(os_replace_file(path, str_from(script), 0600, NULL) == 0);
	for (int i = 0; i <= said; i++) {
		if (i > 0)
			items[request.item_count++] = item_assistant(&a, STR("x"), NULL, 0);
		items[request.item_count++] = item_user(&a, ITEM_CHAT, STR("go"), NULL, 0);
	}
	request.tools = &tool;
	request.tool_count = 1;
	h->loop = loop_new();
	p = providers_new(h->loop);
	assert_ok(providers_add(p, str_from(spec), &err), &err);
	assert_ok(provider_call_start(providers_at(p, 0), &request, &callbacks, h, &h->call, &err),
		&err);
	assert_int_equal(h->pieces + h->dones + h->failures, 0); /* nothing inside start */
	loop_run(h->loop);
	providers_free(p);
	loop_free(h->loop);
	must(os_remove_tree(dir, NULL) == 0);
}

static void text_comes_in_pieces_of_whole_characters(void **state)
{
	struct heard h = {.pieces = 0};

	(void)state;
	play("{\"say\":\"gr\xc3\xbc\xc3\x9f\",\"chunk_bytes\":1,\"calls\":[{\"tool\":\"echo\"}]}\n",
		0, &h);
	assert_string_equal(h.text, "gr\xc3\xbc\xc3\x9f");
	assert_int_equal(h.pieces, 4);
	assert_int_equal(h.dones, 1);
	assert_int_equal(h.failures, 0);
	assert_string_equal(h.call_id, "r1-1");
	assert_non_null(strstr(h.item, "\"tool_calls\":["));
	/* instructions 8, tool 8, item {"role":"user","content":"go"} 30: 46 bytes */
	assert_int_equal(h.input_tokens, 12);
	assert_true(h.output_tokens > 0);
}

static void a_delay_comes_first(void **state)
{
	struct heard h = {.pieces = 0};

	(void)state;
	play("{\"say\":\"hi\",\"delay_ms\":20}\n", 0, &h);
	assert_string_equal(h.text, "hi");
	assert_int_equal(h.pieces, 1);
	assert_int_equal(h.dones, 1);
}

static void a_cut_stream_fails_after_its_text(void **state)
{
	struct heard h = {.pieces = 0};

	(void)state;
	play("{\"say\":\"half\",\"cut\":true}\n", 0, &h);
	assert_string_equal(h.text, "half");
	assert_int_equal(h.dones, 0);
	assert_int_equal(h.failures, 1);
	assert_string_equal(h.code, "provider_stream_failed");
}

static void an_error_fails_with_its_code(void **state)
{
	struct heard h = {.pieces = 0};

	(void)state;
	play("{\"say\":\"a\"}\n{\"error\":{\"code\":\"made_up\",\"detail\":\"x\"}}\n", 1, &h);
	assert_int_equal(h.pieces, 0);
	assert_string_equal(h.code, "made_up");
}

static void a_call_may_be_cancelled_by_what_it_tells(void **state)
{
	struct heard h = {.cancel_after = 2};

	(void)state;
	play("{\"say\":\"abcdef\",\"chunk_bytes\":1}\n", 0, &h);
	assert_string_equal(h.text, "ab");
	assert_int_equal(h.dones + h.failures, 0);
}

static void specs_are_checked(void **state)
{
	static const struct {
		const char *spec;
		const struct error_kind *kind;
	} rows[] = {
		{"",					  &PROVIDER_INVALID_SPEC},
		{"drill",				     &PROVIDER_INVALID_SPEC},
		{"openai",				    &PROVIDER_KEY         },
		{"mine=anthropic",                            &PROVIDER_KEY         },
		{"mine=chat",				 &PROVIDER_INVALID_SPEC},
		{"mine=chat,ftp://x/",                        &PROVIDER_INVALID_SPEC},
		{"mine=chat,http://a:b@x/",                   &PROVIDER_INVALID_SPEC},
		{"mine=chat,http://x/?q",                     &PROVIDER_INVALID_SPEC},
		{"mine=chat,http://x/,",                      &PROVIDER_INVALID_SPEC},
		{"mine=chat,http://x/,sk-a-b",                &PROVIDER_INVALID_SPEC},
		{"mine=telepathy,http://x/",                  &PROVIDER_INVALID_SPEC},
		{"mine=chat,http://x/,NO_SUCH_KEY",           &PROVIDER_KEY         },
		{"bedrock",				   &PROVIDER_UNAVAILABLE },
		{"me=chat,http://127.0.0.1/,@chatgpt",        &PROVIDER_INVALID_SPEC},
		{"me=responses,http://example.org/,@chatgpt", &PROVIDER_INVALID_SPEC},
		{"me=responses,http://127.0.0.1/,@other",     &PROVIDER_INVALID_SPEC},
		{"drill=",				    &PROVIDER_INVALID_SPEC},
		{"drill=chat,http://x",                       &PROVIDER_UNAVAILABLE },
		{"drill=rehearsal",                           &PROVIDER_INVALID_SPEC},
		{"drill=rehearsal,",                          &PROVIDER_INVALID_SPEC},
		{"a b=rehearsal,/x",                          &PROVIDER_INVALID_SPEC},
		{"a/b=rehearsal,/x",                          &PROVIDER_INVALID_SPEC},
		{"drill=rehearsal,/x,KEY",                    &PROVIDER_INVALID_SPEC},
		{"drill=rehearsal,/nonexistent/x",            &ERROR_SYS            },
		{"drill=rehearsal,/dev/null",                 &ERROR_INVALID        },
	};
	struct loop *l = loop_new();
	struct providers *p = providers_new(l);
	struct error err = ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_fails(providers_add(p, str_from(rows[i].spec), &err), &err, *rows[i].kind);
	assert_int_equal(providers_count(p), 0);
	providers_free(p);
	loop_free(l);
}

static void names_are_taken_once(void **state)
{
	_cleanup_(mem) char *dir = testing_dir(), *path = xasprintf("%s/s", dir);
	_cleanup_(mem) char *spec = xasprintf("a=rehearsal,%s", path);
	struct loop *l = loop_new();
	struct providers *p = providers_new(l);
	struct error err = ERROR_INIT;

	(void)state;
	must(os_replace_file(path, STR("{\"say\":\"x\"}"), 0600, NULL) == 0);
	assert_ok(providers_add(p, str_from(spec), &err), &err);
	assert_fails(providers_add(p, str_from(spec), &err), &err, PROVIDER_DUPLICATE);
	assert_true(str_is(provider_name(providers_find(p, STR("a"))), "a"));
	assert_true(str_is(provider_url(providers_at(p, 0)), path));
	assert_null(providers_find(p, STR("b")));
	must(os_replace_file(path, STR("{\"say\":"), 0600, NULL) == 0);
	spec[0] = 'b';
	error_clear(&err);
	assert_int_equal(providers_add(p, str_from(spec), &err), -1);
	assert_string_equal(error_code(&err), "rehearsal_invalid");
	assert_non_null(strstr(err.text, path));     /* which file, */
	assert_non_null(strstr(err.text, "line 1")); /* and where in it */
	providers_free(p);
	loop_free(l);
	must(os_remove_tree(dir, NULL) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_comes_in_pieces_of_whole_characters),
		cmocka_unit_test(a_delay_comes_first),
		cmocka_unit_test(a_cut_stream_fails_after_its_text),
		cmocka_unit_test(an_error_fails_with_its_code),
		cmocka_unit_test(a_call_may_be_cancelled_by_what_it_tells),
		cmocka_unit_test(specs_are_checked),
		cmocka_unit_test(names_are_taken_once),
	};

	return cmocka_run_group_tests_name("provider", tests, NULL, NULL);
}
