/*
 * What a parked turn's round is rebuilt from: its open calls, who must allow them, and what was
 * decided so far.
 */
#include "agent/io/store_internal.h"

/* As put_gates of store_calls.c writes them. */
struct gate_row {
	struct str tag;
	int64_t expire_ms;
};
static const struct json_field gate_fields[] = {
	JSON_STR(struct gate_row, tag, .required = true),
	JSON_I64(struct gate_row, expire_ms, .nullable = true),
};

static const char *const decisions[] = {"deny", "allow", NULL};

/* As put_verdicts of store_calls.c writes them. */
struct verdict_row {
	struct str tag, by, reason, path;
	bool until_prior;
	int64_t at_ms, waited_ms, request;
	int decision;
};
static const struct json_field verdict_fields[] = {
	JSON_STR(struct verdict_row, tag, .required = true),
	JSON_ENUM(struct verdict_row, decision, decisions, .required = true),
	JSON_STR(struct verdict_row, by, .nullable = true),
	JSON_STR(struct verdict_row, reason, .nullable = true),
	JSON_I64(struct verdict_row, at_ms, .required = true),
	JSON_I64(struct verdict_row, waited_ms, .required = true, .min = INT64_MIN),
	JSON_I64(struct verdict_row, request, .required = true),
	JSON_STR(struct verdict_row, path),
	JSON_BOOL(struct verdict_row, until_prior),
};

static int damaged(struct str what, const struct error *cause, struct error *err)
{
	return error_set(err, &DB_ERROR, "the row of a call is damaged: " STR_FMT ": %s",
		STR_ARG(what), cause->text);
}

/* The array in a column; NULL for none. */
static int read_list(struct arena *a, struct str text, const struct json **ret, struct error *err)
{
	*ret = NULL;
	if (!text.p)
		return 0;
	if (json_parse(a, text, ret, err) < 0)
		return -1;
	if ((*ret)->type != JSON_ARRAY)
		return error_set(err, &ERROR_INVALID, "no array");
	return 0;
}

static int read_gates(
	struct arena *a, struct str text, struct store_open_call *c, struct error *err)
{
	static const struct json_table table = {gate_fields, ARRAY_LEN(gate_fields), "gates", NULL};
	const struct json *list;
	struct gate *gates;

	if (read_list(a, text, &list, err) < 0)
		return -1;
	if (!list)
		return 0;
	gates = arena_alloc(a, (list->count + 1) * sizeof(*gates));
	json_for_each (one, list) {
		struct gate_row row = {.expire_ms = 0};

		if (json_decode(a, one, &table, &row, NULL, err) < 0)
			return -1;
		gates[c->gate_count++] = (struct gate){.tag = row.tag, .expire_ms = row.expire_ms};
	}
	c->gates = gates;
	return 0;
}

static int read_verdicts(
	struct arena *a, struct str text, struct store_open_call *c, struct error *err)
{
	static const struct json_table table = {
		verdict_fields, ARRAY_LEN(verdict_fields), "verdicts", NULL};
	struct store_verdict *verdicts;
	const struct json *list;

	if (read_list(a, text, &list, err) < 0)
		return -1;
	if (!list)
		return 0;
	verdicts = arena_alloc(a, (list->count + 1) * sizeof(*verdicts));
	json_for_each (one, list) {
		struct verdict_row row = {.at_ms = 0};

		if (json_decode(a, one, &table, &row, NULL, err) < 0)
			return -1;
		verdicts[c->verdict_count++] = (struct store_verdict){
			.tag = row.tag,
			.by = row.by,
			.reason = row.reason,
			.path = row.path,
			.until_prior = row.until_prior,
			.recorded = true,
			.allow = row.decision == 1,
			.at_ms = row.at_ms,
			.waited_ms = row.waited_ms,
			.request = row.request,
		};
	}
	c->verdicts = verdicts;
	return 0;
}

static int read_call(
	struct db_stmt *s, struct arena *a, struct store_open_call *ret, struct error *err)
{
	struct error cause = ERROR_INIT;
	struct store_open_call c = {
		.call_id = store_col(s, 0, a),
		.name = store_col(s, 1, a),
		.executing = !str_is(db_col_str(s, 2), "planned"),
		.node = db_col_i64(s, 3),
		.request = db_col_i64(s, 4),
		.announced_ms = db_col_i64(s, 5),
		.judged = store_col(s, 7, a),
		.item = store_col(s, 9, a),
	};

	if (read_gates(a, db_col_str(s, 6), &c, &cause) < 0)
		return damaged(STR("gates"), &cause, err);
	if (read_verdicts(a, db_col_str(s, 8), &c, &cause) < 0)
		return damaged(STR("verdicts"), &cause, err);
	*ret = c;
	return 0;
}

int store_calls_read(struct store_view *v, int64_t turn, struct arena *a,
	struct store_open_call **ret, size_t *ret_count, struct error *err)
{
	struct store_open_call *list = arena_alloc(a, CALLS_MAX * sizeof(*list));
	struct db_stmt *s = store_stmt(v, SQL_CALLS_ROUND);
	size_t count = 0;
	int rc;

	db_bind_i64(s, 1, turn);
	while ((rc = db_step(s, err)) == 1) {
		if (count == CALLS_MAX)
			rc = error_set(err, &DB_ERROR, "turn %lld has over %d open calls",
				(long long)turn, CALLS_MAX);
		else
			rc = read_call(s, a, &list[count], err);
		if (rc < 0)
			break;
		count++;
	}
	db_reset(s);
	if (rc < 0)
		return -1;
	*ret = list;
	*ret_count = count;
	return 0;
}
