/* Pictures: their sort by signature, their bytes as base64. */
#include "agent/tool/picture.h"

#include <openssl/evp.h>

const struct error_kind PICTURE_UNSUPPORTED = {"picture_unsupported", ERROR_CLASS_USAGE};

/* The bytes at the start; those at 8 as well, where a container says at 0 only that it is one. */
static const struct {
	struct str start, at_8;
	const char *media_type;
} sorts[] = {
	{{"\x89PNG\r\n\x1a\n", 8}, {NULL, 0},   "image/png" },
	{{"\xff\xd8\xff", 3},      {NULL, 0},   "image/jpeg"},
	{{"GIF87a", 6},            {NULL, 0},   "image/gif" },
	{{"GIF89a", 6},            {NULL, 0},   "image/gif" },
	{{"RIFF", 4},              {"WEBP", 4}, "image/webp"},
};

static const char *media_type_of(struct str bytes)
{
	for (size_t i = 0; i < ARRAY_LEN(sorts); i++) {
		struct str rest = {bytes.p + 8, bytes.len < 8 ? 0 : bytes.len - 8};

		if (str_starts(bytes, sorts[i].start) &&
			(!sorts[i].at_8.p || str_starts(rest, sorts[i].at_8)))
			return sorts[i].media_type;
	}
	return NULL;
}

int picture_read(struct arena *a, struct str bytes, const char *what, struct item_picture *ret,
	struct error *err)
{
	const char *media_type = bytes.len > 0 ? media_type_of(bytes) : NULL;
	char *text;
	int len;

	if (!media_type)
		return error_set(err, &PICTURE_UNSUPPORTED,
			"'%s' is no PNG, JPEG, GIF or WebP picture", what);
	if (bytes.len > PICTURE_MAX_BYTES)
		return error_set(err, &ERROR_LIMIT, "'%s' has %zu bytes, %d are the limit", what,
			bytes.len, PICTURE_MAX_BYTES);
	text = arena_alloc(a, (bytes.len + 2) / 3 * 4 + 1);
	len = EVP_EncodeBlock(
		(unsigned char *)text, (const unsigned char *)bytes.p, (int)bytes.len);
	*ret = (struct item_picture){
		str_from(media_type), {text, (size_t)len}
        };
	return 0;
}
