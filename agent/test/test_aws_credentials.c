/*
 * aws_credentials: what the environment says, what `aws` prints, how often it is asked, and what
 * becomes of keys that run out or are not taken. `aws` is a script on a PATH of the test's own.
 */
#include "agent/io/aws_credentials.h"

#include <sys/stat.h>

#include "os/os.h"
#include "test/testing.h"

enum { START_S = 1700000000, TIMEOUT_MS = 10000 };

static const char *const variables[] = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
	"AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"};

struct world {
	struct loop *loop;
	struct clock_fake clock;
	struct secret_store *store;
	struct secret_set *set;
	struct aws *aws;
	char *dir, *old_path;
};

/* What an ask was told. */
struct told {
	struct world *w;
	int count;
	char id[64], secret[64], token[64];
	uint64_t number;
	struct error err;
};

static void write_file(const struct world *w, const char *name, const char *text, mode_t mode)
{
	_cleanup_(mem) char *path = xasprintf("%s/%s", w->dir, name);
	struct error err = ERROR_INIT;

	assert_ok(os_replace_file(path, str_from(text), mode, &err), &err);
}

/* Its words are noted, one run a line; then it does this. */
static void fake_aws(const struct world *w, const char *does)
{
	_cleanup_(mem) char *text = xasprintf("#!/bin/sh\ncd '%s' || exit 9\n"
					      "echo \"$@ profile=$AWS_PROFILE\" >> runs\n%s\n",
		w->dir, does);

	write_file(w, "aws", text, 0700);
}

static char *runs(const struct world *w)
{
	_cleanup_(mem) char *path = xasprintf("%s/runs", w->dir);
	_cleanup_(buf) struct buf text = BUF_INIT(4096);

	(void)os_read_file(path, &text, NULL); /* none yet: it has not run */
	return buf_take(&text);
}

static int run_count(const struct world *w)
{
	_cleanup_(mem) char *text = runs(w);
	int count = 0;

	for (const char *c = text; *c; c++)
		count += *c == '\n';
	return count;
}

static void open_aws(struct world *w, int64_t timeout_ms)
{
	aws_free(w->aws);
	secret_store_free(w->store);
	w->store = secret_store_new();
	w->aws = aws_new(&(struct aws_options){.loop = w->loop,
		.clock = &w->clock.clock,
		.keys = w->store,
		.secrets = w->set,
		.timeout_ms = timeout_ms});
}

static struct world *world_new(void)
{
	struct world *w = xcalloc(1, sizeof(*w));

	for (size_t i = 0; i < ARRAY_LEN(variables); i++)
		must(unsetenv(variables[i]) == 0);
	w->dir = testing_dir();
	w->old_path = xstrdup(getenv("PATH"));
	_cleanup_(mem) char *path = xasprintf("relative:%s:%s", w->dir, w->old_path);
	must(setenv("PATH", path, 1) == 0);
	w->loop = loop_new();
	clock_fake_init(&w->clock, (int64_t)START_S * 1000, 5000);
	w->set = secret_set_new();
	open_aws(w, TIMEOUT_MS);
	return w;
}

static void world_free(struct world *w)
{
	struct error err = ERROR_INIT;

	aws_free(w->aws);
	loop_run(w->loop);
	loop_free(w->loop);
	secret_store_free(w->store);
	secret_set_free(w->set);
	must(setenv("PATH", w->old_path, 1) == 0);
	assert_ok(os_remove_tree(w->dir, &err), &err);
	free(w->dir);
	free(w->old_path);
	free(w);
}
MEM_CLEANUP(world, struct world *, world_free)

static void copy(char out[64], struct str s)
{
	(void)snprintf(out, 64, STR_FMT, STR_ARG(s));
}

static void on_ready(void *arg, const struct aws_grant *g, const struct error *err)
{
	struct told *t = arg;

	assert_int_equal(t->count++, 0);
	assert_true(!g != !err);
	if (err) {
		t->err = *err;
		assert_true(err->kind != NULL);
	} else {
		copy(t->id, g->keys.id);
		copy(t->secret, g->keys.secret);
		copy(t->token, g->keys.token);
		t->number = g->number;
		assert_true(t->number != 0);
	}
}

/* Asks and waits. */
static struct told ask(struct world *w, uint64_t refused)
{
	struct told t = {.w = w};

	(void)aws_ask(w->aws, refused, on_ready, &t);
	assert_int_equal(t.count, 0); /* never inside */
	loop_run(w->loop);
	assert_int_equal(t.count, 1);
	return t;
}

