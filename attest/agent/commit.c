/* Leave to commit: what it opens in a git folder, and what stays closed. */
#include "attest/suites.h"

#include "attest/drill.h"

#define COMMITS "\"sandbox\":\"workspace-write\",\"git_commit\":true"
#define IDENTITY                                                                                   \
	"export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a "                      \
	"GIT_COMMITTER_EMAIL=a@b; "

/* A repository with a commit in it, a linked worktree beside it and bots that may commit in both:
 * `b` and `tree`. */
static void start(struct drill *r, struct attest *t)
{
	const char *tree = attest_path(t, "%s/tree", attest_outside(t));

	drill_init(r, t);
	attest_write(t, attest_path(t, "%s/ws/f", attest_home(t)), "one\n");
	attest_true(t,
		attest_sh(t,
			"cd '%s/ws' && git init -q . && " IDENTITY "git add f && git commit "
			"-qm one && git worktree add -q '%s' 2>&1 && mkdir -p .git/hooks",
			attest_home(t), tree)
				.status == 0,
		"attest: no repository");
	drill_start(r, NULL);
	(void)attest_bot(t, r->d, "b", COMMITS);
	(void)attest_bot(t, r->d, "tree", attest_path(t, COMMITS ",\"workspace\":\"%s\"", tree));
}

/* It has its leave: without it nothing below says anything. */
static void check_commits(struct drill *r, const char *bot)
{
	(void)drill_works(r, bot,
		IDENTITY "echo two >>f && git add f && git commit -qm two && git branch for-%s && "
			 "git checkout -q for-%s && echo three >>f && git stash -q && git stash "
			 "pop -q",
		bot, bot);
	attest_true(r->t,
		str_eq(drill_works(r, bot, "git log --format=%%s -1 && git branch --show-current"),
			str_from(attest_path(r->t, "two\nfor-%s\n", bot))),
		"'%s' did not commit", bot);
}

/* The command ends in failure and the git folder's `part` is what it was. */
static void check_closed(struct drill *r, const char *bot, const char *git, const char *part,
	const char *const *commands)
{
	const char *look = attest_path(r->t,
		"cd '%s' && ls -ldn --time-style=full-iso '%s' 2>&1; find '%s' -type f -exec "
		"cksum '{}' + 2>/dev/null | sort",
		git, part, part);
	struct str before = attest_sh(r->t, "%s", look).out, after;

	for (size_t i = 0; commands[i]; i++) {
		struct drilled got = drill_sh(r, bot,
			"git=%s; part=$git/%s; echo x >y; mkdir -p z; %s 2>&1; code=$?; rm -rf y "
			"z; "
			"exit $code",
			git, part, commands[i]);

		attest_true(
			r->t, got.ran && got.code != 0, "'%s' worked for '%s'", commands[i], bot);
	}
	after = attest_sh(r->t, "%s", look).out;
	attest_true(r->t, str_eq(before, after), "'%s/%s' was " STR_FMT ", is " STR_FMT, git, part,
		STR_ARG(before), STR_ARG(after));
}

static const char *git_of(struct attest *t)
{
	return attest_path(t, "%s/ws/.git", attest_home(t));
}

static void AG_080_hooks_stay_closed(struct attest *t)
{
	static const char *const commands[] = {"echo x >$part/pre-commit", "mkdir $part/new",
		"mv $part $git/gone", "rm -r $part", "mv -T z $part", "ln -s /etc $part/x",
		"ln -sfnT /etc $part", "chmod 0700 $part", "mv $git $git.gone", NULL};
	struct drill r;

	start(&r, t);
	check_commits(&r, "b");
	check_closed(&r, "b", git_of(t), "hooks", commands);
	(void)drill_works(&r, "tree", IDENTITY "git commit -q --allow-empty -m tree");
	check_closed(&r, "tree", git_of(t), "hooks", commands);
}

static void AG_081_config_stays_closed(struct attest *t)
{
	static const char *const commands[] = {"git config user.name x",
		"git config core.fsmonitor ./y", "mv y $part", "mv -f y $part", "rm -f $part",
		"echo x >>$part", "mv $part $git/gone", "ln -sf /etc/passwd $part",
		"chmod 0666 $part", NULL};
	static const char *const missing[] = {
		"mv y $part", "echo x >>$part", "mkdir $part", "ln -s /etc/passwd $part", NULL};
	struct drill r;

	start(&r, t);
	check_commits(&r, "b");
	check_closed(&r, "b", git_of(t), "config", commands);
	check_closed(&r, "b", git_of(t), "config.worktree", missing);
	check_closed(&r, "tree", git_of(t), "config", commands);
	check_closed(&r, "tree", attest_path(t, "%s/worktrees/tree", git_of(t)), "config.worktree",
		missing);
}

static void AG_082_modules_stay_closed(struct attest *t)
{
	static const char *const missing[] = {"mkdir -p $part/x", "mv -T z $part", "touch $part/x",
		"ln -sT /etc $part", "mv y $part", NULL};
	static const char *const there[] = {"mkdir -p $part/new", "mv -T z $part",
		"echo x >>$part/sub/config", "mv $part $git/gone", "rm -r $part",
		"mv y $part/sub/config", NULL};
	struct drill r;

	start(&r, t);
	check_commits(&r, "b");
	check_closed(&r, "b", git_of(t), "modules", missing);
	check_closed(
		&r, "tree", attest_path(t, "%s/worktrees/tree", git_of(t)), "modules", missing);
	attest_write(t, attest_path(t, "%s/modules/sub/config", git_of(t)), "[core]\n");
	check_closed(&r, "b", git_of(t), "modules", there);
	check_commits(&r, "tree");
	check_closed(&r, "tree", git_of(t), "modules", there);
}

static void AG_083_commondir_stays_closed(struct attest *t)
{
	static const char *const missing[] = {
		"mv y $part", "echo /tmp >$part", "mkdir $part", "ln -sf y $part", NULL};
	static const char *const there[] = {"echo /tmp >$part", "mv -f y $part", "rm -f $part",
		"mv $part gone", "mv $git $git.gone", "ln -sf y $part", NULL};
	struct drill r;

	start(&r, t);
	check_commits(&r, "b");
	check_closed(&r, "b", git_of(t), "commondir", missing);
	attest_absent(t, attest_path(t, "%s/commondir", git_of(t)));
	check_commits(&r, "tree");
	check_closed(&r, "tree", git_of(t), "commondir", missing);
	check_closed(
		&r, "tree", attest_path(t, "%s/worktrees/tree", git_of(t)), "commondir", there);
}

const struct attest_case attest_agent_commit[] = {
	{"AG-080", NEEDS_SANDBOX | NEEDS_GIT, AG_080_hooks_stay_closed     },
	{"AG-081", NEEDS_SANDBOX | NEEDS_GIT, AG_081_config_stays_closed   },
	{"AG-082", NEEDS_SANDBOX | NEEDS_GIT, AG_082_modules_stay_closed   },
	{"AG-083", NEEDS_SANDBOX | NEEDS_GIT, AG_083_commondir_stays_closed},
	{NULL,     0,			 NULL			 },
};
