/* Files, folders, modes. */
#include "attest/suites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "attest/raw.h"
#include "attest/script.h"
#include "attest/space.h"
#include "attest/trace.h"
#include "os/os.h"

static void set_mode(struct attest *t, const char *path, mode_t mode)
{
	attest_true(t, chmod(path, mode) == 0, "attest: chmod '%s': %s", path, strerror(errno));
}

/* The arguments that make the command line start a daemon with the script given. */
static const char *provider_arg(struct attest *t, const char *script)
{
	char *path = attest_path(t, "%s/drill.jsonl", attest_home(t));

	attest_write(t, path, script);
	return attest_path(t, "--provider=drill=rehearsal,%s", path);
}

/* `agent start` under a umask, in the case's home. */
static struct attest_ran start_under(struct attest *t, mode_t mask)
{
	return attest_sh(t, "umask %04o; exec '%s' start '%s'", mask, attest_bin("agent"),
		provider_arg(t, SAY("ok")));
}

static void stop_started(struct attest *t)
{
	const char *argv[] = {"shutdown", NULL};
	struct attest_ran ran = attest_agent(t, NULL, argv, NULL);

	attest_true(t, ran.status == 0, "agent shutdown: " STR_FMT, STR_ARG(ran.err));
}

static void AG_027_the_socket_is_0600_whatever_the_umask(struct attest *t)
{
	static const struct {
		const char *name;
		mode_t mask;
	} rows[] = {
		{"no umask at all", ATTEST_UMASK_NONE},
		{"the usual umask", 0022             },
		{"a closed umask",  0077             },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct attest_daemon *d = attest_daemon_start(
			t, &(struct attest_start){.umask = rows[i].mask});

		attest_mode(t, rows[i].name, d->socket, 0600);
		attest_daemon_stop(t, d);
		attest_absent(t, d->socket);
	}
}

/* No call of the trace gives the file a mode; the descriptor is not looked at, so none may be used.
 */
static void no_chmod(struct attest *t, const struct trace *tr, const char *path)
{
	for (size_t i = 0; i < tr->count; i++) {
		const struct trace_call *c = &tr->calls[i];

		attest_true(t,
			!trace_names(c, "fchmod") &&
				!(strstr(c->name, "chmod") && trace_has(c, path)),
			"%s(" STR_FMT ") gives a mode afterwards", c->name, STR_ARG(c->args));
	}
}

/* The last umask set by this process before a call, as strace prints it, or "". */
static struct str mask_at(const struct trace *tr, size_t at)
{
	while (at-- > 0) {
		if (trace_names(&tr->calls[at], "umask"))
			return tr->calls[at].args;
	}
	return STR("");
}

static void AG_028_the_umask_is_set_around_the_bind(struct attest *t)
{
	char *file = attest_path(t, "%s/trace", attest_home(t));
	struct attest_daemon *d = trace_daemon(t,
		&(struct attest_start){.umask = ATTEST_UMASK_NONE}, file,
		"bind,umask,chmod,fchmod,fchmodat,?fchmodat2");
	pid_t pid = trace_pid(t, d);
	struct trace tr, own = {.count = 0};
	struct trace_call *calls;
	ptrdiff_t bound, after;

	attest_mode(t, "the socket", d->socket, 0600);
	trace_stop(t, d);
	tr = trace_read(t, file);
	calls = arena_alloc(attest_arena(t), tr.count * sizeof(*calls));
	for (size_t i = 0; i < tr.count; i++) { /* bubblewrap has umasks of its own */
		if (!trace_makes_thread(&tr.calls[i]) && trace_is_of(&tr, &tr.calls[i], pid))
			calls[own.count++] = tr.calls[i];
	}
	own.calls = calls;
	bound = trace_find(&own, 0, "bind", d->socket);
	attest_true(t, bound >= 0 && own.calls[bound].value == 0, "no bind of '%s'", d->socket);
	attest_true(t, trace_find(&own, (size_t)bound + 1, "bind", d->socket) < 0,
		"the socket is bound twice");
	attest_true(t, str_is(mask_at(&own, (size_t)bound), "0177"),
		"the umask at the bind is " STR_FMT, STR_ARG(mask_at(&own, (size_t)bound)));
	after = trace_find(&own, (size_t)bound, "umask", NULL);
	attest_true(t,
		after > bound && str_is(own.calls[after].args, "000") &&
			str_is(mask_at(&own, own.count), "000"),
		"the umask is not put back after the bind");
	no_chmod(t, &own, d->socket);
}

