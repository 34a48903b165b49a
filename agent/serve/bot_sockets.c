/* The bots' own sockets and the doors of their commands. */
#include "agent/serve/bot_sockets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/serve/daemon.h"
#include "agent/serve/session.h"
#include "client/client.h"
#include "log/log.h"
#include "os/os.h"

struct bot_socket {
	struct daemon *d;
	struct list by_use;
	struct session_bot as;
	char *path;
	dev_t dev;
	ino_t ino;
	struct loop_listener *listener;
	struct list sessions; /* struct session by in_own */
	size_t session_count;
	struct list doors; /* struct bot_door by in_socket */
};

struct bot_door {
	struct tool_door tool;
	struct list in_socket;
	struct bot_socket *of; /* NULL: its bot is gone */
	struct loop_stream *stream;
	int stream_fd;        /* the stream's */
	struct list sessions; /* struct session by in_door */
	int64_t turn;
};

/*
 * Sessions
 */
static bool may_come(const struct bot_socket *b)
{
	return b->session_count < BOT_SESSIONS_MAX && !b->d->closing;
}

/* Takes fd. door: NULL, it came by name. */
static void adopt(struct bot_socket *b, struct bot_door *door, int fd)
{
	struct session *s = session_new(b->d, fd, &b->as);

	s->own = b;
	b->session_count++;
	list_add_tail(&b->sessions, &s->in_own);
	if (door) {
		s->door = door;
		s->turn = door->turn;
		list_add_tail(&door->sessions, &s->in_door);
	}
	daemon_look_idle(b->d);
}

void bot_socket_session_gone(struct session *s)
{
	if (!s->own)
		return;
	list_remove(&s->in_own);
	list_remove(&s->in_door);
	s->own->session_count--;
	s->own = NULL;
}

