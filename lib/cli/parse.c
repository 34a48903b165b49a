/*
 * parse: reads one command's arguments into its struct, by its table.
 */
#include "cli/internal.h"
#include "mem/mem.h"

const struct error_kind CLI_USAGE_ERROR = {"usage", ERROR_CLASS_USAGE};

struct reading {
	const struct cli_program *program; /* may be NULL */
	const struct cli_command *command;
	int argc, at;
	char **argv;
	char *options;
	bool *seen; /* by number of option */
	struct error *err;
};

const struct cli_option *cli_option_at(const struct cli_command *c, size_t n, size_t *ret_offset)
{
	for (size_t g = 0; g < CLI_GROUPS_MAX; g++) {
		const struct cli_group *group = &c->groups[g];

		if (n < group->count) {
			if (ret_offset)
				*ret_offset = group->base + group->options[n].offset;
			return &group->options[n];
		}
		n -= group->count;
	}
	return NULL;
}

static size_t option_count(const struct cli_command *c)
{
	size_t count = 0;

	for (size_t g = 0; g < CLI_GROUPS_MAX; g++)
		count += c->groups[g].count;
	return count;
}

static const struct cli_option *find(
	const struct cli_command *c, struct str name, size_t *ret_number, size_t *ret_offset)
{
	const struct cli_option *o;

	for (size_t n = 0; (o = cli_option_at(c, n, ret_offset)); n++) {
		if (str_is(name, o->name)) {
			*ret_number = n;
			return o;
		}
	}
	return NULL;
}

/* A command of the program that does take the option, or NULL. */
static const char *owner_of(const struct cli_program *p, struct str name)
{
	size_t number, offset;

	for (size_t i = 0; p && i < p->count; i++)
		if (find(p->commands[i], name, &number, &offset))
			return p->commands[i]->name;
	return NULL;
}

static int unknown_option(const struct reading *r, struct str name)
{
	const char *near = cli_suggest_option(r->command, name);
	const char *owner = owner_of(r->program, name);

	if (owner)
		return error_set(r->err, &CLI_USAGE_ERROR,
			"'--" STR_FMT "' is not for this command (but for '%s')", STR_ARG(name),
			owner);
	if (near)
		return error_set(r->err, &CLI_USAGE_ERROR,
			"unknown option '--" STR_FMT "'; did you mean '--%s'?", STR_ARG(name),
			near);
	return error_set(r->err, &CLI_USAGE_ERROR, "unknown option '--" STR_FMT "'", STR_ARG(name));
}

/* The value of an option: after its '=' (given) or the next argument. */
static int value_of(
	struct reading *r, const struct cli_option *o, const char *given, const char **ret_value)
{
	if (given) {
		*ret_value = given;
		return 0;
	}
	if (r->at >= r->argc)
		return error_set(r->err, &CLI_USAGE_ERROR, "'--%s' needs a value: --%s %s", o->name,
			o->name, o->value);
	if (str_starts(str_from(r->argv[r->at]), STR("--")))
		return error_set(r->err, &CLI_USAGE_ERROR,
			"'--%s' needs a value; one that starts with '--' is written --%s=%s",
			o->name, o->name, r->argv[r->at]);
	*ret_value = r->argv[r->at++];
	return 0;
}

static int set_number(
	struct reading *r, const struct cli_option *o, const char *value, struct cli_number *to)
{
	struct error sub = ERROR_INIT;
	_cleanup_(mem) char *what = xasprintf("--%s", o->name);

	if (text_i64(str_from(value), o->min, o->max, what, &to->value, &sub) < 0)
		return error_set(r->err, &CLI_USAGE_ERROR, "%s", sub.text);
	to->set = true;
	return 0;
}

static void add_text(struct cli_texts *t, const char *value)
{
	t->items = xrealloc(t->items, t->count + 1, sizeof(*t->items));
	t->items[t->count++] = value;
}

