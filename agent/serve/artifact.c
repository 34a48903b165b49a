/* What `read` and `history` ask the store for. */
#include "agent/serve/artifact.h"

#include <stdlib.h>

#include "agent/core/item.h"
#include "agent/io/store_context.h"
#include "agent/serve/daemon.h"

struct fetch {
	int64_t bot, turn, node; /* node > 0: a result of the conversation */
	struct arena arena;
	struct str call_id, stream;
	int64_t line;
	struct tool_text text;
	void *run;
	void (*done)(void *run, const struct tool_text *text, const struct error *err);
	struct error error;
};

static int no_artifact(struct error *err)
{
	return error_set(err, &STORE_ARTIFACT_NOT_FOUND,
		"artifact: TURN/CALL_ID/stdout, TURN/CALL_ID/stderr, TURN/CALL_ID/page or "
		"result/NODE");
}

static int number(struct str s, int64_t *ret, struct error *err)
{
	uint64_t value;

	if (text_u64(s, INT64_MAX, "artifact", &value, err) < 0)
		return -1;
	*ret = (int64_t)value;
	return 0;
}

/* The call's id may hold slashes: the turn is before the first, the stream after the last. */
static int parse(struct fetch *f, struct str reference, struct error *err)
{
	struct str rest = reference, first;
	size_t end = reference.len;

	if (!str_next(&rest, '/', &first))
		return no_artifact(err);
	if (str_is(first, "result"))
		return number(rest, &f->node, NULL) < 0 || f->node < 1 ? no_artifact(err) : 0;
	while (end > first.len + 1 && reference.p[end - 1] != '/')
		end--;
	if (end <= first.len + 1 || number(first, &f->turn, NULL) < 0)
		return no_artifact(err);
	f->stream = (struct str){reference.p + end, reference.len - end};
	f->call_id = (struct str){reference.p + first.len + 1, end - first.len - 2};
	if (!str_is(f->stream, "stdout") && !str_is(f->stream, "stderr") &&
		!str_is(f->stream, "page"))
		return no_artifact(err);
	f->stream = (struct str){
		arena_strndup(&f->arena, f->stream.p, f->stream.len), f->stream.len};
	f->call_id = (struct str){
		arena_strndup(&f->arena, f->call_id.p, f->call_id.len), f->call_id.len};
	return 0;
}

static int fetch_lines(struct store_view *v, struct fetch *f, struct error *err)
{
	const struct store_artifact_ref ref = {f->bot, f->turn, f->call_id, f->stream};
	struct store_lines lines;

	if (store_artifact_lines(v, &ref, f->line, &f->arena, &lines, err) < 0)
		return -1;
	f->text = (struct tool_text){lines.bytes, lines.before, lines.total};
	return 0;
}

static int run_fetch(struct store_view *v, void *arg, struct error *err)
{
	struct fetch *f = arg;
	struct store_node *nodes;
	struct item item;

	if (f->error.kind)
		return 0;
	if (f->node == 0)
		return fetch_lines(v, f, err);
	if (store_items(v, f->bot, &f->node, 1, &f->arena, &nodes, err) < 0 ||
		item_read(&f->arena, nodes[0].item, &item, err) < 0)
		return -1;
	if (item.role != ITEM_RESULT)
		return no_artifact(err);
	f->text = (struct tool_text){.bytes = item.text.p ? item.text : STR("")};
	return 0;
}

static void fetched(void *arg, int rc, const struct error *err)
{
	struct fetch *f = arg;

	if (rc == 0 && f->error.kind) {
		rc = -1;
		err = &f->error;
	}
	f->done(f->run, rc < 0 ? NULL : &f->text, rc < 0 ? err : NULL);
	arena_release(&f->arena);
	free(f);
}

void artifact_fetch(void *arg, int64_t bot, struct str reference, int64_t line, void *run,
	void (*done)(void *run, const struct tool_text *text, const struct error *err))
{
	struct daemon *d = arg;
	struct fetch *f = xcalloc(1, sizeof(*f));

	f->bot = bot;
	f->line = line;
	f->run = run;
	f->done = done;
	(void)parse(f, reference, &f->error); /* answered like any other failure, later */
	store_read(d->store, run_fetch, fetched, f);
}

struct recall {
	int64_t bot, turn;
	struct arena arena;
	struct store_turn_items items;
	void *run;
	void (*done)(void *run, const struct str_list *items, int64_t room_bytes,
		const struct error *err);
};

static int run_recall(struct store_view *v, void *arg, struct error *err)
{
	struct recall *r = arg;

	return store_turn_items(v, r->bot, r->turn, &r->arena, &r->items, err);
}

static void recalled(void *arg, int rc, const struct error *err)
{
	struct recall *r = arg;
	const struct str_list list = {r->items.items, r->items.count};

	r->done(r->run, rc < 0 ? NULL : &list, r->items.room_bytes, rc < 0 ? err : NULL);
	arena_release(&r->arena);
	free(r);
}

void history_fetch(void *arg, int64_t bot, int64_t turn, void *run,
	void (*done)(void *run, const struct str_list *items, int64_t room_bytes,
		const struct error *err))
{
	struct daemon *d = arg;
	struct recall *r = xcalloc(1, sizeof(*r));

	r->bot = bot;
	r->turn = turn;
	r->run = run;
	r->done = done;
	store_read(d->store, run_recall, recalled, r);
}
