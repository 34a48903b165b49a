/* What stays read-only inside writable folders: names, the daemon's own files, rules. */
#include "attest/suites.h"

#include "attest/drill.h"

#define CONFINED "\"sandbox\":\"workspace-write\""

enum { COMMANDS_MAX = 24 };

/* A list of commands on its way. */
struct commands {
	struct attest *t;
	const char *items[COMMANDS_MAX + 1];
	size_t count;
};

static void put(struct commands *c, const char *form, const char *path)
{
	struct str rest = str_from(form), part;
	struct buf text = BUF_INIT(8192);
	bool first = true;

	must(c->count < COMMANDS_MAX);
	while (str_next(&rest, '@', &part)) { /* '@' is the path */
		must((first || buf_puts(&text, path) == 0) &&
			buf_put(&text, part.p, part.len) == 0);
		first = false;
	}
	c->items[c->count++] = attest_path(c->t, STR_FMT, STR_ARG(buf_str(&text)));
	buf_release(&text);
}

static const char *workspace_of(struct attest *t)
{
	return attest_path(t, "%s/ws", attest_home(t));
}

/* A workspace with a folder that has a file, and a bot that may write it. */
static void start_with(struct drill *r, struct attest *t, const char *folder)
{
	drill_init(r, t);
	if (folder)
		attest_write(t, attest_path(t, "%s/there", folder), "old\n");
	drill_start(r, NULL);
	(void)attest_bot(t, r->d, "b", CONFINED);
}

/* Every way a command has to change a folder that is there and holds `there`. */
static void check_read_only(struct drill *r, const char *bot, const char *folder)
{
	static const char *const forms[] = {"echo x >> '@/there'", "echo x > '@/there'",
		"rm '@/there'", "touch '@/new'", "mkdir '@/new'", "ln -s /etc '@/new'",
		"mv '@/there' '@/new'", "chmod 0777 '@/there'", "mv '@' '@.gone'", "rm -r '@'",
		"chmod 0777 '@'", "ln '@/there' '@.link'", "mkdir -p '@.new' && mv -T '@.new' '@'"};
	struct commands c = {.t = r->t};

	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		put(&c, forms[i], folder);
	drill_kept_all(r, bot, c.items);
	attest_true(r->t, str_is(attest_read(r->t, attest_path(r->t, "%s/there", folder)), "old\n"),
		"'%s/there' was changed", folder);
	attest_absent(r->t, attest_path(r->t, "%s/new", folder));
	attest_absent(r->t, attest_path(r->t, "%s.gone", folder));
	attest_mode(r->t, "the file", attest_path(r->t, "%s/there", folder), 0644);
}

/* The rest of the workspace may be written. */
static void check_beside(struct drill *r, const char *bot)
{
	(void)drill_works(r, bot, "echo x > beside && rm beside");
}

static void check_name(struct attest *t, const char *name)
{
	const char *folder = attest_path(t, "%s/%s", workspace_of(t), name);
	struct drill r;

	start_with(&r, t, folder);
	check_read_only(&r, "b", folder);
	check_beside(&r, "b");
}

static void AG_075_git_stays_read_only(struct attest *t)
{
	check_name(t, ".git");
}

static void AG_076_agents_stays_read_only(struct attest *t)
{
	check_name(t, ".agents");
}

static void AG_077_codex_stays_read_only(struct attest *t)
{
	check_name(t, ".codex");
}

