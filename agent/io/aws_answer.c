/* What `aws configure export-credentials --format process` prints. */
#include <time.h>

#include "agent/io/aws_credentials.h"
#include "json/json.h"

/* A number of just so many digits at *at; -1 for none. */
static int digits(struct str s, size_t *at, size_t count)
{
	int value = 0;

	if (s.len - *at < count)
		return -1;
	for (size_t i = 0; i < count; i++) {
		char c = s.p[*at + i];

		if (c < '0' || c > '9')
			return -1;
		value = value * 10 + (c - '0');
	}
	*at += count;
	return value;
}

static bool mark(struct str s, size_t *at, const char *any)
{
	if (*at >= s.len || s.p[*at] == '\0' || !strchr(any, s.p[*at]))
		return false;
	(*at)++;
	return true;
}

/* Behind the seconds: a fraction, which is left out, then Z or +HH:MM. */
static int read_zone(struct str s, size_t *at, int64_t *ret_s)
{
	int sign, hours, minutes;

	if (mark(s, at, ".")) {
		if (digits(s, at, 1) < 0)
			return -1;
		while (digits(s, at, 1) >= 0)
			continue;
	}
	*ret_s = 0;
	if (mark(s, at, "Zz"))
		return *at == s.len ? 0 : -1;
	if (*at >= s.len)
		return -1;
	sign = s.p[*at] == '-' ? -1 : 1;
	if (!mark(s, at, "+-"))
		return -1;
	hours = digits(s, at, 2);
	if (hours < 0 || hours > 23 || !mark(s, at, ":"))
		return -1;
	minutes = digits(s, at, 2);
	if (minutes < 0 || minutes > 59 || *at != s.len)
		return -1;
	*ret_s = sign * (hours * 3600 + minutes * 60);
	return 0;
}

int aws_read_time(struct str s, int64_t *ret_s)
{
	static const char marks[] = "--T::";
	static const struct {
		int least, most;
	} bounds[] = {
		{1970, 9999},
		{1,    12  },
		{1,    31  },
		{0,    23  },
		{0,    59  },
		{0,    60  },
	};
	int part[ARRAY_LEN(bounds)];
	struct tm tm, again;
	int64_t zone;
	size_t at = 0;
	time_t t;

	for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
		part[i] = digits(s, &at, i == 0 ? 4 : 2);
		if (part[i] < bounds[i].least || part[i] > bounds[i].most)
			return -1;
		if (marks[i] && (at >= s.len || s.p[at++] != marks[i]))
			return -1;
	}
	if (read_zone(s, &at, &zone) < 0)
		return -1;
	tm = (struct tm){.tm_year = part[0] - 1900,
		.tm_mon = part[1] - 1,
		.tm_mday = part[2],
		.tm_hour = part[3],
		.tm_min = part[4],
		.tm_sec = part[5]};
	again = tm;
	t = timegm(&again);
	if (again.tm_mday != tm.tm_mday) /* the 31st of April */
		return -1;
	*ret_s = (int64_t)t - zone;
	return 0;
}

void aws_answer_wipe(struct aws_answer *w)
{
	const struct str all[] = {w->id, w->secret, w->token};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		if (all[i].p)
			explicit_bzero((void *)all[i].p, all[i].len); /* the arena's own copy */
	}
	*w = (struct aws_answer){.expires_s = 0};
}

static int invalid(struct error *err, const char *what)
{
	return error_set(
		err, &AWS_CREDENTIALS, "what `aws configure export-credentials` printed: %s", what);
}

/* No text of an error repeats anything of the document: it may be a key. */
int aws_read_answer(struct arena *a, struct str text, struct aws_answer *ret, struct error *err)
{
	const struct json *root, *token, *expires;
	struct error why = ERROR_INIT;
	struct aws_answer got = {.expires_s = 0};
	int64_t version;

	if (json_parse(a, text, &root, &why) < 0)
		return error_is(&why, &JSON_LIMIT) ? invalid(err, "more than can be read")
						   : invalid(err, "no JSON");
	if (root->type != JSON_OBJECT)
		return invalid(err, "no JSON object");
	got.id = json_str(json_get(root, "AccessKeyId"));
	got.secret = json_str(json_get(root, "SecretAccessKey"));
	token = json_get(root, "SessionToken");
	got.token = json_str(token);
	*ret = got; /* so that the caller can wipe it */
	if (json_i64(json_get(root, "Version"), &version) < 0 || version != 1)
		return invalid(err, "Version must be 1");
	if (got.id.len == 0 || got.id.len > SIGV4_KEY_MAX_BYTES)
		return invalid(err, "AccessKeyId must be a text of 1 to 256 bytes");
	if (got.secret.len == 0 || got.secret.len > SIGV4_KEY_MAX_BYTES)
		return invalid(err, "SecretAccessKey must be a text of 1 to 256 bytes");
	if (token && token->type != JSON_NULL &&
		(got.token.len == 0 || got.token.len > SIGV4_TOKEN_MAX_BYTES))
		return invalid(err, "SessionToken must be a text of 1 to 8192 bytes");
	expires = json_get(root, "Expiration");
	if (expires && expires->type != JSON_NULL &&
		aws_read_time(json_str(expires), &ret->expires_s) < 0)
		return invalid(err, "Expiration must be a moment as 2030-01-31T09:00:00Z");
	return 0;
}
