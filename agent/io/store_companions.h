#ifndef AGENT_IO_STORE_COMPANIONS_H
#define AGENT_IO_STORE_COMPANIONS_H
/* The daemon's companions as they were set: one JSON text, replaced as a whole. */
#include "error/error.h"
#include "mem/mem.h"
#include "text/text.h"

struct store_tx;
struct store_view;

/* Absent: none were ever set. */
int store_companions_get(
	struct store_view *v, struct arena *a, struct str *ret_json, struct error *err);
int store_companions_set(struct store_tx *tx, struct str json, struct error *err);

#endif