static void AG_078_protected_names_cannot_be_made(struct attest *t)
{
	static const char *const names[] = {".git", ".agents", ".codex"};
	static const char *const forms[] = {"mkdir '@'", "mkdir -p '@/sub'", "touch '@'",
		"touch '@/file'", "ln -s /etc '@'", "mkdir -p other && mv -T other '@'",
		"echo x > file; mv -T file '@'", "rmdir '@'"};
	const char *folder = attest_path(t, "%s/folder", attest_outside(t));
	int writes[ARRAY_LEN(names)][2];
	struct drill r;

	drill_init(&r, t);
	attest_write(t, attest_path(t, "%s/keep", folder), "");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		writes[i][0] = drill_write(&r, attest_path(t, "%s/config", names[i]), "x\n");
		writes[i][1] = drill_write(
			&r, attest_path(t, "%s/%s/config", folder, names[i]), "x\n");
	}
	drill_start(&r, NULL);
	(void)attest_bot(
		t, r.d, "b", attest_path(t, CONFINED ",\"writable_roots\":[\"%s\"]", folder));
	for (size_t i = 0; i < ARRAY_LEN(names) * 2; i++) {
		const char *at = attest_path(
			t, "%s/%s", i % 2 ? folder : r.d->workspace, names[i / 2]);
		struct commands c = {.t = t};

		for (size_t k = 0; k < ARRAY_LEN(forms); k++)
			put(&c, forms[k], at);
		drill_kept_all(&r, "b", c.items);
		attest_absent(t, at);
		(void)drill_refused(&r, "b", writes[i / 2][i % 2], "sandbox_no_gate");
		attest_absent(t, at);
	}
	check_beside(&r, "b");
}

static void AG_079_aws_is_read_only_where_it_is(struct attest *t)
{
	const char *folder = attest_path(t, "%s/.aws", workspace_of(t));
	const char *other = attest_path(t, "%s/other", attest_outside(t));
	struct drill r;

	start_with(&r, t, folder);
	check_read_only(&r, "b", folder);
	attest_write(t, attest_path(t, "%s/keep", other), "");
	(void)attest_bot(t, r.d, "c", attest_path(t, CONFINED ",\"workspace\":\"%s\"", other));
	(void)drill_works(&r, "c", "mkdir .aws && echo x > .aws/config");
	attest_true(t, attest_exists(attest_path(t, "%s/.aws/config", other)), "nothing was made");
}

/* A bot whose writable root is the home, the store's folder and all. */
static void start_at_home(struct drill *r, struct attest *t, const char *more)
{
	drill_start(r, NULL);
	(void)attest_bot(t, r->d, "b",
		attest_path(t, CONFINED ",\"writable_roots\":[\"%s\"]%s", attest_home(t), more));
	(void)drill_works(r, "b", "echo x > '%s/mine'", attest_home(t));
}

static void check_store(struct attest *t, struct drill *r)
{
	(void)attest_call(t, r->d->client, "\"op\":\"stats\"");
	attest_daemon_stop(t, r->d);
	drill_again(r, NULL);
	(void)attest_call(t, r->d->client, "\"op\":\"inspect\",\"bot\":\"b\"");
}

static void AG_084_the_store_is_read_only(struct attest *t)
{
	static const char *const forms[] = {"echo x >> '@'", "printf x | dd of='@' conv=notrunc",
		"truncate -s 0 '@'", "rm '@'", "mv '@' '@.gone'", "echo x > new; mv new '@'",
		"chmod 0666 '@'", "ln '@' /tmp/attest-link", "cp /dev/null '@'"};
	struct commands c = {.t = t};
	struct drill r;

	drill_init(&r, t);
	start_at_home(&r, t, "");
	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		put(&c, forms[i], r.d->store);
	drill_kept_all(&r, "b", c.items);
	check_store(t, &r);
}

static void AG_085_what_sqlite_keeps_beside_it_too(struct attest *t)
{
	static const char *const suffixes[] = {"-wal", "-shm", "-journal"};
	static const char *const forms[] = {"echo x >> '@'", "truncate -s 0 '@'", "touch '@'"};
	static const char *const there[] = {
		"rm '@'", "mv '@' '@.gone'", "echo x > new; mv new '@'"};
	struct commands c = {.t = t};
	struct drill r;

	drill_init(&r, t);
	start_at_home(&r, t, "");
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		const char *path = attest_path(t, "%s%s", r.d->store, suffixes[i]);

		attest_true(t, attest_exists(path) == (i < 2), "attest: '%s'", path);
		for (size_t k = 0; k < ARRAY_LEN(forms); k++)
			put(&c, forms[k], path);
		for (size_t k = 0; i < 2 && k < ARRAY_LEN(there); k++)
			put(&c, there[k], path);
	}
	drill_kept_all(&r, "b", c.items);
	attest_absent(t, attest_path(t, "%s-journal", r.d->store));
	check_store(t, &r);
}

