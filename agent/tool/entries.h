#ifndef AGENT_TOOL_ENTRIES_H
#define AGENT_TOOL_ENTRIES_H
/*
 * The entry of each tool, for the table.
 */
#include "agent/tool/tool.h"

extern const struct tool tool_shell;
extern const struct tool tool_read;
extern const struct tool tool_write;
extern const struct tool tool_edit;
extern const struct tool tool_apply_patch;
extern const struct tool tool_view_image;
extern const struct tool tool_web_fetch;
extern const struct tool tool_wait;
extern const struct tool tool_history;
extern const struct tool tool_note;
extern const struct tool tool_echo;

#endif
