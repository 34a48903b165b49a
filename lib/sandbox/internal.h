#ifndef SANDBOX_INTERNAL_H
#define SANDBOX_INTERNAL_H
/*
 * sandbox, inside: what its files share.
 *
 * A command is made in steps: roots_collect (which folders are writable) → plan_make (what is
 * mounted where; placeholders are made here) → plan_put (the arguments). place.c asks the first
 * alone.
 */
#include <sys/types.h>

#include "mem/mem.h"
#include "sandbox/sandbox.h"

/* Strings that the list owns. */
struct path_list {
	char **items;
	size_t count;
};
void path_list_put(struct path_list *l, char *taken);
void path_list_release(struct path_list *l);
void path_list_sort(struct path_list *l); /* parents before children, each once */
bool path_list_has(const struct path_list *l, const char *path);
/* Whether one of them is `path` or a folder above it. */
bool path_list_covers(const struct path_list *l, const char *path);
static inline void path_list_cleanup(struct path_list *l)
{
	path_list_release(l);
}

/* The daemon's paths, copied. Those that were not given are NULL or empty. */
struct host {
	char *store, *store_dir;
	char *socket, *bot_sockets;
	struct path_list walls;
	struct path_list kept;  /* read-only: protected paths, the store's folder, ~/.agent, … */
	struct path_list never; /* folders no gate opens: the store's, ~/.agent, SOCKET.d */
	char *tmpdir;
};
void host_init(struct host *h, const struct sandbox_host *from);
void host_release(struct host *h);
/* Walls and SOCKET.d must be there to be covered: makes those that are missing, 0700. */
void host_make_folders(const struct host *h);

enum filter_id { FILTER_OFFLINE, FILTER_UNIX, FILTER_NETWORK, FILTERS };

struct sandbox {
	struct host host;
	char *program; /* bubblewrap */
	char *version;
	char *why; /* it is not available: the text of the error; NULL: it is */
	int filters[FILTERS];
	struct list placeholders;
	struct list folders;   /* caches of roots */
	struct closer *closer; /* NULL until there is something to close */
};
enum filter_id filter_for(bool network, bool any_unix_socket);

/* probe.c */
/* The first acceptable one of `paths`; NULL and *ret_why otherwise. The caller frees both. */
char *probe_find(const char *const *paths, char **ret_why);
/* Runs it with every namespace a command may need. NULL when it works, else why not and what to do.
 */
char *probe_run(const char *program, int filter_fd);
/* "bubblewrap 0.8.0", or NULL. */
char *probe_version(const char *program);
/* What a person can do about it, from bubblewrap's words and the kernel's settings. */
struct probe_knobs {
	int userns_clone, apparmor; /* the setting; -1: this kernel has none */
	int64_t max_user_namespaces;
};
char *probe_explain(struct str said, const struct probe_knobs *k);

/* roots.c: the folders a policy lets a bot write, resolved now. */
struct roots {
	struct path_list all;   /* sorted */
	struct path_list named; /* those that the policy names: not /tmp and $TMPDIR */
	struct path_list top;   /* those below no other one */
	struct path_list git;   /* folders in them that a .git file of one of them points to */
	struct path_list open;  /* git folders that leave to commit opens; may lie outside of all */
};
int roots_collect(const struct sandbox *s, const struct sandbox_policy *p, struct roots *ret,
	struct error *err);
/* Only what was configured, for its errors. */
int roots_check(const struct sandbox *s, const struct sandbox_policy *p, struct error *err);
void roots_release(struct roots *r);
/* Whether one of them lies in the folder. */
bool roots_is_around(const struct roots *r, const char *folder);
/* Adds the git folder that leave to commit opens for a folder with a .git in it. */
void roots_open_git(const struct sandbox *s, struct roots *r, const char *root);
static inline void roots_cleanup(struct roots *r)
{
	roots_release(r);
}
/* git.c: adds the repository that root/.git names, if that is a file, and its common folder. */
void git_pointed(const char *root, struct path_list *to);
/* Whether root/.git is a file of a linked worktree whose repository says the same (its `gitdir`
 * names that file): then its git folder and their common one, which the caller frees. A .git file
 * alone is anybody's word. */
