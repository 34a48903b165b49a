/* Faults of output that lies in files: no room for it, a daemon that is killed while it is written.
 */
#include <errno.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"
#include "test/crash/faults.h"

enum {
	TURN_MS = 10000,
	WROTE_BYTES = 8 << 20,
	KEPT_BYTES = 1 << 20, /* agent spec 4.3 */
};

static const char much_script[] =
	"{\"calls\":[{\"tool\":\"shell\",\"arguments\":{\"background\":true,\"command\":"
	"\"head -c 8388608 /dev/zero | tr '\\\\\\\\000' x; echo over > over\"}}]}\n"
	"{\"say\":\"started\"}\n"
	"{\"say\":\"still here\"}\n";
static const char log_script[] =
	"{\"calls\":[{\"tool\":\"shell\",\"arguments\":{\"background\":true,\"command\":"
	"\"mkfifo gate; echo so far; echo up > up; read x < gate\"}}]}\n"
	"{\"say\":\"started\"}\n";

static struct str text_of(const struct json *reply, const char *name)
{
	return json_str(json_get(reply, name));
}

static const struct json *wait_for_process(struct client *c)
{
	const struct json *reply = rig_call(
		c, "\"op\":\"wait\",\"handles\":[\"proc:1\"],\"timeout_ms\":%d", TURN_MS);
	const struct json *outcome = json_get(json_get(reply, "results"), "proc:1");

	rig_true(outcome && !json_is_true(json_get(outcome, "pending")), "the command has no end");
	return outcome;
}

static const struct json *log_page(struct client *c)
{
	return rig_call(c, "\"op\":\"artifact\",\"bot\":\"busy\",\"turn\":1,\"call_id\":\"r1-1\","
			   "\"stream\":\"stdout\"");
}

static bool is_there(struct rig *r, const char *below)
{
	_cleanup_(mem) char *path = xasprintf("%s.spill%s", r->store, below);

	return access(path, F_OK) == 0;
}

/*
 * More is written than the disk takes: the command is ended and says why, its end is recorded, the
 * room it took is there again, and the next turn runs.
 */
static void spill_finds_no_room(struct rig *r)
{
	char *busy = fault_folder(r, "busy");
	struct client *c;
	const struct json *outcome;
	int64_t total = 0;

	fault_small_disk(r, "5m");
	c = fault_start(r, much_script);
	fault_bot(c, "busy", busy, "");
	(void)fault_wait(c, "busy", fault_submit(c, "busy"), TURN_MS);
	outcome = wait_for_process(c);
	rig_true(str_is(text_of(outcome, "error"), "spill_failed"),
		"the command ended with '" STR_FMT "'", STR_ARG(text_of(outcome, "error")));
	rig_true(str_find(text_of(outcome, "detail"), STR("No space left"), 0) > 0,
		"the detail is '" STR_FMT "'", STR_ARG(text_of(outcome, "detail")));
	rig_true(json_i64(json_get(log_page(c), "total_bytes"), &total) == 0 && total == KEPT_BYTES,
		"%lld bytes are kept", (long long)total);
	rig_true(!is_there(r, "/1"), "what could not be kept is on the disk");
	rig_true(strcmp(fault_ended(r, c, "busy", fault_submit(c, "busy"), TURN_MS), "completed") ==
			 0,
		"no turn runs afterwards");
	fault_check_events(r);
	(void)rig_integrity(r);
	client_free(c);
	rig_stop(r);
	fault_no_small_disk(r);
}

/* The daemon is killed: what the command had written can be read, and what nobody knows is gone. */
static void spill_outlives_a_kill(struct rig *r)
{
	char *busy = fault_folder(r, "busy");
	_cleanup_(mem) char *up = xasprintf("%s/up", busy);
	_cleanup_(mem) char *stray = xasprintf("%s.spill/1/1/r9-9.9.stdout", r->store);
	struct client *c = fault_start(r, log_script);
	const struct json *outcome;

	fault_bot(c, "busy", busy, "");
	(void)fault_wait(c, "busy", fault_submit(c, "busy"), TURN_MS);
	fault_await_file(up, TURN_MS);
	while (str_find(text_of(log_page(c), "text"), STR("so far"), 0) < 0)
		rig_pause(5);
	rig_kill(r);
	client_free(c);
	rig_no_survivors(r, TURN_MS);
	rig_write(stray, "nobody's");
	rig_start(r, NULL, NULL);
	c = rig_connect(r);
	outcome = wait_for_process(c);
	rig_true(
		str_is(text_of(outcome, "error"), "process_lost") && json_get(outcome, "artifacts"),
		"the command ended with '" STR_FMT "'", STR_ARG(text_of(outcome, "error")));
	rig_true(str_is(text_of(log_page(c), "text"), "so far\n"), "what it wrote is lost");
	rig_true(access(stray, F_OK) < 0, "a file that no row knows is there");
	(void)rig_call(c, "\"op\":\"delete\",\"bot\":\"busy\"");
	rig_true(!is_there(r, "/1"), "a deleted bot's output is there");
	client_free(c);
	rig_stop(r);
}

const struct fault spill_faults[] = {
	{"spill_finds_no_room",   spill_finds_no_room  },
	{"spill_outlives_a_kill", spill_outlives_a_kill},
	{NULL,		    NULL                 },
};