static void AG_086_the_daemons_socket_is_read_only(struct attest *t)
{
	static const char *const forms[] = {"rm '@'", "mv '@' '@.gone'", "chmod 0666 '@'",
		"echo x > new; mv new '@'", "ln '@' '@.link'", "touch '@'"};
	struct commands c = {.t = t};
	struct drill r;

	drill_init(&r, t);
	start_at_home(&r, t, ",\"network\":true");
	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		put(&c, forms[i], r.d->socket);
	put(&c, attest_path(t, "'%s' bind '@'", drill_probe(t)), r.d->socket);
	put(&c, attest_path(t, "rm -f '@'; '%s' bind '@'", drill_probe(t)), r.d->socket);
	drill_kept_all(&r, "b", c.items);
	attest_mode(t, "the socket", r.d->socket, 0600);
	(void)attest_call(t, attest_connect(t, r.d->socket), "\"op\":\"stats\"");
}

static void AG_090_a_protected_link_refuses_the_call(struct attest *t)
{
	static const char *const names[] = {".git", ".agents", ".codex", ".aws"};
	const char *real = attest_path(t, "%s/real", attest_outside(t));
	const char *ws = workspace_of(t);
	struct drill r;
	int calls[4];

	drill_init(&r, t);
	attest_write(t, attest_path(t, "%s/there", real), "old\n");
	attest_write(t, attest_path(t, "%s/by-edit", ws), "old\n");
	calls[0] = drill_shell(&r, "touch ran '%s/ran'", real);
	calls[1] = drill_write(&r, "by-write", "x\n");
	calls[2] = drill_edit(&r, "by-edit", "old", "new");
	calls[3] = drill_patch(&r, "by-patch", "x");
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b", CONFINED);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		attest_true(t, attest_sh(t, "ln -s '%s' '%s/%s'", real, ws, names[i]).status == 0,
			"attest: no link");
		for (size_t k = 0; k < ARRAY_LEN(calls); k++)
			(void)drill_refused(&r, "b", calls[k], "protected_path_is_symlink");
		attest_true(t, attest_sh(t, "rm '%s/%s'", ws, names[i]).status == 0,
			"the link is gone");
	}
	attest_absent(t, attest_path(t, "%s/ran", ws));
	attest_absent(t, attest_path(t, "%s/ran", real));
	attest_absent(t, attest_path(t, "%s/by-write", ws));
	attest_absent(t, attest_path(t, "%s/by-patch", ws));
	attest_true(t, str_is(attest_read(t, attest_path(t, "%s/by-edit", ws)), "old\n"),
		"a file was edited");
	(void)drill_done(&r, "b", calls[1]);
}

static void AG_124_the_rules_folder_is_read_only(struct attest *t)
{
	static const char *const missing[] = {"mkdir '@'", "touch '@'", "mkdir -p '@/sub'",
		"ln -s /etc '@'", "mkdir -p other && mv -T other '@'",
		"mkdir -p '@' && touch '@/new'"};
	const char *parent = attest_path(t, "%s/conf", attest_outside(t));
	const char *rules = attest_path(t, "%s/sub/rules", parent);
	const char *args[] = {"--protect-path", rules, NULL};
	struct commands c = {.t = t};
	struct drill r;

	drill_init(&r, t);
	attest_write(t, attest_path(t, "%s/sub/keep", parent), "");
	drill_start(&r, &(struct attest_start){.args = args});
	(void)attest_bot(
		t, r.d, "b", attest_path(t, CONFINED ",\"writable_roots\":[\"%s\"]", parent));
	for (size_t i = 0; i < ARRAY_LEN(missing); i++)
		put(&c, missing[i], rules);
	drill_kept_all(&r, "b", c.items);
	attest_absent(t, rules);
	drill_kept(&r, "b", "mv '%s/sub' '%s/gone'", parent, parent);
	attest_write(t, attest_path(t, "%s/there", rules), "old\n");
	check_read_only(&r, "b", rules);
	(void)drill_works(&r, "b", "echo x > '%s/sub/beside'", parent);
}

