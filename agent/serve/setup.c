/* What a daemon gathers before it listens. */
#include "agent/serve/setup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/io/aws_credentials.h"
#include "agent/io/chatgpt.h"
#include "agent/io/config.h"
#include "agent/io/provider_spec.h"
#include "agent/io/tokens.h"
#include "agent/serve/artifact.h"
#include "agent/serve/daemon.h"
#include "agent/serve/rulebook.h"
#include "fetch/fetch.h"
#include "os/os.h"

int setup_store_folder(const char *store, struct error *err)
{
	_cleanup_(mem) char *folder = xstrdup(store);
	char *slash = strrchr(folder, '/');

	must(slash); /* canonical */
	if (slash == folder)
		return 0;
	*slash = '\0';
	return os_mkdir_private(folder, NULL, err);
}

int setup_config(struct daemon *d, struct error *err)
{
	_cleanup_(mem) char *path = NULL;

	if (config_path(&path, err) < 0)
		return -1;
	return config_read(path, &d->config, err);
}

int setup_keys(struct daemon *d, struct error *err)
{
	_cleanup_(mem) char *home = NULL, *path = NULL;

	if (os_home(&home, err) < 0)
		return -1;
	path = xasprintf("%s/.agent/env", home);
	d->secret_store = secret_store_new();
	d->secrets = secret_set_new();
	return secret_store_load_env(d->secret_store, path, err);
}

/* As curl and others read it: the small name first, and HTTP_PROXY in capitals too, since no web
 * server's request makes this program's environment. */
static const char *proxy_of(const char *lower, const char *upper)
{
	const char *value = getenv(lower);

	return value && *value ? value : getenv(upper);
}

static int open_net(struct daemon *d, struct error *err)
{
	struct fetch_options options = {
		.loop = d->loop,
		.https_proxy = proxy_of("https_proxy", "HTTPS_PROXY"),
		.http_proxy = proxy_of("http_proxy", "HTTP_PROXY"),
		.no_proxy = proxy_of("no_proxy", "NO_PROXY"),
		.per_origin_max = (size_t)d->o->max_active,
	};

	if (fetch_new(&options, &d->fetch, err) < 0)
		return -1;
	options.proxy_anonymous = true; /* AG-216 */
	options.refuse_private = d->config && d->config->web_refuses_private;
	if (fetch_new(&options, &d->pages, err) < 0)
		return -1;
	d->aws = aws_new(&(struct aws_options){.loop = d->loop,
		.clock = d->clock,
		.keys = d->secret_store,
		.secrets = d->secrets,
		.supervisor = d->supervisor});
	d->net = (struct provider_net){.fetch = d->fetch,
		.keys = d->secret_store,
		.aws = d->aws,
		.stall_ms = d->o->stall_seconds * 1000,
		.connecting_max = d->o->max_connecting};
	providers_connect(d->providers, &d->net);
	return 0;
}

/* What commands do not get, whatever the policy keeps or sets: the variables of all presets, and
 * those the providers name. */
static void withhold_keys(struct daemon *d)
{
	_cleanup_(mem) char **env = config_environ(d->config, environ);
	size_t count = 0, providers = providers_count(d->providers);
	struct str *drop;

	while (provider_key_names[count])
		count++;
	drop = xcalloc(count + providers, sizeof(*drop));
	for (size_t i = 0; i < count; i++) {
		const struct secret *s = secret_store_get(d->secret_store, provider_key_names[i]);

		drop[i] = str_from(provider_key_names[i]);
		if (s)
			secret_set_add_secret(d->secrets, s);
	}
	for (size_t i = 0; i < providers; i++) {
		const struct provider *p = providers_at(d->providers, i);

		if (!provider_key(p))
			continue;
		secret_set_add_secret(d->secrets, provider_key(p));
		drop[count++] = provider_key_env(p);
	}
	d->command_env = secret_environ(env, drop, count, NULL);
	free(drop);
}

/* Also where no provider uses it: its tokens are redacted all the same. */
static int setup_chatgpt(struct daemon *d, struct error *err)
{
	_cleanup_(mem) char *path = NULL;

	if (tokens_path(&path, err) < 0)
		return -1;
	d->chatgpt = chatgpt_new(&(struct chatgpt_options){.loop = d->loop,
		.fetch = d->fetch,
		.clock = d->clock,
		.secrets = d->secrets,
		.path = path});
	d->net.chatgpt = d->chatgpt;
	chatgpt_look(d->chatgpt);
	return 0;
}

