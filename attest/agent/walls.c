/* Walled folders: hidden from every sandboxed command. */
#include "attest/suites.h"

#include <stdlib.h>
#include <string.h>

#include "attest/drill.h"

#define CONFINED "\"sandbox\":\"workspace-write\""
#define ONLINE   CONFINED ",\"network\":true"

static const char *workspace_of(struct attest *t)
{
	return attest_path(t, "%s/ws", attest_home(t));
}

/* A folder with a file and a listener in it; the listener's path in *ret_socket. */
static int fill(struct attest *t, const char *folder, const char **ret_socket)
{
	*ret_socket = attest_path(t, "%s/service", folder);
	attest_write(t, attest_path(t, "%s/note", folder), "a note\n");
	return drill_listen_unix(t, *ret_socket);
}

static void start_walled(struct drill *r, struct attest *t, const char *wall, const char *second)
{
	const char *args[] = {"--wall", wall, second ? "--wall" : NULL, second, NULL};

	drill_init(r, t);
	drill_start(r, &(struct attest_start){.args = args});
}

static void check_hidden(struct drill *r, const char *bot, const char *folder)
{
	attest_true(r->t, drill_works(r, bot, "ls -A '%s'", folder).len == 0,
		"%s sees what lies in '%s'", bot, folder);
	drill_kept(r, bot, "touch '%s/new'", folder);
	attest_absent(r->t, attest_path(r->t, "%s/new", folder));
}

static void check_no_connect(struct drill *r, const char *bot, const char *socket, int fd)
{
	struct drilled done = drill_sh(r, bot, "'%s' connect '%s'", drill_probe(r->t), socket);

	attest_true(r->t, done.ran && done.code == 1, "%s connects to '%s': " STR_FMT, bot, socket,
		STR_ARG(done.text));
	attest_true(r->t, !drill_was_reached(fd), "%s reached '%s'", bot, socket);
}

static void check_connect(struct drill *r, const char *bot, const char *socket, int fd)
{
	(void)drill_works(r, bot, "'%s' connect '%s'", drill_probe(r->t), socket);
	attest_true(r->t, drill_was_reached(fd), "%s did not reach '%s'", bot, socket);
}

static void AG_099_online_no_socket_in_a_wall(struct attest *t)
{
	const char *wall = attest_path(t, "%s/run", attest_outside(t)), *socket, *other;
	int fd = fill(t, wall, &socket);
	int other_fd = fill(t, attest_path(t, "%s/open", attest_outside(t)), &other);
	struct drill r;

	start_walled(&r, t, wall, NULL);
	(void)attest_bot(t, r.d, "b", ONLINE);
	check_connect(&r, "b", other, other_fd);
	check_no_connect(&r, "b", socket, fd);
	check_hidden(&r, "b", wall);
}

static void AG_100_offline_no_socket_in_a_wall_though_named(struct attest *t)
{
	const char *wall = attest_path(t, "%s/run", attest_outside(t)), *socket, *other;
	int fd = fill(t, wall, &socket);
	int other_fd = fill(t, attest_path(t, "%s/open", attest_outside(t)), &other);
	struct drill r;

	start_walled(&r, t, wall, NULL);
	(void)attest_bot(t, r.d, "b",
		attest_path(t, CONFINED ",\"unix_sockets\":[\"%s\",\"%s\"]", socket, other));
	check_connect(&r, "b", other, other_fd);
	check_no_connect(&r, "b", socket, fd);
}

static bool lists(const struct json *list, const char *path)
{
	json_for_each (item, list) {
		if (str_is(json_str(item), path))
			return true;
	}
	return false;
}

static void AG_101_serve_names_the_walls(struct attest *t)
{
	const char *first = attest_path(t, "%s/first", attest_outside(t)), *socket;
	const char *second = attest_path(t, "%s/second", attest_outside(t));
	const struct json *walls;
	struct drill r;

	(void)fill(t, first, &socket);
	(void)fill(t, second, &socket);
	start_walled(&r, t, first, second);
	walls = json_get(client_ready(r.d->client), "walls");
	attest_true(t, walls && lists(walls, first) && lists(walls, second),
		"`ready` does not report both walls");
	(void)attest_bot(t, r.d, "b", CONFINED);
	check_hidden(&r, "b", first);
	check_hidden(&r, "b", second);
}

static void AG_102_the_cli_walls_its_run_folder(struct attest *t)
{
	const char *run = attest_path(t, "%s/.agent/run", attest_home(t)), *socket;
	const char *wall = attest_path(t, "--wall=%s", run);
	int fd = fill(t, run, &socket);
	struct drill r;

	drill_init(&r, t);
	drill_start_cli(&r);
	attest_has(t, "the daemon's arguments", drill_arguments(&r), wall);
	(void)attest_bot(t, r.d, "b", ONLINE);
	check_hidden(&r, "b", run);
	check_no_connect(&r, "b", socket, fd);
}

