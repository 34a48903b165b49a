/* Pages of the daemon's as one JSON array or one table. */
#include "agent/cmd/listing.h"

#include "agent/cmd/output.h"

enum { LISTING_MAX_BYTES = 256 * 1024 * 1024 /* ours: some 300,000 bots */ };

void listing_init(struct listing *l, bool pretty, const char *const *headings,
	void (*row)(struct columns *to, const struct json *item))
{
	*l = (struct listing){.pretty = pretty, .json = BUF_INIT(LISTING_MAX_BYTES), .row = row};
	columns_init(&l->table, headings);
}

void listing_add(struct listing *l, const struct json *item)
{
	struct json_out j = JSON_OUT(&l->json);

	if (l->pretty) {
		l->row(&l->table, item);
	} else {
		(void)buf_puts(&l->json, l->count ? ",\n" : "[\n"); /* full is seen at the end */
		json_put(&j, NULL, item);
	}
	l->count++;
}

int listing_print(struct listing *l, struct error *err)
{
	if (l->pretty)
		(void)columns_write(&l->table, &l->json); /* full is seen below */
	else
		(void)buf_puts(&l->json, l->count ? "\n]\n" : "[]\n");
	if (l->json.full)
		return error_set(err, &ERROR_LIMIT, "the list is over %d bytes", LISTING_MAX_BYTES);
	output_buf(&l->json);
	return 0;
}

void listing_release(struct listing *l)
{
	buf_release(&l->json);
	columns_release(&l->table);
}

void listing_number(struct columns *to, const struct json *value)
{
	columns_add(to, value && value->type == JSON_NUMBER ? value->text : (struct str){NULL, 0});
}
