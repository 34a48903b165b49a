/* agent rehearse --drills */
#include "agent/cmd/drills.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cmd/ask.h"
#include "agent/cmd/interrupts.h"
#include "agent/cmd/output.h"
#include "agent/cmd/style.h"
#include "agent/cmd/trial.h"
#include "mem/mem.h"
#include "os/os.h"
#include "suite_config.h"

enum {
	NAME_COLUMN = 24, /* ours: the longest name and a gap */
	LINE_MAX_BYTES = 65536,
};

#define SUFFIX ".jsonl"

static const struct error_kind NO_DRILLS = {"no_drills", ERROR_CLASS_NOT_FOUND};
static const struct error_kind DRILL_NOT_FOUND = {"drill_not_found", ERROR_CLASS_NOT_FOUND};

enum outcome { AS_STATED, UNLIKE, NOT_JUDGED, PASSED_OVER, OUTCOMES };
static const struct {
	const char *name, *shown;
	enum style style;
} outcomes[OUTCOMES] = {
	[AS_STATED] = {"as_stated",     "as stated",     STYLE_GOOD},
	[UNLIKE] = {"not_as_stated", "not as stated", STYLE_BAD },
	[NOT_JUDGED] = {"not_judged",    "not judged",    STYLE_DIM },
	[PASSED_OVER] = {"passed_over",   "passed over",   STYLE_DIM },
};

struct run {
	const struct drills_plan *p;
	char *folder;
	int interrupts;
	size_t counts[OUTCOMES];
	bool interrupted;
};

/*
 * Which there are.
 */
static int find_folder(char **ret, struct error *err)
{
	_cleanup_(mem) char *dir = NULL, *beside = NULL;

	if (os_program_dir(&dir, err) < 0)
		return -1;
	beside = xasprintf("%s/../share/consort/drills", dir);
	if (os_exists(beside, NULL) == 1)
		return os_canonical(beside, ret, err);
	if (os_exists(SUITE_DRILLS, NULL) != 1)
		return error_set(err, &NO_DRILLS, "no folder '%s' or '%s'", beside, SUITE_DRILLS);
	*ret = xstrdup(SUITE_DRILLS);
	return 0;
}

static int is_drill(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return e->d_name[0] != '.' && len > strlen(SUFFIX) &&
	       strcmp(e->d_name + len - strlen(SUFFIX), SUFFIX) == 0;
}

static int list_all(const char *folder, char ***ret, size_t *ret_count, struct error *err)
{
	struct dirent **found;
	int n = scandir(folder, &found, is_drill, alphasort);
	char **names;

	if (n < 0)
		return error_sys(err, "read the folder '%s'", folder);
	names = xcalloc((size_t)n + 1, sizeof(*names));
	for (int i = 0; i < n; i++) {
		names[i] = xstrndup(found[i]->d_name, strlen(found[i]->d_name) - strlen(SUFFIX));
		free(found[i]);
	}
	free(found);
	*ret = names;
	*ret_count = (size_t)n;
	return 0;
}

static int check_names(const struct run *run, struct error *err)
{
	for (size_t i = 0; i < run->p->count; i++) {
		const char *name = run->p->names[i];
		_cleanup_(mem) char *path = xasprintf("%s/%s" SUFFIX, run->folder, name);

		if (strchr(name, '/') || os_exists(path, NULL) != 1)
			return error_set(
				err, &DRILL_NOT_FOUND, "no drill '%s' in '%s'", name, run->folder);
	}
	return 0;
}

/*
 * One of them.
 */
static void report(struct run *run, const char *name, enum outcome o, struct str why)
{
	struct buf line = BUF_INIT(LINE_MAX_BYTES);
	struct json_out j = JSON_OUT(&line);
	int gap = NAME_COLUMN - (int)strlen(name);

	run->counts[o]++;
	if (run->p->json) {
		json_open(&j, '{');
		json_put_cstr(&j, "drill", name);
		json_put_cstr(&j, "result", outcomes[o].name);
		if (why.len > 0)
			json_put_str(&j, "why", why);
		json_close(&j, '}');
	} else {
		(void)buf_printf(&line, "%s%*s", name, gap > 1 ? gap : 1, ""); /* cut at most */
		style_put(&line, output_colours(), outcomes[o].style, outcomes[o].shown);
		(void)buf_puts(&line, why.len > 0 ? ": " : "");
		style_line(&line, false, STYLE_PLAIN, why, LINE_MAX_BYTES / 8);
	}
	(void)buf_putc(&line, '\n');
	output_buf(&line);
	output_flush();
	buf_release(&line);
}

