# Writes the promise tables as C: every id with its text, and whether it is pending (docs/promises/pending.tsv,
# the last file: id TAB why).
BEGIN {
	FS = "\t"
	print "/* Made from docs/promises. */"
	print "#include \"attest/promise.h\"\n"
	print "const struct promise agent_promises[] = {"
}
function quoted(s) {
	gsub(/\\/, "\\\\", s)
	gsub(/"/, "\\\"", s)
	return "\"" s "\""
}
FILENAME ~ /pending\.tsv$/ { why[$1] = $2; next }
$1 != "" && !($1 in text) { order[++count] = $1; text[$1] = $2 }
END {
	for (i = 1; i <= count; i++) {
		id = order[i]
		print "\t{" quoted(id) ", " quoted(text[id]) ", " ((id in why) ? quoted(why[id]) : "NULL") "},"
	}
	print "\t{NULL, NULL, NULL},\n};"
}
