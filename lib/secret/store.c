/*
 * Secrets by name: from the environment, then from an env file. Errors name a line, never what is
 * in it.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <errno.h>

#include "mem/mem.h"
#include "os/os.h"
#include "secret/internal.h"
#include "table/table.h"

enum {
	FILE_MAX_BYTES = 256 * 1024, /* secret.h */
	/* Nobody but the owner (AG-165); who may write could name a key of his own. */
	FORBIDDEN_MODE = 077,
};

const struct error_kind SECRET_ENV_PERMISSIONS = {"env_file_permissions", ERROR_CLASS_DENIED};
const struct error_kind SECRET_ENV_INVALID = {"env_file_invalid", ERROR_CLASS_USAGE};

struct secret {
	struct secret *next; /* all of a store, or all of a file being read */
	struct str name;     /* both point into data */
	struct str value;
	size_t size;
	char data[];
};

struct secret_store {
	struct secret *all;        /* those replaced by a later file too: somebody may hold them */
	struct table *environment; /* name to struct secret, as asked for */
	struct table *file;
};

struct secret *secret_new(struct str name, struct str value)
{
	size_t data = name.len + value.len + 2;
	struct secret *s = xcalloc(1, sizeof(*s) + data);

	s->size = sizeof(*s) + data;
	memcpy(s->data, name.p, name.len);
	memcpy(s->data + name.len + 1, value.p, value.len);
	s->name = (struct str){s->data, name.len};
	s->value = (struct str){s->data + name.len + 1, value.len};
	return s;
}

void secret_free(struct secret *s)
{
	if (s)
		wipe_free(s, s->size);
}

void secret_buf_cleanup(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->cap);
	buf_release(b);
}

static void free_all(struct secret *s)
{
	while (s) {
		struct secret *next = s->next;

		wipe_free(s, s->size);
		s = next;
	}
}

struct secret_store *secret_store_new(void)
{
	struct secret_store *s = xcalloc(1, sizeof(*s));

	s->environment = table_new();
	s->file = table_new();
	return s;
}

void secret_store_free(struct secret_store *s)
{
	if (!s)
		return;
	table_free(s->environment);
	table_free(s->file);
	free_all(s->all);
	free(s);
}

struct str secret_expose(const struct secret *s)
{
	return s->value;
}

/* The file as read, and what of it is read so far. */
struct reader {
	const char *path;
	unsigned line;
	struct secret *found;
	char *value; /* as long as the file: a value with its escapes undone */
	size_t value_len;
};

