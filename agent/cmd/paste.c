/* Whole commands for a person to paste into a shell. */
#include "agent/cmd/paste.h"

#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mem/mem.h"
#include "os/os.h"

enum { COMMAND_MAX_BYTES = 64 * 1024 /* ours: paths and names, each byte escaped */ };

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c != '\0' && strchr("_@%+=:,./-", c));
}

static bool all_plain(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (!is_plain(s.p[i]))
			return false;
	}
	return s.len > 0 && s.p[0] != '=' && s.p[0] != '%'; /* words that some shells expand */
}

static bool printable(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.p[i] < 0x20 || s.p[i] > 0x7e)
			return false;
	}
	return true;
}

static void quote_single(struct buf *to, struct str s)
{
	(void)buf_putc(to, '\''); /* full is seen by the owner of the buffer */
	for (size_t i = 0; i < s.len; i++) {
		if (s.p[i] == '\'')
			(void)buf_puts(to, "'\\''");
		else
			(void)buf_putc(to, s.p[i]);
	}
	(void)buf_putc(to, '\'');
}

static void quote_escaped(struct buf *to, struct str s)
{
	(void)buf_puts(to, "$'");
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c == '\'' || c == '\\')
			(void)buf_printf(to, "\\%c", c);
		else if (c < 0x20 || c > 0x7e)
			(void)buf_printf(
				to, "\\%03o", c); /* three digits: what follows cannot join */
		else
			(void)buf_putc(to, (char)c);
	}
	(void)buf_putc(to, '\'');
}

void paste_quote(struct buf *to, struct str word)
{
	if (all_plain(word))
		(void)buf_put_str(to, word); /* full is seen by the owner of the buffer */
	else if (printable(word))
		quote_single(to, word);
	else
		quote_escaped(to, word);
}

static char *quoted(const char *word)
{
	struct buf b = BUF_INIT(COMMAND_MAX_BYTES);

	paste_quote(&b, str_from(word));
	return buf_take(&b);
}

/* The first `agent` of PATH is this program. */
static bool on_path(void)
{
	struct str rest = str_from(getenv("PATH")), dir;
	struct stat ours, found;

	if (!rest.p || stat("/proc/self/exe", &ours) < 0)
		return false;
	while (str_next(&rest, ':', &dir)) {
		_cleanup_(mem) char *path = xasprintf(STR_FMT "/agent", STR_ARG(dir));

		if (dir.len == 0 || dir.p[0] != '/' || os_is_program(path, NULL) != 1)
			continue;
		return stat(path, &found) == 0 && found.st_dev == ours.st_dev &&
		       found.st_ino == ours.st_ino;
	}
	return false;
}

static char *program_name(void)
{
	char path[PATH_MAX];
	ssize_t len;

	if (on_path())
		return xstrdup("agent");
	len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (len <= 0)
		return xstrdup("agent");
	path[len] = '\0';
	return quoted(path);
}

/* Whether another shell of this user finds the store without being told: HOME may be another here.
 */
static bool found_anywhere(const char *store)
{
	const struct passwd *entry = getpwuid(getuid());
	_cleanup_(mem) char *path = NULL, *usual = NULL;

	if (!entry || !entry->pw_dir)
		return false;
	path = xasprintf("%s/.agent/state.sqlite", entry->pw_dir);
	return os_canonical(path, &usual, NULL) == 0 && strcmp(usual, store) == 0;
}

void paste_init(
	struct paste *p, const struct place_options *place, const char *store, const char *socket)
{
	_cleanup_(mem) char *value = NULL;

	*p = (struct paste){.program = program_name()};
	if (place->socket || (!place->store && getenv("AGENT_SOCKET"))) {
		value = quoted(socket);
		p->place = xasprintf(" --socket %s", value);
	} else if (!found_anywhere(store)) {
		value = quoted(store);
		p->place = xasprintf(" --store %s", value);
	} else {
		p->place = xstrdup("");
	}
}

void paste_release(struct paste *p)
{
	free(p->program);
	free(p->place);
	*p = (struct paste){.program = NULL};
}

/* A value that starts with a dash needs '='. */
static void option(struct buf *to, const char *name, struct str value)
{
	(void)buf_printf(to, " --%s%s", name, value.len > 0 && value.p[0] == '-' ? "=" : " ");
	paste_quote(to, value);
}

static void begin(struct buf *to, const struct paste *p, const char *command, struct str bot)
{
	(void)buf_printf(to, "%s %s%s", p->program, command, p->place);
	option(to, "bot", bot);
}

void paste_answer(struct buf *to, const struct paste *p, const struct paste_call *c, bool allow)
{
	begin(to, p, "answer", c->bot);
	(void)buf_printf(to, " --turn %" PRId64, c->turn);
	option(to, "call", c->call_id);
	if (c->step.p)
		option(to, "step", c->step);
	(void)buf_printf(to, " --request %" PRId64, c->request);
	option(to, "tag", c->tag);
	(void)buf_puts(to, allow ? " allow" : " deny");
}

void paste_follow(struct buf *to, const struct paste *p, struct str bot, int64_t after)
{
	if (bot.p)
		begin(to, p, "follow", bot);
	else
		(void)buf_printf(to, "%s follow%s --all", p->program, p->place);
	(void)buf_printf(to, " --after %" PRId64 "%s", after, p->pretty ? " --pretty" : "");
}

void paste_result(struct buf *to, const struct paste *p, struct str bot, int64_t turn)
{
	begin(to, p, "result", bot);
	(void)buf_printf(to, " --turn %" PRId64 "%s", turn, p->pretty ? " --pretty" : "");
}

void paste_continue(struct buf *to, const struct paste *p, struct str bot)
{
	begin(to, p, "run", bot);
	(void)buf_puts(to, p->pretty ? " --pretty ..." : " ...");
}
