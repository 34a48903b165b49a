/* The daemon, its socket, its protocol. */
#include "attest/suites.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "os/os.h"

static void AG_001_one_daemon_runs_many_bots(struct attest *t)
{
	struct attest_daemon *d = attest_daemon_start(
		t, &(struct attest_start){
			   .script = "{\"rehearsal\":1,\"repeat\":true}\n{\"say\":\"ok\"}\n"});
	const char *second[] = {attest_bin("agent"), "serve", NULL};
	int64_t pid = 0;

	for (int i = 0; i < 50; i++) {
		char *name = attest_path(t, "bot-%d", i);

		(void)attest_bot(t, d, name, "");
		attest_has(t, name, json_str(json_get(attest_turn(t, d, name, "go"), "status")),
			"completed");
	}
	must(json_i64(json_get(client_ready(attest_connect(t, d->socket)), "pid"), &pid) == 0);
	attest_true(t, pid == d->pid, "another process answers: %lld", (long long)pid);
	second[0] = attest_path(t, "%s", attest_bin("agent"));
	attest_true(t, attest_run(t, second, NULL).status == 75,
		"a second daemon on the store did not exit 75");
}

static void AG_008_the_socket_lies_beside_the_store(struct attest *t)
{
	char *store = attest_path(t, "%s/elsewhere/x.db", attest_home(t));
	struct attest_daemon *d = attest_daemon_start(t, &(struct attest_start){0});

	attest_true(t, attest_exists(attest_path(t, "%s/.agent/state.sqlite", d->home)),
		"no store in ~/.agent");
	(void)attest_call(t,
		attest_connect(t, attest_path(t, "%s/.agent/state.sqlite.sock", d->home)),
		"\"op\":\"stats\"");
	attest_daemon_stop(t, d);
	attest_write(t, attest_path(t, "%s/elsewhere/made", d->home), "");
	(void)attest_daemon_start(t, &(struct attest_start){.store = store});
	(void)attest_call(
		t, attest_connect(t, attest_path(t, "%s.sock", store)), "\"op\":\"stats\"");
}

const struct attest_case attest_agent_protocol[] = {
	{"AG-001", NEEDS_NOTHING, AG_001_one_daemon_runs_many_bots       },
	{"AG-008", NEEDS_NOTHING, AG_008_the_socket_lies_beside_the_store},
	{NULL,     0,             NULL				   },
};
