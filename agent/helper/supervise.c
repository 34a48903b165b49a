/*
 * consort-supervise: runs one command and ends with it everything it started.
 *
 *	consort-supervise PARENT session|group FD PROGRAM ARGV0 [ARG...]
 *
 * Started by proc_spawn only. It adopts what its descendants leave behind (PR_SET_CHILD_SUBREAPER),
 *so neither setsid nor a double fork gets away, and it has no child left exactly when nothing of
 *the tree is left. The tree ends when the command has ended, on SIGTERM, SIGINT or SIGHUP, and when
 *PARENT, the process that started it, dies. SIGUSR1 tells the command alone to end, by SIGTERM.
 *Then it ends as the command did: with its exit status, or by its signal.
 *
 * The command's process says its pid on FD, and errno when exec fails; when exec works FD just
 *closes. It alone holds FD by then, so that nothing the command does to us can keep whoever waits
 *waiting. Everything else it inherited it passes on and closes, so that it holds no pipe of the
 *command's open.
 *
 * Not promised: the end of a descendant that runs as another user (a set-user-id program), which
 *this user may not signal. Without /proc only the command's own group is ended.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	USAGE_STATUS = 125, /* as env(1) and timeout(1): the fault is ours, not the command's */
	STAT_BYTES = 1024,  /* a stat line is under 400; the name in it at most 64 */
	CHILD_STACK_BYTES = 32768, /* ours: a few frames until it execs */
	LIST_BYTES = 4096,         /* ours: some 500 children; the rest is seen by the rounds */
	QUICK_ROUNDS = 16, /* ours: generations of orphans before the whole of /proc is looked at */
	QUICK_WAIT_MS = 20,  /* ours: a namespace takes a few ms to go, more on a busy machine */
	STOP_ROUNDS = 16,    /* ours: then kill, whoever still forks; the next round goes on */
	PAUSE_MIN_MS = 1,    /* ours: between rounds, doubled up to the next one */
	PAUSE_MAX_MS = 128,  /* ours: for what hangs in the kernel with a SIGKILL pending */
	HOPELESS_ROUNDS = 8, /* ours: rounds in a row in which nothing could be signalled */
	FIELD_STATE = 3,     /* proc(5), counted from 1; 2 is the name */
	FIELD_PARENT = 4,
	FIELD_START = 22,
};

/* lib/proc/spawn.c reads it. */
struct start_record {
	int32_t failed; /* errno, or 0 */
	int32_t pid;
};

/* A process as /proc shows it. pid, parent and start together name it for good. */
struct row {
	pid_t pid, parent;
	char state;
	unsigned long long start;
	bool ours;
};

struct table {
	struct row *rows;
	size_t count, cap;
};

/* How a command ended. */
struct end {
	bool known, by_signal;
	int status;
};

static struct table seen; /* kept for the next scan */

/* Reading numbers: of our own arguments and of the kernel's lines. */
static bool read_number(const char *s, unsigned long long max, unsigned long long *ret)
{
	unsigned long long n = 0;

	if (*s < '0' || *s > '9')
		return false;
	for (; *s >= '0' && *s <= '9'; s++) {
		if (n > (max - (unsigned long long)(*s - '0')) / 10)
			return false;
		n = n * 10 + (unsigned long long)(*s - '0');
	}
	*ret = n;
	return *s == '\0' || *s == ' ' || *s == '\n';
}

static bool read_id(const char *s, pid_t *ret)
{
	unsigned long long n;

	if (!read_number(s, INT32_MAX, &n))
		return false;
	*ret = (pid_t)n;
	return true;
}

/* Looking at processes */

/* The name of a program may hold blanks and parentheses; what follows the last one is plain. */
static bool parse_stat(char *line, struct row *r)
{
	char *p = strrchr(line, ')');
	int field = 2;

	if (!p)
		return false;
	while ((p = strchr(p, ' '))) {
		p++;
		field++;
		if (field == FIELD_STATE)
			r->state = *p;
		else if (field == FIELD_PARENT && !read_id(p, &r->parent))
			return false;
		else if (field == FIELD_START)
			return read_number(p, UINT64_MAX, &r->start);
	}
	return false;
}

