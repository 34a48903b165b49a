/* Leases: one table for both kinds, a timer each. */
#include "agent/serve/leases.h"

#include <stdlib.h>
#include <string.h>

#include "agent/serve/daemon.h"
#include "agent/serve/served.h"
#include "agent/serve/session.h"
#include "log/log.h"
#include "os/os.h"
#include "wire/wire.h"

const struct error_kind LEASE_APPROVALS_SERVED = {"approvals_served", ERROR_CLASS_CONFLICT};
const struct error_kind LEASE_APPROVALS_LOST = {"approvals_lost", ERROR_CLASS_CONFLICT};
const struct error_kind LEASE_TOOLS_SERVED = {"tools_served", ERROR_CLASS_CONFLICT};
const struct error_kind LEASE_TOOLS_LOST = {"tools_lost", ERROR_CLASS_CONFLICT};
static const struct error_kind LEASE_LIMIT = {"lease_limit", ERROR_CLASS_LIMIT};

static const char letters[] = {[LEASE_APPROVALS] = 'a', [LEASE_TOOLS] = 't'};
static const struct error_kind *const served[] = {&LEASE_APPROVALS_SERVED, &LEASE_TOOLS_SERVED};
static const struct error_kind *const lost[] = {&LEASE_APPROVALS_LOST, &LEASE_TOOLS_LOST};

struct lease *lease_of_tag(struct daemon *d, enum lease_kind kind, struct str tag)
{
	list_for_each (l, &d->leases, struct lease, in_daemon) {
		if (l->kind == kind && str_is(tag, l->tag))
			return l;
	}
	return NULL;
}

/* Over: what its holder had been given is nobody's any more. */
static void end(struct lease *l)
{
	list_remove(&l->in_daemon);
	l->d->lease_count--;
	loop_timer_free(l->timer);
	if (l->kind == LEASE_TOOLS)
		served_lease_over(l->d, l->name);
	free(l);
}

static void tell_lost(const struct lease *l)
{
	struct buf line = BUF_INIT(4096);
	struct json_out j = JSON_OUT(&line);

	json_open(&j, '{');
	json_put_cstr(&j, "event", lost[l->kind]->code);
	json_put_bool(&j, "durable", false);
	json_put_null(&j, "bot");
	json_put_null(&j, "turn");
	json_open_key(&j, "data", '{');
	json_put_cstr(&j, "tag", l->tag);
	json_put_cstr(&j, "lease", l->name);
	json_close(&j, '}');
	json_close(&j, '}');
	session_send(l->session, buf_str(&line));
	buf_release(&line);
}

static void on_quiet(void *arg)
{
	struct lease *l = arg;

	log_event(LOG_INFO, "lease.lost", LOG_CSTR("what", lost[l->kind]->code),
		LOG_I64("lease_ms", l->ms));
	tell_lost(l);
	end(l);
}

static int draw_name(enum lease_kind kind, char name[LEASE_NAME_BYTES + 1], struct error *err)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t bytes[LEASE_NAME_BYTES / 2];

	if (os_random(bytes, sizeof(bytes), err) < 0)
		return -1;
	name[0] = letters[kind];
	for (size_t i = 0; i < sizeof(bytes); i++) {
		name[1 + 2 * i] = digits[bytes[i] >> 4];
		name[2 + 2 * i] = digits[bytes[i] & 15];
	}
	name[LEASE_NAME_BYTES] = '\0';
	return 0;
}

int lease_take(struct session *s, enum lease_kind kind, struct str tag, int64_t ms,
	struct lease **ret, struct error *err)
{
	struct daemon *d = s->d;
	struct lease *l = lease_of_tag(d, kind, tag);
	char name[LEASE_NAME_BYTES + 1];

	must(tag.len <= GATE_TAG_MAX_BYTES);
	if (l && l->session != s)
		return error_set(err, served[kind],
			"another session serves '" STR_FMT "', and has it for %lld ms at a time",
			STR_ARG(tag), (long long)l->ms);
	if (l)
		end(l);
	if (d->lease_count == LEASES_MAX)
		return error_set(
			err, &LEASE_LIMIT, "%d tags are served, which is the limit", LEASES_MAX);
	if (draw_name(kind, name, err) < 0)
		return -1;
	l = xcalloc(1, sizeof(*l));
	l->d = d;
	l->session = s;
	l->kind = kind;
	l->ms = ms;
	memcpy(l->name, name, sizeof(name));
	memcpy(l->tag, tag.p, tag.len);
	l->timer = loop_timer_new(d->loop, on_quiet, l);
	loop_timer_set(l->timer, ms);
	list_add_tail(&d->leases, &l->in_daemon);
	d->lease_count++;
	*ret = l;
	return 0;
}

int lease_use(struct daemon *d, struct str name, struct lease **ret, struct error *err)
{
	list_for_each (l, &d->leases, struct lease, in_daemon) {
		if (!str_is(name, l->name))
			continue;
		loop_timer_set(l->timer, l->ms);
		*ret = l;
		return 0;
	}
	return error_set(err,
		name.len > 0 && name.p[0] == letters[LEASE_TOOLS] ? &LEASE_TOOLS_LOST
								  : &LEASE_APPROVALS_LOST,
		"the lease is over");
}

void leases_session_gone(struct session *s)
{
	list_for_each_safe (l, &s->d->leases, struct lease, in_daemon) {
		if (l->session == s)
			end(l);
	}
}

void lease_line_begin(struct lease_line *l, const char *event, struct str bot, int64_t turn)
{
	l->text = (struct buf)BUF_INIT(WIRE_LINE_MAX_BYTES - 1);
	l->j = (struct json_out)JSON_OUT(&l->text);
	json_open(&l->j, '{');
	json_put_cstr(&l->j, "event", event);
	json_put_bool(&l->j, "durable", false);
	json_put_str(&l->j, "bot", bot);
	json_put_i64(&l->j, "turn", turn);
	json_open_key(&l->j, "data", '{');
}

bool lease_line_send(struct lease_line *l, const struct lease *to)
{
	bool whole;

	json_close(&l->j, '}');
	json_close(&l->j, '}');
	whole = !l->text.full;
	if (whole)
		session_send(to->session, buf_str(&l->text));
	buf_release(&l->text);
	return whole;
}
