/*
 * What is mounted where, as data; and the placeholders that this leaves, and does not leave, on the
 * host.
 */
#include "world.h"

#include <dirent.h>
#include <poll.h>
#include <sys/file.h>

enum { SLOW_MS = 20 /* far more than what yielding lasts */ };

static int set_up(void **state)
{
	struct world *w = world_new("task");

	w->sandbox = world_plan_only(w);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	world_free(*state);
	return 0;
}

/* "W work", "R work/.git", … in order, without what /tmp adds; paths relative to the world. */
static char *describe(const struct world *w, const struct plan *p)
{
	static const char letters[] = {[MOUNT_WRITABLE] = 'W',
		[MOUNT_READ_ONLY] = 'R',
		[MOUNT_NULL] = 'N',
		[MOUNT_EMPTY] = 'E'};
	struct buf b = BUF_INIT(OUTPUT_MAX_BYTES);

	for (size_t i = 0; i < p->count; i++) {
		if (guard_beneath(w->dir, p->mounts[i].path))
			must(buf_printf(&b, "%c%s\n", letters[p->mounts[i].kind],
				     p->mounts[i].path + strlen(w->dir)) == 0);
		else
			assert_true(guard_beneath("/tmp", p->mounts[i].path));
	}
	return buf_take(&b);
}

static void assert_plan(struct world *w, const struct sandbox_policy *p, const char *expected)
{
	struct error err = ERROR_INIT;
	_cleanup_(mem) char *got = NULL;
	struct plan plan;

	assert_ok(plan_make(w->sandbox, p, &plan, &err), &err);
	got = describe(w, &plan);
	plan_release(&plan);
	assert_string_equal(got, expected);
}

static bool exists(const char *dir, const char *name)
{
	_cleanup_(mem) char *path = xasprintf("%s/%s", dir, name);
	struct stat st;

	return lstat(path, &st) == 0;
}

static void a_workspace_and_what_is_protected_in_it(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);

	assert_plan(w, &p,
		"W/home/task\nW/tmp\n"
		"R/home/task/.agents\nR/home/task/.codex\nR/home/task/.git\n"
		"R/tmp/.agents\nR/tmp/.codex\nR/tmp/.git\n"
		"E/home/.agent/run\nE/home/.agent/state.sqlite.sock.d\n");
}

static void aws_only_where_it_is(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);

	free(world_folder(w->work, ".aws"));
	world_put(w->socket, ""); /* stands for one: what is there is covered */
	assert_plan(w, &p,
		"W/home/task\nW/tmp\n"
		"R/home/task/.agents\nR/home/task/.aws\nR/home/task/.codex\nR/home/task/.git\n"
		"R/tmp/.agents\nR/tmp/.codex\nR/tmp/.git\n"
		"N/home/.agent/state.sqlite.sock\n"
		"E/home/.agent/run\nE/home/.agent/state.sqlite.sock.d\n");
}

static void nothing_is_writable_in_read_only_mode(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);

	p.mode = SANDBOX_READ_ONLY;
	assert_plan(w, &p, "E/home/.agent/run\nE/home/.agent/state.sqlite.sock.d\n");
	assert_false(exists(w->work, ".git"));
}

/* The home is a root, the workspace lies in it: one mount, and every folder on the way to something
 * protected is pinned. */
static void ancestors_are_pinned_and_nested_roots_are_one(void **state)
{
	struct world *w = *state;
	const char *const roots[] = {w->home, NULL};
	struct sandbox_policy p = world_policy(w);

	p.writable_roots = roots;
	assert_plan(w, &p,
		"W/home\nW/home/task\nW/tmp\n"
		"R/home/.agent\nR/home/.agents\nR/home/.codex\nR/home/.git\nR/home/rules\n"
		"R/home/task/.agents\nR/home/task/.codex\nR/home/task/.git\n"
		"R/tmp/.agents\nR/tmp/.codex\nR/tmp/.git\n"
		"E/home/.agent/run\nE/home/.agent/state.sqlite.sock.d\n");
}

