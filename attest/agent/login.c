/* The ChatGPT sign-in: its listener, its file, and what becomes of the tokens. */
#include "attest/suites.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attest/drill.h"
#include "attest/internal.h"
#include "attest/issuer.h"
#include "attest/trace.h"

#define FILE_WRITES "open,openat,rename,renameat,renameat2,link,linkat,chmod,fchmod,fchmodat"
#define NO_LEAKS    "ASAN_OPTIONS=detect_leaks=0" /* it fails where ptrace is in use */

static const char *tokens_file(struct attest *t)
{
	return attest_path(t, "%s/.agent/chatgpt.json", attest_home(t));
}

/* The second column of lines of /proc/net/tcp that listen at the port. */
static int listeners(struct attest *t, const char *file, int port, const char *address)
{
	struct str rest = attest_read(t, file), line;
	const char *want = attest_path(t, "%s:%04X ", address, (unsigned)port);
	const char *any = attest_path(t, ":%04X ", (unsigned)port);
	int count = 0;

	while (str_next(&rest, '\n', &line)) {
		ptrdiff_t at = str_find(line, STR(": "), 0);
		struct str local = {line.p + at + 2, at < 0 ? 0 : line.len - (size_t)at - 2};
		struct str place = str_cut(local, strcspn(local.len > 0 ? local.p : "", " ") + 1);

		if (at < 0 || str_find(local, STR(" 0A "), 0) < 0)
			continue;
		count += *address ? str_is(place, want) : str_ends(place, str_from(any));
	}
	return count;
}

static bool reaches(struct attest *t, const char *address, int port)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at = {
		.v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)}
        };
	bool v6 = inet_pton(AF_INET6, address, &at.v6.sin6_addr) == 1;
	int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool there;

	if (fd < 0 && v6)
		return false; /* a machine without IPv6 */
	if (!v6) {
		at.v4 = (struct sockaddr_in){
			.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
		must(inet_pton(AF_INET, address, &at.v4.sin_addr) == 1);
	}
	there = connect(fd, &at.any, v6 ? sizeof(at.v6) : sizeof(at.v4)) == 0;
	attest_true(t, there || errno == ECONNREFUSED || v6, "%s: %s", address, strerror(errno));
	(void)close(fd);
	return there;
}

static void AG_024_the_callback_is_bound_to_127_0_0_1(struct attest *t)
{
	struct issuer *i = issuer_start(t);
	struct signin s = signin_begin(t, i, &(struct signin_start){.mask = 0022});

	attest_true(t, listeners(t, "/proc/net/tcp", s.port, "0100007F") == 1,
		"nothing listens on 127.0.0.1:%d", s.port);
	attest_true(t, listeners(t, "/proc/net/tcp", s.port, "") == 1,
		"port %d is listened on at more than one address", s.port);
	attest_true(t, listeners(t, "/proc/net/tcp6", s.port, "") == 0,
		"port %d is listened on by IPv6", s.port);
	attest_true(t, !reaches(t, "127.0.0.2", s.port), "127.0.0.2 is answered");
	attest_true(t, !reaches(t, "::1", s.port), "::1 is answered");
	attest_true(t, reaches(t, "127.0.0.1", s.port), "127.0.0.1 is not answered");
	(void)kill(s.pid, SIGTERM); /* the case's end would */
	(void)signin_end(t, &s);
}

static void check_closed(struct attest *t, const char *how, int port)
{
	attest_true(
		t, listeners(t, "/proc/net/tcp", port, "") == 0, "%s: the port is still open", how);
}

