/* names: words that shells read in their own way. */
#include "rule/internal.h"

bool rule_list_has(const char *list, struct str word)
{
	struct str rest = str_from(list), one;

	while (list && str_next(&rest, ' ', &one))
		if (str_eq(one, word))
			return true;
	return false;
}

bool rule_is_reserved(struct str word)
{
	return rule_list_has("! { } [[ ]] case coproc do done elif else esac fi for function if in "
			     "select then time until while",
		word);
}

/*
 * Of the builtins of dash and bash all but those that take their words as they are and change
 * nothing that a later command's words hang on: `:` cd echo exit false kill pwd test [ times true
 * type ulimit umask. Some write a variable, and so PATH (printf -v, read, getopts, wait -p), some
 * evaluate a subscript (unset 'a[$(…)]'), some run their words (jobs -x, compgen -C).
 */
bool rule_is_meddling(struct str word)
{
	return rule_list_has(". alias bg bind break builtin caller chdir command compgen complete "
			     "compopt continue "
			     "declare dirs disown enable eval exec export fc fg getopts hash help "
			     "history jobs let "
			     "local logout mapfile popd printf pushd read readarray readonly "
			     "return set shift shopt "
			     "source suspend trap typeset unalias unset wait",
		word);
}

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

bool rule_is_variable(struct str word)
{
	size_t i = 0;

	while (i < word.len && is_name_byte(word.p[i]))
		i++;
	if (i == 0 || (word.p[0] >= '0' && word.p[0] <= '9'))
		return false;
	if (i < word.len && word.p[i] == '+')
		i++;
	return i < word.len && word.p[i] == '=';
}
