/* Faults of the store: a full disk, a folder that cannot be written, syncs that fail, others'
 * files. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"
#include "test/crash/faults.h"

enum {
	TURN_MS = 10000,
	WAITING_MS = 700, /* a turn that waits for room is still waiting after this */
	LOST_RACE = 75,   /* agent spec 12 */
	FAILED = 1,
	USER_VERSION_AT = 60, /* in SQLite's header, four bytes, the highest first */
};

/* Runs until it is told to go on, then leaves its mark. */
static const char held_script[] = "{\"rehearsal\":1,\"repeat\":true}\n"
				  "{\"calls\":[{\"tool\":\"shell\",\"arguments\":{\"command\":"
				  "\"touch up; while [ ! -e go ]; do sleep 0.02; done; "
				  "echo \\\"$AGENT_BOT $AGENT_TURN 1\\\" >> ledger\"}}]}\n"
				  "{\"say\":\"done\"}\n";
/* The same, with a result that no part of the store's log can hold that was used before: once that
 * is written back it is used again from its start, and needs no room on the disk for it. */
static const char held_long_script[] = "{\"rehearsal\":1,\"repeat\":true}\n"
				       "{\"calls\":[{\"tool\":\"shell\",\"arguments\":{\"command\":"
				       "\"touch up; while [ ! -e go ]; do sleep 0.02; done; "
				       "echo \\\"$AGENT_BOT $AGENT_TURN 1\\\" >> ledger; "
				       "head -c 700000 /dev/urandom | base64\"}}]}\n"
				       "{\"say\":\"done\"}\n";
static const char quick_script[] = "{\"rehearsal\":1,\"repeat\":true}\n"
				   "{\"calls\":[{\"tool\":\"shell\",\"arguments\":{\"command\":"
				   "\"echo \\\"$AGENT_BOT $AGENT_TURN 1\\\" >> ledger\"}}]}\n"
				   "{\"say\":\"done\"}\n";

static void put_map(const char *path, const char *content)
{
	struct error err = ERROR_INIT;
	int fd = -1;

	if (os_open(path, O_WRONLY, 0, &fd, &err) < 0 ||
		os_write_all(fd, content, strlen(content), &err) < 0)
		rig_broken("%s", err.text);
	os_close(fd);
}

