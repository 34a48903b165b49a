/* The daemon's hold on AWS credentials. */
#include "agent/io/aws_credentials.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "log/log.h"
#include "mem/mem.h"
#include "os/os.h"
#include "proc/proc.h"

const struct error_kind AWS_CREDENTIALS = {"aws_credentials_unavailable", ERROR_CLASS_UNAVAILABLE};

enum {
	MARGIN_S = 300,       /* agent spec 8.6 */
	AGAIN_MS = 10 * 1000, /* agent spec 8.6 */
	PROGRAM_MAX_MS = 30 *
			 1000, /* ours: a sign-in of the person's own may be asked over a network */
	OUTPUT_MAX_BYTES = 64 * 1024, /* ours: several times three keys */
	WORDS_MAX_BYTES = 4096,       /* ours: of what it says when it fails */
	WORDS_SHOWN_BYTES = 200,      /* ours */
	RETIRED_MAX = 8,              /* ours: keys that were, and are still redacted */
};

/* One set of keys. */
struct key_set {
	struct secret *id, *secret, *token;
	int64_t expires_s; /* 0: never */
};

struct aws {
	struct loop *loop;
	const struct clock *clock;
	struct secret_store *store;
	struct secret_set *secrets;
	char *supervisor;
	int64_t timeout_ms;
	struct list asks;
	struct loop_timer *step;
	struct key_set keys;                 /* of the program; id NULL: none yet */
	uint64_t number;                     /* of the keys; static ones are 1 */
	struct key_set retired[RETIRED_MAX]; /* a ring */
	size_t retired_next;
	/* The program. */
	struct proc_command *command;
	struct buf output, words;
	bool tried;
	int64_t tried_ms;    /* monotonic: when it was started last */
	struct error failed; /* what came of it; no kind: keys */
};

struct aws_ask {
	struct list node;
	struct aws *a;
	uint64_t refused;
	void (*ready)(void *arg, const struct aws_grant *g, const struct error *err);
	void *arg;
};

/*
 * Keys.
 */
static void key_set_release(struct key_set *k)
{
	secret_free(k->id);
	secret_free(k->secret);
	secret_free(k->token);
	*k = (struct key_set){.id = NULL};
}

static void each_value(const struct aws *a, const struct key_set *k,
	void (*fn)(struct secret_set *set, const struct secret *value))
{
	const struct secret *const all[] = {k->id, k->secret, k->token};

	for (size_t i = 0; a->secrets && i < ARRAY_LEN(all); i++) {
		if (all[i])
			fn(a->secrets, all[i]);
	}
}

/* They stay redacted until several others have come after them. */
static void retire(struct aws *a)
{
	struct key_set *place = &a->retired[a->retired_next++ % RETIRED_MAX];

	each_value(a, place, secret_set_remove_secret);
	key_set_release(place);
	*place = a->keys;
	a->keys = (struct key_set){.id = NULL};
}

static struct str static_key(const struct aws *a, const char *name)
{
	const struct secret *s = secret_store_get(a->store, name);

	return s ? str_trim(secret_expose(s)) : (struct str){NULL, 0};
}

static bool has_static(const struct aws *a)
{
	return static_key(a, "AWS_ACCESS_KEY_ID").p && static_key(a, "AWS_SECRET_ACCESS_KEY").p;
}

static int64_t now_s(const struct aws *a)
{
	return clock_real_ms(a->clock) / 1000;
}

static bool serves(const struct aws *a)
{
	return a->keys.id && (a->keys.expires_s == 0 || a->keys.expires_s > now_s(a));
}

static bool is_fresh(const struct aws *a)
{
	return serves(a) && (a->keys.expires_s == 0 || a->keys.expires_s - now_s(a) > MARGIN_S);
}

static bool may_start(const struct aws *a)
{
	return !a->tried || clock_mono_ms(a->clock) - a->tried_ms >= AGAIN_MS;
}

/*
 * Asks.
 */
static void tell(struct aws *a, struct aws_ask *k, const struct error *err)
{
	struct aws_grant g = {.number = a->number};

	list_remove(&k->node);
	if (!err && has_static(a)) {
		g.keys = (struct sigv4_keys){static_key(a, "AWS_ACCESS_KEY_ID"),
			static_key(a, "AWS_SECRET_ACCESS_KEY"), static_key(a, "AWS_SESSION_TOKEN")};
		g.number = 1;
	} else if (!err) {
		g.keys = (struct sigv4_keys){
			secret_expose(a->keys.id), secret_expose(a->keys.secret),
			a->keys.token ? secret_expose(a->keys.token) : (struct str){NULL, 0}
                };
	}
	k->ready(k->arg, err ? NULL : &g, err);
	free(k);
}

static int start_program(struct aws *a, struct error *err);

/* Whether this ask needs what the program says; if not, err NULL is keys. */
static bool must_wait(struct aws *a, const struct aws_ask *k)
{
	if (has_static(a))
		return false;
	if (k->refused != 0 && k->refused == a->number)
		return a->command || may_start(a);
	return !is_fresh(a) && (a->command || may_start(a));
}

