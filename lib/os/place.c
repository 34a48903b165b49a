/*
 * place: where this program and this person live, and the one name of a path.
 */
#include <errno.h>
#include <limits.h>
#include <pwd.h>

#include "os/internal.h"
#include "suite_config.h"

enum { PASSWD_MAX_BYTES = 1024 * 1024 }; /* ours: an entry larger than this is no entry */

const struct error_kind OS_HELPER_MISSING = {"helper_missing", ERROR_CLASS_UNAVAILABLE};
const struct error_kind OS_NO_HOME = {"no_home", ERROR_CLASS_UNAVAILABLE};

int os_program_dir(char **ret_dir, struct error *err)
{
	char path[PATH_MAX];
	ssize_t len = os_fault() ? -1 : readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (len < 0)
		return error_sys(err, "read /proc/self/exe");
	path[len] = '\0';
	slash = strrchr(path, '/');
	if (!slash || path[0] != '/' || (size_t)len == sizeof(path) - 1)
		return error_set(err, &ERROR_INVALID, "/proc/self/exe says '%s'", path);
	*ret_dir = xstrndup(path, slash == path ? 1 : (size_t)(slash - path));
	return 0;
}

/* The first of these that is a program: DIR/NAME, DIR/OTHER/NAME, INSTALLED/NAME. */
static int find_program(const char *name, const char *other, const char *installed, char **ret_path,
	struct error *err)
{
	_cleanup_(mem) char *dir = NULL, *beside = NULL, *aside = NULL, *there = NULL;

	if (os_program_dir(&dir, err) < 0)
		return -1;
	beside = xasprintf("%s/%s", dir, name);
	if (os_is_program(beside, NULL) == 1)
		return os_canonical(beside, ret_path, err);
	aside = xasprintf("%s/%s/%s", dir, other, name);
	if (os_is_program(aside, NULL) == 1)
		return os_canonical(aside, ret_path, err);
	there = xasprintf("%s/%s", installed, name);
	if (os_is_program(there, NULL) == 1) {
		*ret_path = mem_take(&there);
		return 0;
	}
	return error_set(
		err, &OS_HELPER_MISSING, "no program '%s' in '%s' or '%s'", name, dir, installed);
}

int os_helper(const char *name, char **ret_path, struct error *err)
{
	return find_program(name, "../libexec/consort", SUITE_LIBEXEC, ret_path, err);
}

int os_command(const char *name, char **ret_path, struct error *err)
{
	return find_program(name, "../../bin", SUITE_BIN, ret_path, err);
}

/* The home of the password entry, or NULL with *ret_sys an errno or 0. */
static char *passwd_home(int *ret_sys)
{
	size_t size = 4096;
	struct passwd entry, *found = NULL;

	for (;; size *= 2) {
		_cleanup_(mem) char *room = xmalloc(size);

		*ret_sys = getpwuid_r(getuid(), &entry, room, size, &found);
		if (*ret_sys == ERANGE && size < PASSWD_MAX_BYTES)
			continue;
		if (*ret_sys || !found || !found->pw_dir || found->pw_dir[0] != '/')
			return NULL;
		return xstrdup(found->pw_dir);
	}
}

int os_home(char **ret_home, struct error *err)
{
	const char *env = getenv("HOME");
	int sys = 0;

	if (env && env[0] == '/') {
		*ret_home = xstrdup(env);
		return 0;
	}
	*ret_home = passwd_home(&sys);
	if (*ret_home)
		return 0;
	if (sys) {
		errno = sys;
		return error_sys_kind(err, &OS_NO_HOME, "look up the home of user %u", getuid());
	}
	return error_set(err, &OS_NO_HOME, "HOME is not an absolute path, and user %u has no home",
		getuid());
}

/* "BASE/TAIL" without empty parts and "." of tail. */
static int append_missing(const char *base, struct str tail, char **ret_path, struct error *err)
{
	_cleanup_(buf) struct buf b = BUF_INIT(strlen(base) + tail.len + 2);
	struct str part;

	(void)buf_puts(&b, strcmp(base, "/") == 0 ? "" : base); /* there is room for all of it */
	while (str_next(&tail, '/', &part)) {
		if (part.len == 0 || str_is(part, "."))
			continue;
		if (str_is(part, ".."))
			return error_set(err, &ERROR_INVALID, "'..' in a part that is not there");
		(void)buf_putc(&b, '/');
		(void)buf_put_str(&b, part);
	}
	must(!b.full);
	if (b.len == 0)
		(void)buf_putc(&b, '/');
	*ret_path = buf_take(&b);
	return 0;
}

/* Whether the last name of head is a link, which then leads nowhere. */
static bool is_dangling(const char *head)
{
	struct stat st;

	return lstat(head, &st) == 0 && S_ISLNK(st.st_mode);
}

/* Cuts names off the end of head until the rest exists. */
static int resolve_prefix(char *head, size_t whole, char **ret_base, struct error *err)
{
	char *base, *slash;

	for (;;) {
		base = os_fault() ? NULL : realpath(*head ? head : "/", NULL);
		if (base) {
			*ret_base = base;
			return 0;
		}
		if (errno != ENOENT || !*head)
			return error_sys(err, "resolve");
		if (is_dangling(head))
			return error_set(err, &ERROR_INVALID, "'%s' is a link to nothing", head);
		slash = strrchr(head, '/');
		must(slash && (size_t)(slash - head) < whole);
		*slash = '\0';
	}
}

int os_canonical(const char *path, char **ret_path, struct error *err)
{
	_cleanup_(mem) char *whole = NULL, *head = NULL, *base = NULL;
	char here[PATH_MAX];
	size_t len;

	if (!*path)
		return error_set(err, &ERROR_INVALID, "a path is empty");
	if (path[0] == '/') {
		whole = xstrdup(path);
	} else {
		if (os_fault() || !getcwd(here, sizeof(here)))
			return error_sys(err, "find the working folder");
		whole = xasprintf("%s/%s", here, path);
	}
	len = strlen(whole);
	head = xstrdup(whole);
	if (resolve_prefix(head, len, &base, err) < 0)
		return error_prefix(err, "'%s'", path);
	len = strlen(head); /* what exists; the rest of whole does not */
	if (append_missing(base, str_from(whole + len), ret_path, err) < 0)
		return error_prefix(err, "'%s'", path);
	return 0;
}
