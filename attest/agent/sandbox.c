/* The sandbox: its modes, what each may write, what stays open. */
#include "attest/suites.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attest/drill.h"
#include "attest/trace.h"

#define READ_ONLY "\"sandbox\":\"read-only\""
#define CONFINED  "\"sandbox\":\"workspace-write\""

static const char *workspace_of(struct attest *t)
{
	return attest_path(t, "%s/ws", attest_home(t));
}

/* Commands that change files of a folder that holds one named `there`. */
static const char *const *changes(struct attest *t, const char *folder)
{
	const char **list = arena_alloc(attest_arena(t), 6 * sizeof(*list));
	size_t n = 0;

	list[n++] = attest_path(t, "touch '%s/new'", folder);
	list[n++] = attest_path(t, "echo x >> '%s/there'", folder);
	list[n++] = attest_path(t, "rm '%s/there'", folder);
	list[n++] = attest_path(t, "mkdir '%s/folder'", folder);
	list[n++] = attest_path(t, "mv '%s/there' '%s/gone'", folder, folder);
	list[n] = NULL;
	return list;
}

static void check_unchanged(struct attest *t, const char *folder)
{
	struct str there = attest_read(t, attest_path(t, "%s/there", folder));

	attest_true(t, str_is(there, "old\n"), "'%s/there' was changed", folder);
	attest_absent(t, attest_path(t, "%s/new", folder));
	attest_absent(t, attest_path(t, "%s/folder", folder));
	attest_absent(t, attest_path(t, "%s/gone", folder));
}

static void fill(struct attest *t, const char *const *folders)
{
	for (size_t i = 0; folders[i]; i++)
		attest_write(t, attest_path(t, "%s/there", folders[i]), "old\n");
}

/* Neither changes a thing in any of the folders, which it reads all the same. */
static void check_kept(struct drill *r, const char *bot, const char *const *folders)
{
	for (size_t i = 0; folders[i]; i++) {
		(void)drill_works(r, bot, "test \"$(cat '%s/there')\" = old", folders[i]);
		drill_kept_all(r, bot, changes(r->t, folders[i]));
		check_unchanged(r->t, folders[i]);
	}
}

static void check_free(struct drill *r, const char *bot, const char *folder)
{
	(void)drill_works(
		r, bot, "cd '%s' && echo mine > mine && test \"$(cat mine)\" = mine", folder);
	attest_true(r->t, str_is(attest_read(r->t, attest_path(r->t, "%s/mine", folder)), "mine\n"),
		"what %s wrote in '%s' is not there", bot, folder);
}

static void AG_064_the_modes_have_three_names(struct attest *t)
{
	static const char *const names[] = {"read-only", "workspace-write", "danger-full-access"};
	struct attest_daemon *d = attest_daemon_start(t, &(struct attest_start){0});

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char *bot = attest_path(t, "bot-%zu", i);
		const struct json *record;

		(void)attest_bot(t, d, bot, attest_path(t, "\"sandbox\":\"%s\"", names[i]));
		record = attest_call(t, d->client, "\"op\":\"inspect\",\"bot\":\"%s\"", bot);
		attest_true(t, str_is(json_str(json_get(record, "sandbox")), names[i]),
			"a bot made %s is not", names[i]);
	}
	(void)attest_refused(t, d->client, "invalid_request",
		"\"op\":\"create\",\"bot\":\"other\",\"model\":\"drill/x\",\"instructions\":\"\","
		"\"tools\":[],\"sandbox\":\"read_only\"");
	(void)attest_refused(t, d->client, "bot_not_found", "\"op\":\"inspect\",\"bot\":\"other\"");
}

static void AG_065_a_read_only_bot_writes_no_file(struct attest *t)
{
	const char *tmpdir = attest_path(t, "%s/tmpdir", attest_home(t));
	const char *folders[] = {
		workspace_of(t), attest_tmp(t), tmpdir, attest_home(t), attest_outside(t), NULL};
	const char *env[] = {attest_path(t, "TMPDIR=%s", tmpdir), NULL};
	struct drill r;

	drill_init(&r, t);
	fill(t, folders);
	drill_start(&r, &(struct attest_start){.env = env});
	(void)attest_bot(t, r.d, "b", READ_ONLY);
	check_kept(&r, "b", folders);
}

