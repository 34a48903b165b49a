# strip.awk: C without its comments and with empty strings, each line as "FILE:LINE:CODE".
# What is left is what a compiler would act on, so that a word in a comment is no finding.

FNR == 1 { inside = 0 }

{
	rest = $0
	code = ""
	while (rest != "") {
		if (inside) {
			at = index(rest, "*/")
			if (!at)
				break
			rest = substr(rest, at + 2)
			inside = 0
			code = code " "
			continue
		}
		if (!match(rest, /\/\*|\/\/|["']/)) {
			code = code rest
			break
		}
		mark = substr(rest, RSTART, RLENGTH)
		code = code substr(rest, 1, RSTART - 1)
		rest = substr(rest, RSTART + RLENGTH)
		if (mark == "//")
			break
		if (mark == "/*") {
			inside = 1
			continue
		}
		if (mark == "\"")
			match(rest, /^([^"\\]|\\.)*"/)
		else
			match(rest, /^([^'\\]|\\.)*'/)
		code = code mark mark
		# A quote that does not end here: a lone apostrophe in assembly or an #error line.
		rest = RLENGTH > 0 ? substr(rest, RLENGTH + 1) : ""
	}
	if (code ~ /[^ \t]/)
		print FILENAME ":" FNR ":" code
}
