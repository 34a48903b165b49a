#ifndef SECRET_SECRET_H
#define SECRET_SECRET_H
/*
 * secret: values that must not show, and the filter that takes them out of what tools return.
 *
 * Sources: the environment, then ~/.agent/env (0600, refused when group or others can read it:
 * AG-165). The only way to the bytes is secret_expose().
 */
#include <stdbool.h>
#include <stddef.h>

#include "error/error.h"
#include "text/text.h"

struct secret; /* one value with its name; wiped when freed */
/* One that comes from elsewhere than a store. The caller frees it. */
struct secret *secret_new(struct str name, struct str value);
void secret_free(struct secret *s); /* NULL does nothing */
/* A buffer that held one is wiped before its memory goes: _cleanup_(secret_buf). What it left
 * behind when it grew is not: reserve first. */
void secret_buf_cleanup(struct buf *b);

extern const struct error_kind SECRET_ENV_PERMISSIONS; /* env_file_permissions */
extern const struct error_kind SECRET_ENV_INVALID; /* env_file_invalid: the line, not the value */

struct secret_store;
struct secret_store *secret_store_new(void);
void secret_store_free(struct secret_store *s); /* wipes; NULL does nothing */
/*
 * Reads NAME=value lines of an env file: blank lines and '#' comments, optional `export `, values
 * bare, in '…' (as they are) or in "…" (with \" \\ \$ \` \n \t \r). A value with blanks, quotes or
 * backslashes must stand in quotes; of one name the last line wins. Anything else is
 * SECRET_ENV_INVALID, and nothing of the file is used. A missing file is no error. At most 256 KiB.
 * Read again, a file replaces what the one before said.
 */
int secret_store_load_env(struct secret_store *s, const char *path, struct error *err);
/* A value of the environment or the env file by name, in that order; NULL when neither has it. An
 * empty one counts as none. Lives as long as the store. */
const struct secret *secret_store_get(struct secret_store *s, const char *name);
struct str secret_expose(const struct secret *s); /* callers are listed in tools/words */

/*
 * Redaction (agent spec 10.3), one linear pass over a stream in chunks of any size; where it is cut
 * makes no difference to the result.
 *
 * a. Every exact occurrence of a known value becomes [REDACTED] (AG-178), and so do its
 * JSON-escaped, URL-percent and shell-quoted spellings where they differ. Overlapping ones become
 * one mark. b. The value after a field whose name ends like password, api_key, secret_access_key …
 * (AG-180) and
 *    '=' or ':'. In quotes: up to the closing quote or the end of the line. Bare, of 6 bytes or
 * more: up to white space; in JSON, a query or a quoted string also up to what ends a value there.
 * c. The body of a PEM private-key block (AG-181); without an END line, to the end of the stream.
 *
 * It holds back only what could be the start of a secret: less than the longest spelling of a
 * value, and some 100 bytes. An encoded copy is not caught (AG-182).
 */
struct secret_set; /* the known values; shared, and read from any thread */
struct secret_set *secret_set_new(void);
/* White space around a value is not part of it. Values shorter than 6 bytes are left out (they
 * would eat ordinary words). From any thread, also while filters are at work: they go on with the
 * values of the moment they were made. */
void secret_set_add(struct secret_set *s, struct str value);
void secret_set_add_secret(struct secret_set *s, const struct secret *value);
/* Takes one addition of this value back. One that is not there is no error. */
void secret_set_remove_secret(struct secret_set *s, const struct secret *value);
void secret_set_free(struct secret_set *s); /* wipes */

struct secret_filter;
/* What the set holds at this moment. */
struct secret_filter *secret_filter_new(const struct secret_set *set);
void secret_filter_free(struct secret_filter *f);
/* Appends to `out` what is safe to show. -1 when it is full; what follows is then incomplete. */
int secret_filter_put(struct secret_filter *f, const char *p, size_t len, struct buf *out);
/* The end of the stream: what was held back comes out, redacted where it must be. The filter can
 * then be used for another stream. */
int secret_filter_end(struct secret_filter *f, struct buf *out);
/* The whole text at once. */
int secret_redact(const struct secret_set *set, struct str text, struct buf *out);

/* The environment of a child. Returns a new environ array (NULL-terminated, one allocation with
 * copies of the entries, the caller frees) from `env` without the names in `drop` and with `set`
 * ("NAME=value" entries) added or replaced; a name in both is set. `set` may be NULL. */
char **secret_environ(
	char *const *env, const struct str *drop, size_t drop_count, char *const *set);

#endif
