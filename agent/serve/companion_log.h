#ifndef AGENT_SERVE_COMPANION_LOG_H
#define AGENT_SERVE_COMPANION_LOG_H
/*
 * What companions write (agent spec 9): FOLDER/NAME.log, 0600 in a folder 0700, whatever the umask,
 * with the daemon's secrets taken out. A log that has grown to 4 MiB becomes NAME.log.1, in the
 * place of the one that was that before.
 */
#include <stddef.h>

#include "error/error.h"
#include "secret/secret.h"

/* Makes the folder, or takes what a looser one and the logs in it have too much (AG-196). */
int companion_logs_open(const char *folder, int *ret_fd, struct error *err);

struct companion_log;
/* folder: of companion_logs_open, the caller's. Opens nothing yet. */
struct companion_log *companion_log_new(
	int folder, const char *name, const struct secret_set *secrets);
void companion_log_free(struct companion_log *l); /* NULL does nothing */
/* A line of the daemon's own. What cannot be written is lost without a word. */
void companion_log_note(struct companion_log *l, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* What the companion wrote, and the end of that. */
void companion_log_put(struct companion_log *l, const char *p, size_t len);
void companion_log_end(struct companion_log *l);

#endif
