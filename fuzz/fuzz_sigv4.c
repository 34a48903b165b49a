/*
 * fuzz sigv4: the canonical form stays what it is when names of headers change case, headers of
 * different names change places, blanks in values grow and a query's parameters change places; and
 * it has the lines it must have, so that no value can pose as another header.
 *
 * Input: a path, a query and headers (NAME:VALUE, one a line), 0x1e between them.
 */
#include "agent/io/sigv4.h"
#include "fuzz/fuzz.h"

enum {
	OUT_MAX_BYTES = 256 * 1024, /* ours: a head, escaped threefold */
	PARTS_MAX = SIGV4_PARAMETERS_MAX + 1,
};

static char other_case(char c)
{
	if (c >= 'a' && c <= 'z')
		return (char)(c - 'a' + 'A');
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return c;
}

static bool same_name(struct str a, struct str b)
{
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++)
		if (a.p[i] != b.p[i] && other_case(a.p[i]) != b.p[i])
			return false;
	return true;
}

static size_t read_headers(struct str text, struct http_header list[SIGV4_HEADERS_MAX])
{
	struct str line;
	size_t count = 0;

	while (count < SIGV4_HEADERS_MAX && str_next(&text, '\n', &line)) {
		struct str name = STR("");

		(void)str_next(&line, ':', &name);
		list[count++] = (struct http_header){name, line.p ? line : STR("")};
	}
	return count;
}

static bool is_first(const struct http_header *list, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (same_name(list[k].name, list[i].name))
			return false;
	return true;
}

static size_t names(const struct http_header *list, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += is_first(list, i);
	return n;
}

static struct str change_name(struct arena *a, struct str name)
{
	char *p = arena_strndup(a, name.p, name.len);

	for (size_t i = 0; i < name.len; i += 2)
		p[i] = other_case(p[i]);
	return (struct str){p, name.len};
}

static struct str change_blanks(struct arena *a, struct str value)
{
	_cleanup_(buf) struct buf out = BUF_INIT(OUT_MAX_BYTES);

	(void)buf_puts(&out, "\t ");
	for (size_t i = 0; i < value.len; i++) {
		(void)buf_putc(&out, value.p[i]);
		if (value.p[i] == ' ' || value.p[i] == '\t')
			(void)buf_puts(&out, " \t");
	}
	(void)buf_putc(&out, ' ');
	return (struct str){arena_dup(a, out.data, out.len), out.len};
}

/* The last name first; headers of one name keep their order. */
static void change_headers(
	struct arena *a, const struct http_header *from, size_t count, struct http_header *to)
{
	size_t n = 0;

	for (size_t i = count; i-- > 0;) {
		if (!is_first(from, i))
			continue;
		for (size_t k = i; k < count; k++)
			if (same_name(from[k].name, from[i].name))
				to[n++] = (struct http_header){change_name(a, from[k].name),
					change_blanks(a, from[k].value)};
	}
	must(n == count);
}

static struct str change_query(struct arena *a, struct str query)
{
	_cleanup_(buf) struct buf out = BUF_INIT(OUT_MAX_BYTES);
	struct str parts[PARTS_MAX], one;
	size_t count = 0;

	while (count < PARTS_MAX && str_next(&query, '&', &one)) {
		if (one.len > 0)
			parts[count++] = one;
	}
	while (count-- > 0) {
		(void)buf_put_str(&out, parts[count]);
		(void)buf_puts(&out, count > 0 ? "&" : "");
	}
	return (struct str){arena_dup(a, buf_str(&out).p, out.len), out.len};
}

static size_t lines(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.len; i++)
		n += s.p[i] == '\n';
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(arena) struct arena a = {NULL, 0};
	_cleanup_(buf) struct buf first = BUF_INIT(OUT_MAX_BYTES), second = BUF_INIT(OUT_MAX_BYTES);
	struct http_header list[SIGV4_HEADERS_MAX], changed[SIGV4_HEADERS_MAX];
	struct str rest = fuzz_str(data, size), path = STR(""), query = STR("");
	struct sigv4_request r = {.method = "POST", .headers = list, .payload = STR("SUM")};
	struct error err = ERROR_INIT;

	(void)str_next(&rest, '\x1e', &path);
	(void)str_next(&rest, '\x1e', &query);
	_cleanup_(fuzz_exact) const struct str exact_path = fuzz_exact(path);
	_cleanup_(fuzz_exact) const struct str exact_query = fuzz_exact(query);
	_cleanup_(fuzz_exact) const struct str headers = fuzz_exact(rest.p ? rest : STR(""));

	r.path = exact_path;
	r.query = exact_query;
	r.header_count = read_headers(headers, list);
	if (sigv4_put_canonical(&first, &r, &err) < 0) {
		fuzz_check_error(&err);
		must(error_is(&err, &SIGV4_INVALID));
		return 0;
	}
	must(lines(buf_str(&first)) == 5 + names(list, r.header_count));
	change_headers(&a, list, r.header_count, changed);
	r.headers = changed;
	r.query = change_query(&a, exact_query);
	must(sigv4_put_canonical(&second, &r, &err) == 0);
	must(str_eq(buf_str(&first), buf_str(&second)));
	return 0;
}
