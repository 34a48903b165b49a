/* Who reaches the daemon, and what it reaches. */
#include "attest/suites.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "attest/raw.h"
#include "attest/script.h"
#include "attest/site.h"
#include "attest/space.h"
#include "attest/trace.h"
#include "attest/websocket.h"
#include "os/os.h"

/* One call of every tool there is, with the address of a page. A tool that is not in it breaks the
 * cases that say "every". */
#define EVERY_TOOL                                                                                 \
	SHELL("printf GIF89a > a.gif; echo one")                                                   \
	CALL("write", "{\"path\":\"a.txt\",\"content\":\"x\\n\"}")                                 \
	CALL("read", "{\"path\":\"a.txt\"}")                                                       \
	CALL("edit", "{\"path\":\"a.txt\",\"old\":\"x\",\"new\":\"y\"}")                           \
	CALL("apply_patch",                                                                        \
		"{\"patch\":\"*** Begin Patch\\n*** Update File: a.txt\\n@@\\n-y\\n+z\\n"          \
		"*** End Patch\\n\"}")                                                             \
	CALL("view_image", "{\"path\":\"a.gif\"}")                                                 \
	CALL("history", "{\"turn\":1}")                                                            \
	CALL("web_fetch", "{\"url\":\"%s\"}")                                                      \
	CALL("note", "{\"text\":\"x\"}")                                                           \
	CALL("shell", "{\"command\":\"echo later\",\"background\":true}")                          \
	CALL("wait", "{\"handles\":[\"proc:1\"],\"timeout_ms\":20000}")                            \
	CALL("echo", "{\"text\":\"MARKER-LAST\"}")                                                 \
	IF_RESULT("MARKER-LAST", "done")
static const char *const every_tool[] = {"shell", "write", "read", "edit", "apply_patch",
	"view_image", "history", "web_fetch", "note", "shell", "wait", "echo"};

static void check_every_tool(struct attest *t, const struct attest_daemon *d)
{
	const struct json *tools = json_get(client_ready(d->client), "tools");

	must(tools);
	json_for_each (tool, tools) {
		bool known = false;

		for (size_t i = 0; i < ARRAY_LEN(every_tool); i++)
			known = known || str_is(json_str(tool), every_tool[i]);
		attest_true(t, known, "the case calls no '" STR_FMT "'", STR_ARG(json_str(tool)));
	}
}

/* A turn with every tool, whose calls all worked. */
static void use_every_tool(struct attest *t, struct attest_daemon *d, const char *bot)
{
	check_every_tool(t, d);
	attest_has(t, "the turn", attest_said(attest_turn(t, d, bot, "go")), "done");
	for (size_t i = 0; i < ARRAY_LEN(every_tool); i++)
		attest_lacks(t, every_tool[i], attest_output(t, d, bot, (int)i), "\"error\"");
}

static bool inet_address(const struct trace_call *c)
{
	return trace_has(c, "sa_family=AF_INET");
}

/*
 * AG-020
 */
/* The first argument, a descriptor. */
static struct str descriptor(const struct trace_call *c)
{
	struct str rest = c->args, fd;

	return str_next(&rest, ',', &fd) ? fd : c->args;
}

/* A call of listen() must be on a descriptor that this thread bound to a Unix address just before.
 */
static bool listens_on_unix(const struct trace *tr, size_t at)
{
	const struct trace_call *c = &tr->calls[at];

	for (size_t i = at; i-- > 0;) {
		const struct trace_call *b = &tr->calls[i];

		if (b->thread == c->thread && trace_names(b, "bind") &&
			str_eq(descriptor(b), descriptor(c)))
			return b->value == 0 && trace_has(b, "sa_family=AF_UNIX");
	}
	return false;
}