static void AG_125_the_cli_protects_its_rules(struct attest *t)
{
	const char *rules = attest_path(t, "%s/.agent/rules", attest_home(t));
	struct drill r;

	drill_init(&r, t);
	attest_write(t, attest_path(t, "%s/there", rules), "old\n");
	drill_start_cli(&r);
	attest_has(t, "the daemon's arguments", drill_arguments(&r),
		attest_path(t, "--protect-path=%s", rules));
	(void)attest_bot(t, r.d, "b",
		attest_path(t, CONFINED ",\"writable_roots\":[\"%s\"]", attest_home(t)));
	(void)drill_works(&r, "b", "echo x > '%s/mine'", attest_home(t));
	check_read_only(&r, "b", rules);
}

static void AG_224_the_agent_folder_is_read_only(struct attest *t)
{
	static const char *const names[] = {"config.toml", "env", "rules/default.rules", "sonny/x"};
	static const char *const there[] = {
		"echo x >> '@'", "rm '@'", "mv '@' '@.gone'", "echo x > new; mv new '@'"};
	static const char *const others[] = {
		"mkdir -p '@'", "mkdir -p $(dirname '@') && touch '@'"};
	const char *home = attest_home(t);
	int writes[ARRAY_LEN(names)];
	struct commands c = {.t = t};
	struct drill r;

	drill_init(&r, t);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *path = attest_path(t, "%s/.agent/%s", home, names[i]);

		writes[i] = drill_write(&r, path, "x\n");
		if (i == 1) /* one of them is there */
			attest_write(t, path, "old=1\n");
		for (size_t k = 0; i == 1 && k < ARRAY_LEN(there); k++)
			put(&c, there[k], path);
		for (size_t k = 0; i != 1 && k < ARRAY_LEN(others); k++)
			put(&c, others[k], path);
	}
	put(&c, "mv '@' '@.gone'", attest_path(t, "%s/.agent", home));
	put(&c, "rm -r '@'", attest_path(t, "%s/.agent", home));
	attest_true(t, attest_sh(t, "chmod 0600 .agent/env").status == 0, "attest: no mode");
	start_at_home(&r, t, "");
	drill_kept_all(&r, "b", c.items);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *path = attest_path(t, "%s/.agent/%s", home, names[i]);

		attest_true(t, drill_do(&r, "b", writes[i]).error.p, "'%s' was written", path);
		attest_true(t, attest_exists(path) == (i == 1), "'%s' was made or is gone", path);
	}
	attest_true(t, str_is(attest_read(t, attest_path(t, "%s/.agent/env", home)), "old=1\n"),
		"~/.agent/env was changed");
}

const struct attest_case attest_agent_protected[] = {
	{"AG-075", NEEDS_SANDBOX, AG_075_git_stays_read_only              },
	{"AG-076", NEEDS_SANDBOX, AG_076_agents_stays_read_only           },
	{"AG-077", NEEDS_SANDBOX, AG_077_codex_stays_read_only            },
	{"AG-078", NEEDS_SANDBOX, AG_078_protected_names_cannot_be_made   },
	{"AG-079", NEEDS_SANDBOX, AG_079_aws_is_read_only_where_it_is     },
	{"AG-084", NEEDS_SANDBOX, AG_084_the_store_is_read_only           },
	{"AG-085", NEEDS_SANDBOX, AG_085_what_sqlite_keeps_beside_it_too  },
	{"AG-086", NEEDS_SANDBOX, AG_086_the_daemons_socket_is_read_only  },
	{"AG-090", NEEDS_SANDBOX, AG_090_a_protected_link_refuses_the_call},
	{"AG-124", NEEDS_SANDBOX, AG_124_the_rules_folder_is_read_only    },
	{"AG-125", NEEDS_SANDBOX, AG_125_the_cli_protects_its_rules       },
	{"AG-224", NEEDS_SANDBOX, AG_224_the_agent_folder_is_read_only    },
	{NULL,     0,             NULL				    },
};
