/* The chain: what it is made of, and that each kind of change shows and is named. */
#include "testing.h"

#include "receipt/receipt.h"

enum { CHAIN = 5 };

static const char *const records[CHAIN] = {"one", "two", "", "four", "five"};

struct chain {
	struct receipt_head head;
	char hashes[CHAIN][RECEIPT_HASH_BYTES + 1];
	struct receipt rows[CHAIN];
};

static void make(struct chain *c)
{
	receipt_genesis(STR("lineage"), &c->head);
	for (size_t i = 0; i < CHAIN; i++) {
		receipt_extend(&c->head, str_from(records[i]));
		memcpy(c->hashes[i], c->head.hash, sizeof(c->hashes[i]));
		c->rows[i] = (struct receipt){
			(int64_t)i + 1, str_from(records[i]), str_from(c->hashes[i])};
	}
}

/* 0 and "", or the text of what is broken. */
static int verify(const struct chain *c, size_t count, const char *chain, struct error *err)
{
	struct receipt_head at;

	receipt_genesis(str_from(chain), &at);
	for (size_t i = 0; i < count; i++) {
		if (receipt_take(&at, &c->rows[i], err) < 0)
			return -1;
	}
	return receipt_compare(&at, &c->head, err);
}

static void refused(const struct chain *c, size_t count, const char *chain, const char *says)
{
	struct error err = ERROR_INIT;

	assert_int_equal(verify(c, count, chain, &err), -1);
	assert_true(error_is(&err, &RECEIPT_BROKEN));
	if (!strstr(err.text, says))
		fail_msg("'%s' does not say '%s'", err.text, says);
}

static void a_whole_chain_verifies(void **state)
{
	struct error err = ERROR_INIT;
	struct chain c;

	(void)state;
	make(&c);
	assert_ok(verify(&c, CHAIN, "lineage", &err), &err);
}

/* printf 'consort receipts 1\nx' | sha256sum, and the first receipt by hand: so that the form on
 * disk cannot change unnoticed. */
static void the_form_is_what_the_header_says(void **state)
{
	struct receipt_head h;

	(void)state;
	receipt_genesis(STR("x"), &h);
	assert_string_equal(
		h.hash, "271940196ac182a3d42c7583ce17d6384b43e90581bb39ca32779d71856b95b9");
	receipt_extend(&h, STR("abc"));
	assert_string_equal(
		h.hash, "a81db6f628ab4d74a06a047f2a28b14d4328f9d29419fde4601b61acfbfa71ad");
	assert_int_equal(h.count, 1);
}

static void a_changed_record_shows(void **state)
{
	struct chain c;

	(void)state;
	for (size_t i = 0; i < CHAIN; i++) {
		char says[32];

		make(&c);
		c.rows[i].record = STR("other");
		(void)snprintf(says, sizeof(says), "receipt %zu: its hash", i + 1);
		refused(&c, CHAIN, "lineage", says);
	}
}

/* Record and hash both, as somebody who knows the form would. */
static void a_rewritten_receipt_shows_at_the_next(void **state)
{
	struct receipt_head at;
	struct chain c;

	(void)state;
	make(&c);
	receipt_genesis(STR("lineage"), &at);
	receipt_extend(&at, STR("one"));
	receipt_extend(&at, STR("other"));
	c.rows[1].record = STR("other");
	c.rows[1].hash = str_from(at.hash);
	refused(&c, CHAIN, "lineage", "receipt 3: its hash");
}

static void a_receipt_that_is_gone_shows(void **state)
{
	struct chain c;

	(void)state;
	make(&c);
	c.rows[2] = c.rows[3];
	refused(&c, CHAIN, "lineage", "receipt 3: is missing");
	make(&c);
	refused(&c, CHAIN - 1, "lineage", "receipt 5: is missing");
	refused(&c, 0, "lineage", "receipt 1: is missing");
}

static void a_receipt_too_many_shows(void **state)
{
	struct chain c;

	(void)state;
	make(&c);
	c.rows[3] = c.rows[2];
	refused(&c, CHAIN, "lineage", "receipt 4: stands there twice");
	make(&c);
	c.head.count--;
	refused(&c, CHAIN, "lineage", "receipt 5: the head knows of 4 only");
}

static void receipts_of_another_chain_do_not_fit(void **state)
{
	struct chain c;

	(void)state;
	make(&c);
	refused(&c, CHAIN, "another", "receipt 1: its hash");
}

static void another_head_shows(void **state)
{
	struct chain c;

	(void)state;
	make(&c);
	c.head.hash[0] = c.head.hash[0] == '0' ? '1' : '0';
	refused(&c, CHAIN, "lineage", "receipt 5: its hash is not the one of the head");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_chain_verifies),
		cmocka_unit_test(the_form_is_what_the_header_says),
		cmocka_unit_test(a_changed_record_shows),
		cmocka_unit_test(a_rewritten_receipt_shows_at_the_next),
		cmocka_unit_test(a_receipt_that_is_gone_shows),
		cmocka_unit_test(a_receipt_too_many_shows),
		cmocka_unit_test(receipts_of_another_chain_do_not_fit),
		cmocka_unit_test(another_head_shows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