static void AG_029_the_daemon_makes_its_folder_0700(struct attest *t)
{
	struct attest_daemon *d = attest_daemon_start(
		t, &(struct attest_start){.umask = ATTEST_UMASK_NONE});

	attest_mode(t, "under no umask", attest_path(t, "%s/.agent", d->home), 0700);
}

static void AG_031_a_folder_that_is_there_keeps_its_mode(struct attest *t)
{
	static const mode_t modes[] = {0755, 0770, 0701};
	char *folder = attest_path(t, "%s/.agent", attest_home(t));

	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		struct attest_daemon *d;
		struct attest_ran ran;

		attest_write(t, attest_path(t, "%s/kept", folder), "");
		set_mode(t, folder, modes[i]);
		d = attest_daemon_start(t, &(struct attest_start){.umask = 0077});
		attest_mode(t, "after agent serve", folder, modes[i]);
		attest_daemon_stop(t, d);
		attest_true(t, unlink(attest_path(t, "%s.log", d->store)) == 0 || errno == ENOENT,
			"attest: unlink");
		ran = start_under(t, 0);
		attest_true(t, ran.status == 0, "agent start: " STR_FMT, STR_ARG(ran.err));
		attest_true(t, attest_exists(attest_path(t, "%s.log", d->store)),
			"agent start wrote no log");
		attest_mode(t, "after agent start", folder, modes[i]);
		stop_started(t);
	}
}

/*
 * AG-032, AG-033: the folder under /tmp, in a /tmp of the case's own.
 */
static char *long_store(struct attest *t)
{
	char part[120];
	char *store;

	memset(part, 'p', sizeof(part) - 1);
	part[sizeof(part) - 1] = '\0';
	store = attest_path(t, "%s/%s/%s", attest_home(t), part, part);
	store = attest_path(t, "%.*s", 196, store);
	return attest_path(t, "%s.db", store);
}

static void make_store_folder(struct attest *t, const char *store)
{
	char *folder = attest_path(t, "%.*s", (int)(strrchr(store, '/') - store), store);

	attest_write(t, attest_path(t, "%s/here", folder), "");
}

static void AG_032_a_long_path_has_its_socket_in_a_private_folder(struct attest *t)
{
	const char *store, *folder = attest_path(t, "/tmp/agent-%u", (unsigned)geteuid());
	const char *ask[] = {"stats", NULL};
	struct attest_daemon *d;

	space_enter(t, SPACE_TMP);
	store = long_store(t);
	make_store_folder(t, store);
	attest_true(t, strlen(store) >= 199, "attest: the path has %zu bytes", strlen(store));
	attest_absent(t, folder);
	d = attest_daemon_start(
		t, &(struct attest_start){.store = store, .umask = ATTEST_UMASK_NONE});
	attest_true(t, str_starts(str_from(d->socket), str_from(folder)), "the socket lies at '%s'",
		d->socket);
	attest_mode(t, "the folder", folder, 0700);
	attest_mode(t, "the socket", d->socket, 0600);
	(void)attest_call(t, d->client, "\"op\":\"stats\"");
	attest_true(t, attest_agent(t, d, ask, NULL).status == 0,
		"the command line does not find the daemon of that store");
	attest_absent(t, attest_path(t, "%s.sock", store));
}

