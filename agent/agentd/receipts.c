/* agent receipts verify: whether the record of verdicts is whole. */
#include <string.h>

#include "agent/agentd/agentd.h"
#include "agent/cmd/agentd.h"
#include "agent/cmd/ask.h"
#include "agent/cmd/connect.h"
#include "agent/cmd/output.h"
#include "mem/mem.h"
#include "receipt/receipt.h"

enum { PAGE_RECEIPTS = 256 /* what the daemon gives at most */ };

static const struct error_kind UNREADABLE = {"invalid_receipts", ERROR_CLASS_IO};

struct chain {
	struct receipt_head at, kept;
	bool begun;
};

static int read_head(const struct json *page, struct receipt_head *ret, struct error *err)
{
	struct str hash = json_str(json_get(page, "head"));

	if (json_i64(json_get(page, "count"), &ret->count) < 0 || hash.len != RECEIPT_HASH_BYTES)
		return error_set(err, &UNREADABLE, "the daemon names no head");
	memcpy(ret->hash, hash.p, hash.len);
	ret->hash[hash.len] = '\0';
	return 0;
}

static void show_receipt(const struct receipt *r)
{
	_cleanup_(buf) struct buf line = BUF_INIT(64 * 1024);

	(void)buf_printf(&line, "%lld  %.12s  ", (long long)r->number, r->hash.p);
	(void)buf_put_str(&line, r->record);
	(void)buf_puts(&line, "\n");
	output_buf(&line); /* and clears it */
}

static int take_one(struct chain *c, const struct json *row, bool show, struct error *err)
{
	struct receipt r = {.record = json_str(json_get(row, "record")),
		.hash = json_str(json_get(row, "hash"))};

	if (json_i64(json_get(row, "number"), &r.number) < 0 || !r.record.p || !r.hash.p)
		return error_set(err, &UNREADABLE, "a receipt is not one");
	if (receipt_take(&c->at, &r, err) < 0)
		return -1;
	if (show)
		show_receipt(&r);
	return 0;
}

/* The last page names the head that the whole has to lead to. */
static int verify(struct client *client, bool show, struct chain *c, struct error *err)
{
	for (;;) {
		const struct json *page, *rows;
		struct ask a;

		ask_begin(&a, "receipts");
		json_put_i64(&a.j, "after", c->at.count);
		json_put_i64(&a.j, "limit", PAGE_RECEIPTS);
		if (ask_call(&a, client, &page, err) < 0 || read_head(page, &c->kept, err) < 0)
			return -1;
		if (!c->begun)
			receipt_genesis(json_str(json_get(page, "chain")), &c->at);
		c->begun = true;
		rows = ask_list(page, "receipts");
		if (!rows || !rows->child)
			return receipt_compare(&c->at, &c->kept, err);
		json_for_each (row, rows) {
			if (take_one(c, row, show, err) < 0)
				return -1;
		}
	}
}

static void show_whole(const struct chain *c, bool pretty)
{
	_cleanup_(buf) struct buf text = BUF_INIT(4096);
	struct json_out j = JSON_OUT(&text);

	if (pretty) {
		(void)buf_printf(&text, "%lld receipts, each in its place; the last is %s\n",
			(long long)c->at.count, c->at.hash);
	} else {
		json_open(&j, '{');
		json_put_bool(&j, "whole", true);
		json_put_i64(&j, "count", c->at.count);
		json_put_cstr(&j, "head", c->at.hash);
		json_close(&j, '}');
		(void)buf_puts(&text, "\n");
	}
	output_buf(&text);
}

int agentd_receipts(void *options, char **args, int count)
{
	const struct receipts_options *o = options;
	_cleanup_(connection) struct connection c = {.client = NULL};
	struct error err = ERROR_INIT;
	struct chain chain = {.begun = false};

	(void)args;
	(void)count;
	if (connect_open(&o->place, NULL, CONNECT_EXISTING, &c, &err) < 0 ||
		verify(c.client, o->pretty, &chain, &err) < 0)
		return ask_failed("receipts verify", c.client, &err);
	show_whole(&chain, o->pretty);
	return output_end("receipts verify", CLI_OK);
}