static void a_protected_path_that_is_missing_cannot_be_made(void **state)
{
	struct world *w = *state;
	const char *const roots[] = {w->home, NULL};
	struct sandbox_policy p = world_policy(w);
	_cleanup_(mem) char *deep = xasprintf("%s/deep", w->home), *got = NULL;
	const char *protect[] = {NULL, NULL};
	struct error err = ERROR_INIT;
	struct plan plan;

	free(world_folder(w->home, "deep"));
	protect[0] = xasprintf("%s/one/two", deep);
	w->host.protected_paths = protect;
	sandbox_free(w->sandbox);
	w->sandbox = world_plan_only(w);
	free((char *)protect[0]);
	p.writable_roots = roots;
	assert_ok(plan_make(w->sandbox, &p, &plan, &err), &err);
	got = describe(w, &plan);
	assert_non_null(strstr(got, "W/home/deep\n"));
	assert_non_null(strstr(got, "R/home/deep/one\n"));
	assert_true(exists(deep, "one"));
	plan_release(&plan);
	assert_false(exists(deep, "one"));
}

static void placeholders_are_counted_and_go_with_the_last(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	struct error err = ERROR_INIT;
	struct plan one, two;

	assert_ok(plan_make(w->sandbox, &p, &one, &err), &err);
	assert_true(exists(w->work, ".git"));
	assert_ok(plan_make(w->sandbox, &p, &two, &err), &err);
	plan_release(&one);
	assert_true(exists(w->work, ".git") && exists(w->work, ".codex"));
	plan_release(&two);
	assert_false(exists(w->work, ".git"));
	assert_false(exists(w->work, ".agents"));
	assert_false(exists(w->work, ".codex"));
	assert_true(list_empty(&w->sandbox->placeholders));
}

/* Two daemons with one workspace: the first to end must not take away what the other one counts on.
 */
static void placeholders_are_shared_between_daemons(void **state)
{
	struct world *w = *state;
	struct sandbox *other = world_plan_only(w);
	struct sandbox_policy p = world_policy(w);
	struct error err = ERROR_INIT;
	struct plan one, two;

	assert_ok(plan_make(w->sandbox, &p, &one, &err), &err);
	assert_ok(plan_make(other, &p, &two, &err), &err);
	plan_release(&one);
	assert_true(exists(w->work, ".git"));
	plan_release(&two);
	assert_false(exists(w->work, ".git"));
	sandbox_free(other);
}

/* Another daemon with a placeholder in its hands that must wait for the processor: before it
 * removes one, with the lock held, or before one is finished. Ends by itself. */
static pid_t slow_daemon(const struct world *w, bool removes)
{
	static const struct timespec moment[2] = {
		{COVER_MOMENT_S, 0},
                {COVER_MOMENT_S, 0}
        };
	_cleanup_(mem) char *path = xasprintf("%s/.git", w->work);
	int ready[2];
	char byte;
	pid_t pid;

	must(pipe(ready) == 0);
	pid = fork();
	if (pid == 0) {
		int fd = -1;

		must(mkdir(path, 0755) == 0 && chmod(path, removes ? 0755 : 01755) == 0);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		must(!removes || (futimens(fd, moment) == 0 && flock(fd, LOCK_EX) == 0));
		must(write(ready[1], "x", 1) == 1);
		(void)poll(NULL, 0, SLOW_MS); /* the passing of time is what is tried */
		must(rmdir(path) == 0);
		_exit(0);
	}
	must(pid > 0 && read(ready[0], &byte, 1) == 1);
	must(close(ready[0]) == 0 && close(ready[1]) == 0);
	return pid;
}

static void assert_waits_for(struct world *w, bool removes)
{
	pid_t daemon = slow_daemon(w, removes);
	struct sandbox_policy p = world_policy(w);
	struct error err = ERROR_INIT;
	struct plan plan;
	int status;

	assert_ok(plan_make(w->sandbox, &p, &plan, &err), &err);
	must(waitpid(daemon, &status, 0) == daemon);
	assert_int_equal(status, 0);
	assert_true(exists(w->work, ".git")); /* ours by now */
	plan_release(&plan);
	assert_false(exists(w->work, ".git"));
}

