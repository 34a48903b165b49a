/* How many descriptors this process may have. */
#include <sys/resource.h>

#include "os/os.h"

/* Of before os_fd_limit_raise; written once, before there are threads. */
static struct rlimit given;
static bool raised;

void os_fd_limit_raise(void)
{
	struct rlimit more;

	if (raised || getrlimit(RLIMIT_NOFILE, &given) < 0)
		return;
	more = given;
	more.rlim_cur = given.rlim_max < OS_FDS_MAX ? given.rlim_max : OS_FDS_MAX;
	if (more.rlim_cur > given.rlim_cur)
		raised = setrlimit(RLIMIT_NOFILE, &more) == 0; /* else fewer peers have to do */
}

struct rlimit os_fd_limit_given(void)
{
	struct rlimit now = given;

	if (!raised && getrlimit(RLIMIT_NOFILE, &now) < 0)
		now = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
	return now;
}