#define ANSWER(id, more)                                                                           \
	"echo '{\"Version\":1,\"AccessKeyId\":\"" id "\",\"SecretAccessKey\":\"secret-of-" id      \
	"\"" more "}'"

static void the_environment_comes_first(void **state)
{
	_cleanup_(world) struct world *w = world_new();
	struct told t;

	(void)state;
	fake_aws(w, ANSWER("never", ""));
	must(setenv("AWS_ACCESS_KEY_ID", "env-id", 1) == 0);
	must(setenv("AWS_SECRET_ACCESS_KEY", "env-secret", 1) == 0);
	open_aws(w, TIMEOUT_MS);
	t = ask(w, 0);
	assert_string_equal(t.id, "env-id");
	assert_string_equal(t.secret, "env-secret");
	assert_string_equal(t.token, "");
	must(setenv("AWS_SESSION_TOKEN", "env-token", 1) == 0);
	open_aws(w, TIMEOUT_MS);
	t = ask(w, 0);
	assert_string_equal(t.token, "env-token");
	assert_false(aws_may_renew(w->aws, t.number));
	t = ask(w, t.number);
	assert_string_equal(t.id, "env-id");
	assert_int_equal(run_count(w), 0);
}

static void half_of_the_keys_is_an_error(void **state)
{
	_cleanup_(world) struct world *w = world_new();
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(aws_check(w->aws, &err), &err);
	must(setenv("AWS_ACCESS_KEY_ID", "env-id", 1) == 0);
	open_aws(w, TIMEOUT_MS);
	assert_fails(aws_check(w->aws, &err), &err, AWS_CREDENTIALS);
	assert_non_null(strstr(err.text, "AWS_SECRET_ACCESS_KEY is not"));
}

static void the_region_is_named(void **state)
{
	static const struct {
		const char *region, *otherwise, *want;
	} rows[] = {
		{NULL,        NULL,        NULL       },
		{"us-east-1", NULL,        "us-east-1"},
		{NULL,        "eu-west-2", "eu-west-2"},
		{"us-east-1", "eu-west-2", "us-east-1"},
		{"",          "eu-west-2", "eu-west-2"},
		{"evil.com/", "eu-west-2", NULL       },
		{"US-EAST-1", NULL,        NULL       },
		{"us east",   NULL,        NULL       },
	};
	_cleanup_(world) struct world *w = world_new();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct error err = ERROR_INIT;

		must(unsetenv("AWS_REGION") == 0 && unsetenv("AWS_DEFAULT_REGION") == 0);
		must(!rows[i].region || setenv("AWS_REGION", rows[i].region, 1) == 0);
		must(!rows[i].otherwise || setenv("AWS_DEFAULT_REGION", rows[i].otherwise, 1) == 0);
		open_aws(w, TIMEOUT_MS);
		assert_true(str_eq(aws_region(w->aws, &err), str_from(rows[i].want)));
		assert_true(!rows[i].want == error_is(&err, &AWS_CREDENTIALS));
		assert_true(rows[i].want || strstr(err.text, "AWS_DEFAULT_REGION"));
	}
}

static bool is_redacted(const struct world *w, const char *value)
{
	_cleanup_(buf) struct buf out = BUF_INIT(4096);

	must(secret_redact(w->set, str_from(value), &out) == 0);
	return str_is(buf_str(&out), "[REDACTED]");
}

static void the_program_is_asked_once_for_all(void **state)
{
	_cleanup_(world) struct world *w = world_new();
	struct told t[3] = {{.w = w}, {.w = w}, {.w = w}};
	struct aws_ask *dropped;

	(void)state;
	must(setenv("AWS_PROFILE", "work", 1) == 0);
	fake_aws(w, ANSWER("first-key", ",\"SessionToken\":\"token-1\",\"Expiration\":null"));
	for (size_t i = 0; i < 2; i++)
		(void)aws_ask(w->aws, 0, on_ready, &t[i]);
	dropped = aws_ask(w->aws, 0, on_ready, &t[2]);
	aws_cancel(dropped);
	loop_run(w->loop);
	_cleanup_(mem) char *said = runs(w);
	assert_string_equal(said, "configure export-credentials --format process profile=work\n");
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(t[i].count, 1);
		assert_string_equal(t[i].id, "first-key");
		assert_string_equal(t[i].secret, "secret-of-first-key");
		assert_string_equal(t[i].token, "token-1");
	}
	assert_int_equal(t[2].count, 0);
	t[2] = ask(w, 0);
	assert_int_equal(t[2].number, t[0].number);
	assert_int_equal(run_count(w), 1);
	assert_true(is_redacted(w, "first-key") && is_redacted(w, "secret-of-first-key") &&
		    is_redacted(w, "token-1"));
}

