/* progress.h - how far a command is that takes longer than a second: on terminals only. */
#ifndef TAKT_TOOL_PROGRESS_H
#define TAKT_TOOL_PROGRESS_H

#include "tool.h"

typedef struct tool_progress {
    const takt_tool *t;
    const char *what, *unit; /* static text; unit "": no rate is shown */
    uint64_t total;
    uint64_t begun_ns, drawn_ns; /* drawn 0: nothing is on the screen */
} tool_progress;

tool_progress tool_progress_begin(const takt_tool *t, const char *what, const char *unit,
                                  uint64_t total);
void tool_progress_at(tool_progress *p, uint64_t done);
/* The same for a job of several phases, as a takt_progress_fn; `user` is a tool_progress with `t`
 * set. */
void tool_progress_part(void *user, const char *what, uint64_t done, uint64_t total);
/* Wipes it away; other output may follow. */
void tool_progress_end(tool_progress *p);
/* A report in place of the bar, as a takt_sink_fn; `user` is the tool_progress. */
int tool_progress_report(void *user, const char *text, size_t length);

/* "===== " in `cells`, and whether standard error is a terminal that shows it. */
enum { TOOL_BAR = 24 };
void tool_progress_bar(uint64_t done, uint64_t total, char cells[static TOOL_BAR + 1]);
bool tool_progress_wanted(const takt_tool *t);
void tool_progress_wipe(const takt_tool *t);

/* One line on standard error, in place of the last one. On a narrow screen pieces are left out,
 * those with the highest `spare` first; 0: never. A line that wraps could not be erased. */
typedef struct tool_progress_piece {
    const char *text;
    int spare;
} tool_progress_piece;

void tool_progress_show(const tool_progress_piece *pieces, size_t count);

#endif