static void a_slow_removal_is_waited_for(void **state)
{
	assert_waits_for(*state, true);
}

static void a_slow_making_is_waited_for(void **state)
{
	assert_waits_for(*state, false);
}

static void what_somebody_put_there_stays(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	struct error err = ERROR_INIT;
	struct plan plan;

	assert_ok(plan_make(w->sandbox, &p, &plan, &err), &err);
	must(chdir(w->work) == 0);
	world_put(".git/HEAD", "ref: refs/heads/main\n"); /* the person runs `git init` meanwhile */
	must(rmdir(".agents") == 0 &&
		mkdir(".agents", 0755) == 0); /* and makes a folder of their own */
	world_put(".codex/x", "");
	must(unlink(".codex/x") == 0); /* used and emptied: no longer as it was made */
	plan_release(&plan);
	assert_true(exists(w->work, ".git/HEAD"));
	assert_true(exists(w->work, ".agents"));
	assert_true(exists(w->work, ".codex"));
	sandbox_sweep(w->sandbox, &p);
	assert_true(exists(w->work, ".git/HEAD") && exists(w->work, ".agents"));
}

/* A daemon that was killed removes nothing; the next one does, and only what was a placeholder. */
static void a_sweep_removes_what_a_killed_daemon_left(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	_cleanup_(mem) char *mine = xasprintf("%s/.agents", w->work);
	pid_t daemon = fork();
	int status;

	if (daemon == 0) {
		struct plan plan;

		_exit(plan_make(w->sandbox, &p, &plan, NULL) != 0);
	}
	must(daemon > 0 && waitpid(daemon, &status, 0) == daemon && status == 0);
	assert_true(exists(w->work, ".git") && exists(w->tmp, ".codex"));
	must(rmdir(mine) == 0 && mkdir(mine, 0755) == 0); /* an empty folder of the person's */
	sandbox_sweep(w->sandbox, &p);
	assert_false(exists(w->work, ".git"));
	assert_false(exists(w->tmp, ".codex"));
	assert_true(exists(w->work, ".agents"));
}

/* Killed between making the folder and giving it its moment. */
static void a_sweep_removes_what_was_half_made(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);

	must(chdir(w->work) == 0);
	must(mkdir(".codex", 0700) == 0 && chmod(".codex", 01755) == 0);
	must(mkdir(".git", 0755) == 0); /* a person's, empty as well */
	must(mkdir(".agents", 0755) == 0 && chmod(".agents", 01755) == 0);
	world_put(".agents/mine", "");
	sandbox_sweep(w->sandbox, &p);
	assert_false(exists(w->work, ".codex"));
	assert_true(exists(w->work, ".git"));
	assert_true(exists(w->work, ".agents/mine"));
}

static void a_placeholder_has_the_usual_mode(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	_cleanup_(mem) char *path = xasprintf("%s/.git", w->work);
	struct error err = ERROR_INIT;
	mode_t before = umask(0027);
	struct plan plan;
	struct stat st;

	assert_ok(plan_make(w->sandbox, &p, &plan, &err), &err);
	(void)umask(before); /* cannot fail */
	assert_return_code(lstat(path, &st), errno);
	assert_int_equal(st.st_mode & 07777, 0750);
	plan_release(&plan);
}

static void a_sweep_leaves_what_is_in_use(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	struct error err = ERROR_INIT;
	struct plan plan;

	assert_ok(plan_make(w->sandbox, &p, &plan, &err), &err);
	sandbox_sweep(w->sandbox, &p);
	assert_true(exists(w->work, ".git"));
	plan_release(&plan);
	assert_false(exists(w->work, ".git"));
}

static void a_folder_that_cannot_be_written_needs_no_cover(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	struct error err = ERROR_INIT;
	struct plan plan;

	if (geteuid() == 0)
		skip(); /* root writes everywhere */
	must(chmod(w->work, 0555) == 0);
	assert_ok(plan_make(w->sandbox, &p, &plan, &err), &err);
	assert_false(exists(w->work, ".git"));
	plan_release(&plan);
	must(chmod(w->work, 0755) == 0);
}