/* A listener of the case's own at the path, which may be a long one behind a link. */
static int waiting_listener(struct attest *t, const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	must(strlen(path) < sizeof(addr.sun_path));
	memcpy(addr.sun_path, path, strlen(path) + 1);
	(void)unlink(path); /* of the row before */
	if (fd < 0 || bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0 ||
		listen(fd, 16) < 0)
		attest_broken(t, "attest: listen at '%s': %s", path, strerror(errno));
	return fd;
}

/* With what is at the folder's name now: neither a daemon nor a client uses it. */
static void check_unsafe(struct attest *t, const char *what, const char *store, int listener)
{
	const char *serve[] = {"serve", provider_arg(t, SAY("ok")), "--store", store, NULL};
	const char *start[] = {"start", provider_arg(t, SAY("ok")), "--store", store, NULL};
	const char *ask[] = {"stats", "--store", store, NULL};
	const char *const *const commands[] = {serve, start, ask};
	int fd;

	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		struct attest_ran ran = attest_agent(t, NULL, commands[i], NULL);

		attest_true(t, ran.status == 1, "%s: agent %s exits %d", what, commands[i][0],
			ran.status);
		attest_has(t, attest_path(t, "%s: agent %s", what, commands[i][0]), ran.err,
			"unsafe_socket_directory");
	}
	fd = listener >= 0 ? accept(listener, NULL, NULL) : -1;
	attest_true(t, fd < 0, "%s: somebody connected to the listener waiting there", what);
}

/* A folder of mode 0700 that is another user's. */
static const char *foreign_folder(struct attest *t, const char *made)
{
	static const char *const known[] = {
		"/root", "/lost+found", "/var/cache/ldconfig", "/etc/ssl/private"};
	struct stat st;

	if (made)
		return made;
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (lstat(known[i], &st) == 0 && S_ISDIR(st.st_mode) &&
			(st.st_mode & 07777) == 0700 && st.st_uid != geteuid())
			return known[i];
	}
	attest_not_here(t, "no folder of another user with mode 0700 to be found");
}

/* Made while the case still is who it is: root can give a folder away. */
static const char *give_folder_away(struct attest *t)
{
	char *path = attest_path(t, "%s/theirs", attest_outside(t));

	if (geteuid() != 0)
		return NULL;
	attest_true(t, mkdir(path, 0700) == 0 && chown(path, 54321, 54321) == 0,
		"attest: a folder of somebody else: %s", strerror(errno));
	return path;
}

/* Folders of ours with a listener in them, at the name and behind a link from it. */
static void check_own_folders(
	struct attest *t, const char *folder, const char *socket, const char *store)
{
	static const mode_t modes[] = {0750, 0701, 0770, 0777};
	char *good = attest_path(t, "/tmp/good");
	int listener;

	attest_true(t, mkdir(good, 0700) == 0 && symlink(good, folder) == 0, "attest: a link");
	listener = waiting_listener(t, socket);
	check_unsafe(t, "a symlink to a good folder", store, listener);
	os_close(listener);
	attest_true(t, unlink(folder) == 0 && mkdir(folder, 0700) == 0, "attest: a folder");
	listener = waiting_listener(t, socket);
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		set_mode(t, folder, modes[i]);
		check_unsafe(t, attest_path(t, "a folder of mode %04o", modes[i]), store, listener);
	}
	os_close(listener);
	attest_true(t, unlink(socket) == 0 && rmdir(folder) == 0, "attest: the folder");
}

