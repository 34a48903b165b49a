/* The network, Unix sockets, and the system calls that a filter refuses. */
#include "attest/suites.h"

#include "attest/drill.h"

#define CONFINED "\"sandbox\":\"workspace-write\""
#define ONLINE   CONFINED ",\"network\":true"

/* A bot without the network and one with it. */
static void start_pair(struct drill *r, struct attest *t)
{
	drill_init(r, t);
	drill_start(r, NULL);
	(void)attest_bot(t, r->d, "offline", CONFINED);
	(void)attest_bot(t, r->d, "online", ONLINE);
}

/* A bot that reaches what `fd` listens at with these words of the probe, or is kept from it. */
static void check_reached(struct drill *r, const char *bot, const char *words, int fd)
{
	(void)drill_works(r, bot, "'%s' %s", drill_probe(r->t), words);
	attest_true(r->t, drill_was_reached(fd), "nothing arrived of '%s' by %s", words, bot);
}

static void check_not_reached(struct drill *r, const char *bot, const char *words, int fd)
{
	struct drilled done = drill_sh(r, bot, "'%s' %s", drill_probe(r->t), words);

	attest_true(r->t, done.ran && done.code == 1, "'%s' by %s: " STR_FMT, words, bot,
		STR_ARG(done.text));
	attest_true(r->t, !drill_was_reached(fd), "'%s' by %s arrived", words, bot);
}

static void AG_091_no_network_unless_given(struct attest *t)
{
	int tcp_port, udp_port;
	int tcp = drill_listen_tcp(t, &tcp_port), udp = drill_listen_udp(t, &udp_port);
	const char *tcp_words = attest_path(t, "tcp %d", tcp_port);
	const char *udp_words = attest_path(t, "udp %d", udp_port);
	struct drill r;

	start_pair(&r, t);
	check_reached(&r, "online", tcp_words, tcp);
	check_reached(&r, "online", udp_words, udp);
	check_not_reached(&r, "offline", tcp_words, tcp);
	check_not_reached(&r, "offline", udp_words, udp);
}

static void AG_092_offline_sockets_come_from_unix_sockets(struct attest *t)
{
	const char *path = attest_path(t, "%s/service", attest_outside(t));
	const char *hidden = attest_path(t, "@%s", path);
	int by_path = drill_listen_unix(t, path), by_name = drill_listen_unix(t, hidden);
	const char *path_words = attest_path(t, "connect '%s'", path);
	const char *name_words = attest_path(t, "connect '%s'", hidden);
	struct drill r;

	start_pair(&r, t);
	check_reached(&r, "online", name_words, by_name); /* so it could be reached */
	check_not_reached(&r, "offline", path_words, by_path);
	check_not_reached(&r, "offline", name_words, by_name);
	(void)attest_bot(
		t, r.d, "naming", attest_path(t, CONFINED ",\"unix_sockets\":[\"%s\"]", path));
	check_reached(&r, "naming", path_words, by_path);
	check_not_reached(&r, "naming", name_words, by_name);
}

static void AG_093_a_filter_refuses_every_unix_socket(struct attest *t)
{
	static const char *const types[] = {"stream", "dgram", "seqpacket"};
	const char *path = attest_path(t, "%s/service", attest_outside(t));
	int fd = drill_listen_datagram(t, path);
	const char *words = attest_path(t, "pair dgram '%s'", path);
	const char *outside[] = {drill_probe(t), "pair", "dgram", path, NULL};
	struct drill r;

	start_pair(&r, t);
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		attest_has(t, "a Unix socket",
			drill_sh(&r, "offline", "'%s' socket %s", drill_probe(t), types[i]).out,
			attest_path(t, "%s: EPERM\n", types[i]));
	attest_has(t, "the command's status", drill_works(&r, "offline", "cat /proc/self/status"),
		"Seccomp:\t2\n");
	attest_true(t, attest_run(t, outside, NULL).status == 0 && drill_was_reached(fd),
		"attest: a pair outside does not reach the name either");
	check_not_reached(&r, "offline", words, fd);
	(void)drill_works(&r, "offline", "'%s' streams", drill_probe(t));
}

static void AG_094_naming_one_socket_reaches_them_all(struct attest *t)
{
	const char *named = attest_path(t, "%s/named", attest_outside(t));
	const char *other = attest_path(t, "%s/other", attest_tmp(t));
	int named_fd = drill_listen_unix(t, named), other_fd = drill_listen_unix(t, other), port;
	int tcp = drill_listen_tcp(t, &port);
	struct drill r;

	drill_init(&r, t);
	drill_start(&r, NULL);
	(void)attest_bot(
		t, r.d, "naming", attest_path(t, CONFINED ",\"unix_sockets\":[\"%s\"]", named));
	check_reached(&r, "naming", attest_path(t, "connect '%s'", named), named_fd);
	check_reached(&r, "naming", attest_path(t, "connect '%s'", other), other_fd);
	check_not_reached(&r, "naming", attest_path(t, "tcp %d", port), tcp);
}

