/* Writes and edits: where they really lead, inside the sandbox, and what leaves it. */
#include "attest/suites.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attest/drill.h"
#include "attest/internal.h"

#define CONFINED "\"sandbox\":\"workspace-write\""
#define GATED                                                                                      \
	CONFINED ",\"gates\":[{\"tag\":\"t\",\"tools\":[\"shell\",\"write\",\"edit\","             \
		 "\"apply_patch\"],\"expire_ms\":null}]"

enum {
	RACES = 20,         /* AG-089 says so */
	SWAPPING_MS = 5000, /* and so */
};

static const char *workspace_of(struct attest *t)
{
	return attest_path(t, "%s/ws", attest_home(t));
}

static void check_text(struct attest *t, const char *path, const char *text)
{
	struct str is = attest_read(t, path);

	attest_true(t, attest_exists(path) && str_is(is, text), "'%s' holds: " STR_FMT, path,
		STR_ARG(str_cut(is, 200)));
}

/* Nothing but `file`, as it was. */
static void check_outside(struct attest *t, const char *folder)
{
	DIR *dir = opendir(folder);

	attest_true(t, dir, "attest: no folder '%s'", folder);
	for (struct dirent *e = readdir(dir); e; e = readdir(dir))
		attest_true(t,
			strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
				strcmp(e->d_name, "file") == 0,
			"'%s/%s' was made", folder, e->d_name);
	(void)closedir(dir);
	check_text(t, attest_path(t, "%s/file", folder), "outside\n");
}

static void AG_088_where_a_target_really_lies_decides(struct attest *t)
{
	const char *outside = attest_path(t, "%s/folder", attest_outside(t));
	const char *ws = workspace_of(t);
	struct drill r;
	int calls[6];

	attest_write(t, attest_path(t, "%s/file", outside), "outside\n");
	attest_write(t, attest_path(t, "%s/inside", ws), "inside\n");
	attest_true(t,
		attest_sh(t,
			"ln -s '%s/file' '%s/to-file'; ln -s '%s' '%s/to-folder'; "
			"ln -s inside '%s/to-inside'",
			outside, ws, outside, ws, ws)
				.status == 0,
		"attest: no links");
	drill_init(&r, t);
	calls[0] = drill_write(&r, "to-file", "x\n");
	calls[1] = drill_edit(&r, "to-file", "outside", "x");
	calls[2] = drill_write(&r, "to-folder/file", "x\n");
	calls[3] = drill_edit(&r, "to-folder/file", "outside", "x");
	calls[4] = drill_write(&r, "to-folder/new", "x\n");
	calls[5] = drill_write(&r, "to-inside", "x\n");
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b", CONFINED);
	for (size_t i = 0; i < 5; i++) {
		(void)drill_refused(&r, "b", calls[i], "sandbox_no_gate");
		check_outside(t, outside);
	}
	(void)drill_done(&r, "b", calls[5]); /* a link as such is no reason */
	check_text(t, attest_path(t, "%s/inside", ws), "x\n");
}

/* A folder of the workspace that may be exchanged for a link to one outside. */
struct race {
	struct drill r;
	const char *outside, *folder, *away, *armed;
	int write, edits[2];
};

static void race_init(struct race *race, struct attest *t)
{
	const char *ws = workspace_of(t);

	*race = (struct race){
		.outside = attest_path(t, "%s/folder", attest_outside(t)),
		.folder = attest_path(t, "%s/in", ws),
		.away = attest_path(t, "%s/away", ws),
		.armed = attest_path(t, "%s/armed", attest_home(t)),
	};
	attest_write(t, attest_path(t, "%s/file", race->outside), "outside\n");
	attest_write(t, attest_path(t, "%s/file", race->folder), "outside\n");
	drill_init(&race->r, t);
	race->write = drill_write(&race->r, "in/file", "written\n");
	race->edits[0] = drill_edit(&race->r, "in/file", "outside", "edited");
	race->edits[1] = drill_edit(&race->r, "in/file", "written", "outside");
}

