/* Daemons that make the calls a case asks for. */
#include "attest/drill.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "attest/internal.h"

enum {
	SCRIPT_MAX_BYTES = 4 * 1024 * 1024,
	ARGS_MAX_BYTES = 1024 * 1024,
	NEWEST = 4, /* items of a turn that ends: a text, a result, a call, a prompt */
};

static const char *const bwrap_paths[] = {"/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"};

/* The file that drill_sh's command is read from. */
static char *command_path(struct attest *t)
{
	return attest_path(t, "%s/.drill.sh", attest_home(t));
}

static void put_call(struct drill *r, const char *prompt, const char *tool, const char *args)
{
	must(buf_printf(&r->script,
		     "{\"when\":{\"prompt_has\":\"[%s]\"},\"calls\":[{\"tool\":\"%s\","
		     "\"arguments\":%s}]}\n",
		     prompt, tool, args) == 0);
}

static char *object(struct attest *t, const struct buf *text)
{
	return arena_strndup(&t->arena, text->data, text->len);
}

static char *shell_args(struct attest *t, const char *command, bool escalated)
{
	struct buf text = BUF_INIT(ARGS_MAX_BYTES);
	struct json_out j = JSON_OUT(&text);
	char *args;

	json_open(&j, '{');
	json_put_cstr(&j, "command", command);
	if (escalated) {
		json_put_cstr(&j, "sandbox_permissions", "require_escalated");
		json_put_cstr(&j, "justification", "the case asks for it");
	}
	json_close(&j, '}');
	args = object(t, &text);
	buf_release(&text);
	return args;
}

void drill_init(struct drill *r, struct attest *t)
{
	char *command = attest_path(t, ". '%s'", command_path(t));

	*r = (struct drill){.t = t, .script = BUF_INIT(SCRIPT_MAX_BYTES)};
	must(buf_puts(&r->script, "{\"rehearsal\":1,\"repeat\":true}\n") == 0);
	put_call(r, "sh", "shell", shell_args(t, command, false));
}

static int add(struct drill *r, const char *tool, const char *args)
{
	put_call(r, attest_path(r->t, "%d", ++r->calls), tool, args);
	return r->calls;
}

