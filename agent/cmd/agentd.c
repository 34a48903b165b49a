/* The commands that consort-agentd carries out, and how `agent` becomes it. */
#include "agent/cmd/agentd.h"

#include <stdio.h>
#include <unistd.h>

#include "agent/cmd/commands.h"
#include "mem/mem.h"
#include "os/os.h"

static char **arguments;

void agentd_keep_arguments(char **argv)
{
	arguments = argv;
}

/* Returns only when it failed. None of these takes words, so reading the options moved none. */
static int become(const char *command)
{
	_cleanup_(mem) char *program = NULL;
	struct error err = ERROR_INIT;

	must(arguments);
	if (os_helper(AGENTD, &program, &err) == 0) {
		(void)execv(program, arguments); /* returns only when it failed */
		(void)error_sys(&err, "start '%s'", program);
	}
	(void)fprintf(stderr, "agent %s: %s: %s\n", command, error_code(&err),
		err.text); /* nobody else to tell */
	return CLI_FAILED;
}

static int become_serve(void *options, char **args, int count)
{
	(void)options;
	(void)args;
	(void)count;
	return become("serve");
}

const struct cli_command cmd_serve = {
	.name = "serve",
	.arguments = "",
	.purpose = "run the daemon in the foreground",
	.about = "Serves the store's bots on a Unix socket until it is told to shut down, or gets "
		 "SIGTERM or SIGINT. Exits 75 when another daemon owns the store or the socket.",
	.groups = {{"Place", place_options, ARRAY_LEN(place_options),
			   offsetof(struct serve_options, place)},
		   {"Startup", startup_options, STARTUP_OPTIONS,
			offsetof(struct serve_options, startup)}},
	.options_size = sizeof(struct serve_options),
	.run = become_serve,
};

static int become_login(void *options, char **args, int count)
{
	(void)options;
	(void)args;
	(void)count;
	return become("login");
}

static const struct cli_option login_options[] = {
	CLI_OPT_FLAG(
		struct login_options, no_browser, "no-browser", "only print the page's address"),
	CLI_OPT_TEXT(struct login_options, issuer, "issuer", "URL",
		"who signs people in (https://auth.openai.com)"),
	CLI_OPT_NUMBER(struct login_options, port, "port", "N", 0, 65535,
		"of the callback on 127.0.0.1; 0 for a free one (1455)"),
	CLI_OPT_NUMBER(struct login_options, timeout, "timeout", "SECONDS", 1, LOGIN_LIMIT_MAX_S,
		"how long to wait for the browser (600)"),
};

const struct cli_command cmd_login_chatgpt = {
	.name = "login chatgpt",
	.arguments = "",
	.purpose = "sign in to ChatGPT in the browser",
	.about = "Opens the sign-in page, waits on 127.0.0.1 for the browser to come back, and "
		 "keeps the tokens in ~/.agent/chatgpt.json, from where the daemon uses and renews "
		 "them for models of the provider chatgpt.",
	.groups = {{NULL, login_options, ARRAY_LEN(login_options), 0}},
	.options_size = sizeof(struct login_options),
	.run = become_login,
};

static int become_receipts(void *options, char **args, int count)
{
	(void)options;
	(void)args;
	(void)count;
	return become("receipts verify");
}

static const struct cli_option receipts_options[] = {
	CLI_OPT_FLAG(
		struct receipts_options, pretty, "pretty", "print the receipts, and a sentence"),
};

const struct cli_command cmd_receipts_verify = {
	.name = "receipts verify",
	.arguments = "",
	.purpose = "check that the record of verdicts is whole",
	.about =
		"Each verdict that took effect left a receipt, chained to the one before it by its "
		"hash. This "
		"reads all of them and says which is the first that was changed, put in or taken "
		"out. "
		"A store "
		"whose receipts and head were both written anew shows only to who noted an earlier "
		"head.",
	.groups = {{NULL, receipts_options, ARRAY_LEN(receipts_options), 0},
		   {"Place", place_options, ARRAY_LEN(place_options),
			offsetof(struct receipts_options, place)}},
	.options_size = sizeof(struct receipts_options),
	.run = become_receipts,
};
