#ifndef SANDBOX_SANDBOX_H
#define SANDBOX_SANDBOX_H
/*
 * sandbox: bubblewrap arguments, the seccomp filter, and the policy on paths (agent spec 7).
 *
 * Promises: AG-061 … AG-109 as far as they concern one command. Not promised: reads stay open in
 * every mode (AG-067), but for what a sandbox has of its own: /dev, /dev/shm and the processes in
 * /proc.
 *
 * A mount covers a name only while the name stays: what removes or replaces a covered file on the
 * host (the daemon's socket at a restart, an editor's save of a protected file) uncovers it in the
 * commands that run at that moment. So a command must not outlive its daemon, and the daemon does
 * well to refuse a peer on its own socket that lives in another user namespace.
 */
#include <stdbool.h>
#include <stddef.h>

#include "error/error.h"
#include "guard/guard.h"
#include "text/text.h"

enum sandbox_mode { SANDBOX_FULL_ACCESS, SANDBOX_READ_ONLY, SANDBOX_WORKSPACE_WRITE };
extern const char *const sandbox_mode_names[]; /* by enum, NULL-terminated: AG-064 */

extern const struct error_kind SANDBOX_UNAVAILABLE;   /* sandbox_unavailable */
extern const struct error_kind SANDBOX_ROOT_MISSING;  /* writable_root_missing */
extern const struct error_kind SANDBOX_ROOT_IN_WALL;  /* writable_root_in_wall */
extern const struct error_kind SANDBOX_ROOT_IN_STORE; /* writable_root_in_store */
extern const struct error_kind
	SANDBOX_ROOT_REFUSED; /* writable_root_refused: '/', /proc, a protected path */
extern const struct error_kind SANDBOX_PROTECTED_LINK; /* protected_path_is_symlink */
extern const struct error_kind SANDBOX_TOO_MANY;       /* too_many_protected */

/* What holds for every sandbox of this daemon. All paths absolute and canonical. */
struct sandbox_host {
	const char *store;       /* state.sqlite; -wal, -shm, -journal and the folder go with it */
	const char *socket;      /* the daemon's own; masked */
	const char *bot_sockets; /* SOCKET.d; hidden but for a bot's own one */
	const char *const
		*walls; /* hidden folders, NULL-terminated, may be NULL; made 0700 if missing */
	const char *const *protected_paths; /* read-only, NULL-terminated, may be NULL */
	const char *tmpdir;                 /* canonical $TMPDIR of the daemon, or NULL */
};

/* What holds for one bot. */
struct sandbox_policy {
	enum sandbox_mode mode;
	const char *workspace;             /* canonical; a writable folder under workspace-write */
	const char *const *writable_roots; /* canonical, NULL-terminated, may be NULL */
	bool network;
	bool any_unix_socket;   /* unix_sockets names at least one */
	bool git_commit;        /* git folders are writable but for what git runs or is led by */
	const char *own_socket; /* SOCKET.d/ID: the one that shows in there; NULL: none does */
	/* One that has run, of this policy; NULL: sandbox_command_new makes one, which blocks. */
	const struct sandbox_survey *survey;
};

struct sandbox;
struct sandbox_survey;
/* Finds bubblewrap at its fixed paths (never PATH: AG-073) or the one the build fixed (AG-074),
 * runs a probe once and makes the filters. Never fails: what is wrong is remembered, and said by
 * sandbox_available. Blocks for the probe's few milliseconds. host is copied. */
struct sandbox *sandbox_new(const struct sandbox_host *host);
void sandbox_free(struct sandbox *s); /* every command of it was freed before */
/* 0, or -1 with SANDBOX_UNAVAILABLE and what to do about it (the knob to set). */
int sandbox_available(const struct sandbox *s, struct error *err);
const char *sandbox_version(
	const struct sandbox *s); /* "bubblewrap 0.8.0", NULL when unavailable */

