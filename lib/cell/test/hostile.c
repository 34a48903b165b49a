/* A cell gone wrong: argv[1] says how. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HELLO "H\1\0\0\0\0"
#define END   "E\0\0\0\0"

static void say(const char *p, size_t len)
{
	while (len > 0) {
		ssize_t n = write(STDOUT_FILENO, p, len);

		if (n <= 0)
			_exit(3);
		p += n;
		len -= (size_t)n;
	}
}

int main(int argc, char **argv)
{
	static char frame[5 + 65536] = {'T', 0, 0, 1, 0};
	const char *how = argc > 1 ? argv[1] : "";

	say(HELLO, 6);
	if (strcmp(how, "crash") == 0)
		abort();
	if (strcmp(how, "hang") == 0)
		for (;;)
			(void)pause(); /* only a signal that kills ends it */
	if (strcmp(how, "status") == 0) {
		say(END, 5);
		return 1;
	}
	if (strcmp(how, "lie") == 0) {
		say("T\3\0\0\0\xff\xff\xff", 8);
		for (;;)
			(void)pause(); /* as above */
	}
	if (strcmp(how, "flood") == 0) {
		memset(frame + 5, 'x', sizeof(frame) - 5);
		for (;;)
			say(frame, sizeof(frame));
	}
	if (strcmp(how, "signal") == 0) {
		say(END, 5);
		(void)raise(SIGKILL);
	}
	if (strcmp(how, "stderr") == 0)
		(void)fprintf(stderr, "not believed\n");
	if (strcmp(how, "short") != 0)
		say(END, 5);
	return 0;
}
