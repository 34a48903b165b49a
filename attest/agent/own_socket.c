/* The daemon's own socket: out of reach of every confined command, by any name; handed to one that
 * somebody let out. */
#include "attest/drill.h"
#include "attest/suites.h"

#include <sys/stat.h>
#include <unistd.h>

static const char stats[] = "{\"id\":1,\"op\":\"stats\"}";

/* How many sessions the daemon counts, this one's included. */
static int64_t sessions(struct attest *t, struct attest_daemon *d)
{
	int64_t count = 0;

	must(json_i64(json_get(attest_call(t, d->client, "\"op\":\"stats\""), "sessions"),
		     &count) == 0);
	return count;
}

/* The bot asks at that name and gets no answer, and the daemon no session. */
static void check_silent(struct drill *r, const char *bot, const char *at)
{
	int64_t before = sessions(r->t, r->d);
	struct drilled done = drill_sh(r, bot, "'%s' ask '%s' '%s'", drill_probe(r->t), at, stats);

	attest_true(r->t, done.ran && done.code != 0, "%s asked the daemon at %s: " STR_FMT, bot,
		at, STR_ARG(done.text));
	attest_lacks(r->t, "what it was told", done.out, "\"result\"");
	attest_true(r->t, sessions(r->t, r->d) == before, "%s has a session by %s", bot, at);
}

static void AG_034_no_confined_command_reaches_it(struct attest *t)
{
	static const struct {
		const char *bot, *mode, *more;
	} rows[] = {
		{"reads-online",   "read-only",       ",\"network\":true"         },
		{"reads-offline",  "read-only",       ""                          },
		{"reads-named",    "read-only",       ",\"unix_sockets\":[\"%s\"]"},
		{"writes-online",  "workspace-write", ",\"network\":true"         },
		{"writes-offline", "workspace-write", ""                          },
		{"writes-named",   "workspace-write", ",\"unix_sockets\":[\"%s\"]"},
	};
	struct drill r;

	drill_init(&r, t);
	drill_start(&r, NULL);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool named = strstr(rows[i].more, "unix_sockets") != NULL;
		const char *more = named ? attest_path(t, ",\"unix_sockets\":[\"%s\"]", r.d->socket)
					 : rows[i].more;

		(void)attest_bot(t, r.d, rows[i].bot,
			attest_path(t, "\"sandbox\":\"%s\"%s", rows[i].mode, more));
		check_silent(&r, rows[i].bot, r.d->socket);
	}
	(void)attest_bot(t, r.d, "free", "");
	attest_has(t, "the same from outside",
		drill_works(&r, "free", "'%s' ask '%s' '%s'", drill_probe(t), r.d->socket, stats),
		"\"result\"");
}

/* With the network on, so that nothing but the names stands in the way. */
static void AG_035_no_other_name_leads_to_it(struct attest *t)
{
	struct str fds;
	struct drill r;

	drill_init(&r, t);
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b",
		attest_path(t,
			"\"sandbox\":\"workspace-write\",\"network\":true,\"writable_roots\":[\"%"
			"s\"]",
			attest_home(t)));
	(void)drill_works(&r, "b", "ln -s '%s' link", r.d->socket);
	check_silent(&r, "b", attest_path(t, "%s/link", r.d->workspace));
	drill_kept(&r, "b", "ln '%s' hard", r.d->socket);
	check_silent(&r, "b", attest_path(t, "/proc/1/root%s", r.d->socket));
	check_silent(&r, "b", attest_path(t, "/proc/self/root%s", r.d->socket));
	check_silent(&r, "b", attest_path(t, "/proc/%d/root%s", (int)r.d->pid, r.d->socket));
	drill_kept(&r, "b", "mv '%s/.agent' '%s/elsewhere'", attest_home(t), attest_home(t));
	check_silent(&r, "b", attest_path(t, "%s/.agent/./state.sqlite.sock", attest_home(t)));
	/* the one socket it has is its own way in, as the bot it is */
	fds = drill_works(&r, "b", "ls -l /proc/self/fd | grep -c socket:");
	attest_has(t, "how many sockets a command has", fds, "1\n");
	attest_lacks(t, "how many sockets a command has", fds, "11\n");
	attest_true(t,
		drill_sh(&r, "b",
			"env -u AGENT_SOCKET_FD -u AGENT_SOCKET AGENT_STORE='%s' '%s' stats "
			"--no-spawn",
			r.d->store, attest_path(t, "%s", attest_bin("agent")))
				.code != 0,
		"the command line reached the daemon by AGENT_STORE");
}