static void AG_096_online_any_unix_socket(struct attest *t)
{
	const char *path = attest_path(t, "%s/service", attest_tmp(t));
	const char *hidden = attest_path(t, "@%s", path);
	int by_path = drill_listen_unix(t, path), by_name = drill_listen_unix(t, hidden);
	struct drill r;

	start_pair(&r, t);
	check_reached(&r, "online", attest_path(t, "connect '%s'", path), by_path);
	check_reached(&r, "online", attest_path(t, "connect '%s'", hidden), by_name);
}

/* How many sessions the daemon counts, this one's included. */
static int64_t sessions(struct attest *t, struct attest_daemon *d)
{
	const struct json *stats = attest_call(t, d->client, "\"op\":\"stats\"");
	int64_t count = 0;

	attest_true(t, json_i64(json_get(stats, "sessions"), &count) == 0,
		"the daemon does not count its sessions");
	return count;
}

static void AG_097_online_not_the_daemons_socket(struct attest *t)
{
	struct drilled done;
	struct drill r;
	int64_t before;

	start_pair(&r, t);
	before = sessions(t, r.d);
	done = drill_sh(&r, "online", "'%s' ask '%s' '{\"id\":1,\"op\":\"shutdown\"}'",
		drill_probe(t), r.d->socket);
	attest_true(t, done.ran && done.code == 1, "a bot asked the daemon: " STR_FMT,
		STR_ARG(done.text));
	attest_has(t, "what it was told", done.out, "connect: E");
	attest_true(t, sessions(t, r.d) == before, "the daemon has another session");
	(void)drill_works(&r, "online", "true");
	(void)attest_bot(t, r.d, "free", "");
	attest_has(t, "the same from outside",
		drill_works(&r, "free", "'%s' ask '%s' '{\"id\":1,\"op\":\"stats\"}'",
			drill_probe(t), r.d->socket),
		"\"result\"");
}

static struct str probe_outside(struct attest *t, const char *word)
{
	const char *argv[] = {drill_probe(t), word, NULL};

	return attest_run(t, argv, NULL).out;
}

static void AG_107_the_filter_refuses_io_uring(struct attest *t)
{
	static const char *const bots[] = {"offline", "online"};
	static const char *const calls[] = {
		"io_uring_setup", "io_uring_enter", "io_uring_register"};
	struct str outside = probe_outside(t, "uring");
	struct drill r;

	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		if (str_find(outside, str_from(attest_path(t, "%s: EPERM", calls[i])), 0) >= 0)
			attest_not_here(t, "%s is refused outside a sandbox too", calls[i]);
	}
	start_pair(&r, t);
	for (size_t i = 0; i < ARRAY_LEN(bots) * ARRAY_LEN(calls); i++) {
		const char *bot = bots[i / ARRAY_LEN(calls)];
		const char *call = calls[i % ARRAY_LEN(calls)];

		attest_has(t, bot, drill_sh(&r, bot, "'%s' uring", drill_probe(t)).out,
			attest_path(t, "%s: EPERM\n", call));
	}
}

/* Refused with EPERM, or the command is ended by SIGSYS (128 + 31). */
static void check_foreign(struct drill *r, const char *bot, const char *word)
{
	struct drilled done = drill_sh(r, bot, "'%s' %s", drill_probe(r->t), word);

	attest_true(r->t, done.ran, "%s: " STR_FMT, word, STR_ARG(done.text));
	if (done.code != 159)
		attest_has(r->t, bot, done.out, attest_path(r->t, "%s: EPERM\n", word));
}

static void AG_108_the_filter_refuses_foreign_calls(struct attest *t)
{
	static const char *const bots[] = {"offline", "online"};
	bool int80 = str_is(probe_outside(t, "int80"), "int80: ok\n");
	struct drill r;

#ifndef __x86_64__
	attest_not_here(t, "this machine has no foreign calls");
#endif
	start_pair(&r, t);
	for (size_t i = 0; i < ARRAY_LEN(bots); i++) {
		check_foreign(&r, bots[i], "x32");
		if (int80)
			check_foreign(&r, bots[i], "int80");
		else
			attest_note(t, "int 0x80 does not work outside a sandbox either");
	}
}

const struct attest_case attest_agent_filter[] = {
	{"AG-091", NEEDS_SANDBOX, AG_091_no_network_unless_given               },
	{"AG-092", NEEDS_SANDBOX, AG_092_offline_sockets_come_from_unix_sockets},
	{"AG-093", NEEDS_SANDBOX, AG_093_a_filter_refuses_every_unix_socket    },
	{"AG-094", NEEDS_SANDBOX, AG_094_naming_one_socket_reaches_them_all    },
	{"AG-096", NEEDS_SANDBOX, AG_096_online_any_unix_socket                },
	{"AG-097", NEEDS_SANDBOX, AG_097_online_not_the_daemons_socket         },
	{"AG-107", NEEDS_SANDBOX, AG_107_the_filter_refuses_io_uring           },
	{"AG-108", NEEDS_SANDBOX, AG_108_the_filter_refuses_foreign_calls      },
	{NULL,     0,             NULL					 },
};
