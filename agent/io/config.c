/* config.toml, read whole and checked before any of it holds. */
#include "agent/io/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "log/log.h"
#include "os/os.h"
#include "toml/toml.h"

const struct error_kind CONFIG_INVALID = {"config_invalid", ERROR_CLASS_USAGE};

enum {
	GLOBS_MAX = 256,             /* ours: of one list */
	GLOB_MAX_BYTES = 256,        /* ours: names of variables are short */
	SET_MAX = 256,               /* ours */
	VALUE_MAX_BYTES = 32 * 1024, /* ours: a quarter of what execve(2) takes for one */
};

struct reader {
	struct config *c;
	const char *name; /* of the file */
	struct error *err;
};

/* -1, with the place and what is wrong there. */
static int wrong(const struct reader *r, const struct json *at, const char *key, const char *what)
{
	return error_set(
		r->err, &CONFIG_INVALID, "%s: line %u: %s: %s", r->name, toml_line(at), key, what);
}

static const struct json *member(const struct json *table, const char *key)
{
	return json_get(table, strrchr(key, '.') ? strrchr(key, '.') + 1 : key);
}

/* A key of a few words, NULL-terminated; absent: as it was. */
static int read_word(const struct reader *r, const struct json *table, const char *key,
	const char *const *words, int *ret)
{
	const struct json *at = member(table, key);
	_cleanup_(buf) struct buf what = BUF_INIT(256);

	if (!at)
		return 0;
	for (int i = 0; words[i]; i++) {
		if (at->type == JSON_STRING && str_is(at->text, words[i])) {
			*ret = i;
			return 0;
		}
	}
	(void)buf_puts(&what, "must be "); /* a few words of ours: fits */
	for (int i = 0; words[i]; i++)
		(void)buf_printf(&what, "%s\"%s\"",
			i == 0         ? ""
			: words[i + 1] ? ", "
				       : " or ",
			words[i]);
	return wrong(r, at, key, what.data);
}

static int read_bool(const struct reader *r, const struct json *table, const char *key, bool *ret)
{
	const struct json *at = member(table, key);

	if (!at)
		return 0;
	if (at->type != JSON_TRUE && at->type != JSON_FALSE)
		return wrong(r, at, key, "must be true or false");
	*ret = at->type == JSON_TRUE;
	return 0;
}

static bool is_text(struct str s, size_t max)
{
	return s.len <= max && (s.len == 0 || !memchr(s.p, '\0', s.len));
}

static int read_globs(
	const struct reader *r, const struct json *table, const char *key, struct str_list *ret)
{
	const struct json *at = member(table, key);
	struct str_list l = {NULL, 0};

	if (!at)
		return 0;
	if (at->type != JSON_ARRAY)
		return wrong(r, at, key, "must be a list of names");
	if (at->count > GLOBS_MAX)
		return wrong(r, at, key, "more than 256 names");
	l.items = arena_alloc(&r->c->arena, (at->count + 1) * sizeof(*l.items));
	json_for_each (item, at) {
		if (item->type != JSON_STRING || item->text.len == 0 ||
			!is_text(item->text, GLOB_MAX_BYTES))
			return wrong(r, item, key,
				"must be a list of names of 1 to 256 bytes, in which * and ? stand "
				"for others");
		l.items[l.count++] = item->text;
	}
	*ret = l;
	return 0;
}

static int read_set(const struct reader *r, const struct json *table, const char *key)
{
	const struct json *at = member(table, key);
	struct str_list *l = &r->c->set;

	if (!at)
		return 0;
	if (at->type != JSON_OBJECT)
		return wrong(r, at, key, "must be a table of names and texts");
	if (at->count > SET_MAX)
		return wrong(r, at, key, "more than 256 names");
	l->items = arena_alloc(&r->c->arena, (at->count + 1) * sizeof(*l->items));
	json_for_each (item, at) {
		if (item->key.len == 0 || !is_text(item->key, GLOB_MAX_BYTES) ||
			memchr(item->key.p, '=', item->key.len))
			return wrong(r, item, key, "a name of 1 to 256 bytes without = is needed");
		if (item->type != JSON_STRING || !is_text(item->text, VALUE_MAX_BYTES))
			return wrong(r, item, key, "a value must be a text of up to 32768 bytes");
		l->items[l->count++] = str_from(arena_printf(&r->c->arena, STR_FMT "=" STR_FMT,
			STR_ARG(item->key), STR_ARG(item->text)));
	}
	return 0;
}

/* A table of the document; NULL when there is none. */
static int find_table(
	const struct reader *r, const struct json *doc, const char *key, const struct json **ret)
{
	*ret = json_get(doc, key);
	if (*ret && (*ret)->type != JSON_OBJECT)
		return wrong(r, *ret, key, "must be a table");
	return 0;
}

