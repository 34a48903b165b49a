/* The pictures of a prompt: read by a worker, kept as JSON. */
#include "agent/serve/pictures.h"

#include <openssl/evp.h>
#include <stdlib.h>

#include "agent/serve/daemon.h"
#include "agent/serve/session.h"
#include "agent/tool/picture.h"
#include "guard/guard.h"
#include "json/json.h"
#include "loop/loop.h"

enum {
	LIST_MAX_BYTES = 48 * 1024 * 1024, /* PICTURES_MAX of PICTURE_MAX_BYTES, in base64 */
	DIGEST_BYTES = 32,
};

/* What the worker owns until it is back; the paths lie in the request's arena, which waits. */
struct reading {
	struct request *request;
	const struct guard_id *never;
	size_t never_count;
	const struct str *paths;
	size_t count;
	void (*done)(struct request *r, const struct pictures *p, const struct error *err);
	struct buf list;
	char digest[2 * DIGEST_BYTES + 1];
	struct error err;
	int rc;
};

static int read_file(struct reading *g, struct str path, struct arena *a, struct item_picture *ret)
{
	_cleanup_(guard_path) struct guard_path p = {.real = NULL};
	_cleanup_(buf) struct buf bytes = BUF_INIT(PICTURE_MAX_BYTES);

	if (path.len == 0 || path.p[0] != '/')
		return error_set(&g->err, &GUARD_INVALID_PATH,
			"'" STR_FMT "' is not an absolute path", STR_ARG(path));
	if (guard_resolve("/", path, &p, &g->err) < 0)
		return -1;
	if (!p.exists)
		return error_set(&g->err, &GUARD_NOT_FOUND, "'%s' does not exist", p.real);
	if (guard_read(&p, PICTURE_MAX_BYTES, g->never, g->never_count, &bytes, &g->err) < 0)
		return -1;
	return picture_read(a, buf_str(&bytes), p.real, ret, &g->err);
}

static int read_all(struct reading *g)
{
	struct json_out j = JSON_OUT(&g->list);

	json_open(&j, '[');
	for (size_t i = 0; i < g->count; i++) {
		_cleanup_(arena) struct arena a = {0};
		struct item_picture picture;

		if (read_file(g, g->paths[i], &a, &picture) < 0)
			return error_prefix(&g->err, "images[%zu]", i);
		json_open(&j, '{');
		json_put_str(&j, "media_type", picture.media_type);
		json_put_str(&j, "base64", picture.base64);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	must(!g->list.full);
	return 0;
}

static void set_digest(struct reading *g)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char sum[DIGEST_BYTES];
	unsigned len = 0;

	must(EVP_Digest(g->list.data, g->list.len, sum, &len, EVP_sha256(), NULL) == 1);
	must(len == DIGEST_BYTES);
	for (size_t i = 0; i < DIGEST_BYTES; i++) {
		g->digest[2 * i] = digits[sum[i] >> 4];
		g->digest[2 * i + 1] = digits[sum[i] & 15];
	}
	g->digest[sizeof(g->digest) - 1] = '\0';
}

/* On a worker. */
static void work(void *arg)
{
	struct reading *g = arg;

	g->rc = read_all(g);
	if (g->rc == 0)
		set_digest(g);
}

static struct str keep(struct request *r, struct str s)
{
	return (struct str){arena_strndup(&r->arena, s.p, s.len), s.len};
}

static void worked(void *arg)
{
	struct reading *g = arg;
	struct request *r = g->request;
	struct pictures p = {0};

	if (g->rc == 0)
		p = (struct pictures){keep(r, buf_str(&g->list)), keep(r, str_from(g->digest))};
	buf_release(&g->list);
	g->done(r, &p, g->rc < 0 ? &g->err : NULL);
	free(g);
}

void pictures_read(struct request *r, const struct str *paths, size_t count,
	void (*done)(struct request *r, const struct pictures *p, const struct error *err))
{
	struct reading *g = xcalloc(1, sizeof(*g));

	must(count <= PICTURES_MAX);
	g->request = r;
	g->never = r->d->host.never;
	g->never_count = r->d->host.never_count;
	g->paths = paths;
	g->count = count;
	g->done = done;
	g->list = (struct buf)BUF_INIT(LIST_MAX_BYTES);
	loop_work(r->d->loop, work, worked, g);
}

size_t pictures_take(struct arena *a, struct str list, struct item_picture **ret)
{
	const struct json *doc;
	size_t count = 0;

	*ret = NULL;
	if (!list.p || json_parse(a, list, &doc, NULL) < 0)
		return 0;
	*ret = arena_alloc(a, (doc->count + 1) * sizeof(**ret));
	json_for_each (picture, doc)
		(*ret)[count++] = (struct item_picture){json_str(json_get(picture, "media_type")),
			json_str(json_get(picture, "base64"))};
	return count;
}