/* Whether these roots may be a bot's: exist, no wall, not in the store's folder (AG-105). */
int sandbox_check_roots(const struct sandbox *s, const struct sandbox_policy *p, struct error *err);

/*
 * A prepared command: program, argument list and descriptors for proc_spawn. Protected names that
 * do not exist are covered by placeholders (trap 4), which sandbox_command_free removes again where
 * no other command uses them and they are as they were made. Keep it until the command has ended.
 *
 * Every writable folder is handed over as a descriptor, so that no link put in its place between
 * the check and the mount is followed: ALL of `fds` must be given to proc_spawn under their numbers
 * (bubblewrap refuses to start otherwise). It closes them before the inner command runs. `fds`
 * holds the filter too; seccomp_fd and seccomp_as say which one it is.
 */
struct sandbox_fd {
	int fd, as; /* the layout of struct proc_fd */
};
enum {
	SANDBOX_FD_FIRST = 64
}; /* numbers from here on are the sandbox's; below is the caller's room */
struct sandbox_command {
	const char *program;
	char **argv; /* NULL-terminated; the inner command stands at its end */
	const struct sandbox_fd *fds;
	size_t fd_count;
	int seccomp_fd; /* an open file of its own, so that no two commands share a read position */
	int seccomp_as;
	struct sandbox_use *use; /* internal */
};
/* inner: the command to run inside, NULL-terminated, its program by absolute path; cwd inside. */
int sandbox_command_new(struct sandbox *s, const struct sandbox_policy *p, const char *cwd,
	char *const *inner, struct sandbox_command **ret, struct error *err);
void sandbox_command_free(struct sandbox_command *c);
/*
 * Repositories and other protected names deeper in the writable folders: a bounded look (survey.c
 * names the bounds) finds them, a command covers them like those at the top, and comparing
 * afterwards says which files that git would run or be led by are no longer what they were, of
 * those at the top as well. /tmp and $TMPDIR are not looked through.
 *
 * _run and _compare block for what the file system needs and touch nothing but the survey: for a
 * worker. A survey serves one command, or several at the same time. What it has seen of folders
 * goes to the next one of the same root when it is freed.
 */
struct sandbox_survey *sandbox_survey_new(struct sandbox *s, const struct sandbox_policy *p);
void sandbox_survey_free(struct sandbox_survey *v);
void sandbox_survey_run(struct sandbox_survey *v); /* once */
/* A bound cut it, or a folder could not be read: what it did not see is not covered. */
bool sandbox_survey_cut(const struct sandbox_survey *v);
/* Whether there is anything to compare. */
bool sandbox_survey_has_marks(const struct sandbox_survey *v);
void sandbox_survey_compare(struct sandbox_survey *v);
/* The paths that have changed; NULL past the last one. */
const char *sandbox_survey_changed(const struct sandbox_survey *v, size_t i);

/* Removes placeholders that a killed daemon left in this workspace's roots (DESIGN 5.1). */
void sandbox_sweep(struct sandbox *s, const struct sandbox_policy *p);

/* Where a write to a resolved path would fall (spec 7.6). */
enum sandbox_place {
	SANDBOX_INSIDE,    /* in a writable folder and not protected */
	SANDBOX_OUTSIDE,   /* leaves the sandbox: the gate decides */
	SANDBOX_PROTECTED, /* a protected name inside a writable folder: the gate decides */
	SANDBOX_NEVER, /* the store, its sidecars, sockets, ~/.agent's own: refused whatever a gate
			  says */
};
/* -1 with SANDBOX_PROTECTED_LINK when a protected folder on the way is a symlink (AG-090). `path`
 * as the tool got it is needed beside the resolved one to see that. */
int sandbox_place(const struct sandbox *s, const struct sandbox_policy *p,
	const struct guard_path *path, enum sandbox_place *ret, struct error *err);

/* A probe-able text of the seccomp filter's rules, for tests and for `attest`. */
int sandbox_filter_export(bool network, bool any_unix_socket, int *ret_fd, struct error *err);

#endif
