/* Followers: replay, the switch to live, live. */
#include "agent/serve/publish.h"

#include <stdlib.h>

#include "agent/serve/daemon.h"
#include "agent/serve/session.h"
#include "wire/wire.h"

enum {
	PAGE_EVENTS = PAGE_MAX,
	AHEAD_PACKETS = WIRE_OUT_PACKETS_MAX /
			2,             /* a replay leaves the other half to live events */
	SWITCH_EVENTS = AHEAD_PACKETS, /* what the last page may hold: it is sent in one go */
};

struct page {
	struct follow *f;
	struct arena arena;
	struct store_event *events;
	size_t count, sent;
	bool more, last;
	int64_t after;  /* where it begins */
	int64_t pruned; /* events up to it may be gone */
	bool there;     /* the bot is */
	int64_t cursor; /* of the store, for the switch */
};

static void read_page(struct follow *f, bool last);

void publisher_init(struct publisher *p)
{
	list_init(&p->live);
	list_init(&p->batched);
	p->line = (struct buf)BUF_INIT(WIRE_LINE_MAX_BYTES);
}

void publisher_release(struct publisher *p)
{
	buf_release(&p->line);
}

static void page_free(struct page *p)
{
	if (p)
		arena_release(&p->arena);
	free(p);
}

static void follow_free(struct follow *f)
{
	page_free(f->page);
	free(f->name);
	free(f);
}

/* Ends a follow; its memory goes when no job holds it. */
static void follow_end(struct follow *f)
{
	list_remove(&f->in_session);
	list_remove(&f->in_publisher);
	f->session = NULL;
	if (!f->reading)
		follow_free(f);
}

static void put_turn(struct json_out *j, int64_t turn)
{
	if (turn > 0)
		json_put_i64(j, "turn", turn);
	else
		json_put_null(j, "turn");
}

int event_put(struct buf *b, const struct store_event *e)
{
	struct json_out j = JSON_OUT(b);

	json_open(&j, '{');
	json_put_str(&j, "event", e->kind);
	json_put_i64(&j, "cursor", e->id);
	json_put_str(&j, "bot", e->bot_name);
	put_turn(&j, e->turn);
	json_put_raw(&j, "data", e->data);
	json_close(&j, '}');
	return b->full ? -1 : 0;
}

void publish_event(void *arg, const struct store_event *e)
{
	struct daemon *d = arg;
	struct publisher *p = &d->pub;
	bool made = false;

	if (str_is(e->kind, "turn_finished")) /* whoever ended it: the store alone knows of all */
		waiters_notify(d, e->turn);

	list_for_each_safe (f, &p->live, struct follow, in_publisher) {
		if ((f->bot != 0 && f->bot != e->bot) || e->id <= f->cursor)
			continue;
		if (!made) {
			buf_clear(&p->line);
			must(event_put(&p->line, e) == 0); /* the store bounds what it records */
			made = true;
		}
		f->cursor = e->id;
		session_send_event(f->session, buf_str(&p->line));
	}
}

void publish_passing(struct daemon *d, int64_t bot, struct str name, int64_t turn, const char *kind,
	struct str data)
{
	struct publisher *p = &d->pub;
	struct json_out j = JSON_OUT(&p->line);
	bool made = false;

	list_for_each_safe (f, &p->live, struct follow, in_publisher) {
		if (f->bot != 0 && f->bot != bot)
			continue;
		if (!made) {
			buf_clear(&p->line);
			json_open(&j, '{');
			json_put_cstr(&j, "event", kind);
			json_put_bool(&j, "durable", false);
			json_put_str(&j, "bot", name);
			put_turn(&j, turn);
			json_put_raw(&j, "data", data);
			json_close(&j, '}');
			made = true;
		}
		if (!p->line.full)
			session_send_event(f->session, buf_str(&p->line));
	}
}

void publish_deleted(struct daemon *d, int64_t bot, struct str name)
{
	_cleanup_(mem) char *data = xasprintf("{\"id\":%lld}", (long long)bot);

	publish_passing(d, bot, name, 0, "deleted", str_from(data));
}

/* Sends of the page what the peer takes now; the rest goes when it has drained. True: all of it
 * went. */
static bool send_page(struct follow *f)
{
	struct page *p = f->page;
	struct buf *line = &f->d->pub.line;

	while (p->sent < p->count && (p->last || session_queued(f->session) < AHEAD_PACKETS)) {
		const struct store_event *e = &p->events[p->sent++];

		buf_clear(line);
		must(event_put(line, e) == 0); /* the store bounds what it records */
		f->cursor = e->id;
		session_send(f->session, buf_str(line));
	}
	return p->sent == p->count;
}

