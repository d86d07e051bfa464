/* signals.h - the signals that ask a program to end, for verbs that have something to put away. */
#ifndef TAKT_TOOL_SIGNALS_H
#define TAKT_TOOL_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

struct takt_session;

enum { TOOL_SIGNALS = 3 };

/* What each signal did before. */
typedef struct tool_signals {
    struct sigaction before[TOOL_SIGNALS];
} tool_signals;

/* SIGINT, SIGTERM and SIGHUP call `handler`, the first of them; the second ends the program. Those
 * that are ignored (nohup) stay so. */
void tool_signals_catch(tool_signals *s, void (*handler)(int));
void tool_signals_restore(const tool_signals *s);

/* The same for verbs that keep their measurements: a signal cancels the watched sessions and is
 * recorded. */
void tool_interrupts_catch(tool_signals *s);
/* The sessions that run from now on; NULL: none. To be called with NULLs before they die. */
void tool_interrupts_watch(struct takt_session *a, struct takt_session *b);
bool tool_is_interrupted(void);
/* Forgets the recorded signals; the next signal is the first again. */
void tool_interrupts_again(void);

#endif