/* Those who wait are told in the order they came. A callback may ask again: that one waits for the
 * next round. */
static void on_step(void *arg)
{
	struct aws *a = arg;
	struct list now = LIST_INIT(now);
	struct error err = ERROR_INIT;

	while (!list_empty(&a->asks)) {
		struct list *n = a->asks.next;

		list_remove(n);
		list_add_tail(&now, n);
	}
	while (!list_empty(&now)) {
		struct aws_ask *k = list_first(&now, struct aws_ask, node);

		if (must_wait(a, k) && (a->command || start_program(a, &err) == 0)) {
			list_remove(&k->node);
			list_add_tail(&a->asks, &k->node);
		} else if (has_static(a) || serves(a)) {
			tell(a, k, NULL);
		} else {
			if (!a->failed.kind)
				(void)error_set(&a->failed, &AWS_CREDENTIALS,
					"the keys ran out within ten seconds");
			tell(a, k, &a->failed);
		}
	}
}

struct aws_ask *aws_ask(struct aws *a, uint64_t refused,
	void (*ready)(void *arg, const struct aws_grant *g, const struct error *err), void *arg)
{
	struct aws_ask *k = xcalloc(1, sizeof(*k));

	k->a = a;
	k->refused = refused;
	k->ready = ready;
	k->arg = arg;
	list_add_tail(&a->asks, &k->node);
	loop_timer_set(a->step, 0);
	return k;
}

void aws_cancel(struct aws_ask *k)
{
	if (!k)
		return;
	list_remove(&k->node);
	free(k);
}

bool aws_may_renew(struct aws *a, uint64_t refused)
{
	if (has_static(a))
		return false;
	return refused != a->number || a->command || may_start(a);
}

/*
 * The program.
 */
static void on_output(void *arg, int stream, const char *p, size_t len)
{
	struct aws *a = arg;
	struct buf *to = stream == 1 ? &a->output : &a->words;
	size_t room = to->max - to->len;

	(void)buf_put(to, p, len < room ? len : room); /* proc ends it above the limit */
}

static void forget_output(struct aws *a)
{
	if (a->output.data)
		explicit_bzero(a->output.data, a->output.cap);
	if (a->words.data)
		explicit_bzero(a->words.data, a->words.cap);
	buf_release(&a->output);
	buf_release(&a->words);
}

static struct secret *keep(const char *name, struct str value)
{
	return value.p ? secret_new(str_from(name), value) : NULL;
}

static int take_output(struct aws *a, struct error *err)
{
	_cleanup_(arena) struct arena arena = {NULL, 0};
	struct aws_answer got = {.expires_s = 0};
	int rc = aws_read_answer(&arena, buf_str(&a->output), &got, err);

	if (rc == 0 && got.expires_s != 0 && got.expires_s <= now_s(a))
		rc = error_set(err, &AWS_CREDENTIALS,
			"`aws configure export-credentials` gave keys that have run out");
	if (rc == 0) {
		if (a->keys.id)
			retire(a);
		a->keys = (struct key_set){keep("AccessKeyId", got.id),
			keep("SecretAccessKey", got.secret), keep("SessionToken", got.token),
			got.expires_s};
		each_value(a, &a->keys, secret_set_add_secret);
		a->number++;
	}
	aws_answer_wipe(&got);
	return rc;
}

/* The last line of what it said on its standard error. */
static struct str last_words(struct str text)
{
	struct str line, last = {NULL, 0};

	while (str_next(&text, '\n', &line)) {
		if (str_trim(line).len > 0)
			last = str_trim(line);
	}
	return str_cut(last, WORDS_SHOWN_BYTES);
}

static void fail_words(struct aws *a, const char *what)
{
	_cleanup_(buf) struct buf safe = BUF_INIT(2 * WORDS_MAX_BYTES);
	struct str words;

	if (!a->secrets || secret_redact(a->secrets, buf_str(&a->words), &safe) < 0)
		buf_clear(&safe);
	words = last_words(buf_str(&safe));
	(void)error_set(&a->failed, &AWS_CREDENTIALS,
		"`aws configure export-credentials` %s%s" STR_FMT, what, words.len > 0 ? ": " : "",
		STR_ARG(words));
}

static void judge(struct aws *a, const struct proc_outcome *o)
{
	char what[64];

	error_clear(&a->failed);
	switch (o->end) {
	case PROC_TIMED_OUT:
		fail_words(a, "took too long");
		break;
	case PROC_OVERFLOWED:
		fail_words(a, "printed more than 64 KiB");
		break;
	case PROC_EXITED:
	case PROC_SIGNALED:
	case PROC_CANCELLED:
		(void)snprintf(what, sizeof(what), "ended with %d", o->code);
		if (o->code != 0 || o->end != PROC_EXITED)
			fail_words(a, what);
		else
			(void)take_output(a, &a->failed); /* kept for those who ask */
		break;
	}
}

