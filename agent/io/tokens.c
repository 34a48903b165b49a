/* The tokens of the ChatGPT sign-in, and the file that keeps them. */
#include "agent/io/tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json/json.h"
#include "mem/mem.h"
#include "os/os.h"

enum {
	FILE_MAX_BYTES = OAUTH_ANSWER_MAX_BYTES,
	ISSUER_MAX_BYTES = 1024, /* ours */
	FORBIDDEN_MODE = 077,    /* nobody but the owner, as of ~/.agent/env */
	VERSION = 1,
};

const struct error_kind TOKENS_MISSING = {"chatgpt_signed_out", ERROR_CLASS_DENIED};
const struct error_kind TOKENS_INVALID = {"chatgpt_file_invalid", ERROR_CLASS_IO};
const struct error_kind TOKENS_PERMISSIONS = {"chatgpt_file_permissions", ERROR_CLASS_DENIED};

static const char sign_in[] = "sign in with `agent login chatgpt`";

void tokens_release(struct tokens *t)
{
	free(t->issuer);
	secret_free(t->access);
	secret_free(t->refresh);
	secret_free(t->id);
	free(t->account);
	*t = (struct tokens){.issuer = NULL};
}

static struct secret *make(const char *name, struct str value)
{
	return value.p ? secret_new(str_from(name), value) : NULL;
}

static struct str value_of(const struct secret *s)
{
	return s ? secret_expose(s) : (struct str){NULL, 0};
}

static struct str either(struct str a, struct str b)
{
	return a.p ? a : b;
}

void tokens_from_answer(struct tokens *ret, const char *issuer, const struct oauth_answer *a,
	int64_t now_s, const struct tokens *old)
{
	static const struct tokens none = {.issuer = NULL};
	const struct tokens *before = old ? old : &none;
	struct str account = either(a->account, str_from(before->account));

	*ret = (struct tokens){.issuer = xstrdup(issuer),
		.access = make("chatgpt access token", a->access),
		.refresh = make(
			"chatgpt refresh token", either(a->refresh, value_of(before->refresh))),
		.id = make("chatgpt id token", either(a->id, value_of(before->id))),
		.account = account.p ? xstrndup(account.p, account.len) : NULL,
		.since_s = now_s,
		.expires_s = a->expires_s};
}

void tokens_copy(struct tokens *ret, const struct tokens *t)
{
	const struct oauth_answer a = {.access = value_of(t->access),
		.refresh = value_of(t->refresh),
		.id = value_of(t->id),
		.account = str_from(t->account),
		.expires_s = t->expires_s};

	tokens_from_answer(ret, t->issuer, &a, t->since_s, NULL);
}

bool tokens_same(const struct tokens *a, const struct tokens *b)
{
	return oauth_same(value_of(a->access), value_of(b->access)) &&
	       oauth_same(value_of(a->refresh), value_of(b->refresh));
}

int tokens_path(char **ret, struct error *err)
{
	_cleanup_(mem) char *home = NULL;

	if (os_home(&home, err) < 0)
		return -1;
	*ret = xasprintf("%s/.agent/chatgpt.json", home);
	return 0;
}

/*
 * Reading.
 */
struct file {
	int64_t version;
	struct str issuer, access_token, refresh_token, id_token, account_id;
	int64_t obtained_at, expires_at;
};
static const struct json_field fields[] = {
	JSON_I64(struct file, version, .required = true, .min = VERSION, .max = VERSION),
	JSON_STR(struct file, issuer, .required = true, .min = 1, .max = ISSUER_MAX_BYTES,
		.cstr = true),
	JSON_STR(struct file, access_token, .required = true, .min = 1,
		.max = OAUTH_TOKEN_MAX_BYTES),
	JSON_STR(struct file, refresh_token, .min = 1, .max = OAUTH_TOKEN_MAX_BYTES),
	JSON_STR(struct file, id_token, .min = 1, .max = OAUTH_TOKEN_MAX_BYTES),
	JSON_STR(struct file, account_id, .min = 1, .max = OAUTH_TOKEN_MAX_BYTES, .cstr = true),
	JSON_I64(struct file, obtained_at),
	JSON_I64(struct file, expires_at),
};

