/*
 * wrap: programs and builtins that start what their words name. A row says how to get past options
 * to where the other command begins; an option it does not know makes every word behind a possible
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
	enum how how;       /* what stands here is PREFIX */
	const char *flags;  /* letters of options that stand alone; NULL: none, here and below */
	const char *values; /* of those that take the next word */
	const char *longs;  /* long options that stand alone, blanks between */
	const char *long_values; /* and those that take the next word */
	int operands;            /* words before the command */
	bool fed;                /* what is written to it may be a command, or words of one */
};

static const struct wrapper wrappers[] = {
	{.name = "env",
         .flags = "i0v",
         .values = "uC",
         .longs = "ignore-environment null debug",
         .long_values = "unset chdir"},
	{.name = "nice",				.flags = "0123456789", .values = "n", .long_values = "adjustment"},
	{.name = "ionice",
         .flags = "t",
         .values = "cn",
         .longs = "ignore",
         .long_values = "class classdata"},
	{.name = "nohup"			       },
	{.name = "setsid",				.flags = "cfw", .longs = "ctty fork wait"},
	{.name = "timeout",
         .flags = "vfp",
         .values = "ks",
         .longs = "foreground preserve-status verbose",
         .long_values = "kill-after signal",
         .operands = 1},
	{.name = "stdbuf",				  .values = "ioe", .long_values = "input output error"},
	{.name = "xargs",
         .flags = "0rtxpo",
         .values = "EILPadns",
         .longs = "null no-run-if-empty verbose interactive exit open-tty",
         .long_values = "arg-file delimiter max-args max-procs max-chars process-slot-var",
         .fed = true},
	{.name = "sudo",
         .flags = "AbEHnPSkN",
         .values = "ugCDRTphrtU",
         .longs = "askpass background preserve-env set-home non-interactive stdin "
			 "reset-timestamp preserve-groups", .long_values = "user group chdir host prompt role type close-from chroot "
			       "other-user command-timeout"},
	{.name = "doas",              .flags = "Ln", .values = "uCa"},
	{.name = "command",.flags = "pvV"},
	{.name = "exec",					     .flags = "cl", .values = "a"},
	{.name = "builtin"			       },
	{.name = "time",
         .flags = "pavqV",
         .values = "fo",
         .longs = "portability append verbose quiet",
         .long_values = "format output"},
	{.name = "busybox"				},
	{.name = "toybox"			     },
};

/* The rest says all there is to say by its name. */
static const struct {
	enum how how;
	bool fed;
	const char *names;
} lists[] = {
	{SHELL,    false, "sh bash dash ash ksh mksh zsh rbash rksh posh yash fish csh tcsh"},
	{EVAL,     false, "eval"							    },
	{TRAP,     false, "trap"							    },
	{ALIAS,    false, "alias"							   },
	{SOURCE,   false, ". source"							},
	{SEARCH,   false, "find fd fdfind"						  },
	{ANYWHERE, true,  "at batch su ssh parallel script ifne"                            },
	{ANYWHERE, false,
         "chroot chrt taskset numactl unshare nsenter setarch linux32 linux64 i386 x86_64 "
		"flock "
		"watch strace ltrace runuser runcon setpriv systemd-run pkexec sg coproc "
		"dbus-run-session dbus-launch xvfb-run firejail bwrap proot fakeroot fakechroot "
		"faketime "
		"entr perf valgrind gdb rr heaptrack torsocks tsocks proxychains proxychains4 "
		"unbuffer "
		"rlwrap start-stop-daemon tini dumb-init catchsegv cgexec daemonize nsjail "
		"eatmydata "
		"choom prlimit chpst softlimit envdir envuidgid setuidgid chronic ssh-agent capsh "
		"systemd-inhibit caffeinate uclampset"                                      },
};