/* The longest the traced process was ready to wait, in ms. */
static int64_t longest_wait(struct attest *t, const char *file)
{
	struct trace tr = trace_read(t, file);
	int64_t longest = 0;

	for (size_t i = 0; i < tr.count; i++) {
		struct str args = tr.calls[i].args, arg, ms;
		int64_t value;

		if (!trace_names(&tr.calls[i], "epoll_wait") &&
			!trace_names(&tr.calls[i], "epoll_pwait"))
			continue;
		/* epoll_wait(fd, events, max, MS) or epoll_pwait(…, MS, mask, size). */
		if (trace_names(&tr.calls[i], "epoll_pwait")) {
			ptrdiff_t at = str_find(args, STR(", NULL, "), 0);

			must(at > 0);
			args.len = (size_t)at;
		}
		ms = args;
		while (str_next(&args, ' ', &arg))
			ms = arg;
		if (text_i64(ms, -1, INT32_MAX, "ms", &value, NULL) == 0 && value > longest)
			longest = value;
	}
	return longest;
}

static void AG_025_the_callback_is_open_for_minutes_at_most(struct attest *t)
{
	static const char *const second[] = {"--timeout=1", NULL};
	static const char *const long_one[] = {
		NULL, "login", "chatgpt", "--no-browser", "--port=0", "--timeout=901", NULL};
	static const char *const env[] = {NO_LEAKS, NULL};
	struct issuer *i = issuer_start(t);
	const char *argv[ARRAY_LEN(long_one)], *file;
	struct signin s;
	int64_t limit_ms;

	s = signin_begin(t, i, &(struct signin_start){.mask = 0022});
	attest_has(t, "the browser", signin_browse(t, &s), "You are signed in");
	attest_true(t, signin_end(t, &s) == 0, "agent login failed");
	check_closed(t, "after success", s.port);

	file = attest_path(t, "%s/trace", attest_home(t));
	s = signin_begin(t, i,
		&(struct signin_start){.mask = 0022,
			.env = env,
			.wrap = trace_argv(t, file, "epoll_wait,epoll_pwait")});
	attest_true(t, attest_sh(t, "kill -INT -%d", (int)s.pid).status == 0, "attest: no signal");
	attest_true(t, signin_end(t, &s) != 0, "agent login succeeded after SIGINT");
	check_closed(t, "after SIGINT", s.port);
	limit_ms = longest_wait(t, file);
	attest_true(t, limit_ms >= 60 * 1000 && limit_ms <= 15 * 60 * 1000, "its limit is %lld ms",
		(long long)limit_ms);

	s = signin_begin(t, i, &(struct signin_start){.mask = 0022, .args = second});
	attest_true(t, signin_end(t, &s) == 1, "agent login succeeded without anybody");
	attest_has(t, "agent login", attest_read(t, s.out), "signin_timed_out");
	check_closed(t, "after its limit", s.port);

	memcpy(argv, long_one, sizeof(argv));
	argv[0] = attest_bin("agent");
	attest_true(t, attest_run(t, argv, NULL).status == 2, "more than 15 minutes are allowed");
}

/* Runs agent in another home, under umask 000. */
static int run_agent_in(struct attest *t, const char *home, const char *args)
{
	struct attest_ran ran = attest_sh(
		t, "umask 000; HOME='%s' exec '%s' %s", home, attest_bin("agent"), args);

	if (ran.status != 0)
		attest_note(t, STR_FMT, STR_ARG(ran.err));
	return ran.status;
}

static void AG_030_a_folder_that_the_command_line_makes_is_private(struct attest *t)
{
	const char *other = attest_path(t, "%s/other", attest_home(t));
	const char *script = attest_path(t, "%s/script", attest_home(t));
	struct issuer *i = issuer_start(t);

	attest_absent(t, attest_path(t, "%s/.agent", attest_home(t)));
	signin(t, i);
	attest_mode(
		t, "~/.agent of agent login", attest_path(t, "%s/.agent", attest_home(t)), 0700);
	attest_true(t, mkdir(other, 0755) == 0, "attest: no folder");
	attest_write(t, script, "{\"say\":\"ok\"}\n");
	attest_true(t,
		run_agent_in(t, other,
			attest_path(t, "start --provider 'drill=rehearsal,%s'", script)) == 0,
		"agent start failed");
	attest_mode(t, "~/.agent of agent start", attest_path(t, "%s/.agent", other), 0700);
	attest_true(t, run_agent_in(t, other, "shutdown") == 0, "agent shutdown failed");
}

