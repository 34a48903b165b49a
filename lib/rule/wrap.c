/*
 * wrap: programs and builtins that start what their words name. A row says how to get past options to
 * where the other command begins; an option it does not know makes every word behind a possible
 * beginning, and a script.
 */
#include "rule/internal.h"

enum how {
	PREFIX,   /* OPTION… OPERAND… COMMAND: options known */
	ANYWHERE, /* a command may begin at each word, or be one */
	SHELL,    /* with -c as ANYWHERE, else fed */
	EVAL,     /* its words are a script */
	TRAP,     /* its first is */
	ALIAS,    /* what stands behind '=' is one */
	SOURCE,   /* a file, which may be what is written to it */
	SEARCH,   /* a command begins after each -exec */
};

struct wrapper {
	const char *name;
	enum how how;
	const char *flags;    /* letters of options that stand alone */
	const char *values;   /* of those that take the next word */
	const char *longs;    /* long options that stand alone, blanks between */
	const char *long_values;
	int operands;         /* words before the command */
	bool fed;             /* what is written to it may be a command, or words of one */
};

static const struct wrapper wrappers[] = {
	{"env",     PREFIX, "i0v", "uC", "ignore-environment null debug", "unset chdir", 0, false},
	{"nice",    PREFIX, "0123456789", "n", "", "adjustment", 0, false},
	{"ionice",  PREFIX, "t", "cn", "ignore", "class classdata", 0, false},
	{"nohup",   PREFIX, "", "", "", "", 0, false},
	{"setsid",  PREFIX, "cfw", "", "ctty fork wait", "", 0, false},
	{"timeout", PREFIX, "vfp", "ks", "foreground preserve-status verbose", "kill-after signal", 1,
                false},
	{"stdbuf",  PREFIX, "", "ioe", "", "input output error", 0, false},
	{"xargs",   PREFIX, "0rtxpo", "EILPadns",
                "null no-run-if-empty verbose interactive exit open-tty",
                "arg-file delimiter max-args max-procs max-chars process-slot-var", 0, true},
	{"sudo",    PREFIX, "AbEHnPSkN", "ugCDRTphrtU",
                "askpass background preserve-env set-home non-interactive stdin reset-timestamp "
	        "preserve-groups",
                "user group chdir host prompt role type close-from chroot other-user command-timeout", 0,
                false},
	{"doas",    PREFIX, "Ln", "uCa", "", "", 0, false},
	{"command", PREFIX, "pvV", "", "", "", 0, false},
	{"exec",    PREFIX, "cl", "a", "", "", 0, false},
	{"builtin", PREFIX, "", "", "", "", 0, false},
	{"time",    PREFIX, "pavqV", "fo", "portability append verbose quiet", "format output", 0, false},
	{"busybox", PREFIX, "", "", "", "", 0, false},
	{"toybox",  PREFIX, "", "", "", "", 0, false},
};

/* The rest says all there is to say by its name. */
static const struct {
	enum how how;
	bool fed;
	const char *names;
} lists[] = {
	{SHELL, false, "sh bash dash ash ksh mksh zsh rbash rksh posh yash fish csh tcsh"},
	{EVAL, false, "eval"},
	{TRAP, false, "trap"},
	{ALIAS, false, "alias"},
	{SOURCE, false, ". source"},
	{SEARCH, false, "find fd fdfind"},
	{ANYWHERE, true, "at batch su ssh parallel script ifne"},
	{ANYWHERE, false,
		"chroot chrt taskset numactl unshare nsenter setarch linux32 linux64 i386 x86_64 flock "
		"watch strace ltrace runuser runcon setpriv systemd-run pkexec sg coproc "
		"dbus-run-session dbus-launch xvfb-run firejail bwrap proot fakeroot fakechroot faketime "
		"entr perf valgrind gdb rr heaptrack torsocks tsocks proxychains proxychains4 unbuffer "
		"rlwrap start-stop-daemon tini dumb-init catchsegv cgexec daemonize nsjail eatmydata "
		"choom prlimit chpst softlimit envdir envuidgid setuidgid chronic ssh-agent capsh "
		"systemd-inhibit caffeinate uclampset"},
};