/* A slip of the pen in a policy does nothing: that is said, though it stops nobody. */
static void note_unknown(const struct reader *r, const struct json *table, const char *const *known)
{
	if (!table)
		return;
	json_for_each (item, table) {
		int i = 0;

		while (known[i] && !str_is(item->key, known[i]))
			i++;
		if (!known[i])
			log_event(LOG_WARN, "config.unknown_key", LOG_CSTR("file", r->name),
				LOG_I64("line", toml_line(item)), LOG_STR("key", item->key));
	}
}

static int read_policy(const struct reader *r, const struct json *doc)
{
	static const char *const inherits[] = {"all", "core", "none", NULL};
	static const char *const known[] = {
		"inherit", "ignore_default_excludes", "exclude", "include_only", "set", NULL};
	bool ignore_default_excludes = true;
	int inherit = CONFIG_ALL;
	const struct json *t;

	if (find_table(r, doc, "shell_environment_policy", &t) < 0 ||
		read_word(r, t, "shell_environment_policy.inherit", inherits, &inherit) < 0 ||
		read_bool(r, t, "shell_environment_policy.ignore_default_excludes",
			&ignore_default_excludes) < 0 ||
		read_globs(r, t, "shell_environment_policy.exclude", &r->c->exclude) < 0 ||
		read_globs(r, t, "shell_environment_policy.include_only", &r->c->include_only) <
			0 ||
		read_set(r, t, "shell_environment_policy.set") < 0)
		return -1;
	r->c->inherit = (enum config_inherit)inherit;
	r->c->default_excludes = !ignore_default_excludes;
	note_unknown(r, t, known);
	return 0;
}

static int read_web(const struct reader *r, const struct json *doc)
{
	static const char *const searches[] = {"live", "cached", "disabled", NULL};
	static const char *const privates[] = {"allow", "refuse", NULL};
	static const char *const known[] = {"private", NULL};
	int search = 0, private = 0;
	const struct json *t;

	if (read_word(r, doc, "web_search", searches, &search) < 0 ||
		find_table(r, doc, "web_fetch", &t) < 0 ||
		read_word(r, t, "web_fetch.private", privates, &private) < 0)
		return -1;
	r->c->no_web_search = strcmp(searches[search], "disabled") == 0;
	r->c->web_refuses_private = private == 1;
	note_unknown(r, t, known);
	return 0;
}

void config_free(struct config *c)
{
	if (!c)
		return;
	arena_release(&c->arena);
	free(c);
}

int config_parse(const char *name, struct str text, struct config **ret, struct error *err)
{
	_cleanup_(config) struct config *c = xcalloc(1, sizeof(*c));
	const struct reader r = {c, name, err};
	struct error why = ERROR_INIT;
	const struct json *doc;

	if (toml_parse(&c->arena, text, &doc, &why) < 0)
		return error_set(err, &CONFIG_INVALID, "%s: %s", name, why.text);
	if (read_policy(&r, doc) < 0 || read_web(&r, doc) < 0)
		return -1;
	*ret = mem_take(&c);
	return 0;
}

int config_path(char **ret, struct error *err)
{
	_cleanup_(mem) char *home = NULL;

	if (os_home(&home, err) < 0)
		return -1;
	*ret = xasprintf("%s/.agent/config.toml", home);
	return 0;
}

/* 1 it is open, 0 there is none, -1. */
static int open_file(const char *path, int *ret_fd, struct error *err)
{
	struct error why = ERROR_INIT;

	/* not waiting for whoever would write into a FIFO */
	if (os_openat(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0, ret_fd,
		    &why) == 0)
		return 1;
	if (why.sys == ENOENT || why.sys == ENOTDIR)
		return 0;
	if (why.sys == ELOOP)
		return error_set(err, &CONFIG_INVALID, "%s: a symbolic link", path);
	return error_set(err, &CONFIG_INVALID, "%s: %s", path, why.text);
}

int config_read(const char *path, struct config **ret, struct error *err)
{
	_cleanup_(mem) char *text = NULL;
	_cleanup_(fd) int fd = -1;
	struct error why = ERROR_INIT;
	size_t len;
	struct stat st;
	int rc = open_file(path, &fd, err);

	if (rc < 0)
		return -1;
	if (rc == 0)
		return config_parse(path, STR(""), ret, err);
	if (fstat(fd, &st) < 0)
		return error_sys_kind(err, &CONFIG_INVALID, "%s: look at it", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, &CONFIG_INVALID, "%s: not a regular file", path);
	text = xmalloc(TOML_BYTES_MAX + 1); /* what is longer is refused for it */
	if (os_read_full(fd, text, TOML_BYTES_MAX + 1, &len, &why) < 0)
		return error_set(err, &CONFIG_INVALID, "%s: %s", path, why.text);
	if (len > TOML_BYTES_MAX)
		return error_set(err, &CONFIG_INVALID, "%s: over %d bytes", path, TOML_BYTES_MAX);
	return config_parse(path, (struct str){text, len}, ret, err);
}