static bool read_row(int proc, const char *pid, struct row *r)
{
	char path[32], line[STAT_BYTES];
	size_t len = strlen(pid);
	ssize_t n;
	int fd;

	if (!read_id(pid, &r->pid) || len + sizeof("/stat") > sizeof(path))
		return false;
	memcpy(path, pid, len);
	memcpy(path + len, "/stat", sizeof("/stat"));
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false; /* gone */
	n = read(fd, line, sizeof(line) - 1);
	(void)close(fd); /* nothing was written */
	if (n <= 0)
		return false;
	line[n] = '\0';
	return parse_stat(line, r);
}

static bool add_row(struct table *t, const struct row *r)
{
	if (t->count == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 1024;
		struct row *rows = reallocarray(t->rows, cap, sizeof(*rows));

		if (!rows)
			return false;
		t->rows = rows;
		t->cap = cap;
	}
	t->rows[t->count++] = *r;
	return true;
}

static int by_pid(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static bool is_ours(const struct table *t, pid_t pid)
{
	const struct row key = {.pid = pid};
	const struct row *r;

	if (pid == getpid())
		return true;
	r = bsearch(&key, t->rows, t->count, sizeof(key), by_pid);
	return r && r->ours;
}

/* A parent most often has the lower number, so one pass in order finds nearly all. */
static void mark_ours(struct table *t)
{
	bool more = true;

	qsort(t->rows, t->count, sizeof(*t->rows), by_pid);
	while (more) {
		more = false;
		for (size_t i = 0; i < t->count; i++) {
			struct row *r = &t->rows[i];

			if (!r->ours && is_ours(t, r->parent))
				r->ours = more = true;
		}
	}
}

/* proc(5) has a list of children too, but not every kernel, and it may leave some out while others
 * end. Out of memory: what was read so far, and the next round goes on. */
static void scan(DIR *proc, struct table *t)
{
	struct dirent *d;

	t->count = 0;
	rewinddir(proc);
	while ((d = readdir(proc))) {
		struct row r = {.pid = 0};

		if (read_row(dirfd(proc), d->d_name, &r) && !add_row(t, &r))
			break;
	}
	mark_ours(t);
}

/* Ending them */

/* 1 signalled, 0 it is gone, -1 not allowed. The row is read again behind a handle on the process,
 * so that a number that someone else got meanwhile is not hit. */
static int signal_row(int proc, const struct row *r, int signum)
{
	int pidfd = pidfd_open(r->pid, 0);
	char name[16];
	struct row now = {.pid = 0};
	size_t at = sizeof(name) - 1;
	int rc = 0;

	if (pidfd < 0)
		return 0;
	name[at] = '\0';
	for (pid_t n = r->pid; n > 0; n /= 10)
		name[--at] = (char)('0' + n % 10);
	if (read_row(proc, name + at, &now) && now.start == r->start)
		rc = pidfd_send_signal(pidfd, signum, NULL, 0) == 0 ? 1 : errno == EPERM ? -1 : 0;
	(void)close(pidfd); /* only a handle */
	return rc;
}

struct tally {
	size_t reached, refused;
};

static struct tally signal_tree(DIR *proc, int signum)
{
	struct tally tally = {0, 0};

	scan(proc, &seen);
	for (size_t i = 0; i < seen.count; i++) {
		const struct row *r = &seen.rows[i];
		bool still = r->state == 'Z' || r->state == 'X' ||
			     (signum == SIGSTOP && (r->state == 'T' || r->state == 't'));
		int rc = r->ours && !still ? signal_row(dirfd(proc), r, signum) : 0;

		tally.reached += rc > 0;
		tally.refused += rc < 0;
	}
	return tally;
}

static void note_end(struct end *e, const siginfo_t *info)
{
	e->known = true;
	e->by_signal = info->si_code != CLD_EXITED;
	e->status = info->si_status;
}

/* Reaps what has ended. False when no child is left: then nothing of the tree is. */
static bool reap(pid_t command, struct end *e)
{
	siginfo_t info = {.si_pid = 0};

	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) == 0) {
		if (info.si_pid == 0)
			return true;
		if (info.si_pid == command)
			note_end(e, &info);
		info.si_pid = 0;
	}
	return false;
}

