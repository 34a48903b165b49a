/* agent models: what the providers have. */
#include "agent/cmd/ask.h"
#include "agent/cmd/columns.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/connect.h"
#include "agent/cmd/output.h"
#include "mem/mem.h"
#include "os/os.h"

enum { TEXT_MAX_BYTES = 8 * 1024 * 1024 /* ours: several times a line of the wire */ };

struct options {
	struct place_options place;
	struct startup_options startup;
	const char *provider;
	bool discover, no_spawn, pretty;
};

static const struct cli_option own[] = {
	CLI_OPT_TEXT(struct options, provider, "provider-name", "NAME", "of this provider alone"),
	CLI_OPT_FLAG(struct options, discover, "discover", "write them to ~/.agent/models as well"),
	CLI_OPT_FLAG(struct options, no_spawn, "no-spawn", "fail when no daemon runs"),
	CLI_OPT_FLAG(struct options, pretty, "pretty", "print a table instead of JSON"),
};

static void print_pretty(const struct json *providers)
{
	static const char *const headings[] = {"MODEL", "PROBLEM", NULL};
	_cleanup_(columns) struct columns c;
	_cleanup_(buf) struct buf b = BUF_INIT(TEXT_MAX_BYTES);

	columns_init(&c, headings);
	json_for_each (p, providers) {
		struct str code = json_str(json_get(p, "error"));

		if (code.p) {
			columns_add(&c, p->key);
			columns_add(&c, code);
		}
		json_for_each (model, ask_list(p, "models")) {
			_cleanup_(mem) char *name = xasprintf(
				STR_FMT "/" STR_FMT, STR_ARG(p->key), STR_ARG(json_str(model)));

			columns_add(&c, str_from(name));
			columns_add(&c, STR(""));
		}
	}
	(void)columns_write(&c, &b); /* a line of the wire fits */
	output_buf(&b);
}

/* One PROVIDER/MODEL a line; what could be no model reference is left out. */
static int write_list(const struct json *providers, struct error *err)
{
	_cleanup_(buf) struct buf b = BUF_INIT(TEXT_MAX_BYTES);
	_cleanup_(mem) char *home = NULL, *folder = NULL, *path = NULL;

	json_for_each (p, providers) {
		json_for_each (model, ask_list(p, "models")) {
			struct str name = json_str(model);

			if (memchr(name.p, '\n', name.len))
				continue;
			(void)buf_printf(
				&b, STR_FMT "/" STR_FMT "\n", STR_ARG(p->key), STR_ARG(name));
		}
	}
	if (os_home(&home, err) < 0)
		return -1;
	folder = xasprintf("%s/.agent", home);
	path = xasprintf("%s/models", folder);
	if (os_mkdir_private(folder, NULL, err) < 0)
		return -1;
	return os_replace_file(path, buf_str(&b), 0600, err);
}

/* Whether any provider could be asked. */
static bool is_any_listed(const struct json *providers)
{
	json_for_each (p, providers) {
		if (json_get(p, "models"))
			return true;
	}
	return false;
}

static int run(void *options, char **args, int count)
{
	struct options *o = options;
	_cleanup_(connection) struct connection c = {.client = NULL};
	struct error err = ERROR_INIT;
	const struct json *result, *providers;
	struct ask a;

	(void)args;
	(void)count;
	if (connect_open(&o->place, &o->startup, o->no_spawn ? CONNECT_ONLY : CONNECT_START, &c,
		    &err) < 0)
		return ask_failed("models", c.client, &err);
	ask_begin(&a, "models");
	if (o->provider)
		json_put_cstr(&a.j, "provider", o->provider);
	if (ask_call(&a, c.client, &result, &err) < 0)
		return ask_failed("models", c.client, &err);
	providers = json_get(result, "providers");
	if (o->discover && write_list(providers, &err) < 0)
		return ask_failed("models", c.client, &err);
	if (o->pretty)
		print_pretty(providers);
	else
		output_json(result);
	return output_end("models", is_any_listed(providers) ? CLI_OK : CLI_FAILED);
}

const struct cli_command cmd_models = {
	.name = "models",
	.arguments = "",
	.purpose = "print the models that the providers have",
	.about = "Asks every provider of the daemon, starting one if none runs, for the models it "
		 "has; an answer is kept for five minutes. Fails when no provider answers.",
	.groups = {{NULL, own, ARRAY_LEN(own), 0},
		   {"Place", place_options, ARRAY_LEN(place_options), offsetof(struct options, place)},
		   {"Startup", startup_options, STARTUP_OPTIONS, offsetof(struct options, startup)}},
	.options_size = sizeof(struct options),
	.run = run,
};