static size_t lines_with(struct str table, const char *state)
{
	struct str line, rest = table;
	size_t count = 0;

	(void)str_next(&rest, '\n', &line); /* the heading */
	while (str_next(&rest, '\n', &line))
		count += line.len > 0 && (!state || str_find(line, str_from(state), 0) >= 0);
	return count;
}

/* The namespace's tables hold the case's own listener and nothing else. */
static void check_tables(struct attest *t)
{
	size_t listening = lines_with(attest_read(t, "/proc/self/net/tcp"), " 0A ") +
			   lines_with(attest_read(t, "/proc/self/net/tcp6"), " 0A ");

	attest_true(t, listening == 1, "the TCP tables show %zu listeners beside the case's own",
		listening - 1);
	attest_true(t,
		lines_with(attest_read(t, "/proc/self/net/udp"), NULL) == 0 &&
			lines_with(attest_read(t, "/proc/self/net/udp6"), NULL) == 0,
		"a UDP port is bound");
}

static void check_listeners(struct attest *t, const char *file)
{
	struct trace tr = trace_read(t, file);
	size_t listens = 0;

	for (size_t i = 0; i < tr.count; i++) {
		const struct trace_call *c = &tr.calls[i];

		attest_true(t, !trace_names(c, "bind") || !inet_address(c),
			"an inet socket is bound: " STR_FMT, STR_ARG(c->args));
		if (!trace_names(c, "listen"))
			continue;
		attest_true(t, listens_on_unix(&tr, i), "listen(" STR_FMT ") is on no Unix socket",
			STR_ARG(c->args));
		listens++;
	}
	attest_true(t, listens > 0, "the trace has no listen at all");
}

/* A daemon of a store of its own and a turn of a bot with every tool, traced. */
static struct attest_daemon *traced_session(struct attest *t, const char *file, const char *calls,
	const char *sandbox, const struct site *site)
{
	const char *script = attest_path(t, EVERY_TOOL, site_url(t, site, "/text/x"));
	char *store = attest_path(t, "%s.d/state.sqlite", file);
	struct attest_daemon *d = trace_daemon(
		t, &(struct attest_start){.script = script, .store = store}, file, calls);

	(void)attest_bot(t, d, "b", attest_path(t, "\"sandbox\":\"%s\"", sandbox));
	use_every_tool(t, d, "b");
	return d;
}

static void AG_020_no_inet_socket_listens(struct attest *t)
{
	static const char calls[] = "socket,bind,listen";
	char *confined = attest_path(t, "%s/confined", attest_home(t));
	char *free_file = attest_path(t, "%s/free", attest_home(t));
	struct site *site = site_start(t, "127.0.0.1");
	struct attest_daemon *d;

	/* Outside the namespace: where users are mapped bubblewrap is not root's. */
	trace_stop(t, traced_session(t, confined, calls, "workspace-write", site));
	space_enter(t, SPACE_NET | SPACE_TMP);
	site = site_start(t, "127.0.0.1"); /* the case's own listener */
	d = traced_session(t, free_file, calls, "danger-full-access", site);
	check_tables(t);
	trace_stop(t, d);
	check_listeners(t, confined);
	check_listeners(t, free_file);
}

/*
 * AG-022
 */
/* A reply of a provider over WebSocket: its events. */
static void reply_well(struct attest *t, int conn)
{
	websocket_write(t, conn,
		"{\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\",\"object\":"
		"\"response\","
		"\"status\":\"in_progress\",\"model\":\"m\",\"output\":[]}}");
	websocket_write(t, conn,
		"{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":"
		"\"message\","
		"\"id\":\"msg_1\",\"status\":\"completed\",\"role\":\"assistant\",\"content\":[{"
		"\"type\":"
		"\"output_text\",\"text\":\"well\",\"annotations\":[]}]}}");
	websocket_write(t, conn,
		"{\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"object\":"
		"\"response\","
		"\"status\":\"completed\",\"output\":[],\"usage\":{\"input_tokens\":3,\"output_"
		"tokens\":1,"
		"\"total_tokens\":4}}}");
}

