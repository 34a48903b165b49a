/* Faults of what turns work with: folders, commands, the clock, descriptors. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/os.h"
#include "test/crash/events.h"
#include "test/crash/faults.h"

enum {
	TURN_MS = 10000,
	DAY_MS = 86400000,
	EXPIRE_MS = 400,
	FEW_FDS = 64,
	MANY = 80, /* connections, more than there are descriptors */
};

static const char quick_script[] =
	"{\"rehearsal\":1,\"repeat\":true}\n"
	"{\"calls\":[{\"tool\":\"shell\",\"arguments\":{\"command\":\"echo here\"}}]}\n"
	"{\"say\":\"done\"}\n";

static void vanished_workspace(struct rig *r)
{
	char *folder = fault_folder(r, "ws");
	struct client *c = fault_start(r, quick_script);

	fault_bot(c, "plain", folder, "");
	fault_bot(c, "boxed", folder, "\"sandbox\":\"workspace-write\"");
	(void)fault_wait(c, "plain", fault_submit(c, "plain"), TURN_MS);
	rig_true(os_remove_tree(folder, NULL) == 0, "the workspace stays");
	rig_true(strcmp(fault_ended(r, c, "plain", fault_submit(c, "plain"), TURN_MS),
			 "completed") == 0 &&
			 str_find(fault_output(r, c, "plain", 1),
				 STR("\"error\":\"workspace_missing\""), 0) >= 0,
		"a call without its folder: " STR_FMT, STR_ARG(fault_output(r, c, "plain", 1)));
	rig_true(strcmp(fault_ended(r, c, "boxed", fault_submit(c, "boxed"), TURN_MS),
			 "completed") == 0 &&
			 str_find(fault_output(r, c, "boxed", 0),
				 STR("\"error\":\"workspace_missing\""), 0) >= 0,
		"a confined call without its folder: " STR_FMT,
		STR_ARG(fault_output(r, c, "boxed", 0)));
	rig_refused(c, "workspace_must_exist_and_be_absolute",
		"\"op\":\"create\",\"bot\":\"late\",\"model\":\"drill/x\",\"instructions\":\"\","
		"\"tools\":[\"shell\"],\"workspace\":\"%s\"",
		folder);
	rig_refused(c, "workspace_must_exist_and_be_absolute",
		"\"op\":\"submit\",\"bot\":\"plain\",\"request_id\":\"w\",\"prompt\":\"go\","
		"\"workspace\":\"%s\"",
		folder);
	fault_check_events(r);
	client_free(c);
	rig_stop(r);
}

/* A command that stops itself, with a child that is stopped too, ends by its timeout. */
static void stopped_command(struct rig *r)
{
	static const char script[] =
		"{\"rehearsal\":1,\"repeat\":true}\n"
		"{\"calls\":[{\"tool\":\"shell\",\"arguments\":{\"timeout_ms\":700,\"command\":"
		"\"(kill -STOP $(exec sh -c 'echo $PPID'); echo late >> late) & kill -STOP $$; "
		"echo late >> late\"}}]}\n"
		"{\"say\":\"done\"}\n";
	static const char *const sandboxes[] = {"", "\"sandbox\":\"workspace-write\""};
	char *folder = fault_folder(r, "ws");
	_cleanup_(mem) char *late = xasprintf("%s/late", folder);
	struct client *c = fault_start(r, script);

	for (size_t i = 0; i < ARRAY_LEN(sandboxes); i++) {
		const char *bot = i ? "boxed" : "plain";
		int64_t turn;

		fault_bot(c, bot, folder, sandboxes[i]);
		rig_true(strcmp(fault_ended(r, c, bot, fault_submit(c, bot), TURN_MS),
				 "completed") == 0 &&
				 str_find(fault_output(r, c, bot, 0), STR("\"timed_out\":true"),
					 0) >= 0,
			"a stopped command: " STR_FMT, STR_ARG(fault_output(r, c, bot, 0)));
		turn = fault_submit(c, bot);
		rig_pause(100 * RIG_SLOW);
		(void)rig_call(c, "\"op\":\"interrupt\",\"bot\":\"%s\",\"turn\":%lld", bot,
			(long long)turn);
		rig_true(
			strcmp(fault_ended(r, c, bot, turn, TURN_MS), "interrupted/cancelled") == 0,
			"a stopped command cannot be interrupted");
	}
	client_free(c);
	rig_stop(r);
	rig_no_survivors(r, TURN_MS);
	rig_true(os_exists(late, NULL) == 0, "a stopped command went on");
}