static void turn_away(const struct bot_socket *b, int fd)
{
	static const char line[] =
		"{\"id\":null,\"error\":\"session_limit\",\"detail\":\"the bot has "
		"all the sessions it may have, or the daemon is ending\"}\n";

	log_event(LOG_INFO, "bot_session.refused", LOG_I64("bot", b->as.id));
	/* said once, to whoever listens */
	(void)send(fd, line, sizeof(line) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	os_close(fd);
}

static void on_accept(void *arg, int fd)
{
	struct bot_socket *b = arg;

	if (may_come(b))
		adopt(b, NULL, fd);
	else
		turn_away(b, fd);
}

/*
 * Doors
 */

/* False: the command does not read what it asked for, or has left. */
static bool hand_out(struct bot_door *door)
{
	struct error err = ERROR_INIT;
	int ends[2], rc;

	if (!door->of || !may_come(door->of) ||
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return os_send_fd(door->stream_fd, '-', -1, NULL) == 0;
	rc = os_send_fd(door->stream_fd, '+', ends[1], &err);
	os_close(ends[1]);
	if (rc == 0) {
		adopt(door->of, door, ends[0]);
		return true;
	}
	os_close(ends[0]);
	/* others of this user have too many descriptors on their way, which passes */
	return err.sys == ETOOMANYREFS && os_send_fd(door->stream_fd, '-', -1, NULL) == 0;
}

static void on_asked(void *arg, const char *p, size_t len)
{
	struct bot_door *door = arg;

	(void)p; /* any byte asks */
	while (len-- > 0) {
		if (!hand_out(door)) {
			loop_stream_close(mem_take(&door->stream));
			return;
		}
	}
}

/* Nobody can ask any more; the sessions go on until the command has ended. */
static void on_shut(void *arg, const struct error *err)
{
	struct bot_door *door = arg;

	(void)err; /* however they left */
	loop_stream_close(mem_take(&door->stream));
}

void bot_door_close(struct tool_door *tool)
{
	struct bot_door *door;

	if (!tool)
		return;
	door = container_of(tool, struct bot_door, tool);
	list_for_each_safe (s, &door->sessions, struct session, in_door)
		session_close(s);
	loop_stream_close(mem_take(&door->stream));
	list_remove(&door->in_socket);
	os_close(door->tool.fd);
	free(door->tool.socket);
	free(door);
}

static int open_door(struct bot_socket *b, int64_t turn, struct bot_door **ret, struct error *err)
{
	static const struct loop_stream_callbacks callbacks = {on_asked, on_shut, NULL};
	struct bot_door *door;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return error_sys(err, "make the command's way to the daemon");
	door = xcalloc(1, sizeof(*door));
	door->tool = (struct tool_door){.socket = xstrdup(b->path), .fd = ends[1]};
	door->of = b;
	door->turn = turn;
	list_init(&door->sessions);
	list_add_tail(&b->doors, &door->in_socket);
	door->stream_fd = ends[0];
	door->stream = loop_stream_new(b->d->loop, ends[0], -1, &callbacks, door);
	*ret = door;
	return 0;
}

/*
 * Sockets
 */
static bool in_use(const struct bot_socket *b)
{
	return !list_empty(&b->doors) || b->session_count > 0;
}

static void forget(struct bot_socket *b)
{
	struct stat st;

	list_for_each_safe (s, &b->sessions, struct session, in_own)
		session_close(s);
	list_for_each_safe (door, &b->doors, struct bot_door, in_socket) {
		door->of = NULL;
		list_remove(&door->in_socket);
	}
	loop_listener_close(b->listener);
	if (lstat(b->path, &st) == 0 && st.st_dev == b->dev && st.st_ino == b->ino)
		(void)unlink(b->path); /* a name that stays is swept by the next daemon */
	list_remove(&b->by_use);
	free(b->path);
	free(b);
}

void bot_socket_remove(struct daemon *d, int64_t bot)
{
	struct bot_socket *b = d->bots.by_id ? table_remove_id(d->bots.by_id, (uint64_t)bot) : NULL;

	if (b)
		forget(b);
}

/* Makes room: the bot that needed its socket last will have it again with its next command. */
static void evict(struct daemon *d)
{
	if (table_count(d->bots.by_id) < BOT_SOCKETS_MAX)
		return;
	list_for_each (b, &d->bots.by_use, struct bot_socket, by_use) {
		if (!in_use(b)) {
			bot_socket_remove(d, b->as.id);
			return;
		}
	}
}

static int check_folder(const char *folder, struct error *err)
{
	int safe = os_dir_is_private(folder, err);

	if (safe < 0)
		return error_prefix(err, "look at '%s'", folder);
	if (!safe)
		return error_set(err, &CLIENT_UNSAFE_DIR,
			"'%s' must be a real folder of yours with mode 0700: remove it or put it "
			"right",
			folder);
	return 0;
}

/* Nobody but a daemon that is gone has made a socket of that name: we own the folder. */
static int bind_name(struct bot_socket *b, int *ret_fd, struct error *err)
{
	struct stat st;

	if (lstat(b->path, &st) == 0 && S_ISSOCK(st.st_mode))
		(void)unlink(b->path); /* what stays is in the way of the bind, which says so */
	if (os_listen_private(b->path, ret_fd, err) < 0)
		return -1;
	if (lstat(b->path, &st) < 0) {
		(void)error_sys(err, "look at '%s'", b->path);
		os_close(fd_take(ret_fd));
		return -1;
	}
	b->dev = st.st_dev;
	b->ino = st.st_ino;
	return 0;
}

static int listen_as(struct daemon *d, struct bot_socket *b, struct error *err)
{
	_cleanup_(fd) int fd = -1;

	if (os_mkdir_private(d->bots.folder, NULL, err) < 0 ||
		check_folder(d->bots.folder, err) < 0 || bind_name(b, &fd, err) < 0)
		return -1;
	if (loop_listen(d->loop, fd, on_accept, b, &b->listener, err) < 0) {
		(void)unlink(b->path); /* made just now */
		return -1;
	}
	(void)fd_take(&fd);
	return 0;
}

static int socket_of(
	struct daemon *d, const struct bot *bot, struct bot_socket **ret, struct error *err)
{
	struct bot_socket *b = table_get_id(d->bots.by_id, (uint64_t)bot->id);

	if (b) {
		list_remove(&b->by_use);
		list_add_tail(&d->bots.by_use, &b->by_use);
		*ret = b;
		return 0;
	}
	evict(d);
	b = xcalloc(1, sizeof(*b));
	b->d = d;
	b->as.id = bot->id;
	must(bot->name.len <= BOT_NAME_MAX_BYTES);
	memcpy(b->as.name, bot->name.p, bot->name.len);
	b->path = xasprintf("%s/%lld", d->bots.folder, (long long)bot->id);
	list_init(&b->sessions);
	list_init(&b->doors);
	if (listen_as(d, b, err) < 0) {
		free(b->path);
		free(b);
		return error_prefix(err, "the bot's own socket");
	}
	list_add_tail(&d->bots.by_use, &b->by_use);
	must(!table_set_id(d->bots.by_id, (uint64_t)bot->id, b));
	*ret = b;
	return 0;
}

int bot_door_open(
	void *arg, const struct tool_context *c, struct tool_door **ret, struct error *err)
{
	struct daemon *d = arg;
	struct bot_socket *b;
	struct bot_door *door;

	if (socket_of(d, c->bot, &b, err) < 0 || open_door(b, c->turn, &door, err) < 0)
		return -1;
	*ret = &door->tool;
	return 0;
}

/*
 * The daemon's start and end
 */
static bool is_id(const char *name)
{
	int64_t id;

	return text_i64(str_from(name), 1, INT64_MAX, "id", &id, NULL) == 0;
}

/* Names of bots only, and only sockets: what else somebody put there is not ours. */
static int sweep(const char *folder, struct error *err)
{
	DIR *dir = opendir(folder);
	struct dirent *e;

	if (!dir)
		return error_sys(err, "look into '%s'", folder);
	while ((e = readdir(dir))) {
		struct stat st;

		if (is_id(e->d_name) &&
			fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISSOCK(st.st_mode))
			(void)unlinkat(dirfd(dir), e->d_name, 0); /* bind_name tries again */
	}
	(void)closedir(dir); /* only read */
	return 0;
}

int bot_sockets_open(struct daemon *d, struct error *err)
{
	struct bot_sockets *s = &d->bots;
	struct stat st;

	s->folder = xasprintf("%s.d", d->o->socket);
	s->by_id = table_new();
	list_init(&s->by_use);
	if (strlen(s->folder) + sizeof("/9223372036854775807") > os_socket_path_max())
		return error_set(err, &ERROR_TOO_LONG,
			"'%s' leaves no room for the bots' sockets beside it: %zu bytes at most",
			d->o->socket, os_socket_path_max() - sizeof(".d/9223372036854775807"));
	if (lstat(s->folder, &st) < 0 && errno == ENOENT)
		return 0; /* made with the first socket */
	return check_folder(s->folder, err) < 0 ? -1 : sweep(s->folder, err);
}

void bot_sockets_release(struct daemon *d)
{
	size_t at = 0;
	struct bot_socket *b;

	if (!d->bots.by_id)
		return;
	while ((b = table_next(d->bots.by_id, &at)))
		bot_socket_remove(d, b->as.id);
	table_free(d->bots.by_id);
	free(d->bots.folder);
	d->bots = (struct bot_sockets){.folder = NULL};
}
