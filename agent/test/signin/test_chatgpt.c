/*
 * The daemon's hold on the sign-in: renewal before expiry and on refusal, one at a time, newer
 * sign-ins, refusals, failures, files that cannot be written. The issuer is a page of the provider
 * on loopback.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/io/chatgpt.h"
#include "agent/io/token_call.h"
#include "agent/io/tokens.h"
#include "os/os.h"
#include "test/harness/harness.h"
#include "testing.h"

#define NOW_S 1800000000
enum { ASKS_MAX = 8, PATIENCE_MS = 20000 };

#define GIVES(access, refresh)                                                                     \
	"{\"pages\":{\"/oauth/token\":{\"headers\":{\"content-type\":\"application/json\"},"       \
	"\"body\":\"{\\\"access_token\\\":\\\"" access "\\\",\\\"refresh_token\\\":\\\"" refresh   \
	"\\\",\\\"expires_in\\\":3600}\"}}}"

struct told {
	struct world *w;
	bool done;
	char *key, *account;
	uint64_t number;
	struct error err;
};
struct world {
	struct loop *loop;
	struct fetch *fetch;
	struct clock_fake clock;
	struct secret_set *secrets;
	struct harness *harness;
	char *dir, *path, *issuer;
	struct chatgpt *chatgpt;
	struct told told[ASKS_MAX];
	size_t count;
	struct loop_timer *late;
};

static int setup(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));

	w->loop = loop_new();
	must(fetch_new(&(struct fetch_options){.loop = w->loop}, &w->fetch, NULL) == 0);
	clock_fake_init(&w->clock, NOW_S * INT64_C(1000), 0);
	w->secrets = secret_set_new();
	w->dir = testing_dir();
	w->path = xasprintf("%s/chatgpt.json", w->dir);
	w->chatgpt = chatgpt_new(&(struct chatgpt_options){.loop = w->loop,
		.fetch = w->fetch,
		.clock = &w->clock.clock,
		.secrets = w->secrets,
		.path = w->path});
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < w->count; i++) {
		free(w->told[i].key);
		free(w->told[i].account);
	}
	loop_timer_free(w->late);
	chatgpt_free(w->chatgpt);
	fetch_free(w->fetch);
	loop_free(w->loop);
	harness_stop(w->harness);
	secret_set_free(w->secrets);
	must(os_remove_tree(w->dir, NULL) == 0);
	free(w->dir);
	free(w->path);
	free(w->issuer);
	free(w);
	return 0;
}

static void issuer_is(struct world *w, const char *script)
{
	struct error err = ERROR_INIT;
	const char *url;

	assert_ok(
		harness_start(&(struct harness_start){.script = script}, &w->harness, &err), &err);
	url = harness_url(w->harness);
	w->issuer = xstrndup(url, strlen(url) - strlen("/v1"));
}

/* Writes a sign-in; `left_s` seconds of it are left, of an hour. */
static void signed_in(struct world *w, const char *access, const char *refresh, int64_t left_s)
{
	const struct oauth_answer a = {.access = str_from(access),
		.refresh = str_from(refresh),
		.account = STR("acct-1"),
		.expires_s = NOW_S + left_s};
	_cleanup_(tokens) struct tokens t = {.issuer = NULL};
	struct error err = ERROR_INIT;

	tokens_from_answer(
		&t, w->issuer ? w->issuer : "http://127.0.0.1:9", &a, NOW_S + left_s - 3600, NULL);
	assert_ok(tokens_write(w->path, &t, &err), &err);
}

static void on_ready(void *arg, const struct auth_grant *g, const struct error *err)
{
	struct told *t = arg;

	assert_false(t->done);
	t->done = true;
	if (err) {
		t->err = *err;
	} else {
		struct str key = secret_expose(g->key);

		t->key = xstrndup(key.p, key.len);
		t->account = xstrdup(g->more);
		t->number = g->number;
	}
	for (size_t i = 0; i < t->w->count; i++) {
		if (!t->w->told[i].done)
			return;
	}
	loop_stop(t->w->loop);
}

static void ask(struct world *w, uint64_t refused)
{
	struct told *t = &w->told[w->count++];

	must(w->count <= ASKS_MAX);
	t->w = w;
	(void)chatgpt_ask(w->chatgpt, refused, on_ready, t);
}

