/* interrupt.c - Ctrl-C while the library works: whatever runs is cancelled, and Python raises. */
#define _GNU_SOURCE
#include "module.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Only the main thread is told of signals, so one of each is enough. */
static interruptible *volatile current;
static struct sigaction before;

static void interrupt(int number, siginfo_t *info, void *place)
{
    interruptible *i = current;
    if (i != NULL)
        i->cancel(i->what);
    if ((before.sa_flags & SA_SIGINFO) != 0)
        before.sa_sigaction(number, info, place);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(number); /* Python's: it remembers the signal for later */
}

static bool is_main_thread(void)
{
    return syscall(SYS_gettid) == getpid();
}

bool interrupts_begin(interruptible *i)
{
    const struct sigaction act = {.sa_sigaction = interrupt, .sa_flags = SA_SIGINFO};
    i->listens = false;
    if (!is_main_thread() || sigaction(SIGINT, NULL, &before) != 0)
        return false;
    if ((before.sa_flags & SA_SIGINFO) == 0 &&
        (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN))
        return false; /* nobody would raise KeyboardInterrupt */
    current = i;
    i->listens = sigaction(SIGINT, &act, NULL) == 0;
    return i->listens;
}

void interrupts_end(interruptible *i)
{
    if (!i->listens)
        return;
    sigaction(SIGINT, &before, NULL);
    current = NULL;
}

bool interrupts_raise(const interruptible *i)
{
    return i->listens && PyErr_CheckSignals() < 0;
}

void cancel_session(void *session)
{
    takt_session_cancel(session);
}

void cancel_trainer(void *trainer)
{
    takt_trainer_cancel(trainer);
}