/* The connection is the daemon's own, to the case's listener, and there is no other listener while
 * it is open and none in all that was traced. */
static void AG_022_the_websocket_goes_outward(struct attest *t)
{
	char *file = attest_path(t, "%s/trace", attest_home(t));
	struct attest_daemon *d;
	struct played_request q;
	const struct json *outcome, *r;
	struct played p;
	struct trace tr;
	int64_t turn = 0;

	space_enter(t, SPACE_NET | SPACE_TMP);
	played_open(t, &p);
	const char *args[] = {"--provider",
		attest_path(t, "web=responses-ws,ws://127.0.0.1:%d/v1", p.port), NULL};
	d = trace_daemon(
		t, &(struct attest_start){.args = args}, file, "socket,bind,listen,connect");
	(void)attest_call(t, d->client,
		"\"op\":\"create\",\"bot\":\"b\",\"model\":\"web/m\",\"instructions\":\"i\","
		"\"tools\":[\"echo\"]");
	attest_true(t, !played_is_asked(&p), "it connected before a turn asked for it");
	r = attest_call(t, d->client,
		"\"op\":\"submit\",\"bot\":\"b\",\"request_id\":\"r1\",\"prompt\":\"hello\"");
	attest_true(t, json_i64(json_get(r, "turn"), &turn) == 0, "no turn");
	q = played_next(t, &p);
	websocket_accept(t, &q);
	attest_has(t, "the request", websocket_read(t, q.conn), "\"type\":\"response.create\"");
	check_tables(t);
	reply_well(t, q.conn);
	outcome = attest_wait(t, d, "b", turn);
	attest_true(t, str_is(attest_said(outcome), "well"), "the turn did not complete: " STR_FMT,
		STR_ARG(json_str(json_get(outcome, "detail"))));
	check_tables(t);
	trace_stop(t, d);
	check_listeners(t, file);
	tr = trace_read(t, file);
	attest_true(t, trace_find(&tr, 0, "connect", "sa_family=AF_INET") >= 0,
		"the trace has no connection to the provider");
}

/*
 * AG-026
 */
/* What a stranger in another session and user namespace, with nothing in its environment, says. */
static void stranger(struct attest *t, const char *socket, const char *answer)
{
	struct raw *r;
	const struct json *reply;
	const char *requests[] = {
		"{\"id\":1,\"op\":\"configure\",\"bot\":\"b\",\"approval_hold_ms\":4321}\n",
		answer,
		"{\"id\":3,\"op\":\"wait\",\"handles\":[\"turn:b/1\"],\"timeout_ms\":20000}\n",
		"{\"id\":4,\"op\":\"inspect\",\"bot\":\"b\"}\n",
		"{\"id\":5,\"op\":\"delete\",\"bot\":\"b\"}\n",
		"{\"id\":6,\"op\":\"shutdown\"}\n",
	};

	(void)clearenv(); /* cannot fail */
	attest_true(t, setsid() >= 0 && unshare(CLONE_NEWUSER) == 0, "attest: no stranger: %s",
		strerror(errno));
	r = raw_open(t, socket);
	attest_true(t, raw_json(t, r) != NULL, "the daemon said nothing to a stranger");
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		raw_puts(t, r, requests[i]);
		reply = raw_json(t, r);
		attest_true(t, reply && json_get(reply, "result"),
			"a stranger's %s is refused: " STR_FMT, requests[i],
			STR_ARG(json_str(json_get(reply, "error"))));
	}
}

static void run_stranger(struct attest *t, const char *socket, const char *answer)
{
	pid_t pid = fork(); /* one thread */
	int status;

	attest_true(t, pid >= 0, "attest: no process: %s", strerror(errno));
	if (pid == 0) {
		stranger(t, socket, answer);
		_exit(0);
	}
	attest_true(t, waitpid(pid, &status, 0) == pid && status == 0,
		"the stranger was refused something");
}

