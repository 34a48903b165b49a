/* generate: scripts out of pieces, some of which break what stands around them. */
#include "test/rule/generate.h"
#include "mem/mem.h"

enum {
	ODD_PERCENT = 3, /* ours: so that most scripts of ten pieces stay plain */
	PIECES_MAX = 4,  /* of a word */
	WORDS_MAX = 5,
	COMMANDS_MAX = 5,
};

/* splitmix64 */
static uint64_t draw(struct generator *g, uint64_t below)
{
	uint64_t z = (g->state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (z ^ (z >> 31)) % below;
}

static void pick(struct generator *g, const char *const *from, size_t count, struct buf *to)
{
	(void)buf_puts(to, from[draw(g, count)]); /* a script is far shorter than its buffer */
}

static const char *const odd[] = {
	"$",
	"$x",
	"${x}",
	"$(a)",
	"`a`",
	"`",
	"\\",
	"\\\n",
	"*",
	"?",
	"[",
	"[a]",
	"{",
	"}",
	"{a,b}",
	"~",
	"(",
	")",
	"<",
	">",
	"2>&1",
	">f",
	"<f",
	"<<E",
	"<<<",
	"&",
	"&>",
	"|&",
	";;",
	";&",
	"#",
	"# a",
	"\r",
	"\v",
	"\f",
	"\b",
	"\x7f",
	"é",
	"\xc2\xa0",
	"\xe2\x80\x83",
	"\xff",
	"\xc3",
	"'",
	"\"",
	"$'a'",
	"$\"a\"",
	"!",
	"!!",
	"!a",
	"^a^b",
	"%1",
	"%",
	"A=b",
	"A+=b",
	"A[1]=b",
	"A=",
	"=",
	"1>",
	"if",
	"then",
	"fi",
	"do",
	"done",
	"in",
	"case",
	"esac",
	"time",
	"function",
	"[[",
	"-x",
	"+",
	"--",
	"]]",
	"coproc",
	"select",
	"exec",
	"eval",
	".",
	"command",
	"export",
	"alias",
	"set",
	"a()",
	"()",
	"((",
	"))",
	"test -v",
	"\n&&",
	"&&\n;",
	"'\\'",
	"\"\\\"",
};

static void put_odd(struct generator *g, struct buf *to)
{

	pick(g, odd, ARRAY_LEN(odd), to);
}

static const char *const names[] = {
	"a",
	"b",
	"tool",
	"git",
	"g++",
	"x-y_z",
	"1",
	"a.b",
	"a,b",
	"@a",
	"x-",
	"a-",
	"a:b",
	"a+",
	"...",
	"0a",
	"echo",
	"true",
	"false",
	":",
	"cd",
	"test",
	"[",
	"pwd",
	"type",
	"umask",
	"times",
	"exit",
	"ulimit",
	"'a'",
	"\"b\"",
	"a'b'",
	"''c",
	"d\"\"",
	"/no/such",
	"./a",
	"../b",
	"env",
	"sh",
	"iff",
	"doo",
	"_",
	"A",
	"rm",
	"bash",
	"sudo",
	"printf1",
	"jobsx",
	"..",
	"Done",
};

static void put_program(struct generator *g, struct buf *to)
{

	pick(g, names, ARRAY_LEN(names), to);
}

static const char *const pieces[] = {
	"a",
	"b",
	"-x",
	"--y=z",
	"-n",
	"-e",
	"-c",
	"=",
	"A=b",
	"/p/q",
	"1",
	"0",
	".",
	"..",
	",",
	":",
	"+",
	"@",
	"%",
	"%1",
	"^",
	"!",
	"]",
	"-",
	"--",
	"''",
	"\"\"",
	"'q'",
	"\"q\"",
	"'a b'",
	"\"a b\"",
	"'$x'",
	"'`a`'",
	"'\\'",
	"'\\n'",
	"\"'\"",
	"'\"'",
	"'#'",
	"'*'",
	"'~'",
	"'{a,b}'",
	"'\n'",
	"\"\n\"",
	"'\t'",
	"';'",
	"'&&'",
	"'|'",
	"'>f'",
	"'(a)'",
	"\"!\"",
	"\"!!\"",
	"'é'",
	"\"ü\"",
	"'\xc3\x81'",
	"'\xc3\x82'",
	"\"\xc3\x83\"",
	"'\xc3\x88'",
	"\"\xc3\x81\"",
	"'\xc2\x81'",
	"'\xe2\x80\x83'",
	"'\xf0\x9f\x90\x9a'",
	"\"[a]\"",
	"\"~\"",
	"if",
	"done",
	"!=",
	"a]",
	"HEAD^",
	"x=y",
	"eval",
	"\"{a,b}\"",
	"a..b",
	"#",
};

static void put_piece(struct generator *g, struct buf *to)
{

	pick(g, pieces, ARRAY_LEN(pieces), to);
}

static void put_blank(struct generator *g, struct buf *to)
{
	static const char *const blanks[] = {" ", " ", " ", "\t", "  ", " \t "};

	pick(g, blanks, ARRAY_LEN(blanks), to);
}

static void put_perhaps_odd(struct generator *g, struct buf *to)
{
	if (draw(g, 100) < ODD_PERCENT)
		put_odd(g, to);
}

static void put_command(struct generator *g, struct buf *to)
{
	const uint64_t words = draw(g, WORDS_MAX);

	put_perhaps_odd(g, to);
	put_program(g, to);
	for (uint64_t i = 0; i < words; i++) {
		const uint64_t count = 1 + draw(g, PIECES_MAX);

		put_blank(g, to);
		for (uint64_t k = 0; k < count; k++)
			put_piece(g, to);
		put_perhaps_odd(g, to);
	}
	if (draw(g, 4) == 0)
		put_blank(g, to);
}

static void put_join(struct generator *g, struct buf *to)
{
	static const char *const joins[] = {
		"&&",
		" && ",
		"||",
		" || ",
		"|",
		" | ",
		";",
		" ; ",
		"\n",
		"\n\n",
		";\n",
		" &&\n ",
		"||\n",
		"|\n\t",
		"\n \n",
		"; \n\n",
	};

	pick(g, joins, ARRAY_LEN(joins), to);
}

void generate_script(struct generator *g, struct buf *to)
{
	const uint64_t commands = 1 + draw(g, COMMANDS_MAX);

	if (draw(g, 16) == 0)
		(void)buf_puts(to, "\n \t");
	for (uint64_t i = 0; i < commands; i++) {
		if (i > 0)
			put_join(g, to);
		put_perhaps_odd(g, to);
		put_command(g, to);
	}
	if (draw(g, 8) == 0)
		(void)buf_puts(to, draw(g, 2) ? ";" : "\n\n");
}
