/* agent rehearse: what a script of a model could do under a person's sandbox and gates, and whether
 * the drills that ship with the suite end as they state. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cmd/ask.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/drills.h"
#include "agent/cmd/interrupts.h"
#include "agent/cmd/output.h"
#include "agent/cmd/style.h"
#include "agent/cmd/trial.h"
#include "mem/mem.h"
#include "os/os.h"

enum {
	TEXT_MAX_BYTES = 64 * 1024 * 1024, /* ours: cleared after every call */
};

struct options {
	struct trial_flags flags;
	bool json, drills, rough;
};

static const struct cli_option own[] = {
	CLI_OPT_TEXT(struct options, flags.sandbox, "sandbox", "MODE",
		"read-only, workspace-write or danger-full-access (workspace-write)"),
	CLI_OPT_TEXTS(struct options, flags.writable_roots, "writable-root", "DIR",
		"one more writable folder, tried on a copy"),
	CLI_OPT_FLAG(
		struct options, flags.network, "network", "sandboxed commands reach the network"),
	CLI_OPT_TEXT(struct options, flags.workspace, "workspace", "DIR",
		"the folder to work in, tried on a copy (an empty one)"),
	CLI_OPT_TEXT(struct options, flags.approval, "approval", "MODE",
		"full, manual or auto, as for run (full)"),
	CLI_OPT_TEXT(struct options, flags.approve, "approve", "TOOL,TOOL…",
		"whose calls wait for a verdict (shell,write,edit,apply_patch)"),
	CLI_OPT_TEXT(struct options, flags.rules, "rules", "PATH",
		"the command rules to try: a file, or the files *.rules of a folder"),
	CLI_OPT_TEXT(struct options, flags.prompt, "prompt", "TEXT", "the prompt (the script's)"),
	CLI_OPT_FLAG(struct options, json, "json", "print a line of JSON for each call"),
	CLI_OPT_FLAG(struct options, drills, "drills",
		"run the drills of the suite, all or those named"),
	CLI_OPT_FLAG(struct options, rough, "rough", "with --drills: also what can hurt a machine"),
};

/* What is printed of a trial. */
struct show {
	const struct options *o;
	struct buf out;
};

static int show_call(struct trial *t, const struct drill_call *c, struct error *err)
{
	struct show *show = t->arg;

	if (show->o->json)
		drill_write_json(c, &show->out);
	else
		drill_write(&t->drill, c, output_colours(), &show->out);
	if (stage_restore(&t->stage, &show->out) < 0)
		return error_set(err, &ERROR_LIMIT, "what is printed is too long");
	output_buf(&show->out);
	output_flush();
	return 0;
}

static void show_head(struct trial *t)
{
	struct str name = rehearsal_name(t->script), about = rehearsal_about(t->script);
	struct str must_happen = rehearsal_terms(t->script)->must;
	struct show *show = t->arg;
	bool colours = output_colours();

	if (show->o->json)
		return;
	style_line(&show->out, colours, STYLE_BOLD, name.p ? name : STR("rehearsal"), 200);
	if (about.len > 0) {
		(void)buf_puts(&show->out, "  "); /* a head is far shorter than the buffer */
		style_line(&show->out, colours, STYLE_PLAIN, about, 400);
	}
	if (must_happen.len > 0) {
		(void)buf_puts(&show->out, "\nmust: ");
		style_line(&show->out, colours, STYLE_PLAIN, must_happen, 400);
	}
	(void)buf_printf(&show->out, "\nsandbox %s%s; ", t->sandbox,
		!t->sandboxed ? ""
		: t->network  ? ", network on"
			      : ", network off");
	if (t->approval.tag)
		(void)buf_printf(&show->out, "asks %s\n\n", t->approval.tag);
	else
		(void)buf_puts(&show->out, "asks nobody\n\n");
	output_buf(&show->out);
}

static const char *const result_names[] = {
	[TRIAL_AS_STATED] = "as_stated",
	[TRIAL_UNLIKE] = "not_as_stated",
	[TRIAL_NOT_JUDGED] = "not_judged",
	[TRIAL_NOTHING_STATED] = "nothing_stated",
};

static void end_in_json(
	const struct trial *t, enum trial_result result, struct str why, struct buf *to)
{
	struct json_out j = JSON_OUT(to);

	json_open(&j, '{');
	json_open_key(&j, "summary", '{');
	drill_put_counts(&t->drill, &j);
	json_put_cstr(&j, "status", t->status);
	json_put_cstr(&j, "error", t->error);
	json_put_cstr(&j, "result", result_names[result]);
	if (why.len > 0)
		json_put_str(&j, "why", why);
	json_close(&j, '}');
	json_close(&j, '}');
	(void)buf_putc(to, '\n');
}

