/*
 * resolve: what a reference means beside a base (RFC 3986 5.2, strict: a scheme that is the base's
 * own is a scheme all the same).
 */
#include "url/internal.h"

/* Removes the last segment and its '/'; start: where the path starts. */
static size_t drop_segment(const char *p, size_t start, size_t len)
{
	while (len > start && p[len - 1] != '/')
		len--;
	return len > start ? len - 1 : start;
}

/* RFC 3986 5.2.4 on the path that starts at `start` and ends the buffer. What was read is never
 * behind what is written, so it is done in place. */
static void remove_dot_segments(struct buf *b, size_t start)
{
	size_t in = start, out = start;

	if (b->len == start)
		return;
	while (in < b->len) {
		const struct str rest = {b->data + in, b->len - in};
		const bool rooted = rest.p[0] == '/';
		const struct str tail = url_after(rest, rooted);
		const size_t len = url_find_any(tail, "/");
		const struct str segment = url_before(tail, len);
		const bool up = str_is(segment, "..");

		if (!up && !str_is(segment, ".")) {
			memmove(b->data + out, rest.p, rooted + len);
			out += rooted + len;
			in += rooted + len;
			continue;
		}
		in += rooted + len;
		if (!rooted) {
			in += in < b->len; /* a first "./" or "../" means nothing */
			continue;
		}
		if (up)
			out = drop_segment(b->data, start, out);
		if (in == b->len)
			b->data[out++] = '/';
	}
	b->len = out;
	b->data[out] = '\0';
}

static void put_base_authority(struct buf *to, const struct url *base)
{
	struct url origin = *base;

	origin.path = STR("");
	origin.query = (struct str){NULL, 0};
	url_put(to, &origin);
}

/* A relative path takes the place of what follows the base's last '/'. */
static void put_path(struct buf *to, const struct url *base, const struct url_parts *r)
{
	const size_t start = to->len;

	if (!r->scheme.p && !r->authority.p && r->path.p[0] != '/')
		(void)buf_put(to, base->path.p, drop_segment(base->path.p, 0, base->path.len) + 1);
	(void)buf_put_str(to, r->path);
	if (!to->full)
		remove_dot_segments(to, start);
}

static void put_marked(struct buf *to, char mark, struct str part)
{
	if (!part.p)
		return;
	(void)buf_putc(to, mark);
	(void)buf_put_str(to, part);
}

static int put_resolved(
	struct buf *to, const struct url *base, const struct url_parts *r, struct error *err)
{
	size_t path;

	if (r->scheme.p) {
		(void)buf_put_str(to, r->scheme);
		(void)buf_putc(to, ':');
	} else if (r->authority.p) {
		(void)buf_printf(to, "%s:", url_scheme_name(base->scheme));
	} else {
		put_base_authority(to, base);
	}
	if (r->authority.p) {
		(void)buf_puts(to, "//");
		(void)buf_put_str(to, r->authority);
	}
	path = to->len;
	if (r->path.len > 0)
		put_path(to, base, r);
	else if (!r->scheme.p && !r->authority.p)
		(void)buf_put_str(to, base->path);
	if (!r->path.len && !r->scheme.p && !r->authority.p && !r->query.p)
		put_marked(to, '?', base->query);
	put_marked(to, '?', r->query);
	put_marked(to, '#', r->fragment);
	if (to->full)
		return error_set(err, &URL_INVALID, "the URL it means is over %zu bytes", to->max);
	if (r->scheme.p && !r->authority.p && to->len - path >= 2 &&
		memcmp(to->data + path, "//", 2) == 0)
		return error_set(err, &URL_INVALID, "a path that would be read as a host");
	return 0;
}

static int check_authority_bytes(struct str authority, struct error *err)
{
	for (size_t i = 0; i < authority.len; i++)
		if (authority.p[i] <= ' ' || authority.p[i] > '~' || authority.p[i] == '\\')
			return error_set(err, &URL_INVALID,
				"the host holds the byte 0x%02x, which is of no URL",
				(unsigned char)authority.p[i]);
	return 0;
}

int url_resolve(const struct url *base, struct str reference, struct buf *ret, struct error *err)
{
	const size_t before = ret->len;
	struct url_parts r;

	if (url_split(reference, &r, err) < 0 || check_authority_bytes(r.authority, err) < 0 ||
		url_check_bytes(&r, err) < 0)
		return -1;
	if (put_resolved(ret, base, &r, err) == 0)
		return 0;
	if (ret->data) { /* nothing stays of what was begun */
		ret->len = before;
		ret->data[before] = '\0';
	}
	return -1;
}