static int look(const char *path, const struct stat *st, struct error *err)
{
	if (!S_ISREG(st->st_mode))
		return error_set(err, &TOKENS_INVALID, "'%s' is not a regular file", path);
	if (st->st_uid != geteuid())
		return error_set(err, &TOKENS_PERMISSIONS, "'%s' belongs to somebody else", path);
	if (st->st_mode & FORBIDDEN_MODE)
		return error_set(err, &TOKENS_PERMISSIONS,
			"'%s' is open to others: `chmod 600` it, or %s", path, sign_in);
	return 0;
}

static int read_all(const char *path, struct buf *b, struct stat *st, struct error *err)
{
	_cleanup_(fd) int fd = -1;
	size_t len;

	/* O_NONBLOCK: a FIFO in its place must not hold anybody up. */
	if (os_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0, &fd, err) < 0) {
		if (err && err->sys == ENOENT)
			return error_set(err, &TOKENS_MISSING, "nobody is signed in to ChatGPT: %s",
				sign_in);
		return -1;
	}
	if (fstat(fd, st) < 0)
		return error_sys(err, "look at '%s'", path);
	if (look(path, st, err) < 0)
		return -1;
	if (buf_reserve(b, FILE_MAX_BYTES) < 0 ||
		os_read_full(fd, b->data, FILE_MAX_BYTES, &len, err) < 0)
		return error_prefix(err, "'%s'", path);
	b->len = len;
	if (len == FILE_MAX_BYTES)
		return error_set(
			err, &TOKENS_INVALID, "'%s' is over %d bytes", path, FILE_MAX_BYTES - 1);
	return 0;
}

static int decode(struct arena *a, struct str text, struct file *ret, struct error *err)
{
	const struct json_table table = {fields, ARRAY_LEN(fields), NULL, NULL};
	const struct json *j;
	struct str issuer;

	if (json_parse(a, text, &j, err) < 0 || json_decode(a, j, &table, ret, NULL, err) < 0)
		return -1;
	/* It says where a refresh token is sent. */
	return oauth_check_issuer(ret->issuer, &issuer, err);
}

int tokens_read(const char *path, struct tokens *ret, struct stat *ret_stat, struct error *err)
{
	_cleanup_(secret_buf) struct buf text = BUF_INIT(FILE_MAX_BYTES);
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	struct file f = {.version = 0};
	struct stat st;

	if (read_all(path, &text, &st, err) < 0)
		return -1;
	if (decode(&a, buf_str(&text), &f, err) < 0) {
		if (err)
			err->kind = &TOKENS_INVALID;
		return error_prefix(err, "'%s'", path);
	}
	*ret = (struct tokens){.issuer = xstrndup(f.issuer.p, f.issuer.len),
		.access = make("chatgpt access token", f.access_token),
		.refresh = make("chatgpt refresh token", f.refresh_token),
		.id = make("chatgpt id token", f.id_token),
		.account = f.account_id.p ? xstrndup(f.account_id.p, f.account_id.len) : NULL,
		.since_s = f.obtained_at,
		.expires_s = f.expires_at};
	if (ret_stat)
		*ret_stat = st;
	return 0;
}

/*
 * Writing.
 */
static void put_some(struct json_out *j, const char *name, struct str value)
{
	if (value.p)
		json_put_str(j, name, value);
}

int tokens_write(const char *path, const struct tokens *t, struct error *err)
{
	_cleanup_(secret_buf) struct buf text = BUF_INIT(FILE_MAX_BYTES);
	struct json_out j = JSON_OUT(&text);

	must(buf_reserve(&text, FILE_MAX_BYTES) == 0); /* so that nothing is left where it grew */
	json_open(&j, '{');
	json_put_i64(&j, "version", VERSION);
	json_put_cstr(&j, "issuer", t->issuer);
	json_put_str(&j, "access_token", secret_expose(t->access));
	put_some(&j, "refresh_token", value_of(t->refresh));
	put_some(&j, "id_token", value_of(t->id));
	put_some(&j, "account_id", str_from(t->account));
	json_put_i64(&j, "obtained_at", t->since_s);
	json_put_i64(&j, "expires_at", t->expires_s);
	json_close(&j, '}');
	(void)buf_putc(&text, '\n'); /* bounded: see FILE_MAX_BYTES */
	must(!text.full);
	return os_replace_file(path, buf_str(&text), 0600, err);
}

/* AG-171: a look at its name, not at what is in it. */
bool tokens_codex_signed_in(void)
{
	_cleanup_(mem) char *home = NULL, *path = NULL;
	struct stat st;

	if (os_home(&home, NULL) < 0)
		return false;
	path = xasprintf("%s/.codex/auth.json", home);
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 2;
}