/* Five minutes before they run out they are asked for again; what then fails leaves them good until
 * they are over. */
static void keys_are_renewed_in_time(void **state)
{
	_cleanup_(world) struct world *w = world_new();
	struct told t;

	(void)state;
	/* 1700000000 is 2023-11-14T22:13:20Z */
	fake_aws(w, ANSWER("one", ",\"Expiration\":\"2023-11-14T23:13:20Z\""));
	t = ask(w, 0);
	assert_string_equal(t.id, "one");
	clock_fake_advance(&w->clock, 3299 * 1000);
	assert_string_equal(ask(w, 0).id, "one");
	assert_int_equal(run_count(w), 1);
	clock_fake_advance(&w->clock, 1000);
	fake_aws(w, "echo 'no sign-in' >&2; exit 3");
	assert_string_equal(ask(w, 0).id, "one");
	assert_int_equal(run_count(w), 2);
	clock_fake_advance(&w->clock, 9999);
	assert_string_equal(ask(w, 0).id, "one");
	assert_int_equal(run_count(w), 2); /* at most every ten seconds */
	clock_fake_advance(&w->clock, 1);
	fake_aws(w, ANSWER("two", ",\"Expiration\":\"2023-11-15T05:13:20+01:00\""));
	assert_string_equal(ask(w, 0).id, "two");
	assert_int_equal(run_count(w), 3);
	assert_true(is_redacted(w, "secret-of-one") && is_redacted(w, "secret-of-two"));
	fake_aws(w, "exit 1");
	clock_fake_advance(&w->clock, 24 * 3600 * 1000);
	t = ask(w, 0);
	assert_true(error_is(&t.err, &AWS_CREDENTIALS));
	assert_int_equal(run_count(w), 4);
}

static void keys_that_are_refused_are_asked_for_again(void **state)
{
	_cleanup_(world) struct world *w = world_new();
	struct told t, again;

	(void)state;
	fake_aws(w, ANSWER("one", ""));
	t = ask(w, 0);
	assert_false(aws_may_renew(w->aws, t.number)); /* it was just asked */
	assert_string_equal(ask(w, t.number).id, "one");
	assert_int_equal(run_count(w), 1);
	clock_fake_advance(&w->clock, 10000);
	assert_true(aws_may_renew(w->aws, t.number));
	fake_aws(w, ANSWER("two", ""));
	again = ask(w, t.number);
	assert_string_equal(again.id, "two");
	assert_true(again.number != t.number);
	/* another who was refused with the old ones gets these */
	assert_true(aws_may_renew(w->aws, t.number));
	assert_string_equal(ask(w, t.number).id, "two");
	assert_int_equal(run_count(w), 2);
}

static void failures_say_what_and_no_key(void **state)
{
	static const struct {
		const char *name, *does, *words;
	} rows[] = {
		{"its words",				  "echo one >&2; echo 'the profile is not there' >&2; exit 255",
                 "ended with 255: the profile is not there"											  },
		{"a key among its words",
                 "echo 'aws_secret_access_key = hush-hush-hush' >&2; exit 1",						 "ended with 1: "       },
		{"a signal",				   "kill -9 $$",						  "ended with 137"       },
		{"no JSON",				    "echo hush-hush-hush",                                         "no JSON"              },
		{"a list",				     "echo '[1]'",						  "no JSON object"       },
		{"two values",				 "echo '{} {}'",						"no JSON"              },
		{"a name twice",                               "echo '{\"Version\":1,\"Version\":1}'",                        "no JSON"              },
		{"another version",
                 "echo '{\"Version\":2,\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\"}'",				    "Version must be 1"    },
		{"no secret",				  "echo '{\"Version\":1,\"AccessKeyId\":\"hush-hush-hush\"}'",
                 "SecretAccessKey must"													      },
		{"a number for an id",
                 "echo "
			"'{\"Version\":1,\"AccessKeyId\":1,\"SecretAccessKey\":\"hush-hush-hush\"}"
			"'",												  "AccessKeyId must"     },
		{"a token of another sort",                    ANSWER("x",                                                    ",\"SessionToken\":[]"),
                 "SessionToken must"},
		{"a moment that is none",					    ANSWER("x",										   ",\"Expiration\":\"tomorrow\""),
                 "Expiration must"},
		{"keys of yesterday",                            ANSWER("x",											 ",\"Expiration\":\"2023-11-13T00:00:00Z\""),
                 "have run out"},
		{"too much", "head -c 70000 /dev/zero | tr '\\0' a",											      "more than 64 KiB"														    },
	};
	_cleanup_(world) struct world *w = world_new();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct told t;

		print_message("%s\n", rows[i].name);
		fake_aws(w, rows[i].does);
		t = ask(w, 0);
		assert_true(error_is(&t.err, &AWS_CREDENTIALS));
		if (!strstr(t.err.text, rows[i].words))
			fail_msg("it says: %s", t.err.text);
		assert_null(strstr(t.err.text, "hush-hush-hush"));
		clock_fake_advance(&w->clock, 10000);
	}
}

