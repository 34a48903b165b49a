#ifndef AGENT_SERVE_OP_H
#define AGENT_SERVE_OP_H
/*
 * What the files of operations share: the shape of a handler that asks the store.
 *
 * A handler puts what it needs into r->work (in the request's arena) and calls op_read or op_write
 * with a run() for the store's thread and an answer() for the loop. A failure of run() is the
 * reply.
 */
#include "agent/io/store.h"
#include "agent/serve/daemon.h"
#include "agent/serve/session.h"

void op_read(struct request *r,
	int (*run)(struct store_view *v, struct request *r, struct error *err),
	void (*answer)(struct request *r));
void op_write(struct request *r,
	int (*run)(struct store_tx *tx, struct request *r, struct error *err),
	void (*answer)(struct request *r));

/* The limit of a page: PAGE_DEFAULT when none is given, 0 when it is none of 1 to PAGE_MAX. */
int op_page_limit(bool given, int64_t limit);

/* An absolute path of a folder that is there, by its real name; `what` names the field.
 * workspace_must_exist_and_be_absolute. */
int op_real_folder(
	struct request *r, struct str path, const char *what, struct str *ret, struct error *err);
/* The confinement of a bot as a whole: available, and its roots fit to be written. */
int op_check_sandbox(struct daemon *d, struct arena *a, const struct bot *b, struct error *err);

/* {"result":RECORD} of a bot. */
void op_answer_record(struct request *r, const struct bot *b);

#endif