static void check_file(struct attest *t, struct issuer *i, int number)
{
	struct str text = attest_read(t, tokens_file(t));

	attest_mode(t, "chatgpt.json", tokens_file(t), 0600);
	attest_has(t, "chatgpt.json", text, issuer_access(t, i, number));
	attest_has(t, "chatgpt.json", text, issuer_refresh(t, i, number));
	attest_has(t, "chatgpt.json", text, "acct-quagga");
}

static void AG_168_tokens_are_kept_in_a_private_file(struct attest *t)
{
	struct issuer *i = issuer_start(t);

	signin(t, i);
	check_file(t, i, 1);
	signin(t, i); /* over the one that is there */
	check_file(t, i, 2);
}

/* A daemon with the provider `chat`, and a bot of it. */
static void start_with(
	struct attest *t, struct drill *r, struct issuer *i, const struct attest_start *more)
{
	const char **args = arena_alloc(attest_arena(t), 3 * sizeof(*args));
	struct attest_start s = more ? *more : (struct attest_start){.script = NULL};

	args[0] = "--provider";
	args[1] = issuer_provider(t, i, "chat");
	args[2] = NULL;
	s.args = args;
	drill_start(r, &s);
	(void)attest_bot(t, r->d, "b", "");
	(void)attest_call(t, r->d->client,
		"\"op\":\"create\",\"bot\":\"c\",\"model\":\"chat/m\",\"instructions\":\"\","
		"\"tools\":[]");
}

static void check_turn(struct attest *t, struct drill *r)
{
	const struct json *outcome = attest_turn(t, r->d, "c", "hello");

	attest_true(t, str_is(json_str(json_get(outcome, "status")), "completed"),
		"the turn ended " STR_FMT " " STR_FMT ": " STR_FMT,
		STR_ARG(json_str(json_get(outcome, "status"))),
		STR_ARG(json_str(json_get(outcome, "error"))),
		STR_ARG(json_str(json_get(outcome, "detail"))));
	attest_true(t, str_is(attest_said(outcome), "done"), "the model said something else");
}

/* One write of the file: an exclusive temporary one, then its name. Nothing else makes the name. */
static void check_trace(struct attest *t, const char *file)
{
	struct trace tr = trace_read(t, file);
	ptrdiff_t made = -1, named = -1;

	for (size_t i = 0; i < tr.count; i++) {
		const struct trace_call *c = &tr.calls[i];
		bool opens = trace_names(c, "openat") || trace_names(c, "open");

		if (opens && trace_has(c, "\".new-") && trace_has(c, "O_EXCL")) {
			attest_true(t,
				trace_has(c, "O_CREAT") && trace_has(c, "O_NOFOLLOW") &&
					trace_has(c, "0600"),
				"made by openat(" STR_FMT ")", STR_ARG(c->args));
			made = (ptrdiff_t)i;
		}
		attest_true(t,
			!opens || !trace_has(c, "chatgpt.json") ||
				(!trace_has(c, "O_WRONLY") && !trace_has(c, "O_RDWR")),
			"opened to write: " STR_FMT, STR_ARG(c->args));
		if (strncmp(c->name, "rename", 6) == 0 && trace_has(c, "\"chatgpt.json\"") &&
			trace_has(c, "\".new-") && c->value == 0)
			named = (ptrdiff_t)i;
	}
	attest_true(t, made >= 0, "no exclusive temporary file was made");
	attest_true(t, named > made, "it was not renamed to chatgpt.json");
}

static void link_away(struct attest *t, const char *victim)
{
	attest_write(t, victim, "mine\n");
	(void)unlink(tokens_file(t)); /* it may not be there */
	attest_true(t, symlink(victim, tokens_file(t)) == 0, "attest: no link");
}

