/* Companions: programs that the daemon keeps. */
#include "attest/suites.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attest/drill.h"
#include "attest/raw.h"

static bool exists(struct attest *t, void *path)
{
	(void)t;
	return attest_exists(path);
}

static void keep(struct attest *t, struct attest_daemon *d, const char *name, const char *program)
{
	(void)attest_call(t, d->client,
		"\"op\":\"companions\",\"set\":[{\"name\":\"%s\",\"argv\":[\"%s\"]}]", name,
		program);
}

static void AG_186_they_get_the_whole_environment(struct attest *t)
{
	static const char *const env[] = {"OPENAI_API_KEY=attest-186-openai-example",
		"AWS_SECRET_ACCESS_KEY=attest186awssecretaccesskey", "MARKER=of the daemon", NULL};
	char *said = attest_path(t, "%s/said", attest_home(t));
	const char *program;
	struct str daemons, theirs, rest, entry;
	struct attest_daemon *d;
	size_t count = 0;

	program = drill_program(t, "companion",
		"cat /proc/self/environ > '%s.new'; mv '%s.new' '%s'; exec sleep 600", said, said,
		said);
	d = attest_daemon_start(t, &(struct attest_start){.env = env});
	keep(t, d, "c", program);
	attest_until(t, "the companion says its environment", exists, said);
	theirs = attest_read(t, said);
	daemons = attest_read(t, attest_path(t, "/proc/%d/environ", (int)d->pid));
	if (daemons.len == 0) { /* it keeps that from its own user: what it was given then */
		for (size_t i = 0; env[i]; i++)
			attest_has(t, "a companion's environment", theirs, env[i]);
		count = ARRAY_LEN(env) - 1;
	}
	for (rest = daemons; str_next(&rest, '\0', &entry); count += entry.len > 0) {
		if (str_starts(entry, STR("AGENT_SOCKET=")) || entry.len == 0)
			continue;
		attest_true(t, str_find(theirs, entry, 0) >= 0, "'" STR_FMT "' is missing",
			STR_ARG(str_cut(entry, 20)));
	}
	attest_true(t, count >= ARRAY_LEN(env) - 1, "only %zu variables were compared", count);
	attest_has(t, "a companion's environment", theirs, env[0]);
	attest_has(t, "a companion's environment", theirs, env[1]);
	attest_has(t, "a companion's environment", theirs,
		attest_path(t, "AGENT_SOCKET=%s", d->socket));
}

static void AG_196_their_folder_and_logs_are_private(struct attest *t)
{
	const struct attest_start start = {.umask = ATTEST_UMASK_NONE};
	struct attest_daemon *d = attest_daemon_start(t, &start);
	char *folder = attest_path(t, "%s/.agent/companions", attest_home(t));
	char *log = attest_path(t, "%s/c.log", folder);
	char *old = attest_path(t, "%s/gone.log.1", folder);
	char *up = attest_path(t, "%s/up", attest_home(t));

	keep(t, d, "c",
		drill_program(t, "companion", "echo here I am; : > '%s'; exec sleep 600", up));
	attest_until(t, "the companion runs", exists, up);
	attest_until(t, "the daemon writes its log", exists, log);
	attest_mode(t, "the companions' folder", folder, 0700);
	attest_mode(t, "a companion's log", log, 0600);
	attest_daemon_stop(t, d);
	attest_has(t, "the log", attest_read(t, log), "here I am\n");
	attest_write(t, old, "of a companion that is gone\n");
	attest_true(t, chmod(folder, 0755) == 0 && chmod(log, 0644) == 0 && chmod(old, 0666) == 0,
		"the modes cannot be set");
	attest_true(t, unlink(up) == 0, "the companion left no mark");
	attest_daemon_again(t, d, &start);
	attest_until(t, "the companion of the store runs", exists, up);
	attest_mode(t, "the companions' folder after a restart", folder, 0700);
	attest_mode(t, "a companion's log after a restart", log, 0600);
	attest_mode(t, "another one's log after a restart", old, 0600);
}

static void AG_220_they_and_bots_without_a_sandbox_have_all_rights(struct attest *t)
{
	char *by_bot = attest_path(t, "%s/by-bot", attest_outside(t));
	char *by_companion = attest_path(t, "%s/by-companion", attest_outside(t));
	struct drill r;

	drill_init(&r, t);
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "free", "");
	(void)drill_works(&r, "free", ": > '%s'", by_bot);
	attest_true(t, attest_exists(by_bot), "a bot without a sandbox did not write outside");
	keep(t, r.d, "c", drill_program(t, "companion", ": > '%s'; exec sleep 600", by_companion));
	attest_until(t, "a companion writes outside", exists, by_companion);
}

