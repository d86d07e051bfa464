/* thread.c - POSIX threads, as a context uses them. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "os/os.h"

/* Enough for the deepest kernel, even under a sanitizer; less than the usual 8 MiB each. */
enum { STACK_BYTES = 2 << 20 };

typedef struct thread {
    pthread_t id;
    void (*body)(void *);
    void *arg;
    pid_t process; /* the process that owns it: a forked child does not */
} thread;

static void *begin(void *arg)
{
    thread *t = arg;
    t->body(t->arg);
    return NULL;
}

static int start_posix(thread *t)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int error = pthread_attr_init(&attributes);
    if (error != 0)
        return error;
    pthread_attr_setstacksize(&attributes, STACK_BYTES); /* refused: the default is fine as well */
    /* Signals belong to the program's own threads. */
    sigfillset(&all);
    error = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (error == 0) {
        error = pthread_create(&t->id, &attributes, begin, t);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
    return error;
}

static int start(void *user, void (*body)(void *), void *arg, void **handle)
{
    const takt_allocator *memory = user;
    *handle = NULL;
    thread *t = memory->get(memory->user, sizeof *t, _Alignof(max_align_t));
    if (t == NULL)
        return ENOMEM;
    t->body = body;
    t->arg = arg;
    t->process = getpid();
    const int error = start_posix(t);
    if (error != 0) {
        memory->put(memory->user, t, sizeof *t);
        return error;
    }
    *handle = t;
    return 0;
}

static void join(void *user, void *handle)
{
    const takt_allocator *memory = user;
    thread *t = handle;
    if (t == NULL)
        return;
    if (t->process == getpid())
        pthread_join(t->id, NULL);
    memory->put(memory->user, t, sizeof *t);
}

takt_threads takt_os_threads(const takt_allocator *memory)
{
    return (takt_threads){.start = start, .join = join, .user = (void *)(uintptr_t)memory};
}

size_t takt_os_thread_bytes(const takt_threads *threads)
{
    return threads->start == start ? sizeof(thread) : 0;
}

uint64_t takt_os_process(void)
{
    return (uint64_t)getpid();
}