static void pause_for(int ms)
{
	const struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
	sigset_t child;

	(void)sigemptyset(&child);            /* a valid set: cannot fail */
	(void)sigaddset(&child, SIGCHLD);     /* nor this */
	(void)sigtimedwait(&child, NULL, &t); /* whatever happened, the next round looks */
}

/* Kills our own children, told by the list that most kernels have (proc(5)). They are not reaped,
 * so the numbers are theirs. False: there is no list, or nothing on it. */
static bool kill_children(void)
{
	char list[LIST_BYTES];
	const int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, list, sizeof(list) - 1);
	bool any = false;

	if (fd >= 0)
		(void)close(fd); /* nothing was written */
	if (n <= 0)
		return false;
	list[n] = '\0';
	for (const char *p = list; *p; p += *p == ' ') {
		const size_t len = strcspn(p, " ");
		pid_t pid;

		/* A number that was cut off ends without a blank. */
		if (p[len] == ' ' && read_id(p, &pid) && kill(pid, SIGKILL) == 0)
			any = true;
		p += len;
	}
	return any;
}

/* Stops everyone before it kills anyone: what forks as fast as it is killed would win otherwise. A
 * stop takes hold before a fork is done or after it, and then the next scan sees the child. */
static bool end_round(DIR *proc)
{
	struct tally stopped, killed;

	for (int i = 0; i < STOP_ROUNDS; i++) {
		stopped = signal_tree(proc, SIGSTOP);
		if (stopped.reached == 0)
			break;
	}
	killed = signal_tree(proc, SIGKILL);
	return killed.reached > 0 || killed.refused == 0;
}

static void end_tree(pid_t command, struct end *e)
{
	DIR *proc = NULL;
	int pause_ms = PAUSE_MIN_MS, hopeless = 0;

	/* Not reaped yet, so the number is its own. One call hits the whole group, forks under way
	 * too. */
	(void)kill(-command, SIGKILL); /* it may be empty but for a zombie */
	/* Most often that was all, or what is left is bubblewrap's inner process, which dies with
	 * its parent and takes its namespace along. */
	if (reap(command, e))
		pause_for(PAUSE_MIN_MS);
	/* Our own children next: to look at all of /proc costs more than a whole command. What
	 * forks as fast as it is killed is left to the rounds below. */
	for (int i = 0; i < QUICK_ROUNDS && reap(command, e) && kill_children(); i++)
		pause_for(QUICK_WAIT_MS);
	while (reap(command, e) && hopeless < HOPELESS_ROUNDS) {
		if (!proc)
			proc = opendir("/proc");
		if (proc && end_round(proc))
			hopeless = 0;
		else
			hopeless++;
		if (!reap(command, e))
			break;
		pause_for(pause_ms);
		pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
	}
}

/* Running the command */

static bool say(int fd, int failed)
{
	const struct start_record r = {failed, getpid()};

	return write(fd, &r, sizeof(r)) == (ssize_t)sizeof(r);
}

/* What the command's process is told. It runs on our memory until it execs, while we stand still.
 */
struct launch {
	char **argv;
	bool session;
	pid_t parent;
	int channel; /* the start descriptor waits in it */
};

/* A message with one descriptor: what lies in a channel is in nobody's table. */
union with_fd {
	char room[CMSG_SPACE(sizeof(int))];
	struct cmsghdr header;
};