/* Killed at each step of a second sign-in's write: the file is the first one's, whole. */
static void check_killed(struct attest *t, struct issuer *i)
{
	static const char *const steps[] = {"fchmod", "fsync", "renameat"};
	static const char *const env[] = {NO_LEAKS, NULL};
	struct str before = attest_read(t, tokens_file(t));

	for (size_t k = 0; k < ARRAY_LEN(steps); k++) {
		/* The command calls each of them for this file alone. */
		const char *wrap[] = {"strace", "-f", "-qq", "-o", "/dev/null", "-e",
			attest_path(t, "inject=%s:signal=KILL", steps[k]), NULL};
		struct signin s = signin_begin(
			t, i, &(struct signin_start){.mask = 0, .env = env, .wrap = wrap});

		(void)signin_browse(t, &s);
		attest_true(t, signin_end(t, &s) == 128 + SIGKILL,
			"attest: it was not killed at %s", steps[k]);
		attest_true(t, str_eq(attest_read(t, tokens_file(t)), before),
			"killed at %s it left another file", steps[k]);
		attest_mode(t, "chatgpt.json", tokens_file(t), 0600);
	}
}

static void AG_169_the_file_is_written_through_an_exclusive_one(struct attest *t)
{
	static const char *const env[] = {NO_LEAKS, NULL};
	const char *victim = attest_path(t, "%s/victim", attest_home(t));
	const char *file = attest_path(t, "%s/trace", attest_home(t));
	struct issuer *i = issuer_start(t);
	struct attest_start start = {.umask = ATTEST_UMASK_NONE, .env = env};
	struct stat st;
	struct signin s;
	struct drill r;

	attest_true(t, mkdir(attest_path(t, "%s/.agent", attest_home(t)), 0700) == 0,
		"attest: no folder");
	link_away(t, victim);
	s = signin_begin(t, i,
		&(struct signin_start){
			.mask = 0, .env = env, .wrap = trace_argv(t, file, FILE_WRITES)});
	attest_has(t, "the browser", signin_browse(t, &s), "You are signed in");
	attest_true(t, signin_end(t, &s) == 0, "agent login failed");
	check_trace(t, file);
	attest_true(t, lstat(tokens_file(t), &st) == 0 && S_ISREG(st.st_mode),
		"chatgpt.json is still a link");
	attest_true(t, str_is(attest_read(t, victim), "mine\n"), "the link was followed");
	check_file(t, i, 1);
	check_killed(t, i);

	issuer_life(i, -1);
	signin(t, i); /* tokens that are over */
	issuer_life(i, 3600);
	drill_init(&r, t);
	start.wrap = trace_argv(t, file, FILE_WRITES);
	start_with(t, &r, i, &start);
	check_turn(t, &r);
	trace_stop(t, r.d);
	check_trace(t, file);
	check_file(t, i, issuer_given(i));
}

static void AG_170_the_daemon_renews_tokens_itself(struct attest *t)
{
	struct issuer *i = issuer_start(t);
	struct drill r;

	issuer_life(i, -1);
	signin(t, i);
	issuer_life(i, 3600);
	drill_init(&r, t);
	start_with(t, &r, i, NULL);
	check_turn(t, &r); /* they had expired */
	attest_true(t, issuer_count(t, i, "grant_type=refresh_token") == 1, "no renewal");
	check_file(t, i, 2);
	check_turn(t, &r);
	attest_true(
		t, issuer_count(t, i, "grant_type=refresh_token") == 1, "good tokens were renewed");
	issuer_revoke(i);
	check_turn(t, &r); /* 401, renewal, again */
	attest_true(t, issuer_count(t, i, "grant_type=refresh_token") == 2, "no second renewal");
	attest_true(t, issuer_count(t, i, "POST /v1/responses ") == 4, "not asked once more");
	attest_true(t, issuer_count(t, i, "chatgpt-account-id: acct-quagga") == 4,
		"the account was not said");
	check_file(t, i, 3);
}