static bool list_has(const char *names, struct str name)
{
	struct str rest = str_from(names), one;

	while (str_next(&rest, ' ', &one))
		if (str_eq(one, name))
			return true;
	return false;
}

static bool find_wrapper(struct str name, struct wrapper *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(wrappers); i++) {
		if (str_is(name, wrappers[i].name)) {
			*ret = wrappers[i];
			return true;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		if (list_has(lists[i].names, name)) {
			*ret = (struct wrapper){.how = lists[i].how, .fed = lists[i].fed};
			return true;
		}
	}
	return false;
}

/* Wherever the program lies. */
static struct str base_of(struct str path)
{
	for (size_t i = path.len; i > 0; i--)
		if (path.p[i - 1] == '/')
			return (struct str){path.p + i, path.len - i};
	return path;
}

bool find_is_shell(const struct rule_found *c)
{
	struct wrapper w;

	return find_wrapper(base_of(c->words[0].text), &w) && w.how == SHELL;
}

/* A command line as it is being looked at. */
struct line {
	struct finder *f;
	struct rule_word *words;
	size_t count, at; /* of the program that starts another */
	bool *begins;
};

struct str find_text(struct finder *f, const struct rule_word *word)
{
	char *text;

	if (word->certainty != RULE_SHAPE)
		return word->text;
	text = arena_strndup(f->a, word->text.p, word->text.len);
	for (size_t i = 0; i < word->text.len; i++)
		if (text[i] == '\0')
			text[i] = '*';
	return (struct str){text, word->text.len};
}

/* A word that may be a script, or hold one as an option's value. */
static void read_as_script(const struct line *l, const struct rule_word *word)
{
	const struct str text = find_text(l->f, word);
	const ptrdiff_t equals = str_find(text, STR("="), 0);

	find_script(l->f, text);
	if (text.len > 2 && text.p[0] == '-')
		find_script(l->f, (struct str){text.p + 2, text.len - 2});
	if (equals >= 0)
		find_script(l->f, (struct str){text.p + equals + 1, text.len - (size_t)equals - 1});
}

static void begin_anywhere(const struct line *l)
{
	if (!find_spend(l->f, l->count - l->at))
		return;
	for (size_t i = l->at + 1; i < l->count; i++) {
		l->begins[i] = true;
		read_as_script(l, &l->words[i]);
	}
}

/* How many words an option takes: 1, 2, or 0 for one that is not known. *ret_letter (of a short one
 * with a value) and *ret_value. */
static size_t measure_long(const struct wrapper *w, struct str option)
{
	const ptrdiff_t equals = str_find(option, STR("="), 0);
	const struct str name = {option.p, equals < 0 ? option.len : (size_t)equals};

	if (list_has(w->longs, name))
		return 1;
	if (!list_has(w->long_values, name))
		return 0;
	return equals < 0 ? 2 : 1;
}

static size_t measure_short(const struct wrapper *w, struct str letters)
{
	for (size_t i = 0; i < letters.len; i++) {
		if (letters.p[i] && strchr(w->values, letters.p[i]))
			return i + 1 == letters.len ? 2 : 1;
		if (!letters.p[i] || !strchr(w->flags, letters.p[i]))
			return 0;
	}
	return 1;
}

static size_t measure_option(const struct wrapper *w, struct str option)
{
	if (str_is(option, "-"))
		return str_is(str_from(w->name), "env") ? 1 : 0; /* env's is -i */
	if (str_starts(option, STR("--")))
		return measure_long(w, (struct str){option.p + 2, option.len - 2});
	return measure_short(w, (struct str){option.p + 1, option.len - 1});
}

static void begin_after_options(const struct line *l, const struct wrapper *w)
{
	size_t i = l->at + 1, n;

	for (; i < l->count; i += n) {
		if (l->words[i].certainty != RULE_EXACT) {
			begin_anywhere(l);
			return;
		}
		if (str_is(l->words[i].text, "--")) {
			i++;
			break;
		}
		if (l->words[i].text.len == 0 || l->words[i].text.p[0] != '-')
			break;
		n = measure_option(w, l->words[i].text);
		if (n == 0) {
			begin_anywhere(l);
			return;
		}
	}
	for (int k = 0; k < w->operands && i < l->count; k++, i++)
		if (l->words[i].certainty == RULE_ANY) { /* it may be none, or many */
			begin_anywhere(l);
			return;
		}
	if (i < l->count)
		l->begins[i] = true;
}

