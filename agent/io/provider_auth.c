/* Keys in headers. */
#include "agent/io/provider_auth.h"

#include <string.h>

#include "mem/mem.h"

enum { TEXT_MAX_BYTES = 32 * 1024 /* ours: several times what a header may have */ };

void auth_headers_release(struct auth_headers *h)
{
	if (h->text.data)
		explicit_bzero(h->text.data, h->text.cap);
	buf_release(&h->text);
	h->count = 0;
}

static int sign_none(const struct auth_grant *g, const struct auth_request *r,
	struct auth_headers *to, struct error *err)
{
	(void)g;
	(void)r;
	(void)to;
	(void)err;
	return 0;
}

static int put_key(const struct secret *key, const char *name, const char *before,
	struct auth_headers *to, struct error *err)
{
	struct str value = str_trim(secret_expose(key));

	must(to->count < AUTH_HEADERS_MAX && to->text.len == 0);
	to->text = (struct buf)BUF_INIT(TEXT_MAX_BYTES);
	(void)buf_puts(&to->text, before);
	(void)buf_put_str(&to->text, value);
	if (to->text.full)
		return error_set(err, &ERROR_TOO_LONG, "the key has %zu bytes", value.len);
	to->items[to->count++] = (struct http_header){str_from(name), buf_str(&to->text)};
	return 0;
}

static int sign_bearer(const struct auth_grant *g, const struct auth_request *r,
	struct auth_headers *to, struct error *err)
{
	(void)r;
	return put_key(g->key, "authorization", "Bearer ", to, err);
}

static int sign_x_api_key(const struct auth_grant *g, const struct auth_request *r,
	struct auth_headers *to, struct error *err)
{
	(void)r;
	return put_key(g->key, "x-api-key", "", to, err);
}

const struct provider_auth auth_none = {.name = "none", .sign = sign_none};
const struct provider_auth auth_bearer = {.name = "bearer", .keyed = true, .sign = sign_bearer};
const struct provider_auth auth_x_api_key = {
	.name = "x-api-key", .keyed = true, .sign = sign_x_api_key};

static const struct provider_auth *const all[] = {
	&auth_none,
	&auth_bearer,
	&auth_x_api_key,
	&auth_sigv4,
	&auth_chatgpt,
};

const struct provider_auth *provider_auth_find(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		if (str_is(name, all[i]->name))
			return all[i];
	}
	return NULL;
}