static void AG_055_the_bots_folder_of_sockets_is_read_only(struct attest *t)
{
	static const char *const modes[] = {"read-only", "workspace-write"};
	const char *folder;
	struct drill r;

	drill_init(&r, t);
	drill_start(&r, NULL);
	folder = attest_path(t, "%s.d", r.d->socket);
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		(void)attest_bot(t, r.d, modes[i],
			attest_path(t,
				"\"sandbox\":\"%s\",\"network\":true,\"writable_roots\":[\"%s\"]",
				modes[i], attest_home(t)));
		(void)drill_works(&r, modes[i], "true");
		attest_write(t, attest_path(t, "%s/7", folder), "of another bot");
		drill_kept(&r, modes[i], "touch '%s/8'", folder);
		drill_kept(&r, modes[i], "'%s' bind '%s/8'", drill_probe(t), folder);
		drill_kept(&r, modes[i], "mv '%s' '%s.gone'", folder, folder);
		drill_kept(&r, modes[i], "rmdir '%s'", folder);
		(void)drill_sh(
			&r, modes[i], "rm -f '%s/7'; mv '%s/7' '%s/9'", folder, folder, folder);
		attest_true(t, attest_exists(attest_path(t, "%s/7", folder)),
			"%s: a name was removed or renamed", modes[i]);
		attest_absent(t, attest_path(t, "%s/8", folder));
		attest_absent(t, attest_path(t, "%s/9", folder));
	}
}

static void AG_057_an_escalated_command_gets_it(struct attest *t)
{
	struct drilled done;
	struct drill r;
	int64_t turn;
	int call;

	drill_init(&r, t);
	call = drill_escalated(&r,
		"echo \"$AGENT_SOCKET\"; '%s' ask \"$AGENT_SOCKET\" "
		"'{\"id\":1,\"op\":\"configure\",\"bot\":\"other\",\"network\":true}'",
		drill_probe(t));
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b",
		"\"sandbox\":\"workspace-write\",\"gates\":[{\"tag\":\"person\",\"tools\":["
		"\"shell\"],"
		"\"expire_ms\":null}]");
	(void)attest_bot(t, r.d, "other", "\"sandbox\":\"read-only\"");
	turn = drill_submit(&r, "b", call);
	attest_answer(t, r.d, attest_pending(t, r.d, "b"), "allow", "");
	done = drill_end(&r, "b", turn);
	attest_has(t, "the socket it was given", done.out, attest_path(t, "%s\n", r.d->socket));
	attest_true(t,
		json_is_true(json_get(
			attest_call(t, r.d->client, "\"op\":\"inspect\",\"bot\":\"other\""),
			"network")),
		"the other bot was not configured: " STR_FMT, STR_ARG(done.text));
}

const struct attest_case attest_agent_own_socket[] = {
	{"AG-034", NEEDS_SANDBOX, AG_034_no_confined_command_reaches_it         },
	{"AG-035", NEEDS_SANDBOX, AG_035_no_other_name_leads_to_it              },
	{"AG-055", NEEDS_SANDBOX, AG_055_the_bots_folder_of_sockets_is_read_only},
	{"AG-057", NEEDS_SANDBOX, AG_057_an_escalated_command_gets_it           },
	{NULL,     0,             NULL					  },
};