/* What xargs, parallel and find put in the place of a word is told by running alone. */
static void blur(const struct line *l, struct str mark)
{
	for (size_t i = l->at + 1; mark.len > 0 && i < l->count; i++)
		if (str_find(l->words[i].text, mark, 0) >= 0)
			l->words[i].certainty = RULE_ANY;
}

/* xargs -I MARK, -IMARK, --replace=MARK. */
static void blur_replaced(const struct line *l)
{
	for (size_t i = l->at + 1; i < l->count; i++) {
		const struct str word = l->words[i].text;
		const ptrdiff_t letter = str_find(word, STR("I"), 0);

		if (str_starts(word, STR("--replace=")))
			blur(l, (struct str){word.p + 10, word.len - 10});
		if (word.len < 2 || word.p[0] != '-' || letter < 0)
			continue;
		if ((size_t)letter + 1 < word.len)
			blur(l, (struct str){word.p + letter + 1, word.len - (size_t)letter - 1});
		else if (i + 1 < l->count)
			blur(l, l->words[i + 1].text);
	}
}

static void begin_after_exec(const struct line *l)
{
	static const char names[] = "-exec -execdir -ok -okdir -x -X --exec --exec-batch";

	for (size_t i = l->at + 1; i < l->count; i++) {
		if (l->words[i].certainty != RULE_EXACT) {
			begin_anywhere(l);
			return;
		}
		if (list_has(names, l->words[i].text) && i + 1 < l->count)
			l->begins[i + 1] = true;
	}
}

static void read_shell(const struct line *l)
{
	bool given = false, told = true;

	for (size_t i = l->at + 1; i < l->count; i++) {
		const struct str word = l->words[i].text;

		told = told && l->words[i].certainty == RULE_EXACT;
		given = given || (word.len > 1 && strchr("-+", word.p[0]) &&
					 memchr(word.p, 'c', word.len));
	}
	if (given || !told)
		begin_anywhere(l);
	if (!given || !told)
		l->f->fed = true;
}

static void read_joined(const struct line *l)
{
	_cleanup_(buf) struct buf all = BUF_INIT(2 * RULE_SCRIPT_MAX_BYTES);

	for (size_t i = l->at + 1; i < l->count; i++) {
		(void)buf_put_str(&all, find_text(l->f, &l->words[i])); /* a part of the script */
		(void)buf_putc(&all, ' ');
	}
	find_script(l->f, (struct str){arena_strndup(l->f->a, buf_str(&all).p, all.len), all.len});
}

static void read_given(const struct line *l, const struct wrapper *w)
{
	const bool more = l->at + 1 < l->count;
	const struct str first = more ? l->words[l->at + 1].text : STR("");

	switch (w->how) {
	case PREFIX:
		begin_after_options(l, w);
		break;
	case ANYWHERE:
		begin_anywhere(l);
		break;
	case SHELL:
		read_shell(l);
		break;
	case EVAL:
		read_joined(l);
		break;
	case TRAP:
	case ALIAS:
		for (size_t i = l->at + 1; i < l->count; i++)
			read_as_script(l, &l->words[i]);
		break;
	case SOURCE:
		l->f->fed = l->f->fed || str_starts(first, STR("/dev/")) ||
			    str_starts(first, STR("/proc/"));
		break;
	case SEARCH:
		begin_after_exec(l);
		break;
	}
}

bool find_started(
	struct finder *f, struct rule_word *words, size_t count, size_t at, bool *begins)
{
	const struct line l = {f, words, count, at, begins};
	const struct str name = base_of(words[at].text);
	struct wrapper w;

	if (!find_wrapper(name, &w) || !find_spend(f, count - at))
		return false;
	read_given(&l, &w);
	f->fed = f->fed || w.fed;
	if (w.how != SEARCH && !str_is(name, "xargs") && !str_is(name, "parallel"))
		return false;
	blur(&l, STR("{}"));
	blur_replaced(&l);
	return w.how != SEARCH;
}
