/* Raw connections. */
#include "attest/raw.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "attest/internal.h"
#include "clock/clock.h"
#include "os/os.h"

enum {
	LINE_MS = 10000,
	IN_MAX_BYTES = 8 * 1024 * 1024,
	READ_BYTES = 65536,
};

struct raw {
	int fd;
	struct buf in;
	bool ended;
};

int raw_try(const char *socket_path, int *ret_fd)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd, error;

	must(strlen(socket_path) < sizeof(addr.sun_path));
	memcpy(addr.sun_path, socket_path, strlen(socket_path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno;
	if (connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0) {
		error = errno;
		os_close(fd);
		return error;
	}
	*ret_fd = fd;
	return 0;
}

struct raw *raw_open(struct attest *t, const char *socket)
{
	struct raw *r = arena_alloc(&t->arena, sizeof(*r));
	int error;

	r->in = (struct buf)BUF_INIT(IN_MAX_BYTES);
	r->fd = -1;
	error = raw_try(socket, &r->fd);
	attest_true(t, error == 0, "connect to '%s': %s", socket, strerror(error));
	return r;
}

void raw_close(struct raw *r)
{
	os_close(r->fd);
	r->fd = -1;
	buf_release(&r->in);
}

void raw_send(struct attest *t, struct raw *r, const void *bytes, size_t len)
{
	struct error err = ERROR_INIT;

	if (os_write_all(r->fd, bytes, len, &err) < 0)
		attest_broken(t, "write to the daemon: %s", err.text);
}

void raw_puts(struct attest *t, struct raw *r, const char *text)
{
	raw_send(t, r, text, strlen(text));
}

static void read_some(struct attest *t, struct raw *r, int64_t until_ms)
{
	struct pollfd p = {.fd = r->fd, .events = POLLIN};
	int64_t left = until_ms - clock_mono_ms(clock_system());
	char bytes[READ_BYTES];
	ssize_t n;

	attest_true(t, left > 0, "the daemon said nothing for %d s", LINE_MS / 1000);
	if (poll(&p, 1, (int)left) <= 0)
		return;
	n = read(r->fd, bytes, sizeof(bytes));
	if (n > 0)
		must(buf_put(&r->in, bytes, (size_t)n) == 0);
	else if (n == 0 || errno == ECONNRESET)
		r->ended = true;
	else
		attest_true(t, errno == EINTR, "read from the daemon: %s", strerror(errno));
}

bool raw_line(struct attest *t, struct raw *r, struct str *ret)
{
	int64_t until = clock_mono_ms(clock_system()) + LINE_MS;
	ptrdiff_t end;

	while ((end = str_find(buf_str(&r->in), STR("\n"), 0)) < 0) {
		if (r->ended) {
			attest_true(t, r->in.len == 0, "the daemon closed in the middle of a line");
			return false;
		}
		read_some(t, r, until);
	}
	*ret = (struct str){arena_strndup(&t->arena, r->in.data, (size_t)end), (size_t)end};
	buf_consume(&r->in, (size_t)end + 1);
	return true;
}

const struct json *raw_json(struct attest *t, struct raw *r)
{
	const struct json *value = NULL;
	struct error err = ERROR_INIT;
	struct str line;

	if (!raw_line(t, r, &line))
		return NULL;
	if (json_parse(&t->arena, line, &value, &err) < 0)
		attest_broken(t, "the daemon sent a line that is not JSON (%s): %.*s", err.text,
			(int)str_cut(line, 300).len, line.p);
	return value;
}

bool raw_is_socket(struct attest *t, void *path)
{
	struct stat st;

	(void)t;
	return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

int raw_tcp_listener(struct attest *t, int *ret_port)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0 ||
		listen(fd, 16) < 0 || getsockname(fd, (struct sockaddr *)&addr, &len) < 0)
		attest_broken(t, "attest: no listener on loopback: %s", strerror(errno));
	*ret_port = ntohs(addr.sin_port);
	return fd;
}

bool raw_tcp_called(int listener)
{
	int fd = accept(listener, NULL, NULL);

	os_close(fd);
	return fd >= 0;
}
