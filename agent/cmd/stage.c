/* Where a rehearsal takes place. */
#include "agent/cmd/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/cmd/copy.h"
#include "agent/cmd/gone.h"
#include "agent/cmd/placeholder.h"
#include "agent/cmd/sweep.h"
#include "mem/mem.h"
#include "os/os.h"
#include "suite_config.h"

#define CANARY_KEY "CONSORT_CANARY_KEY"

enum { IDLE_EXIT_S = 5 /* ours: should this process be killed the daemon goes by itself */ };

static const struct copy_limits limits = {
	.bytes = (int64_t)512 * 1024 * 1024, /* ours: seconds to copy; a project, no disk image */
	.entries = 50000,                    /* ours */
};

/* What a path goes on with when it is another, longer one. */
static bool joins(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.' || (unsigned char)c >= 0x80;
}

int stage_replace_path(struct buf *to, struct str text, struct str from, struct str by)
{
	size_t at = 0;
	ptrdiff_t found;

	must(from.len > 0);
	while ((found = str_find(text, from, at)) >= 0) {
		size_t end = (size_t)found + from.len;
		bool whole = (end == text.len || !joins(text.p[end])) &&
			     (found == 0 || !joins(text.p[found - 1]));

		(void)buf_put(to, text.p + at, (size_t)found - at); /* full is seen below */
		(void)buf_put_str(to, whole ? by : from);
		at = end;
	}
	return buf_put(to, text.p + at, text.len - at);
}

/* In place. */
static int replace_path(struct buf *text, const char *from, const char *by)
{
	struct buf made = BUF_INIT(text->max);
	int rc = stage_replace_path(&made, buf_str(text), str_from(from), str_from(by));

	buf_release(text);
	*text = made;
	return rc;
}

int stage_restore(const struct stage *s, struct buf *text)
{
	for (size_t i = 0; i < s->copied; i++) {
		if (replace_path(text, s->copies[i], s->originals[i]) < 0)
			return -1;
	}
	return 0;
}

static void note_copy(struct stage *s, char *original, const char *copy)
{
	s->originals = xrealloc(s->originals, s->copied + 1, sizeof(*s->originals));
	s->copies = xrealloc(s->copies, s->copied + 1, sizeof(*s->copies));
	s->originals[s->copied] = original;
	s->copies[s->copied++] = xstrdup(copy);
}

static int copy_one(
	struct stage *s, const char *from, const char *to, struct buf *script, struct error *err)
{
	char *real;

	if (os_canonical(from, &real, err) < 0)
		return -1;
	note_copy(s, real, to);
	if (copy_tree(real, to, &limits, err) < 0)
		return -1;
	if (replace_path(script, real, to) < 0)
		return error_set(
			err, &ERROR_LIMIT, "the script is too long with its paths replaced");
	return 0;
}

static int copy_roots(
	struct stage *s, const struct cli_texts *roots, struct buf *script, struct error *err)
{
	s->roots = xcalloc(roots->count + 1, sizeof(*s->roots));
	for (size_t i = 0; i < roots->count; i++) {
		s->roots[i] = xasprintf("%s/root-%zu", s->folder, i + 1);
		if (copy_one(s, roots->items[i], s->roots[i], script, err) < 0)
			return -1;
	}
	return 0;
}

static int make_workspace(struct stage *s, const char *from, struct buf *script, struct error *err)
{
	s->workspace = xasprintf("%s/work", s->folder);
	if (from)
		return copy_one(s, from, s->workspace, script, err);
	return os_mkdir_private(s->workspace, NULL, err);
}

