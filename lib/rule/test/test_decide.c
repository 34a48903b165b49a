/* decide: what rules make of scripts: the strictest, every command, and what is said about it. */
#include "rule/rule.h"
#include "testing.h"

enum { OUT_MAX_BYTES = 1 << 20 };

static struct rules *read_rules(const char *json)
{
	_cleanup_(arena) struct arena a = {NULL};
	const struct json *value;
	struct error err = ERROR_INIT;
	struct rules *r = NULL;

	assert_ok(json_parse(&a, str_from(json), &value, &err), &err);
	assert_ok(rules_from_json(value, &r, &err), &err);
	return r;
}

static const char some[] =
	"[{\"pattern\":[\"tool\"],\"decision\":\"allow\"},"
	"{\"pattern\":[\"git\"],\"decision\":\"allow\"},"
	"{\"pattern\":[\"git\",[\"push\",\"fetch\"]],\"decision\":\"prompt\",\"justification\":"
	"\"it "
	"leaves\"},"
	"{\"pattern\":[\"git\",\"push\",\"--force\"],\"decision\":\"forbidden\"},"
	"{\"pattern\":[[\"echo\",\"cd\",\"env\",\"xargs\"]],\"decision\":\"allow\"},"
	"{\"pattern\":[\"npm\",\"run\",[\"a\",\"b\"],\"x\"],\"decision\":\"allow\"},"
	"{\"pattern\":[\"rm\"],\"decision\":\"forbidden\",\"justification\":\"gone is gone\"}]";

static const struct {
	const char *text;
	enum rule_decision wanted;
	uint32_t line; /* of the rule to blame */
} decided[] = {
  /* AG-116 to AG-120 */
	{"tool a",		      RULE_ALLOW,     1},
	{"tool a && tool b",            RULE_ALLOW,     1},
	{"tool a && other",             RULE_NONE,      0},
	{"tool; touch x",               RULE_NONE,      0},
	{"tool | touch x",              RULE_NONE,      0},
	{"tool || touch x",             RULE_NONE,      0},
	{"tool\ntouch x",               RULE_NONE,      0},
	{"tool & touch x",              RULE_NONE,      0},
	{"tool &",		      RULE_NONE,      0},
	{"tool\r\ntool",                RULE_NONE,      0},
	{"echo $(touch x)",             RULE_NONE,      0},
	{"echo `touch x`",              RULE_NONE,      0},
	{"echo $VAR",                   RULE_NONE,      0},
	{"echo <(touch x)",             RULE_NONE,      0},
	{"echo x > y",                  RULE_NONE,      0},
	{"echo x < y",                  RULE_NONE,      0},
	{"cat <<E\nE",                  RULE_NONE,      0},
	{"",			    RULE_NONE,      0},
	{"tool a; cd /x",               RULE_ALLOW,     1},
	{"cd /x && tool",               RULE_ALLOW,     5},
	{"PATH=/x tool",                RULE_NONE,      0},
	{"export PATH=/x; tool",        RULE_NONE,      0},
	{"env tool",                    RULE_ALLOW,     5},
 /* AG-227 */
	{"git status",                  RULE_ALLOW,     2},
	{"git commit -m 'a b'",         RULE_ALLOW,     2},
	{"git",			 RULE_ALLOW,     2},
	{"/usr/bin/git status",         RULE_NONE,      0},
	{"./git status",                RULE_NONE,      0},
	{"git-lfs",		     RULE_NONE,      0},
	{"gi",			  RULE_NONE,      0},
	{"GIT status",                  RULE_NONE,      0},
	{"npm run a x",                 RULE_ALLOW,     6},
	{"npm run b x y",               RULE_ALLOW,     6},
	{"npm run c x",                 RULE_NONE,      0},
	{"npm run a",                   RULE_NONE,      0},
	{"npm run a y",                 RULE_NONE,      0},
	{"npm 'run a' x",               RULE_NONE,      0},
 /* AG-122 */
	{"git push",                    RULE_PROMPT,    3},
	{"git fetch origin",            RULE_PROMPT,    3},
	{"git push origin --force",     RULE_PROMPT,    3},
	{"tool && git fetch",           RULE_PROMPT,    3},
	{"git push >/dev/null",         RULE_PROMPT,    3},
	{"x=$(git push)",               RULE_PROMPT,    3},
	{"git $sub",                    RULE_FORBIDDEN, 4},
	{"git \"$sub\"",                RULE_PROMPT,    3},
	{"git \"$sub\" --force",        RULE_FORBIDDEN, 4},
	{"git \"st$sub\" --force",      RULE_NONE,      0},
	{"git \"$@\"",                  RULE_FORBIDDEN, 4},
	{"git f*",		      RULE_PROMPT,    3},
	{"git f* --force",              RULE_PROMPT,    3},
	{"git ?u*",		     RULE_PROMPT,    3},
	{"git st*",		     RULE_NONE,      0},
	{"echo fetch | xargs git",      RULE_FORBIDDEN, 4},
	{"sudo git fetch",              RULE_PROMPT,    3},
 /* AG-121 */
	{"rm x",			RULE_FORBIDDEN, 7},
	{"rm",			  RULE_FORBIDDEN, 7},
	{"git push; rm x",              RULE_FORBIDDEN, 7},
	{"git push --force",            RULE_FORBIDDEN, 4},
	{"git push --force; rm x",      RULE_FORBIDDEN, 4},
	{"rm x; git push --force",      RULE_FORBIDDEN, 4},
	{"git push --force-with-lease", RULE_PROMPT,    3},
	{"tool && env rm x",            RULE_FORBIDDEN, 7},
	{"bash -c 'rm x'",              RULE_FORBIDDEN, 7},
	{"'r'm x",		      RULE_FORBIDDEN, 7},
	{"r\\m x",		      RULE_FORBIDDEN, 7},
	{"r? x",			RULE_FORBIDDEN, 7},
	{"rm\n",			RULE_FORBIDDEN, 7},
	{"if true; then rm x; fi",      RULE_FORBIDDEN, 7},
	{"echo rm",		     RULE_ALLOW,     5},
	{"/bin/rm x",                   RULE_NONE,      0},
};