static void lacks_marker(struct attest *t, const char *what, struct str text, const char *marker)
{
	attest_lacks(t, what, text, marker);
}

static void AG_171_nothing_is_taken_out_of_the_sign_in_of_codex(struct attest *t)
{
	static const char marker[] = "vermilion-codex-marker";
	static const char *const second[] = {"--timeout=1", NULL};
	static const char *const env[] = {NO_LEAKS, NULL};
	const char *file = attest_path(t, "%s/trace", attest_home(t));
	struct attest_start start = {.env = env};
	struct issuer *i = issuer_start(t);
	const struct json *outcome;
	struct signin s;
	struct drill r;
	struct trace tr;

	attest_write(t, attest_path(t, "%s/.codex/auth.json", attest_home(t)),
		attest_path(t,
			"{\"tokens\":{\"access_token\":\"%1$s\",\"refresh_token\":\"%1$s\","
			"\"id_token\":\"%1$s\",\"account_id\":\"%1$s\"},"
			"\"OPENAI_API_KEY\":\"%1$s\"}",
			marker));
	s = signin_begin(t, i,
		&(struct signin_start){.mask = 0022,
			.args = second,
			.env = env,
			.wrap = trace_argv(t, file, "open,openat,openat2")});
	(void)signin_end(t, &s); /* nobody comes */
	lacks_marker(t, "agent login", attest_read(t, s.out), marker);
	attest_has(t, "agent login", attest_read(t, s.out), "Codex is signed in");
	tr = trace_read(t, file);
	attest_true(t, trace_find(&tr, 0, "openat", ".codex") < 0, "agent login opened it");

	drill_init(&r, t);
	start.wrap = trace_argv(t, file, "open,openat,openat2");
	start_with(t, &r, i, &start);
	outcome = attest_turn(t, r.d, "c", "hello");
	attest_true(t, str_is(json_str(json_get(outcome, "error")), "chatgpt_signed_out"),
		"the turn ended with " STR_FMT, STR_ARG(json_str(json_get(outcome, "error"))));
	lacks_marker(t, "the error", json_str(json_get(outcome, "detail")), marker);
	lacks_marker(t, "the items", attest_items_text(t, r.d->client, "c"), marker);
	trace_stop(t, r.d);
	tr = trace_read(t, file);
	attest_true(t, trace_find(&tr, 0, "openat", ".codex") < 0, "the daemon opened it");
	lacks_marker(t, "the daemon's log", attest_read(t, r.d->log), marker);
	lacks_marker(t, "the store", attest_read(t, r.d->store), marker);
	lacks_marker(t, "what the issuer was asked", issuer_heard(t, i), marker);
}

static void check_no_keychain(struct attest *t, const char *what, const char *file)
{
	static const char *const programs[] = {"/secret-tool\"", "/security\"", "/pass\"",
		"\"secret-tool\"", "\"security\"", "\"pass\""};
	struct trace tr = trace_read(t, file);

	attest_true(t, tr.count > 0, "attest: the trace is empty");
	for (size_t i = 0; i < tr.count; i++) {
		const struct trace_call *c = &tr.calls[i];

		attest_true(t,
			!trace_names(c, "add_key") && !trace_names(c, "request_key") &&
				!trace_names(c, "keyctl"),
			"%s called %s", what, c->name);
		attest_true(t,
			!trace_names(c, "connect") ||
				(!trace_has(c, "/bus") && !trace_has(c, "dbus")),
			"%s asked a bus: " STR_FMT, what, STR_ARG(c->args));
		for (size_t k = 0; k < ARRAY_LEN(programs) && trace_names(c, "execve"); k++)
			attest_true(t, !trace_has(c, programs[k]), "%s started " STR_FMT, what,
				STR_ARG(c->args));
	}
}

