#ifndef CELL_WALL_H
#define CELL_WALL_H
/*
 * The walls of a cell: see lib/cell/cell.h.
 */
#include "cell/cell.h"

/* Puts them up; from then on only memory, read(0), write(1) and exit are left. *ret_landlock is the
 * version of the kernel's Landlock, 0 where it has none. -1: a wall does not stand, do not read. */
int wall_up(const struct cell_kind *kind, int parent, int *ret_landlock);

#endif
