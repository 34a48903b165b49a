/*
 * loopback: a model provider on 127.0.0.1 that says what a script tells it to, faults included.
 *
 * README.md beside this file describes the script and the record. It prints {"port":N} once it
 * listens, and ends on SIGTERM, on SIGINT, and when its standard input closes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "cli/cli.h"
#include "os/os.h"
#include "suite_config.h"
#include "test/harness/server.h"

enum {
	PORT_MAX = 65535,
	LATENCY_MAX_MS = 600 * 1000,
	SEALED_MAX_BYTES = 420 << 20, /* what conn.c writes at once, in records */
};

struct options {
	const char *script, *record;
	bool tls, stay;
	struct cli_number port, latency_ms;
};

static const struct cli_option own[] = {
	CLI_OPT_TEXT(struct options, script, "script", "FILE", "what is said; else only \"done\""),
	CLI_OPT_TEXT(struct options, record, "record", "FILE", "a row of JSON for each request"),
	CLI_OPT_FLAG(struct options, tls, "tls", "speak TLS with the two PEM files"),
	CLI_OPT_NUMBER(struct options, port, "port", "N", 0, PORT_MAX, "instead of a free one"),
	CLI_OPT_NUMBER(struct options, latency_ms, "latency-ms", "N", 0, LATENCY_MAX_MS,
		"before each answer"),
	CLI_OPT_FLAG(struct options, stay, "stay", "go on when standard input closes"),
};

struct loopback {
	struct server server;
	struct loop_listener *listener;
	struct loop_stream *input;
	struct loop_signal *signals[2];
};

static void on_accept(void *arg, int fd)
{
	struct loopback *l = arg;

	conn_new(&l->server, fd);
}

static void on_signal(void *arg, int signum)
{
	struct loopback *l = arg;

	(void)signum;
	loop_stop(l->server.loop);
}

static void on_input(void *arg, const char *p, size_t len)
{
	(void)arg;
	(void)p;
	(void)len;
}

static void on_input_end(void *arg, const struct error *err)
{
	struct loopback *l = arg;

	(void)err;
	loop_stop(l->server.loop);
}

static int listen_on(struct loopback *l, uint16_t port, uint16_t *ret_port, struct error *err)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	_cleanup_(fd) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(at);
	int on = 1;

	if (fd < 0)
		return error_sys(err, "make a socket");
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)); /* bind tells */
	if (bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, OS_BACKLOG) < 0 ||
		getsockname(fd, (struct sockaddr *)&at, &len) < 0)
		return error_sys(err, "listen on 127.0.0.1 port %u", port);
	if (loop_listen(l->server.loop, fd, on_accept, l, &l->listener, err) < 0)
		return -1;
	(void)fd_take(&fd); /* the listener's */
	*ret_port = ntohs(at.sin_port);
	return 0;
}

static int load(struct server *s, const struct options *o, char **args, struct error *err)
{
	_cleanup_(buf) struct buf text = BUF_INIT(SCRIPT_FILE_MAX_BYTES);

	if (o->script && os_read_file(o->script, &text, err) < 0)
		return -1;
	if (script_read(buf_str(&text), &s->script, err) < 0)
		return error_prefix(err, "%s", o->script);
	if (o->record && record_open(o->record, &s->record, err) < 0)
		return -1;
	return o->tls ? tls_context_new(args[0], args[1], &s->tls, err) : 0;
}

/* As many descriptors as may be had: a load test opens more connections than the usual limit. */
static void raise_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return; /* what there is must do, here and below */
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

static void start(struct loopback *l, const struct options *o)
{
	static const struct loop_stream_callbacks input = {on_input, on_input_end, NULL};

	l->signals[0] = loop_signal_new(l->server.loop, SIGTERM, on_signal, l);
	l->signals[1] = loop_signal_new(l->server.loop, SIGINT, on_signal, l);
	if (!o->stay)
		l->input = loop_stream_new(l->server.loop, STDIN_FILENO, -1, &input, l);
}

static void stop(struct loopback *l)
{
	struct server *s = &l->server;

	conn_close_all(s);
	loop_listener_close(l->listener);
	loop_stream_close(l->input);
	loop_signal_free(l->signals[0]);
	loop_signal_free(l->signals[1]);
	loop_free(s->loop);
	record_free(s->record);
	tls_context_free(s->tls);
	table_free(s->tries);
	arena_release(&s->arena);
	script_free(s->script);
	buf_release(&s->plain);
	buf_release(&s->sealed);
}

static int run(void *options, char **args, int count)
{
	const struct options *o = options;
	struct loopback l = {
		.server = {.latency_ms = o->latency_ms.value,
			   .plain = BUF_INIT(SEALED_MAX_BYTES),
			   .sealed = BUF_INIT(SEALED_MAX_BYTES)}
        };
	struct error err = ERROR_INIT;
	uint16_t port = 0;
	int rc;

	if (count != (o->tls ? 2 : 0))
		return cli_usage("loopback", "--tls takes two files: CERT.pem KEY.pem");
	raise_limit();
	list_init(&l.server.conns);
	l.server.tries = table_new();
	l.server.loop = loop_new();
	rc = load(&l.server, o, args, &err);
	if (rc == 0)
		rc = listen_on(&l, (uint16_t)o->port.value, &port, &err);
	if (rc == 0) {
		start(&l, o);
		(void)printf("{\"port\":%u}\n", port);
		(void)fflush(stdout); /* whoever waits for the line sees that it does not come */
		loop_run(l.server.loop);
	}
	stop(&l);
	if (rc < 0)
		(void)fprintf(stderr, "loopback: %s\n", err.text);
	return rc < 0 ? CLI_FAILED : CLI_OK;
}

static const struct cli_command command = {
	.name = "loopback",
	.arguments = "[CERT.pem KEY.pem]",
	.args_max = 2,
	.purpose = "a model provider that follows a script",
	.groups = {{NULL, own, ARRAY_LEN(own), 0}},
	.options_size = sizeof(struct options),
	.run = run,
};

static const struct cli_command *const commands[] = {&command};
static const struct cli_program program = {
	.name = "test/harness/loopback",
	.version = SUITE_VERSION,
	.purpose = "a model provider that follows a script",
	.commands = commands,
	.count = ARRAY_LEN(commands),
};

static int help(void)
{
	_cleanup_(buf) struct buf text = BUF_INIT(65536);

	if (cli_help(&program, &command, &text) < 0)
		return CLI_FAILED;
	(void)fwrite(text.data, 1, text.len, stdout); /* nothing is done about a closed one */
	return CLI_OK;
}

int main(int argc, char **argv)
{
	struct cli_words words = {argv + 1, argc - 1};
	struct options o = {.script = NULL};
	struct error err = ERROR_INIT;

	if (os_hold_standard_fds(NULL) < 0)
		return CLI_FAILED; /* and nowhere to say so */
	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return help();
	if (cli_parse(&command, &words, &o, &err) < 0)
		return cli_usage("loopback", "%s", err.text);
	return run(&o, words.items, words.count);
}
