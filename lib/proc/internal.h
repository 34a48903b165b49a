#ifndef PROC_INTERNAL_H
#define PROC_INTERNAL_H
/*
 * What the files of lib/proc share.
 */
#include "proc/proc.h"

struct proc_started {
	pid_t pid; /* our child: the command, or its supervisor */
	int pidfd;
	pid_t command; /* the command itself */
};

int proc_start(const struct proc_spec *spec, struct proc_started *ret, struct error *err);

/* Ends and reaps a child that nothing watches yet. Closes pidfd. */
void proc_abandon(const struct proc_started *s);

#endif
