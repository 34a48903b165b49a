/*
 * A cell started, its answer read, its end judged.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cell/cell.h"
#include "loop/loop.h"
#include "mem/mem.h"
#include "os/os.h"
#include "proc/proc.h"

enum {
	/* ours: frames' heads and the fields, beside the text that a kind may answer */
	ANSWER_MORE_BYTES = 1024 * 1024,
	SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE,
	NUMBER_SIZE = 16,
};

struct cell {
	struct proc_command *command;
	struct cell_reader *reader;
	const struct cell_callbacks *cb;
	void *arg;
	struct error err; /* the first thing that was wrong */
};

static int check_job(const struct cell_job *job, struct error *err)
{
	const struct cell_kind *k = job->kind;

	if (job->input.len > k->input_max_bytes)
		return error_set(err, &ERROR_LIMIT, "the input of %zu bytes is over %zu",
			job->input.len, k->input_max_bytes);
	for (size_t i = 0; i < job->param_count; i++) {
		const struct cell_param *p = &job->params[i];
		size_t known = 0;

		while (k->params[known] && strcmp(k->params[known], p->name) != 0)
			known++;
		must(k->params[known]);
		if (p->value.len > CELL_VALUE_MAX_BYTES)
			return error_set(err, &ERROR_LIMIT, "%s is over %d bytes", p->name,
				CELL_VALUE_MAX_BYTES);
	}
	return 0;
}

static int write_all(int fd, struct str s, struct error *err)
{
	for (size_t at = 0; at < s.len;) {
		ssize_t n = write(fd, s.p + at, s.len - at);

		if (n < 0)
			return error_sys_kind(err, &CELL_FAILED, "keep the input");
		at += (size_t)n;
	}
	return 0;
}

static int write_frame(int fd, enum cell_frame type, struct str payload, struct error *err)
{
	char head[CELL_FRAME_HEAD_BYTES];

	cell_put_head(head, type, (uint32_t)payload.len);
	if (write_all(fd, (struct str){head, sizeof(head)}, err) < 0)
		return -1;
	return write_all(fd, payload, err);
}

static int write_request(int fd, const struct cell_job *job, struct error *err)
{
	for (size_t i = 0; i < job->param_count; i++) {
		_cleanup_(buf) struct buf b = BUF_INIT(
			CELL_NAME_MAX_BYTES + 1 + CELL_VALUE_MAX_BYTES);

		(void)buf_puts(&b, job->params[i].name); /* check_job saw that it fits */
		(void)buf_putc(&b, '\0');
		(void)buf_put_str(&b, job->params[i].value);
		if (write_frame(fd, CELL_FRAME_PARAM, buf_str(&b), err) < 0)
			return -1;
	}
	return write_frame(fd, CELL_FRAME_INPUT, job->input, err);
}

/* The request in a memory file that nobody can change any more: no pipe to be fed, and the cell
 * cannot make us wait. */
static int make_input(const struct cell_job *job, int *ret_fd, struct error *err)
{
	_cleanup_(fd) int fd = memfd_create("consort-cell", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return error_sys_kind(err, &CELL_FAILED, "make a memory file for the input");
	if (write_request(fd, job, err) < 0)
		return -1;
	if (fcntl(fd, F_ADD_SEALS, SEALS) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return error_sys_kind(err, &CELL_FAILED, "seal the input");
	*ret_fd = fd_take(&fd);
	return 0;
}

static void on_output(void *arg, int stream, const char *p, size_t len)
{
	struct cell *c = arg;

	if (stream != STDOUT_FILENO || c->err.kind)
		return;
	if (cell_reader_put(c->reader, (struct str){p, len}, &c->err) < 0)
		proc_command_cancel(c->command);
}

static void judge_end(struct cell *c, const struct proc_outcome *o, struct cell_end *end)
{
	const char *what = NULL;

	if (c->err.kind)
		return;
	if (o->end == PROC_TIMED_OUT)
		what = "took too long";
	else if (o->end == PROC_OVERFLOWED)
		what = "answered more than it may";
	else if (o->end != PROC_EXITED || o->code != 0)
		what = "crashed or was ended";
	if (what)
		(void)error_set(&c->err, &CELL_FAILED, "the reader of the format %s (status %d)",
			what, o->code); /* always -1 */
	else
		(void)cell_reader_end(c->reader, end, &c->err); /* told by err.kind */
}

static void on_ended(void *arg, const struct proc_outcome *o)
{
	struct cell *c = arg;
	struct cell_end end = {.refusal = 0};

	judge_end(c, o, &end);
	c->cb->done(c->arg, c->err.kind ? &c->err : NULL, &end); /* may free it */
}

int cell_start(struct loop *l, const struct cell_job *job, const struct cell_callbacks *cb,
	void *arg, struct cell **ret, struct error *err)
{
	static const struct proc_callbacks callbacks = {on_output, on_ended};
	static char *const no_environment[] = {NULL};
	char parent[NUMBER_SIZE];
	char name[CELL_NAME_MAX_BYTES + 1];
	char *argv[] = {"consort-cell", name, parent, NULL};
	_cleanup_(fd) int input = -1;
	struct proc_fd fds[] = {
		{-1, STDIN_FILENO}
        };
	struct proc_job run = {
		.spec = {.program = job->program,
			 .argv = argv,
			 .env = no_environment,
			 .cwd = "/",
			 .fds = fds,
			 .fd_count = ARRAY_LEN(fds)},
		.limits = {job->kind->time_ms,              job->kind->output_max_bytes + ANSWER_MORE_BYTES  },
	};
	struct cell *c;

	if (check_job(job, err) < 0 || make_input(job, &input, err) < 0)
		return -1;
	(void)snprintf(parent, sizeof(parent), "%d", getpid());
	(void)snprintf(name, sizeof(name), "%s", job->kind->name);
	fds[0].fd = input;
	c = xcalloc(1, sizeof(*c));
	c->cb = cb;
	c->arg = arg;
	c->reader = cell_reader_new(job->kind, cb, arg);
	if (proc_command_start(l, &run, &callbacks, c, &c->command, err) < 0) {
		cell_free(c);
		return -1;
	}
	*ret = c;
	return 0;
}

void cell_free(struct cell *c)
{
	if (!c)
		return;
	proc_command_free(c->command);
	cell_reader_free(c->reader);
	free(c);
}
