/*
 * hash: SipHash-1-3 (Aumasson and Bernstein) with a key drawn once per process.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#include "mem/mem.h"
#include "table/internal.h"

static uint64_t seed[2];
static pthread_once_t seeded = PTHREAD_ONCE_INIT;

static void draw_seed(void)
{
	ssize_t got;

	do
		got = getrandom(seed, sizeof(seed), 0);
	while (got < 0 && errno == EINTR);
	must(got == sizeof(seed)); /* up to 256 bytes come whole: getrandom(2) */
}

struct sip {
	uint64_t a, b, c, d;
};

static inline uint64_t turn(uint64_t v, int by)
{
	return v << by | v >> (64 - by);
}

static inline void sip_round(struct sip *s)
{
	s->a += s->b;
	s->c += s->d;
	s->b = turn(s->b, 13) ^ s->a;
	s->d = turn(s->d, 16) ^ s->c;
	s->a = turn(s->a, 32) + s->d;
	s->c += s->b;
	s->d = turn(s->d, 21) ^ s->a;
	s->b = turn(s->b, 17) ^ s->c;
	s->c = turn(s->c, 32);
}

static inline void sip_word(struct sip *s, uint64_t word)
{
	s->d ^= word;
	sip_round(s);
	s->a ^= word;
}

uint64_t table_sip13(uint64_t k0, uint64_t k1, const void *p, size_t len)
{
	struct sip s = {
		k0 ^ UINT64_C(0x736f6d6570736575),
		k1 ^ UINT64_C(0x646f72616e646f6d),
		k0 ^ UINT64_C(0x6c7967656e657261),
		k1 ^ UINT64_C(0x7465646279746573),
	};
	const unsigned char *bytes = p;
	uint64_t last = (uint64_t)len << 56;
	uint64_t word;
	size_t at = 0;

	for (; len - at >= sizeof(word); at += sizeof(word)) {
		memcpy(&word, bytes + at, sizeof(word));
		sip_word(&s, word);
	}
	for (int shift = 0; at < len; at++, shift += 8)
		last |= (uint64_t)bytes[at] << shift;
	sip_word(&s, last);
	s.c ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(&s);
	return s.a ^ s.b ^ s.c ^ s.d;
}

uint64_t table_hash(const void *p, size_t len)
{
	must(pthread_once(&seeded, draw_seed) == 0);
	return table_sip13(seed[0], seed[1], p, len);
}
