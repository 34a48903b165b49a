/*
 * fuzz url: what is parsed is printed, and that is parsed as the same; a Host header made of it is
 * read as its host; what a reference means is a URL or refused, and beside the same base it means
 * itself.
 *
 * Input: a URL, and after 0x1e a reference.
 */
#include "fuzz/fuzz.h"
#include "url/url.h"

enum { OUT_MAX_BYTES = 64 * 1024 }; /* ours: base and reference, escaped threefold, fit */

static void check_same(const struct url *a, const struct url *b)
{
	must(a->scheme == b->scheme && a->at.form == b->at.form && a->at.port == b->at.port);
	must(strcmp(a->at.host, b->at.host) == 0);
	must(str_eq(a->path, b->path) && str_eq(a->query, b->query));
	must(!a->query.p == !b->query.p);
	must(url_same_origin(a, b));
}

/* A request line and a Host header are made of these: nothing may end them early. */
static void check_visible(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		must(s.p[i] > ' ' && s.p[i] <= '~' && s.p[i] != '\\');
}

static void check_printed(const struct url *u)
{
	_cleanup_(buf) struct buf whole = BUF_INIT(URL_MAX_BYTES), target = BUF_INIT(URL_MAX_BYTES),
				  host = BUF_INIT(URL_MAX_BYTES);
	struct url_authority at;
	struct url again;

	url_put(&whole, u);
	url_put_target(&target, u);
	url_put_host(&host, u);
	must(!whole.full && !target.full && !host.full);
	check_visible(buf_str(&whole));
	must(target.data[0] == '/' && str_ends(buf_str(&whole), buf_str(&target)));
	must(url_parse(buf_str(&whole), &again, NULL) == 0);
	check_same(u, &again);
	must(url_parse_authority(buf_str(&host), &at, NULL) == 0);
	must(strcmp(at.host, u->at.host) == 0 && at.form == u->at.form);
	must(at.port == 0 ? url_port(u) == (url_is_secure(u) ? 443 : 80) : at.port == url_port(u));
}

static bool has_dot_segment(struct str path)
{
	struct str segment;

	while (str_next(&path, '/', &segment))
		if (str_is(segment, ".") || str_is(segment, ".."))
			return true;
	return false;
}

static void check_resolved(const struct url *base, struct str reference)
{
	_cleanup_(buf) struct buf meant = BUF_INIT(OUT_MAX_BYTES), again = BUF_INIT(OUT_MAX_BYTES);
	struct error err = ERROR_INIT;
	struct url u;

	if (url_resolve(base, reference, &meant, &err) < 0) {
		fuzz_check_error(&err);
		must(error_is(&err, &URL_INVALID) && meant.len == 0);
		return;
	}
	check_visible(buf_str(&meant));
	if (url_parse(buf_str(&meant), &u, &err) < 0) {
		fuzz_check_error(&err);
		must(error_is(&err, &URL_INVALID) || error_is(&err, &URL_SCHEME));
	} else {
		/* An empty reference, or one of '?' or '#', leaves the base's path alone. */
		must(!has_dot_segment(u.path) || str_eq(u.path, base->path));
		check_printed(&u);
	}
	if (meant.len > URL_MAX_BYTES)
		return;
	if (reference.len > 0 && !strchr("?#", reference.p[0])) {
		must(url_resolve(base, buf_str(&meant), &again, NULL) == 0);
		must(str_eq(buf_str(&meant), buf_str(&again)));
	}
}

static void check_escaped(struct str s)
{
	_cleanup_(buf) struct buf query = BUF_INIT(OUT_MAX_BYTES), got = BUF_INIT(OUT_MAX_BYTES);

	if (s.len > URL_MAX_BYTES)
		return;
	(void)buf_puts(&query, "x=&a=");
	url_put_escaped(&query, s, "/:");
	must(url_query_get(buf_str(&query), "a", &got, NULL) == 1);
	must(str_eq(buf_str(&got), s));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = fuzz_str(data, size), first = STR(""), second = STR("");
	struct error err = ERROR_INIT;
	struct url u;

	(void)str_next(&rest, '\x1e', &first);
	(void)str_next(&rest, '\x1e', &second);
	_cleanup_(fuzz_exact) const struct str text = fuzz_exact(first);
	_cleanup_(fuzz_exact) const struct str reference = fuzz_exact(second);

	check_escaped(text);
	if (url_parse(text, &u, &err) < 0) {
		fuzz_check_error(&err);
		must(error_is(&err, &URL_INVALID) || error_is(&err, &URL_SCHEME));
		return 0;
	}
	check_printed(&u);
	check_resolved(&u, reference);
	return 0;
}
