/* Companions, as they were set. */
#include "agent/io/store_companions.h"

#include "agent/io/store_internal.h"

int store_companions_get(
	struct store_view *v, struct arena *a, struct str *ret_json, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_STORE_COMPANIONS_GET);
	struct str json = {NULL, 0};
	int rc = db_step(s, err);

	if (rc == 1)
		json = store_col(s, 0, a);
	db_reset(s);
	if (rc < 0)
		return -1;
	*ret_json = json;
	return 0;
}

int store_companions_set(struct store_tx *tx, struct str json, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_STORE_COMPANIONS_SET);

	db_bind_str(s, 1, json);
	return db_run(s, err);
}