static void a_protected_name_that_is_a_link_refuses(void **state)
{
	static const char *const names[] = {".git", ".agents", ".codex", ".aws"};
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	struct error err = ERROR_INIT;
	struct plan plan;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		_cleanup_(mem) char *path = xasprintf("%s/%s", w->work, names[i]);

		must(symlink(w->outside, path) == 0);
		assert_fails(plan_make(w->sandbox, &p, &plan, &err), &err, SANDBOX_PROTECTED_LINK);
		must(unlink(path) == 0 && symlink("/nowhere", path) == 0);
		assert_fails(plan_make(w->sandbox, &p, &plan, &err), &err, SANDBOX_PROTECTED_LINK);
		must(unlink(path) == 0);
	}
	assert_false(exists(w->work, ".git"));
}

static void the_daemons_own_folder_that_became_a_link_refuses(void **state)
{
	struct world *w = *state;
	const char *const roots[] = {w->home, NULL};
	struct sandbox_policy p = world_policy(w);
	_cleanup_(mem) char *moved = xasprintf("%s/moved", w->home);
	struct error err = ERROR_INIT;
	struct plan plan;

	p.writable_roots = roots;
	must(rename(w->agent, moved) == 0 && symlink("moved", w->agent) == 0);
	assert_fails(plan_make(w->sandbox, &p, &plan, &err), &err, SANDBOX_PROTECTED_LINK);
}

/* A worktree beside a repository, both in one writable folder. */
static void a_git_file_protects_what_it_points_to(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	_cleanup_(mem) char *bare = world_folder(w->work, "bare"),
			    *trees = world_folder(bare, "trees");
	_cleanup_(mem) char *got = NULL;
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path hook = {0};
	enum sandbox_place place;
	struct error err = ERROR_INIT;
	struct plan plan;

	free(world_folder(trees, "one"));
	must(chdir(w->work) == 0);
	world_put(".git", "gitdir: bare/trees/one\n");
	world_put("bare/trees/one/commondir", "../..\n");
	assert_ok(plan_make(w->sandbox, &p, &plan, &err), &err);
	got = describe(w, &plan);
	plan_release(&plan);
	assert_non_null(strstr(got, "R/home/task/.git\nR/home/task/bare\n"));
	must(guard_resolve(w->work, STR("bare/hooks/pre-commit"), &hook, NULL) == 0);
	assert_ok(sandbox_place(w->sandbox, &p, &hook, &place, &err), &err);
	assert_int_equal(place, SANDBOX_PROTECTED);
}

/* What a .git file says is a stranger's word: it may name anything, or nothing. */
static void a_git_file_may_say_anything(void **state)
{
	static const char *const texts[] = {"", "gitdir:", "gitdir: ", "gitdir: \n\n",
		"gitdir: /\n", "gitdir: ..\n", "gitdir: .\n", "gitdir: .git\n", "gitdir: a/../b\n",
		"gitdir: /etc\n", "gitdir: nowhere/at/all\n", "\xff\xfe", "gitdir: loop\n"};
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);

	must(chdir(w->work) == 0 && symlink("loop", "loop") == 0);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct error err = ERROR_INIT;
		struct plan plan;

		world_put(".git", texts[i]);
		assert_ok(plan_make(w->sandbox, &p, &plan, &err), &err);
		plan_release(&plan);
		assert_false(exists(w->work, "nowhere"));
	}
}