static void on_late(void *arg)
{
	(void)arg;
	fail_msg("nobody was told");
}

static const struct told *answered(struct world *w)
{
	if (!w->late)
		w->late = loop_timer_new(w->loop, on_late, w);
	loop_timer_set(w->late, PATIENCE_MS);
	loop_run(w->loop);
	return &w->told[w->count - 1];
}

static const struct told *ask_one(struct world *w, uint64_t refused)
{
	ask(w, refused);
	return answered(w);
}

static size_t renewals(struct world *w)
{
	struct error err = ERROR_INIT;

	assert_ok(harness_read(w->harness, &err), &err);
	return harness_count(w->harness);
}

static void assert_key(const struct told *t, const char *want)
{
	if (!t->key)
		fail_msg("%s: %s", error_code(&t->err), t->err.text);
	assert_string_equal(t->key, want);
	assert_string_equal(t->account, "acct-1");
}

static void assert_redacted(struct world *w, const char *text, bool want)
{
	_cleanup_(buf) struct buf out = BUF_INIT(4096);

	assert_int_equal(secret_redact(w->secrets, str_from(text), &out), 0);
	assert_int_equal(str_is(buf_str(&out), "[REDACTED]"), want);
}

static void assert_file_holds(struct world *w, const char *access, const char *refresh)
{
	_cleanup_(tokens) struct tokens t = {.issuer = NULL};
	struct error err = ERROR_INIT;
	struct stat st;

	assert_ok(tokens_read(w->path, &t, &st, &err), &err);
	assert_true(str_is(secret_expose(t.access), access));
	assert_true(str_is(secret_expose(t.refresh), refresh));
	assert_string_equal(t.account, "acct-1");
	assert_string_equal(t.issuer, w->issuer);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void good_tokens_are_used_as_they_are(void **state)
{
	struct world *w = *state;

	issuer_is(w, GIVES("access-new", "refresh-new"));
	signed_in(w, "access-old", "refresh-old", 1800);
	assert_key(ask_one(w, 0), "access-old");
	assert_int_equal(renewals(w), 0);
	assert_redacted(w, "access-old", true);
	assert_redacted(w, "refresh-old", true);
}

static void nobody_is_signed_in(void **state)
{
	struct world *w = *state;
	const struct told *t = ask_one(w, 0);

	assert_true(error_is(&t->err, &TOKENS_MISSING));
	assert_non_null(strstr(t->err.text, "agent login chatgpt"));
	signed_in(w, "access-old", "refresh-old", 1800); /* seen without a restart */
	assert_key(ask_one(w, 0), "access-old");
}

/* AG-170: before they expire, and after. */
static void tokens_are_renewed_by_time(void **state)
{
	static const int64_t left[] = {299, 1, 0, -5000};

	for (size_t i = 0; i < ARRAY_LEN(left); i++) {
		struct world *w;

		if (i > 0) {
			assert_int_equal(teardown(state), 0);
			assert_int_equal(setup(state), 0);
		}
		w = *state;
		issuer_is(w, GIVES("access-new", "refresh-new"));
		signed_in(w, "access-old", "refresh-old", left[i]);
		assert_key(ask_one(w, 0), "access-new");
		assert_int_equal(renewals(w), 1);
		assert_file_holds(w, "access-new", "refresh-new");
		assert_key(ask_one(w, 0), "access-new");
		assert_int_equal(renewals(w), 1);
		assert_redacted(w, "access-old", true); /* AG-179 */
		assert_redacted(w, "refresh-old", true);
		assert_redacted(w, "access-new", true);
		assert_redacted(w, "refresh-new", true);
	}
}

static void the_form_is_as_it_should_be(void **state)
{
	struct world *w = *state;
	const struct json *row;

	issuer_is(w, GIVES("access-new", "refresh-new"));
	signed_in(w, "access-old", "refresh+old", -1);
	assert_key(ask_one(w, 0), "access-new");
	assert_int_equal(renewals(w), 1);
	row = harness_row(w->harness, 0);
	assert_true(str_is(json_str(json_get(row, "method")), "POST"));
	assert_true(str_is(json_str(json_get(row, "body")),
		"grant_type=refresh_token&client_id=app_EMoamEEZ73f0CkXaXp7hrann"
		"&refresh_token=refresh%2Bold"));
	assert_true(
		str_is(harness_header(row, "content-type"), "application/x-www-form-urlencoded"));
	assert_null(harness_header(row, "authorization").p);
}

static void tokens_that_were_refused_are_renewed_once(void **state)
{
	struct world *w = *state;
	const struct told *first, *second;

	issuer_is(w, GIVES("access-new", "refresh-new"));
	signed_in(w, "access-old", "refresh-old", 1800);
	first = ask_one(w, 0);
	second = ask_one(w, first->number);
	assert_key(second, "access-new");
	assert_int_equal(renewals(w), 1);
	/* Another call of the old tokens hears of it later: others are there already. */
	assert_key(ask_one(w, first->number), "access-new");
	assert_int_equal(renewals(w), 1);
}

static void all_who_wait_share_one_renewal(void **state)
{
	struct world *w = *state;

	issuer_is(w, GIVES("access-new", "refresh-new"));
	signed_in(w, "access-old", "refresh-old", -1);
	for (int i = 0; i < 6; i++)
		ask(w, 0);
	(void)answered(w);
	for (int i = 0; i < 6; i++)
		assert_key(&w->told[i], "access-new");
	assert_int_equal(renewals(w), 1);
}

static void one_of_those_who_wait_leaves(void **state)
{
	struct world *w = *state;
	struct told gone = {.w = w};
	struct chatgpt_ask *wait;

	issuer_is(w, GIVES("access-new", "refresh-new"));
	signed_in(w, "access-old", "refresh-old", -1);
	wait = chatgpt_ask(w->chatgpt, 0, on_ready, &gone);
	ask(w, 0);
	chatgpt_cancel(wait);
	assert_key(answered(w), "access-new");
	assert_false(gone.done);
}

/* An answer that leaves the refresh token out means the old one. */
static void what_an_answer_leaves_out_stays(void **state)
{
	struct world *w = *state;

	issuer_is(w, "{\"pages\":{\"/oauth/token\":{\"body\":\"{\\\"access_token\\\":"
		     "\\\"access-new\\\"}\"}}}");
	signed_in(w, "access-old", "refresh-old", -1);
	assert_key(ask_one(w, 0), "access-new");
	assert_file_holds(w, "access-new", "refresh-old");
}

/* Their clock is not ours: what was just given is used, and renewed again for the next. */
static void tokens_that_seem_over_when_they_come_are_used(void **state)
{
	struct world *w = *state;

	/* Its claims: {"exp":1700009999} */
	issuer_is(w, GIVES("e30.eyJleHAiOjE3MDAwMDk5OTl9.c2ln", "refresh-new"));
	signed_in(w, "access-old", "refresh-old", -1);
	assert_key(ask_one(w, 0), "e30.eyJleHAiOjE3MDAwMDk5OTl9.c2ln");
	assert_int_equal(renewals(w), 1);
}

static void a_newer_sign_in_counts(void **state)
{
	struct world *w = *state;
	const struct told *first;

	issuer_is(w, GIVES("access-new", "refresh-new"));
	signed_in(w, "access-old", "refresh-old", 1800);
	first = ask_one(w, 0);
	signed_in(w, "access-again", "refresh-again", 1800);
	assert_key(ask_one(w, first->number), "access-again");
	assert_int_equal(renewals(w), 0);
	assert_redacted(w, "access-old", true);
	assert_redacted(w, "access-again", true);
}

/* It comes while a renewal of the older one is under way, and is not written over. */
static void a_newer_sign_in_stands(void **state)
{
	struct world *w = *state;
	struct error err = ERROR_INIT;

	issuer_is(w, "{\"pages\":{\"/oauth/token\":{\"delay_ms\":300,\"body\":"
		     "\"{\\\"access_token\\\":\\\"access-new\\\"}\"}}}");
	signed_in(w, "access-old", "refresh-old", -1);
	ask(w, 0);
	for (int i = 0; i < 1000 && renewals(w) == 0; i++) { /* until it is asked */
		struct loop_timer *t = loop_timer_new(
			w->loop, (void (*)(void *))loop_stop, w->loop);

		loop_timer_set(t, 2);
		loop_run(w->loop);
		loop_timer_free(t);
	}
	assert_ok(harness_wait(w->harness, 1, PATIENCE_MS, &err), &err);
	signed_in(w, "access-again", "refresh-again", 1800);
	assert_key(answered(w), "access-again");
	assert_file_holds(w, "access-again", "refresh-again");
	assert_redacted(w, "access-new", true);
}

static void a_refusal_says_to_sign_in_and_is_not_asked_for_again(void **state)
{
	struct world *w = *state;
	const struct told *t;

	issuer_is(w, "{\"pages\":{\"/oauth/token\":{\"status\":400,\"body\":"
		     "\"{\\\"error\\\":\\\"invalid_grant\\\"}\"}}}");
	signed_in(w, "access-old", "refresh-old", -1);
	for (int i = 0; i < 3; i++) {
		t = ask_one(w, 0);
		assert_true(error_is(&t->err, &CHATGPT_ENDED));
		assert_non_null(strstr(t->err.text, "invalid_grant"));
		assert_non_null(strstr(t->err.text, "agent login chatgpt"));
		assert_null(strstr(t->err.text, "-old"));
	}
	assert_int_equal(renewals(w), 1);
	signed_in(w, "access-again", "refresh-again", 1800);
	assert_key(ask_one(w, 0), "access-again");
}

/* Tokens that have a little time left are used when they cannot be renewed. */
static void what_is_left_is_used(void **state)
{
	static const char *const scripts[] = {
		"{\"pages\":{\"/oauth/token\":{\"status\":400,\"body\":\"{}\"}}}",
		"{\"pages\":{\"/oauth/token\":{\"status\":503,\"body\":\"\"}}}",
		"{\"pages\":{\"/oauth/token\":{\"body\":\"no json\"}}}",
	};

	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		struct world *w;

		if (i > 0) {
			assert_int_equal(teardown(state), 0);
			assert_int_equal(setup(state), 0);
		}
		w = *state;
		issuer_is(w, scripts[i]);
		signed_in(w, "access-old", "refresh-old", 60);
		assert_key(ask_one(w, 0), "access-old");
		assert_int_equal(renewals(w), 1);
		assert_file_holds(w, "access-old", "refresh-old");
	}
}