bool git_linked(const char *root, char **ret_dir, char **ret_common);
/* Whether a folder is a repository, as git sees it. */
bool git_is_repository(const char *dir);
extern const char *const protected_names[]; /* .git, …; NULL-terminated */
bool protected_when_missing(const char *name);
/* SANDBOX_PROTECTED_LINK when a protected name in one of the roots is a symbolic link (AG-090). */
int roots_check_links(const struct roots *r, struct error *err);

/* closer.c */
/* The thread closes it; made when there is none. Takes fd. */
void closer_give(struct closer **closer, int fd);
/* Waits until everything is closed. */
void closer_free(struct closer *c);

/* cover.c: placeholders for names that must not appear. */
enum {
	COVER_MOMENT_S = 981173106 /* when they were changed: 2001-02-03T04:05:06Z; even, for file
				      systems of two seconds */
};
struct placeholder;
/* What stands for it. A file is empty, but one named `commondir` holds a dot: git goes on working
 * with these (trap 4). */
enum cover_kind { COVER_FOLDER, COVER_FILE };
/*
 * Covers a missing name: *ret is counted and given back with placeholder_unref. NULL in *ret: there
 * is nothing to cover, because something stands there now (*ret_exists) or nobody like us can make
 * it.
 */
int placeholder_ref(struct sandbox *s, const char *path, enum cover_kind kind,
	struct placeholder **ret, bool *ret_exists, struct error *err);
/* Whether the name is free or has a placeholder, somebody's, already. */
bool placeholder_may(const char *path);
/* The same, or one that may be being made: of use for protected names alone. */
bool placeholder_begun(const char *path);
void placeholder_unref(struct placeholder *h);
/* Removes one that nobody uses. */
void placeholder_sweep(const char *path);

/* commit.c: leave to commit. */
struct commit_parts {
	struct path_list kept, folders, files; /* there; missing, to be covered by one */
};
/* What stays read-only in the git folder `git`, which is one of `open`. SANDBOX_PROTECTED_LINK. */
int commit_put(
	const struct path_list *open, const char *git, struct commit_parts *to, struct error *err);
/* Whether a path in one of `open` stays read-only all the same. */
bool commit_keeps(const struct path_list *open, const char *path);
/* Placeholders that were left in a git folder. */
void commit_sweep(const char *git);

/* folders.c: what is in folders, remembered. */
enum { FOLDER_CACHES_MAX = 16 /* ours: roots; some 2 MB each at the most */ };
struct folder {
	struct path_list names, folders; /* protected names in it; the other folders in it */
	size_t entries;
	bool cut; /* there is more in it, or it cannot be read and might be by a command */
};
struct folder_cache;
extern int64_t folder_clock_ahead_s; /* 0, but in tests */
/* That of a root, out of the list, or an empty one. The taker's alone until it is given back. */
struct folder_cache *folder_cache_take(struct list *from, const char *root);
void folder_cache_give(struct list *to, struct folder_cache *taken);
void folder_caches_free(struct list *all);
/* Valid until the same path is asked for again, or the cache settled. */
const struct folder *folder_get(struct folder_cache *c, const char *path);
/* Forgets what was not asked for since it was settled last. */
void folder_cache_settle(struct folder_cache *c);

/* survey.c: the protected names below the tops. SANDBOX_TOO_MANY. */
int survey_names(const struct sandbox_survey *v, const struct path_list **ret, struct error *err);

/* plan.c: what is mounted where. */
enum mount_kind {
	MOUNT_WRITABLE, /* a root, or an ancestor pinned so that it cannot be renamed (trap 3) */
	MOUNT_READ_ONLY,
	MOUNT_NULL,  /* /dev/null over a socket (trap 2) */
	MOUNT_EMPTY, /* an empty read-only tmpfs */
};
struct mount {
	enum mount_kind kind;
	char *path;
	int fd;      /* of a writable one */
	char *shown; /* in an empty one: the one name that it holds, read-only; NULL: none */
};
struct plan {
	struct mount *mounts; /* in order */
	size_t count;
	struct placeholder **placeholders;
	size_t placeholder_count;
};
int plan_make(
	struct sandbox *s, const struct sandbox_policy *p, struct plan *ret, struct error *err);
void plan_release(struct plan *p);

/* command.c: the arguments, in the order of the calls. */
void command_args_base(struct path_list *args, bool network);
void command_args_mount(struct path_list *args, const struct mount *m, int fd_as);
void command_args_inner(struct path_list *args, const char *cwd, char *const *inner);

#endif