static enum outcome judge(const struct trial *t, struct buf *why)
{
	enum trial_result result = trial_judge(t, why);

	if (result == TRIAL_NOT_JUDGED)
		return NOT_JUDGED;
	if (result == TRIAL_AS_STATED && trial_completed(t))
		return AS_STATED;
	if (result == TRIAL_NOTHING_STATED)
		(void)buf_puts(why, "it states nothing"); /* small texts: fit */
	else if (result == TRIAL_AS_STATED)
		(void)buf_printf(why, "its turn ended %s: %s", t->status, t->error ? t->error : "");
	return UNLIKE;
}

static void try(struct run *run, const char *name, struct trial *t)
{
	_cleanup_(buf) struct buf why = BUF_INIT(LINE_MAX_BYTES);
	struct error err = ERROR_INIT;
	enum outcome o = UNLIKE;

	if (trial_run(t, run->interrupts, &err) == 0)
		o = judge(t, &why);
	else
		(void)buf_printf(
			&why, "%s: %s", ask_code(t->stage.connection.client, &err), err.text);
	run->interrupted = interrupts_take(run->interrupts) > 0 ||
			   error_is(&err, &TRIAL_INTERRUPTED);
	(void)stage_restore(&t->stage, &why); /* too long for it: as it is */
	trial_close(t);
	report(run, name, o, buf_str(&why));
}

static void run_one(struct run *run, const char *name)
{
	_cleanup_(mem) char *path = xasprintf("%s/%s" SUFFIX, run->folder, name);
	struct error err = ERROR_INIT;
	struct trial t;

	if (trial_read(&t, run->p->flags, path, &err) < 0)
		report(run, name, UNLIKE, str_from(err.text));
	else if (rehearsal_terms(t.script)->rough && !run->p->rough)
		report(run, name, PASSED_OVER, STR("it can hurt a machine: --rough"));
	else
		try(run, name, &t);
	trial_release(&t);
}

static int finish(const struct run *run)
{
	const size_t *n = run->counts;
	const size_t all = n[AS_STATED] + n[UNLIKE] + n[NOT_JUDGED] + n[PASSED_OVER];
	struct buf line = BUF_INIT(LINE_MAX_BYTES);

	if (!run->p->json) {
		(void)buf_printf(&line,
			"%zu drill%s: %zu as stated, %zu not as stated, %zu not judged, %zu passed "
			"over\n",
			all, all == 1 ? "" : "s", n[AS_STATED], n[UNLIKE], n[NOT_JUDGED],
			n[PASSED_OVER]);
		output_buf(&line);
	}
	buf_release(&line);
	return output_end("rehearse", n[UNLIKE] > 0 || run->interrupted ? CLI_FAILED : CLI_OK);
}

static int run_all(struct run *run, struct error *err)
{
	char **names = run->p->names;
	size_t count = run->p->count;
	char **all = NULL;

	if (interrupts_open(true, &run->interrupts, err) < 0 ||
		find_folder(&run->folder, err) < 0 || check_names(run, err) < 0)
		return -1;
	if (count == 0) {
		if (list_all(run->folder, &all, &count, err) < 0)
			return -1;
		names = all;
	}
	for (size_t i = 0; i < count && !run->interrupted; i++)
		run_one(run, names[i]);
	for (size_t i = 0; all && i < count; i++)
		free(all[i]);
	free(all);
	return 0;
}

int drills_run(const struct drills_plan *p)
{
	struct run run = {.p = p, .interrupts = -1};
	struct error err = ERROR_INIT;
	int status;

	if (run_all(&run, &err) == 0)
		status = finish(&run);
	else
		status = ask_failed("rehearse", NULL, &err);
	os_close(run.interrupts);
	free(run.folder);
	return status;
}
