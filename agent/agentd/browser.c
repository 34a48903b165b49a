/* A page in the person's browser. */
#include "agent/agentd/browser.h"

#include <stdlib.h>
#include <unistd.h>

#include "mem/mem.h"
#include "os/os.h"
#include "proc/proc.h"
#include "text/text.h"

static const struct error_kind NO_BROWSER = {"no_browser", ERROR_CLASS_UNAVAILABLE};
static const char opener[] = "xdg-open";

struct browser {
	struct loop_child *child;
};

/* Of the absolute folders of PATH. */
static char *find_opener(void)
{
	struct str rest = str_from(getenv("PATH")), folder;

	while (str_next(&rest, ':', &folder)) {
		_cleanup_(mem) char *path = xasprintf(STR_FMT "/%s", STR_ARG(folder), opener);

		if (folder.len > 0 && folder.p[0] == '/' && os_is_program(path, NULL) == 1)
			return mem_take(&path);
	}
	return NULL;
}

static void on_exited(void *arg, int code, int signal)
{
	(void)arg; /* whether a page was shown is not known from it */
	(void)code;
	(void)signal;
}

int browser_open(struct loop *l, const char *url, struct browser **ret, struct error *err)
{
	_cleanup_(mem) char *program = find_opener();
	_cleanup_(mem) char *page = xstrdup(url);
	_cleanup_(fd) int pidfd = -1;
	struct proc_spec spec = {.program = program, .new_session = true};
	struct browser *b;
	pid_t pid;

	if (!program)
		return error_set(err, &NO_BROWSER, "there is no %s", opener);
	spec.argv = (char *[]){program, page, NULL};
	if (proc_spawn(&spec, &pid, &pidfd, err) < 0)
		return -1;
	b = xcalloc(1, sizeof(*b));
	b->child = loop_child_watch(l, pidfd, on_exited, b, NULL);
	if (b->child)
		(void)fd_take(&pidfd); /* the watch's now */
	*ret = b;
	return 0;
}

void browser_free(struct browser *b)
{
	if (!b)
		return;
	loop_child_free(b->child);
	free(b);
}
