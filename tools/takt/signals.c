/* signals.c - termination signals, for verbs that have something to clean up. */
#define _POSIX_C_SOURCE 200809L
#include "signals.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

#include <takt/session.h>

static const int signals[TOOL_SIGNALS] = {SIGINT, SIGTERM, SIGHUP};

/* One request to stop may arrive several times: Ctrl-C reaches the whole process group, and a
 * program that runs this one, such as timeout, passes it on. Nobody presses a key again so soon. */
static const int64_t one_request_ns = 250 * INT64_C(1000000);

/* A handler has no argument to find these by. */
static void (*volatile on_first)(int);
static volatile sig_atomic_t has_come;
static struct timespec came;

static int64_t since(const struct timespec *then)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - then->tv_sec) * INT64_C(1000000000) + (now.tv_nsec - then->tv_nsec);
}

/* The other signals are blocked meanwhile. */
static void arrive(int signal_number)
{
    const int before = errno;
    if (!has_come) {
        has_come = 1;
        clock_gettime(CLOCK_MONOTONIC, &came);
        on_first(signal_number);
    } else if (since(&came) > one_request_ns) {
        const struct sigaction none = {.sa_handler = SIG_DFL};
        sigaction(signal_number, &none, NULL);
        raise(signal_number); /* ends the program as soon as this handler returns */
    }
    errno = before;
}

void tool_signals_catch(tool_signals *s, void (*handler)(int))
{
    struct sigaction act = {.sa_handler = arrive};
    sigemptyset(&act.sa_mask);
    for (int i = 0; i < TOOL_SIGNALS; i++)
        sigaddset(&act.sa_mask, signals[i]);
    on_first = handler;
    has_come = 0;
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
