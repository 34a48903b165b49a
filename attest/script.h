#ifndef ATTEST_SCRIPT_H
#define ATTEST_SCRIPT_H
/* Lines of a rehearsal, for cases that write them out. All arguments are JSON or JSON text already.
 */

#define REPEAT               "{\"rehearsal\":1,\"repeat\":true}\n"
#define SAY(text)            "{\"say\":\"" text "\"}\n"
#define CALL(tool, args)     "{\"calls\":[{\"tool\":\"" tool "\",\"arguments\":" args "}]}\n"
#define SHELL(command)       CALL("shell", "{\"command\":\"" command "\"}")
/* Said only when the last tool result, or the last message, holds the text: what the model's next
 * request had in it. */
#define IF_RESULT(has, text) "{\"when\":{\"result_has\":\"" has "\"},\"say\":\"" text "\"}\n"
#define IF_PROMPT(has, text) "{\"when\":{\"prompt_has\":\"" has "\"},\"say\":\"" text "\"}\n"

#endif
