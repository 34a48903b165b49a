#ifndef AGENT_TEST_TOOLING_H
#define AGENT_TEST_TOOLING_H
/*
 * tooling: a workspace, a bot and a host for the tests of tools, and a call made from start to end.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/tool/tool.h"
#include "os/os.h"
#include "testing.h"

#define SECRET_VALUE "sk-very-secret-0123456789"

struct rig {
	char *dir; /* holds the workspace "w", and "out" beside it */
	char *workspace, *outside, *store, *writer, *supervisor, *cell;
	struct loop *loop;
	struct secret_set *secrets;
	struct sandbox *sandbox; /* NULL until rig_confine */
	struct tool_host host;
	struct bot bot;
	struct tool_context context;
	struct arena arena;
	/* Of the last call. */
	struct str output;
	struct tool_judgement judgement;
	struct error err;            /* why it was refused before it ran; the output says so too */
	struct str artifact;         /* the first one's bytes */
	struct item_picture picture; /* the first one */
	bool failed, cancelled;
	size_t incidents;
	int dones;
	struct tool_run *run;
};

static inline void rig_init(struct rig *r)
{
	static char *env[] = {"PATH=/usr/bin:/bin", "FOO=bar", "AGENT_SOCKET=/stale", NULL};
	_cleanup_(mem) char *programs = NULL;

	memset(r, 0, sizeof(*r));
	must(os_program_dir(&programs, NULL) == 0);
	r->dir = testing_dir();
	r->workspace = xasprintf("%s/w", r->dir);
	r->outside = xasprintf("%s/out", r->dir);
	r->store = xasprintf("%s/store", r->dir);
	must(mkdir(r->workspace, 0700) == 0 && mkdir(r->outside, 0700) == 0 &&
		mkdir(r->store, 0700) == 0);
	r->writer = xasprintf("%s/../bin/consort-write", programs);
	r->supervisor = xasprintf("%s/../bin/consort-supervise", programs);
	r->cell = xasprintf("%s/../bin/consort-cell", programs);
	r->loop = loop_new();
	r->secrets = secret_set_new();
	secret_set_add(r->secrets, STR(SECRET_VALUE));
	r->host = (struct tool_host){
		.loop = r->loop,
		.secrets = r->secrets,
		.env = env,
		.writer = r->writer,
		.supervisor = r->supervisor,
		.cell = r->cell,
		.socket = "/daemon.sock",
		.program = "/usr/bin/agent",
	};
	r->bot = (struct bot){
		.name = STR("tester"), .id = 7, .set = {.sandbox = SANDBOX_FULL_ACCESS}};
	r->context = (struct tool_context){
		.host = &r->host,
		.bot = &r->bot,
		.workspace = str_from(r->workspace),
		.model = STR("m"),
		.turn = 12,
		.call_id = STR("r1-1"),
	};
}

/* Gives the bot a sandbox; false where this machine cannot make one. */
static inline bool rig_confine(struct rig *r, enum sandbox_mode mode)
{
	char *state = arena_printf(&r->arena, "%s/state.sqlite", r->store);
	struct sandbox_host host = {
		.store = state,
		.socket = arena_printf(&r->arena, "%s.sock", state),
		.bot_sockets = arena_printf(&r->arena, "%s.sock.d", state),
	};

	if (!r->sandbox)
		r->sandbox = sandbox_new(&host);
	r->host.sandbox = r->sandbox;
	r->bot.set.sandbox = mode;
	return sandbox_available(r->sandbox, NULL) == 0;
}

static inline void rig_release(struct rig *r)
{
	loop_run(r->loop); /* what was freed while it ran ends now */
	sandbox_free(r->sandbox);
	secret_set_free(r->secrets);
	loop_free(r->loop);
	arena_release(&r->arena);
	must(os_remove_tree(r->dir, NULL) == 0);
	free(r->dir);
	free(r->workspace);
	free(r->outside);
	free(r->store);
	free(r->writer);
	free(r->supervisor);
	free(r->cell);
}

