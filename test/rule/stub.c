/*
 * stub: stands for every program in the box of the rule differential. It writes down its words, on
 * the descriptor that it inherited, in one piece, and ends with the status it is told.
 *
 * Linked static and without our libraries, since it is started thousands of times.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/rule/stub.h"

static char record[STUB_RECORD_MAX_BYTES];

int main(int argc, char **argv)
{
	const char *status = getenv(STUB_STATUS);
	size_t len = 0;

	for (int i = 0; i < argc; i++) {
		const size_t n = strlen(argv[i]) + 1;

		if (n > sizeof(record) - 1 - len)
			return STUB_FAILED;
		memcpy(record + len, argv[i], n);
		len += n;
	}
	record[len++] = STUB_END;
	if (write(STUB_FD, record, len) != (ssize_t)len)
		return STUB_FAILED;
	return status && strcmp(status, "1") == 0;
}
