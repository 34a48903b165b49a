/*
 * Providers that sign with AWS credentials, against a provider on loopback over TLS: signatures
 * that a second implementation finds good, keys of the environment and of `aws`, refusals, and
 * which specs sign at all.
 */
#include <fcntl.h>

#include "agent/io/aws_credentials.h"
#include "agent/io/provider.h"
#include "agent/io/provider_http.h"
#include "os/os.h"
#include "proc/proc.h"
#include "secret/secret.h"
#include "test/harness/harness.h"
#include "testing.h"

enum { PATIENCE_MS = 20000 };

static const char *const variables[] = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
	"AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"};

struct world {
	struct harness *h;
	struct loop *loop;
	struct fetch *fetch;
	struct clock_fake clock;
	struct secret_store *keys;
	struct secret_set *set;
	struct provider_net net;
	struct providers *providers;
	char *old_path;
};

static void fake_aws(const struct world *w, const char *does)
{
	_cleanup_(mem) char *path = xasprintf("%s/aws", harness_dir(w->h));
	_cleanup_(mem) char *text = xasprintf("#!/bin/sh\n%s\n", does);
	struct error err = ERROR_INIT;

	assert_ok(os_replace_file(path, str_from(text), 0700, &err), &err);
}

/* `names` and `values` of the environment beside a region. */
static struct world *world_new(
	const char *script, const char *id, const char *secret, const char *token)
{
	const char *const values[] = {id, secret, token, "eu-test-1"};
	struct world *w = xcalloc(1, sizeof(*w));
	struct error err = ERROR_INIT;

	for (size_t i = 0; i < ARRAY_LEN(variables); i++)
		must(unsetenv(variables[i]) == 0);
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		must(!values[i] || setenv(variables[i], values[i], 1) == 0);
	assert_ok(harness_start(&(struct harness_start){.script = script, .tls_names = "127.0.0.1"},
			  &w->h, &err),
		&err);
	w->old_path = xstrdup(getenv("PATH"));
	_cleanup_(mem) char *path = xasprintf("%s:%s", harness_dir(w->h), w->old_path);
	must(setenv("PATH", path, 1) == 0);
	w->loop = loop_new();
	const struct fetch_options o = {.loop = w->loop, .ca_file = harness_authority(w->h)};
	assert_ok(fetch_new(&o, &w->fetch, &err), &err);
	clock_fake_init(&w->clock, clock_real_ms(clock_system()), 1000);
	w->keys = secret_store_new();
	w->set = secret_set_new();
	w->net = (struct provider_net){.fetch = w->fetch,
		.keys = w->keys,
		.aws = aws_new(&(struct aws_options){.loop = w->loop,
			.clock = &w->clock.clock,
			.keys = w->keys,
			.secrets = w->set})};
	w->providers = providers_new(w->loop);
	providers_connect(w->providers, &w->net);
	return w;
}

static void world_free(struct world *w)
{
	providers_free(w->providers);
	aws_free(w->net.aws);
	fetch_free(w->fetch);
	loop_run(w->loop);
	loop_free(w->loop);
	secret_store_free(w->keys);
	secret_set_free(w->set);
	harness_stop(w->h);
	must(setenv("PATH", w->old_path, 1) == 0);
	free(w->old_path);
	free(w);
}
MEM_CLEANUP(world, struct world *, world_free)

/* What a call or a listing said. */
struct heard {
	struct loop *loop;
	struct buf text;
	bool done, late;
	char code[64], detail[ERROR_TEXT_MAX];
	size_t models;
};

static void on_text(void *arg, struct str delta)
{
	struct heard *h = arg;

	must(buf_put_str(&h->text, delta) == 0);
}

static void on_words(void *arg, struct str delta)
{
	(void)arg;
	(void)delta;
}

static void on_repaired(void *arg, const char *what)
{
	(void)arg;
	(void)what;
}

static void on_done(void *arg, const struct provider_reply *r)
{
	struct heard *h = arg;

	(void)r;
	h->done = true;
	loop_stop(h->loop);
}

static void hear_error(struct heard *h, const struct error *err)
{
	(void)snprintf(h->code, sizeof(h->code), "%s", error_code(err));
	(void)snprintf(h->detail, sizeof(h->detail), "%s", err->text);
	loop_stop(h->loop);
}

static void on_failed(void *arg, const struct provider_failure *f)
{
	assert_int_equal(f->retry, PROVIDER_RETRY_NEVER);
	hear_error(arg, &f->err);
}

static void on_paced(void *arg, int64_t until_mono_ms)
{
	(void)arg;
	fail_msg("paced until %lld", (long long)until_mono_ms);
}

static void on_listing(void *arg, const struct provider_listing *l, const struct error *err)
{
	struct heard *h = arg;

	if (err) {
		hear_error(h, err);
		return;
	}
	h->done = true;
	h->models = l->count;
	loop_stop(h->loop);
}

