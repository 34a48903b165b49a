# compile-db.awk: CMake's compile_commands.json with each file of the tree once, for tools that would
# otherwise look at a file as often as it is compiled. Headers that CMake verifies are left out.
# -v build=FOLDER is the build folder.

/"directory":/ { directory = $0 }
/"command":/ { command = $0 }
/"file":/ {
	file = $0
	sub(/^[ \t]*"file": "/, "", file)
	sub(/",?[ \t]*$/, "", file)
	if (index(file, build "/") == 1 || file in seen)
		next
	seen[file] = 1
	# Flags of gcc 12 that clang 14 has never heard of.
	gsub(/ -ftrivial-auto-var-init=zero/, "", command)
	rows = rows (rows == "" ? "" : ",\n") "{\n" directory "\n" command "\n  \"file\": \"" file "\"\n}"
}

END { print "[\n" rows "\n]" }
