/* receipt: the chain. */
#include "receipt/receipt.h"

#include <string.h>

#include <openssl/evp.h>

#include "mem/mem.h"

const struct error_kind RECEIPT_BROKEN = {"receipts_broken", ERROR_CLASS_CONFLICT};

enum {
	SUM_BYTES = RECEIPT_HASH_BYTES / 2,
	NUMBER_BYTES = 8,
};

static const char preamble[] = "consort receipts 1\n";

static void put_hex(const uint8_t sum[SUM_BYTES], char ret[RECEIPT_HASH_BYTES + 1])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < SUM_BYTES; i++) {
		ret[2 * i] = digits[sum[i] >> 4];
		ret[2 * i + 1] = digits[sum[i] & 15];
	}
	ret[RECEIPT_HASH_BYTES] = '\0';
}

/* Out of memory is all that can go wrong with these. */
static void put(EVP_MD_CTX *c, const void *p, size_t len)
{
	must(EVP_DigestUpdate(c, p, len) == 1);
}

static EVP_MD_CTX *begin(void)
{
	EVP_MD_CTX *c = EVP_MD_CTX_new();

	must(c && EVP_DigestInit_ex(c, EVP_sha256(), NULL) == 1);
	return c;
}

static void end(EVP_MD_CTX *c, char ret[RECEIPT_HASH_BYTES + 1])
{
	uint8_t sum[SUM_BYTES];

	must(EVP_DigestFinal_ex(c, sum, NULL) == 1);
	EVP_MD_CTX_free(c);
	put_hex(sum, ret);
}

static void put_number(EVP_MD_CTX *c, uint64_t n)
{
	uint8_t bytes[NUMBER_BYTES];

	for (size_t i = 0; i < NUMBER_BYTES; i++)
		bytes[i] = (uint8_t)(n >> (8 * (NUMBER_BYTES - 1 - i)));
	put(c, bytes, sizeof(bytes));
}

void receipt_digest(struct str text, char ret[RECEIPT_HASH_BYTES + 1])
{
	EVP_MD_CTX *c = begin();

	put(c, text.p, text.len);
	end(c, ret);
}

void receipt_genesis(struct str chain, struct receipt_head *ret)
{
	EVP_MD_CTX *c = begin();

	put(c, preamble, sizeof(preamble) - 1);
	put(c, chain.p, chain.len);
	end(c, ret->hash);
	ret->count = 0;
}

void receipt_extend(struct receipt_head *head, struct str record)
{
	EVP_MD_CTX *c = begin();

	head->count++;
	put(c, head->hash, RECEIPT_HASH_BYTES); /* as hex */
	put_number(c, (uint64_t)head->count);
	put_number(c, record.len);
	put(c, record.p, record.len);
	end(c, head->hash);
}

int receipt_take(struct receipt_head *head, const struct receipt *r, struct error *err)
{
	struct receipt_head next = *head;

	if (r->number != head->count + 1)
		return error_set(err, &RECEIPT_BROKEN, "receipt %lld: %s, for %lld comes after it",
			(long long)head->count + 1,
			r->number > head->count ? "is missing" : "stands there twice",
			(long long)r->number);
	receipt_extend(&next, r->record);
	if (!str_is(r->hash, next.hash))
		return error_set(err, &RECEIPT_BROKEN,
			"receipt %lld: its hash is not that of its record and the one before it",
			(long long)r->number);
	*head = next;
	return 0;
}

int receipt_compare(
	const struct receipt_head *found, const struct receipt_head *kept, struct error *err)
{
	if (found->count < kept->count)
		return error_set(err, &RECEIPT_BROKEN,
			"receipt %lld: is missing, for the head says that there are %lld",
			(long long)found->count + 1, (long long)kept->count);
	if (found->count > kept->count)
		return error_set(err, &RECEIPT_BROKEN, "receipt %lld: the head knows of %lld only",
			(long long)kept->count + 1, (long long)kept->count);
	if (strcmp(found->hash, kept->hash) != 0)
		return error_set(err, &RECEIPT_BROKEN,
			"receipt %lld: its hash is not the one of the head",
			(long long)found->count);
	return 0;
}