static inline struct str rig_copy(struct rig *r, struct str s)
{
	return (struct str){arena_strndup(&r->arena, s.len > 0 ? s.p : "", s.len), s.len};
}

static inline void rig_done(void *arg, const struct tool_result *result)
{
	struct rig *r = arg;

	r->dones++;
	r->output = rig_copy(r, result->output);
	r->failed = result->failed;
	r->cancelled = result->cancelled;
	r->incidents = result->incidents.count;
	r->picture = (struct item_picture){
		{NULL, 0},
                {NULL, 0}
        };
	if (result->picture_count > 0)
		r->picture = (struct item_picture){rig_copy(r, result->pictures[0].media_type),
			rig_copy(r, result->pictures[0].base64)};
	if (result->artifact_count > 0)
		r->artifact = rig_copy(r, result->artifacts[0].bytes);
	loop_stop(r->loop);
}

static inline void rig_refuse(struct rig *r)
{
	r->output = tool_error_output(&r->host, &r->arena, &r->err);
	r->failed = true;
}

/* Arguments, judgement, start; false when one of them refused. The run stands in r->run then. */
static inline bool rig_start(struct rig *r, const char *name, const char *arguments, bool outside)
{
	const struct tool *t = tool_find(str_from(name));
	const struct tool_order order = {outside, rig_done, r};
	const void *args;

	must(t);
	r->output = r->artifact = (struct str){NULL, 0};
	r->dones = 0;
	r->failed = r->cancelled = false;
	r->run = NULL;
	r->judgement = (struct tool_judgement){.reach = TOOL_IN_DAEMON};
	error_clear(&r->err);
	if (tool_prepare(t, &r->arena, str_from(arguments), &args, &r->err) < 0 ||
		(t->judge && t->judge(&r->context, &r->arena, args, &r->judgement, &r->err) < 0) ||
		t->start(&r->context, &r->arena, args, &order, &r->run, &r->err) < 0) {
		rig_refuse(r);
		return false;
	}
	assert_int_equal(r->dones, 0); /* never inside start */
	return true;
}

static inline void rig_finish(struct rig *r, const char *name)
{
	loop_run(r->loop);
	assert_int_equal(r->dones, 1);
	tool_find(str_from(name))->free(r->run);
	r->run = NULL;
}

/* A whole call; its output is in r->output. */
static inline void rig_call_as(struct rig *r, const char *name, const char *arguments, bool outside)
{
	if (rig_start(r, name, arguments, outside))
		rig_finish(r, name);
}

static inline void rig_call(struct rig *r, const char *name, const char *arguments)
{
	rig_call_as(r, name, arguments, false);
}

static inline bool rig_says(const struct rig *r, const char *text)
{
	return str_find(r->output, str_from(text), 0) >= 0;
}

#define assert_says(rig, text)                                                                     \
	do {                                                                                       \
		if (!rig_says(rig, text))                                                          \
			fail_msg("'%s' is not in: %.*s", text, (int)(rig)->output.len,             \
				(rig)->output.p);                                                  \
	} while (0)

/* "/w/NAME" and the like; in the rig's arena. */
static inline char *rig_path(struct rig *r, const char *folder, const char *name)
{
	return arena_printf(&r->arena, "%s/%s", folder, name);
}

static inline void rig_put(struct rig *r, const char *folder, const char *name, struct str content)
{
	must(os_replace_file(rig_path(r, folder, name), content, 0644, NULL) == 0);
}

/* What stands in a file; absent when there is none. */
static inline struct str rig_get(struct rig *r, const char *folder, const char *name)
{
	_cleanup_(buf) struct buf b = BUF_INIT(8 * 1024 * 1024);

	if (os_read_file(rig_path(r, folder, name), &b, NULL) < 0)
		return (struct str){NULL, 0};
	return rig_copy(r, buf_str(&b));
}

#endif
