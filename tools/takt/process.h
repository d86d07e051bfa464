/* process.h - other programs, and Takt itself in a fresh process. */
#ifndef TAKT_TOOL_PROCESS_H
#define TAKT_TOOL_PROCESS_H

#include <signal.h>

#include "measure.h"

enum { TOOL_WORDS = 256 };

/* A command line that grows; excess words are dropped and make tool_spawn fail. */
typedef struct tool_command {
    char *words[TOOL_WORDS + 1]; /* owned; ends with NULL */
    size_t count;
    bool is_broken;
    /* Once this is set, the program is terminated (SIGTERM) and waited for. It then has its own
     * process group, so that ctrl-C does not reach it directly, and dies if this process does.
     * NULL: an ordinary process. */
    const volatile sig_atomic_t *stop;
} tool_command;

void tool_command_add(tool_command *c, const char *format, ...) TAKT_PRINTF(2, 3);
void tool_command_free(tool_command *c);
/* The path of this program. */
const char *tool_self(char *to, size_t size);
/* The whole command line of this verb except the flags in `except`, which ends with TAKT_FLAG_IDS;
 * arguments come last, if the tool still has them. */
void tool_command_again(tool_command *c, const takt_tool *t, const tool_flag_id *except);

/* Runs it and waits. Standard output and error go to the buffers, or nowhere if NULL. Returns the
 * exit status, 128 + signal, 127 if there is no such program, or -1. */
int tool_spawn(const tool_command *c, tool_buffer *out, tool_buffer *err);

/* Creates an empty file in the folder for temporary files, $TMPDIR or /tmp. If false, an error was
 * printed. */
bool tool_temporary(const takt_tool *t, char *to, size_t size);

#endif
