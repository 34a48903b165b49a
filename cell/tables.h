#ifndef CELL_TABLES_H
#define CELL_TABLES_H
/*
 * The tables of old character sets, made by charset_make.c. 0: no character.
 */
#include <stdint.h>

enum {
	SINGLE_FIRST = 0x80,
	SINGLE_COUNT = 128,
	LEAD_FIRST = 0x81,
	LEAD_COUNT = 126,
	TRAIL_FIRST = 0x40,
	TRAIL_COUNT = 191,
	SINGLES = 26, /* of charset_make.c's list */
	DOUBLES = 5,
};
extern const uint16_t table_single[SINGLES][SINGLE_COUNT];
extern const uint16_t table_double[DOUBLES][LEAD_COUNT * TRAIL_COUNT];
extern const char *const table_single_names[SINGLES];
extern const char *const table_double_names[DOUBLES];

#endif
