/* ~/.agent/config.toml: which variables of the daemon's environment a bot's commands get. */
#include "attest/suites.h"

#include "attest/drill.h"

static const char *const env[] = {"My_Key=umber-1", "aSecretB=umber-2", "TOKENS=umber-3",
	"OTHER=umber-4", "FOO1=umber-5", "foo2=umber-6", "AFOO=umber-7",
	"OPENAI_API_KEY=vermilion-okapi-7731", NULL};

struct tried {
	struct drill r;
	int call;
	bool started;
};

static void tried_init(struct tried *w, struct attest *t)
{
	drill_init(&w->r, t);
	w->call = drill_shell(&w->r, "env");
	w->started = false;
}

/* What `env` prints in a shell of a daemon that was started with this policy. */
static struct str environment(struct tried *w, const char *policy)
{
	const struct attest_start s = {.env = env};
	const char *path = attest_path(w->r.t, "%s/.agent/config.toml", attest_home(w->r.t));

	attest_write(w->r.t, path,
		*policy ? attest_path(w->r.t, "[shell_environment_policy]\n%s\n", policy) : "");
	if (w->started) {
		attest_daemon_stop(w->r.t, w->r.d);
		drill_again(&w->r, &s);
	} else {
		drill_start(&w->r, &s);
		(void)attest_bot(w->r.t, w->r.d, "b", "");
		w->started = true;
	}
	return drill_do(&w->r, "b", w->call).out;
}

static void AG_184_usual_secrets_are_withheld_on_request_only(struct attest *t)
{
	static const struct {
		const char *policy;
		bool there;
	} rows[] = {
		{"",				true },
		{"ignore_default_excludes = true",  true },
		{"ignore_default_excludes = false", false},
	};
	struct tried w;

	tried_init(&w, t);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct str out = environment(&w, rows[i].policy);

		for (size_t k = 0; k < 3; k++) {
			if (rows[i].there)
				attest_has(t, rows[i].policy, out, env[k]);
			else
				attest_lacks(t, rows[i].policy, out, env[k]);
		}
		attest_has(t, rows[i].policy, out, "OTHER=umber-4");
	}
}

/* Of a start that must not come about: what the daemon says. */
static void check_refused(struct attest *t, struct tried *w, const char *text, const char *says)
{
	struct attest_start s = {.env = env, .expect_failure = true};

	attest_write(t, attest_path(t, "%s/.agent/config.toml", attest_home(t)), text);
	attest_daemon_stop(t, w->r.d);
	drill_again(&w->r, &s);
	attest_true(t, attest_daemon_wait(t, w->r.d) == 1, "it started with: %s", text);
	attest_has(t, text, attest_read(t, w->r.d->log), says);
}

static void AG_185_exclude_names_more_to_withhold(struct attest *t)
{
	struct tried w;
	struct str out;

	tried_init(&w, t);
	out = environment(&w, "");
	attest_has(t, "without a policy", out, "FOO1=umber-5");
	attest_has(t, "without a policy", out, "foo2=umber-6");
	out = environment(&w, "exclude = [\"FOO*\"]");
	attest_lacks(t, "with exclude", out, "FOO1=");
	attest_lacks(t, "with exclude", out, "foo2=");
	attest_has(t, "with exclude", out, "AFOO=umber-7");
	attest_has(t, "with exclude", out, "My_Key=umber-1");
	/* what the policy sets is there, but no provider's key, whatever sets it */
	out = environment(&w, "inherit = \"none\"\nset = { CI = \"1\", OPENAI_API_KEY = \"x\" }");
	attest_has(t, "with set", out, "CI=1\n");
	attest_lacks(t, "with set", out, "OPENAI_API_KEY");
	attest_lacks(t, "with set", out, "umber");
	/* a policy that is none withholds everything: no daemon */
	check_refused(t, &w, "[shell_environment_policy]\nexclude = \"FOO*\"\n",
		"line 2: shell_environment_policy.exclude");
}

const struct attest_case attest_agent_config[] = {
	{"AG-184", NEEDS_NOTHING, AG_184_usual_secrets_are_withheld_on_request_only},
	{"AG-185", NEEDS_NOTHING, AG_185_exclude_names_more_to_withhold            },
	{NULL,     0,             NULL					     },
};
