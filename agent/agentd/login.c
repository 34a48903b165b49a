/*
 * agent login chatgpt: the browser signs in, this process gets the tokens.
 *
 *	listen → open the page → callback with a code → tokens for the code → file → tell the
 *browser
 *
 * The listener lives no longer than this command, and this command no longer than its limit
 * (AG-023, AG-025).
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agentd/agentd.h"
#include "agent/agentd/browser.h"
#include "agent/cmd/agentd.h"
#include "agent/cmd/caller.h"
#include "agent/cmd/output.h"
#include "agent/io/callback.h"
#include "agent/io/token_call.h"
#include "agent/io/tokens.h"
#include "fetch/fetch.h"
#include "mem/mem.h"
#include "os/os.h"
#include "url/url.h"

enum {
	FORM_MAX_BYTES = 64 * 1024,
	SAID_MAX_BYTES = 300, /* ours: of an issuer's own words */
};

static const struct error_kind TIMED_OUT = {"signin_timed_out", ERROR_CLASS_UNAVAILABLE};
static const struct error_kind INTERRUPTED = {"interrupted", ERROR_CLASS_UNAVAILABLE};
static const struct error_kind DENIED = {"signin_denied", ERROR_CLASS_DENIED};

struct login {
	struct loop *loop;
	struct fetch *fetch;
	struct callback *callback;
	struct token_call *call;
	struct loop_timer *limit;
	struct loop_signal *signals[3];
	struct browser *browser;
	char *issuer, *folder, *path;
	char verifier[OAUTH_CHARS_SIZE], state[OAUTH_CHARS_SIZE];
	bool signed_in;
	struct error err; /* of a sign-in that failed */
};

static void login_release(struct login *l)
{
	browser_free(l->browser);
	for (size_t i = 0; i < ARRAY_LEN(l->signals); i++)
		loop_signal_free(l->signals[i]);
	loop_timer_free(l->limit);
	token_call_cancel(l->call);
	callback_close(l->callback);
	fetch_free(l->fetch);
	loop_free(l->loop);
	free(l->issuer);
	free(l->folder);
	free(l->path);
	explicit_bzero(l->verifier, sizeof(l->verifier));
}
static inline void login_cleanup(struct login *l)
{
	login_release(l);
}

/*
 * Ends.
 */
static void on_told(void *arg)
{
	struct login *l = arg;

	loop_stop(l->loop);
}

/* The browser is told how it went; l->err says it here. */
static void finish(struct login *l, bool good)
{
	l->signed_in = good;
	callback_finish(l->callback, good, on_told);
}

static void on_limit(void *arg)
{
	struct login *l = arg;

	(void)error_set(&l->err, &TIMED_OUT, "nobody signed in within the time limit");
	loop_stop(l->loop);
}

static void on_signal(void *arg, int signum)
{
	struct login *l = arg;

	(void)error_set(&l->err, &INTERRUPTED, "stopped by %s", strsignal(signum));
	loop_stop(l->loop);
}

/*
 * The code, and tokens for it.
 */
static int keep(struct login *l, const struct oauth_answer *answer, struct error *err)
{
	_cleanup_(tokens) struct tokens t = {.issuer = NULL};

	if (!answer->account.p)
		return error_set(err, &OAUTH_INVALID, "the tokens name no ChatGPT account");
	tokens_from_answer(&t, l->issuer, answer, clock_real_ms(clock_system()) / 1000, NULL);
	return tokens_write(l->path, &t, err);
}

static void on_answer(void *arg, const struct oauth_answer *answer, const struct error *err)
{
	struct login *l = arg;

	l->call = NULL;
	if (err)
		l->err = *err;
	finish(l, !err && keep(l, answer, &l->err) == 0);
}

static int exchange(struct login *l, struct str code, struct error *err)
{
	_cleanup_(secret_buf) struct buf form = BUF_INIT(FORM_MAX_BYTES);
	const struct oauth_ask ask = {l->issuer, l->verifier, l->state, callback_port(l->callback)};

	must(buf_reserve(&form, FORM_MAX_BYTES) == 0);
	oauth_put_code_form(&form, &ask, code);
	if (form.full)
		return error_set(err, &OAUTH_INVALID, "the code is too long");
	return token_call_start(
		&(struct token_request){l->fetch, clock_system(), l->issuer, &form, on_answer, l},
		&l->call, err);
}

static void on_callback(void *arg, const struct callback_answer *a)
{
	struct login *l = arg;
	struct str error = str_cut(a->error, SAID_MAX_BYTES);
	struct str what = str_cut(a->description, SAID_MAX_BYTES);

	if (a->code.p) {
		if (exchange(l, a->code, &l->err) < 0)
			finish(l, false);
		return;
	}
	(void)error_set(&l->err, &DENIED, "the issuer says: " STR_FMT "%s" STR_FMT, STR_ARG(error),
		what.len > 0 ? ": " : "", (int)what.len, what.len > 0 ? what.p : "");
	finish(l, false);
}

