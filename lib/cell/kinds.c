/*
 * The kinds of cell, and the limits of each.
 */
#include <stdlib.h>

#include "cell/cell.h"

#define MIB (1024 * 1024)

/* What is read of a page is at most 4 MiB (agent spec 5.8); as much of its text is kept. Memory:
 * the page packed, unpacked, as UTF-8 (three bytes for one at most), and its text. */
const struct cell_kind CELL_HTML = {
	.name = "html",
	.input_max_bytes = 4 * MIB,
	.unpack_max_bytes = 4 * MIB,
	.output_max_bytes = 4 * MIB,
	.memory_max_bytes = (size_t)96 * MIB,
	.cpu_s = 5, /* ours: a hundred times what the worst page takes */
	.time_ms = 20000,
	.params = {"packed", "charset", "url",  "unpack_max",    NULL},
	.fields = {"title",        "charset",           "cut", NULL},
};

const struct cell_kind CELL_TEXT = {
	.name = "text",
	.input_max_bytes = 4 * MIB,
	.unpack_max_bytes = 4 * MIB,
	.output_max_bytes = 4 * MIB,
	.memory_max_bytes = (size_t)96 * MIB,
	.cpu_s = 5,
	.time_ms = 20000,
	.params = {"packed", "charset", "xml", "unpack_max", NULL},
	.fields = {"charset",    "cut",             NULL         },
};

const struct cell_kind *const cell_kinds[] = {&CELL_HTML, &CELL_TEXT, NULL};