static void AG_066_a_confined_bot_writes_its_folders_only(struct attest *t)
{
	const char *own = attest_path(t, "%s/own", attest_outside(t));
	const char *kept[] = {attest_home(t), attest_path(t, "%s/beside", attest_home(t)),
		attest_outside(t), attest_path(t, "%s/beside", attest_outside(t)), NULL};
	const char *env[] = {attest_path(t, "TMPDIR=%s/tmpdir", attest_home(t)), NULL};
	struct drill r;

	drill_init(&r, t);
	fill(t, kept);
	attest_write(t, attest_path(t, "%s/keep", own), "");
	attest_write(t, attest_path(t, "%s/tmpdir/keep", attest_home(t)), "");
	drill_start(&r, &(struct attest_start){.env = env});
	(void)attest_bot(t, r.d, "b", attest_path(t, CONFINED ",\"writable_roots\":[\"%s\"]", own));
	check_free(&r, "b", workspace_of(t));
	check_free(&r, "b", own);
	check_kept(&r, "b", kept);
}

static void AG_232_the_writable_folders_are_four(struct attest *t)
{
	const char *home = attest_home(t);
	const char *tmpdir = attest_path(t, "%s/tmp/dir", home);
	const char *own = attest_path(t, "%s/own", attest_outside(t));
	const char *kept[] = {attest_path(t, "%s/beside", home),
		attest_path(t, "%s/tmp/beside", home), attest_path(t, "%s/tmp", home),
		attest_outside(t), NULL};
	const char *env[] = {attest_path(t, "TMPDIR=%s", tmpdir), NULL};
	struct drill r;

	drill_init(&r, t);
	fill(t, kept);
	attest_write(t, attest_path(t, "%s/keep", own), "");
	attest_write(t, attest_path(t, "%s/keep", tmpdir), "");
	drill_start(&r, &(struct attest_start){.env = env});
	(void)attest_bot(t, r.d, "b", attest_path(t, CONFINED ",\"writable_roots\":[\"%s\"]", own));
	check_free(&r, "b", workspace_of(t));
	check_free(&r, "b", own);
	check_free(&r, "b", attest_tmp(t));
	check_free(&r, "b", tmpdir);
	check_kept(&r, "b", kept);
	drill_kept(&r, "b", "touch /var/tmp/attest-not-there");
}

static void AG_067_no_mode_closes_reads(struct attest *t)
{
	static const char *const modes[] = {READ_ONLY, CONFINED};
	const char *home = attest_home(t);
	const char *env_file = attest_path(t, "%s/.agent/env", home);
	const char *secret = attest_path(t, "%s/diary", home);
	struct drill r;

	drill_init(&r, t);
	attest_write(t, env_file, "COLOUR=heliotrope\n");
	attest_write(t, secret, "nobody else's\n");
	attest_true(t, chmod(env_file, 0600) == 0 && chmod(secret, 0600) == 0, "attest: no mode");
	drill_start(&r, NULL);
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		const char *bot = attest_path(t, "bot-%zu", i);

		(void)attest_bot(t, r.d, bot, modes[i]);
		attest_has(t, "~/.agent/env", drill_works(&r, bot, "grep COLOUR '%s'", env_file),
			"heliotrope");
		attest_has(t, "the store", drill_works(&r, bot, "head -c 15 '%s'", r.d->store),
			"SQLite format 3");
		attest_has(t, "a file of mode 0600", drill_works(&r, bot, "cat '%s'", secret),
			"nobody else's");
	}
}

/* AG-062: who is below bubblewrap, and who made which file. */
struct lineage {
	const struct trace *trace;
	pid_t inside[4096];
	size_t count;
};

static bool is_inside(const struct lineage *l, pid_t pid)
{
	for (size_t i = 0; i < l->count; i++) {
		if (l->inside[i] == pid)
			return true;
	}
	return false;
}

static void put_inside(struct lineage *l, pid_t pid)
{
	must(l->count < ARRAY_LEN(l->inside));
	if (!is_inside(l, pid))
		l->inside[l->count++] = pid;
}

/* The child that a call made, by the number it has for strace: in a pid namespace the call itself
 * answers another one. */
static pid_t child_of(struct attest *t, const struct trace_call *c)
{
	static const char before[] = "/* ";
	ptrdiff_t at = str_find(c->after, str_from(before), 0);
	struct str rest, number;
	uint64_t pid;

	if (c->value <= 0)
		return 0;
	if (at < 0)
		return (pid_t)c->value;
	at += (ptrdiff_t)strlen(before);
	rest = (struct str){c->after.p + at, c->after.len - (size_t)at};
	attest_true(t,
		str_next(&rest, ' ', &number) &&
			text_u64(number, INT32_MAX, "pid", &pid, NULL) == 0,
		"attest: no pid in '" STR_FMT "'", STR_ARG(c->after));
	return (pid_t)pid;
}

/* Bubblewrap and its children. A trace is in the order of the calls' ends, and a child may be seen
 * before the call that made it has ended: so until nothing is added. */
