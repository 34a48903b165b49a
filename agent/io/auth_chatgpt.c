/*
 * The ChatGPT sign-in as a provider's authentication: its access token as a bearer, and the account
 * it is for.
 */
#include "agent/io/chatgpt.h"
#include "agent/io/oauth.h"
#include "agent/io/provider.h"
#include "agent/io/provider_auth.h"
#include "agent/io/token_call.h"
#include "mem/mem.h"

enum { TEXT_MAX_BYTES = 2 * OAUTH_TOKEN_MAX_BYTES + 16 };

static int sign(const struct auth_grant *g, const struct auth_request *r, struct auth_headers *to,
	struct error *err)
{
	const char *account = g->more;
	size_t token;

	(void)r;
	must(to->count == 0 && to->text.len == 0);
	to->text = (struct buf)BUF_INIT(TEXT_MAX_BYTES);
	must(buf_reserve(&to->text, TEXT_MAX_BYTES) == 0); /* it must not move under its values */
	(void)buf_puts(&to->text, "Bearer ");
	(void)buf_put_str(&to->text, secret_expose(g->key));
	token = to->text.len;
	(void)buf_puts(&to->text, account ? account : "");
	if (to->text.full)
		return error_set(err, &ERROR_TOO_LONG, "the ChatGPT tokens are too long");
	to->items[to->count++] = (struct http_header){
		STR("authorization"), {to->text.data, token}
        };
	if (account)
		to->items[to->count++] = (struct http_header){
			STR("chatgpt-account-id"), {to->text.data + token, to->text.len - token}
                };
	return 0;
}

static void *ask(struct provider_net *net, uint64_t refused, auth_on_grant told, void *arg)
{
	return chatgpt_ask(net->chatgpt, refused, told, arg);
}

static void cancel(void *ask)
{
	chatgpt_cancel(ask);
}

static bool again(struct provider_net *net, int status, uint64_t number)
{
	(void)net;
	(void)number;
	return status == 401;
}

const struct provider_auth auth_chatgpt = {
	.name = "chatgpt",
	.sign = sign,
	.ask = ask,
	.cancel = cancel,
	.again = again,
	.later = &TOKEN_CALL_UNAVAILABLE,
};
