/*
 * json writer: commas, quotes and names; a tree once more as text.
 */
#include <math.h>
#include <stdio.h>

#include "json/internal.h"

enum {
	PLACES_MAX = 17,       /* ours: a double has no more digits that mean something */
	DOUBLE_TEXT_MAX = 352, /* sign, 309 digits, point, PLACES_MAX, NUL, rounded up */
};

/* A name stands before every value of an object and nowhere else; levels below the 64th are not
 * checked. */
static void check_name(const struct json_out *j, bool named)
{
	const unsigned level = j->depth;

	if (level < 64)
		must(named == (((j->objects >> level) & 1) != 0));
}

static void begin_named(struct json_out *j, struct str name)
{
	check_name(j, true);
	if (j->comma)
		(void)buf_putc(j->to, ','); /* here and below: a full buffer says so itself */
	j->comma = true;
	json_quote(j->to, name);
	(void)buf_putc(j->to, ':');
}

static void begin(struct json_out *j, const char *name)
{
	if (name) {
		begin_named(j, str_from(name));
		return;
	}
	check_name(j, false);
	if (j->comma)
		(void)buf_putc(j->to, ',');
	j->comma = true;
}

static void put_literal(struct json_out *j, const char *name, const char *text)
{
	begin(j, name);
	(void)buf_puts(j->to, text);
}

static void enter(struct json_out *j, char kind)
{
	must(kind == '{' || kind == '[');
	must(j->depth < UINT8_MAX);
	(void)buf_putc(j->to, kind);
	j->depth++;
	j->comma = false;
	if (j->depth < 64) {
		const uint64_t bit = UINT64_C(1) << j->depth;

		j->objects = kind == '{' ? j->objects | bit : j->objects & ~bit;
	}
}

void json_open(struct json_out *j, char kind)
{
	begin(j, NULL);
	enter(j, kind);
}

void json_open_key(struct json_out *j, const char *name, char kind)
{
	begin(j, name);
	enter(j, kind);
}

void json_close(struct json_out *j, char kind)
{
	must(kind == '}' || kind == ']');
	must(j->depth > 0);
	check_name(j, kind == '}');
	(void)buf_putc(j->to, kind);
	j->depth--;
	j->comma = true;
}

void json_put_str(struct json_out *j, const char *name, struct str value)
{
	begin(j, name);
	if (value.p)
		json_quote(j->to, value);
	else
		(void)buf_puts(j->to, "null");
}

void json_put_cstr(struct json_out *j, const char *name, const char *value)
{
	json_put_str(j, name, str_from(value));
}

static void put_digits(struct json_out *j, const char *name, bool negative, uint64_t value)
{
	char text[24], *at = text + sizeof(text);

	do
		*--at = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	if (negative)
		*--at = '-';
	begin(j, name);
	(void)buf_put(j->to, at, (size_t)(text + sizeof(text) - at));
}

void json_put_i64(struct json_out *j, const char *name, int64_t value)
{
	put_digits(j, name, value < 0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void json_put_u64(struct json_out *j, const char *name, uint64_t value)
{
	put_digits(j, name, false, value);
}

void json_put_double(struct json_out *j, const char *name, double value, int places)
{
	char text[DOUBLE_TEXT_MAX];
	size_t len, whole;

	if (!isfinite(value)) {
		json_put_null(j, name);
		return;
	}
	if (places < 0)
		places = 0;
	if (places > PLACES_MAX)
		places = PLACES_MAX;
	len = (size_t)snprintf(text, sizeof(text), "%.*f", places, value);
	must(len < sizeof(text));
	if (places > 0) { /* a point, whatever the locale wrote and however many bytes it is */
		whole = 1 + strspn(text + 1, "0123456789");
		text[whole] = '.';
		memmove(text + whole + 1, text + len - (size_t)places, (size_t)places);
		len = whole + 1 + (size_t)places;
	}
	begin(j, name);
	(void)buf_put(j->to, text, len);
}

void json_put_bool(struct json_out *j, const char *name, bool value)
{
	put_literal(j, name, value ? "true" : "false");
}

void json_put_null(struct json_out *j, const char *name)
{
	put_literal(j, name, "null");
}

void json_put_raw(struct json_out *j, const char *name, struct str text)
{
	if (!text.p) {
		json_put_null(j, name);
		return;
	}
	begin(j, name);
	(void)buf_put_str(j->to, text);
}

/* A scalar, or the bracket that opens a container. */
static void put_head(struct buf *to, const struct json *value)
{
	static const char *const heads[] = {[JSON_NULL] = "null",
		[JSON_FALSE] = "false",
		[JSON_TRUE] = "true",
		[JSON_ARRAY] = "[",
		[JSON_OBJECT] = "{"};

	if (value->type == JSON_STRING)
		json_quote(to, value->text);
	else if (value->type == JSON_NUMBER)
		(void)buf_put_str(to, value->text);
	else
		(void)buf_puts(to, heads[value->type]);
}

static void put_key(struct buf *to, const struct json *parent, const struct json *value)
{
	if (parent->type != JSON_OBJECT)
		return;
	json_quote(to, value->key);
	(void)buf_putc(to, ':');
}

static inline bool is_container(const struct json *value)
{
	return value->type == JSON_ARRAY || value->type == JSON_OBJECT;
}

static void put_tree(struct buf *to, const struct json *value)
{
	const struct json *open[JSON_DEPTH_MAX];
	size_t depth = 0;

	for (;;) {
		put_head(to, value);
		if (is_container(value)) {
			must(depth < JSON_DEPTH_MAX); /* the reader's own bound */
			open[depth++] = value;
			if (value->child) {
				value = value->child;
				put_key(to, open[depth - 1], value);
				continue;
			}
			depth--;
			(void)buf_putc(to, value->type == JSON_OBJECT ? '}' : ']');
		}
		while (depth > 0 && !value->next) {
			value = open[--depth];
			(void)buf_putc(to, value->type == JSON_OBJECT ? '}' : ']');
		}
		if (depth == 0)
			return;
		value = value->next;
		(void)buf_putc(to, ',');
		put_key(to, open[depth - 1], value);
	}
}

void json_put(struct json_out *j, const char *name, const struct json *value)
{
	if (!value) {
		json_put_null(j, name);
		return;
	}
	begin(j, name);
	put_tree(j->to, value);
}

void json_put_member(struct json_out *j, struct str name, const struct json *value)
{
	begin_named(j, name);
	if (value)
		put_tree(j->to, value);
	else
		(void)buf_puts(j->to, "null");
}