static void on_ended(void *arg, const struct proc_outcome *o)
{
	struct aws *a = arg;

	judge(a, o);
	forget_output(a);
	proc_command_free(mem_take(&a->command));
	if (a->failed.kind)
		log_event(LOG_WARN, "aws.credentials", LOG_ERR(&a->failed));
	else
		log_event(LOG_INFO, "aws.credentials", LOG_I64("expires_s", a->keys.expires_s));
	loop_timer_set(a->step, 0);
}

/* The first `aws` of PATH. Relative folders of it are passed over: they mean another place for each
 * working folder. */
static char *find_program(void)
{
	struct str rest = str_from(getenv("PATH")), dir;

	while (str_next(&rest, ':', &dir)) {
		_cleanup_(mem) char *path = NULL;

		if (dir.len == 0 || dir.p[0] != '/')
			continue;
		path = xasprintf(STR_FMT "/aws", STR_ARG(dir));
		if (os_is_program(path, NULL) == 1)
			return mem_take(&path);
	}
	return NULL;
}

/* Ours, and what of it stands in the env file alone. The caller frees. */
static char **child_environment(const struct aws *a)
{
	static const char *const names[] = {"AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"};
	char *set[ARRAY_LEN(names) + 1] = {NULL};
	size_t count = 0;
	char **env;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct str value = static_key(a, names[i]);

		if (value.p)
			set[count++] = xasprintf("%s=" STR_FMT, names[i], STR_ARG(value));
	}
	env = secret_environ(environ, NULL, 0, set);
	for (size_t i = 0; i < count; i++)
		free(set[i]);
	return env;
}

static int start_program(struct aws *a, struct error *err)
{
	static char *const argv[] = {
		"aws", "configure", "export-credentials", "--format", "process", NULL};
	static const struct proc_callbacks callbacks = {on_output, on_ended};
	_cleanup_(mem) char *program = find_program();
	_cleanup_(mem) char **env = NULL;
	struct proc_job job = {
		.limits = {a->timeout_ms, OUTPUT_MAX_BYTES}
        };

	a->tried = true;
	a->tried_ms = clock_mono_ms(a->clock);
	if (!program) {
		(void)error_set(&a->failed, &AWS_CREDENTIALS,
			"AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, and there is no "
			"`aws` on PATH to ask");
		return -1;
	}
	env = child_environment(a);
	job.spec = (struct proc_spec){
		.program = program, .argv = argv, .env = env, .supervisor = a->supervisor};
	a->output = (struct buf)BUF_INIT(OUTPUT_MAX_BYTES);
	a->words = (struct buf)BUF_INIT(WORDS_MAX_BYTES);
	(void)buf_reserve(&a->output, OUTPUT_MAX_BYTES); /* so that it never moves */
	if (proc_command_start(a->loop, &job, &callbacks, a, &a->command, err) < 0) {
		(void)error_set(&a->failed, &AWS_CREDENTIALS, "`aws`: %s", err->text);
		forget_output(a);
		return -1;
	}
	return 0;
}

/*
 * What can be told at once.
 */
struct str aws_region(struct aws *a, struct error *err)
{
	struct str region = static_key(a, "AWS_REGION");

	if (!region.p)
		region = static_key(a, "AWS_DEFAULT_REGION");
	if (!region.p) {
		(void)error_set(err, &AWS_CREDENTIALS,
			"the region must be named by AWS_REGION or AWS_DEFAULT_REGION");
		return region;
	}
	for (size_t i = 0; i < region.len; i++) {
		char c = region.p[i];

		if (region.len > SIGV4_NAME_MAX_BYTES ||
			(!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-')) {
			(void)error_set(err, &AWS_CREDENTIALS,
				"AWS_REGION or AWS_DEFAULT_REGION must be a region's name of at "
				"most %d of a-z 0-9 -",
				SIGV4_NAME_MAX_BYTES);
			return (struct str){NULL, 0};
		}
	}
	return region;
}

int aws_check(struct aws *a, struct error *err)
{
	bool id = static_key(a, "AWS_ACCESS_KEY_ID").p;
	bool secret = static_key(a, "AWS_SECRET_ACCESS_KEY").p;

	if (id == secret)
		return 0;
	return error_set(err, &AWS_CREDENTIALS, "%s is set, and %s is not",
		id ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
		id ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
}

struct aws *aws_new(const struct aws_options *o)
{
	struct aws *a = xcalloc(1, sizeof(*a));

	a->loop = o->loop;
	a->clock = o->clock;
	a->store = o->keys;
	a->secrets = o->secrets;
	a->supervisor = xstrdup(o->supervisor);
	a->timeout_ms = o->timeout_ms > 0 ? o->timeout_ms : PROGRAM_MAX_MS;
	a->step = loop_timer_new(o->loop, on_step, a);
	list_init(&a->asks);
	return a;
}

void aws_free(struct aws *a)
{
	if (!a)
		return;
	list_for_each_safe (k, &a->asks, struct aws_ask, node)
		free(k);
	proc_command_free(a->command);
	forget_output(a);
	key_set_release(&a->keys);
	for (size_t i = 0; i < RETIRED_MAX; i++)
		key_set_release(&a->retired[i]);
	loop_timer_free(a->step);
	free(a->supervisor);
	free(a);
}