static void roots_that_may_not_be(void **state)
{
	struct world *w = *state;
	_cleanup_(mem) char *in_wall = world_folder(w->wall, "in"),
			    *in_store = world_folder(w->agent, "in");
	_cleanup_(mem) char *gone = xasprintf("%s/gone", w->home),
			    *link = xasprintf("%s/link", w->home);
	_cleanup_(mem) char *to_wall = xasprintf("%s/to-wall", w->home);
	_cleanup_(mem) char *file = xasprintf("%s/file", w->home);
	_cleanup_(mem) char *in_kept = world_folder(w->kept, "in");
	const struct {
		const char *root;
		const struct error_kind *kind;
	} rows[] = {
		{w->wall,         &SANDBOX_ROOT_IN_WALL },
		{in_wall,         &SANDBOX_ROOT_IN_WALL },
		{to_wall,         &SANDBOX_ROOT_IN_WALL },
		{w->agent,        &SANDBOX_ROOT_IN_STORE},
		{in_store,        &SANDBOX_ROOT_IN_STORE},
		{w->bot_sockets,  &SANDBOX_ROOT_IN_STORE},
		{gone,            &SANDBOX_ROOT_MISSING },
		{link,            &SANDBOX_ROOT_MISSING },
		{file,            &SANDBOX_ROOT_MISSING },
		{"relative",      &SANDBOX_ROOT_MISSING },
		{"",              &SANDBOX_ROOT_MISSING },
		{"/",             &SANDBOX_ROOT_REFUSED },
		{"/proc",         &SANDBOX_ROOT_REFUSED },
		{"/proc/self/fd", &SANDBOX_ROOT_REFUSED },
		{"/sys",          &SANDBOX_ROOT_REFUSED },
		{"/dev",          &SANDBOX_ROOT_REFUSED },
		{"/dev/shm",      &SANDBOX_ROOT_REFUSED },
		{w->kept,         &SANDBOX_ROOT_REFUSED },
		{in_kept,         &SANDBOX_ROOT_REFUSED },
	};

	world_put(file, "");
	must(symlink(w->work, link) == 0 && symlink(w->wall, to_wall) == 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *const roots[] = {w->outside, rows[i].root, NULL};
		struct sandbox_policy p = world_policy(w);
		struct error err = ERROR_INIT;
		struct plan plan;

		p.writable_roots = roots;
		assert_fails(sandbox_check_roots(w->sandbox, &p, &err), &err, *rows[i].kind);
		assert_fails(plan_make(w->sandbox, &p, &plan, &err), &err, *rows[i].kind);
		p.writable_roots = NULL;
		p.workspace = rows[i].root;
		assert_fails(sandbox_check_roots(w->sandbox, &p, &err), &err, *rows[i].kind);
		p.mode = SANDBOX_READ_ONLY; /* has none */
		assert_ok(sandbox_check_roots(w->sandbox, &p, &err), &err);
	}
	assert_false(exists(w->work, ".git"));
}

