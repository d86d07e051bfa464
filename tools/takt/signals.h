/* signals.h - termination signals, for verbs that have something to clean up. */
#ifndef TAKT_TOOL_SIGNALS_H
#define TAKT_TOOL_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

struct takt_session;

enum { TOOL_SIGNALS = 3 };

/* The previous action of each signal. */
typedef struct tool_signals {
    struct sigaction before[TOOL_SIGNALS];
} tool_signals;

/* The first SIGINT, SIGTERM or SIGHUP calls `handler`; one that comes more than 250 ms later ends
 * the program, those before that are the same request. Ignored signals (nohup) stay ignored. */
void tool_signals_catch(tool_signals *s, void (*handler)(int));
void tool_signals_restore(const tool_signals *s);

/* The same for verbs that keep their measurements: a signal cancels the watched sessions and is
 * recorded. */
void tool_interrupts_catch(tool_signals *s);
/* The sessions that run from now on; NULL: none. Call it with NULLs before they are destroyed. */
void tool_interrupts_watch(struct takt_session *a, struct takt_session *b);
bool tool_is_interrupted(void);
/* Forgets the recorded signals; the next signal is the first again. */
void tool_interrupts_again(void);

#endif
