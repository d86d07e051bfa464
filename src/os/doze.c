/* doze.c - futex, or mutex and condition variable. */
#define _GNU_SOURCE
#include "os/doze.h"

#if defined(__linux__) && !defined(TAKT_DOZE_PORTABLE)

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

int takt_doze_init(takt_doze *doze)
{
    (void)doze;
    return 0;
}

void takt_doze_deinit(takt_doze *doze)
{
    (void)doze;
}

void takt_doze_wait(takt_doze *doze, _Atomic uint32_t *word, uint32_t value)
{
    (void)doze;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void takt_doze_wake(takt_doze *doze, _Atomic uint32_t *word, int count)
{
    (void)doze;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

#else

#include <stdatomic.h>

int takt_doze_init(takt_doze *doze)
{
    const int error = pthread_mutex_init(&doze->lock, NULL);
    if (error != 0)
        return error;
    const int second = pthread_cond_init(&doze->changed, NULL);
    if (second != 0)
        pthread_mutex_destroy(&doze->lock);
    return second;
}

void takt_doze_deinit(takt_doze *doze)
{
    pthread_cond_destroy(&doze->changed);
    pthread_mutex_destroy(&doze->lock);
}

void takt_doze_wait(takt_doze *doze, _Atomic uint32_t *word, uint32_t value)
{
    pthread_mutex_lock(&doze->lock);
    if (atomic_load(word) == value)
        pthread_cond_wait(&doze->changed, &doze->lock);
    pthread_mutex_unlock(&doze->lock);
}

void takt_doze_wake(takt_doze *doze, _Atomic uint32_t *word, int count)
{
    (void)word;
    (void)count; /* sleepers on other words share the condition: wake all */
    pthread_mutex_lock(&doze->lock);
    pthread_cond_broadcast(&doze->changed);
    pthread_mutex_unlock(&doze->lock);
}

#endif