static void AG_033_only_a_folder_of_ones_own_is_used(struct attest *t)
{
	const char *folder = attest_path(t, "/tmp/agent-%u", (unsigned)geteuid());
	const char *made = give_folder_away(t), *store, *socket;

	space_enter(t, SPACE_TMP);
	store = long_store(t);
	make_store_folder(t, store);
	socket = client_socket_path(store);
	/* What all of this hangs on: the same folder made by the daemon itself is used. */
	attest_daemon_stop(t, attest_daemon_start(t, &(struct attest_start){.store = store}));
	attest_true(t, os_remove_tree(folder, NULL) == 0, "attest: the folder");
	check_own_folders(t, folder, socket, store);

	attest_write(t, folder, "a file");
	check_unsafe(t, "a file", store, -1);
	attest_true(t, unlink(folder) == 0 && mkdir(folder, 0700) == 0, "attest: a folder");
	space_bind(t, foreign_folder(t, made), folder);
	check_unsafe(t, "a folder of another owner", store, -1);
	space_unbind(t, folder);
	attest_absent(t, socket);
}

static void AG_165_an_open_env_file_is_refused(struct attest *t)
{
	static const char value[] = "marker-sekret-0123456789";
	static const mode_t modes[] = {0640, 0604, 0644, 0660};
	char *file = attest_path(t, "%s/.agent/env", attest_home(t));
	const char *start[] = {"start", provider_arg(t, SAY("ok")), NULL};
	const char *serve[] = {"serve", provider_arg(t, SAY("ok")), NULL};
	const char *const *const commands[] = {start, serve};

	attest_write(t, file, attest_path(t, "OPENAI_API_KEY=%s\n", value));
	for (size_t i = 0; i < ARRAY_LEN(modes) * 2; i++) {
		const char *const *command = commands[i % 2];
		mode_t mode = modes[i / 2];
		struct attest_ran ran;

		set_mode(t, file, mode);
		ran = attest_agent(t, NULL, command, NULL);
		attest_true(t, ran.status == 1, "agent %s with an env file of mode %04o exits %d",
			command[0], mode, ran.status);
		attest_has(t, command[0], ran.err, file);
		attest_has(t, command[0], ran.err, attest_path(t, "%04o", mode));
		attest_lacks(t, command[0], ran.err, value);
		attest_lacks(t, command[0], ran.out, value);
		attest_absent(t, attest_path(t, "%s/.agent/state.sqlite.sock", attest_home(t)));
	}
	set_mode(t, file, 0600);
	attest_daemon_stop(t, attest_daemon_start(t, &(struct attest_start){0}));
}

/*
 * The store.
 */
static void AG_191_the_store_is_0600_before_sqlite_opens_it(struct attest *t)
{
	char *file = attest_path(t, "%s/trace", attest_home(t));
	struct attest_daemon *d = trace_daemon(t,
		&(struct attest_start){.umask = ATTEST_UMASK_NONE}, file,
		"open,openat,openat2,creat,chmod,fchmod,fchmodat,?fchmodat2,rename,renameat,"
		"renameat2,link,linkat,mknod,mknodat");
	char *name = attest_path(t, "\"%s\"", d->store);
	const struct trace_call *made = NULL;
	struct trace tr;

	(void)attest_bot(t, d, "b", "");
	(void)attest_turn(t, d, "b", "go");
	trace_stop(t, d);
	tr = trace_read(t, file);
	for (size_t i = 0; i < tr.count; i++) {
		const struct trace_call *c = &tr.calls[i];

		if (!trace_has(c, name))
			continue;
		attest_true(t, trace_names(c, "openat") || trace_names(c, "open"),
			"%s(" STR_FMT ") brings the store about", c->name, STR_ARG(c->args));
		if (!trace_has(c, "O_CREAT")) {
			attest_true(t, made || c->value < 0,
				"the store was opened before it was "
				"made");
			continue;
		}
		attest_true(t, !made, "the store is made twice");
		attest_true(t,
			c->value >= 0 && trace_has(c, "O_EXCL") && str_ends(c->args, STR(", 0600")),
			"the store is made by %s(" STR_FMT ")", c->name, STR_ARG(c->args));
		made = c;
	}
	attest_true(t, made != NULL, "no call makes the store");
	no_chmod(t, &tr, name);
	attest_mode(t, "the store", d->store, 0600);
}

