/*
 * fuzz env: nothing that stands in an env file stands in what is said of it; a file that is refused
 * changes nothing; what was accepted is read again from another spelling as the same.
 *
 * Input: the file.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "secret/secret.h"

enum {
	OUT_MAX_BYTES = 1024 * 1024, /* ours: an escape doubles the 256 KiB of a file */
	WINDOW = 6,                  /* secret.h: shorter values are no secrets */
	PATH_MAX_BYTES = 32,
};

#define KEPT "CONSORT_FUZZ_KEPT"

MEM_CLEANUP(store, struct secret_store *, secret_store_free)

/* A file of its own for this text, without a name on a disk. */
static int load(
	struct secret_store *s, struct str content, char path[PATH_MAX_BYTES], struct error *err)
{
	const int fd = memfd_create("env", MFD_CLOEXEC);
	int rc;

	must(fd >= 0 && fchmod(fd, 0600) == 0);
	must(write(fd, content.p, content.len) == (ssize_t)content.len);
	(void)snprintf(path, PATH_MAX_BYTES, "/proc/self/fd/%d", fd); /* fits */
	rc = secret_store_load_env(s, path, err);
	(void)close(fd); /* nothing is on a disk */
	return rc;
}

/* A byte that the texts of errors have nowhere: they are in lower case but for "NAME=value". */
static bool is_foreign(char c)
{
	return !((c >= 'a' && c <= 'z') || c == ' ' || c == ',' || c == '=' || c == 'N' ||
		 c == 'A' || c == 'M' || c == 'E');
}

static void check_shows_nothing(struct str content, struct str said)
{
	for (size_t at = 0; at + WINDOW <= content.len; at++) {
		bool foreign = false;

		for (size_t i = 0; i < WINDOW; i++)
			foreign |= is_foreign(content.p[at + i]);
		if (foreign)
			must(str_find(said, (struct str){content.p + at, WINDOW}, 0) < 0);
	}
}

/* "'PATH' line N: what", or what is said of the whole file. */
static void check_refused(struct str content, const char *path, const struct error *err)
{
	_cleanup_(mem) char *start = xasprintf("'%s' line ", path);
	struct str said = str_from(err->text), number;

	fuzz_check_error(err);
	must(error_is(err, &SECRET_ENV_INVALID));
	if (!str_starts(said, str_from(start))) {
		must(content.len > 256 * 1024);
		return;
	}
	said = (struct str){said.p + strlen(start), said.len - strlen(start)};
	must(str_next(&said, ':', &number) && said.p);
	for (size_t i = 0; i < number.len; i++)
		must(number.p[i] >= '0' && number.p[i] <= '9');
	check_shows_nothing(content, said);
}

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* The name before a line's first '=', or absent. */
static struct str name_in(struct str line)
{
	const char *end = line.len > 0 ? memchr(line.p, '=', line.len) : NULL;
	const char *start = end;

	while (start && start > line.p && is_name_byte(start[-1]))
		start--;
	return start == end ? (struct str){NULL, 0} : (struct str){start, (size_t)(end - start)};
}

static void put_quoted(struct buf *to, const char *name, struct str value)
{
	static const char special[] = "\n\t\r\"\\$`";
	static const char *const escapes[] = {"\\n", "\\t", "\\r", "\\\"", "\\\\", "\\$", "\\`"};

	(void)buf_printf(to, "export %s=\"", name);
	for (size_t i = 0; i < value.len; i++) {
		const char *found = value.p[i] ? strchr(special, value.p[i]) : NULL;

		if (found)
			(void)buf_puts(to, escapes[found - special]);
		else
			(void)buf_putc(to, value.p[i]);
	}
	(void)buf_puts(to, "\" # again\n");
}

static void check_value(struct secret_store *first, const char *name)
{
	_cleanup_(store) struct secret_store *second = secret_store_new();
	_cleanup_(buf) struct buf text = BUF_INIT(OUT_MAX_BYTES);
	const struct secret *s = secret_store_get(first, name), *again;
	char path[PATH_MAX_BYTES];

	if (!s) /* empty, in a comment, or none of the file's */
		return;
	must(!memchr(secret_expose(s).p, '\0', secret_expose(s).len));
	put_quoted(&text, name, secret_expose(s));
	must(!text.full);
	if (text.len > 256 * 1024)
		return;
	must(load(second, buf_str(&text), path, NULL) == 0);
	again = secret_store_get(second, name);
	must(again && str_eq(secret_expose(s), secret_expose(again)));
}

static void check_accepted(struct secret_store *s, struct str content)
{
	enum { NAMES_MAX = 32 };
	struct str line;

	for (size_t i = 0; i < NAMES_MAX && str_next(&content, '\n', &line); i++) {
		const struct str name = name_in(line);
		_cleanup_(mem) char *text = name.p ? xstrndup(name.p, name.len) : NULL;

		if (text && !getenv(text))
			check_value(s, text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct str content = fuzz_str(data, size);
	_cleanup_(store) struct secret_store *s = secret_store_new();
	struct error err = ERROR_INIT;
	char path[PATH_MAX_BYTES];
	const struct secret *kept;

	must(load(s, STR(KEPT "=something\n"), path, NULL) == 0);
	kept = secret_store_get(s, KEPT);
	must(kept && str_is(secret_expose(kept), "something"));
	if (load(s, content, path, &err) < 0) {
		must(secret_store_get(s, KEPT) == kept);
		check_refused(content, path, &err);
		return 0;
	}
	must(str_find(content, STR(KEPT), 0) >= 0 || !secret_store_get(s, KEPT));
	check_accepted(s, content);
	return 0;
}