static void a_failure_may_pass(void **state)
{
	struct world *w = *state;
	const struct told *t;

	issuer_is(w, "{\"pages\":{\"/oauth/token\":{\"fault\":503,\"times\":1,\"body\":"
		     "\"{\\\"access_token\\\":\\\"access-new\\\"}\"}}}");
	signed_in(w, "access-old", "refresh-old", -1);
	t = ask_one(w, 0);
	assert_true(error_is(&t->err, &TOKEN_CALL_UNAVAILABLE));
	assert_key(ask_one(w, 0), "access-new");
}

static void nobody_answers(void **state)
{
	struct world *w = *state;
	const struct told *t;

	signed_in(w, "access-old", "refresh-old", -1); /* at the discard port */
	t = ask_one(w, 0);
	assert_true(error_is(&t->err, &TOKEN_CALL_UNAVAILABLE));
	assert_null(strstr(t->err.text, "-old"));
}

#ifdef CONSORT_SANITIZED
/* The first write fails; it is made up for. */
static void a_file_that_cannot_be_written(void **state)
{
	struct world *w = *state;

	issuer_is(w, GIVES("access-new", "refresh-new"));
	signed_in(w, "access-old", "refresh-old", -1);
	chatgpt_look(w->chatgpt);
	os_fault_at(1, ENOSPC);
	assert_key(ask_one(w, 0), "access-new");
	assert_true(os_fault_calls() >= 1);
	os_fault_at(0, 0);
	assert_file_holds(w, "access-new", "refresh-new");
	assert_int_equal(renewals(w), 1);
}
#endif