/* A bubblewrap that first puts the link in the folder's place, if it is told to. */
static const char *swapping_program(struct attest *t, const struct race *race)
{
	const char *real = drill_copy_bwrap(t);

	return drill_program(t, "swapping",
		"if test -e '%s'; then mv '%s' '%s'; ln -s '%s' '%s'; fi; exec '%s' \"$@\"",
		race->armed, race->folder, race->away, race->outside, race->folder, real);
}

static void race_once(struct attest *t, struct race *race, int call)
{
	struct drilled done;

	attest_write(t, race->armed, "");
	done = drill_do(&race->r, "b", call);
	attest_true(
		t, done.error.p, "a write through the link was done: " STR_FMT, STR_ARG(done.text));
	check_outside(t, race->outside);
	attest_true(t, attest_exists(race->away), "attest: the folder was not exchanged");
	attest_true(t,
		unlink(race->armed) == 0 && unlink(race->folder) == 0 &&
			rename(race->away, race->folder) == 0,
		"attest: the folder cannot be put back");
}

static void race_swapping(struct attest *t, struct race *race)
{
	const char *link = attest_path(t, "%s/link", workspace_of(t));
	const char *argv[] = {drill_probe(t), "swap", race->folder, link,
		attest_path(t, "%d", SWAPPING_MS), NULL};
	size_t done = 0;
	pid_t pid;

	attest_true(t, symlink(race->outside, link) == 0, "attest: no link");
	pid = attest_spawn(
		t, argv, attest_environ(t, NULL), &(struct attest_setting){NULL, -1, -1, 0022});
	for (int i = 0; i < RACES; i++) {
		done += !drill_do(&race->r, "b", race->write).error.p;
		done += !drill_do(&race->r, "b", race->edits[i % 2]).error.p;
		check_outside(t, race->outside);
	}
	attest_note(t, "%zu of %d calls were done", done, 2 * RACES);
	attest_true(t, attest_reap(t, pid, "the swapping", 2 * SWAPPING_MS) == 0,
		"attest: nothing was swapped");
	check_outside(t, race->outside);
}

static void AG_089_a_link_put_there_later_leads_nowhere(struct attest *t)
{
	struct attest_start s = {0};
	struct race race;

	race_init(&race, t);
	s.wrap = drill_mask_bwrap(t, swapping_program(t, &race));
	drill_start(&race.r, &s);
	(void)attest_bot(t, race.r.d, "b", CONFINED);
	for (int i = 0; i < RACES; i++) {
		race_once(t, &race, race.write);
		race_once(t, &race, race.edits[0]);
	}
	check_text(t, attest_path(t, "%s/file", race.folder), "outside\n");
	(void)drill_done(&race.r, "b", race.edits[0]); /* without the exchange it works */
	check_text(t, attest_path(t, "%s/file", race.folder), "edited\n");
	race_swapping(t, &race);
}

/* Three calls that write outside: a new file, an old one, a patch. */
struct leaving {
	int calls[3];
	const char *files[3];
};

static struct leaving put_leaving(struct drill *r, const char *folder)
{
	struct attest *t = r->t;
	struct leaving l = {
		.files = {attest_path(t, "%s/by-write", folder),
			  attest_path(t, "%s/by-edit", folder),
			  attest_path(t, "%s/by-patch", folder)}
        };

	attest_write(t, l.files[1], "old\n");
	l.calls[0] = drill_write(r, l.files[0], "new\n");
	l.calls[1] = drill_edit(r, l.files[1], "old", "new");
	l.calls[2] = drill_patch(r, l.files[2], "new");
	return l;
}

static void check_unwritten(struct attest *t, const struct leaving *l, size_t i)
{
	if (i == 1)
		check_text(t, l->files[i], "old\n");
	else
		attest_absent(t, l->files[i]);
}