static void AG_026_whoever_connects_controls_every_bot(struct attest *t)
{
	static const char *const credentials[] = {"SO_PEERCRED", "SO_PASSCRED", "SO_PEERPIDFD",
		"SO_PASSPIDFD", "SO_PEERSEC", "SO_PEERGROUPS", "SCM_CREDENTIALS", "0x4d", "0x4c"};
	char *file = attest_path(t, "%s/trace", attest_home(t));
	struct attest_daemon *d = trace_daemon(t,
		&(struct attest_start){.script = SHELL("echo hi") IF_RESULT("hi", "done")}, file,
		"getsockopt,setsockopt,recvmsg,recvmmsg,accept4");
	const struct json *approval;
	int64_t request = 0;
	struct trace tr;

	(void)attest_bot(t, d, "b", "\"gates\":[{\"tag\":\"me\",\"tools\":[\"shell\"]}]");
	(void)attest_submit(t, d, "b", "go");
	approval = attest_pending(t, d, "b");
	must(json_i64(json_get(approval, "request"), &request) == 0);
	attest_disconnect(t, d);
	run_stranger(t, d->socket,
		attest_path(t,
			"{\"id\":2,\"op\":\"answer\",\"bot\":\"b\",\"turn\":1,\"call_id\":"
			"\"" STR_FMT "\",\"request\":%lld,\"decision\":\"allow\"}\n",
			STR_ARG(json_str(json_get(approval, "call_id"))), (long long)request));
	attest_true(t, attest_daemon_wait(t, d) == 0, "the daemon did not end as it was told");
	tr = trace_read(t, file);
	for (size_t i = 0; i < tr.count; i++) {
		for (size_t k = 0; k < ARRAY_LEN(credentials); k++)
			attest_true(t,
				trace_makes_thread(&tr.calls[i]) ||
					!trace_has(&tr.calls[i], credentials[k]),
				"the daemon asks who a peer is: %s(" STR_FMT ")", tr.calls[i].name,
				STR_ARG(tr.calls[i].args));
	}
	attest_true(t, trace_find(&tr, 0, "accept4", NULL) >= 0, "the trace has no connection");
}

/*
 * AG-059
 */
static int resolver(struct attest *t)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
		.sin_port = htons(53),
		.sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
	char *conf = attest_path(t, "%s/resolv.conf", attest_home(t));
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0)
		attest_broken(t, "attest: no resolver: %s", strerror(errno));
	attest_write(t, conf, "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n");
	space_bind(t, conf, "/etc/resolv.conf");
	return fd;
}

/* Whether a name was asked for since the last time. */
static bool was_asked(int resolver_fd)
{
	char packet[1024];
	bool any = false;

	while (recv(resolver_fd, packet, sizeof(packet), 0) > 0)
		any = true;
	return any;
}

/* The resolver sees what is asked: else its silence says nothing. */
static void check_resolver(struct attest *t, int fd)
{
	const char *ask[] = {"getent", "hosts", "analytics.example.com", NULL};

	(void)attest_run(t, ask, NULL);
	attest_true(t, was_asked(fd), "attest: the recording resolver is not asked");
}

/* But for the page that the bot asked for. */
static void no_network_in(
	struct attest *t, const char *file, const char *socket, const struct site *site)
{
	const char *page = attest_path(t, "sin_port=htons(%d)", site_port(site));
	struct trace tr = trace_read(t, file);
	int sockets = 0;

	for (size_t i = 0; i < tr.count; i++) {
		const struct trace_call *c = &tr.calls[i];

		sockets += trace_names(c, "socket") && trace_has(c, "AF_INET");
		attest_true(t, sockets <= 1 && (!inet_address(c) || trace_has(c, page)),
			"%s(" STR_FMT ")", c->name, STR_ARG(c->args));
		attest_true(t,
			!trace_names(c, "connect") || trace_has(c, "nscd") ||
				trace_has(c, socket) || trace_has(c, page),
			"the daemon or what it runs connects: " STR_FMT, STR_ARG(c->args));
	}
	attest_true(t, trace_find(&tr, 0, "socket", "AF_UNIX") >= 0, "the trace has no socket");
}