/*
 * AG-016
 */
struct process {
	pid_t pid, parent;
	struct str uids;
};
enum { PROCESSES_MAX = 65536 };

static pid_t number_after(struct str text, const char *label)
{
	ptrdiff_t at = str_find(text, str_from(label), 0);
	int64_t n = 0;

	for (const char *p = at < 0 ? "" : text.p + at + strlen(label);
		*p == '\t' || *p == ' ' || (*p >= '0' && *p <= '9'); p++) {
		if (*p >= '0')
			n = n * 10 + (*p - '0');
	}
	return (pid_t)n;
}

static size_t list_processes(struct attest *t, struct process *list)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t count = 0;

	must(proc);
	while ((entry = readdir(proc)) && count < PROCESSES_MAX) {
		struct str status;
		ptrdiff_t at;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		status = attest_read(t, attest_path(t, "/proc/%s/status", entry->d_name));
		at = str_find(status, STR("\nUid:\t"), 0);
		if (at < 0)
			continue; /* it has ended */
		list[count++] = (struct process){
			.pid = number_after(status, "\nPid:"),
			.parent = number_after(status, "\nPPid:"),
			.uids = {status.p + at + 6, strcspn(status.p + at + 6, "\n")}
                };
	}
	(void)closedir(proc); /* only read */
	return count;
}

static bool is_below(const struct process *list, size_t count, pid_t pid, pid_t root)
{
	for (int depth = 0; pid > 1 && depth < 64; depth++) {
		size_t i = 0;

		if (pid == root)
			return true;
		while (i < count && list[i].pid != pid)
			i++;
		if (i == count)
			return false;
		pid = list[i].parent;
	}
	return false;
}

static void AG_016_nothing_runs_as_somebody_else(struct attest *t)
{
	static struct process list[PROCESSES_MAX];
	static const char *const names[] = {"shell", "boxed", "back", "boxed-back", "companion"};
	char *mine = attest_path(
		t, "%d\t%d\t%d\t%d", (int)getuid(), (int)geteuid(), (int)geteuid(), (int)geteuid());
	size_t count, walked = 0;
	struct drill r;
	int calls[4];

	drill_init(&r, t);
	for (int i = 0; i < 4; i++)
		calls[i] = drill_call(&r, "shell",
			"{\"command\":\": > up-%s; sleep 600; true\",\"background\":%s}", names[i],
			i < 2 ? "false" : "true");
	drill_start(&r, NULL);
	for (int i = 0; i < 4; i++) {
		(void)attest_bot(
			t, r.d, names[i], i % 2 == 1 ? "\"sandbox\":\"workspace-write\"" : "");
		(void)drill_submit(&r, names[i], calls[i]);
	}
	keep(t, r.d, "c",
		drill_program(
			t, "companion", ": > '%s/up-companion'; sleep 600; true", r.d->workspace));
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		attest_until(
			t, "it runs", exists, attest_path(t, "%s/up-%s", r.d->workspace, names[i]));
	count = list_processes(t, list);
	for (size_t i = 0; i < count; i++) {
		if (!is_below(list, count, list[i].pid, r.d->pid))
			continue;
		walked++;
		attest_true(t, str_is(list[i].uids, mine), "process %d runs as " STR_FMT,
			(int)list[i].pid, STR_ARG(list[i].uids));
	}
	/* the daemon; a supervisor, a shell and a sleep for each; two of bubblewrap where boxed */
	attest_true(
		t, walked >= 1 + 5 * 3 + 2 * 2, "only %zu processes are below the daemon", walked);
}

const struct attest_case attest_agent_companions[] = {
	{"AG-016", NEEDS_SANDBOX, AG_016_nothing_runs_as_somebody_else                  },
	{"AG-186", NEEDS_NOTHING, AG_186_they_get_the_whole_environment                 },
	{"AG-196", NEEDS_NOTHING, AG_196_their_folder_and_logs_are_private              },
	{"AG-220", NEEDS_NOTHING, AG_220_they_and_bots_without_a_sandbox_have_all_rights},
	{NULL,     0,             NULL						  },
};