static void find_inside(struct attest *t, struct lineage *l)
{
	size_t before;

	do {
		before = l->count;
		for (size_t i = 0; i < l->trace->count; i++) {
			const struct trace_call *c = &l->trace->calls[i];

			if (trace_names(c, "execve") && trace_has(c, "/bwrap\"") && c->value == 0)
				put_inside(l, c->thread);
			else if (is_inside(l, c->thread) && child_of(t, c) > 0 &&
				 (strstr(c->name, "clone") || strstr(c->name, "fork")))
				put_inside(l, child_of(t, c));
		}
	} while (l->count > before);
}

static bool opens_for_writing(const struct trace_call *c)
{
	return (trace_names(c, "openat") || trace_names(c, "openat2") || trace_names(c, "open")) &&
	       (trace_has(c, "O_WRONLY") || trace_has(c, "O_RDWR") || trace_has(c, "O_CREAT"));
}

static bool moves(const struct trace_call *c)
{
	return strncmp(c->name, "rename", 6) == 0 || strncmp(c->name, "link", 4) == 0 ||
	       strncmp(c->name, "unlink", 6) == 0;
}

/* Every call that makes or changes a file with this mark in its name. */
static void check_inside(struct attest *t, const struct lineage *l, const char *mark)
{
	size_t found = 0;

	for (size_t i = 0; i < l->trace->count; i++) {
		const struct trace_call *c = &l->trace->calls[i];

		if (!(opens_for_writing(c) || moves(c)) || !trace_has(c, mark))
			continue;
		attest_true(t, is_inside(l, c->thread), "outside of bubblewrap: %s(%.*s)", c->name,
			(int)str_cut(c->args, 300).len, c->args.p);
		found++;
	}
	attest_true(t, found > 0, "attest: the trace does not show who made '%s'", mark);
}

/* strace, telling which process a pid of another namespace is. */
static const char *const *strace_all(struct attest *t, const char *file)
{
	const char *const *argv = trace_argv(t, file,
		"execve,open,openat,openat2,creat,rename,renameat,renameat2,link,linkat,unlink,"
		"unlinkat");
	const char **more = arena_alloc(attest_arena(t), 32 * sizeof(*more));
	size_t n = 0;

	more[n++] = argv[0];
	more[n++] = "--decode-pids=pidns";
	for (size_t i = 1; argv[i]; i++)
		more[n++] = argv[i];
	more[n] = NULL;
	return more;
}

static void AG_062_all_changes_happen_below_bubblewrap(struct attest *t)
{
	const char *file = attest_path(t, "%s/trace", attest_home(t));
	struct lineage *l = arena_alloc(attest_arena(t), sizeof(*l));
	static const char *const env[] = {
		"ASAN_OPTIONS=detect_leaks=0" /* it cannot be traced */, NULL};
	struct attest_start s = {.wrap = strace_all(t, file), .env = env};
	int shell, write, edit;
	struct trace tr;
	struct drill r;

	drill_init(&r, t);
	shell = drill_shell(&r, "echo one > by-shell");
	write = drill_write(&r, "by-write", "one\n");
	edit = drill_edit(&r, "by-edit", "one", "two");
	attest_write(t, attest_path(t, "%s/by-edit", workspace_of(t)), "one\n");
	drill_start(&r, &s);
	(void)attest_bot(t, r.d, "b", CONFINED);
	(void)drill_done(&r, "b", shell);
	(void)drill_done(&r, "b", write);
	(void)drill_done(&r, "b", edit);
	trace_stop(t, r.d);
	tr = trace_read(t, file);
	*l = (struct lineage){.trace = &tr};
	find_inside(t, l);
	attest_true(t, l->count > 0, "bubblewrap was not started");
	check_inside(t, l, "by-shell");
	check_inside(t, l, "by-write");
	check_inside(t, l, "by-edit");
	attest_true(t,
		str_is(attest_read(t, attest_path(t, "%s/by-edit", workspace_of(t))), "two\n"),
		"nothing was edited");
}

static void check_unconfined(struct attest *t, struct drill *r, const char *bot)
{
	const char *target = attest_path(t, "%s/%s", attest_outside(t), bot);
	int port, fd = drill_listen_tcp(t, &port);

	(void)drill_works(r, bot, "echo x > '%s'", target);
	attest_true(t, attest_exists(target), "%s wrote nothing outside its workspace", bot);
	(void)drill_works(r, bot, "'%s' tcp %d", drill_probe(t), port);
	attest_true(t, drill_was_reached(fd), "%s reached no TCP port", bot);
}

static void AG_136_full_access_means_unconfined(struct attest *t)
{
	struct drill r;

	drill_init(&r, t);
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b", "\"sandbox\":\"danger-full-access\"");
	check_unconfined(t, &r, "b");
}