static void decisions(void **state)
{
	_cleanup_(rules) struct rules *r = read_rules(some);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(decided); i++) {
		struct rule_verdict v;

		rules_decide(r, str_from(decided[i].text), &v);
		if (v.decision != decided[i].wanted ||
			(v.rule ? v.rule->line : 0) != decided[i].line)
			fail_msg("'%s': %s by rule %u", decided[i].text,
				rule_decision_names[v.decision], v.rule ? v.rule->line : 0);
	}
}

static void no_rules_decide_nothing(void **state)
{
	_cleanup_(rules) struct rules *r = rules_new();
	struct rule_verdict v;

	(void)state;
	rules_decide(r, STR("rm x"), &v);
	assert_int_equal(v.decision, RULE_NONE);
	assert_true(v.plain);
	assert_null(v.rule);
	assert_int_equal(rules_count(r), 0);
	assert_null(rules_unreadable(r).p);
}

static void unreadable_rules_refuse_every_command(void **state)
{
	static const char *const scripts[] = {"true", "", "echo $(x)", "git status"};
	_cleanup_(rules) struct rules *r = rules_new_unreadable(STR("a.rules:3: nonsense\n"));

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		struct error err = ERROR_INIT;
		struct rule_verdict v;

		rules_decide(r, str_from(scripts[i]), &v);
		assert_int_equal(v.decision, RULE_FORBIDDEN);
		assert_fails(rules_refusal(r, &v, &err), &err, RULES_UNREADABLE);
		assert_non_null(strstr(err.text, "a.rules:3: nonsense"));
	}
}

static void a_refusal_names_pattern_and_reason(void **state)
{
	_cleanup_(rules) struct rules *r = read_rules(some);
	struct error err = ERROR_INIT;
	struct rule_verdict v;

	(void)state;
	rules_decide(r, STR("rm x"), &v);
	assert_fails(rules_refusal(r, &v, &err), &err, RULES_FORBIDDEN);
	assert_string_equal(err.text, "a command rule forbids 'rm': gone is gone");
	rules_decide(r, STR("git push --force"), &v);
	assert_fails(rules_refusal(r, &v, &err), &err, RULES_FORBIDDEN);
	assert_string_equal(err.text, "a command rule forbids 'git push --force'");
}

static void what_is_tangled_meets_every_rule_that_restrains(void **state)
{
	static const char *const sets[] = {
		"[{\"pattern\":[\"a\"],\"decision\":\"prompt\"},{\"pattern\":[\"rm\"],"
		"\"decision\":\"forbidden\"}]",
		"[{\"pattern\":[\"x\"],\"decision\":\"allow\"},{\"pattern\":[\"y\"],"
		"\"decision\":\"prompt\"}]",
		"[{\"pattern\":[\"a\"],\"decision\":\"allow\"}]",
	};
	static const enum rule_decision wanted[] = {RULE_FORBIDDEN, RULE_PROMPT, RULE_NONE};
	_cleanup_(mem) char *text = xmalloc(RULE_SCRIPT_MAX_BYTES + 1);

	(void)state;
	memset(text, 'a', RULE_SCRIPT_MAX_BYTES + 1);
	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		_cleanup_(rules) struct rules *r = read_rules(sets[i]);
		struct rule_verdict v;

		rules_decide(r, (struct str){text, RULE_SCRIPT_MAX_BYTES + 1}, &v);
		assert_int_equal(v.decision, wanted[i]);
		assert_int_equal(v.tangled, wanted[i] != RULE_NONE);
	}
}

