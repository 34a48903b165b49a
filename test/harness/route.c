/*
 * Routes: one row for each thing that can be asked. A row's path is matched at the end of the
 * request's, so that any prefix will do as a base URL.
 */
#include <string.h>
#include <strings.h>

#include "test/harness/server.h"

struct route {
	const char *method, *path;
	enum model_family family;
	void (*handle)(
		struct server *s, struct request *r, enum model_family family, struct answer *a);
};

static void refuse(
	struct request *r, enum model_family family, int status, const char *why, struct answer *a)
{
	struct answer_error e = {
		status, {NULL, 0},
                 str_from(why)
        };

	if (why)
		r->row.fault = str_from(arena_strndup(r->arena, why, strlen(why)));
	answer_error(a, &r->frame, family, &e);
}

static void refuse_ask(
	struct request *r, enum model_family family, const struct error *why, struct answer *a)
{
	bool missing = error_is(why, &ASK_NOT_FOUND);
	struct answer_error e = {missing ? 404 : 400, str_from(missing ? error_code(why) : NULL),
		str_from(why->text)};

	r->row.fault = str_from(arena_strndup(r->arena, why->text, strlen(why->text)));
	answer_error(a, &r->frame, family, &e);
}

/* Model requests */

static bool all_hold(struct request *r, const struct script_expect *x, const char **ret_why)
{
	for (size_t i = 0; i < x->contains.count; i++) {
		if (str_find(r->body, x->contains.items[i], 0) < 0) {
			*ret_why = arena_printf(r->arena, "expected in the body: " STR_FMT,
				STR_ARG(x->contains.items[i]));
			return false;
		}
	}
	for (size_t i = 0; i < x->lacks.count; i++) {
		if (str_find(r->body, x->lacks.items[i], 0) >= 0) {
			*ret_why = arena_printf(r->arena, "not expected in the body: " STR_FMT,
				STR_ARG(x->lacks.items[i]));
			return false;
		}
	}
	for (size_t i = 0; i < x->headers.count; i++) {
		const struct script_header *h = &x->headers.items[i];
		char *name = arena_strndup(r->arena, h->name.p, h->name.len);
		struct str value = http_header_get(r->head, name);

		if (!value.p || str_find(value, h->value, 0) < 0) {
			*ret_why = arena_printf(r->arena, "expected in header %s: " STR_FMT, name,
				STR_ARG(h->value));
			return false;
		}
	}
	return true;
}

/* The round's fault, unless it has had its times. */
static const struct script_fault *fault_now(
	struct server *s, const struct script_round *round, uint64_t hash)
{
	struct tries *t;

	if (round->fault.kind == FAULT_NONE)
		return NULL;
	if (round->times == 0)
		return &round->fault;
	t = table_get_id(s->tries, hash);
	if (!t) {
		t = arena_alloc(&s->arena, sizeof(*t));
		(void)table_set_id(s->tries, hash, t); /* there was none */
	}
	return ++t->count > (uint64_t)round->times ? NULL : &round->fault;
}

static void handle_reply(
	struct server *s, struct request *r, enum model_family family, struct answer *a)
{
	const struct json *body;
	const struct script_round *round;
	struct error err = ERROR_INIT;
	struct answer_reply reply;
	const char *why;
	struct ask ask;

	if (json_parse(r->arena, r->body, &body, &err) < 0) {
		refuse(r, family, 400, err.text, a);
		return;
	}
	r->row.body_is_json = true;
	if (ask_read(r->arena, s->script, family, body, &ask, &err) < 0) {
		refuse_ask(r, family, &err, a);
		return;
	}
	if (r->row.socket) {
		ask.stream = true; /* there is nothing else */
		if (script_settings(s->script)->socket.forgets &&
			json_get(body, "previous_response_id")) {
			(void)error_set(&err, &ASK_NOT_FOUND, "that response is forgotten");
			refuse_ask(r, family, &err, a);
			return;
		}
	}
	r->row.conversation = ask.name;
	r->row.round = ask.round;
	round = script_round(ask.conversation, ask.round);
	if (!all_hold(r, &round->expect, &why)) {
		refuse(r, family, 400, why, a);
		return;
	}
	reply = (struct answer_reply){&ask, round, fault_now(s, round, ask.hash), r->body.len};
	answer_reply(a, &r->frame, &reply);
}

static void handle_count(
	struct server *s, struct request *r, enum model_family family, struct answer *a)
{
	const struct json *body;
	struct error err = ERROR_INIT;
	struct json_out j = JSON_OUT(&a->body);

	(void)s;
	if (json_parse(r->arena, r->body, &body, &err) < 0) {
		refuse(r, family, 400, err.text, a);
		return;
	}
	r->row.body_is_json = true;
	json_open(&j, '{');
	json_put_u64(&j, "input_tokens", r->body.len / 4);
	json_close(&j, '}');
	answer_head(a, &r->frame, 200, NULL);
	must(http_put_header(&a->head, "Content-Type", STR("application/json"), NULL) == 0);
	answer_with_length(a, &r->frame, 0);
}

/* Lists of models */

