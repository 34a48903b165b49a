#ifndef AGENT_CORE_EDIT_H
#define AGENT_CORE_EDIT_H
/*
 * Edits as text: what `edit` and `apply_patch` compute before anything is written. Pure.
 *
 * Only the bytes asked for change: encoding, byte-order mark, line ends and a missing final newline
 * stay. Where the file's line ends are CRLF and the model wrote LF, the model's text is matched and
 * written with the file's. Ambiguity is an error that lists the places.
 */
#include <stdbool.h>
#include <stddef.h>

#include "error/error.h"
#include "mem/mem.h"
#include "text/text.h"

extern const struct error_kind EDIT_TARGET_NOT_FOUND; /* edit_target_not_found */
extern const struct error_kind
	EDIT_TARGET_AMBIGUOUS;                  /* edit_target_ambiguous: lists line numbers */
extern const struct error_kind EDIT_NOT_UTF8;   /* edit_not_utf8 */
extern const struct error_kind EDIT_TOO_LARGE;  /* edit_result_too_large */
extern const struct error_kind PATCH_INVALID;   /* patch_invalid: names the line of the patch */
extern const struct error_kind PATCH_CONTEXT;   /* patch_context_not_found */
extern const struct error_kind PATCH_AMBIGUOUS; /* patch_context_ambiguous: lists line numbers */

enum {
	EDIT_FILE_MAX_BYTES = 4 * 1024 * 1024, /* spec 5.4 */
	EDIT_TEXT_MAX_BYTES = 1024 * 1024,     /* spec 5.4, 5.5 */
	PATCH_FILES_MAX = 1024,                /* ours */
	PATCH_HUNKS_MAX = 4096,                /* ours, per file */
	EDIT_PLACES_SHOWN = 20, /* ours: what a reader of an error or a result looks at */
};

/* Where something was changed. */
struct edit_report {
	size_t count;                    /* places */
	size_t lines[EDIT_PLACES_SHOWN]; /* of the first ones, in the new content, from 1 */
};

struct edit {
	struct str old, new;
	bool replace_all;
};
/* Replaces `old` by `new` in `content`: at the one place where it stands, or at all of them. `to`
 * is empty before, and after a failure. */
int edit_replace(struct str content, const struct edit *e, struct buf *to, struct edit_report *ret,
	struct error *err);

enum patch_op_kind { PATCH_ADD, PATCH_DELETE, PATCH_UPDATE };
struct patch_hunk;
struct patch_op {
	enum patch_op_kind kind;
	struct str path;
	struct str move_to;             /* absent: none */
	struct str added;               /* PATCH_ADD: the content, in the arena */
	const struct patch_hunk *hunks; /* PATCH_UPDATE */
	size_t hunk_count;
	int line; /* of the patch, from 1 */
};
/* Parses the patch text (spec 5.5); operations live in the arena and borrow from the text. */
int patch_parse(struct arena *a, struct str text, const struct patch_op **ret, size_t *ret_count,
	struct error *err);
/* The new content of an updated file. `to` is empty before, and after a failure. */
int patch_apply(const struct patch_op *op, struct str content, struct buf *to,
	struct edit_report *ret, struct error *err);
/* Whether an editor may touch this: UTF-8, whatever its line ends. EDIT_NOT_UTF8 says what to use.
 */
int edit_check_text(struct str content, struct error *err);

#endif