static bool send_fd(int channel, int fd)
{
	union with_fd control = {
		.header = {.cmsg_len = CMSG_LEN(sizeof(fd)),
			   .cmsg_level = SOL_SOCKET,
			   .cmsg_type = SCM_RIGHTS}
        };
	char byte = 0;
	struct iovec data = {&byte, 1};
	const struct msghdr m = {.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	return sendmsg(channel, &m, 0) == 1;
}

/* -1: there was none. */
static int receive_fd(int channel)
{
	union with_fd control = {.room = {0}};
	char byte;
	struct iovec data = {&byte, 1};
	struct msghdr m = {.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	int fd;

	if (recvmsg(channel, &m, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&m))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

/* Returns when it cannot become the command, with errno. */
static void become_command(const struct launch *x, int fd)
{
	sigset_t none;

	if ((x->session ? setsid() : setpgid(0, 0)) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return;
	errno = ESRCH;
	if (getppid() != x->parent || !say(fd, 0))
		return;
	(void)sigemptyset(&none);                    /* a valid set: cannot fail */
	(void)sigprocmask(SIG_SETMASK, &none, NULL); /* nor this; no handlers here */
	(void)execv(x->argv[0], x->argv + 1);        /* returns only when it failed */
}

static int child_main(void *arg)
{
	const struct launch *x = arg;
	const int fd = receive_fd(x->channel);

	if (fd >= 0) {
		become_command(x, fd);
		(void)say(fd, errno); /* nobody to tell otherwise */
	}
	_exit(USAGE_STATUS);
}

/* The pid, or -1. Closes fd: it goes through a channel, so that the command's process is the only
 * one to hold it even though it execs before we go on. As a vfork(2), since copying even our few
 * pages costs as much as starting us. */
static pid_t start(char **argv, bool session, int fd)
{
	static char stack[CHILD_STACK_BYTES] __attribute__((aligned(16)));
	struct launch x = {.argv = argv, .session = session, .parent = getpid()};
	int ends[2];
	bool sent;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	sent = send_fd(ends[0], fd);
	(void)close(fd); /* nothing was written here */
	x.channel = ends[1];
	/* Both ends are closed with everything else that main has closed. */
	return sent ? clone(child_main, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &x)
		    : -1;
}

/* True when the command has ended; it is not reaped then. Reaps what it left behind. */
static bool command_ended(pid_t command)
{
	siginfo_t info = {.si_pid = 0};

	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
		if (info.si_pid == command)
			return true;
		(void)waitpid(info.si_pid, NULL, 0); /* it has ended */
		info.si_pid = 0;
	}
	return false;
}

static void wait_for_end(pid_t command)
{
	sigset_t watched;
	int signum;

	(void)sigemptyset(&watched); /* a valid set: cannot fail, nor the five below */
	(void)sigaddset(&watched, SIGCHLD);
	(void)sigaddset(&watched, SIGTERM);
	(void)sigaddset(&watched, SIGINT);
	(void)sigaddset(&watched, SIGHUP);
	(void)sigaddset(&watched, SIGUSR1);
	do {
		signum = sigwaitinfo(&watched, NULL);
		if (signum == SIGUSR1)
			(void)kill(command, SIGTERM); /* not reaped: the number is its own */
	} while (signum == SIGUSR1 || signum < 0 || (signum == SIGCHLD && !command_ended(command)));
}

static int end_like(const struct end *e)
{
	sigset_t none;

	if (!e->known)
		return USAGE_STATUS;
	if (!e->by_signal)
		return e->status;
	(void)signal(e->status, SIG_DFL);            /* refused only where it is so anyway */
	(void)raise(e->status);                      /* pending until unblocked */
	(void)sigemptyset(&none);                    /* a valid set: cannot fail */
	(void)sigprocmask(SIG_SETMASK, &none, NULL); /* nor this */
	return 128 + e->status;
}

int main(int argc, char **argv)
{
	struct end e = {.known = false};
	sigset_t all;
	pid_t parent, fd, command;
	bool session;

	if (argc < 6 || !read_id(argv[1], &parent) || !read_id(argv[3], &fd))
		return USAGE_STATUS;
	session = strcmp(argv[2], "session") == 0;
	(void)sigfillset(&all);                     /* a valid set: cannot fail */
	(void)sigprocmask(SIG_SETMASK, &all, NULL); /* nor this */
	/* In this order: a parent that dies before the first line is seen by the second. */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
		return USAGE_STATUS;
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return USAGE_STATUS;
	command = start(argv + 4, session, fd);
	if (command < 0)
		return USAGE_STATUS;     /* seen by the end of FD without a word */
	(void)prctl(PR_SET_DUMPABLE, 0); /* ends like the command, but without a core of its own */
	(void)close_range(0, ~0U, 0);    /* at worst the command's pipes end with us */
	if (chdir("/") == 0)             /* its folder must not stay busy */
		wait_for_end(command);
	end_tree(command, &e);
	return end_like(&e);
}
