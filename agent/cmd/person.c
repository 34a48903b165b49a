/* Asks the person at the terminal for verdicts. */
#include "agent/cmd/person.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <termios.h>
#include <unistd.h>

#include "agent/cmd/approval.h"
#include "agent/cmd/output.h"
#include "agent/core/limits.h"
#include "mem/mem.h"

enum { LINE_BYTES = 4096 /* what a terminal's line holds at most (N_TTY_BUF_SIZE) */ };

struct question {
	struct list in_person;
	char *bot, *call_id, *tag;
	char *step; /* NULL: the call itself */
	int64_t turn, request;
};

void person_init(struct person *p, bool wanted)
{
	*p = (struct person){.there = wanted && isatty(STDIN_FILENO) && output_is_terminal()};
	list_init(&p->open);
}

static void question_free(struct question *q)
{
	list_remove(&q->in_person);
	free(q->bot);
	free(q->call_id);
	free(q->tag);
	free(q->step);
	free(q);
}

void person_release(struct person *p)
{
	list_for_each_safe (q, &p->open, struct question, in_person)
		question_free(q);
}

static char *copy(const struct json *value)
{
	struct str s = json_str(value);

	return s.p ? xstrndup(s.p, s.len) : xstrdup("");
}

/* The open gate that is a person's to answer. */
static struct str persons_gate(const struct json *approval)
{
	const struct json *gates = json_get(approval, "gates");

	if (!gates)
		return (struct str){NULL, 0};
	json_for_each (gate, gates) {
		struct str tag = json_str(json_get(gate, "tag"));

		if (str_is(tag, APPROVAL_PERSON) && !json_str(json_get(gate, "decision")).p)
			return tag;
	}
	return (struct str){NULL, 0};
}

bool person_add(struct person *p, const struct json *approval)
{
	struct str tag = persons_gate(approval), step = json_str(json_get(approval, "step"));
	struct question *q;

	if (!p->there || !tag.p)
		return false;
	if (!step.p) /* announced again: what was asked is void */
		person_forget(p, json_str(json_get(approval, "bot")),
			json_str(json_get(approval, "call_id")));
	q = xcalloc(1, sizeof(*q));
	q->step = step.p ? xstrndup(step.p, step.len) : NULL;
	q->bot = copy(json_get(approval, "bot"));
	q->call_id = copy(json_get(approval, "call_id"));
	q->tag = xstrndup(tag.p, tag.len);
	if (json_i64(json_get(approval, "turn"), &q->turn) < 0 ||
		json_i64(json_get(approval, "request"), &q->request) < 0)
		q->turn = q->request = 0; /* the daemon will refuse it and say so */
	list_add_tail(&p->open, &q->in_person);
	return true;
}

void person_forget(struct person *p, struct str bot, struct str call_id)
{
	list_for_each_safe (q, &p->open, struct question, in_person) {
		if (!str_is(bot, q->bot) || !str_is(call_id, q->call_id))
			continue;
		if (p->open.next == &q->in_person)
			person_step_aside(p);
		question_free(q);
	}
}

void person_step_aside(struct person *p)
{
	if (p->asking)
		output_text(STR("\n"));
	p->asking = false;
}

void person_ask(struct person *p)
{
	if (!p->there || p->asking || list_empty(&p->open))
		return;
	(void)tcflush(STDIN_FILENO, TCIFLUSH); /* on a terminal it cannot fail */
	output_text(STR("    allow? [y/N/reason] "));
	output_flush();
	p->asking = true;
}

enum person_says person_read(struct str line, struct str *ret_reason)
{
	struct str said = str_trim(line);
	static const char *const no[] = {"n", "no"};
	static const char *const yes[] = {"y", "yes"};

	*ret_reason = (struct str){NULL, 0};
	for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
		if (said.len == strlen(yes[i]) && strncasecmp(said.p, yes[i], said.len) == 0)
			return PERSON_ALLOWS;
		if (said.len == strlen(no[i]) && strncasecmp(said.p, no[i], said.len) == 0)
			return PERSON_DENIES;
	}
	if (said.len > 0)
		*ret_reason = said;
	return PERSON_DENIES;
}

const char *person_name(void)
{
	const struct passwd *entry = getpwuid(geteuid());
	size_t len = entry && entry->pw_name ? strlen(entry->pw_name) : 0;

	return len > 0 && len <= BY_MAX_BYTES ? entry->pw_name : "person";
}

static int answer(struct question *q, enum person_says says, struct str reason, struct stream *s,
	struct error *err)
{
	const struct json *result;
	struct ask a;

	ask_begin(&a, "answer");
	json_put_cstr(&a.j, "bot", q->bot);
	json_put_i64(&a.j, "turn", q->turn);
	json_put_cstr(&a.j, "call_id", q->call_id);
	if (q->step)
		json_put_cstr(&a.j, "step", q->step);
	json_put_i64(&a.j, "request", q->request);
	json_put_cstr(&a.j, "tag", q->tag);
	json_put_cstr(&a.j, "decision", says == PERSON_ALLOWS ? "allow" : "deny");
	json_put_cstr(&a.j, "by", person_name());
	if (says == PERSON_DENIES && reason.p)
		json_put_str(&a.j, "reason", reason);
	return stream_call(s, &a, &result, err);
}

/* One line, as a terminal hands it over. 1, 0 at the end of input. */
static int read_line(char room[LINE_BYTES], struct str *ret)
{
	ssize_t n;

	do
		n = read(STDIN_FILENO, room, LINE_BYTES);
	while (n < 0 && errno == EINTR);
	*ret = (struct str){room, n > 0 ? (size_t)n : 0};
	return n > 0;
}

/* No more answers come from here: somebody else can give them. */
static void leave(struct person *p, struct render *r)
{
	person_step_aside(p);
	p->there = false;
	render_note(r, "nobody answers here any more: see agent approvals");
}

int person_hear(struct person *p, struct stream *s, struct render *r, struct error *err)
{
	char room[LINE_BYTES];
	struct question *q = list_first(&p->open, struct question, in_person);
	enum person_says says;
	struct str line, reason;

	if (!read_line(room, &line)) {
		leave(p, r);
		return 0;
	}
	if (!p->asking || list_empty(&p->open))
		return 0; /* nobody asked */
	p->asking = false;
	says = person_read(line, &reason);
	if (reason.p && !utf8_valid(reason))
		reason = (struct str){NULL, 0};
	list_remove(&q->in_person);
	if (answer(q, says, reason, s, err) == 0) {
		render_answered(r, says == PERSON_ALLOWS);
	} else if (error_is(err, &CLIENT_REMOTE)) {
		render_note(r, "    not taken: %s: %s", ask_code(s->client, err), err->text);
		error_clear(err);
	}
	question_free(q);
	return err->kind ? -1 : 0;
}
