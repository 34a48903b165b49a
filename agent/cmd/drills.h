#ifndef AGENT_CMD_DRILLS_H
#define AGENT_CMD_DRILLS_H
/* The drills that ship with the suite: rehearsals that state what must happen. */
#include <stdbool.h>
#include <stddef.h>

struct trial_flags;

struct drills_plan {
	const struct trial_flags *flags;
	char **names; /* none: all */
	size_t count;
	bool rough; /* also those that can hurt a machine */
	bool json;
};
/* Runs them one after the other and prints a line for each; an exit status. */
int drills_run(const struct drills_plan *p);

#endif