/* What only this follower is told: an event with one number. */
static void send_mark(struct follow *f, const char *kind, const char *member, int64_t value)
{
	struct buf line = BUF_INIT(4096);
	struct json_out j = JSON_OUT(&line);

	json_open(&j, '{');
	json_put_cstr(&j, "event", kind);
	json_put_bool(&j, "durable", false);
	json_put_cstr(&j, "bot", f->name);
	json_put_null(&j, "turn");
	json_open_key(&j, "data", '{');
	json_put_i64(&j, member, value);
	json_close(&j, '}');
	json_close(&j, '}');
	session_send(f->session, buf_str(&line));
	buf_release(&line);
}

/* Events that were taken out of the range it asked for. */
static void send_gap(struct follow *f, const struct page *p)
{
	if (p->pruned <= p->after || p->pruned <= f->told)
		return;
	f->told = p->pruned;
	send_mark(f, "pruned", "pruned_before", p->pruned + 1);
}

static int run_page(struct store_view *v, void *arg, struct error *err)
{
	struct page *p = arg;

	p->after = p->f->cursor;
	if (store_pruned_cursor(v, p->f->bot, &p->pruned, &p->there, err) < 0)
		return -1;
	return store_events(v, p->f->bot, p->f->cursor, p->last ? SWITCH_EVENTS : PAGE_EVENTS,
		&p->arena, &p->events, &p->count, &p->more, err);
}

static int run_switch(struct store_tx *tx, void *arg, struct error *err)
{
	struct page *p = arg;

	if (run_page(store_tx_view(tx), p, err) < 0)
		return -1;
	return store_cursor(store_tx_view(tx), &p->cursor, err);
}

static void go_live(struct follow *f, const struct page *p)
{
	if (p->cursor > f->cursor)
		f->cursor = p->cursor;
	f->live = true;
	send_mark(f, "follow_live", "cursor", f->cursor);
	if (!p->there) /* it went while its events were replayed */
		send_mark(f, "deleted", "id", f->bot);
	list_add_tail(&f->d->pub.live, &f->in_publisher);
}

/* Goes on with a replay as far as it gets now. */
static void advance(struct follow *f)
{
	struct page *p = f->page;

	if (f->live || f->reading || (p && !send_page(f)))
		return;
	f->page = NULL;
	if (p && p->last && !p->more)
		go_live(f, p);
	else if (session_queued(f->session) == 0)
		read_page(f, p && !p->more && !p->last);
	else
		f->page = mem_take(&p); /* read on when the peer has taken this */
	page_free(p);
}

static void page_came(void *arg, int rc, const struct error *err)
{
	struct page *p = arg;
	struct follow *f = p->f;

	(void)err;
	f->reading = false;
	f->page = p;
	if (!f->session) {
		follow_free(f);
	} else if (rc < 0) { /* the store cannot be read: the peer must come back with its cursor */
		session_finish(f->session);
		follow_end(f);
	} else {
		send_gap(f, p);
		advance(f);
	}
}

/* The last page is read by the writer, so that its end and the first live event meet. */
static void read_page(struct follow *f, bool last)
{
	struct page *p = xcalloc(1, sizeof(*p));

	p->f = f;
	p->last = last;
	f->reading = true;
	if (last)
		store_write(f->d->store, run_switch, page_came, p);
	else
		store_read(f->d->store, run_page, page_came, p);
}

void follow_drained(struct session *s)
{
	list_for_each_safe (f, &s->follows, struct follow, in_session)
		advance(f);
}

void follow_start(struct session *s, int64_t bot, const char *name, int64_t after)
{
	struct follow *f = xcalloc(1, sizeof(*f));

	(void)follow_stop(s, name);
	f->d = s->d;
	f->session = s;
	f->bot = bot;
	f->name = xstrdup(name);
	f->cursor = after;
	list_init(&f->in_publisher);
	list_add_tail(&s->follows, &f->in_session);
	read_page(f, false);
}

bool follow_stop(struct session *s, const char *name)
{
	list_for_each_safe (f, &s->follows, struct follow, in_session) {
		if (strcmp(f->name, name) == 0) {
			follow_end(f);
			return true;
		}
	}
	return false;
}

void follow_session_gone(struct session *s)
{
	list_for_each_safe (f, &s->follows, struct follow, in_session)
		follow_end(f);
}
