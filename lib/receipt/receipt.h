#ifndef RECEIPT_RECEIPT_H
#define RECEIPT_RECEIPT_H
/*
 * receipt: records chained by hash, so that one that was changed, put in, moved or taken out shows.
 *
 * Receipt number n (from 1) has the hash
 *
 *	SHA-256(hash of n - 1 in hex, n, length of the record, the record)
 *
 * with both numbers as 64 bits, highest byte first. What comes before the first is the genesis,
 * SHA-256("consort receipts 1\n" and the chain's name): no receipt of another chain fits into this
 * one. A record is bytes; what they mean is their writer's business.
 *
 * The head, how many there are and the hash of the last one, is kept apart from the records. The
 * chain alone cannot show that its end is missing; the head does.
 *
 * Not promised: whoever can write both the records and the head can write a whole new chain. Who
 * wrote down an earlier head elsewhere sees that too.
 */
#include <stdint.h>

#include "error/error.h"
#include "text/text.h"

extern const struct error_kind RECEIPT_BROKEN; /* receipts_broken, conflict */

enum { RECEIPT_HASH_BYTES = 64 /* SHA-256, as lower-case hex */ };

struct receipt_head {
	int64_t count;
	char hash[RECEIPT_HASH_BYTES + 1];
};
struct receipt {
	int64_t number;
	struct str record, hash; /* hash: hex */
};

/* No receipt yet. */
void receipt_genesis(struct str chain, struct receipt_head *ret);
/* The head with one record more, whose number and hash it then has. */
void receipt_extend(struct receipt_head *head, struct str record);

/*
 * Verifying: start from the genesis, or a head that is trusted; take each receipt in order; compare
 * with the head that was kept.
 */
/* RECEIPT_BROKEN when it is not the next one, and says how; `head` then stays. */
int receipt_take(struct receipt_head *head, const struct receipt *r, struct error *err);
/* RECEIPT_BROKEN unless they are the same. */
int receipt_compare(
	const struct receipt_head *found, const struct receipt_head *kept, struct error *err);

/* SHA-256 of a text, as hex and a NUL. */
void receipt_digest(struct str text, char ret[RECEIPT_HASH_BYTES + 1]);

#endif
