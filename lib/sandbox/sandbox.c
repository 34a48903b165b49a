/*
 * The sandbox of a daemon: found, tried once, and kept.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"
#include "os/os.h"
#include "suite_config.h"

const struct error_kind SANDBOX_UNAVAILABLE = {"sandbox_unavailable", ERROR_CLASS_UNAVAILABLE};

/* AG-073: never PATH. AG-074: or the one path that the build fixed. */
static const char *const usual_paths[] = {
	"/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", NULL};
static const char *const fixed_paths[] = {SUITE_BWRAP, NULL};

enum filter_id filter_for(bool network, bool any_unix_socket)
{
	if (network)
		return FILTER_NETWORK;
	return any_unix_socket ? FILTER_UNIX : FILTER_OFFLINE;
}

static int make_filters(struct sandbox *s, struct error *err)
{
	static const struct {
		bool network, any_unix_socket;
	} of[FILTERS] = {
		[FILTER_OFFLINE] = {false, false},
		[FILTER_UNIX] = {false, true },
		[FILTER_NETWORK] = {true,  false},
	};

	for (size_t i = 0; i < FILTERS; i++) {
		if (sandbox_filter_export(
			    of[i].network, of[i].any_unix_socket, &s->filters[i], err) < 0)
			return -1;
	}
	return 0;
}

/* What starts every sandbox runs outside of all of them: none may change it, should a writable
 * folder hold it (a package of the person's own in their home). */
static void keep_program(struct sandbox *s)
{
	char *real;

	path_list_put(&s->host.kept, xstrdup(s->program));
	if (os_canonical(s->program, &real, NULL) == 0)
		path_list_put(&s->host.kept, real);
	path_list_sort(&s->host.kept);
}

static void find_and_try(struct sandbox *s)
{
	struct error err = ERROR_INIT;

	if (make_filters(s, &err) < 0) {
		s->why = xstrdup(err.text);
		return;
	}
	s->program = probe_find(fixed_paths[0][0] ? fixed_paths : usual_paths, &s->why);
	if (!s->program)
		return;
	keep_program(s);
	s->why = probe_run(s->program, s->filters[FILTER_OFFLINE]);
	if (!s->why)
		s->version = probe_version(s->program);
}

struct sandbox *sandbox_new(const struct sandbox_host *host)
{
	struct sandbox *s = xcalloc(1, sizeof(*s));

	list_init(&s->placeholders);
	list_init(&s->folders);
	for (size_t i = 0; i < FILTERS; i++)
		s->filters[i] = -1;
	host_init(&s->host, host);
	find_and_try(s);
	return s;
}

void sandbox_free(struct sandbox *s)
{
	if (!s)
		return;
	must(list_empty(&s->placeholders)); /* every command is freed before */
	folder_caches_free(&s->folders);
	closer_free(s->closer);
	for (size_t i = 0; i < FILTERS; i++)
		os_close(s->filters[i]);
	host_release(&s->host);
	free(s->program);
	free(s->version);
	free(s->why);
	free(s);
}

int sandbox_available(const struct sandbox *s, struct error *err)
{
	return s->why ? error_set(err, &SANDBOX_UNAVAILABLE, "%s", s->why) : 0;
}

const char *sandbox_version(const struct sandbox *s)
{
	if (s->why)
		return NULL;
	return s->version ? s->version : "bubblewrap";
}

int sandbox_check_roots(const struct sandbox *s, const struct sandbox_policy *p, struct error *err)
{
	return roots_check(s, p, err);
}

/* A placeholder may stand for any missing folder on the way to a protected path. */
static void sweep_path(const char *path)
{
	_cleanup_(mem) char *part = xstrdup(path);

	for (char *slash = strrchr(part, '/'); slash && slash != part; slash = strrchr(part, '/')) {
		placeholder_sweep(part);
		*slash = '\0';
	}
}

/* With leave to commit repositories deeper down have had placeholders too. */
static void sweep_below(struct sandbox *s, const struct sandbox_policy *p)
{
	struct sandbox_survey *v = sandbox_survey_new(s, p);
	const struct path_list *names;

	sandbox_survey_run(v);
	if (survey_names(v, &names, NULL) == 0) {
		for (size_t i = 0; i < names->count; i++)
			commit_sweep(names->items[i]);
	}
	sandbox_survey_free(v);
}

void sandbox_sweep(struct sandbox *s, const struct sandbox_policy *p)
{
	__attribute__((cleanup(roots_cleanup))) struct roots r = {0};

	if (roots_collect(s, p, &r, NULL) < 0)
		return; /* a folder that vanished holds nothing to sweep */
	for (size_t i = 0; i < r.all.count; i++) {
		for (size_t n = 0; protected_names[n]; n++) {
			_cleanup_(mem) char *path = xasprintf(
				"%s/%s", r.all.items[i], protected_names[n]);

			placeholder_sweep(path);
		}
	}
	for (size_t i = 0; i < r.open.count; i++)
		commit_sweep(r.open.items[i]);
	if (p->git_commit)
		sweep_below(s, p);
	for (size_t i = 0; i < r.git.count; i++)
		sweep_path(r.git.items[i]);
	for (size_t i = 0; i < s->host.kept.count; i++)
		sweep_path(s->host.kept.items[i]);
}
