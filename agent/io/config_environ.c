/* The environment of commands, by [shell_environment_policy]: the order is the policy's. */
#include <stdlib.h>
#include <string.h>

#include "agent/io/config.h"
#include "secret/secret.h"

static char lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* Behind one character of UTF-8. */
static size_t after(struct str s, size_t at)
{
	at++;
	while (at < s.len && ((unsigned char)s.p[at] & 0xc0) == 0x80)
		at++;
	return at;
}

/* `*` any run, `?` one character, letters of ASCII alike in both cases. In time of both lengths
 * multiplied: what was tried behind the last star is tried a byte later. */
static bool matches(struct str glob, struct str name)
{
	size_t g = 0, n = 0, star = SIZE_MAX, from = 0;

	while (n < name.len) {
		if (g < glob.len && glob.p[g] == '*') {
			star = ++g;
			from = n;
		} else if (g < glob.len && glob.p[g] == '?') {
			g++;
			n = after(name, n);
		} else if (g < glob.len && lower(glob.p[g]) == lower(name.p[n])) {
			g++;
			n++;
		} else if (star != SIZE_MAX) {
			g = star;
			n = ++from;
		} else {
			return false;
		}
	}
	while (g < glob.len && glob.p[g] == '*')
		g++;
	return g == glob.len;
}

static bool any_matches(const struct str_list *globs, struct str name)
{
	for (size_t i = 0; i < globs->count; i++) {
		if (matches(globs->items[i], name))
			return true;
	}
	return false;
}

static struct str name_of(const char *entry)
{
	const char *equals = strchr(entry, '=');

	return (struct str){entry, equals ? (size_t)(equals - entry) : strlen(entry)};
}

static bool is_inherited(const struct config *c, struct str name)
{
	static struct str core[] = {
		{"HOME",     4},
                {"LOGNAME",  7},
                {"PATH",     4},
                {"SHELL",    5},
                {"USER",     4},
		{"USERNAME", 8},
                {"TMPDIR",   6},
                {"TEMP",     4},
                {"TMP",      3}
        };
	static struct str usual[] = {
		{"*KEY*",    5},
                {"*SECRET*", 8},
                {"*TOKEN*",  7}
        };
	const struct str_list core_list = {core, ARRAY_LEN(core)};
	const struct str_list usual_list = {usual, ARRAY_LEN(usual)};

	if (c->inherit == CONFIG_NONE ||
		(c->inherit == CONFIG_CORE && !any_matches(&core_list, name)))
		return false;
	if (c->default_excludes && any_matches(&usual_list, name))
		return false;
	return !any_matches(&c->exclude, name);
}

static bool is_kept(const struct config *c, struct str name)
{
	return c->include_only.count == 0 || any_matches(&c->include_only, name);
}

char **config_environ(const struct config *c, char *const *env)
{
	_cleanup_(mem) char **kept = NULL, **set = NULL;
	size_t count = 0, sets = 0;

	while (env[count])
		count++;
	kept = xcalloc(count + 1, sizeof(*kept));
	count = 0;
	for (size_t i = 0; env[i]; i++) {
		struct str name = name_of(env[i]);

		if (is_inherited(c, name) && is_kept(c, name))
			kept[count++] = env[i];
	}
	set = xcalloc(c->set.count + 1, sizeof(*set));
	for (size_t i = 0; i < c->set.count; i++) {
		if (is_kept(c, name_of(c->set.items[i].p)))
			set[sets++] = (char *)c->set.items[i].p;
	}
	return secret_environ(kept, NULL, 0, set);
}