static void AG_174_no_keychain_is_opened(struct attest *t)
{
	static const char calls[] = "add_key,request_key,keyctl,connect,execve";
	const char *env[] = {NO_LEAKS,
		attest_path(t, "DBUS_SESSION_BUS_ADDRESS=unix:path=%s/bus", attest_home(t)), NULL};
	const char *file = attest_path(t, "%s/trace", attest_home(t));
	struct attest_start start = {.env = env};
	struct issuer *i = issuer_start(t);
	struct signin s;
	struct drill r;

	issuer_life(i, -1);
	s = signin_begin(t, i,
		&(struct signin_start){
			.mask = 0022, .env = env, .wrap = trace_argv(t, file, calls)});
	attest_has(t, "the browser", signin_browse(t, &s), "You are signed in");
	attest_true(t, signin_end(t, &s) == 0, "agent login failed");
	check_no_keychain(t, "agent login", file);
	issuer_life(i, 3600);
	drill_init(&r, t);
	start.wrap = trace_argv(t, file, calls);
	start_with(t, &r, i, &start);
	check_turn(t, &r);
	(void)drill_sh(&r, "b", "true");
	trace_stop(t, r.d);
	check_no_keychain(t, "the daemon", file);
}

/* Neither the tokens nor a part of them that is a secret shows. */
static void check_hidden(struct attest *t, struct drill *r, const char *bot, const char *file)
{
	struct str shown = drill_works(r, bot, "cat '%s'", file);

	attest_has(t, file, shown, "REDACTED");
	attest_lacks(t, file, shown, "-mark-");
}

static void AG_179_tokens_are_redacted(struct attest *t)
{
	const char *note = attest_path(t, "%s/note", attest_outside(t));
	struct issuer *i = issuer_start(t);
	struct drill r;

	signin(t, i);
	drill_init(&r, t);
	start_with(t, &r, i, NULL);
	check_hidden(t, &r, "b", tokens_file(t));
	/* Without the names that give a value away by themselves. */
	attest_write(t, note,
		attest_path(t, "one %s two %s\n", issuer_access(t, i, 1), issuer_refresh(t, i, 1)));
	check_hidden(t, &r, "b", note);
	issuer_revoke(i);
	check_turn(t, &r);
	attest_true(t, issuer_given(i) == 2, "no renewal");
	check_hidden(t, &r, "b", tokens_file(t));
	check_hidden(t, &r, "b", note); /* the old ones */
	attest_write(t, note,
		attest_path(t, "one %s two %s\n", issuer_access(t, i, 2), issuer_refresh(t, i, 2)));
	check_hidden(t, &r, "b", note);
	signin(t, i); /* while the daemon runs */
	attest_write(t, note,
		attest_path(t, "one %s two %s\n", issuer_access(t, i, 3), issuer_refresh(t, i, 3)));
	check_hidden(t, &r, "b", note);
	attest_lacks(t, "the daemon's log", attest_read(t, r.d->log), "-mark-");
	attest_daemon_stop(t, r.d);
	attest_lacks(t, "the store", attest_read(t, r.d->store), "-mark-");
}

/*
 * AG-166, AG-167
 */
static const char *const profiles[] = {".profile", ".bashrc", ".zshrc", ".config/fish/config.fish",
	".bash_profile", ".zprofile", ".agent/config.toml"};
static const char sentinel[] = "vermilion-sentinel-5150";

/* The commands of `agent --help`, each once with nothing, then with what makes it do something. */
static void run_everything(struct attest *t, struct drill *r)
{
	static const char *const lines[] = {"run --new --bot p --model drill/x hello", "ls",
		"stats", "turns --bot p", "result --bot p", "log --bot p", "inspect --bot p",
		"approvals", "follow --bot p", "configure --bot p --model drill/x",
		"interrupt --bot p", "models --discover", "start", "answer", "wait", "rehearse",
		"fork", "rm --bot p", "prune"};
	const char *env = attest_path(
		t, "OPENAI_API_KEY='%s' ANTHROPIC_API_KEY='%s'", sentinel, sentinel);

	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		(void)attest_sh(t, "%s AGENT_SOCKET='%s' timeout 20 '%s' %s < /dev/null", env,
			r->d->socket, attest_bin("agent"), lines[i]); /* some are refused */
}

