/*
 * Opening and closing the store, who it is, and what its files share.
 */
#include "agent/io/store_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "agent/io/spill.h"
#include "os/os.h"

const struct error_kind STORE_OWNED = {"store_already_owned", ERROR_CLASS_UNAVAILABLE};

struct str store_keep(struct arena *a, struct str s)
{
	return s.p ? (struct str){arena_strndup(a, s.p, s.len), s.len} : s;
}

struct str store_col(struct db_stmt *s, int at, struct arena *a)
{
	return store_keep(a, db_col_str(s, at));
}

void store_bind_id(struct db_stmt *s, int at, int64_t id)
{
	if (id)
		db_bind_i64(s, at, id);
	else
		db_bind_null(s, at);
}

int store_index_of(const char *const *names, struct str name)
{
	for (int i = 0; names[i]; i++) {
		if (str_is(name, names[i]))
			return i;
	}
	return -1;
}

int store_own(const char *path, int *ret_fd, struct error *err)
{
	_cleanup_(mem) char *lock = xasprintf("%s.owner-lock", path);
	struct error cause = ERROR_INIT;

	if (os_lock_file(lock, ret_fd, &cause) == 0)
		return 0;
	if (error_is(&cause, &OS_LOCKED))
		return error_set(err, &STORE_OWNED, "another process has the store '%s'", path);
	if (err)
		*err = cause;
	return error_prefix(err, "lock the store");
}

/* FNV-1a with 128 bits: it tells copies apart, and nobody gains by making two alike. */
static void hash_text(const char *p, char out[33])
{
	const unsigned __int128 prime = ((unsigned __int128)1 << 88) + 0x13b;
	unsigned __int128 h = (unsigned __int128)0x6c62272e07bb0142u << 64 | 0x62b821756295c58du;
	unsigned char bytes[16];

	for (; *p; p++)
		h = (h ^ (unsigned char)*p) * prime;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(h >> (120 - 8 * i));
	text_hex(bytes, sizeof(bytes), out);
}

/* The name of this very file: a copy, which has the same lineage, gets another one. */
static int bind_identity(struct store *s, struct error *err)
{
	_cleanup_(mem) char *text = NULL;
	struct stat st;

	/* Opens nothing: closing a second descriptor would drop SQLite's locks. */
	if (stat(s->path, &st) < 0)
		return error_sys(err, "look at '%s'", s->path);
	text = xasprintf(
		"%s/%ju/%ju", s->identity.lineage, (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	hash_text(text, s->identity.identity);
	return 0;
}

static int make_lineage(struct store_tx *tx, char ret[17], struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_STORE_INSERT);
	unsigned char drawn[8];

	if (os_random(drawn, sizeof(drawn), err) < 0)
		return -1;
	text_hex(drawn, sizeof(drawn), ret);
	db_bind_str(s, 1, str_from(ret));
	return db_run(s, err);
}

static int load_lineage(struct store_tx *tx, char ret[17], struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_STORE_GET);
	int rc = db_step(s, err);

	if (rc == 1)
		(void)snprintf(ret, 17, STR_FMT, STR_ARG(db_col_str(s, 0))); /* 16 digits */
	db_reset(s);
	return rc == 0 ? make_lineage(tx, ret, err) : rc < 0 ? -1 : 0;
}

/* All that happens to the rows before the first request, or nothing of it. */
static int prepare(struct store *s, const struct store_options *o, struct store_recovery *ret,
	struct error *err)
{
	_cleanup_(arena) struct arena keep = {0};
	struct store_tx tx = {
		.view = {s->writer, s->spill},
                  .clock = s->clock, .keep = &keep
        };

	if (db_begin(s->writer, err) < 0)
		return -1;
	if (load_lineage(&tx, s->identity.lineage, err) < 0 ||
		store_recover(&tx, o, ret, err) < 0) {
		db_rollback(s->writer);
		return -1;
	}
	/* Nobody follows yet: what was recorded is found by replay. */
	if (db_commit(s->writer, err) < 0)
		return -1;
	store_spill_sweep(&tx.view);
	return 0;
}

static int open_files(struct store *s, const struct store_options *o, struct store_recovery *ret,
	struct error *err)
{
	/* The lock first: a second owner fails before it can touch anything. */
	if (o->owner_fd)
		s->owner_fd = fd_take(o->owner_fd);
	else if (store_own(s->path, &s->owner_fd, err) < 0)
		return -1;
	if (db_open(s->path, &store_schema, &s->writer, err) < 0)
		return -1;
	s->identity.schema = store_schema.count;
	if (prepare(s, o, ret, err) < 0)
		return error_prefix(err, "recover the store");
	if (db_open_reader(s->path, &s->reader, err) < 0)
		return -1;
	return bind_identity(s, err);
}

static void store_free(struct store *s)
{
	if (!s)
		return;
	db_close(s->reader);
	db_close(s->writer);
	os_close(s->owner_fd); /* the lock goes last */
	must(pthread_mutex_destroy(&s->lock) == 0);
	free(s->path);
	free(s->wal_path);
	free(s->spill);
	free(s);
}
MEM_CLEANUP(store, struct store *, store_free)

int store_open(const struct store_options *o, struct store **ret,
	struct store_recovery *ret_recovery, struct error *err)
{
	_cleanup_(store) struct store *s = xcalloc(1, sizeof(*s));
	struct store_recovery recovery = {0};

	s->path = xstrdup(o->path);
	s->wal_path = xasprintf("%s-wal", o->path);
	s->spill = spill_root(o->path);
	s->loop = o->loop;
	s->clock = o->clock;
	s->published = o->published;
	s->arg = o->arg;
	s->owner_fd = -1;
	must(pthread_mutex_init(&s->lock, NULL) == 0);
	list_init(&s->writing.jobs);
	list_init(&s->reading.jobs);
	if (open_files(s, o, &recovery, err) < 0 || store_threads_start(s, err) < 0)
		return -1;
	*ret_recovery = recovery;
	*ret = mem_take(&s);
	return 0;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	store_threads_stop(s);
	store_free(s);
}

const struct store_identity *store_identity(const struct store *s)
{
	return &s->identity;
}

const char *store_spill(const struct store *s)
{
	return s->spill;
}

void store_counts(struct store *s, struct store_counts *ret)
{
	struct stat st;

	must(pthread_mutex_lock(&s->lock) == 0);
	*ret = s->counts;
	ret->queued_jobs = s->writing.queued + s->reading.queued;
	must(pthread_mutex_unlock(&s->lock) == 0);
	ret->file_bytes = stat(s->path, &st) == 0 ? st.st_size : 0;
	ret->wal_bytes = stat(s->wal_path, &st) == 0 ? st.st_size : 0;
}

struct store_view *store_tx_view(struct store_tx *tx)
{
	return &tx->view;
}