static void end_in_words(
	const struct trial *t, enum trial_result result, struct str why, struct buf *to)
{
	static const struct {
		enum style style;
		const char *words;
	} ends[] = {
		[TRIAL_AS_STATED] = {STYLE_GOOD, "as stated"      },
		[TRIAL_UNLIKE] = {STYLE_BAD,  "not as stated: "},
		[TRIAL_NOT_JUDGED] = {STYLE_DIM,  "not judged: "   },
	};

	(void)buf_putc(to, '\n');
	drill_write_counts(&t->drill, to);
	if (!trial_completed(t)) {
		(void)buf_printf(to, "the turn ended %s", t->status);
		(void)buf_puts(to, t->error ? ": " : "");
		(void)text_put_line(to, str_from(t->error ? t->error : ""));
		(void)buf_putc(to, '\n');
	}
	if (result == TRIAL_NOTHING_STATED)
		return;
	style_put(to, output_colours(), ends[result].style, ends[result].words);
	(void)buf_put_str(to, why);
	(void)buf_putc(to, '\n');
}

static int show_end(struct trial *t)
{
	_cleanup_(buf) struct buf why = BUF_INIT(TEXT_MAX_BYTES);
	enum trial_result result = trial_judge(t, &why);
	struct show *show = t->arg;

	if (show->o->json)
		end_in_json(t, result, buf_str(&why), &show->out);
	else
		end_in_words(t, result, buf_str(&why), &show->out);
	(void)stage_restore(&t->stage, &show->out); /* too long for it: as it is */
	output_buf(&show->out);
	return trial_completed(t) && result != TRIAL_UNLIKE ? CLI_OK : CLI_FAILED;
}

static int rehearse(struct trial *t)
{
	_cleanup_(fd) int interrupts = -1;
	struct error err = ERROR_INIT;
	int status;

	if (interrupts_open(true, &interrupts, &err) == 0 && trial_run(t, interrupts, &err) == 0)
		status = show_end(t);
	else
		status = ask_failed("rehearse", t->stage.connection.client, &err);
	trial_close(t);
	return status;
}

static int rehearse_file(const struct options *o, const char *path)
{
	struct show show = {.o = o, .out = BUF_INIT(TEXT_MAX_BYTES)};
	struct error err = ERROR_INIT;
	struct trial t;
	int status;

	if (trial_read(&t, &o->flags, path, &err) < 0) {
		status = error_is(&err, &CLI_USAGE_ERROR) ? cli_usage("rehearse", "%s", err.text)
							  : ask_failed("rehearse", NULL, &err);
	} else {
		t.on_begin = show_head;
		t.on_call = show_call;
		t.arg = &show;
		status = rehearse(&t);
	}
	trial_release(&t);
	buf_release(&show.out);
	return output_end("rehearse", status);
}

static int run(void *options, char **args, int count)
{
	const struct options *o = options;

	if (o->drills)
		return drills_run(&(struct drills_plan){.flags = &o->flags,
			.names = args,
			.count = (size_t)count,
			.rough = o->rough,
			.json = o->json});
	if (o->rough)
		return cli_usage("rehearse", "'--rough' goes with '--drills'");
	if (count != 1)
		return cli_usage("rehearse", count == 0 ? "a FILE is missing, or '--drills'"
							: "one FILE, or '--drills'");
	return rehearse_file(o, args[0]);
}

const struct cli_command cmd_rehearse = {
	.name = "rehearse",
	.arguments = "FILE | --drills [NAME…]",
	.args_min = 0,
	.args_max = -1,
	.purpose = "try a script of a model against a sandbox, gates and rules",
	.about = "Runs the calls of a rehearsal(5) script in a daemon of its own, with a home of "
		 "its own and on copies of the folders named, and prints what becomes of each: "
		 "confined, would ask, refused, or would run outside. What would leave the sandbox "
		 "is never carried out, what an allow rule lets out included: that runs confined. "
		 "What is confined runs, so the folders for temporary files are the real ones. "
		 "Nothing stays behind. A script that is a drill states what must happen: exit "
		 "status 1 when it does not.",
	.groups = {{NULL, own, ARRAY_LEN(own), 0}},
	.options_size = sizeof(struct options),
	.run = run,
};