static void explanations(void **state)
{
	static const struct {
		const char *text, *wanted;
	} rows[] = {
		{"tool a",            "allow: outside the sandbox, without asking\n"
			   "  a plain script: allowed when every command is\n"
			   "  'tool' 'a'\n"
			   "    matches allow [tool] (rule 1)\n"        },
		{"tool; npm run c x", "none: no rule decides; inside the sandbox, or as it asked\n"
				      "  a plain script: allowed when every command is\n"
				      "  'tool'\n"
				      "    matches allow [tool] (rule 1)\n"
				      "  'npm' 'run' 'c' 'x'\n"
				      "    not allow [npm run a|b x] (rule 6)\n"
				      "      word 3 is 'c'\n"},
		{"npm run > y",       "none: no rule decides; inside the sandbox, or as it asked\n"
				"  not a plain script, so that no allow rule counts: a redirection "
				"at byte 8\n"
				"  'npm' 'run'\n"
				"    not allow [npm run a|b x] (rule 6)\n"
				"      it has more words\n"        },
		{"git $x\nother\x1b", "forbidden: refused, also when it asks to leave the sandbox\n"
				      "  by forbidden [git push --force] (rule 4)\n"
				      "  not a plain script, so that no allow rule counts: a "
				      "control character at byte "
				      "12\n"
				      "  'git' …\n"
				      "    matches prompt [git push|fetch] (rule 3): it leaves\n"
				      "    matches forbidden [git push --force] (rule 4)\n"
				      "  'other\\x1b'\n"
				      "    no rule\n"        },
	};
	_cleanup_(rules) struct rules *r = read_rules(some);
	_cleanup_(rules) struct rules *none = rules_new_unreadable(STR("why"));
	_cleanup_(buf) struct buf b = BUF_INIT(OUT_MAX_BYTES);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf got = BUF_INIT(OUT_MAX_BYTES);

		rules_explain(r, str_from(rows[i].text), &got);
		assert_string_equal(buf_str(&got).p, rows[i].wanted);
	}
	rules_explain(none, STR("true"), &b);
	assert_string_equal(buf_str(&b).p,
		"forbidden: the rules could not be read, so every command is refused\n  why\n");
}

/* Every shape of up to four bytes against every text of up to four, by trying it the plain way. */
static bool fits_slowly(const char *shape, const char *text)
{
	if (!*shape)
		return !*text;
	if (*shape == '*')
		return fits_slowly(shape + 1, text) || (*text && fits_slowly(shape, text + 1));
	return *shape == *text && fits_slowly(shape + 1, text + 1);
}

static size_t spell(size_t n, const char *letters, char out[5])
{
	size_t len = 0;

	for (; n > 0; n /= strlen(letters) + 1)
		if (n % (strlen(letters) + 1))
			out[len++] = letters[n % (strlen(letters) + 1) - 1];
	out[len] = '\0';
	return len;
}

static void globs_match_as_globs_do(void **state)
{
	_cleanup_(rules) struct rules *r = NULL;
	char shape[5], text[5];

	(void)state;
	for (size_t t = 1; t < 81; t++) {
		_cleanup_(mem) char *json = NULL;

		if (spell(t, "ab", text) == 0)
			continue;
		json = xasprintf("[{\"pattern\":[\"x\",\"%s\"],\"decision\":\"forbidden\"}]", text);
		rules_free(r);
		r = read_rules(json);
		for (size_t s = 1; s < 256; s++) {
			_cleanup_(mem) char *script = NULL;
			struct rule_verdict v;

			if (spell(s, "ab*", shape) == 0)
				continue;
			script = xasprintf("x %s", shape);
			rules_decide(r, str_from(script), &v);
			if ((v.decision == RULE_FORBIDDEN) != fits_slowly(shape, text))
				fail_msg("'%s' against '%s': %d", shape, text, v.decision);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decisions),
		cmocka_unit_test(no_rules_decide_nothing),
		cmocka_unit_test(unreadable_rules_refuse_every_command),
		cmocka_unit_test(a_refusal_names_pattern_and_reason),
		cmocka_unit_test(what_is_tangled_meets_every_rule_that_restrains),
		cmocka_unit_test(explanations),
		cmocka_unit_test(globs_match_as_globs_do),
	};

	return cmocka_run_group_tests_name("rule decide", tests, NULL, NULL);
}
