/* Keys and other secrets: where they are taken from, and what a bot sees of them. */
#include "attest/suites.h"

#include "attest/drill.h"
#include "os/os.h"

#define CONFINED "\"sandbox\":\"workspace-write\""
#define GATED    CONFINED ",\"gates\":[{\"tag\":\"t\",\"tools\":[\"shell\"],\"expire_ms\":null}]"
#define KEY      "vermilion-quagga-7731"

static bool has_tool(const struct client *c, const char *tool)
{
	json_for_each (name, json_get(client_ready(c), "tools")) {
		if (str_is(json_str(name), tool))
			return true;
	}
	return false;
}

/* `daemon` is a link in the workspace to the daemon's folder in /proc. */
static void AG_176_no_tool_in_the_daemon_shows_its_keys(struct attest *t)
{
	static const char *const tools[] = {"read", "view_image"};
	static const char *const paths[] = {"/proc/self/environ", "/proc/self/mem",
		"/proc/thread-self/environ", "/proc/self/root/proc/self/environ", "daemon/environ",
		"daemon/mem", "daemon/maps", "daemon/task/../environ"};
	static const char *const env[] = {"OPENAI_API_KEY=" KEY, NULL};
	int calls[ARRAY_LEN(tools)][ARRAY_LEN(paths)];
	struct drill r;

	drill_init(&r, t);
	for (size_t i = 0; i < ARRAY_LEN(tools) * ARRAY_LEN(paths); i++)
		calls[i / ARRAY_LEN(paths)][i % ARRAY_LEN(paths)] = drill_call(&r,
			tools[i / ARRAY_LEN(paths)], "{\"path\":\"%s\"}",
			paths[i % ARRAY_LEN(paths)]);
	drill_start(&r, &(struct attest_start){.env = env});
	attest_true(t,
		attest_sh(t, "ln -s /proc/%d '%s/daemon'", (int)r.d->pid, r.d->workspace).status ==
			0,
		"attest: no link");
	(void)attest_bot(t, r.d, "b", "");
	for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
		if (!has_tool(r.d->client, tools[i]))
			continue; /* tried from the day it is there */
		for (size_t k = 0; k < ARRAY_LEN(paths); k++) {
			struct drilled done = drill_do(&r, "b", calls[i][k]);

			attest_lacks(t, paths[k], done.text, KEY);
			attest_true(t, done.error.p, "%s of %s was answered: " STR_FMT, tools[i],
				paths[k], STR_ARG(str_cut(done.text, 300)));
		}
	}
}

/* By a confined, an unconfined and an escalated shell. */
static void check_everywhere(struct attest *t, const char *entry)
{
	const char *env[] = {entry, NULL};
	struct drill r;
	int plain, escalated;
	int64_t turn;

	drill_init(&r, t);
	plain = drill_shell(&r, "env");
	escalated = drill_escalated(&r, "env");
	drill_start(&r, &(struct attest_start){.env = env});
	(void)attest_bot(t, r.d, "confined", GATED);
	(void)attest_bot(t, r.d, "free", "");
	attest_has(t, "a confined `env`", drill_do(&r, "confined", plain).out, entry);
	attest_has(t, "an unconfined `env`", drill_do(&r, "free", plain).out, entry);
	turn = drill_submit(&r, "confined", escalated);
	attest_answer(t, r.d, attest_pending(t, r.d, "confined"), "allow", "");
	attest_has(t, "an escalated `env`", drill_end(&r, "confined", turn).out, entry);
}

static void AG_177_a_shell_gets_the_daemons_environment(struct attest *t)
{
	check_everywhere(t, "FOO=bar");
}

static void AG_183_a_shell_sees_other_secrets(struct attest *t)
{
	check_everywhere(t, "MY_TOKEN=ochre-tapir-2214");
}

/* Lines of three kinds, and the values that must not come out of them. */
static void AG_180_what_follows_a_secrets_name_is_redacted(struct attest *t)
{
	static const char text[] = "PASSWORD=amber-heron-01\n"
				   "export API_KEY=\"amber-heron-02\"\n"
				   "AWS_SECRET_ACCESS_KEY=amber-heron-03\n"
				   "password: amber-heron-04\n"
				   "db:\n  api_key: 'amber-heron-05'\n"
				   "secret_access_key: amber-heron-06\n"
				   "{\"password\": \"amber-heron-07\", \"user\": \"ada\"}\n"
				   "{\"api_key\":\"amber-heron-08\","
				   "\"secret_access_key\":\"amber-heron-09\"}\n"
				   "colour: amber\n";
	static const char *const names[] = {"PASSWORD=", "API_KEY=", "AWS_SECRET_ACCESS_KEY=",
		"password: ", "api_key: ", "secret_access_key: ", "ada", "colour: amber"};
	const char *file = attest_path(t, "%s/config", attest_outside(t));
	struct drill r;
	int calls[2];

	attest_write(t, file, text);
	drill_init(&r, t);
	calls[0] = drill_shell(&r, "cat '%s'", file);
	calls[1] = drill_call(&r, "read", "{\"path\":\"%s\"}", file);
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b", "");
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		struct drilled done = drill_do(&r, "b", calls[i]);
		struct str shown = done.out.p ? done.out : done.text;

		attest_lacks(t, "what a tool returned", shown, "amber-heron");
		for (size_t k = 0; k < ARRAY_LEN(names); k++)
			attest_has(t, "what a tool returned", shown, names[k]);
	}
}

/* Base64 of nothing in particular: lines as openssl writes them. */
static char *random_line(struct attest *t)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned char bytes[64];
	char line[sizeof(bytes) + 1];

	must(os_random(bytes, sizeof(bytes), NULL) == 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		line[i] = digits[bytes[i] % 64];
	line[sizeof(bytes)] = '\0';
	return attest_path(t, "%s", line);
}

