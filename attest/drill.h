#ifndef ATTEST_DRILL_H
#define ATTEST_DRILL_H
/*
 * A daemon whose model makes exactly the calls that a case asks for: each is written down before
 * the daemon starts and made when its number is prompted. Shell commands may also be thought of
 * later: drill_sh.
 */
#include "attest/attest.h"

struct drill {
	struct attest *t;
	struct attest_daemon *d;
	struct buf script;
	int calls;
};

/* What became of a call, as the model was told. */
struct drilled {
	struct str text;       /* the result as it is */
	struct str error;      /* its error code, absent when it has none */
	struct str out, err;   /* of a shell */
	bool ran;              /* a shell's command ended by itself */
	int64_t code;          /* its exit status */
	const struct json *of; /* the outcome of the turn */
};

void drill_init(struct drill *r, struct attest *t);
/* The number of a call; `args` is a JSON object, printf-style. */
int drill_call(struct drill *r, const char *tool, const char *args, ...)
	__attribute__((format(printf, 3, 4)));
int drill_shell(struct drill *r, const char *command, ...) __attribute__((format(printf, 2, 3)));
int drill_escalated(struct drill *r, const char *command, ...)
	__attribute__((format(printf, 2, 3)));
int drill_write(struct drill *r, const char *path, const char *content);
int drill_edit(struct drill *r, const char *path, const char *old, const char *new);
/* A patch that adds one file of one line. */
int drill_patch(struct drill *r, const char *path, const char *line);
/* Puts the drill's script into what a daemon is started with. */
void drill_script(struct drill *r, struct attest_start *s);
/* `s` may be NULL; its script is the drill's. */
void drill_start(struct drill *r, const struct attest_start *s);
/* As a person does: by `agent start` in the case's home, with the provider as its one flag. */
void drill_start_cli(struct drill *r);
/* The arguments of the daemon's process, a blank between them. */
struct str drill_arguments(struct drill *r);
/* The same with the store of the daemon that was there before. */
void drill_again(struct drill *r, const struct attest_start *s);

/* Makes the call in a turn of its own and waits for its end. */
struct drilled drill_do(struct drill *r, const char *bot, int call);
/* Only submits: the number of the turn. And the result of a turn that has ended. */
int64_t drill_submit(struct drill *r, const char *bot, int call);
struct drilled drill_end(struct drill *r, const char *bot, int64_t turn);
/* A shell command, as the bot is. */
struct drilled drill_sh(struct drill *r, const char *bot, const char *command, ...)
	__attribute__((format(printf, 3, 4)));

/* The command exits with 0; what it wrote to stdout. */
struct str drill_works(struct drill *r, const char *bot, const char *command, ...)
	__attribute__((format(printf, 3, 4)));
/* The command runs and is kept from it by the kernel (read-only, not permitted, busy …). */
void drill_kept(struct drill *r, const char *bot, const char *command, ...)
	__attribute__((format(printf, 3, 4)));
/* The same for each of a list of commands (NULL-terminated) in one shell, none of which may depend
 * on another one's effect. */
void drill_works_all(struct drill *r, const char *bot, const char *const *commands);
void drill_kept_all(struct drill *r, const char *bot, const char *const *commands);
/* The call is a result with this error code; its text. */
struct str drill_refused(struct drill *r, const char *bot, int call, const char *code);
/* The call has no error. */
struct str drill_done(struct drill *r, const char *bot, int call);

/*
 * Sockets of this process that a bot may try to reach. Each is closed with the case.
 */
int drill_listen_unix(struct attest *t, const char *path); /* '@': abstract */
int drill_listen_datagram(struct attest *t, const char *path);
int drill_listen_tcp(struct attest *t, int *ret_port);
int drill_listen_udp(struct attest *t, int *ret_port);
/* Whether somebody has connected or sent something by now; takes it. */
bool drill_was_reached(int fd);

/* Puts programs before `agent` that mount `over` over every fixed path of bubblewrap that there is,
 * in a user and mount namespace: for attest_start.wrap. Needs NEEDS_NAMESPACE. */
const char *const *drill_mask_bwrap(struct attest *t, const char *over);
/* The same, and a shell script that runs there before. */
const char *const *drill_mask_bwrap_and(struct attest *t, const char *over, const char *script);
/* A copy of bubblewrap in the case's home. Seen from the namespace above, the system's own one
 * belongs to nobody known, unless the case runs as root. */
const char *drill_copy_bwrap(struct attest *t);
/* A program in the case's home: a shell script. Its path. */
const char *drill_program(struct attest *t, const char *name, const char *script, ...)
	__attribute__((format(printf, 3, 4)));
/* The path of the probe program. */
const char *drill_probe(struct attest *t);

#endif