static void on_late(void *arg)
{
	struct heard *h = arg;

	h->late = true;
	loop_stop(h->loop);
}

static void hear(struct world *w, struct heard *h)
{
	struct loop_timer *limit = loop_timer_new(w->loop, on_late, h);

	loop_timer_set(limit, PATIENCE_MS);
	loop_run(w->loop);
	loop_timer_free(limit);
	assert_false(h->late);
}

static struct heard say(struct world *w, size_t provider, enum item_family items)
{
	static const struct provider_callbacks callbacks = {
		on_text, on_words, on_repaired, on_done, on_failed, on_paced};
	_cleanup_(arena) struct arena a = {NULL, 0};
	struct str item = item_user(&a, items, STR("Hello"), NULL, 0);
	const struct provider_request r = {
		.model = STR("m1"), .items = &item, .item_count = 1, .cache_key = STR("k-1")};
	struct heard h = {.loop = w->loop, .text = BUF_INIT(4096)};
	struct provider_call *call;
	struct error err = ERROR_INIT;

	assert_ok(provider_call_start(
			  providers_at(w->providers, provider), &r, &callbacks, &h, &call, &err),
		&err);
	hear(w, &h);
	return h;
}

static struct heard list(struct world *w, size_t provider)
{
	struct heard h = {.loop = w->loop};
	struct provider_list_call *call;
	struct error err = ERROR_INIT;

	assert_ok(provider_list(providers_at(w->providers, provider), on_listing, &h, &call, &err),
		&err);
	hear(w, &h);
	return h;
}

static void add(struct world *w, const char *family)
{
	_cleanup_(mem) char *spec = xasprintf(
		"%s=%s,%s,AWS_SECRET_ACCESS_KEY", family, family, harness_url(w->h));
	struct error err = ERROR_INIT;

	assert_ok(providers_add(w->providers, str_from(spec), &err), &err);
}

static size_t requests(struct world *w)
{
	struct error err = ERROR_INIT;

	assert_ok(harness_read(w->h, &err), &err);
	return harness_count(w->h);
}

/*
 * The second implementation.
 */
struct verdict {
	struct loop *loop;
	struct buf out;
	int code;
};

static void on_output(void *arg, int stream, const char *p, size_t len)
{
	struct verdict *v = arg;

	(void)stream;
	(void)buf_put(&v->out, p, len);
}

static void on_ended(void *arg, const struct proc_outcome *o)
{
	struct verdict *v = arg;

	v->code = o->code;
	loop_stop(v->loop);
}

/* The request is signed with this key of `keys`. */
static void assert_signed(struct world *w, size_t row, const char *keys, const char *id)
{
	static const struct proc_callbacks callbacks = {on_output, on_ended};
	_cleanup_(mem) char *record = xasprintf("%s/record.jsonl", harness_dir(w->h));
	_cleanup_(mem) char *number = xasprintf("%zu", row);
	_cleanup_(mem) char *want = xasprintf("%s\n", id);
	char *argv[] = {
		"python3", "-B", TEST_VERIFY, record, number, "eu-test-1", "bedrock-mantle", NULL};
	const struct proc_job job = {
		.spec = {.program = TEST_PYTHON, .argv = argv},
                  .input = str_from(keys)
        };
	struct verdict v = {.loop = w->loop, .out = BUF_INIT(65536)};
	struct proc_command *c;
	struct error err = ERROR_INIT;

	assert_ok(proc_command_start(w->loop, &job, &callbacks, &v, &c, &err), &err);
	loop_run(w->loop);
	proc_command_free(c);
	if (v.code != 0 || !str_is(buf_str(&v.out), want))
		fail_msg("request %zu: %s", row, v.out.data ? v.out.data : "");
	buf_release(&v.out);
}

static const char talk[] = "{\"default\":[{\"say\":\"Hello.\"}],\"models\":[\"m1\",\"m2\"]}";

static void each_family_is_signed(void **state)
{
	static const struct {
		const char *family;
		enum item_family items;
	} rows[] = {
		{"anthropic", ITEM_MESSAGES },
		{"responses", ITEM_RESPONSES},
		{"chat",      ITEM_CHAT     },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(world) struct world *w = world_new(
			talk, "static-id", "static/secret+1", "tok/en==");
		struct heard h;

		add(w, rows[i].family);
		fake_aws(w, "exit 1");
		h = say(w, 0, rows[i].items);
		assert_true(h.done && str_is(buf_str(&h.text), "Hello."));
		buf_release(&h.text);
		h = list(w, 0);
		assert_true(h.done && h.models == 2);
		assert_int_equal(requests(w), 2);
		for (size_t k = 0; k < 2; k++)
			assert_signed(w, k, "static-id static/secret+1 tok/en==\n", "static-id");
		assert_null(harness_header(harness_row(w->h, 0), "x-api-key").p);
	}
}

