/* What a case needs of the machine, looked for when it is asked. */
#include <stdlib.h>

#include "attest/internal.h"
#include "os/os.h"

static bool succeeds(struct attest *t, const char *const *argv)
{
	return attest_run(t, argv, NULL).status == 0;
}

static const char *no_sandbox(struct attest *t)
{
	static const char *const argv[] = {"bwrap", "--unshare-user", "--unshare-pid",
		"--unshare-net", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
		"/bin/true", NULL};

	return succeeds(t, argv) ? NULL : "bubblewrap is missing or cannot make its namespaces";
}

static const char *no_strace(struct attest *t)
{
	static const char *const argv[] = {"strace", "-f", "-o", "/dev/null", "/bin/true", NULL};

	return succeeds(t, argv) ? NULL : "strace is missing or may not trace";
}

static const char *no_namespace(struct attest *t)
{
	static const char *const argv[] = {"unshare", "-Urmn", "/bin/true", NULL};

	return succeeds(t, argv) ? NULL
				 : "this user cannot make user, mount and network namespaces";
}

static const char *no_sqlite3(struct attest *t)
{
	static const char *const argv[] = {"sqlite3", "-version", NULL};

	return succeeds(t, argv) ? NULL : "the sqlite3 program is missing";
}

static const char *no_git(struct attest *t)
{
	static const char *const argv[] = {"git", "--version", NULL};

	return succeeds(t, argv) ? NULL : "git is missing";
}

static const char *no_cc(struct attest *t)
{
	static const char *const argv[] = {"cc", "--version", NULL};

	return succeeds(t, argv) ? NULL : "a C compiler is missing";
}

static const char *no_source(struct attest *t)
{
	(void)t;
	return getenv("ATTEST_SOURCE") ? NULL : "ATTEST_SOURCE does not name the source tree";
}

static const char *not_rough(struct attest *t)
{
	return t->rough ? NULL : "can hurt the machine: run with --rough";
}

const char *attest_missing(struct attest *t, unsigned needs)
{
	static const struct {
		unsigned need;
		const char *(*missing)(struct attest *t);
	} looks[] = {
		{NEEDS_SANDBOX,   no_sandbox  },
		{NEEDS_STRACE,    no_strace   },
		{NEEDS_NAMESPACE, no_namespace},
		{NEEDS_SQLITE3,   no_sqlite3  },
		{NEEDS_GIT,       no_git      },
		{NEEDS_CC,        no_cc       },
		{NEEDS_SOURCE,    no_source   },
		{NEEDS_ROUGH,     not_rough   },
	};

	for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
		const char *missing = (needs & looks[i].need) != 0 ? looks[i].missing(t) : NULL;

		if (missing)
			return missing;
	}
	return NULL;
}
