/* signals.h - the signals that ask a program to end, for verbs that have something to put away. */
#ifndef TAKT_TOOL_SIGNALS_H
#define TAKT_TOOL_SIGNALS_H

#include <signal.h>

enum { TOOL_SIGNALS = 3 };

/* What each signal did before. */
typedef struct tool_signals {
    struct sigaction before[TOOL_SIGNALS];
} tool_signals;

/* SIGINT, SIGTERM and SIGHUP call `handler`, the first of them; the second ends the program. Those
 * that are ignored (nohup) stay so. */
void tool_signals_catch(tool_signals *s, void (*handler)(int));
void tool_signals_restore(const tool_signals *s);

#endif