int setup_providers(struct daemon *d, struct error *err)
{
	if (open_net(d, err) < 0)
		return -1;
	for (size_t i = 0; i < d->o->provider_count; i++) {
		if (providers_add(d->providers, str_from(d->o->providers[i]), err) < 0)
			return error_prefix(err, "--provider");
	}
	if (d->o->provider_count == 0 && providers_add_known(d->providers, err) < 0)
		return -1;
	withhold_keys(d);
	return setup_chatgpt(d, err);
}

/* Files that SQLite has open must not be opened a second time by this process. */
static void note_store_files(struct daemon *d)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		_cleanup_(mem) char *path = xasprintf("%s%s", d->o->store, suffixes[i]);

		if (stat(path, &st) == 0)
			d->never[d->host.never_count++] = (struct guard_id){st.st_dev, st.st_ino};
	}
}

/* Our own programs are read-only in every sandbox, also where a writable folder holds them. */
static const char **protected_list(const struct daemon *d)
{
	size_t count = 0;
	const char **list;

	while (d->o->protected_paths && d->o->protected_paths[count])
		count++;
	list = xcalloc(count + 6, sizeof(*list));
	for (size_t i = 0; i < count; i++)
		list[i] = d->o->protected_paths[i];
	list[count++] = d->program;
	list[count++] = d->itself;
	list[count++] = d->writer;
	list[count++] = d->cell;
	list[count] = d->supervisor;
	return list;
}

static void note_temporary(struct daemon *d, char *taken_tmpdir)
{
	d->tmpdir = taken_tmpdir;
	d->temporary_items[0] = STR("/tmp");
	d->temporary_items[1] = str_from(d->tmpdir);
	d->temporary = (struct str_list){d->temporary_items, d->tmpdir ? 2 : 1};
}

static void make_sandbox(struct daemon *d)
{
	_cleanup_(mem) char *bot_sockets = xasprintf("%s.d", d->o->socket);
	_cleanup_(mem) char *tmpdir = NULL;
	_cleanup_(mem) const char **protected_paths = protected_list(d);
	const char *set = getenv("TMPDIR");
	struct sandbox_host host = {.store = d->o->store,
		.socket = d->o->socket,
		.bot_sockets = bot_sockets,
		.walls = d->o->walls,
		.protected_paths = protected_paths};

	if (d->sandbox)
		return;
	if (set && set[0] == '/' && os_canonical(set, &tmpdir, NULL) == 0)
		host.tmpdir = tmpdir;
	d->sandbox = sandbox_new(&host);
	note_temporary(d, mem_take(&tmpdir));
}

int setup_helpers(struct daemon *d, struct error *err)
{
	if (os_command("agent", &d->program, err) < 0 ||
		os_helper("consort-agentd", &d->itself, err) < 0 ||
		os_helper("consort-write", &d->writer, err) < 0 ||
		os_helper("consort-supervise", &d->supervisor, err) < 0 ||
		os_helper("consort-cell", &d->cell, err) < 0)
		return -1;
	return 0;
}

void setup_sweep(void *arg, const struct bot *b, const struct store_turn *t)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	struct daemon *d = arg;
	const struct tool_context c = {.host = &d->host,
		.bot = b,
		.workspace = t->workspace.p ? t->workspace : b->set.workspace};

	if (b->set.sandbox == SANDBOX_FULL_ACCESS)
		return;
	make_sandbox(d);
	sandbox_sweep(d->sandbox, tool_policy(&c, &a));
}

void setup_tools(struct daemon *d)
{
	make_sandbox(d);
	note_store_files(d);
	d->rulebook = rulebook_new();
	d->host.loop = d->loop;
	d->host.sandbox = d->sandbox;
	d->host.secrets = d->secrets;
	d->host.env = d->command_env;
	d->host.writer = d->writer;
	d->host.supervisor = d->supervisor;
	d->host.cell = d->cell;
	d->host.pages = d->pages;
	d->host.socket = d->o->socket;
	d->host.program = d->program;
	d->host.path = getenv("PATH");
	d->host.never = d->never;
	d->host.artifact = artifact_fetch;
	d->host.artifact_arg = d;
	d->host.history = history_fetch;
	d->host.history_arg = d;
	d->host.open_door = bot_door_open;
	d->host.close_door = bot_door_close;
	d->host.door_arg = d;
}

void setup_release(struct daemon *d)
{
	rulebook_free(d->rulebook);
	config_free(d->config);
	sandbox_free(d->sandbox);
	secret_set_free(d->secrets);
	secret_store_free(d->secret_store);
	free(d->command_env);
	free(d->writer);
	free(d->supervisor);
	free(d->cell);
	free(d->program);
	free(d->itself);
	free(d->tmpdir);
}
