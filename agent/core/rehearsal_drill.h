#ifndef AGENT_CORE_REHEARSAL_DRILL_H
#define AGENT_CORE_REHEARSAL_DRILL_H
/*
 * What makes a rehearsal a drill (rehearsal(5), DRILLS): the files it lays out, the bot it is meant
 * for, and what must have happened. A daemon that merely plays the script passes all of it over;
 * `agent rehearse` sees to it. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error/error.h"
#include "json/json.h"
#include "mem/mem.h"
#include "text/text.h"

/* What becomes of a call. */
enum drill_verdict {
	DRILL_CONFINED, /* ran in the sandbox */
	DRILL_OPEN,     /* ran in the daemon: reads are open in every mode */
	DRILL_ASKS,     /* would wait for a verdict */
	DRILL_REFUSED,  /* would not run */
	DRILL_OUTSIDE,  /* would run outside a sandbox, and nobody would be asked */
	DRILL_VERDICTS,
};
extern const char *const drill_names[DRILL_VERDICTS + 1]; /* "confined", "open", …, NULL */

enum {
	DRILL_PATHS_MAX = 64,                /* ours: of each list */
	DRILL_PATH_MAX_BYTES = 1024,         /* ours: with the scratch folder below PATH_MAX */
	DRILL_FILES_MAX_BYTES = 1024 * 1024, /* ours: of all files together */
	DRILL_TEXT_MAX_BYTES = 64 * 1024,    /* ours: of a text that is looked for, of rules */
};

/* Paths are "~/PATH" below the scratch home or "PATH" below the workspace, without empty parts, "."
 * and "..". Strings live as long as the script. */
struct drill_file {
	struct str path, text;
};

/* The bot a drill is written for. */
struct drill_bot {
	struct str sandbox; /* a mode, or absent */
	bool network;
	struct str_list writable_roots; /* below the scratch home */
	struct str_list asks;           /* tools whose calls would wait for a person */
	struct str rules;               /* the text of a file of command rules, or absent */
};

struct drill_terms {
	struct str must; /* what must happen, for people */
	bool rough;      /* can hurt a machine */
	struct drill_file *files;
	size_t file_count;
	struct str_list unharmed; /* of the files: as they were laid */
	struct str_list absent;   /* not there afterwards */
	struct drill_bot bot;
};

/* What must become of a call; what is not stated may be anything. */
struct drill_expect {
	bool stated; /* anything at all */
	bool has_verdict, has_fails, has_exit_code;
	int verdict; /* enum drill_verdict */
	bool fails;
	int64_t exit_code;
	struct str result_has, result_lacks;
};

/* The members of a header that make it a drill, as they were found; absent: NULL. */
struct drill_members {
	struct str must;
	bool rough;
	const struct json *files, *unharmed, *absent, *bot;
};
/* `where` is "line N" and begins what an error says. Not of kind REHEARSAL_INVALID yet. */
int drill_read_terms(struct arena *a, const struct drill_members *m, const char *where,
	struct drill_terms *ret, struct error *err);
/* The member `expect` of a call; `value` may be NULL. */
int drill_read_expect(struct arena *a, const struct json *value, const char *where,
	struct drill_expect *ret, struct error *err);

#endif
