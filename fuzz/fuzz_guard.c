/*
 * fuzz guard: where a path leads is absolute, without '.', '..', '//' and links, what the C library
 * says too, and found again as it is; it lies beneath a folder when its first parts are the
 * folder's.
 *
 * Input: a path, in a folder with files, folders and links of every sort.
 */
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "guard/guard.h"
#include "os/os.h"

static char root[] = "/var/tmp/consort-fuzz-XXXXXX";

static void remove_tree(void)
{
	(void)os_remove_tree(root, NULL); /* at the end; nobody is there to be told */
}

static void make_link(const char *target, const char *name)
{
	_cleanup_(mem) char *path = xasprintf("%s/%s", root, name);

	must(symlink(target, path) == 0);
}

static void make_folder(const char *name)
{
	_cleanup_(mem) char *path = xasprintf("%s/%s", root, name);

	must(mkdir(path, 0700) == 0);
}

static void make_file(const char *name)
{
	_cleanup_(mem) char *path = xasprintf("%s/%s", root, name);
	FILE *f = fopen(path, "we");

	must(f && fclose(f) == 0);
}

static void make_tree(void)
{
	_cleanup_(mem) char *absolute = NULL;

	if (root[sizeof(root) - 2] != 'X')
		return; /* it is there */
	must(mkdtemp(root) && atexit(remove_tree) == 0);
	absolute = xasprintf("%s/a", root);
	make_folder("a");
	make_folder("a/b");
	make_file("f");
	make_file("a/f");
	make_link("a", "l");
	make_link("../a//b/.", "a/l");
	make_link("..", "a/up");
	make_link("loop", "loop");
	make_link("mutual2", "mutual1");
	make_link("mutual1", "mutual2");
	make_link("missing/x", "gone");
	make_link("f/", "f-as-folder");
	make_link(absolute, "abs");
	make_link("/", "top");
}

static void check_shape(const char *real)
{
	struct str rest = str_from(real), part;

	must(real[0] == '/' && strlen(real) < PATH_MAX);
	if (real[1] == '\0')
		return;
	(void)str_next(&rest, '/', &part); /* before the first slash: nothing */
	while (str_next(&rest, '/', &part))
		must(part.len > 0 && part.len <= NAME_MAX && !str_is(part, ".") &&
			!str_is(part, ".."));
}

/* By parts, as a person would. */
static bool lies_beneath(const char *folder, const char *path)
{
	struct str f = str_from(folder), p = str_from(path), a, b;

	if (strcmp(folder, "/") == 0)
		return true;
	while (str_next(&f, '/', &a)) {
		if (!str_next(&p, '/', &b) || !str_eq(a, b))
			return false;
	}
	return true;
}

static void check_beneath(const char *real)
{
	const char *const folders[] = {"/", root, "/var", "/var/tm", "/var/tmp", real};
	_cleanup_(mem) char *inner = xasprintf("%s/a", root);

	must(guard_beneath(inner, real) == lies_beneath(inner, real));
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		must(guard_beneath(folders[i], real) == lies_beneath(folders[i], real));
		must(guard_beneath(real, folders[i]) == lies_beneath(real, folders[i]));
	}
}

/* What lies outside may change in between. */
static void check_inside(struct str path, const struct guard_path *p)
{
	_cleanup_(mem) char *whole = path.p[0] == '/'
					     ? xasprintf(STR_FMT, STR_ARG(path))
					     : xasprintf("%s/" STR_FMT, root, STR_ARG(path));
	_cleanup_(mem) char *theirs = realpath(whole, NULL);
	struct guard_path again = {.real = NULL};

	must((theirs != NULL) == p->exists && (!theirs || strcmp(theirs, p->real) == 0));
	must(guard_resolve("/", str_from(p->real), &again, NULL) == 0);
	must(strcmp(again.real, p->real) == 0 && again.exists == p->exists);
	must(again.is_dir == p->is_dir && again.dev == p->dev && again.ino == p->ino);
	guard_path_release(&again);
}

static void check_refused(struct str path, const struct error *err)
{
	_cleanup_(mem) char *whole = NULL;
	_cleanup_(mem) char *theirs = NULL;

	fuzz_check_error(err);
	must(error_is(err, &GUARD_INVALID_PATH) || error_is(err, &GUARD_DENIED));
	if (path.len == 0 || path.p[0] == '/' || memchr(path.p, '\0', path.len))
		return;
	whole = xasprintf("%s/" STR_FMT, root, STR_ARG(path));
	theirs = realpath(whole, NULL);
	must(!theirs || strncmp(theirs, root, strlen(root)) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(fuzz_exact) const struct str path = fuzz_exact(fuzz_str(data, size));
	struct guard_path p = {.real = NULL};
	struct error err = ERROR_INIT;

	make_tree();
	if (guard_resolve(root, path, &p, &err) < 0) {
		must(!p.real);
		check_refused(path, &err);
		return 0;
	}
	check_shape(p.real);
	check_beneath(p.real);
	if (guard_beneath(root, p.real))
		check_inside(path, &p);
	guard_path_release(&p);
	return 0;
}