static void check_judged(
	struct attest *t, struct drill *r, const struct leaving *l, size_t i, bool allow)
{
	int64_t turn = drill_submit(r, "b", l->calls[i]);
	const struct json *approval = attest_pending(t, r->d, "b");
	struct drilled done;

	check_unwritten(t, l, i);
	attest_answer(t, r->d, approval, allow ? "allow" : "deny", "");
	done = drill_end(r, "b", turn);
	if (allow) {
		attest_true(
			t, !done.error.p, "an allowed write failed: " STR_FMT, STR_ARG(done.text));
		check_text(t, l->files[i], "new\n");
	} else {
		attest_true(t, str_is(done.error, "approval_denied"), "a denied write: " STR_FMT,
			STR_ARG(done.text));
		check_unwritten(t, l, i);
	}
}

static void AG_113_a_write_outside_is_held_by_the_gate(struct attest *t)
{
	struct leaving l;
	struct drill r;

	drill_init(&r, t);
	l = put_leaving(&r, attest_outside(t));
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b", GATED);
	for (size_t i = 0; i < ARRAY_LEN(l.calls); i++) {
		check_judged(t, &r, &l, i, false);
		check_judged(t, &r, &l, i, true);
	}
}

static void AG_115_without_a_gate_a_write_outside_is_refused(struct attest *t)
{
	struct leaving l;
	struct drill r;

	drill_init(&r, t);
	l = put_leaving(&r, attest_outside(t));
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b", CONFINED);
	for (size_t i = 0; i < ARRAY_LEN(l.calls); i++) {
		(void)drill_refused(&r, "b", l.calls[i], "sandbox_no_gate");
		check_unwritten(t, &l, i);
	}
}

static void AG_138_apply_patch_is_confined(struct attest *t)
{
	const char *outside = attest_path(t, "%s/folder", attest_outside(t));
	const char *ws = workspace_of(t);
	struct drill r;
	int both, moves, inside;

	attest_write(t, attest_path(t, "%s/file", outside), "outside\n");
	attest_write(t, attest_path(t, "%s/mine", ws), "mine\n");
	drill_init(&r, t);
	both = drill_call(&r, "apply_patch",
		"{\"patch\":\"*** Begin Patch\\n*** Add File: a\\n+x\\n*** Add File: %s/b\\n+x\\n"
		"*** Update File: %s/file\\n@@\\n-outside\\n+x\\n*** End Patch\\n\"}",
		outside, outside);
	moves = drill_call(&r, "apply_patch",
		"{\"patch\":\"*** Begin Patch\\n*** Update File: mine\\n*** Move to: %s/mine\\n"
		"@@\\n-mine\\n+x\\n*** End Patch\\n\"}",
		outside);
	inside = drill_patch(&r, "a", "x");
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b", CONFINED);
	(void)drill_refused(&r, "b", both, "sandbox_no_gate");
	(void)drill_refused(&r, "b", moves, "sandbox_no_gate");
	check_outside(t, outside);
	attest_absent(t, attest_path(t, "%s/a", ws));
	check_text(t, attest_path(t, "%s/mine", ws), "mine\n");
	(void)drill_done(&r, "b", inside);
	check_text(t, attest_path(t, "%s/a", ws), "x\n");
}

const struct attest_case attest_agent_writes[] = {
	{"AG-088", NEEDS_SANDBOX,                   AG_088_where_a_target_really_lies_decides       },
	{"AG-089", NEEDS_SANDBOX | NEEDS_NAMESPACE, AG_089_a_link_put_there_later_leads_nowhere     },
	{"AG-113", NEEDS_SANDBOX,                   AG_113_a_write_outside_is_held_by_the_gate      },
	{"AG-115", NEEDS_SANDBOX,                   AG_115_without_a_gate_a_write_outside_is_refused},
	{"AG-138", NEEDS_SANDBOX,                   AG_138_apply_patch_is_confined                  },
	{NULL,     0,			       NULL					    },
};