static void a_program_that_hangs_is_ended(void **state)
{
	_cleanup_(world) struct world *w = world_new();
	struct told t;

	(void)state;
	open_aws(w, 200);
	fake_aws(w, "exec sleep 600");
	t = ask(w, 0);
	assert_non_null(strstr(t.err.text, "took too long"));
	/* the same answer for who comes at once, without another run */
	t = ask(w, 0);
	assert_non_null(strstr(t.err.text, "took too long"));
	assert_int_equal(run_count(w), 1);
}

static void no_program_is_said(void **state)
{
	_cleanup_(world) struct world *w = world_new();
	struct told t;

	(void)state;
	must(setenv("PATH", w->dir, 1) == 0);
	t = ask(w, 0);
	assert_non_null(strstr(t.err.text, "no `aws` on PATH"));
	write_file(w, "aws", "not a program", 0600);
	clock_fake_advance(&w->clock, 10000);
	t = ask(w, 0);
	assert_non_null(strstr(t.err.text, "no `aws` on PATH"));
	write_file(w, "aws", "#!/nonexistent/interpreter\n", 0700);
	clock_fake_advance(&w->clock, 10000);
	t = ask(w, 0);
	assert_true(error_is(&t.err, &AWS_CREDENTIALS));
}

/* Freed while the program runs and somebody waits. */
static void it_can_be_left_at_any_time(void **state)
{
	_cleanup_(world) struct world *w = world_new();
	struct told t = {.w = w};

	(void)state;
	fake_aws(w, "exec sleep 600");
	(void)aws_ask(w->aws, 0, on_ready, &t);
	struct loop_timer *stop = loop_timer_new(w->loop, (void (*)(void *))loop_stop, w->loop);
	loop_timer_set(stop, 50);
	loop_run(w->loop);
	loop_timer_free(stop);
	aws_free(mem_take(&w->aws));
	assert_int_equal(t.count, 0);
}

static void moments_are_read(void **state)
{
	static const struct {
		const char *text;
		int64_t want; /* -1: none */
	} rows[] = {
		{"2023-11-14T22:13:20Z",        1700000000},
		{"2023-11-14T22:13:20.123456Z", 1700000000},
		{"2023-11-14T23:13:20+01:00",   1700000000},
		{"2023-11-14T16:43:20-05:30",   1700000000},
		{"2024-02-29T00:00:00Z",        1709164800},
		{"1970-01-01T00:00:00+00:00",   0         },
		{"2023-02-29T00:00:00Z",        -1        },
		{"2023-11-14T22:13:20",         -1        },
		{"2023-11-14 22:13:20Z",        -1        },
		{"2023-11-14T22:13:20Zx",       -1        },
		{"2023-11-14T22:13:20+0100",    -1        },
		{"2023-11-14T22:13:20.Z",       -1        },
		{"2023-13-14T22:13:20Z",        -1        },
		{"",			    -1        },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t got = -1;

		assert_int_equal(
			aws_read_time(str_from(rows[i].text), &got), rows[i].want < 0 ? -1 : 0);
		assert_int_equal(got, rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_environment_comes_first),
		cmocka_unit_test(half_of_the_keys_is_an_error),
		cmocka_unit_test(the_region_is_named),
		cmocka_unit_test(the_program_is_asked_once_for_all),
		cmocka_unit_test(keys_are_renewed_in_time),
		cmocka_unit_test(keys_that_are_refused_are_asked_for_again),
		cmocka_unit_test(failures_say_what_and_no_key),
		cmocka_unit_test(a_program_that_hangs_is_ended),
		cmocka_unit_test(no_program_is_said),
		cmocka_unit_test(it_can_be_left_at_any_time),
		cmocka_unit_test(moments_are_read),
	};

	return cmocka_run_group_tests_name("agent.aws_credentials", tests, NULL, NULL);
}