static bool find_wrapper(struct str name, struct wrapper *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(wrappers); i++) {
		if (str_is(name, wrappers[i].name)) {
			*ret = wrappers[i];
			return true;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		if (rule_list_has(lists[i].names, name)) {
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

bool rule_find_is_shell(const struct rule_found *c)
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

struct str rule_find_text(struct finder *f, const struct rule_word *word)
{
	const char *const hole = word->certainty == RULE_SHAPE ? "*" : "$?";
	_cleanup_(buf) struct buf text = BUF_INIT(2 * WORD_MAX_BYTES);

	if (word->certainty == RULE_EXACT)
		return word->text;
	for (size_t i = 0; i < word->text.len; i++) {
		if (word->text.p[i])
			(void)buf_putc(&text, word->text.p[i]); /* it fits, twice as long */
		else
			(void)buf_puts(&text, hole);
	}
	return (struct str){arena_strndup(f->a, buf_str(&text).p, text.len), text.len};
}

/* A word that may be a script, or hold one as an option's value. */
static void read_as_script(const struct line *l, const struct rule_word *word)
{
	const struct str text = rule_find_text(l->f, word);
	const ptrdiff_t equals = str_find(text, STR("="), 0);

	rule_find_script(l->f, text);
	if (text.len > 2 && text.p[0] == '-')
		rule_find_script(l->f, (struct str){text.p + 2, text.len - 2});
	if (equals >= 0)
		rule_find_script(
			l->f, (struct str){text.p + equals + 1, text.len - (size_t)equals - 1});
}

static void begin_anywhere(const struct line *l)
{
	if (!rule_find_spend(l->f, l->count - l->at))
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

	if (rule_list_has(w->longs, name))
		return 1;
	if (!rule_list_has(w->long_values, name))
		return 0;
	return equals < 0 ? 2 : 1;
}

static bool has_letter(const char *letters, char c)
{
	return letters && c && strchr(letters, c);
}

static size_t measure_short(const struct wrapper *w, struct str letters)
{
	for (size_t i = 0; i < letters.len; i++) {
		if (has_letter(w->values, letters.p[i]))
			return i + 1 == letters.len ? 2 : 1;
		if (!has_letter(w->flags, letters.p[i]))
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
		if (rule_list_has(names, l->words[i].text) && i + 1 < l->count)
			l->begins[i + 1] = true;
	}
}

static void read_shell(const struct line *l)
{
	bool given = false, told = true;

	for (size_t i = l->at + 1; i < l->count; i++) {
		const struct str word = l->words[i].text;

		told = told && l->words[i].certainty == RULE_EXACT;
		given = given ||
			(word.len > 1 && strchr("-+", word.p[0]) && memchr(word.p, 'c', word.len));
	}
	if (given || !told)
		begin_anywhere(l);
	if (!given || !told)
		l->f->fed = true;
}

static void read_joined(const struct line *l)
{
	_cleanup_(buf) struct buf all = BUF_INIT(2 * WORD_MAX_BYTES);

	for (size_t i = l->at + 1; i < l->count; i++) {
		(void)buf_put_str(
			&all, rule_find_text(l->f, &l->words[i])); /* a part of the script */
		(void)buf_putc(&all, ' ');
	}
	rule_find_script(
		l->f, (struct str){arena_strndup(l->f->a, buf_str(&all).p, all.len), all.len});
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

bool rule_find_started(
	struct finder *f, struct rule_word *words, size_t count, size_t at, bool *begins)
{
	const struct line l = {f, words, count, at, begins};
	const struct str name = base_of(words[at].text);
	struct wrapper w;

	if (!find_wrapper(name, &w) || !rule_find_spend(f, count - at))
		return false;
	read_given(&l, &w);
	f->fed = f->fed || w.fed;
	if (w.how != SEARCH && !str_is(name, "xargs") && !str_is(name, "parallel"))
		return false;
	blur(&l, STR("{}"));
	blur_replaced(&l);
	return w.how != SEARCH;
}