/* What in the environment means the person's own daemon and bots. */
static int leave_home(const char *home, struct error *err)
{
	static const char *const names[] = {"AGENT_STORE", "AGENT_SOCKET", "AGENT_SOCKET_FD",
		"AGENT_PROVIDER", "AGENT_MODEL", "AGENT_APPROVAL", "AGENT_DELIVERY", "AGENT_BOT",
		"AGENT_BOT_ID", "AGENT_TURN", "AGENT_PARENT", "AGENT_PARENT_ID",
		"AGENT_SHELL_CONTEXT"};

	if (os_mkdir_private(home, NULL, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)unsetenv(names[i]); /* the name is valid */
	if (setenv("HOME", home, 1) < 0)
		return error_sys(err, "set HOME");
	return 0;
}

/* A key that opens nothing, as real ones are written: with characters that other spellings change.
 */
static int make_key(char **ret, struct error *err)
{
	uint64_t random[2];
	char *key;

	if (os_random(random, sizeof(random), err) < 0)
		return -1;
	key = xasprintf("canary/%016llx+%016llx=", (unsigned long long)random[0],
		(unsigned long long)random[1]);
	if (setenv(CANARY_KEY, key, 1) < 0) {
		free(key);
		return error_sys(err, "set " CANARY_KEY);
	}
	*ret = key;
	return 0;
}

/* The program that odd system calls are tried with, or the name it would have. */
static int find_probe(char **ret, struct error *err)
{
	static const char *const places[] = {"", "../libexec/consort/"};
	_cleanup_(mem) char *dir = NULL;

	if (os_program_dir(&dir, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		_cleanup_(mem) char *path = xasprintf("%s/%sconsort-probe", dir, places[i]);

		if (os_is_program(path, NULL) == 1)
			return os_canonical(path, ret, err);
	}
	*ret = xstrdup(SUITE_LIBEXEC "/consort-probe");
	return 0;
}

/* Replaces the placeholders, in place. */
static int fill(struct stage *s, struct buf *script, struct error *err)
{
	_cleanup_(mem) char *store = NULL, *socket = NULL, *key = NULL, *probe = NULL;
	const struct place_options place = {NULL, NULL};
	struct buf made = BUF_INIT(script->max);
	int rc;

	if (startup_place(&place, &store, &socket, err) < 0 || make_key(&key, err) < 0 ||
		find_probe(&probe, err) < 0)
		return -1;
	rc = placeholder_fill(&made, buf_str(script),
		(const struct placeholder[]){
			{"@home@",   s->home     },
			{"@work@",   s->workspace},
			{"@socket@", socket      },
			{"@probe@",  probe       },
			{"@canary@", key         },
			{NULL,       NULL        },
        });
	buf_release(script);
	*script = made;
	return rc < 0 ? error_set(err, &ERROR_LIMIT,
				"the script is too long with its placeholders replaced")
		      : 0;
}

/* The drill's own writable folders, in the scratch home. */
static int make_roots(struct stage *s, const struct str_list *roots, struct error *err)
{
	free(s->roots);
	s->roots = xcalloc(roots->count + 1, sizeof(*s->roots));
	for (size_t i = 0; i < roots->count; i++) {
		struct str path = {roots->items[i].p + 2, roots->items[i].len - 2}; /* "~/" */

		s->roots[i] = xasprintf("%s/" STR_FMT, s->home, STR_ARG(path));
		for (char *slash = s->roots[i] + strlen(s->home) + 1; (slash = strchr(slash, '/'));
			*slash++ = '/') {
			*slash = '\0';
			if (os_mkdir_private(s->roots[i], NULL, err) < 0)
				return -1;
		}
		if (os_mkdir_private(s->roots[i], NULL, err) < 0)
			return -1;
	}
	return 0;
}

/* Reads the script as it is played, and makes true what it wants to be the case. */
static int prepare(
	struct stage *s, const struct stage_plan *plan, struct buf *script, struct error *err)
{
	const struct canary_place at = {s->home, s->workspace};

	if (leave_home(s->home, err) < 0 || fill(s, script, err) < 0 ||
		rehearsal_parse(buf_str(script), &s->script, err) < 0)
		return -1;
	if (plan->roots->count == 0 &&
		make_roots(s, &rehearsal_terms(s->script)->bot.writable_roots, err) < 0)
		return -1;
	return canary_lay(rehearsal_terms(s->script), &at, err);
}

static int start_daemon(struct stage *s, const struct buf *script, struct error *err)
{
	_cleanup_(mem) char *path = xasprintf("%s/script.jsonl", s->folder);
	_cleanup_(mem) char *provider = xasprintf("drill=rehearsal,%s", path);
	/* It is never asked anything: nothing listens on port 9 of a machine today. */
	const char *const providers[] = {provider, "canary=chat,http://127.0.0.1:9/v1," CANARY_KEY};
	const struct place_options place = {NULL, NULL};
	struct startup_options startup = {
		.providers = {(const char **)providers, ARRAY_LEN(providers)},
		.idle_exit = {true,                     IDLE_EXIT_S         }
        };

	if (os_replace_file(path, buf_str(script), 0600, err) < 0)
		return -1;
	return connect_open(&place, &startup, CONNECT_START, &s->connection, err);
}

int stage_open(struct stage *s, const struct stage_plan *plan, struct error *err)
{
	_cleanup_(buf) struct buf script = BUF_INIT(REHEARSAL_FILE_MAX_BYTES * 2);

	*s = (struct stage){.lock = -1};
	(void)buf_put_str(&script, plan->script); /* a script fits twice */
	sweep_left();
	if (sweep_make(&s->folder, &s->lock, err) < 0)
		return -1;
	s->home = xasprintf("%s/home", s->folder);
	if (make_workspace(s, plan->workspace, &script, err) < 0 ||
		copy_roots(s, plan->roots, &script, err) < 0 || prepare(s, plan, &script, err) < 0)
		return -1;
	return start_daemon(s, &script, err);
}

void stage_close(struct stage *s)
{
	struct error err = ERROR_INIT;

	if (s->connection.client)
		gone_force(s->connection.client);
	connection_release(&s->connection);
	if (s->folder && os_remove_tree(s->folder, &err) < 0)
		(void)fprintf(stderr, "agent rehearse: %s: '%s' is left: %s\n", error_code(&err),
			s->folder, err.text); /* nobody else to tell */
	for (size_t i = 0; s->roots && s->roots[i]; i++)
		free(s->roots[i]);
	for (size_t i = 0; i < s->copied; i++) {
		free(s->originals[i]);
		free(s->copies[i]);
	}
	free(s->originals);
	free(s->copies);
	free(s->roots);
	rehearsal_free(s->script);
	free(s->workspace);
	free(s->home);
	free(s->folder);
	os_close(s->lock); /* last: until here nobody else takes the folder for left */
	*s = (struct stage){.lock = -1};
}
