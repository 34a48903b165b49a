/*
 * view_image: pictures by their signature, and what is none.
 */
#include "agent/tool/picture.h"
#include "tooling.h"

#define S(literal)                                                                                 \
	{                                                                                          \
		(literal), sizeof(literal) - 1                                                     \
	}

static void pictures_are_told_by_their_first_bytes(void **state)
{
	static const struct {
		struct str bytes;
		const char *media_type, *base64;
	} rows[] = {
		{S("\x89PNG\r\n\x1a\n"),        "image/png",  "iVBORw0KGgo="    },
		{S("\xff\xd8\xff\xe0"),         "image/jpeg", "/9j/4A=="        },
		{S("GIF87a"),                   "image/gif",  "R0lGODdh"        },
		{S("GIF89a!"),                  "image/gif",  "R0lGODlhIQ=="    },
		{S("RIFF\x01\x02\x03\x04WEBP"), "image/webp", "UklGRgECAwRXRUJQ"},
	};
	struct rig r;

	(void)state;
	rig_init(&r);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		rig_put(&r, r.workspace, "p", rows[i].bytes);
		rig_call(&r, "view_image", "{\"path\":\"p\"}");
		assert_false(r.failed);
		assert_int_equal(r.judgement.reach, TOOL_IN_DAEMON);
		assert_true(str_is(r.picture.media_type, rows[i].media_type));
		assert_true(str_is(r.picture.base64, rows[i].base64));
		assert_says(&r, rows[i].media_type);
	}
	rig_release(&r);
}

static void other_files_are_refused(void **state)
{
	static const struct {
		const char *name;
		struct str bytes;
	} rows[] = {
		{"empty",            S("")                        },
		{"text",             S("hello")                   },
		{"half a signature", S("\x89PNG")                 },
		{"a WAVE file",      S("RIFF\x01\x02\x03\x04WAVE")},
		{"RIFF alone",       S("RIFF")                    },
		{"SVG",              S("<svg/>")                  },
	};
	struct rig r;

	(void)state;
	rig_init(&r);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		rig_put(&r, r.workspace, "p", rows[i].bytes);
		rig_call(&r, "view_image", "{\"path\":\"p\"}");
		if (!r.failed || !rig_says(&r, "picture_unsupported") || r.picture.base64.p)
			fail_msg("%s: %.*s", rows[i].name, (int)r.output.len, r.output.p);
	}
	rig_release(&r);
}

static void sizes_and_places_are_held(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_put(&r, r.workspace, "p", STR("\x89PNG\r\n\x1a\n"));
	must(truncate(rig_path(&r, r.workspace, "p"), PICTURE_MAX_BYTES) == 0);
	rig_call(&r, "view_image", "{\"path\":\"p\"}");
	assert_false(r.failed);
	assert_int_equal(r.picture.base64.len, (PICTURE_MAX_BYTES + 2) / 3 * 4);
	must(truncate(rig_path(&r, r.workspace, "p"), PICTURE_MAX_BYTES + 1) == 0);
	rig_call(&r, "view_image", "{\"path\":\"p\"}");
	assert_says(&r, "file_too_large");
	rig_call(&r, "view_image", "{\"path\":\"none\"}");
	assert_true(r.failed);
	rig_call(&r, "view_image", "{\"path\":\"/proc/self/environ\"}");
	assert_says(&r, "file_not_regular");
	rig_call(&r, "view_image", "{\"path\":\".\"}");
	assert_true(r.failed);
	rig_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pictures_are_told_by_their_first_bytes),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(sizes_and_places_are_held),
	};

	return cmocka_run_group_tests_name("tool_view_image", tests, NULL, NULL);
}