static void put_openai_models(struct json_out *j, const struct str_list *models)
{
	json_put_cstr(j, "object", "list");
	json_open_key(j, "data", '[');
	for (size_t i = 0; i < models->count; i++) {
		json_open(j, '{');
		json_put_str(j, "id", models->items[i]);
		json_put_cstr(j, "object", "model");
		json_put_i64(j, "created", 1700000000);
		json_put_cstr(j, "owned_by", "loopback");
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_claude_models(struct json_out *j, const struct str_list *models)
{
	json_open_key(j, "data", '[');
	for (size_t i = 0; i < models->count; i++) {
		json_open(j, '{');
		json_put_cstr(j, "type", "model");
		json_put_str(j, "id", models->items[i]);
		json_put_str(j, "display_name", models->items[i]);
		json_put_cstr(j, "created_at", "2024-01-01T00:00:00Z");
		json_close(j, '}');
	}
	json_close(j, ']');
	json_put_bool(j, "has_more", false);
	json_put_str(j, "first_id", models->items[0]);
	json_put_str(j, "last_id", models->items[models->count - 1]);
}

static void put_ollama_models(struct json_out *j, const struct str_list *models)
{
	json_open_key(j, "models", '[');
	for (size_t i = 0; i < models->count; i++) {
		json_open(j, '{');
		json_put_str(j, "name", models->items[i]);
		json_put_str(j, "model", models->items[i]);
		json_put_cstr(j, "modified_at", "2024-01-01T00:00:00Z");
		json_put_i64(j, "size", 1000000000);
		json_open_key(j, "details", '{');
		json_put_cstr(j, "format", "gguf");
		json_put_cstr(j, "family", "loopback");
		json_put_cstr(j, "parameter_size", "1B");
		json_put_cstr(j, "quantization_level", "Q4_0");
		json_close(j, '}');
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void answer_list(struct server *s, struct request *r, struct answer *a,
	void (*put)(struct json_out *j, const struct str_list *models))
{
	const struct script_settings *settings = script_settings(s->script);
	struct json_out j = JSON_OUT(&a->body);

	json_open(&j, '{');
	put(&j, &settings->models);
	json_close(&j, '}');
	answer_head(a, &r->frame, 200, NULL);
	must(http_put_header(&a->head, "Content-Type", STR("application/json"), NULL) == 0);
	answer_with_length(a, &r->frame, 0);
}

static void handle_models(
	struct server *s, struct request *r, enum model_family family, struct answer *a)
{
	bool claude = http_header_get(r->head, "anthropic-version").p != NULL;

	(void)family;
	answer_list(s, r, a, claude ? put_claude_models : put_openai_models);
}

static void handle_tags(
	struct server *s, struct request *r, enum model_family family, struct answer *a)
{
	(void)family;
	answer_list(s, r, a, put_ollama_models);
}

static void put_version(struct json_out *j, const struct str_list *models)
{
	(void)models;
	json_put_cstr(j, "version", "0.0.0-loopback");
}

static void handle_version(
	struct server *s, struct request *r, enum model_family family, struct answer *a)
{
	(void)family;
	answer_list(s, r, a, put_version);
}

/* Keys and the table */

static const struct route routes[] = {
	{"POST", "/responses",             MODEL_RESPONSES, handle_reply  },
	{"POST", "/chat/completions",      MODEL_CHAT,      handle_reply  },
	{"POST", "/messages",              MODEL_MESSAGES,  handle_reply  },
	{"POST", "/messages/count_tokens", MODEL_MESSAGES,  handle_count  },
	{"GET",  "/models",                MODEL_CHAT,      handle_models },
	{"GET",  "/api/tags",              MODEL_CHAT,      handle_tags   },
	{"GET",  "/api/version",           MODEL_CHAT,      handle_version},
};

static bool key_is_good(const struct server *s, const struct request *r)
{
	const struct str_list *keys = &script_settings(s->script)->keys;
	struct str bearer = http_header_get(r->head, "authorization");
	struct str key = http_header_get(r->head, "x-api-key");

	if (bearer.len > 7 && strncasecmp(bearer.p, "bearer ", 7) == 0)
		key = (struct str){bearer.p + 7, bearer.len - 7};
	for (size_t i = 0; i < keys->count; i++) {
		if (key.p && str_eq(keys->items[i], key))
			return true;
	}
	return keys->count == 0;
}

static bool claude_asks(const struct request *r)
{
	return http_header_get(r->head, "anthropic-version").p != NULL;
}

void route_request(struct server *s, struct request *r, struct answer *a)
{
	const struct script_round *page = script_page(s->script, r->path);
	enum model_family family = claude_asks(r) ? MODEL_MESSAGES : MODEL_CHAT;
	const struct script_socket *how = &script_settings(s->script)->socket;
	const struct route *found = NULL;

	if (page) {
		answer_page(a, &r->frame, page, fault_now(s, page, (uint64_t)(uintptr_t)page));
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(routes) && !found; i++) {
		if (str_ends(r->path, str_from(routes[i].path)))
			found = &routes[i];
	}
	if (found && found->family != MODEL_CHAT)
		family = found->family;
	if (!found)
		refuse(r, family, 404, "there is nothing at this path", a);
	else if (str_is(r->head->method, "GET") && how->status != 0)
		refuse(r, family, (int)how->status, NULL, a);
	else if (!str_is(r->head->method, found->method))
		refuse(r, family, 405, NULL, a);
	else if (!key_is_good(s, r))
		refuse(r, family, 401, NULL, a);
	else
		found->handle(s, r, family, a);
}