#define KEY(id)                                                                                    \
	"echo '{\"Version\":1,\"AccessKeyId\":\"" id "\",\"SecretAccessKey\":\"of-" id "\"}'"

static void keys_of_the_program_sign(void **state)
{
	_cleanup_(world) struct world *w = world_new(talk, NULL, NULL, NULL);
	struct heard h;

	(void)state;
	add(w, "anthropic");
	fake_aws(w, KEY("one"));
	h = say(w, 0, ITEM_MESSAGES);
	assert_true(h.done);
	buf_release(&h.text);
	assert_signed(w, 0, "one of-one\n", "one");
}

/* Once, with other keys; the turn hears nothing of it. */
static void a_refusal_is_tried_once_with_new_keys(void **state)
{
	static const struct {
		const char *name, *script;
		bool done;
		size_t requests;
		const char *code;
	} rows[] = {
		{"403, then well",            "{\"default\":[{\"fault\":403,\"times\":1,\"say\":\"Hello.\"}]}",
                 true,												 2, ""                 },
		{"401, then well",            "{\"default\":[{\"fault\":401,\"times\":1,\"say\":\"Hello.\"}]}",
                 true,												 2, ""                 },
		{"403 for ever",              "{\"default\":[{\"fault\":403}]}",                                false, 2, "provider_http_403"},
		{"400 is no refusal of keys", "{\"default\":[{\"fault\":400}]}",                                false, 1,
                 "provider_http_400"													 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(world) struct world *w = world_new(rows[i].script, NULL, NULL, NULL);
		struct error err = ERROR_INIT;
		struct heard h;

		print_message("%s\n", rows[i].name);
		add(w, "anthropic");
		fake_aws(w, KEY("one"));
		h = list(w, 0); /* learns the first key */
		clock_fake_advance(&w->clock, 10000);
		fake_aws(w, KEY("two"));
		h = say(w, 0, ITEM_MESSAGES);
		assert_true(h.done == rows[i].done);
		assert_string_equal(h.code, rows[i].code);
		buf_release(&h.text);
		assert_ok(harness_wait(w->h, 1 + rows[i].requests, PATIENCE_MS, &err), &err);
		assert_int_equal(requests(w), 1 + rows[i].requests);
		assert_signed(w, 1, "one of-one\ntwo of-two\n", "one");
		if (rows[i].requests == 2)
			assert_signed(w, 2, "one of-one\ntwo of-two\n", "two");
	}
}

static void static_keys_are_tried_once(void **state)
{
	_cleanup_(world) struct world *w = world_new(
		"{\"default\":[{\"fault\":403}]}", "static-id", "static-secret", NULL);
	struct heard h;

	(void)state;
	add(w, "anthropic");
	h = say(w, 0, ITEM_MESSAGES);
	assert_string_equal(h.code, "provider_http_403");
	buf_release(&h.text);
	assert_int_equal(requests(w), 1);
}

static void without_keys_nothing_is_sent(void **state)
{
	_cleanup_(world) struct world *w = world_new(talk, NULL, NULL, NULL);
	struct heard h;

	(void)state;
	add(w, "anthropic");
	fake_aws(w, "echo 'Sign in first.' >&2; exit 255");
	h = say(w, 0, ITEM_MESSAGES);
	assert_string_equal(h.code, "aws_credentials_unavailable");
	assert_non_null(strstr(h.detail, "Sign in first."));
	buf_release(&h.text);
	h = list(w, 0);
	assert_string_equal(h.code, "aws_credentials_unavailable");
	assert_int_equal(requests(w), 0);
}

/* A call that is given up while `aws` runs. */
static void a_call_can_be_cancelled_while_keys_are_asked_for(void **state)
{
	static const struct provider_callbacks callbacks = {
		on_text, on_words, on_repaired, on_done, on_failed, on_paced};
	_cleanup_(world) struct world *w = world_new(talk, NULL, NULL, NULL);
	struct heard h = {.loop = w->loop};
	const struct provider_request r = {.model = STR("m1"), .cache_key = STR("k")};
	struct provider_call *call;
	struct error err = ERROR_INIT;
	struct loop_timer *stop = loop_timer_new(w->loop, on_late, &h);

	(void)state;
	add(w, "responses");
	fake_aws(w, "exec sleep 600");
	assert_ok(
		provider_call_start(providers_at(w->providers, 0), &r, &callbacks, &h, &call, &err),
		&err);
	loop_timer_set(stop, 100);
	loop_run(w->loop);
	loop_timer_free(stop);
	assert_true(h.late && !h.done && h.code[0] == '\0');
	provider_call_cancel(call);
	assert_int_equal(requests(w), 0);
}

static void specs_say_who_signs(void **state)
{
	static const struct {
		const char *spec, *url, *auth, *region;
	} rows[] = {
		{"bedrock",								     "https://bedrock-mantle.eu-test-1.api.aws/anthropic/v1",     "sigv4",
                 "eu-test-1"																			 },
		{"bedrock-openai",							      "https://bedrock-mantle.eu-test-1.api.aws/openai/v1",        "sigv4",
                 "eu-test-1"																			 },
		{"a=anthropic,https://bedrock-mantle.us-west-2.api.aws/anthropic/v1",
                 "https://bedrock-mantle.us-west-2.api.aws/anthropic/v1",										    "sigv4",
                 "us-west-2"																			 },
		{"b=chat,https://bedrock-runtime.us-west-2.amazonaws.com/openai/"
		 "v1,AWS_SECRET_ACCESS_KEY",				   "https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1", "sigv4",
                 "us-west-2"																			 },
		{"c=chat,https://vpce.example/v1,AWS_SECRET_ACCESS_KEY",                        "https://vpce.example/v1",
                 "sigv4",																		 "eu-test-1"},
		{"d=anthropic,https://bedrock-mantle.us-west-2.api.aws.evil/anthropic/v1",
                 "https://bedrock-mantle.us-west-2.api.aws.evil/anthropic/v1",                                                                               "none",      NULL       },
		{"e=anthropic,https://bedrock-mantle.a.b.api.aws/anthropic/v1",
                 "https://bedrock-mantle.a.b.api.aws/anthropic/v1",											  "none",      NULL       },
		{"f=anthropic,https://bedrock-mantle.us-west-2.api.aws/anthropic/v1,OTHER_KEY",
                 "https://bedrock-mantle.us-west-2.api.aws/anthropic/v1",										    "x-api-key", NULL       },
	};
	static const struct {
		const char *spec;
		const struct error_kind *kind;
	} refused[] = {
		{"g=anthropic,http://127.0.0.1:1/v1,AWS_SECRET_ACCESS_KEY",                      &PROVIDER_INVALID_SPEC},
		{"h=anthropic,http://bedrock-mantle.us-west-2.api.aws/v1,AWS_SECRET_ACCESS_KEY",
                 &PROVIDER_INVALID_SPEC										},
	};
	_cleanup_(world) struct world *w = world_new(talk, NULL, NULL, NULL);
	struct error err = ERROR_INIT;

	(void)state;
	must(setenv("OTHER_KEY", "sk-test-0123456789", 1) == 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct provider *p;

		print_message("%s\n", rows[i].spec);
		assert_ok(providers_add(w->providers, str_from(rows[i].spec), &err), &err);
		p = providers_at(w->providers, i);
		assert_true(str_is(provider_url(p), rows[i].url));
		assert_string_equal(provider_auth_name(p), rows[i].auth);
		assert_true(str_eq(provider_region(p), str_from(rows[i].region)));
		assert_true(!provider_key(p) == !strstr(rows[i].auth, "key"));
	}
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		assert_fails(providers_add(w->providers, str_from(refused[i].spec), &err), &err,
			*refused[i].kind);
}

static void a_missing_region_is_said(void **state)
{
	_cleanup_(world) struct world *w = world_new(talk, NULL, NULL, NULL);
	struct error err = ERROR_INIT;

	(void)state;
	must(unsetenv("AWS_REGION") == 0 && unsetenv("AWS_SESSION_TOKEN") == 0);
	must(setenv("AWS_DEFAULT_REGION", "", 1) == 0);
	secret_store_free(w->keys);
	aws_free(w->net.aws);
	w->net.keys = w->keys = secret_store_new();
	w->net.aws = aws_new(
		&(struct aws_options){.loop = w->loop, .clock = clock_system(), .keys = w->keys});
	assert_fails(providers_add(w->providers, STR("bedrock"), &err), &err, AWS_CREDENTIALS);
	assert_non_null(strstr(err.text, "'bedrock'"));
	assert_non_null(strstr(err.text, "AWS_REGION or AWS_DEFAULT_REGION"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_family_is_signed),
		cmocka_unit_test(keys_of_the_program_sign),
		cmocka_unit_test(a_refusal_is_tried_once_with_new_keys),
		cmocka_unit_test(static_keys_are_tried_once),
		cmocka_unit_test(without_keys_nothing_is_sent),
		cmocka_unit_test(a_call_can_be_cancelled_while_keys_are_asked_for),
		cmocka_unit_test(specs_say_who_signs),
		cmocka_unit_test(a_missing_region_is_said),
	};

	return cmocka_run_group_tests_name("agent.provider_aws", tests, NULL, NULL);
}
