/*
 * replay: runs a fuzz target once over each file of the folders named, in their order, and says
 * which one it is at, so that an abort names its file.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz/fuzz.h"

enum {
	SEED_MAX_BYTES = 1024 * 1024, /* ours: a corpus is small files */
};

static void close_file(FILE *f)
{
	if (f)
		(void)fclose(f); /* only read from */
}
MEM_CLEANUP(file, FILE *, close_file)

/* A name that is no file counts as one that failed: a corpus has nothing else in it. */
static int replay(const char *path)
{
	_cleanup_(file) FILE *f = fopen(path, "rbe");
	_cleanup_(mem) uint8_t *exact = NULL; /* so that the sanitizer sees the end */
	struct stat st;

	if (!f || fstat(fileno(f), &st) < 0 || !S_ISREG(st.st_mode) ||
		st.st_size > SEED_MAX_BYTES) {
		fprintf(stderr, "%s: not a file of at most %d bytes\n", path, SEED_MAX_BYTES);
		return -1;
	}
	exact = xmalloc((size_t)st.st_size);
	if (fread(exact, 1, (size_t)st.st_size, f) != (size_t)st.st_size) {
		fprintf(stderr, "%s: cannot be read whole\n", path);
		return -1;
	}
	printf("%s\n", path);
	(void)fflush(stdout);                                    /* before it may abort */
	(void)LLVMFuzzerTestOneInput(exact, (size_t)st.st_size); /* always 0 */
	return 0;
}

static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* How many files were run, or -1. */
static int replay_folder(const char *folder)
{
	_cleanup_(mem) struct dirent **entries = NULL;
	const int count = scandir(folder, &entries, is_shown, alphasort);
	int rc = count;

	if (count < 0)
		fprintf(stderr, "%s: cannot be listed\n", folder);
	for (int i = 0; i < count; i++) {
		_cleanup_(mem) char *path = xasprintf("%s/%s", folder, entries[i]->d_name);

		free(entries[i]);
		if (replay(path) < 0)
			rc = -1;
	}
	return rc;
}

int main(int argc, char **argv)
{
	int status = argc > 1 ? EXIT_SUCCESS : EXIT_FAILURE;

	for (int i = 1; i < argc; i++) {
		const int count = replay_folder(argv[i]);

		printf("%s: %d files\n", argv[i], count);
		if (count <= 0) /* an empty corpus would pass for ever */
			status = EXIT_FAILURE;
	}
	return status;
}
