/* Behind the walls: tries what argv[1] names. What a wall stops ends by a signal, or says 0; what
 * gets through says 9. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../wall.h"

enum { THROUGH = 9, BAD = 5, PAGE = 4096 };

static const struct cell_kind kind = {
	.name = "tries", .memory_max_bytes = 32 * 1024 * 1024, .cpu_s = 1};

static void go(const char *what)
{
	static char *const argv[] = {"/bin/true", NULL};
	static char page[PAGE] __attribute__((aligned(PAGE)));
	char byte = 0;

	if (strcmp(what, "open") == 0)
		(void)open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	else if (strcmp(what, "socket") == 0)
		(void)socket(AF_UNIX, SOCK_STREAM, 0);
	else if (strcmp(what, "exec") == 0)
		(void)execv(argv[0], argv);
	else if (strcmp(what, "fork") == 0)
		(void)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	else if (strcmp(what, "kill") == 0)
		(void)kill(getppid(), 0);
	else if (strcmp(what, "ptrace") == 0)
		(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	else if (strcmp(what, "executable") == 0)
		(void)mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	else if (strcmp(what, "file-map") == 0)
		(void)mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, STDIN_FILENO, 0);
	else if (strcmp(what, "protect") == 0)
		(void)mprotect(page, PAGE, PROT_EXEC);
	else if (strcmp(what, "other-write") == 0)
		(void)write(STDERR_FILENO, &byte, 1);
	else if (strcmp(what, "other-read") == 0)
		(void)read(7, &byte, 1);
	else if (strcmp(what, "time") == 0)
		(void)syscall(SYS_clock_gettime, 0, NULL);
	else if (strcmp(what, "prctl") == 0)
		(void)syscall(SYS_prctl, 4, 1, 0, 0, 0);
	else
		_exit(BAD);
	_exit(THROUGH);
}

int main(int argc, char **argv)
{
	const char *what = argc == 3 ? argv[1] : "";
	uint64_t parent;
	int landlock;
	char byte;

	if (strcmp(what, "orphan") == 0)
		_exit(wall_up(&kind, 1, &landlock) < 0 ? 0 : THROUGH);
	if (argc != 3 || text_u64(str_from(argv[2]), INT32_MAX, "PARENT", &parent, NULL) < 0 ||
		wall_up(&kind, (int)parent, &landlock) < 0)
		return BAD;
	if (strcmp(what, "memory") == 0)
		_exit(malloc(64 * 1024 * 1024) ? THROUGH : 0);
	if (strcmp(what, "environment") == 0)
		_exit(getenv("PATH") ? THROUGH : 0);
	if (strcmp(what, "landlock") == 0)
		_exit(landlock);
	if (strcmp(what, "work") == 0)
		_exit(read(STDIN_FILENO, &byte, 1) < 0 || write(STDOUT_FILENO, "x", 1) != 1 ||
					!malloc(1024 * 1024)
				? THROUGH
				: 0);
	if (strcmp(what, "spin") == 0)
		for (volatile unsigned i = 0;; i++)
			;
	go(what);
	return BAD;
}
