/*
 * The tools there are, in the order a model is shown them. To add one is to add a file and a line.
 */
#include "agent/tool/entries.h"

const struct tool *const tool_table[] = {
	&tool_shell,
	&tool_read,
	&tool_write,
	&tool_edit,
	&tool_apply_patch,
	&tool_view_image,
	&tool_web_fetch,
	&tool_wait,
	&tool_history,
	&tool_note,
	&tool_echo,
	NULL,
};
