/*
 * The filter as its callers see it: three stages in a row, and a buffer at their end.
 */
#include "mem/mem.h"
#include "secret/internal.h"

struct secret_filter *secret_filter_new(const struct secret_set *set)
{
	struct secret_filter *f = xcalloc(1, sizeof(*f));

	known_init(&f->known, set_match(set));
	return f;
}

void secret_filter_free(struct secret_filter *f)
{
	if (!f)
		return;
	known_release(&f->known);
	wipe_free(f, sizeof(*f));
}

void filter_out(struct secret_filter *f, const char *p, size_t len)
{
	if (len)
		(void)buf_put(f->out, p, len); /* stays full: finish() looks */
}

static int finish(struct secret_filter *f)
{
	bool full = f->out->full;

	f->out = NULL;
	return full ? -1 : 0;
}

int secret_filter_put(struct secret_filter *f, const char *p, size_t len, struct buf *out)
{
	f->out = out;
	known_put(f, p, len);
	return finish(f);
}

int secret_filter_end(struct secret_filter *f, struct buf *out)
{
	f->out = out;
	known_end(f);
	pem_end(f);
	fields_end(f);
	return finish(f);
}

int secret_redact(const struct secret_set *set, struct str text, struct buf *out)
{
	struct secret_filter *f = secret_filter_new(set);
	int put = secret_filter_put(f, text.p, text.len, out);
	int end = secret_filter_end(f, out);

	secret_filter_free(f);
	return put < 0 || end < 0 ? -1 : 0;
}
