/*
 * client: where the store and its socket are (agent spec 1.2).
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/client.h"
#include "mem/mem.h"
#include "os/os.h"

const struct error_kind CLIENT_UNSAFE_DIR = {"unsafe_socket_directory", ERROR_CLASS_DENIED};

/* A bot's socket is SOCKET.d/ID, and an id has at most 19 digits. */
enum { BOT_SOCKET_SUFFIX_BYTES = sizeof(".d/9223372036854775807") }; /* with the NUL */

int client_store_path(const char *given, char **ret, struct error *err)
{
	_cleanup_(mem) char *home = NULL, *path = NULL;

	if (given && given[0] == '\0')
		return error_set(err, &ERROR_INVALID, "the store's path is empty");
	if (given)
		return os_canonical(given, ret, err);
	if (os_home(&home, err) < 0)
		return -1;
	path = xasprintf("%s/.agent/state.sqlite", home);
	return os_canonical(path, ret, err);
}

/* FNV-1a, 128 bits: offset basis and prime as published by its authors. */
static void fnv128(const char *s, unsigned char out[16])
{
	const unsigned __int128 prime = ((unsigned __int128)1 << 88) | 0x13b;
	unsigned __int128 h = ((unsigned __int128)0x6c62272e07bb0142ULL << 64) |
			      0x62b821756295c58dULL;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * prime;
	for (int i = 15; i >= 0; i--, h >>= 8)
		out[i] = (unsigned char)h;
}

static char *fallback_dir(void)
{
	return xasprintf("/tmp/agent-%u", (unsigned)geteuid());
}

char *client_socket_path(const char *store)
{
	_cleanup_(mem) char *dir = NULL;
	unsigned char hash[16];
	char hex[33];

	if (strlen(store) + strlen(".sock") + BOT_SOCKET_SUFFIX_BYTES <= os_socket_path_max())
		return xasprintf("%s.sock", store);
	dir = fallback_dir();
	fnv128(store, hash);
	text_hex(hash, sizeof(hash), hex);
	return xasprintf("%s/v1-%s.sock", dir, hex);
}

bool client_socket_is_fallback(const char *socket)
{
	_cleanup_(mem) char *dir = fallback_dir();
	size_t len = strlen(dir);

	return strncmp(socket, dir, len) == 0 && socket[len] == '/';
}

int client_check_fallback_dir(const char *socket, bool make, struct error *err)
{
	_cleanup_(mem) char *dir = fallback_dir();
	struct stat st;
	int safe;

	must(client_socket_is_fallback(socket));
	if (make && os_mkdir_private(dir, NULL, err) < 0)
		return error_sys_kind(err, &CLIENT_UNSAFE_DIR, "make '%s'", dir);
	if (!make && lstat(dir, &st) < 0 && errno == ENOENT)
		return 0; /* no daemon was ever there: connecting will say so */
	safe = os_dir_is_private(dir, err);
	if (safe < 0)
		return error_prefix(err, "look at '%s'", dir);
	if (!safe)
		return error_set(err, &CLIENT_UNSAFE_DIR,
			"'%s' must be a real folder of yours with mode 0700: remove it or put it "
			"right",
			dir);
	return 0;
}
