/* AGENTS.md files and profiles. */
#include "agent/cmd/agents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/core/bot.h"
#include "os/os.h"

const struct error_kind INSTRUCTIONS_UNREADABLE = {"instructions_unreadable", ERROR_CLASS_IO};
const struct error_kind INSTRUCTIONS_LIMIT = {"instructions_limit", ERROR_CLASS_LIMIT};
const struct error_kind PROFILE_NOT_FOUND = {"profile_not_found", ERROR_CLASS_NOT_FOUND};
const struct error_kind PROFILE_INVALID = {"profile_invalid", ERROR_CLASS_USAGE};

enum {
	FILES_MAX = 512,                             /* ours: two a folder of a very deep path */
	FILE_MAX_BYTES = BOT_INSTRUCTIONS_MAX_BYTES, /* more fits no bot */
};

/* A whole file as text: 1, 0 when there is none, -1. A link that leads nowhere is there. */
static int read_text(const char *path, struct buf *to, struct error *err)
{
	struct error cause = ERROR_INIT;
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0;
	if (os_read_file(path, to, &cause) < 0) {
		if (error_is(&cause, &ERROR_LIMIT))
			return error_set(err, &INSTRUCTIONS_LIMIT, "'%s' is over %d bytes", path,
				FILE_MAX_BYTES);
		return error_set(err, &INSTRUCTIONS_UNREADABLE, "%s", cause.text);
	}
	if (!utf8_valid(buf_str(to)))
		return error_set(err, &INSTRUCTIONS_UNREADABLE, "'%s' is not UTF-8", path);
	return 1;
}

/* Files that were read, by what they are and not by name. */
struct seen {
	struct {
		dev_t dev;
		ino_t ino;
	} files[FILES_MAX];
	size_t count;
};

static bool is_new(struct seen *s, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return true; /* reading it says what is wrong */
	for (size_t i = 0; i < s->count; i++) {
		if (s->files[i].dev == st.st_dev && s->files[i].ino == st.st_ino)
			return false;
	}
	if (s->count < FILES_MAX) {
		s->files[s->count].dev = st.st_dev;
		s->files[s->count].ino = st.st_ino;
		s->count++;
	}
	return true;
}

static int put_file(struct buf *to, struct seen *seen, const char *path, struct error *err)
{
	_cleanup_(buf) struct buf text = BUF_INIT(FILE_MAX_BYTES);
	int there;

	if (!is_new(seen, path))
		return 0;
	there = read_text(path, &text, err);
	if (there <= 0 || str_trim(buf_str(&text)).len == 0)
		return there < 0 ? -1 : 0;
	(void)buf_printf(to, "\n\n# %s\n\n", path);
	if (buf_put_str(to, str_trim(buf_str(&text))) < 0)
		return error_set(err, &INSTRUCTIONS_LIMIT,
			"with '%s' the instructions are over %d bytes", path,
			BOT_INSTRUCTIONS_MAX_BYTES);
	return 0;
}

/* The AGENTS.md and .agents/AGENTS.md of the path's first len bytes. */
static int put_folder(
	struct buf *to, struct seen *seen, const char *folder, size_t len, struct error *err)
{
	static const char *const names[] = {"AGENTS.md", ".agents/AGENTS.md"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		_cleanup_(mem) char *path = xasprintf("%.*s/%s", (int)len, folder, names[i]);

		if (put_file(to, seen, path, err) < 0)
			return -1;
	}
	return 0;
}

int agents_put(struct buf *to, const char *folder, struct error *err)
{
	_cleanup_(mem) char *home = NULL, *first = NULL;
	_cleanup_(mem) struct seen *seen = xcalloc(1, sizeof(*seen));
	size_t len = 0;

	must(folder[0] == '/');
	if (os_home(&home, err) < 0)
		return -1;
	first = xasprintf("%s/.agents/AGENTS.md", home);
	if (put_file(to, seen, first, err) < 0 || put_folder(to, seen, folder, 0, err) < 0)
		return -1;
	while (folder[1] && folder[len]) {
		len += 1 + strcspn(folder + len + 1, "/");
		if (put_folder(to, seen, folder, len, err) < 0)
			return -1;
	}
	return 0;
}

/* Profiles */

/* A value of front matter: bare, in quotes, or [a, b], which becomes "a,b". */
static struct str value_of(struct arena *a, struct str text)
{
	_cleanup_(buf) struct buf list = BUF_INIT(FILE_MAX_BYTES);
	struct str rest, part;

	text = str_trim(text);
	if (text.len >= 2 && (text.p[0] == '"' || text.p[0] == '\'') &&
		text.p[text.len - 1] == text.p[0])
		return (struct str){text.p + 1, text.len - 2};
	if (text.len < 2 || text.p[0] != '[' || text.p[text.len - 1] != ']')
		return text;
	rest = (struct str){text.p + 1, text.len - 2};
	while (str_next(&rest, ',', &part)) {
		if (list.len > 0)
			(void)buf_putc(&list, ',');
		(void)buf_put_str(&list, value_of(a, part)); /* shorter than the file */
	}
	return (struct str){arena_strndup(a, list.data ? list.data : "", list.len), list.len};
}

static int take_line(
	struct arena *a, struct str line, int number, struct profile *p, struct error *err)
{
	struct str rest = line, name, value;

	line = str_trim(line);
	if (line.len == 0 || line.p[0] == '#')
		return 0;
	if (!str_next(&rest, ':', &name) || !rest.p)
		return error_set(err, &PROFILE_INVALID, "line %d: must be NAME: VALUE", number);
	value = value_of(a, rest);
	if (str_is(str_trim(name), "model"))
		p->model = value;
	else if (str_is(str_trim(name), "tools"))
		p->tools = value;
	return 0; /* others are somebody else's */
}

int profile_parse(struct arena *a, struct str text, struct profile *ret, struct error *err)
{
	struct profile p = {.body = text};
	struct str rest = text, line;
	int number = 1;

	if (!str_next(&rest, '\n', &line) || !str_is(str_trim(line), "---")) {
		p.body = str_trim(text);
		*ret = p;
		return 0;
	}
	while (rest.p && str_next(&rest, '\n', &line)) {
		number++;
		if (str_is(str_trim(line), "---")) {
			p.body = rest.p ? str_trim(rest) : STR("");
			*ret = p;
			return 0;
		}
		if (take_line(a, line, number, &p, err) < 0)
			return -1;
	}
	return error_set(err, &PROFILE_INVALID, "the front matter has no second line of ---");
}

int profile_read(struct arena *a, const char *name, const char *folder, struct profile *ret,
	struct error *err)
{
	_cleanup_(buf) struct buf text = BUF_INIT(FILE_MAX_BYTES);
	_cleanup_(mem) char *home = NULL;
	const char *path;
	int there;

	if (bot_check_name(str_from(name), "--profile", err) < 0 || os_home(&home, err) < 0)
		return -1;
	path = arena_printf(a, "%s/.agents/agents/%s.md", folder, name);
	there = read_text(path, &text, err);
	if (there == 0) {
		path = arena_printf(a, "%s/.agents/agents/%s.md", home, name);
		there = read_text(path, &text, err);
	}
	if (there < 0)
		return -1;
	if (there == 0)
		return error_set(err, &PROFILE_NOT_FOUND,
			"there is no '%s.md' in '%s/.agents/agents' and '%s/.agents/agents'", name,
			folder, home);
	if (profile_parse(a, (struct str){arena_strndup(a, buf_str(&text).p, text.len), text.len},
		    ret, err) < 0)
		return error_prefix(err, "%s", path);
	return 0;
}