static void walls_and_the_sockets_folder_are_made_when_missing(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	struct error err = ERROR_INIT;
	struct plan plan;
	struct stat st;

	must(rmdir(w->wall) == 0 && rmdir(w->bot_sockets) == 0);
	assert_ok(plan_make(w->sandbox, &p, &plan, &err), &err);
	plan_release(&plan);
	must(stat(w->wall, &st) == 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	must(stat(w->bot_sockets, &st) == 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

static void arguments_in_order(void **state)
{
	static char sh[] = "/bin/sh", c[] = "-c", script[] = "a b";
	char *const inner[] = {sh, c, script, NULL};
	const struct mount mounts[] = {
		{MOUNT_WRITABLE,  (char[]){"/w w\n"},  -1, NULL            },
		{MOUNT_READ_ONLY, (char[]){"/w/.git"}, -1, NULL            },
		{MOUNT_NULL,      (char[]){"/s"},      -1, NULL            },
		{MOUNT_EMPTY,     (char[]){"/wall"},   -1, NULL            },
		{MOUNT_EMPTY,     (char[]){"/d"},      -1, (char[]){"/d/7"}},
	};
	static const char *const expected[] = {"bwrap", "--new-session", "--die-with-parent",
		"--unshare-user", "--cap-drop", "ALL", "--unshare-pid", "--unshare-ipc",
		"--unshare-net", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
		"--remount-ro", "/proc", "--bind-fd", "65", "/w w\n", "--ro-bind", "/w/.git",
		"/w/.git", "--ro-bind", "/dev/null", "/s", "--tmpfs", "/wall", "--remount-ro",
		"/wall", "--tmpfs", "/d", "--ro-bind", "/d/7", "/d/7", "--remount-ro", "/d",
		"--seccomp", "64", "--chdir", "/w w\n", "--", "/bin/sh", "-c", "a b"};
	_cleanup_(path_list) struct path_list args = {0}, online = {0};

	(void)state;
	command_args_base(&args, false);
	for (size_t i = 0; i < ARRAY_LEN(mounts); i++)
		command_args_mount(&args, &mounts[i], SANDBOX_FD_FIRST + 1);
	command_args_inner(&args, "/w w\n", inner);
	assert_int_equal(args.count, ARRAY_LEN(expected) + 1);
	for (size_t i = 0; i < ARRAY_LEN(expected); i++)
		assert_string_equal(args.items[i], expected[i]);
	assert_null(args.items[args.count - 1]);
	command_args_base(&online, true);
	assert_false(path_list_has(&online, "--unshare-net"));
}

static void sorting_puts_what_lies_below_right_after(void **state)
{
	static const char *const given[] = {
		"/a-b", "/a/c", "/a", "/a.d", "/a/b/c", "/a/b", "/a", "/"};
	static const char *const expected[] = {"/", "/a", "/a/b", "/a/b/c", "/a/c", "/a-b", "/a.d"};
	_cleanup_(path_list) struct path_list l = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(given); i++)
		path_list_put(&l, xstrdup(given[i]));
	path_list_sort(&l);
	assert_int_equal(l.count, ARRAY_LEN(expected));
	for (size_t i = 0; i < ARRAY_LEN(expected); i++)
		assert_string_equal(l.items[i], expected[i]);
}

static size_t open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t count = 0;

	must(d);
	while (readdir(d))
		count++;
	must(closedir(d) == 0);
	return count;
}

/* The thread that closes them is waited for, and more than it takes at once are closed all the
 * same. */
static void removed_placeholders_are_all_closed(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	const size_t before = open_fds();

	for (int i = 0; i < 200; i++) {
		struct error err = ERROR_INIT;
		struct plan plan;

		assert_ok(plan_make(w->sandbox, &p, &plan, &err), &err);
		assert_true(plan.placeholder_count > 0);
		plan_release(&plan);
	}
	closer_free(mem_take(&w->sandbox->closer));
	assert_int_equal(open_fds(), before);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(a_workspace_and_what_is_protected_in_it),
		WITH_WORLD(aws_only_where_it_is),
		WITH_WORLD(nothing_is_writable_in_read_only_mode),
		WITH_WORLD(ancestors_are_pinned_and_nested_roots_are_one),
		WITH_WORLD(a_protected_path_that_is_missing_cannot_be_made),
		WITH_WORLD(placeholders_are_counted_and_go_with_the_last),
		WITH_WORLD(placeholders_are_shared_between_daemons),
		WITH_WORLD(a_slow_removal_is_waited_for),
		WITH_WORLD(a_slow_making_is_waited_for),
		WITH_WORLD(what_somebody_put_there_stays),
		WITH_WORLD(a_sweep_removes_what_a_killed_daemon_left),
		WITH_WORLD(a_sweep_removes_what_was_half_made),
		WITH_WORLD(a_placeholder_has_the_usual_mode),
		WITH_WORLD(a_sweep_leaves_what_is_in_use),
		WITH_WORLD(a_folder_that_cannot_be_written_needs_no_cover),
		WITH_WORLD(a_protected_name_that_is_a_link_refuses),
		WITH_WORLD(the_daemons_own_folder_that_became_a_link_refuses),
		WITH_WORLD(a_git_file_protects_what_it_points_to),
		WITH_WORLD(a_git_file_may_say_anything),
		WITH_WORLD(roots_that_may_not_be),
		WITH_WORLD(walls_and_the_sockets_folder_are_made_when_missing),
		WITH_WORLD(removed_placeholders_are_all_closed),
		cmocka_unit_test(arguments_in_order),
		cmocka_unit_test(sorting_puts_what_lies_below_right_after),
	};

	return cmocka_run_group_tests_name("sandbox.plan", tests, NULL, NULL);
}
