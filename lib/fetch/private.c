/*
 * fetch: which addresses are no public ones. An IPv6 address that carries an IPv4 one is judged by
 * that too, since that is where it may lead.
 */
#include <arpa/inet.h>

#include "internal.h"

enum { V4_BYTES = 4, V6_BYTES = 16 };

struct range {
	uint8_t bytes[V6_BYTES];
	uint8_t bits;
};

/* IANA's registries of special-purpose addresses: what is not globally reachable. */
static const struct range v4[] = {
	{{0},            8 }, /* "this network": 0.0.0.0 connects to this host */
	{{10},           8 },
        {{100, 64},      10}, /* shared with a provider */
	{{127},          8 },
        {{169, 254},     16},
        {{172, 16},      12},
        {{192, 0, 0},    24},
        {{192, 0, 2},    24},
	{{192, 88, 99},  24},
        {{192, 168},     16},
        {{198, 18},      15},
        {{198, 51, 100}, 24},
	{{203, 0, 113},  24},
        {{224},          3 }, /* multicast, reserved, broadcast */
};
/* All that is outside of 2000::/3 is private, too: see below. */
static const struct range v6[] = {
	{{0x20, 0x01, 0x00, 0x00}, 23}, /* protocols, Teredo among them */
	{{0x20, 0x01, 0x0d, 0xb8}, 32},
	{{0x3f, 0xff},             20},
};
static const struct range global_v6 = {{0x20}, 3};
/* Where an IPv4 address stands in one of version 6, and behind which prefix. */
static const struct {
	struct range prefix;
	size_t at;
} carriers[] = {
	{{{[10] = 0xff, [11] = 0xff}, 96}, 12}, /* mapped */
	{{{0x00, 0x64, 0xff, 0x9b}, 96},   12}, /* NAT64 */
	{{{0x20, 0x02}, 16},               2 }, /* 6to4 */
};

static bool is_within(const uint8_t *a, const struct range *r)
{
	size_t whole = r->bits / 8, rest = r->bits % 8;

	if (memcmp(a, r->bytes, whole) != 0)
		return false;
	return rest == 0 || (a[whole] ^ r->bytes[whole]) >> (8 - rest) == 0;
}

static bool is_private_v4(const uint8_t *a)
{
	for (size_t i = 0; i < ARRAY_LEN(v4); i++) {
		if (is_within(a, &v4[i]))
			return true;
	}
	return false;
}

static bool is_private_v6(const uint8_t *a)
{
	for (size_t i = 0; i < ARRAY_LEN(carriers); i++) {
		if (is_within(a, &carriers[i].prefix))
			return is_private_v4(a + carriers[i].at);
	}
	for (size_t i = 0; i < ARRAY_LEN(v6); i++) {
		if (is_within(a, &v6[i]))
			return true;
	}
	return !is_within(a, &global_v6);
}

bool fetch_address_is_private(const union loop_address *a)
{
	uint8_t bytes[V6_BYTES];

	if (a->any.sa_family == AF_INET) {
		memcpy(bytes, &a->v4.sin_addr, V4_BYTES);
		return is_private_v4(bytes);
	}
	memcpy(bytes, &a->v6.sin6_addr, V6_BYTES);
	return is_private_v6(bytes);
}