static int refuse(const struct reader *r, struct error *err, const char *what)
{
	return error_set(err, &SECRET_ENV_INVALID, "'%s' line %u: %s", r->path, r->line, what);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct str skip_blanks(struct str s)
{
	while (s.len && is_blank(s.p[0])) {
		s.p++;
		s.len--;
	}
	return s;
}

static struct str skip(struct str s, size_t n)
{
	return (struct str){s.p + n, s.len - n};
}

static bool is_name_byte(char c, bool first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (!first && c >= '0' && c <= '9');
}

static size_t name_length(struct str s)
{
	size_t n = 0;

	while (n < s.len && is_name_byte(s.p[n], n == 0))
		n++;
	return n;
}

static int read_bare(struct reader *r, struct str *rest, struct error *err)
{
	while (rest->len && !is_blank(rest->p[0])) {
		char c = rest->p[0];

		if (c == '"' || c == '\'' || c == '\\' || c == '`')
			return refuse(
				r, err, "a value with quotes or backslashes must stand in quotes");
		r->value[r->value_len++] = c;
		*rest = skip(*rest, 1);
	}
	return 0;
}

static int read_single(struct reader *r, struct str *rest, struct error *err)
{
	ptrdiff_t end = str_find(*rest, STR("'"), 1);

	if (end < 0)
		return refuse(r, err, "the quote is not closed on this line");
	r->value_len = (size_t)end - 1;
	memcpy(r->value, rest->p + 1, r->value_len);
	*rest = skip(*rest, (size_t)end + 1);
	return 0;
}

/* The byte that a backslash and c stand for, or -1. */
static int unescape(char c)
{
	switch (c) {
	case 'n':
		return '\n';
	case 't':
		return '\t';
	case 'r':
		return '\r';
	case '"':
	case '\\':
	case '$':
	case '`':
		return c;
	default:
		return -1;
	}
}

static int read_double(struct reader *r, struct str *rest, struct error *err)
{
	struct str s = skip(*rest, 1);

	while (s.len && s.p[0] != '"') {
		int c = (unsigned char)s.p[0];

		if (c == '\\') {
			s = skip(s, 1);
			c = s.len ? unescape(s.p[0]) : -1;
			if (c < 0)
				return refuse(r, err, "unknown escape in double quotes");
		}
		r->value[r->value_len++] = (char)c;
		s = skip(s, 1);
	}
	if (!s.len)
		return refuse(r, err, "the quote is not closed on this line");
	*rest = skip(s, 1);
	return 0;
}

static int read_value(struct reader *r, struct str *rest, struct error *err)
{
	r->value_len = 0;
	if (rest->len && rest->p[0] == '\'')
		return read_single(r, rest, err);
	if (rest->len && rest->p[0] == '"')
		return read_double(r, rest, err);
	return read_bare(r, rest, err);
}

static int check_bytes(const struct reader *r, struct str line, struct error *err)
{
	for (size_t i = 0; i < line.len; i++) {
		unsigned char c = (unsigned char)line.p[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return refuse(r, err, "a control character");
	}
	return 0;
}

/* Blank, a comment, or `export`? NAME=VALUE and perhaps a comment. */
static int read_line(struct reader *r, struct str line, struct error *err)
{
	struct str rest = skip_blanks(line);
	struct secret *s;
	struct str name;

	if (check_bytes(r, rest, err) < 0)
		return -1;
	if (!rest.len || rest.p[0] == '#')
		return 0;
	if (str_starts(rest, STR("export ")) || str_starts(rest, STR("export\t")))
		rest = skip_blanks(skip(rest, sizeof("export") - 1));
	name = (struct str){rest.p, name_length(rest)};
	rest = skip(rest, name.len);
	if (!name.len || !rest.len || rest.p[0] != '=')
		return refuse(r, err, "not NAME=value");
	rest = skip(rest, 1);
	if (read_value(r, &rest, err) < 0)
		return -1;
	if (rest.len && !is_blank(rest.p[0]))
		return refuse(r, err, "text right behind the closing quote");
	rest = skip_blanks(rest);
	if (rest.len && rest.p[0] != '#')
		return refuse(r, err, "a value with blanks must stand in quotes");
	s = secret_new(name, (struct str){r->value, r->value_len});
	s->next = r->found;
	r->found = s;
	return 0;
}

static int read_lines(struct reader *r, struct str content, struct error *err)
{
	struct str line;

	while (str_next(&content, '\n', &line)) {
		r->line++;
		if (line.len && line.p[line.len - 1] == '\r')
			line.len--;
		if (read_line(r, line, err) < 0)
			return -1;
	}
	return 0;
}

/* Newest first in the list, so of one name the last line wins, as in a shell. */
static void keep(struct secret_store *store, struct secret *found)
{
	struct table *file = table_new();
	struct secret *last = NULL;

	for (struct secret *s = found; s; s = s->next) {
		if (!table_get(file, s->name))
			(void)table_set(file, s->name, s); /* there was none */
		last = s;
	}
	if (last) {
		last->next = store->all;
		store->all = found;
	}
	table_free(store->file);
	store->file = file;
}

static int read_content(
	struct secret_store *store, const char *path, struct str content, struct error *err)
{
	struct reader r = {.path = path};
	int rc;

	r.value = xmalloc(content.len + 1);
	rc = read_lines(&r, content, err);
	wipe_free(r.value, content.len + 1);
	if (rc < 0)
		free_all(r.found);
	else
		keep(store, r.found);
	return rc;
}

static int check_file(int fd, const char *path, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_sys(err, "look at '%s'", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, &SECRET_ENV_INVALID, "'%s' is not a regular file", path);
	if (st.st_mode & FORBIDDEN_MODE)
		return error_set(err, &SECRET_ENV_PERMISSIONS,
			"'%s' has mode %04o: group or others have access; make it 0600", path,
			(unsigned)st.st_mode & 07777);
	return 0;
}

int secret_store_load_env(struct secret_store *store, const char *path, struct error *err)
{
	struct error cause = ERROR_INIT;
	_cleanup_(fd) int fd = -1;
	size_t room = FILE_MAX_BYTES + 1;
	size_t len = 0;
	char *content;
	int rc;

	if (os_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd, &cause) < 0) {
		if (cause.sys == ENOENT) {
			keep(store, NULL);
			return 0;
		}
		if (err)
			*err = cause;
		return -1;
	}
	if (check_file(fd, path, err) < 0)
		return -1;
	content = xmalloc(room);
	rc = os_read_full(fd, content, room, &len, err);
	if (rc == 0 && len == room)
		rc = error_set(
			err, &SECRET_ENV_INVALID, "'%s' is over %d bytes", path, FILE_MAX_BYTES);
	if (rc == 0)
		rc = read_content(store, path, (struct str){content, len}, err);
	wipe_free(content, room);
	return rc;
}

/* An empty variable is how one is switched off; it does not hide the file's. */
static const struct secret *from_environment(struct secret_store *store, struct str name)
{
	struct secret *s = table_get(store->environment, name);
	const char *value;

	if (s)
		return s;
	value = getenv(name.p);
	if (!value || !value[0])
		return NULL;
	s = secret_new(name, str_from(value));
	s->next = store->all;
	store->all = s;
	(void)table_set(store->environment, name, s); /* there was none */
	return s;
}

const struct secret *secret_store_get(struct secret_store *store, const char *name)
{
	const struct secret *s = from_environment(store, str_from(name));

	if (s)
		return s;
	s = table_get(store->file, str_from(name));
	return s && s->value.len ? s : NULL;
}
