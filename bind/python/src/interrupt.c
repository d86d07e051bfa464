/* interrupt.c - Ctrl-C while the library works: whatever runs is cancelled, and Python raises. */
#define _GNU_SOURCE
#include "module.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Only the main thread receives signals, so one of each is enough. */
static interruptible *volatile current;
/* The handler that ours replaced, and the previous one: a library that installed its own in between
 * may pass the signal on to ours again, which then calls the second. */
enum { HANDLERS = 2 };
static struct sigaction before[HANDLERS];

static void interrupt(int number, siginfo_t *info, void *place)
{
    static volatile sig_atomic_t depth;
    const sig_atomic_t at = depth;
    interruptible *i = current;
    if (i != NULL) {
        i->came = true;
        i->cancel(i->what);
    }
    if (at >= HANDLERS)
        return;
    depth = at + 1;
    if ((before[at].sa_flags & SA_SIGINFO) != 0)
        before[at].sa_sigaction(number, info, place);
    else if (before[at].sa_handler != SIG_DFL && before[at].sa_handler != SIG_IGN)
        before[at].sa_handler(number); /* Python's: it remembers the signal for later */
    depth = at;
}

/* Asked of the kernel once per thread and process: after a large model the caches hold nothing of
 * a system call, and each takes microseconds. */
static bool is_main_thread(void)
{
    static _Thread_local struct {
        unsigned asked; /* the generation of forks, and 1 more */
        bool is_main;
    } known;
    if (known.asked != fork_generation() + 1) {
        known.is_main = syscall(SYS_gettid) == getpid();
        known.asked = fork_generation() + 1;
    }
    return known.is_main;
}

static bool raises(const struct sigaction *act)
{
    return (act->sa_flags & SA_SIGINFO) != 0 ||
           (act->sa_handler != SIG_DFL && act->sa_handler != SIG_IGN);
}

/* The handler stays: setting and restoring it would be two more system calls in every run, and
 * outside of runs it does what the previous one did. signal.signal() removes it. */
bool interrupts_begin(interruptible *i)
{
    struct sigaction now;
    i->listens = false;
    if (!is_main_thread() || sigaction(SIGINT, NULL, &now) != 0 || !raises(&now))
        return false; /* KeyboardInterrupt would not be raised */
    const bool is_ours = (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == interrupt;
    if (!is_ours && now.sa_sigaction != before[0].sa_sigaction)
        before[1] = before[0];
    if (!is_ours)
        before[0] = now;
    struct sigaction ours = now; /* with its mask, SA_RESTART and SA_ONSTACK */
    ours.sa_sigaction = interrupt;
    ours.sa_flags |= SA_SIGINFO;
    i->outer = current;
    current = i;
    i->listens = is_ours || sigaction(SIGINT, &ours, NULL) == 0;
    if (!i->listens)
        current = i->outer;
    return i->listens;
}

void interrupts_end(interruptible *i)
{
    if (i->listens)
        current = i->outer;
}

bool interrupts_raise(const interruptible *i)
{
    return i->listens && PyErr_CheckSignals() < 0;
}

/* Other threads receive no signals, and need not wait for the GIL. */
bool interrupts_poll(void)
{
    if (!is_main_thread())
        return false;
    const PyGILState_STATE gil = PyGILState_Ensure();
    const bool has_raised = PyErr_CheckSignals() < 0;
    PyGILState_Release(gil);
    return has_raised;
}

void cancel_session(void *session)
{
    takt_session_cancel(session);
}

void cancel_trainer(void *trainer)
{
    takt_trainer_cancel(trainer);
}

void cancel_generator(void *generator)
{
    takt_generator_cancel(generator);
}
