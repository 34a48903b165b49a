/*
 * The known values of a daemon. They come and go while filters read them on other threads (a token
 * is replaced by the next), so that a filter takes a reference to the matcher of its moment, and a
 * change only drops the set's own.
 */
#include <pthread.h>
#include <string.h>

#include "mem/mem.h"
#include "secret/internal.h"

enum { VALUES_FIRST = 16 };

struct value {
	struct str text; /* owned */
	size_t added;    /* so often */
};

struct secret_set {
	/* Behind a pointer: a set that is only read makes its matcher when it is first used. */
	struct moment {
		pthread_mutex_t lock; /* of all that is here and of the values */
		struct match *match;  /* NULL: to be made */
	} * now;
	struct value *values;
	size_t count, room;
};

static void lock(const struct secret_set *s)
{
	must(pthread_mutex_lock(&s->now->lock) == 0);
}

static void unlock(const struct secret_set *s)
{
	must(pthread_mutex_unlock(&s->now->lock) == 0);
}

struct secret_set *secret_set_new(void)
{
	struct secret_set *s = xcalloc(1, sizeof(*s));

	s->now = xcalloc(1, sizeof(*s->now));
	must(pthread_mutex_init(&s->now->lock, NULL) == 0);
	return s;
}

void secret_set_free(struct secret_set *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		wipe_free((char *)s->values[i].text.p, s->values[i].text.len);
	free(s->values);
	match_unref(s->now->match);
	must(pthread_mutex_destroy(&s->now->lock) == 0);
	free(s->now);
	free(s);
}

static void make_match(const struct secret_set *s)
{
	struct patterns p = {.items = NULL};

	for (size_t i = 0; i < s->count; i++)
		patterns_add(&p, s->values[i].text);
	s->now->match = match_new(p.items, p.count);
	patterns_release(&p);
}

struct match *set_match(const struct secret_set *s)
{
	struct match *m;

	lock(s);
	if (!s->now->match)
		make_match(s);
	m = match_ref(s->now->match);
	unlock(s);
	return m;
}

static struct value *find(const struct secret_set *s, struct str text)
{
	for (size_t i = 0; i < s->count; i++) {
		if (str_eq(s->values[i].text, text))
			return &s->values[i];
	}
	return NULL;
}

static void changed(struct secret_set *s)
{
	match_unref(mem_take(&s->now->match));
}

static void put(struct secret_set *s, struct str text)
{
	struct value *there = find(s, text);

	if (there) {
		there->added++;
		return;
	}
	if (s->count == s->room) {
		s->room = s->room ? 2 * s->room : VALUES_FIRST;
		s->values = xrealloc(s->values, s->room, sizeof(*s->values));
	}
	s->values[s->count++] = (struct value){
		{xmemdup(text.p, text.len), text.len},
                1
        };
	changed(s);
}

void secret_set_add(struct secret_set *s, struct str value)
{
	/* Blanks and line ends around it are shown or not as the tool likes. */
	value = str_trim(value);
	if (value.len < MATCH_LEN_MIN)
		return;
	lock(s);
	put(s, value);
	unlock(s);
}

void secret_set_add_secret(struct secret_set *s, const struct secret *value)
{
	secret_set_add(s, secret_expose(value));
}

void secret_set_remove_secret(struct secret_set *s, const struct secret *value)
{
	struct value *there;

	lock(s);
	there = find(s, str_trim(secret_expose(value)));
	if (there && --there->added == 0) {
		wipe_free((char *)there->text.p, there->text.len);
		*there = s->values[--s->count];
		changed(s);
	}
	unlock(s);
}