static void AG_192_the_sidecars_are_0600(struct attest *t)
{
	struct attest_daemon *d = attest_daemon_start(
		t, &(struct attest_start){.umask = ATTEST_UMASK_NONE});

	(void)attest_bot(t, d, "b", "");
	(void)attest_turn(t, d, "b", "go");
	attest_mode(t, "the log of writes", attest_path(t, "%s-wal", d->store), 0600);
	attest_mode(t, "its index", attest_path(t, "%s-shm", d->store), 0600);
}

static void AG_193_a_loose_store_is_tightened(struct attest *t)
{
	struct attest_daemon *d = attest_daemon_start(t, &(struct attest_start){0});

	(void)attest_bot(t, d, "b", "");
	attest_daemon_stop(t, d);
	set_mode(t, d->store, 0644);
	attest_daemon_again(t, d, &(struct attest_start){.umask = ATTEST_UMASK_NONE});
	attest_mode(t, "a store left at 0644", d->store, 0600);
	(void)attest_call(t, d->client, "\"op\":\"inspect\",\"bot\":\"b\"");
}

static void AG_194_loose_sidecars_are_tightened(struct attest *t)
{
	struct attest_daemon *d = attest_daemon_start(t, &(struct attest_start){0});
	char *wal = attest_path(t, "%s-wal", d->store), *shm = attest_path(t, "%s-shm", d->store);

	(void)attest_bot(t, d, "b", "");
	attest_daemon_kill(t, d);
	set_mode(t, wal, 0644);
	set_mode(t, shm, 0644);
	attest_daemon_again(t, d, &(struct attest_start){.umask = ATTEST_UMASK_NONE});
	attest_mode(t, "the log of writes, left at 0644", wal, 0600);
	attest_mode(t, "its index, left at 0644", shm, 0600);
	(void)attest_call(t, d->client, "\"op\":\"inspect\",\"bot\":\"b\"");
}

static void AG_195_the_log_is_0600(struct attest *t)
{
	char *log = attest_path(t, "%s/.agent/state.sqlite.log", attest_home(t));
	struct attest_ran ran = start_under(t, 0);

	attest_true(t, ran.status == 0, "agent start: " STR_FMT, STR_ARG(ran.err));
	attest_mode(t, "made under no umask", log, 0600);
	attest_true(t, attest_read(t, log).len > 0, "the daemon logs nothing there");
	stop_started(t);
	set_mode(t, log, 0644);
	ran = start_under(t, 0);
	attest_true(t, ran.status == 0, "agent start: " STR_FMT, STR_ARG(ran.err));
	attest_mode(t, "left at 0644", log, 0600);
	stop_started(t);
}

/*
 * Spilled output.
 */
#define LOGS                                                                                       \
	CALL("shell", "{\"background\":true,\"command\":\"mkfifo gate; echo password=hunter22; "   \
		      "seq -f %0999.f 3000; echo up > ready; read x < gate; echo the end\"}")

static bool is_written(struct attest *t, void *arg)
{
	return attest_read(t, arg).len > 0;
}

/* Every folder and file of the spill area, by find; how many files. */
static size_t check_spill(struct attest *t, const struct attest_daemon *d, const char *when)
{
	struct str rest = attest_sh(t, "find '%s.spill' -printf '%%y %%m %%p\\n'", d->store).out;
	struct str line;
	size_t files = 0;

	while (str_next(&rest, '\n', &line)) {
		if (line.len == 0)
			continue;
		attest_true(t, str_starts(line, STR("d 700 ")) || str_starts(line, STR("f 600 ")),
			"%s: " STR_FMT, when, STR_ARG(line));
		files += line.p[0] == 'f';
	}
	return files;
}

static const struct json *log_page(struct attest *t, struct attest_daemon *d)
{
	return attest_call(t, d->client,
		"\"op\":\"artifact\",\"bot\":\"b\",\"turn\":1,\"call_id\":\"r1-1\","
		"\"stream\":\"stdout\",\"limit\":64");
}

