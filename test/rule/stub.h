#ifndef TEST_RULE_STUB_H
#define TEST_RULE_STUB_H
/*
 * stub: what the box of the rule differential and the programs in it agree on.
 */

enum {
	STUB_FD = 9,                     /* where records are appended; shells leave it alone */
	STUB_FAILED = 99,                /* the record could not be written */
	STUB_END = 0x1e,                 /* behind the last word's NUL; in no plain script */
	STUB_RECORD_MAX_BYTES = 1 << 18, /* four times the longest script */
};
#define STUB_STATUS "STUB_STATUS" /* "0" or "1" */

#endif