static char *formatted(struct attest *t, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

static char *formatted(struct attest *t, const char *format, va_list args)
{
	_cleanup_(mem) char *text = xvasprintf(format, args);

	return arena_strndup(&t->arena, text, strlen(text));
}

int drill_call(struct drill *r, const char *tool, const char *args, ...)
{
	va_list list;
	char *text;

	va_start(list, args);
	text = formatted(r->t, args, list);
	va_end(list);
	return add(r, tool, text);
}

int drill_shell(struct drill *r, const char *command, ...)
{
	va_list list;
	char *text;

	va_start(list, command);
	text = formatted(r->t, command, list);
	va_end(list);
	return add(r, "shell", shell_args(r->t, text, false));
}

int drill_escalated(struct drill *r, const char *command, ...)
{
	va_list list;
	char *text;

	va_start(list, command);
	text = formatted(r->t, command, list);
	va_end(list);
	return add(r, "shell", shell_args(r->t, text, true));
}

static int add_strings(struct drill *r, const char *tool, const char *const *pairs)
{
	struct buf text = BUF_INIT(ARGS_MAX_BYTES);
	struct json_out j = JSON_OUT(&text);
	int number;

	json_open(&j, '{');
	for (size_t i = 0; pairs[i]; i += 2)
		json_put_cstr(&j, pairs[i], pairs[i + 1]);
	json_close(&j, '}');
	number = add(r, tool, object(r->t, &text));
	buf_release(&text);
	return number;
}

int drill_write(struct drill *r, const char *path, const char *content)
{
	return add_strings(r, "write", (const char *[]){"path", path, "content", content, NULL});
}

int drill_edit(struct drill *r, const char *path, const char *old, const char *new)
{
	return add_strings(r, "edit", (const char *[]){"path", path, "old", old, "new", new, NULL});
}

int drill_patch(struct drill *r, const char *path, const char *line)
{
	char *patch = attest_path(
		r->t, "*** Begin Patch\n*** Add File: %s\n+%s\n*** End Patch\n", path, line);

	return add_strings(r, "apply_patch", (const char *[]){"patch", patch, NULL});
}

void drill_script(struct drill *r, struct attest_start *s)
{
	struct buf whole = BUF_INIT(SCRIPT_MAX_BYTES);

	must(buf_put(&whole, r->script.data, r->script.len) == 0);
	must(buf_puts(&whole, "{\"say\":\"done\"}\n") == 0);
	s->script = object(r->t, &whole);
	buf_release(&whole);
}

void drill_start(struct drill *r, const struct attest_start *s)
{
	struct attest_start start = s ? *s : (struct attest_start){0};

	drill_script(r, &start);
	r->d = attest_daemon_start(r->t, &start);
}

void drill_start_cli(struct drill *r)
{
	const char *home = attest_home(r->t);
	struct attest_daemon *d = arena_alloc(&r->t->arena, sizeof(*d));
	struct attest_start start = {0};
	const char *argv[] = {attest_path(r->t, "%s", attest_bin("agent")), "start", "--provider",
		attest_path(r->t, "drill=rehearsal,%s/drill.jsonl", home), NULL};
	struct attest_ran ran;

	drill_script(r, &start);
	attest_write(r->t, attest_path(r->t, "%s/drill.jsonl", home), start.script);
	ran = attest_run(r->t, argv, NULL);
	attest_true(r->t, ran.status == 0, "agent start: " STR_FMT, STR_ARG(ran.err));
	*d = (struct attest_daemon){
		.home = attest_path(r->t, "%s", home),
		.store = attest_path(r->t, "%s/.agent/state.sqlite", home),
		.socket = attest_path(r->t, "%s/.agent/state.sqlite.sock", home),
		.log = attest_path(r->t, "%s/.agent/state.sqlite.log", home),
		.workspace = attest_path(r->t, "%s/ws", home),
	};
	attest_write(r->t, attest_path(r->t, "%s/.keep", d->workspace), "");
	d->client = attest_connect(r->t, d->socket);
	r->d = d;
}

struct str drill_arguments(struct drill *r)
{
	struct str line;
	int64_t pid = 0;

	must(json_i64(json_get(client_ready(r->d->client), "pid"), &pid) == 0);
	line = attest_read(r->t, attest_path(r->t, "/proc/%lld/cmdline", (long long)pid));
	for (char *p = (char *)line.p; p < line.p + line.len; p++) { /* a copy of ours */
		if (!*p)
			*p = ' ';
	}
	return line;
}

void drill_again(struct drill *r, const struct attest_start *s)
{
	struct attest_start start = s ? *s : (struct attest_start){0};

	drill_script(r, &start);
	attest_daemon_again(r->t, r->d, &start);
}

/* The newest result of the bot's conversation. */
static struct str newest_result(struct drill *r, const char *bot)
{
	const struct json *nodes = attest_call(r->t, r->d->client,
		"\"op\":\"history_nodes\",\"bot\":\"%s\",\"limit\":%d", bot, NEWEST);

	json_for_each (n, json_get(nodes, "nodes")) {
		const struct json *item;
		int64_t id = 0;

		must(json_i64(json_get(n, "node"), &id) == 0);
		item = attest_call(r->t, r->d->client,
			"\"op\":\"item\",\"bot\":\"%s\",\"node\":%lld", bot, (long long)id);
		if (str_is(json_str(json_get(item, "role")), "tool"))
			return json_str(json_get(item, "content"));
	}
	attest_broken(r->t, "%s was given no result", bot);
}

static struct str member(const struct json *doc, const char *name)
{
	const struct json *m = doc && doc->type == JSON_OBJECT ? json_get(doc, name) : NULL;

	return m && m->type == JSON_STRING ? json_str(m) : (struct str){NULL, 0};
}

static struct drilled read_result(struct drill *r, struct str text)
{
	const struct json *doc = NULL;
	struct drilled done = {.text = text};

	if (json_parse(&r->t->arena, text, &doc, NULL) < 0 || doc->type != JSON_OBJECT)
		return done;
	done.error = member(doc, "error");
	done.out = member(doc, "stdout");
	done.err = member(doc, "stderr");
	done.ran = json_get(doc, "exit_code") &&
		   json_i64(json_get(doc, "exit_code"), &done.code) == 0;
	return done;
}

static int64_t submit(struct drill *r, const char *bot, const char *name)
{
	return attest_submit(r->t, r->d, bot, attest_path(r->t, "[%s]", name));
}

int64_t drill_submit(struct drill *r, const char *bot, int call)
{
	must(call > 0 && call <= r->calls);
	return submit(r, bot, attest_path(r->t, "%d", call));
}

struct drilled drill_end(struct drill *r, const char *bot, int64_t turn)
{
	const struct json *outcome = attest_wait(r->t, r->d, bot, turn);
	struct str status = json_str(json_get(outcome, "status"));
	struct drilled done;

	attest_true(r->t, str_is(status, "completed"),
		"turn %lld of %s ended " STR_FMT ": " STR_FMT, (long long)turn, bot,
		STR_ARG(status), STR_ARG(member(outcome, "detail")));
	done = read_result(r, newest_result(r, bot));
	done.of = outcome;
	attest_note(r->t, "%s: " STR_FMT, bot, STR_ARG(str_cut(done.text, 2000)));
	return done;
}

struct drilled drill_do(struct drill *r, const char *bot, int call)
{
	return drill_end(r, bot, drill_submit(r, bot, call));
}

static struct drilled run_command(struct drill *r, const char *bot, const char *command)
{
	attest_write(r->t, command_path(r->t), command);
	return drill_end(r, bot, submit(r, bot, "sh"));
}

struct drilled drill_sh(struct drill *r, const char *bot, const char *command, ...)
{
	va_list list;
	char *text;

	va_start(list, command);
	text = formatted(r->t, command, list);
	va_end(list);
	return run_command(r, bot, text);
}

struct str drill_works(struct drill *r, const char *bot, const char *command, ...)
{
	struct drilled done;
	va_list list;
	char *text;

	va_start(list, command);
	text = formatted(r->t, command, list);
	va_end(list);
	done = run_command(r, bot, text);
	attest_true(r->t, done.ran && done.code == 0, "%s cannot do '%s': %.*s", bot, text,
		(int)str_cut(done.text, 1000).len, done.text.p);
	return done.out;
}

/* What the kernel says through a program when a sandbox is in the way. */
static bool kernel_refused(struct str said)
{
	static const char *const words[] = {"Read-only file system", "Permission denied",
		"Operation not permitted", "Device or resource busy", "Invalid cross-device link",
		"EROFS", "EACCES", "EPERM", "EBUSY", "EXDEV", "ECONNREFUSED",
		"Address already in use", "EADDRINUSE",
		/* a placeholder where a protected name is missing */
		"File exists", "cannot overwrite directory", "Not a directory", "ENOTDIR"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (str_find(said, str_from(words[i]), 0) >= 0)
			return true;
	}
	return false;
}

void drill_kept(struct drill *r, const char *bot, const char *command, ...)
{
	struct drilled done;
	va_list list;
	char *text;

	va_start(list, command);
	text = formatted(r->t, command, list);
	va_end(list);
	done = run_command(r, bot, text);
	attest_true(r->t, done.ran && done.code != 0, "%s was not kept from '%s': %.*s", bot, text,
		(int)str_cut(done.text, 1000).len, done.text.p);
	attest_true(r->t, kernel_refused(done.out) || kernel_refused(done.err),
		"'%s' failed, but not for the sandbox: %.*s", text,
		(int)str_cut(done.text, 1000).len, done.text.p);
}

/* Runs each in a shell below the one of the call; a line per command: its number, its status, what
 * it said. */
static struct str run_all(struct drill *r, const char *bot, const char *const *commands)
{
	struct buf script = BUF_INIT(ARGS_MAX_BYTES);
	struct drilled done;

	for (int i = 0; commands[i]; i++)
		must(buf_printf(&script,
			     "out=$( { %s\n} 2>&1 ); printf '%%s\\t%%s\\t%%s\\n' %d $? "
			     "\"$(printf %%s \"$out\" | tr '\\n' ' ')\"\n",
			     commands[i], i) == 0);
	must(buf_puts(&script, "exit 0\n") == 0);
	done = run_command(r, bot, object(r->t, &script));
	attest_true(r->t, done.ran && done.code == 0, "attest: %s could not run the commands: %.*s",
		bot, (int)str_cut(done.text, 1000).len, done.text.p);
	buf_release(&script);
	return done.out;
}

static void check_all(struct drill *r, const char *bot, const char *const *commands, bool works)
{
	struct str rest = run_all(r, bot, commands), line;

	for (int i = 0; commands[i]; i++) {
		struct str number, status;

		if (!str_next(&rest, '\n', &line) || !str_next(&line, '\t', &number) ||
			!str_next(&line, '\t', &status))
			attest_broken(r->t, "attest: no line for '%s'", commands[i]);
		if (works)
			attest_true(r->t, str_is(status, "0"), "%s cannot do '%s': " STR_FMT, bot,
				commands[i], STR_ARG(line));
		else
			attest_true(r->t, !str_is(status, "0") && kernel_refused(line),
				"%s was not kept from '%s': " STR_FMT " " STR_FMT, bot, commands[i],
				STR_ARG(status), STR_ARG(line));
	}
}

void drill_works_all(struct drill *r, const char *bot, const char *const *commands)
{
	check_all(r, bot, commands, true);
}

void drill_kept_all(struct drill *r, const char *bot, const char *const *commands)
{
	check_all(r, bot, commands, false);
}

struct str drill_refused(struct drill *r, const char *bot, int call, const char *code)
{
	struct drilled done = drill_do(r, bot, call);

	attest_true(r->t, str_is(done.error, code), "call %d of %s: not refused with %s: %.*s",
		call, bot, code, (int)str_cut(done.text, 1000).len, done.text.p);
	return done.text;
}

struct str drill_done(struct drill *r, const char *bot, int call)
{
	struct drilled done = drill_do(r, bot, call);

	attest_true(r->t, !done.error.p && (!done.ran || done.code == 0),
		"call %d of %s failed: %.*s", call, bot, (int)str_cut(done.text, 1000).len,
		done.text.p);
	return done.text;
}

const char *drill_program(struct attest *t, const char *name, const char *script, ...)
{
	char *path = attest_path(t, "%s/%s", attest_home(t), name);
	va_list list;
	char *text;

	va_start(list, script);
	text = formatted(t, script, list);
	va_end(list);
	attest_write(t, path, attest_path(t, "#!/bin/sh\n%s\n", text));
	must(chmod(path, 0755) == 0);
	return path;
}

const char *const *drill_mask_bwrap_and(struct attest *t, const char *over, const char *script)
{
	const char **argv = arena_alloc(&t->arena, 7 * sizeof(*argv));
	struct buf text = BUF_INIT(8192);

	must(buf_puts(&text, "set -e; ") == 0);
	for (size_t i = 0; i < ARRAY_LEN(bwrap_paths); i++) {
		if (attest_exists(bwrap_paths[i])) /* /bin may be /usr/bin */
			must(buf_printf(&text, "mount --bind '%s' %s; ", over, bwrap_paths[i]) ==
				0);
	}
	must(buf_printf(&text, "%s; exec \"$@\"", script) == 0);
	argv[0] = "unshare";
	argv[1] = "-Urm";
	argv[2] = "/bin/sh";
	argv[3] = "-c";
	argv[4] = object(t, &text);
	argv[5] = "sh";
	argv[6] = NULL;
	buf_release(&text);
	return argv;
}

const char *const *drill_mask_bwrap(struct attest *t, const char *over)
{
	return drill_mask_bwrap_and(t, over, ":");
}

const char *drill_copy_bwrap(struct attest *t)
{
	const char *copy = attest_path(t, "%s/copy-of-bwrap", attest_home(t));
	size_t i = 0;

	while (i < ARRAY_LEN(bwrap_paths) && !attest_exists(bwrap_paths[i]))
		i++;
	if (i == ARRAY_LEN(bwrap_paths))
		attest_not_here(t, "there is no bubblewrap at a fixed path");
	attest_true(t, attest_sh(t, "cp '%s' '%s'", bwrap_paths[i], copy).status == 0,
		"attest: no copy of bubblewrap");
	return copy;
}

const char *drill_probe(struct attest *t)
{
	return attest_path(t, "%s", attest_bin("consort-probe"));
}