/* Mounts of our own, as root or as whoever may make a user namespace. */
static void own_mounts(void)
{
	unsigned uid = geteuid(), gid = getegid();

	if (unshare(CLONE_NEWNS) < 0) {
		_cleanup_(mem) char *users = xasprintf("%u %u 1", uid, uid);
		_cleanup_(mem) char *groups = xasprintf("%u %u 1", gid, gid);

		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
			rig_not_here("this user cannot make namespaces: %s", strerror(errno));
		put_map("/proc/self/setgroups", "deny");
		put_map("/proc/self/uid_map", users);
		put_map("/proc/self/gid_map", groups);
		(void)prctl(PR_SET_DUMPABLE, 1); /* for LeakSanitizer, which says so without it */
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		rig_not_here("no mounts of our own: %s", strerror(errno));
}

static char *state_folder(struct rig *r)
{
	char *path = rig_keep(r, "%s/.agent", r->home);

	rig_true(mkdir(path, 0700) == 0 || errno == EEXIST, "no folder '%s'", path);
	return path;
}

void fault_small_disk(struct rig *r, const char *size)
{
	_cleanup_(mem) char *options = xasprintf("size=%s,mode=0700", size);

	own_mounts();
	if (mount("small", state_folder(r), "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
		rig_not_here("no tmpfs: %s", strerror(errno));
}

void fault_no_small_disk(struct rig *r)
{
	rig_true(umount2(state_folder(r), MNT_DETACH) == 0, "the small disk stays");
}

/* To the last byte. */
static void fill(const char *path)
{
	static const char block[4096];
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND, 0600);
	size_t size = sizeof(block);

	rig_true(fd >= 0, "no file to fill the disk with: %s", strerror(errno));
	while (size > 0) {
		if (write(fd, block, size) <= 0)
			size /= 2;
	}
	os_close(fd);
}

static int lines_of(struct rig *r, const char *folder)
{
	_cleanup_(mem) char *path = xasprintf("%s/ledger", folder);
	struct str text = rig_read(r, path);
	int lines = 0;

	for (size_t i = 0; i < text.len; i++)
		lines += text.p[i] == '\n';
	return lines;
}

static void check_log_has(struct rig *r, const char *needle)
{
	rig_true(str_find(rig_read(r, r->log), str_from(needle), 0) >= 0, "the log lacks '%s'",
		needle);
}

/*
 * The disk fills up in the middle of a turn: the turn waits, reads go on, writes are refused with a
 * code; with room again the turn ends as if nothing had been.
 */
static void full_disk(struct rig *r)
{
	char *busy = fault_folder(r, "busy"), *other = fault_folder(r, "other");
	_cleanup_(mem) char *up = xasprintf("%s/up", busy), *go = xasprintf("%s/go", busy);
	_cleanup_(mem) char *others_go = xasprintf("%s/go", other);
	_cleanup_(mem) char *filler = xasprintf("%s/.agent/filler", r->home);
	struct client *c;
	int64_t turn, before;

	fault_small_disk(r, "6m");
	c = fault_start(r, held_long_script);
	fault_bot(c, "busy", busy, "");
	fault_bot(c, "other", other, "");
	rig_write(others_go, "");
	before = fault_submit(c, "other");
	(void)fault_wait(c, "other", before, TURN_MS);
	turn = fault_submit(c, "busy");
	fault_await_file(up, TURN_MS);
	fill(filler);
	rig_write(go, "");
	/* the other bot's history can be read, nothing can be written */
	for (int64_t until = rig_now_ms() + WAITING_MS; rig_now_ms() < until; rig_pause(20)) {
		const struct json *result = rig_call(
			c, "\"op\":\"result\",\"bot\":\"other\",\"turn\":%lld", (long long)before);

		rig_true(str_is(json_str(json_get(result, "status")), "completed"), "another turn");
		(void)rig_call(c, "\"op\":\"events\",\"bot\":\"other\"");
		(void)rig_call(c, "\"op\":\"history_nodes\",\"bot\":\"busy\"");
		(void)rig_call(c, "\"op\":\"stats\"");
		result = rig_call(
			c, "\"op\":\"result\",\"bot\":\"busy\",\"turn\":%lld", (long long)turn);
		rig_true(str_is(json_str(json_get(result, "status")), "running"),
			"a turn that cannot be recorded is said to be over");
	}
	rig_refused(c, "storage_error",
		"\"op\":\"create\",\"bot\":\"third\",\"model\":\"drill/x\",\"instructions\":\"\","
		"\"tools\":[\"echo\"]");
	rig_refused(c, "storage_error",
		"\"op\":\"submit\",\"bot\":\"other\",\"request_id\":\"late\",\"prompt\":\"go\"");
	check_log_has(r, "turn.store_refused");
	rig_true(unlink(filler) == 0, "no room can be made");
	rig_true(strcmp(fault_ended(r, c, "busy", turn, TURN_MS), "completed") == 0,
		"the turn that waited for room failed");
	rig_true(lines_of(r, busy) == 1, "the command wrote %d lines", lines_of(r, busy));
	rig_refused(c, "bot_not_found", "\"op\":\"inspect\",\"bot\":\"third\"");
	rig_true(strcmp(fault_ended(r, c, "other", fault_submit(c, "other"), TURN_MS),
			 "completed") == 0,
		"no turn runs after there is room again");
	fault_check_events(r);
	(void)rig_integrity(r);
	client_free(c);
	rig_stop(r);
	fault_no_small_disk(r);
}

/* The daemon is killed while the disk is full, and starts again once there is room. */
static void full_disk_and_killed(struct rig *r)
{
	char *busy = fault_folder(r, "busy");
	_cleanup_(mem) char *up = xasprintf("%s/up", busy), *go = xasprintf("%s/go", busy);
	_cleanup_(mem) char *filler = xasprintf("%s/.agent/filler", r->home);
	struct client *c;
	int64_t turn;
	int status = 0;

	fault_small_disk(r, "3m");
	c = fault_start(r, held_script);
	fault_bot(c, "busy", busy, "");
	turn = fault_submit(c, "busy");
	fault_await_file(up, TURN_MS);
	fill(filler);
	rig_write(go, "");
	rig_pause(WAITING_MS / 2);
	rig_kill(r);
	client_free(c);
	rig_no_survivors(r, TURN_MS);
	rig_start(r, NULL, NULL); /* recovery has no room either: it says so, or finds some */
	c = rig_try_connect(r, &status);
	if (!c) {
		rig_true(status == FAILED, "the daemon ended with %d", status);
		check_log_has(r, "agent serve: storage_error: ");
		rig_true(unlink(filler) == 0, "no room can be made");
		rig_start(r, NULL, NULL);
		c = rig_connect(r);
	} else {
		(void)unlink(filler); /* for the rest */
	}
	rig_true(strcmp(fault_ended(r, c, "busy", turn, TURN_MS),
			 "interrupted/process_interrupted") == 0,
		"the turn is not interrupted");
	rig_true(str_find(fault_output(r, c, "busy", 0), STR("tool_outcome_unknown"), 0) > 0,
		"the call's outcome is said to be known");
	rig_true(lines_of(r, busy) == 1, "the command wrote %d lines", lines_of(r, busy));
	fault_check_events(r);
	client_free(c);
	rig_stop(r);
	fault_no_small_disk(r);
}

static void read_only_folder(struct rig *r)
{
	char *folder = fault_folder(r, "ws"), *state = state_folder(r);
	struct client *c;
	int status;

	own_mounts();
	c = fault_start(r, quick_script);
	fault_bot(c, "ada", folder, "");
	(void)fault_wait(c, "ada", fault_submit(c, "ada"), TURN_MS);
	client_free(c);
	rig_stop(r);
	if (mount(state, state, NULL, MS_BIND, NULL) < 0 ||
		mount(NULL, state, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) < 0)
		rig_not_here("no read-only mount: %s", strerror(errno));
	rig_start(r, NULL, NULL);
	status = rig_wait(r, TURN_MS * RIG_SLOW);
	rig_true(status == FAILED, "on a read-only folder the daemon ended with %d", status);
	check_log_has(r, "agent serve: io_error: ");
	check_log_has(r, "Read-only file system");
	rig_true(umount2(state, MNT_DETACH) == 0, "the read-only mount stays");
	rig_start(r, NULL, NULL);
	c = rig_connect(r);
	rig_true(
		strcmp(fault_ended(r, c, "ada", fault_submit(c, "ada"), TURN_MS), "completed") == 0,
		"the store does not work after it was read-only");
	fault_check_events(r);
	client_free(c);
	rig_stop(r);
}

/* A request that the store could not confirm is refused; sent again it works. That goes for one
 * that changes nothing too: it shares the commit of whoever writes at that moment. */
static const struct json *ask_until_taken(struct client *c, const char *body)
{
	const struct json *reply;
	int refused = 0;

	while (!(reply = rig_ask(c, "%s", body))) {
		rig_true(strcmp(client_remote_code(c), "storage_error") == 0, "refused with %s",
			client_remote_code(c));
		rig_true(++refused < 100, "no sync works any more");
	}
	return reply;
}

static void failing_syncs(struct rig *r, const char *code, const char *when)
{
	static const char *const env[] = {"ASAN_OPTIONS=detect_leaks=0", NULL};
	static const char *const probe[] = {
		"/bin/sh", "-c", "exec strace -qq -o /dev/null -f true 2>/dev/null", NULL};
	char *folder = fault_folder(r, "ws");
	const char *wrap[] = {"strace", "-f", "-qq", "-o", "/dev/null", "--trace=fdatasync", "-P",
		rig_keep(r, "%s-wal", r->store),
		rig_keep(r, "--inject=fdatasync:error=%s:when=%s", code, when), NULL};
	_cleanup_(mem) char *create = xasprintf(
		"\"op\":\"create\",\"bot\":\"ada\",\"model\":\"drill/x\",\"instructions\":\"\","
		"\"tools\":[\"shell\"],\"workspace\":\"%s\"",
		folder);
	struct client *c;
	int64_t turn;

	if (rig_run(probe) != 0)
		rig_not_here("strace is missing or may not trace");
	client_free(fault_start(r, quick_script));
	rig_stop(r);
	r->env = env; /* LeakSanitizer does not work under strace */
	rig_start(r, wrap, NULL);
	c = rig_connect(r);
	(void)ask_until_taken(c, create);
	for (int i = 1; i <= 4; i++) {
		_cleanup_(mem) char *submit = xasprintf(
			"\"op\":\"submit\",\"bot\":\"ada\",\"request_id\":\"r%d\",\"prompt\":"
			"\"go\",\"delivery\":\"queue\"",
			i);

		(void)ask_until_taken(c, submit);
		turn = rig_i64(ask_until_taken(c, submit), "turn"); /* the same turn again */
		rig_true(strcmp(fault_ended(r, c, "ada", turn, TURN_MS), "completed") == 0,
			"turn %d failed", i);
		rig_true(lines_of(r, folder) == i, "%d turns wrote %d lines", i,
			lines_of(r, folder));
	}
	fault_check_events(r);
	(void)rig_call(c, "\"op\":\"shutdown\"");
	client_free(c);
	rig_true(rig_wait(r, TURN_MS * RIG_SLOW) == 0, "the daemon did not end with 0");
	r->env = NULL;
	(void)rig_integrity(r);
	c = fault_start(r, quick_script);
	fault_check_events(r);
	client_free(c);
	rig_stop(r);
}

static void sync_fails_with_eio(struct rig *r)
{
	failing_syncs(r, "EIO", "2+3");
}

static void sync_finds_no_room(struct rig *r)
{
	failing_syncs(r, "ENOSPC", "1+3");
}

/* Returns the version it had. */
static unsigned char put_version(const char *path, unsigned char version)
{
	unsigned char bytes[4] = {0, 0, 0, version}, before[4] = {0};
	int fd = open(path, O_RDWR | O_CLOEXEC);

	rig_true(fd >= 0 && pread(fd, before, sizeof(before), USER_VERSION_AT) == sizeof(before) &&
			 pwrite(fd, bytes, sizeof(bytes), USER_VERSION_AT) == sizeof(bytes),
		"no store at '%s'", path);
	os_close(fd);
	return before[3];
}

static void newer_schema(struct rig *r)
{
	char *folder = fault_folder(r, "ws");
	struct client *c = fault_start(r, quick_script);
	struct str before, after;
	unsigned char version;
	int status;

	fault_bot(c, "ada", folder, "");
	(void)fault_wait(c, "ada", fault_submit(c, "ada"), TURN_MS);
	client_free(c);
	rig_stop(r);
	version = put_version(r->store, 99);
	before = rig_read(r, r->store);
	rig_start(r, NULL, NULL);
	status = rig_wait(r, TURN_MS * RIG_SLOW);
	rig_true(status == FAILED, "on a newer store the daemon ended with %d", status);
	check_log_has(r, "agent serve: store_schema_newer: ");
	check_log_has(r, "99");
	after = rig_read(r, r->store);
	rig_true(str_eq(before, after), "a store of a newer version was changed");
	(void)put_version(r->store, version);
	rig_start(r, NULL, NULL);
	c = rig_connect(r);
	(void)rig_call(c, "\"op\":\"inspect\",\"bot\":\"ada\"");
	fault_check_events(r);
	client_free(c);
	rig_stop(r);
}

static int other_daemon(struct rig *r, const char *store, const char *socket)
{
	const char *const argv[] = {"/bin/sh", "-c",
		"HOME=\"$1\" exec \"$2/agent\" serve --store \"$3\" --socket \"$4\" --provider "
		"none=chat,http://127.0.0.1:1/v1 2>>\"$5\"",
		"sh", r->home, r->bin, store, socket, rig_keep(r, "%s/other.log", r->home), NULL};

	return rig_run(argv);
}

static void second_daemon(struct rig *r)
{
	char *folder = fault_folder(r, "ws");
	_cleanup_(mem) char *log = xasprintf("%s/other.log", r->home);
	_cleanup_(mem) char *store = xasprintf("%s/other.sqlite", r->home);
	_cleanup_(mem) char *socket = xasprintf("%s/other.sock", r->home);
	struct client *c = fault_start(r, quick_script);

	fault_bot(c, "ada", folder, "");
	rig_true(other_daemon(r, r->store, r->socket) == LOST_RACE, "a second daemon on the store");
	rig_true(other_daemon(r, r->store, socket) == LOST_RACE, "a second daemon, another socket");
	rig_true(str_find(rig_read(r, log), STR("store_already_owned"), 0) >= 0, "no code");
	rig_true(other_daemon(r, store, r->socket) == LOST_RACE, "a second daemon on the socket");
	rig_true(str_find(rig_read(r, log), STR("socket_already_owned"), 0) >= 0, "no code");
	rig_true(
		strcmp(fault_ended(r, c, "ada", fault_submit(c, "ada"), TURN_MS), "completed") == 0,
		"the first daemon is disturbed");
	client_free(rig_connect(r)); /* its socket is still its own */
	fault_check_events(r);
	client_free(c);
	rig_stop(r);
}

const struct fault store_faults[] = {
	{"full_disk",            full_disk           },
	{"full_disk_and_killed", full_disk_and_killed},
	{"read_only_folder",     read_only_folder    },
	{"sync_fails_with_eio",  sync_fails_with_eio },
	{"sync_finds_no_room",   sync_finds_no_room  },
	{"newer_schema",         newer_schema        },
	{"second_daemon",        second_daemon       },
	{NULL,		   NULL                },
};