/*
 * Before.
 */
static int make_texts(struct login *l, struct error *err)
{
	unsigned char random[2][OAUTH_RANDOM_BYTES];

	if (os_random(random, sizeof(random), err) < 0)
		return -1;
	oauth_spell(random[0], l->verifier);
	oauth_spell(random[1], l->state);
	explicit_bzero(random, sizeof(random));
	return 0;
}

/* Everything that can be wrong here is found before anybody is sent to a page. */
static int find_place(struct login *l, const struct login_options *o, struct error *err)
{
	struct str issuer = str_from(o->issuer ? o->issuer : oauth_chatgpt.issuer);
	char *slash;

	if (oauth_check_issuer(issuer, &issuer, err) < 0 || tokens_path(&l->path, err) < 0)
		return -1;
	l->issuer = xstrndup(issuer.p, issuer.len);
	l->folder = xstrdup(l->path);
	slash = strrchr(l->folder, '/');
	must(slash);
	*slash = '\0';
	return os_mkdir_private(l->folder, NULL, err); /* AG-030 */
}

static const char *environment(const char *upper, const char *lower)
{
	const char *set = getenv(lower);

	return set ? set : getenv(upper);
}

static int start(struct login *l, const struct login_options *o, struct error *err)
{
	static const int signums[] = {SIGINT, SIGTERM, SIGHUP};
	const struct callback_options callback = {.loop = l->loop,
		.port = o->port.set ? (uint16_t)o->port.value : oauth_chatgpt.port,
		.state = l->state,
		.arrived = on_callback,
		.arg = l};
	const struct fetch_options fetch = {.loop = l->loop,
		.https_proxy = environment("HTTPS_PROXY", "https_proxy"),
		.no_proxy = environment("NO_PROXY", "no_proxy")};

	if (fetch_new(&fetch, &l->fetch, err) < 0)
		return -1;
	if (callback_open(&callback, &l->callback, err) < 0) {
		if (err && err->sys == EADDRINUSE)
			return error_prefix(err, "another sign-in may be under way");
		return -1;
	}
	for (size_t i = 0; i < ARRAY_LEN(signums); i++)
		l->signals[i] = loop_signal_new(l->loop, signums[i], on_signal, l);
	l->limit = loop_timer_new(l->loop, on_limit, l);
	loop_timer_set(l->limit, 1000 * (o->timeout.set ? o->timeout.value : LOGIN_LIMIT_S));
	return 0;
}

static void show_page(struct login *l, bool open)
{
	_cleanup_(buf) struct buf url = BUF_INIT(URL_MAX_BYTES);
	_cleanup_(buf) struct buf text = BUF_INIT(2 * URL_MAX_BYTES);
	const struct oauth_ask ask = {l->issuer, l->verifier, l->state, callback_port(l->callback)};
	struct error err = ERROR_INIT;

	oauth_put_authorize_url(&url, &ask);
	must(!url.full);
	if (tokens_codex_signed_in())
		(void)buf_puts(&text,
			"Codex is signed in on this account of the machine. Its sign-in "
			"is its own: it is\nnot read, and Agent needs one of its own.\n\n");
	(void)buf_printf(&text, "Sign in to ChatGPT on this page:\n\n%s\n\n", url.data);
	output_buf(&text);
	output_flush();
	if (open && browser_open(l->loop, url.data, &l->browser, &err) < 0) {
		(void)fprintf(stderr, "agent login: no browser was opened: %s\n", err.text);
	}
}

static int sign_in(struct login *l, const struct login_options *o, struct error *err)
{
	if (find_place(l, o, err) < 0 || make_texts(l, err) < 0 || start(l, o, err) < 0)
		return -1;
	show_page(l, !o->no_browser);
	loop_run(l->loop);
	if (l->signed_in)
		return 0;
	*err = l->err;
	return -1;
}

int agentd_login(void *options, char **args, int count)
{
	const struct login_options *o = options;
	_cleanup_(login) struct login l = {.loop = NULL};
	_cleanup_(buf) struct buf text = BUF_INIT(URL_MAX_BYTES);
	struct error err = ERROR_INIT;

	(void)args;
	(void)count;
	if (caller_in_tool_shell())
		return caller_refused("login", "login");
	l.loop = loop_new();
	if (sign_in(&l, o, &err) < 0) {
		(void)fprintf(stderr, "agent login: %s: %s\n", error_code(&err), err.text);
		return error_is(&err, &OAUTH_ISSUER) ? CLI_USAGE : CLI_FAILED;
	}
	(void)buf_puts(&text, "Signed in. The tokens are in ");
	(void)text_put_line(&text, str_from(l.path)); /* a path is shorter than that */
	(void)buf_puts(&text, ".\n");
	output_buf(&text);
	return output_end("login", CLI_OK);
}
