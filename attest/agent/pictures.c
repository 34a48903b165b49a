/* Pictures: how they reach a model, and that what a bot leaves lies in the clear. */
#include "attest/suites.h"

#include <zlib.h>

#include "attest/provider.h"
#include "attest/script.h"

/* A PNG's signature and a marker; its base64 by hand. */
#define PICTURE        "\x89PNG\r\n\x1a\nMARKER-PICTURE!"
#define PICTURE_BASE64 "iVBORw0KGgpNQVJLRVItUElDVFVSRSE="
#define SECOND         "\x89PNG\r\n\x1a\nOF-A-PROMPT"
#define SECOND_BASE64  "iVBORw0KGgpPRi1BLVBST01QVA=="

static void AG_005_a_picture_reaches_the_model_as_a_picture(struct attest *t)
{
	struct attest_daemon *d;
	struct played_request q;
	struct played p;
	const char *run[] = {"run", "--no-spawn", "--detach", "--bot", "b", "--image", NULL, "--",
		"and this", NULL};
	int64_t turn;

	played_open(t, &p);
	d = attest_daemon_start(t, &(struct attest_start){
					   .args = (const char *[]){"--provider",
								    attest_path(t, "web=chat,%s", p.url), NULL}
        });
	attest_write(t, attest_path(t, "%s/p.png", d->workspace), PICTURE);
	(void)attest_call(t, d->client,
		"\"op\":\"create\",\"bot\":\"b\",\"model\":\"web/m\",\"instructions\":\"i\","
		"\"tools\":[\"view_image\"],\"workspace\":\"%s\"",
		d->workspace);
	turn = attest_submit(t, d, "b", "look");
	q = played_next(t, &p);
	attest_lacks(t, "the first request", q.body, PICTURE_BASE64);
	played_call(t, &q, "view_image", "{\"path\":\"p.png\"}");
	q = played_next(t, &p);
	attest_has(t, "the next request", q.body,
		"{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/"
		"png;base64," PICTURE_BASE64 "\"");
	played_say(t, &q, "seen");
	attest_true(t, str_is(attest_said(attest_wait(t, d, "b", turn)), "seen"),
		"the turn did not end");
	/* … and one that comes with the prompt, by whatever name the person has for it. */
	run[6] = attest_path(t, "%s/./second.png", d->workspace);
	attest_write(t, run[6], SECOND);
	attest_true(t, attest_agent(t, d, run, NULL).status == 0, "agent run --image failed");
	q = played_next(t, &p);
	attest_has(t, "the request with the prompt's picture", q.body,
		"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"and this\"},"
		"{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/"
		"png;base64," SECOND_BASE64 "\"");
	played_say(t, &q, "seen too");
	(void)attest_wait(t, d, "b", attest_last_turn(t, d, "b"));
}

/* What a stock sqlite3 gives of the default store. */
static struct str select_of(struct attest *t, const char *sql)
{
	const char *store = attest_path(t, "%s/.agent/state.sqlite", attest_home(t));
	const char *argv[] = {"sqlite3", "-readonly", "-noheader", store, sql, NULL};
	struct attest_ran ran = attest_run(t, argv, NULL);

	attest_true(t, ran.status == 0, "sqlite3: " STR_FMT, STR_ARG(ran.err));
	return ran.out;
}

/* Of sqlite's hex(): capitals. */
static unsigned nibble(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'A' + 10);
}

/* The first block of the artifact, inflated: behind a directory of four bytes a block. */
static struct str artifact_text(struct attest *t)
{
	enum { BLOCK_BYTES = 65536 };
	struct str hex = str_trim(select_of(t, "SELECT hex(bytes) FROM artifacts"));
	uint64_t total = 0;
	size_t len = hex.len / 2, directory;
	unsigned char *packed = arena_alloc(attest_arena(t), len + 1);
	char *text = arena_alloc(attest_arena(t), BLOCK_BYTES);
	z_stream z = {.zalloc = Z_NULL};

	attest_true(t,
		text_u64(str_trim(select_of(t, "SELECT total_bytes FROM artifacts WHERE encoding = "
					       "'blocks'")),
			1 << 30, "total_bytes", &total, NULL) == 0,
		"the artifact is not kept in blocks");
	for (size_t i = 0; i < len; i++)
		packed[i] = (unsigned char)(nibble(hex.p[2 * i]) << 4 | nibble(hex.p[2 * i + 1]));
	directory = 4 * ((total + BLOCK_BYTES - 1) / BLOCK_BYTES);
	attest_true(t, directory < len, "the artifact's row holds %zu bytes", len);
	z.next_in = packed + directory;
	z.avail_in = (uInt)(len - directory);
	z.next_out = (Bytef *)text;
	z.avail_out = BLOCK_BYTES;
	attest_true(t, inflateInit2(&z, -15) == Z_OK && inflate(&z, Z_FINISH) == Z_STREAM_END,
		"the artifact's first block is no deflate stream");
	(void)inflateEnd(&z);
	return (struct str){text, BLOCK_BYTES - z.avail_out};
}

static void AG_190_what_bots_leave_lies_in_the_clear(struct attest *t)
{
	static const struct {
		const char *what, *sql, *marker;
	} rows[] = {
		{"the prompt",     "SELECT prompt FROM turns",   "MARKER-PROMPT"     },
		{"the history",    "SELECT item FROM nodes",     "MARKER-SAID"       },
		{"the picture",    "SELECT item FROM nodes",     PICTURE_BASE64      },
		{"tool output",    "SELECT item FROM nodes",     "MARKER-OUTPUT"     },
		{"the approval",   "SELECT verdicts FROM tools", "MARKER-REASON"     },
		{"what was asked", "SELECT gates FROM tools",    "\"tag\":\"person\""},
	};
	struct attest_daemon *d = attest_daemon_start(t,
		&(struct attest_start){
			.script = CALL("view_image", "{\"path\":\"p.png\"}") SHELL(
				"echo MARKER-OUTPUT; yes 0123456789 | head -c 200000") CALL("write",
				"{\"path\":\"f\",\"content\":\"x\"}") SAY("MARKER-SAID")});

	attest_write(t, attest_path(t, "%s/p.png", d->workspace), PICTURE);
	(void)attest_bot(t, d, "b",
		"\"gates\":[{\"tag\":\"person\",\"tools\":[\"write\"],\"expire_ms\":null}]");
	(void)attest_submit(t, d, "b", "MARKER-PROMPT");
	attest_answer(t, d, attest_pending(t, d, "b"), "deny", "\"reason\":\"MARKER-REASON\"");
	(void)attest_wait(t, d, "b", attest_last_turn(t, d, "b"));
	attest_daemon_stop(t, d);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		attest_has(t, rows[i].what, select_of(t, rows[i].sql), rows[i].marker);
	attest_has(t, "the artifact", artifact_text(t), "MARKER-OUTPUT");
}

const struct attest_case attest_agent_pictures[] = {
	{"AG-005", NEEDS_NOTHING, AG_005_a_picture_reaches_the_model_as_a_picture},
	{"AG-190", NEEDS_SQLITE3, AG_190_what_bots_leave_lies_in_the_clear       },
	{NULL,     0,             NULL					   },
};