static void AG_103_a_walled_folder_is_hidden(struct attest *t)
{
	static const char *const modes[] = {"\"sandbox\":\"read-only\"", CONFINED, ONLINE};
	const char *wall = attest_path(t, "%s/run", workspace_of(t)), *socket;
	struct drill r;

	(void)fill(t, wall, &socket);
	start_walled(&r, t, wall, NULL);
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		const char *bot = attest_path(t, "bot-%zu", i);

		(void)attest_bot(t, r.d, bot, modes[i]);
		check_hidden(&r, bot, wall);
		attest_lacks(t, "the file's text", drill_sh(&r, bot, "cat '%s/note'", wall).text,
			"a note");
	}
}

static void AG_105_no_writable_root_in_a_wall(struct attest *t)
{
	const char *wall = attest_path(t, "%s/run", attest_outside(t)), *socket;
	const char *below = attest_path(t, "%s/sub", wall);
	const char *link = attest_path(t, "%s/link", attest_outside(t));
	const char *linked = attest_path(t, "%s/sub", link);
	const char *const roots[] = {wall, below, link, linked};
	struct drill r;

	(void)fill(t, wall, &socket);
	attest_write(t, attest_path(t, "%s/keep", below), "");
	attest_true(t, attest_sh(t, "ln -s '%s' '%s'", wall, link).status == 0, "attest: no link");
	start_walled(&r, t, wall, NULL);
	(void)attest_bot(t, r.d, "b", CONFINED);
	for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
		(void)attest_refused(t, r.d->client, "writable_root_in_wall",
			"\"op\":\"create\",\"bot\":\"c%zu\",\"model\":\"drill/x\","
			"\"instructions\":\"\",\"tools\":[],\"workspace\":\"%s\"," CONFINED
			",\"writable_roots\":[\"%s\"]",
			i, r.d->workspace, roots[i]);
		(void)attest_refused(t, r.d->client, "writable_root_in_wall",
			"\"op\":\"create\",\"bot\":\"c%zu\",\"model\":\"drill/x\","
			"\"instructions\":\"\",\"tools\":[],\"workspace\":\"%s\"," CONFINED,
			i, roots[i]);
		(void)attest_refused(t, r.d->client, "writable_root_in_wall",
			"\"op\":\"configure\",\"bot\":\"b\",\"writable_roots\":[\"%s\"]", roots[i]);
	}
	(void)drill_works(&r, "b", "true");
}

static void AG_106_a_wall_stays_when_a_folder_above_is_renamed(struct attest *t)
{
	const char *top = attest_path(t, "%s/one", workspace_of(t)), *socket;
	const char *wall = attest_path(t, "%s/two/run", top);
	int fd = fill(t, wall, &socket);
	struct drill r;

	start_walled(&r, t, wall, NULL);
	(void)attest_bot(t, r.d, "b", ONLINE);
	drill_kept(&r, "b", "mv '%s' '%s/gone'", top, workspace_of(t));
	drill_kept(&r, "b", "mv '%s/two' '%s/gone'", top, top);
	drill_kept(&r, "b", "mv '%s' '%s/two/gone'", wall, top);
	check_hidden(&r, "b", wall);
	check_no_connect(&r, "b", socket, fd);
	(void)drill_works(&r, "b", "echo x > '%s/two/beside'", top); /* but may be written */
}

static void AG_223_online_any_programs_socket_unless_walled(struct attest *t)
{
	const char *wall = attest_path(t, "%s/run", attest_outside(t)), *walled;
	const char *docker = attest_path(t, "%s/docker.sock", attest_tmp(t));
	int walled_fd = fill(t, wall, &walled), docker_fd = drill_listen_unix(t, docker);
	struct drill r;

	start_walled(&r, t, wall, NULL);
	(void)attest_bot(t, r.d, "b", ONLINE);
	check_connect(&r, "b", docker, docker_fd);
	check_no_connect(&r, "b", walled, walled_fd);
}

const struct attest_case attest_agent_walls[] = {
	{"AG-099", NEEDS_SANDBOX, AG_099_online_no_socket_in_a_wall                 },
	{"AG-100", NEEDS_SANDBOX, AG_100_offline_no_socket_in_a_wall_though_named   },
	{"AG-101", NEEDS_SANDBOX, AG_101_serve_names_the_walls                      },
	{"AG-102", NEEDS_SANDBOX, AG_102_the_cli_walls_its_run_folder               },
	{"AG-103", NEEDS_SANDBOX, AG_103_a_walled_folder_is_hidden                  },
	{"AG-105", NEEDS_SANDBOX, AG_105_no_writable_root_in_a_wall                 },
	{"AG-106", NEEDS_SANDBOX, AG_106_a_wall_stays_when_a_folder_above_is_renamed},
	{"AG-223", NEEDS_SANDBOX, AG_223_online_any_programs_socket_unless_walled   },
	{NULL,     0,             NULL					      },
};
