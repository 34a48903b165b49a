/* Namespaces of a case. */
#include "attest/space.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attest/internal.h"
#include "os/os.h"

static void put(struct attest *t, const char *path, const char *content)
{
	struct error err = ERROR_INIT;
	int fd = -1;

	if (os_open(path, O_WRONLY, 0, &fd, &err) < 0 ||
		os_write_all(fd, content, strlen(content), &err) < 0)
		attest_broken(t, "attest: %s", err.text);
	os_close(fd);
}

static void loopback_up(struct attest *t)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		attest_broken(t, "attest: no loopback: %s", strerror(errno));
	os_close(fd);
}

void space_enter(struct attest *t, unsigned parts)
{
	unsigned uid = geteuid(), gid = getegid();
	int flags = CLONE_NEWUSER | CLONE_NEWNS | ((parts & SPACE_NET) ? CLONE_NEWNET : 0);

	(void)attest_home(t); /* made outside, so that it has this user's real owner */
	if (unshare(flags) < 0)
		attest_not_here(t, "this user cannot make namespaces: %s", strerror(errno));
	put(t, "/proc/self/setgroups", "deny");
	put(t, "/proc/self/uid_map", attest_path(t, "%u %u 1", uid, uid));
	put(t, "/proc/self/gid_map", attest_path(t, "%u %u 1", gid, gid));
	(void)prctl(PR_SET_DUMPABLE, 1); /* for LeakSanitizer; without it that only complains */
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		attest_broken(t, "attest: private mounts: %s", strerror(errno));
	if ((parts & SPACE_TMP) &&
		mount("tmp", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") < 0)
		attest_broken(t, "attest: a private /tmp: %s", strerror(errno));
	if (parts & SPACE_NET)
		loopback_up(t);
}

void space_bind(struct attest *t, const char *from, const char *to)
{
	if (mount(from, to, NULL, MS_BIND | MS_REC, NULL) < 0)
		attest_broken(t, "attest: mount '%s' at '%s': %s", from, to, strerror(errno));
}

void space_unbind(struct attest *t, const char *path)
{
	if (umount2(path, MNT_DETACH) < 0)
		attest_broken(t, "attest: unmount '%s': %s", path, strerror(errno));
}