static int set_option(struct reading *r, const struct cli_option *o, void *to, const char *given)
{
	const char *value = NULL;

	if (o->sort == CLI_FLAG) {
		if (given)
			return error_set(
				r->err, &CLI_USAGE_ERROR, "'--%s' takes no value", o->name);
		*(bool *)to = true;
		return 0;
	}
	if (value_of(r, o, given, &value) < 0)
		return -1;
	if (o->sort == CLI_NUMBER)
		return set_number(r, o, value, to);
	if (o->sort == CLI_TEXTS)
		add_text(to, value);
	else
		*(const char **)to = value;
	return 0;
}

/* An argument that starts with "--" and is longer. 1 when it asks for help. */
static int read_long(struct reading *r, const char *arg)
{
	const char *equals = strchr(arg, '=');
	struct str name = {arg + 2, equals ? (size_t)(equals - arg - 2) : strlen(arg + 2)};
	size_t number = 0, offset = 0;
	const struct cli_option *o = find(r->command, name, &number, &offset);

	if (!o && str_is(name, "help") && !equals)
		return 1;
	if (!o)
		return unknown_option(r, name);
	if (r->seen[number] && o->sort != CLI_TEXTS)
		return error_set(r->err, &CLI_USAGE_ERROR, "'--%s' is given twice", o->name);
	r->seen[number] = true;
	return set_option(r, o, r->options + offset, equals ? equals + 1 : NULL);
}

static int check_count(const struct reading *r, char **args, int count)
{
	const struct cli_command *c = r->command;

	if (count < c->args_min)
		return error_set(r->err, &CLI_USAGE_ERROR, "needs %s", c->arguments);
	if (c->args_max >= 0 && count > c->args_max)
		return error_set(
			r->err, &CLI_USAGE_ERROR, "unexpected argument '%s'", args[c->args_max]);
	return 0;
}

/* Puts what is no option to the front of argv. 1 help is asked for. */
static int read_all(struct reading *r, int *ret_count)
{
	bool options_end = false;
	int count = 0, rc;

	while (r->at < r->argc) {
		char *arg = r->argv[r->at++];

		if (options_end || arg[0] != '-' || !arg[1]) {
			r->argv[count++] = arg;
			continue;
		}
		if (strcmp(arg, "--") == 0) {
			options_end = true;
			continue;
		}
		if (strcmp(arg, "-h") == 0)
			return 1;
		if (arg[1] != '-')
			return error_set(r->err, &CLI_USAGE_ERROR,
				"unknown option '%s'; an argument that starts with '-' comes after "
				"'--'",
				arg);
		rc = read_long(r, arg);
		if (rc != 0)
			return rc;
	}
	*ret_count = count;
	return check_count(r, r->argv, count);
}

int cli_read(const struct cli_program *p, const struct cli_command *c, struct cli_words *words,
	void *options, struct error *err)
{
	_cleanup_(mem) bool *seen = xcalloc(option_count(c), sizeof(*seen));
	struct reading r = {p, c, words->count, 0, words->items, options, seen, err};
	int rc = read_all(&r, &words->count);

	if (rc != 0)
		cli_release(c, options);
	return rc;
}

int cli_parse(
	const struct cli_command *c, struct cli_words *words, void *options, struct error *err)
{
	int rc = cli_read(NULL, c, words, options, err);

	return rc > 0 ? error_set(err, &CLI_USAGE_ERROR, "help is asked for") : rc;
}

void cli_texts_release(struct cli_texts *t)
{
	free(t->items);
	*t = (struct cli_texts){NULL, 0};
}

void cli_release(const struct cli_command *c, void *options)
{
	const struct cli_option *o;
	size_t offset;

	for (size_t n = 0; (o = cli_option_at(c, n, &offset)); n++)
		if (o->sort == CLI_TEXTS)
			cli_texts_release((struct cli_texts *)((char *)options + offset));
}