enum { KEY_LINES = 26, AROUND_MAX_BYTES = 256 * 1024 };

/* A file of `before` bytes, a private key, and `after` bytes. */
static const char *write_key(
	struct attest *t, char *const *lines, size_t before, size_t after, size_t number)
{
	const char *file = attest_path(t, "%s/key-%zu", attest_outside(t), number);
	struct buf text = BUF_INIT(AROUND_MAX_BYTES);

	for (size_t i = 0; i < before; i++)
		must(buf_putc(&text, i % 80 == 79 || i + 1 == before ? '\n' : 'a') == 0);
	must(buf_puts(&text, "-----BEGIN PRIVATE KEY-----\n") == 0);
	for (size_t i = 0; i < KEY_LINES; i++)
		must(buf_printf(&text, "%s\n", lines[i]) == 0);
	must(buf_puts(&text, "-----END PRIVATE KEY-----\n") == 0);
	for (size_t i = 0; i < after; i++)
		must(buf_putc(&text, i % 80 == 79 || i + 1 == after ? '\n' : 'b') == 0);
	attest_write(t, file, arena_strndup(attest_arena(t), text.data, text.len));
	buf_release(&text);
	return file;
}

/* No line of the body, and no half of one. */
static void check_no_body(struct attest *t, const char *what, struct str text, char *const *lines)
{
	for (size_t i = 0; i < KEY_LINES; i++) {
		char *half = attest_path(t, "%.32s", lines[i]);

		attest_lacks(t, what, text, half);
		attest_lacks(t, what, text, lines[i] + 32);
	}
}

/* The store holds what was shown and the artifacts: nothing of the key is in any page of it. */
static void check_store(struct attest *t, struct drill *r, char *const *lines)
{
	struct str store;

	attest_daemon_stop(t, r->d);
	store = attest_read(t, r->d->store);
	attest_has(t, "attest: the store", store, "BEGIN PRIVATE KEY");
	check_no_body(t, "the store", store, lines);
}

static void AG_181_the_body_of_a_private_key_is_redacted(struct attest *t)
{
	static const struct {
		size_t before, after;
	} rows[] = {
		{0,     0    }, /* alone */
		{3400,  0    }, /* over the border of a page, where reads end */
		{64800, 0    }, /* and of a pipe's buffer */
		{32000, 60000}, /* over the end of the head that is shown */
		{60000, 31500}, /* over the start of the tail */
	};
	char *lines[KEY_LINES];
	int calls[ARRAY_LEN(rows)][2];
	struct drill r;

	for (size_t i = 0; i < KEY_LINES; i++)
		lines[i] = random_line(t);
	drill_init(&r, t);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *file = write_key(t, lines, rows[i].before, rows[i].after, i);

		calls[i][0] = drill_shell(&r, "cat '%s'", file);
		calls[i][1] = drill_call(&r, "read", "{\"path\":\"%s\",\"limit\":5000}", file);
	}
	drill_start(&r, NULL);
	(void)attest_bot(t, r.d, "b", "");
	for (size_t i = 0; i < ARRAY_LEN(rows) * 2; i++) {
		struct drilled done = drill_do(&r, "b", calls[i / 2][i % 2]);

		attest_true(
			t, !done.error.p, "the file was not read: " STR_FMT, STR_ARG(done.text));
		check_no_body(t, i % 2 ? "read" : "cat", done.text, lines);
		if (i < 2)
			attest_has(t, "what is left", done.text, "BEGIN PRIVATE KEY");
	}
	check_store(t, &r, lines);
}

static void AG_182_only_exact_values_in_tool_output(struct attest *t)
{
	static const char *const env[] = {"OPENAI_API_KEY=" KEY, NULL};
	static const char encoded[] = "dmVybWlsaW9uLXF1YWdnYS03NzMx"; /* KEY in base64 */
	const char *script =
		"{\"rehearsal\":1,\"repeat\":true}\n"
		"{\"calls\":[{\"tool\":\"shell\",\"arguments\":{\"command\":"
		"\"printf vermilion-%s quagga-7731; echo; printf vermilion-%s quagga-7731 | "
		"base64\"}}]}\n"
		"{\"say\":\"the key is " KEY "\"}\n";
	struct attest_daemon *d = attest_daemon_start(
		t, &(struct attest_start){.script = script, .env = env});
	const struct json *outcome;
	struct str result;

	(void)attest_bot(t, d, "b", "");
	outcome = attest_turn(t, d, "b", "go");
	result = attest_output(t, d, "b", 0);
	attest_lacks(t, "tool output", result, KEY);
	attest_has(t, "tool output", result, encoded);
	attest_has(t, "what the model said", json_str(json_get(outcome, "text")), KEY);
}

const struct attest_case attest_agent_secrets[] = {
	{"AG-176", NEEDS_NOTHING, AG_176_no_tool_in_the_daemon_shows_its_keys   },
	{"AG-177", NEEDS_SANDBOX, AG_177_a_shell_gets_the_daemons_environment   },
	{"AG-180", NEEDS_NOTHING, AG_180_what_follows_a_secrets_name_is_redacted},
	{"AG-181", NEEDS_NOTHING, AG_181_the_body_of_a_private_key_is_redacted  },
	{"AG-182", NEEDS_NOTHING, AG_182_only_exact_values_in_tool_output       },
	{"AG-183", NEEDS_SANDBOX, AG_183_a_shell_sees_other_secrets             },
	{NULL,     0,             NULL					  },
};