static void AG_059_no_analytics(struct attest *t)
{
	static const char calls[] = "connect,sendto,sendmsg,sendmmsg,socket";
	char *confined = attest_path(t, "%s/confined", attest_home(t));
	char *free_file = attest_path(t, "%s/free", attest_home(t));
	const char *stats[] = {"stats", NULL}, *ls[] = {"ls", NULL};
	struct site *before = site_start(t, "127.0.0.1"), *site;
	struct attest_daemon *held, *d;
	int names;

	/* as in AG-020 */
	held = traced_session(t, confined, calls, "workspace-write", before);
	trace_stop(t, held);
	space_enter(t, SPACE_NET | SPACE_TMP);
	site = site_start(t, "127.0.0.1");
	names = resolver(t);
	check_resolver(t, names);
	d = traced_session(t, free_file, calls, "danger-full-access", site);
	attest_true(t,
		attest_agent(t, d, stats, NULL).status == 0 &&
			attest_agent(t, d, ls, NULL).status == 0,
		"the command line fails");
	trace_stop(t, d);
	attest_true(t, !was_asked(names), "a name was looked up");
	no_network_in(t, confined, held->socket, before);
	no_network_in(t, free_file, d->socket, site);
}

/*
 * AG-230
 */
/* connect() of a process without any capability: its errno, or 0. */
static int connect_without_capabilities(struct attest *t, const char *socket)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{.effective = 0}};
	pid_t pid = fork(); /* one thread */
	int status;

	attest_true(t, pid >= 0, "attest: no process: %s", strerror(errno));
	if (pid == 0) {
		int fd;

		if (syscall(SYS_capset, &header, none) < 0)
			_exit(255);
		_exit(raw_try(socket, &fd));
	}
	attest_true(t,
		waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) != 255,
		"attest: no process without capabilities");
	return WEXITSTATUS(status);
}

static void AG_230_the_mode_alone_guards_the_socket(struct attest *t)
{
	struct attest_daemon *d = attest_daemon_start(t, &(struct attest_start){0});
	struct stat st;

	attest_mode(t, "the socket", d->socket, 0600);
	attest_true(t, lstat(d->socket, &st) == 0 && st.st_uid == geteuid(),
		"the socket is not the daemon's user's");
	attest_true(t,
		lgetxattr(d->socket, "system.posix_acl_access", NULL, 0) < 0 &&
			(errno == ENODATA || errno == EOPNOTSUPP),
		"the socket has an access control list");
	attest_true(t, connect_without_capabilities(t, d->socket) == 0, "the owner cannot connect");
	attest_true(t, chmod(d->socket, 0) == 0, "attest: chmod");
	attest_true(t, connect_without_capabilities(t, d->socket) == EACCES,
		"the kernel lets somebody connect to a socket of mode 0");
}

const struct attest_case attest_agent_reach[] = {
	{"AG-020", NEEDS_STRACE | NEEDS_NAMESPACE | NEEDS_SANDBOX, AG_020_no_inet_socket_listens             },
	{"AG-022", NEEDS_STRACE | NEEDS_NAMESPACE,                 AG_022_the_websocket_goes_outward         },
	{"AG-026", NEEDS_STRACE | NEEDS_NAMESPACE,                 AG_026_whoever_connects_controls_every_bot},
	{"AG-059", NEEDS_STRACE | NEEDS_NAMESPACE | NEEDS_SANDBOX, AG_059_no_analytics                       },
	{"AG-230", NEEDS_NOTHING,				  AG_230_the_mode_alone_guards_the_socket   },
	{NULL,     0,					      NULL				      },
};