static int64_t total_of(const struct json *page)
{
	int64_t total = -1;

	return json_i64(json_get(page, "total_bytes"), &total) == 0 ? total : -1;
}

static void AG_198_spilled_output_is_private(struct attest *t)
{
	struct attest_daemon *d = attest_daemon_start(
		t, &(struct attest_start){.umask = ATTEST_UMASK_NONE,
			   .script = LOGS SAY("started") CALL("wait", "{\"handles\":[\"proc:1\"]}")
				   CALL("read", "{\"artifact\":\"1/r1-1/stdout\",\"offset\":3001}")
					   SAY("done")});
	const struct json *page;
	int64_t written;

	(void)attest_bot(t, d, "b", "");
	(void)attest_turn(t, d, "b", "go");
	attest_until(t, "the command has written its log", is_written,
		attest_path(t, "%s/ready", d->workspace));
	page = log_page(t, d);
	written = total_of(page);
	attest_true(t, written > 1 << 20 && json_is_true(json_get(page, "running")),
		"%lld bytes can be read while the command runs", (long long)written);
	attest_has(t, "the log", json_str(json_get(page, "text")), "password=[REDACTED]\n");
	attest_true(t, check_spill(t, d, "while it runs") == 1, "the log is not one file");
	attest_true(t, attest_sh(t, "grep -r hunter22 '%s.spill'", d->store).status == 1,
		"a password is in the spill area");
	(void)attest_sh(t, "echo > '%s/gate'", d->workspace);
	attest_has(t, "the turn", attest_said(attest_turn(t, d, "b", "how did it go")), "done");
	attest_has(t, "its result", attest_output(t, d, "b", 1), "1/r1-1/stdout");
	attest_has(t, "a page of it", attest_output(t, d, "b", 2), "  3002\tthe end\n");
	page = log_page(t, d);
	attest_true(t, total_of(page) == written + 8 && !json_get(page, "running"),
		"the end is not in the log");
	attest_true(t, check_spill(t, d, "when it has ended") == 1, "the log is not one file");
	(void)attest_call(t, d->client, "\"op\":\"prune\",\"bot\":\"b\",\"keep_turns\":1");
	attest_true(t, check_spill(t, d, "when it was pruned") == 0, "a pruned log is there");
	(void)attest_refused(t, d->client, "artifact_pruned",
		"\"op\":\"artifact\",\"bot\":\"b\",\"turn\":1,\"call_id\":\"r1-1\"");
}

const struct attest_case attest_agent_files[] = {
	{"AG-027", NEEDS_NOTHING,   AG_027_the_socket_is_0600_whatever_the_umask         },
	{"AG-028", NEEDS_STRACE,    AG_028_the_umask_is_set_around_the_bind              },
	{"AG-029", NEEDS_NOTHING,   AG_029_the_daemon_makes_its_folder_0700              },
	{"AG-031", NEEDS_NOTHING,   AG_031_a_folder_that_is_there_keeps_its_mode         },
	{"AG-032", NEEDS_NAMESPACE, AG_032_a_long_path_has_its_socket_in_a_private_folder},
	{"AG-033", NEEDS_NAMESPACE, AG_033_only_a_folder_of_ones_own_is_used             },
	{"AG-165", NEEDS_NOTHING,   AG_165_an_open_env_file_is_refused                   },
	{"AG-191", NEEDS_STRACE,    AG_191_the_store_is_0600_before_sqlite_opens_it      },
	{"AG-192", NEEDS_NOTHING,   AG_192_the_sidecars_are_0600                         },
	{"AG-193", NEEDS_NOTHING,   AG_193_a_loose_store_is_tightened                    },
	{"AG-194", NEEDS_NOTHING,   AG_194_loose_sidecars_are_tightened                  },
	{"AG-195", NEEDS_NOTHING,   AG_195_the_log_is_0600                               },
	{"AG-198", NEEDS_NOTHING,   AG_198_spilled_output_is_private                     },
	{NULL,     0,               NULL						 },
};
