/* Whether a daemon that runs already is as the startup flags say. */
#include "agent/cmd/mismatch.h"

#include <inttypes.h>
#include <stdlib.h>

#include "agent/cmd/spawn.h"
#include "client/client.h"
#include "mem/mem.h"
#include "os/os.h"

enum { LIST_MAX_BYTES = ERROR_TEXT_MAX - 64 }; /* what an error's text has room for */

static void differ(struct buf *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void differ(struct buf *to, const char *format, ...)
{
	_cleanup_(mem) char *text = NULL;
	va_list args;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	(void)buf_printf(to, "%s%s", to->len ? "; " : "", text); /* what does not fit is left out */
}

static bool lists(const struct json *array, const char *path)
{
	if (!array || array->type != JSON_ARRAY)
		return false;
	json_for_each (item, array) {
		if (str_is(json_str(item), path))
			return true;
	}
	return false;
}

static void compare_paths(
	struct buf *to, const char *flag, const struct cli_texts *given, const struct json *there)
{
	for (size_t i = 0; i < given->count; i++) {
		_cleanup_(mem) char *path = NULL;

		if (os_canonical(given->items[i], &path, NULL) < 0 || !lists(there, path))
			differ(to, "--%s %s is not the daemon's", flag, given->items[i]);
	}
}

static void compare_number(
	struct buf *to, const char *flag, struct cli_number given, const struct json *there)
{
	int64_t value;

	if (!given.set)
		return;
	if (json_i64(there, &value) < 0)
		differ(to, "--%s is %" PRId64 ", the daemon's is none", flag, given.value);
	else if (value != given.value)
		differ(to, "--%s is %" PRId64 ", the daemon's %" PRId64, flag, given.value, value);
}

/* As the daemon says its URLs. */
static struct str without_slash(struct str url)
{
	while (url.len > 1 && url.p[url.len - 1] == '/')
		url.len--;
	return url;
}

/* NAME alone asks only that the daemon has it. A rehearsal's file is the same by either of its
 * names. */
static bool same_provider(const char *spec, const struct json *there)
{
	_cleanup_(mem) char *full = spawn_provider(spec);
	struct str name, family = {NULL, 0}, rest = str_from(spec), full_rest = str_from(full);
	struct str url = json_str(json_get(there, "url"));

	(void)str_next(&rest, '=', &name); /* what is missing stays absent */
	(void)str_next(&full_rest, '=', &name);
	if (!rest.p)
		return true;
	(void)str_next(&rest, ',', &family);
	(void)str_next(&full_rest, ',', &name);
	if (!str_eq(family, json_str(json_get(there, "family"))))
		return false;
	if (!rest.p)
		return true;
	(void)str_next(&rest, ',', &name);
	(void)str_next(&full_rest, ',', &family);
	return str_eq(without_slash(name), url) || str_eq(without_slash(family), url);
}

static void compare_providers(
	struct buf *to, const struct cli_texts *given, const struct json *there)
{
	for (size_t i = 0; i < given->count; i++) {
		struct str name, rest = str_from(given->items[i]);
		const struct json *one;
		_cleanup_(mem) char *key = NULL;

		(void)str_next(&rest, '=', &name);
		key = xstrndup(name.p, name.len);
		one = json_get(there, key);
		if (!one)
			differ(to, "--provider %s: the daemon has no '%s'", given->items[i], key);
		else if (!same_provider(given->items[i], one))
			differ(to, "--provider %s: the daemon's '%s' is another", given->items[i],
				key);
	}
}

int mismatch_check(const struct startup_options *given, const struct json *ready, struct error *err)
{
	_cleanup_(buf) struct buf found = BUF_INIT(LIST_MAX_BYTES);
	const struct json *limits = json_get(ready, "limits");

	compare_providers(&found, &given->providers, json_get(ready, "providers"));
	compare_paths(&found, "wall", &given->walls, json_get(ready, "walls"));
	compare_paths(&found, "protect-path", &given->protected_paths,
		json_get(ready, "protected_paths"));
	compare_number(
		&found, "max-processes", given->max_processes, json_get(limits, "processes"));
	compare_number(&found, "max-active", given->max_active, json_get(limits, "active"));
	compare_number(&found, "max-pending", given->max_pending, json_get(limits, "pending"));
	compare_number(&found, "max-pending-bytes", given->max_pending_bytes,
		json_get(limits, "pending_bytes"));
	compare_number(
		&found, "max-connecting", given->max_connecting, json_get(limits, "connecting"));
	compare_number(&found, "stall-timeout", given->stall_timeout,
		json_get(limits, "stall_timeout_seconds"));
	compare_number(
		&found, "idle-exit", given->idle_exit, json_get(limits, "idle_exit_seconds"));
	if (found.len == 0 && !found.full)
		return 0;
	return error_set(err, &CLIENT_MISMATCH, "%s%s", found.len ? found.data : "",
		found.full ? "; and more" : "");
}
