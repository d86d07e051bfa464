/* signals.c - termination signals, for verbs that have something to clean up. */
#define _POSIX_C_SOURCE 200809L
#include "signals.h"

#include <stddef.h>

#include <takt/session.h>

static const int signals[TOOL_SIGNALS] = {SIGINT, SIGTERM, SIGHUP};

void tool_signals_catch(tool_signals *s, void (*handler)(int))
{
    const struct sigaction act = {.sa_handler = handler, .sa_flags = (int)SA_RESETHAND};
    for (int i = 0; i < TOOL_SIGNALS; i++) {
        sigaction(signals[i], &act, &s->before[i]);
        if (s->before[i].sa_handler == SIG_IGN)
            sigaction(signals[i], &s->before[i], NULL);
    }
}

void tool_signals_restore(const tool_signals *s)
{
    for (int i = 0; i < TOOL_SIGNALS; i++)
        sigaction(signals[i], &s->before[i], NULL);
}

/* ---- measurements ---- */

/* A handler has no argument to find these by. */
static takt_session *volatile watched[2];
static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal_number)
{
    (void)signal_number;
    is_interrupted = 1;
    for (int i = 0; i < 2; i++)
        if (watched[i] != NULL)
            takt_session_cancel(watched[i]);
}

void tool_interrupts_catch(tool_signals *s)
{
    tool_signals_catch(s, interrupt);
}

void tool_interrupts_watch(takt_session *a, takt_session *b)
{
    watched[0] = a;
    watched[1] = b;
    for (int i = 0; i < 2 && is_interrupted != 0; i++) /* it came while no session was watched */
        if (watched[i] != NULL)
            takt_session_cancel(watched[i]);
}

bool tool_is_interrupted(void)
{
    return is_interrupted != 0;
}

void tool_interrupts_again(void)
{
    tool_signals unused;
    is_interrupted = 0;
    tool_interrupts_catch(&unused);
}