static void AG_137_without_a_sandbox_a_bot_is_unconfined(struct attest *t)
{
	struct drill r;

	drill_init(&r, t);
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b", "");
	check_unconfined(t, &r, "b");
	attest_has(t, "AGENT_SOCKET", drill_works(&r, "b", "echo \"<$AGENT_SOCKET>\""),
		attest_path(t, "<%s>", r.d->socket));
}

/* Every set of capabilities in /proc/self/status is empty. */
static void check_no_capability(struct attest *t, struct str status)
{
	static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapAmb"};

	for (size_t i = 0; i < ARRAY_LEN(sets); i++)
		attest_has(t, "the capabilities of a confined command", status,
			attest_path(t, "%s:\t0000000000000000", sets[i]));
}

static const char *own_mounts(struct attest *t)
{
	char *name = attest_path(t, "%64s", "");
	ssize_t n = readlink("/proc/self/ns/mnt", name, 63);

	attest_true(t, n > 0, "attest: no mount namespace to name");
	name[n] = '\0';
	return name;
}

static void AG_109_a_confined_command_has_no_capability(struct attest *t)
{
	struct attest_start s = {0};
	struct str said;
	struct drill r;

	if (geteuid() != 0) /* the mapped root of a user namespace */
		s.wrap = drill_mask_bwrap(t, drill_copy_bwrap(t));
	drill_init(&r, t);
	drill_start(&r, &s);
	(void)attest_bot(t, r.d, "b", CONFINED ",\"network\":true");
	(void)attest_bot(t, r.d, "offline", CONFINED);
	check_no_capability(t, drill_works(&r, "b", "cat /proc/self/status"));
	check_no_capability(t, drill_works(&r, "offline", "cat /proc/self/status"));
	said = drill_works(&r, "b", "id -u; '%s' undo '%s' '%s'; echo undone $?", drill_probe(t),
		r.d->socket, own_mounts(t));
	attest_true(t, str_starts(said, STR("0\n")), "the daemon does not run as uid 0");
	attest_has(t, "undoing the sandbox", said, "here remount: E");
	attest_has(t, "undoing the sandbox", said, "here umount: E");
	attest_has(t, "undoing the sandbox", said, "undone 0");
}

/* The model says SEEN when its next request holds the marker. */
static void AG_222_reads_are_open_and_go_to_the_provider(struct attest *t)
{
	const char *file = attest_path(t, "%s/marker", attest_outside(t));
	const char *script = attest_path(t,
		"{\"rehearsal\":1,\"repeat\":true}\n"
		"{\"calls\":[{\"tool\":\"read\",\"arguments\":{\"path\":\"%s\"}}]}\n"
		"{\"when\":{\"result_has\":\"a-marker-of-1\"},\"say\":\"SEEN\"}\n"
		"{\"calls\":[{\"tool\":\"shell\",\"arguments\":{\"command\":\"cat '%s'\"}}]}\n"
		"{\"when\":{\"result_has\":\"a-marker-of-2\"},\"say\":\"SEEN\"}\n",
		file, file);
	struct attest_daemon *d;

	attest_write(t, file, "a-marker-of-1\n");
	d = attest_daemon_start(t, &(struct attest_start){.script = script});
	(void)attest_bot(t, d, "b", READ_ONLY);
	attest_has(t, "after `read`", json_str(json_get(attest_turn(t, d, "b", "go"), "text")),
		"SEEN");
	attest_write(t, file, "a-marker-of-2\n");
	attest_has(t, "after a confined cat",
		json_str(json_get(attest_turn(t, d, "b", "go"), "text")), "SEEN");
}

const struct attest_case attest_agent_sandbox[] = {
	{"AG-062", NEEDS_SANDBOX | NEEDS_STRACE,    AG_062_all_changes_happen_below_bubblewrap   },
	{"AG-064", NEEDS_SANDBOX,                   AG_064_the_modes_have_three_names            },
	{"AG-065", NEEDS_SANDBOX,                   AG_065_a_read_only_bot_writes_no_file        },
	{"AG-066", NEEDS_SANDBOX,                   AG_066_a_confined_bot_writes_its_folders_only},
	{"AG-067", NEEDS_SANDBOX,                   AG_067_no_mode_closes_reads                  },
	{"AG-109", NEEDS_SANDBOX | NEEDS_NAMESPACE, AG_109_a_confined_command_has_no_capability  },
	{"AG-136", NEEDS_NOTHING,                   AG_136_full_access_means_unconfined          },
	{"AG-137", NEEDS_NOTHING,                   AG_137_without_a_sandbox_a_bot_is_unconfined },
	{"AG-222", NEEDS_SANDBOX,                   AG_222_reads_are_open_and_go_to_the_provider },
	{"AG-232", NEEDS_SANDBOX,                   AG_232_the_writable_folders_are_four         },
	{NULL,     0,			       NULL					 },
};
