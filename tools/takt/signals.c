/* signals.c - the signals that ask a program to end, for verbs that have something to put away. */
#define _POSIX_C_SOURCE 200809L
#include "signals.h"

#include <stddef.h>

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