static void files_that_are_refused(void **state)
{
	static const struct {
		const char *text;
		mode_t mode;
		const struct error_kind *kind;
	} rows[] = {
		{"{\"version\":1,\"issuer\":\"https://a.example\",\"access_token\":\"marker\"}",
                 0644,										 &TOKENS_PERMISSIONS},
		{"{\"version\":1,\"issuer\":\"https://a.example\",\"access_token\":\"marker\"}",
                 0620,										 &TOKENS_PERMISSIONS},
		{"{\"version\":2,\"issuer\":\"https://a.example\",\"access_token\":\"marker\"}",
                 0600,										 &TOKENS_INVALID    },
		{"{\"version\":1,\"issuer\":\"http://a.example\",\"access_token\":\"marker\"}",
                 0600,										 &TOKENS_INVALID    },
		{"{\"version\":1,\"issuer\":\"https://a.example\"}",                             0600, &TOKENS_INVALID    },
		{"marker",								       0600, &TOKENS_INVALID    },
		{"",									     0600, &TOKENS_INVALID    },
	};
	struct world *w = *state;
	struct error err = ERROR_INIT;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct told *t;

		assert_ok(
			os_replace_file(w->path, str_from(rows[i].text), rows[i].mode, &err), &err);
		t = ask_one(w, 0);
		assert_true(error_is(&t->err, rows[i].kind));
		assert_null(strstr(t->err.text, "marker"));
	}
}

