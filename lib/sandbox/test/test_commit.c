/*
 * Leave to commit, with the real git: what it opens, what stays closed, and in whose repository.
 */
#include "confined.h"

/* A repository with one commit in the workspace, made by the person. */
#define MAKE                                                                                       \
	"export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a "                      \
	"GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_GLOBAL=/dev/null; cd \"$WORK\" && git init -q -b main" \
	" && echo 1 >f && git add f && git commit -qm one"
#define IDENTITY                                                                                   \
	"export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a "                      \
	"GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_GLOBAL=/dev/null;"
#define TRIES_OF "t() { \"$@\" >/dev/null 2>&1 && echo DID \"$@\"; };"
/* The day of somebody who commits. */
#define WORKFLOW                                                                                   \
	"set -e; echo 2 >>f; git add f; git commit -qm two; git branch side; git checkout -q "     \
	"side; echo 3 >g; git add g; git commit -qm three; git checkout -q -; git merge -q "       \
	"side -m merge; echo 4 >>f; git stash -q; git stash pop -q; git checkout -q f; git tag "   \
	"v1; git branch -q -D side 2>/dev/null || :; git log --oneline | wc -l; git status "       \
	"--porcelain; git gc -q 2>/dev/null || :; git fsck 2>&1 | grep -v dangling || :"

static int set_up(void **state)
{
	return set_up_in(state, "task");
}

static bool has_git(void)
{
	return access("/usr/bin/git", X_OK) == 0;
}

static struct sandbox_policy committing(const struct world *w)
{
	struct sandbox_policy p = world_policy(w);

	p.git_commit = true;
	return p;
}

static bool stands(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* Every way to what git runs, in the git folder $G. */
static const char closed[] = TRIES_OF
	"for n in hooks config config.worktree modules commondir; do p=$G/$n;"
	"t rm -r $p; t mv $p x; t sh -c \"echo x >>$p\"; t sh -c \"echo x >$p\"; t touch $p/new; "
	"echo x >y; t mv y $p; mkdir -p z; t mv -T z $p; t ln -sf /etc $p; t ln -sfn /etc $p; t "
	"chmod 777 $p; t ln $p hard; done; t mv $G $G.x; t rm -r $G/hooks; t git config user.name "
	"x;"
	"t git config --local core.fsmonitor x; t git config core.hooksPath x; rm -rf y z; echo "
	"end";

static void assert_git_as_usual(void)
{
	person("cd \"$WORK\" && git status --porcelain && git fsck 2>/dev/null && git config "
	       "core.mine 1 && git config --unset core.mine && test ! -e .git/modules && test ! -e "
	       ".git/commondir && test ! -e .git/config.worktree");
}

static void a_bot_commits_and_opens_nothing_else(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = committing(w), without = world_policy(w);

	if (!has_git())
		skip();
	person(MAKE);
	assert_says(w, &p, IDENTITY WORKFLOW, "3\n");
	must(setenv("G", ".git", 1) == 0);
	assert_says(w, &p, closed, "end\n");
	assert_says(w, &without,
		TRIES_OF "t git commit --allow-empty -m x; t touch .git/x; echo end", "end\n");
	assert_git_as_usual();
}

/* What is covered is seen by the person's git while the command runs. */
static void the_persons_git_works_meanwhile(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = committing(w);
	struct error err = ERROR_INIT;
	struct plan plan;

	if (!has_git())
		skip();
	person(MAKE);
	assert_ok(plan_make(w->sandbox, &p, &plan, &err), &err);
	person("cd \"$WORK\" && test -f .git/commondir && test -d .git/modules");
	person(IDENTITY "cd \"$WORK\"; (" WORKFLOW ") >/dev/null; git config core.mine 1; git "
			"worktree add -q ../other; cd ../other; git commit -q --allow-empty -m x");
	plan_release(&plan);
	assert_git_as_usual();
}

static void a_linked_worktree_commits_into_its_repository(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = committing(w);
	_cleanup_(mem) char *tree = xasprintf("%s/tree", w->outside);

	if (!has_git())
		skip();
	person(MAKE "&& git worktree add -q \"$OUT/tree\" && git worktree add -q \"$OUT/next\"");
	p.workspace = tree;
	assert_says(w, &p, IDENTITY WORKFLOW, "3\n");
	must(setenv("MAIN", w->work, 1) == 0);
	assert_says(w, &p,
		"G=$MAIN/.git/worktrees/tree;" TRIES_OF
		"t touch $MAIN/x; t touch $OUT/x; t touch $MAIN/.git/worktrees/next/HEAD;"
		"t mv $MAIN/.git/worktrees $MAIN/.git/x; t mv $G $G.x; t rm -r $G/commondir; t rm "
		".git; t sh -c "
		"'echo >.git'; t mv $MAIN/.git $MAIN/x; for n in config.worktree modules "
		"commondir; do t "
		"touch $G/$n; t mkdir $G/$n; t ln -s /etc $G/$n; t mv f $G/$n; done; for n in "
		"hooks config modules commondir; do t touch $MAIN/.git/$n; t touch $MAIN/.git/$n/x;"
		"done; echo end",
		"end\n");
	p.git_commit = false;
	assert_says(w, &p, TRIES_OF "t git commit --allow-empty -m x; echo end", "end\n");
	person("cd \"$WORK\" && test ! -e .git/worktrees/tree/modules && git fsck");
}

/* A bot may have written a .git file into what is somebody's workspace by now. */
static void a_forged_git_file_opens_nothing(void **state)
{
	static const char *const files[] = {"gitdir: $OUT\\n", "gitdir: $OUT/repo/.git\\n",
		"gitdir: $WORK/fake/worktrees/x\\n", "gitdir: $OUT/repo/.git/worktrees/no\\n"};
	struct world *w = *state;
	struct sandbox_policy p = committing(w);
	_cleanup_(mem) char *path = xasprintf("%s/x", w->outside);

	if (!has_git())
		skip();
	person(IDENTITY "cd \"$OUT\" && git init -q repo && cd repo && git commit -q --allow-empty "
			"-m x && git worktree add -q ../real");
	person("mkdir -p \"$WORK/fake/worktrees/x\" && cd \"$WORK/fake/worktrees/x\" && echo "
	       "\"$OUT/repo/.git\" >commondir && echo \"$WORK/.git\" >gitdir");
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		_cleanup_(mem) char *make = xasprintf("printf \"%s\" >\"$WORK/.git\"", files[i]);

		person(make);
		assert_says(w, &p,
			TRIES_OF "t touch $OUT/x; t touch $OUT/repo/.git/x; t touch "
				 "$OUT/repo/.git/objects/x; t touch $OUT/repo/.git/worktrees/x;"
				 "echo end",
			"end\n");
	}
	assert_false(stands(path));
}

