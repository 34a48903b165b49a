/* The drills as a suite. */
#include "attest/drills.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "suite_config.h"

enum {
	HEADER_MAX_BYTES = 4 * 1024 * 1024,
	DRILLS_MAX = 1000, /* ours */
};

#define SUFFIX ".jsonl"

/* Filled once, by drills_suite. */
static struct promise texts[DRILLS_MAX + 1];
static struct attest_case cases[DRILLS_MAX + 1];

static const struct error_kind NO_DRILLS = {"no_drills", ERROR_CLASS_NOT_FOUND};
static const struct error_kind BAD_DRILL = {"bad_drill", ERROR_CLASS_USAGE};

/* A file system of a few megabytes where the drill's world is: full means full. */
static const char small_disk[] =
	"mount -t tmpfs -o size=48m,mode=1777 none /var/tmp && cd / && exec \"$@\"";

static void judge(struct attest *t, const struct attest_ran *ran)
{
	const struct json *line = NULL;
	struct str result, why;

	if (json_parse(attest_arena(t), str_trim(ran->out), &line, NULL) < 0)
		attest_broken(t, "agent rehearse: exit status %d: %.300s", ran->status, ran->err.p);
	result = json_str(json_get(line, "result"));
	why = json_str(json_get(line, "why"));
	attest_true(t, str_is(result, "as_stated") && ran->status == 0, STR_FMT ": " STR_FMT,
		STR_ARG(result.p ? result : STR("?")), STR_ARG(why.p ? why : STR("")));
	if (ran->err.len > 0)
		attest_note(t, "%s", ran->err.p);
}

static void rehearse(struct attest *t)
{
	const char *argv[] = {attest_bin("agent"), "rehearse", "--drills", "--rough", "--json",
		attest_id(t), NULL};
	struct attest_ran ran = attest_run(t, argv, NULL);

	judge(t, &ran);
}

static void rehearse_on_small_disk(struct attest *t)
{
	const char *argv[] = {"unshare", "-rm", "/bin/sh", "-c", small_disk, "sh",
		attest_bin("agent"), "rehearse", "--drills", "--rough", "--json", attest_id(t),
		NULL};
	struct attest_ran ran;

	if (str_starts(str_from(attest_bin("agent")), STR("/var/tmp/")))
		attest_not_here(t, "the programs lie below /var/tmp, which the small disk covers");
	ran = attest_run(t, argv, NULL);
	judge(t, &ran);
}

/* What the first line says. */
static int add(const char *folder, const char *file, size_t at, struct error *err)
{
	static struct arena arena; /* as long as the process */
	_cleanup_(buf) struct buf text = BUF_INIT(HEADER_MAX_BYTES);
	_cleanup_(mem) char *path = xasprintf("%s/%s", folder, file);
	struct str rest, line = {NULL, 0}, must_happen;
	const struct json *header;
	char *id;

	if (os_read_file(path, &text, err) < 0)
		return -1;
	rest = buf_str(&text);
	(void)str_next(&rest, '\n', &line); /* an empty file has no header, see below */
	if (json_parse(&arena, line, &header, err) < 0)
		return error_prefix(err, "%s", path);
	must_happen = json_str(json_get(header, "must"));
	if (!must_happen.p)
		return error_set(err, &BAD_DRILL, "%s: it does not say what must happen", path);
	id = arena_strndup(&arena, file, strlen(file) - strlen(SUFFIX));
	texts[at] = (struct promise){
		id, arena_strndup(&arena, must_happen.p, must_happen.len), NULL};
	cases[at] = (struct attest_case){id, NEEDS_SANDBOX, rehearse};
	if (json_is_true(json_get(header, "rough")))
		cases[at].needs |= NEEDS_ROUGH;
	if (strcmp(id, "disk-full") == 0) {
		cases[at].needs |= NEEDS_NAMESPACE;
		cases[at].run = rehearse_on_small_disk;
	}
	return 0;
}

static int is_drill(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return e->d_name[0] != '.' && len > strlen(SUFFIX) &&
	       strcmp(e->d_name + len - strlen(SUFFIX), SUFFIX) == 0;
}

static int read_folder(const char *folder, struct error *err)
{
	struct dirent **found;
	int n = scandir(folder, &found, is_drill, alphasort);
	int rc = 0;

	if (n < 0)
		return error_sys(err, "read the folder '%s'", folder);
	for (int i = 0; i < n; i++) {
		if (rc == 0 && i < DRILLS_MAX)
			rc = add(folder, found[i]->d_name, (size_t)i, err);
		free(found[i]);
	}
	free(found);
	if (rc == 0 && n == 0)
		return error_set(err, &NO_DRILLS, "no drills in '%s'", folder);
	return rc;
}

const struct suite *drills_suite(struct error *err)
{
	static const struct attest_case *const tables[] = {cases, NULL};
	static const struct suite suite = {"drills", texts, tables};
	_cleanup_(mem) char *dir = NULL, *beside = NULL;
	const char *folder;

	if (os_program_dir(&dir, err) < 0)
		return NULL;
	beside = xasprintf("%s/../share/consort/drills", dir);
	folder = attest_exists(beside) ? beside : SUITE_DRILLS;
	return read_folder(folder, err) < 0 ? NULL : &suite;
}
