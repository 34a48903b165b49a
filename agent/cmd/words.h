#ifndef AGENT_CMD_WORDS_H
#define AGENT_CMD_WORDS_H
/* Names for bots that nobody named: adjective-noun-NNNN. */
#include <stdint.h>

#include "error/error.h"

enum { WORDS_NAME_SIZE = 32 };

/* By 32 bits of chance. Pure. */
void words_name_from(uint32_t chance, char out[WORDS_NAME_SIZE]);
int words_name(char out[WORDS_NAME_SIZE], struct error *err);
/* A request id nobody else has: 32 hex digits. */
enum { WORDS_REQUEST_SIZE = 33 };
int words_request(char out[WORDS_REQUEST_SIZE], struct error *err);

#endif