static void a_part_that_is_a_link_refuses(void **state)
{
	static const char *const names[] = {"hooks", "config", "modules", "commondir", "worktrees"};
	struct world *w = *state;
	struct sandbox_policy p = committing(w);

	if (!has_git())
		skip();
	person(MAKE "&& rm -r .git/hooks && mv .git/config \"$OUT\"");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		_cleanup_(mem) char *path = xasprintf("%s/.git/%s", w->work, names[i]);
		struct error err = ERROR_INIT;
		struct plan plan;

		must(symlink(w->outside, path) == 0);
		assert_fails(plan_make(w->sandbox, &p, &plan, &err), &err, SANDBOX_PROTECTED_LINK);
		must(unlink(path) == 0);
	}
}

/* A daemon that was killed leaves files as well. */
static void a_sweep_removes_files_too(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = committing(w);
	struct error err = ERROR_INIT;
	struct plan plan;

	if (!has_git())
		skip();
	person(MAKE);
	assert_ok(plan_make(w->sandbox, &p, &plan, &err), &err);
	person("cd \"$WORK/.git\" && cp -rp commondir modules config.worktree \"$OUT\"");
	plan_release(&plan);
	person("cd \"$OUT\" && cp -rp commondir modules config.worktree \"$WORK/.git\" && echo x "
	       ">>\"$WORK/.git/config.worktree\"");
	sandbox_sweep(w->sandbox, &p);
	person("cd \"$WORK/.git\" && test ! -e commondir && test ! -e modules && test \"$(cat "
	       "config.worktree)\" = x");
}

static void where_a_write_falls(void **state)
{
	static const struct {
		const char *path;
		enum sandbox_place place;
	} rows[] = {
		{".git",                      SANDBOX_PROTECTED},
		{".git/config",               SANDBOX_PROTECTED},
		{".git/config.worktree",      SANDBOX_PROTECTED},
		{".git/hooks/pre-commit",     SANDBOX_PROTECTED},
		{".git/modules/x/config",     SANDBOX_PROTECTED},
		{".git/commondir",            SANDBOX_PROTECTED},
		{".git/worktrees",            SANDBOX_PROTECTED},
		{".git/worktrees/other/HEAD", SANDBOX_PROTECTED},
		{".git/HEAD",                 SANDBOX_INSIDE   },
		{".git/info/attributes",      SANDBOX_INSIDE   },
		{".git/worktrees/sub/HEAD",   SANDBOX_PROTECTED}, /* whose, only a survey says */
		{"sub/.git",                  SANDBOX_PROTECTED},
		{"deep/.git/config",          SANDBOX_PROTECTED},
		{"deep/.git/index",           SANDBOX_INSIDE   },
		{"deep/.agents/x",            SANDBOX_INSIDE   }, /* there is none */
		{"deep/.codex/x",             SANDBOX_PROTECTED},
	};
	struct world *w = *state;
	struct sandbox_policy p = committing(w);

	if (!has_git())
		skip();
	person(MAKE "&& git worktree add -q sub && git worktree add -q \"$OUT/other\" && git init "
		    "-q deep && mkdir deep/.codex");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		__attribute__((cleanup(guard_path_cleanup))) struct guard_path at = {0};
		enum sandbox_place got;

		must(guard_resolve(w->work, str_from(rows[i].path), &at, NULL) == 0);
		must(sandbox_place(w->sandbox, &p, &at, &got, NULL) == 0);
		if (got != rows[i].place)
			fail_msg("'%s' falls in place %d", rows[i].path, got);
	}
	p.git_commit = false;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		__attribute__((cleanup(guard_path_cleanup))) struct guard_path at = {0};
		enum sandbox_place got;

		must(guard_resolve(w->work, str_from(rows[i].path), &at, NULL) == 0);
		must(sandbox_place(w->sandbox, &p, &at, &got, NULL) == 0);
		assert_int_equal(got, strcmp(rows[i].path, "deep/.agents/x") == 0
					      ? SANDBOX_INSIDE
					      : SANDBOX_PROTECTED);
	}
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(a_bot_commits_and_opens_nothing_else),
		WITH_WORLD(the_persons_git_works_meanwhile),
		WITH_WORLD(a_linked_worktree_commits_into_its_repository),
		WITH_WORLD(a_forged_git_file_opens_nothing),
		WITH_WORLD(a_part_that_is_a_link_refuses),
		WITH_WORLD(a_sweep_removes_files_too),
		WITH_WORLD(where_a_write_falls),
	};

	if (!confined_is_here())
		return 0;
	return cmocka_run_group_tests_name("sandbox.commit", tests, NULL, NULL);
}
