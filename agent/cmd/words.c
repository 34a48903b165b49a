/* Names for bots that nobody named. */
#include "agent/cmd/words.h"

#include <stdio.h>

#include "mem/mem.h"
#include "os/os.h"
#include "text/text.h"

static const char *const adjectives[] = {
	"amber",
	"ample",
	"brave",
	"brisk",
	"calm",
	"clear",
	"clever",
	"crisp",
	"eager",
	"early",
	"fair",
	"fleet",
	"fresh",
	"gentle",
	"glad",
	"golden",
	"grand",
	"handy",
	"happy",
	"hardy",
	"humble",
	"jolly",
	"keen",
	"kind",
	"lively",
	"loyal",
	"lucid",
	"merry",
	"mild",
	"modest",
	"neat",
	"nimble",
	"noble",
	"patient",
	"plain",
	"polite",
	"proud",
	"quick",
	"quiet",
	"rapid",
	"ready",
	"round",
	"rustic",
	"sage",
	"sharp",
	"silver",
	"simple",
	"sleek",
	"smart",
	"snug",
	"solid",
	"spry",
	"steady",
	"still",
	"sturdy",
	"subtle",
	"sunny",
	"swift",
	"tidy",
	"true",
	"trusty",
	"vivid",
	"warm",
	"wise",
};
static const char *const nouns[] = {
	"alder",
	"aspen",
	"badger",
	"beaver",
	"birch",
	"bison",
	"brook",
	"cedar",
	"cliff",
	"comet",
	"crane",
	"delta",
	"dune",
	"eagle",
	"ember",
	"falcon",
	"fern",
	"finch",
	"fjord",
	"flint",
	"forest",
	"fox",
	"glade",
	"grove",
	"harbor",
	"hare",
	"hawk",
	"hazel",
	"heron",
	"ibis",
	"iris",
	"island",
	"juniper",
	"lark",
	"laurel",
	"linden",
	"lynx",
	"maple",
	"marten",
	"meadow",
	"mesa",
	"moss",
	"oak",
	"orchid",
	"osprey",
	"otter",
	"owl",
	"pebble",
	"pine",
	"plover",
	"prairie",
	"puffin",
	"quartz",
	"raven",
	"reef",
	"river",
	"robin",
	"sparrow",
	"spruce",
	"summit",
	"swan",
	"thistle",
	"willow",
	"wren",
};

enum { NUMBERS = 10000 };

void words_name_from(uint32_t chance, char out[WORDS_NAME_SIZE])
{
	const char *adjective = adjectives[chance % ARRAY_LEN(adjectives)];
	const char *noun = nouns[chance / ARRAY_LEN(adjectives) % ARRAY_LEN(nouns)];
	uint32_t number = chance / (ARRAY_LEN(adjectives) * ARRAY_LEN(nouns)) % NUMBERS;

	(void)snprintf(out, WORDS_NAME_SIZE, "%s-%s-%04u", adjective, noun, number); /* fits */
}

int words_name(char out[WORDS_NAME_SIZE], struct error *err)
{
	uint32_t chance;

	if (os_random(&chance, sizeof(chance), err) < 0)
		return -1;
	words_name_from(chance, out);
	return 0;
}

int words_request(char out[WORDS_REQUEST_SIZE], struct error *err)
{
	unsigned char chance[(WORDS_REQUEST_SIZE - 1) / 2];

	if (os_random(chance, sizeof(chance), err) < 0)
		return -1;
	text_hex(chance, sizeof(chance), out);
	return 0;
}