/*
 * The clock: a shim in front of clock_gettime adds what the test writes into shared memory.
 */
static int64_t *shift_clock(struct rig *r)
{
	const char *path = rig_keep(r, "%s/clock", r->home);
	const char **env = arena_alloc(&r->arena, 4 * sizeof(*env));
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int64_t *shift;

	rig_true(fd >= 0 && ftruncate(fd, sizeof(*shift)) == 0, "no file for the clock");
	shift = mmap(NULL, sizeof(*shift), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	rig_true(shift != MAP_FAILED, "no memory for the clock");
	os_close(fd);
	env[0] = rig_keep(r, "LD_PRELOAD=%s", CLOCK_SHIM);
	env[1] = rig_keep(r, "CRASH_CLOCK=%s", path);
	env[2] = "ASAN_OPTIONS=detect_leaks=1:verify_asan_link_order=0";
	r->env = env;
	return shift;
}

static void check_clock(struct client *c, int64_t turn, bool back)
{
	const struct json *turns = rig_call(c, "\"op\":\"turns\",\"bot\":\"ada\"");

	json_for_each (t, turns) {
		if (rig_i64(t, "turn") != turn)
			continue;
		rig_true((rig_i64(t, "finished_ms") < rig_i64(t, "started_ms")) == back,
			"the clock did not jump");
	}
}

static void jumping_clock(struct rig *r)
{
	static const char script[] =
		"{\"rehearsal\":1,\"repeat\":true}\n"
		"{\"calls\":[{\"tool\":\"shell\",\"arguments\":{\"command\":"
		"\"touch up; while [ ! -e go ]; do sleep 0.02; done; rm up go\"}}]}\n"
		"{\"say\":\"done\"}\n";
	char *folder = fault_folder(r, "ws");
	_cleanup_(mem) char *up = xasprintf("%s/up", folder), *go = xasprintf("%s/go", folder);
	volatile int64_t *shift = shift_clock(r);
	struct client *c = fault_start(r, script);

	fault_bot(c, "ada", folder, "");
	for (int i = 0; i < 2; i++) {
		int64_t turn = fault_submit(c, "ada");

		fault_await_file(up, TURN_MS);
		*shift += i == 0 ? -DAY_MS : 2 * (int64_t)DAY_MS;
		rig_write(go, "");
		rig_true(strcmp(fault_ended(r, c, "ada", turn, TURN_MS), "completed") == 0,
			"a turn fails when the clock jumps");
		check_clock(c, turn, i == 0);
	}
	fault_check_events(r);
	*shift = -30 * (int64_t)DAY_MS; /* the next daemon lives in the past */
	client_free(c);
	rig_stop(r);
	c = fault_start(r, quick_script);
	rig_true(
		strcmp(fault_ended(r, c, "ada", fault_submit(c, "ada"), TURN_MS), "completed") == 0,
		"no turn runs after the clock was set back");
	fault_check_events(r);
	client_free(c);
	rig_stop(r);
}

static void await_approval(struct client *c)
{
	int64_t until = rig_now_ms() + (int64_t)TURN_MS * RIG_SLOW;

	for (;;) {
		const struct json *reply = rig_call(c, "\"op\":\"approvals\"");

		if (json_get(reply, "approvals")->count > 0)
			return;
		rig_true(rig_now_ms() < until, "no approval is asked for");
		rig_pause(5);
	}
}

/* A gate's time is what passes, whatever the clock says: set back, it does not wait for a day. */
static void jumping_clock_and_a_gate(struct rig *r)
{
	char *folder = fault_folder(r, "ws");
	volatile int64_t *shift = shift_clock(r);
	struct client *c = fault_start(r, quick_script);
	_cleanup_(mem) char *gates = xasprintf(
		"\"gates\":[{\"tag\":\"person\",\"tools\":[\"shell\"],\"expire_ms\":%d}]",
		EXPIRE_MS * RIG_SLOW);
	int64_t turn;

	fault_bot(c, "ada", folder, gates);
	turn = fault_submit(c, "ada");
	await_approval(c);
	*shift = -DAY_MS;
	rig_true(strcmp(fault_ended(r, c, "ada", turn, TURN_MS), "completed") == 0,
		"the turn failed");
	rig_true(str_find(fault_output(r, c, "ada", 0), STR("approval_denied"), 0) >= 0,
		"a gate nobody answered: " STR_FMT, STR_ARG(fault_output(r, c, "ada", 0)));
	fault_check_events(r);
	client_free(c);
	rig_stop(r);
}

/*
 * Descriptors: with too few of them connections wait, and those there are go on.
 */
static void few_descriptors(struct rig *r)
{
	const char *wrap[] = {"/bin/sh", "-c", "ulimit -n 64; exec \"$@\"", "sh", NULL};
	char *folder = fault_folder(r, "ws");
	int fds[MANY];
	struct client *c;
	const char *ended;

	rig_write(r->script, quick_script);
	rig_start(r, wrap, NULL);
	c = rig_connect(r);
	fault_bot(c, "ada", folder, "");
	for (int i = 0; i < MANY; i++) {
		struct error err = ERROR_INIT;

		rig_true(os_connect_unix(r->socket, 2000 * RIG_SLOW, &fds[i], &err) == 0,
			"connection %d is not even queued: %s", i, err.text);
	}
	for (int i = 0; i < 10; i++)
		(void)rig_call(c, "\"op\":\"stats\"");
	/* a command cannot start; the model is told, the turn goes on */
	ended = fault_ended(r, c, "ada", fault_submit(c, "ada"), TURN_MS);
	rig_true(strcmp(ended, "completed") == 0, "a turn without descriptors ended as %s", ended);
	rig_true(str_find(fault_output(r, c, "ada", 0), STR("\"error\":\""), 0) >= 0,
		"a command started without descriptors: " STR_FMT,
		STR_ARG(fault_output(r, c, "ada", 0)));
	for (int i = 0; i < MANY; i++)
		os_close(fds[i]);
	client_free(rig_connect(r));
	ended = fault_ended(r, c, "ada", fault_submit(c, "ada"), TURN_MS);
	rig_true(strcmp(ended, "completed") == 0 &&
			 str_find(fault_output(r, c, "ada", 1), STR("here"), 0) >= 0,
		"with descriptors again: %s, " STR_FMT, ended,
		STR_ARG(fault_output(r, c, "ada", 1)));
	fault_check_events(r);
	client_free(c);
	rig_stop(r);
}

/* Who waits for a turn that a shutdown ends is told how it ended, not cut off. */
static void shutdown_under_a_wait(struct rig *r)
{
	static const char slow_script[] = "{\"rehearsal\":1,\"repeat\":true}\n"
					  "{\"calls\":[{\"tool\":\"shell\",\"arguments\":{"
					  "\"command\":\"touch begun; sleep 60\"}}]}\n";
	char *folder = fault_folder(r, "ws");
	struct client *c = fault_start(r, slow_script), *other = rig_connect(r);
	const struct json *line = NULL, *outcome;
	struct error err = ERROR_INIT;
	int64_t turn, id = 0;
	char body[128], begun[4096];

	fault_bot(c, "ada", folder, "");
	turn = fault_submit(c, "ada");
	(void)snprintf(body, sizeof(body), "\"op\":\"wait\",\"handles\":[\"turn:ada/%lld\"]",
		(long long)turn); /* fits */
	rig_true(client_send(c, str_from(body), &id, &err) == 0, "wait: %s", err.text);
	(void)snprintf(begun, sizeof(begun), "%s/begun", folder); /* too long is not found */
	fault_await_file(begun, TURN_MS);
	(void)rig_call(other, "\"op\":\"shutdown\"");
	rig_true(client_next(c, TURN_MS * RIG_SLOW, &line, &err) == 1,
		"the wait was not answered: %s", err.text);
	(void)snprintf(body, sizeof(body), "turn:ada/%lld", (long long)turn); /* fits */
	outcome = json_get(json_get(json_get(line, "result"), "results"), body);
	rig_true(str_is(json_str(json_get(outcome, "error")), "daemon_shutdown"),
		"the outcome is not the shutdown's");
	client_free(c);
	client_free(other);
	rig_true(rig_wait(r, TURN_MS) == 0, "the daemon did not end well");
	rig_check_log(r);
}

const struct fault work_faults[] = {
	{"vanished_workspace",       vanished_workspace      },
	{"stopped_command",          stopped_command         },
	{"jumping_clock",            jumping_clock           },
	{"jumping_clock_and_a_gate", jumping_clock_and_a_gate},
	{"few_descriptors",          few_descriptors         },
	{"shutdown_under_a_wait",    shutdown_under_a_wait   },
	{NULL,		       NULL		    },
};
