/* SIGINT and its like as something to wait for. */
#include "agent/cmd/interrupts.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

int interrupts_open(bool all, int *ret_fd, struct error *err)
{
	sigset_t set;
	int fd;

	(void)sigemptyset(&set); /* these cannot fail with valid arguments */
	(void)sigaddset(&set, SIGINT);
	if (all) {
		(void)sigaddset(&set, SIGTERM);
		(void)sigaddset(&set, SIGHUP);
		(void)sigaddset(&set, SIGQUIT);
	}
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return error_sys(err, "make a signalfd");
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0) {
		(void)close(fd); /* it was only opened */
		return error_sys(err, "block signals");
	}
	*ret_fd = fd;
	return 0;
}

int interrupts_take(int fd)
{
	struct signalfd_siginfo info;
	int count = 0;

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		count++;
	return count;
}
