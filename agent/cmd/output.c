/* Standard output of a command. */
#include "agent/cmd/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "error/error.h"

enum { JSON_LINE_MAX_BYTES = 8 * 1024 * 1024 /* ours: a line of the wire, each byte escaped */ };

static int failed; /* the errno of the first write that failed */

static void note(bool ok)
{
	if (!ok && !failed)
		failed = errno ? errno : EIO;
}

void output_text(struct str s)
{
	if (!failed && s.len > 0)
		note(fwrite(s.p, 1, s.len, stdout) == s.len);
}

void output_buf(struct buf *b)
{
	output_text(buf_str(b));
	buf_clear(b);
}

void output_json(const struct json *value)
{
	_cleanup_(buf) struct buf b = BUF_INIT(JSON_LINE_MAX_BYTES);
	struct json_out j = JSON_OUT(&b);

	json_put(&j, NULL, value);
	(void)buf_putc(&b, '\n');
	must(!b.full);
	output_buf(&b);
}

void output_member(const char *name, const struct json *value)
{
	_cleanup_(buf) struct buf b = BUF_INIT(JSON_LINE_MAX_BYTES);
	struct json_out j = JSON_OUT(&b);

	json_open(&j, '{');
	json_put(&j, name, value);
	json_close(&j, '}');
	(void)buf_putc(&b, '\n');
	must(!b.full);
	output_buf(&b);
}

void output_flush(void)
{
	if (!failed)
		note(fflush(stdout) == 0);
}

bool output_failed(void)
{
	return failed != 0;
}

int output_end(const char *command, int status)
{
	struct error err = ERROR_INIT;

	output_flush();
	if (!failed)
		return status;
	if (failed == EPIPE)
		return CLI_FAILED; /* whoever read has seen enough */
	errno = failed;
	(void)error_sys(&err, "write the output");
	(void)fprintf(stderr, "agent %s: %s: %s\n", command, error_code(&err), err.text);
	return CLI_FAILED;
}

bool output_is_terminal(void)
{
	return isatty(STDOUT_FILENO) == 1;
}

bool output_colours(void)
{
	const char *term = getenv("TERM");

	return output_is_terminal() && !getenv("NO_COLOR") && term && strcmp(term, "dumb") != 0;
}
