/*
 * fuzz model_FAMILY: the events of a stream do not depend on the pieces it comes in; blocks are
 * numbered, one is open at a time, and nothing follows the end; what the encoder writes of the
 * reply is decoded to the same reply.
 *
 * Input: the stream. The build says which family.
 */
#include "fuzz/fuzz.h"
#include "test/model/roundtrip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct str stream = fuzz_str(data, size);
	const unsigned seeds[] = {1, 2 + (unsigned)size % 251};
	struct tape whole = TAPE_INIT;

	tape_decode(&whole, FUZZ_FAMILY, stream, 0); /* checks the order of events as it goes */
	for (size_t i = 0; i < ARRAY_LEN(seeds); i++) {
		struct tape pieces = TAPE_INIT;

		tape_decode(&pieces, FUZZ_FAMILY, stream, seeds[i]);
		must(str_eq(buf_str(&pieces.text), buf_str(&whole.text)));
		must(pieces.alive == whole.alive);
		buf_release(&pieces.text);
	}
	buf_release(&whole.text);
	roundtrip_check(FUZZ_FAMILY, stream);
	return 0;
}