static void a_link_or_a_fifo_is_no_file(void **state)
{
	struct world *w = *state;
	const struct told *t;

	assert_int_equal(symlink("/etc/passwd", w->path), 0);
	t = ask_one(w, 0);
	assert_non_null(t->err.kind);
	assert_int_equal(unlink(w->path), 0);
	assert_int_equal(mkfifo(w->path, 0600), 0);
	t = ask_one(w, 0);
	assert_true(error_is(&t->err, &TOKENS_INVALID));
}

#ifdef CONSORT_SANITIZED
/* Each call into os fails once: the file is the old or the new one, whole. */
static void the_file_is_whole_whatever_fails(void **state)
{
	struct world *w = *state;
	struct error err = ERROR_INIT;
	unsigned nth = 1;
	int rc;

	w->issuer = xstrdup("http://127.0.0.1:9");
	do {
		const struct oauth_answer a = {.access = STR("access-new"),
			.refresh = STR("refresh-new"),
			.account = STR("acct-1")};
		_cleanup_(tokens) struct tokens t = {.issuer = NULL};
		_cleanup_(tokens) struct tokens got = {.issuer = NULL};

		signed_in(w, "access-old", "refresh-old", 1800);
		tokens_from_answer(&t, w->issuer, &a, NOW_S, NULL);
		os_fault_at(nth, EIO);
		rc = tokens_write(w->path, &t, NULL);
		os_fault_at(0, 0);
		assert_ok(tokens_read(w->path, &got, NULL, &err), &err);
		if (rc == 0)
			assert_true(tokens_same(&got, &t));
		else
			assert_true(str_is(secret_expose(got.access), "access-old") ||
				    tokens_same(&got, &t));
		nth++;
	} while (rc < 0 && nth < 100);
	assert_int_equal(rc, 0);
	assert_true(nth > 5);
}
#endif

#define IN_WORLD(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(good_tokens_are_used_as_they_are),
		IN_WORLD(nobody_is_signed_in),
		IN_WORLD(tokens_are_renewed_by_time),
		IN_WORLD(the_form_is_as_it_should_be),
		IN_WORLD(tokens_that_were_refused_are_renewed_once),
		IN_WORLD(all_who_wait_share_one_renewal),
		IN_WORLD(one_of_those_who_wait_leaves),
		IN_WORLD(what_an_answer_leaves_out_stays),
		IN_WORLD(tokens_that_seem_over_when_they_come_are_used),
		IN_WORLD(a_newer_sign_in_counts),
		IN_WORLD(a_newer_sign_in_stands),
		IN_WORLD(a_refusal_says_to_sign_in_and_is_not_asked_for_again),
		IN_WORLD(what_is_left_is_used),
		IN_WORLD(a_failure_may_pass),
		IN_WORLD(nobody_answers),
		IN_WORLD(files_that_are_refused),
		IN_WORLD(a_link_or_a_fifo_is_no_file),
#ifdef CONSORT_SANITIZED
		IN_WORLD(a_file_that_cannot_be_written),
		IN_WORLD(the_file_is_whole_whatever_fails),
#endif
	};

	return cmocka_run_group_tests_name("chatgpt", tests, NULL, NULL);
}
