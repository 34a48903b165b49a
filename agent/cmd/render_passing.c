/* Events that are a line for people: what holds a turn up, and what was done to its context. */
#include "agent/cmd/render.h"

#include <inttypes.h>

#include "agent/cmd/style.h"

static struct str text_of(const struct json *data, const char *name)
{
	struct str s = json_str(json_get(data, name));

	return s.p ? s : STR("?");
}

static int64_t number_of(const struct json *data, const char *name)
{
	int64_t n;

	return json_i64(json_get(data, name), &n) == 0 ? n : 0;
}

/* ": what it said" where it said something. */
static void put_detail(struct buf *to, const struct json *data)
{
	struct str detail = json_str(json_get(data, "detail"));

	if (detail.len > 0)
		(void)buf_printf(to, ": " STR_FMT, STR_ARG(detail));
}

static void put_retry(struct buf *to, const struct json *data)
{
	(void)buf_printf(to, "the model failed (" STR_FMT, STR_ARG(text_of(data, "error")));
	put_detail(to, data);
	(void)buf_puts(to, "); it is asked again in ");
	style_duration(to, number_of(data, "delay_ms"));
}

static void put_fallback(struct buf *to, const struct json *data)
{
	(void)buf_printf(to, STR_FMT " cannot be asked (" STR_FMT, STR_ARG(text_of(data, "from")),
		STR_ARG(text_of(data, "error")));
	put_detail(to, data);
	(void)buf_printf(to, "); " STR_FMT " is", STR_ARG(text_of(data, "to")));
}

static void put_paced(struct buf *to, const struct json *data)
{
	(void)data;
	(void)buf_puts(to, "the provider asks to wait; the turn goes on by itself");
}

static void put_waiting(struct buf *to, const struct json *data)
{
	const struct json *handles = json_get(data, "handles");
	const char *before = "the turn waits for ";

	if (!handles || handles->count == 0) {
		(void)buf_puts(to, "the turn waits for a verdict");
		return;
	}
	json_for_each (handle, handles) {
		(void)buf_printf(to, "%s" STR_FMT, before, STR_ARG(json_str(handle)));
		before = json_is_true(json_get(data, "any")) ? " or " : " and ";
	}
}

static void put_steered(struct buf *to, const struct json *data)
{
	(void)buf_printf(
		to, "the turn takes up the prompt of turn %" PRId64, number_of(data, "turn"));
}

static void put_compaction_failed(struct buf *to, const struct json *data)
{
	(void)buf_printf(to, "no summary could be made (" STR_FMT, STR_ARG(text_of(data, "error")));
	put_detail(to, data);
	(void)buf_puts(to, "); the turn goes on without it");
}

static void put_compacted(struct buf *to, const struct json *data)
{
	(void)buf_puts(to, "a summary stands for what is older: ");
	style_count(to, number_of(data, "context_before"));
	(void)buf_puts(to, " bytes are now ");
	style_count(to, number_of(data, "context_after"));
}

static void put_elided(struct buf *to, const struct json *data)
{
	(void)data;
	(void)buf_puts(to, "long results of older calls are shortened for the model");
}

static void put_pruned(struct buf *to, const struct json *data)
{
	(void)data;
	(void)buf_puts(to, "records of older turns are gone");
}

static void put_deleted(struct buf *to, const struct json *data)
{
	(void)data;
	(void)buf_puts(to, "the bot was deleted");
}

static const struct {
	const char *kind;
	void (*put)(struct buf *to, const struct json *data); /* NULL: nothing for people */
} kinds[] = {
	{"retry",		     put_retry            },
	{"model_fallback",            put_fallback         },
	{"turn_paced",                put_paced            },
	{"turn_waiting",              put_waiting          },
	{"turn_resumed",              NULL                 },
	{"steered",                   put_steered          },
	{"compaction_text_delta",     NULL                 },
	{"compaction_thinking_delta", NULL                 },
	{"compaction_failed",         put_compaction_failed},
	{"compacted",                 put_compacted        },
	{"elided",		    put_elided           },
	{"pruned",		    put_pruned           },
	{"deleted",                   put_deleted          },
	{"forked",		    NULL                 },
	{"configured",                NULL                 },
	{"keep_warm_failed",          NULL                 },
};

bool render_passing(struct render *r, struct str kind, const struct json *data)
{
	_cleanup_(buf) struct buf text = BUF_INIT(64 * 1024);

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (!str_is(kind, kinds[i].kind))
			continue;
		if (kinds[i].put) {
			kinds[i].put(&text, data);
			render_note(r, STR_FMT, STR_ARG(buf_str(&text)));
		}
		return true;
	}
	return false;
}
