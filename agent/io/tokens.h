#ifndef AGENT_IO_TOKENS_H
#define AGENT_IO_TOKENS_H
/*
 * The tokens of the ChatGPT sign-in, and the file that keeps them, ~/.agent/chatgpt.json.
 *
 * Promises
 *   AG-168  the file has mode 0600.
 *   AG-169  it is written through an exclusive temporary file, then renamed.
 *   AG-171  of ~/.codex/auth.json only whether it is there is learnt: it is never opened.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "agent/io/oauth.h"
#include "error/error.h"
#include "secret/secret.h"
#include "text/text.h"

extern const struct error_kind TOKENS_MISSING;     /* chatgpt_signed_out, denied */
extern const struct error_kind TOKENS_INVALID;     /* chatgpt_file_invalid, io */
extern const struct error_kind TOKENS_PERMISSIONS; /* chatgpt_file_permissions, denied */

struct tokens {
	char *issuer; /* who gave them, and renews them */
	struct secret *access;
	struct secret *refresh; /* NULL: they cannot be renewed */
	struct secret *id;      /* NULL: none was given */
	char *account;          /* NULL: the tokens name none */
	int64_t since_s;        /* when they were given, seconds since the epoch */
	int64_t expires_s;      /* 0: not known */
};
void tokens_release(struct tokens *t); /* wipes; zeroed afterwards */
static inline void tokens_cleanup(struct tokens *t)
{
	tokens_release(t);
}
/* Those of an answer; what it leaves out comes from `old` (NULL: nothing does). */
void tokens_from_answer(struct tokens *ret, const char *issuer, const struct oauth_answer *a,
	int64_t now_s, const struct tokens *old);
void tokens_copy(struct tokens *ret, const struct tokens *t);
/* Whether both hold the same access and refresh token. */
bool tokens_same(const struct tokens *a, const struct tokens *b);

/* HOME/.agent/chatgpt.json. The caller frees. */
int tokens_path(char **ret, struct error *err);
/* TOKENS_MISSING where there is no file; its text says how to sign in. Refused: a file that group
 * or others can read, one of another user, what is no regular file, and what was not written by
 * tokens_write. *ret_stat (may be NULL) is of what was read. No text holds anything of the file. */
int tokens_read(const char *path, struct tokens *ret, struct stat *ret_stat, struct error *err);
int tokens_write(const char *path, const struct tokens *t, struct error *err);

/* Whether the Codex command line seems to be signed in on this account: its file is there and is
 * not empty. */
bool tokens_codex_signed_in(void);

#endif