static void AG_166_no_key_is_put_into_a_shell_profile(struct attest *t)
{
	const char *env[] = {attest_path(t, "OPENAI_API_KEY=%s", sentinel), NULL};
	struct issuer *i = issuer_start(t);
	struct drill r;

	for (size_t k = 0; k < ARRAY_LEN(profiles); k++)
		attest_write(t, attest_path(t, "%s/%s", attest_home(t), profiles[k]),
			attest_path(t, "# mine %zu\n", k));
	signin(t, i);
	drill_init(&r, t);
	start_with(t, &r, i, &(struct attest_start){.env = env});
	issuer_revoke(i);
	check_turn(t, &r);
	run_everything(t, &r);
	for (size_t k = 0; k < ARRAY_LEN(profiles); k++) {
		struct str now = attest_read(
			t, attest_path(t, "%s/%s", attest_home(t), profiles[k]));

		attest_true(t, str_is(now, attest_path(t, "# mine %zu\n", k)), "%s has changed",
			profiles[k]);
	}
}

/* Where there is none, none with a key is made either. */
static void AG_167_nothing_writes_a_key_into_the_configuration(struct attest *t)
{
	const char *env[] = {attest_path(t, "OPENAI_API_KEY=%s", sentinel), NULL};
	const char *config = attest_path(t, "%s/.agent/config.toml", attest_home(t));
	struct issuer *i = issuer_start(t);
	struct drill r;

	for (int there = 0; there < 2; there++) {
		if (there)
			attest_write(t, config, "# mine\n");
		signin(t, i);
		drill_init(&r, t);
		start_with(t, &r, i, &(struct attest_start){.env = env});
		issuer_revoke(i);
		check_turn(t, &r);
		run_everything(t, &r);
		attest_daemon_stop(t, r.d);
		attest_lacks(t, "config.toml", attest_read(t, config), sentinel);
		attest_lacks(t, "config.toml", attest_read(t, config), "-mark-");
		attest_true(t, str_is(attest_read(t, config), there ? "# mine\n" : ""),
			"config.toml was written");
		(void)attest_sh(t, "rm -f '%s'*", r.d->store); /* the next starts anew */
	}
}

const struct attest_case attest_agent_login[] = {
	{"AG-024", NEEDS_NOTHING, AG_024_the_callback_is_bound_to_127_0_0_1             },
	{"AG-025", NEEDS_STRACE,  AG_025_the_callback_is_open_for_minutes_at_most       },
	{"AG-030", NEEDS_NOTHING, AG_030_a_folder_that_the_command_line_makes_is_private},
	{"AG-166", NEEDS_NOTHING, AG_166_no_key_is_put_into_a_shell_profile             },
	{"AG-167", NEEDS_NOTHING, AG_167_nothing_writes_a_key_into_the_configuration    },
	{"AG-168", NEEDS_NOTHING, AG_168_tokens_are_kept_in_a_private_file              },
	{"AG-169", NEEDS_STRACE,  AG_169_the_file_is_written_through_an_exclusive_one   },
	{"AG-170", NEEDS_NOTHING, AG_170_the_daemon_renews_tokens_itself                },
	{"AG-171", NEEDS_STRACE,  AG_171_nothing_is_taken_out_of_the_sign_in_of_codex   },
	{"AG-174", NEEDS_STRACE,  AG_174_no_keychain_is_opened                          },
	{"AG-179", NEEDS_NOTHING, AG_179_tokens_are_redacted                            },
	{NULL,     0,             NULL						  },
};
