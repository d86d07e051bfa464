/* futex.c - futex, or mutex and condition variable. */
#define _GNU_SOURCE
#include "os/futex.h"

#if defined(__linux__) && !defined(TAKT_FUTEX_PORTABLE)

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

int takt_futex_init(takt_futex *futex)
{
    (void)futex;
    return 0;
}

void takt_futex_deinit(takt_futex *futex)
{
    (void)futex;
}

void takt_futex_wait(takt_futex *futex, _Atomic uint32_t *word, uint32_t value)
{
    (void)futex;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void takt_futex_wake(takt_futex *futex, _Atomic uint32_t *word, int count)
{
    (void)futex;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

#else

#include <stdatomic.h>

int takt_futex_init(takt_futex *futex)
{
    const int error = pthread_mutex_init(&futex->lock, NULL);
    if (error != 0)
        return error;
    const int second = pthread_cond_init(&futex->changed, NULL);
    if (second != 0)
        pthread_mutex_destroy(&futex->lock);
    return second;
}

void takt_futex_deinit(takt_futex *futex)
{
    pthread_cond_destroy(&futex->changed);
    pthread_mutex_destroy(&futex->lock);
}

void takt_futex_wait(takt_futex *futex, _Atomic uint32_t *word, uint32_t value)
{
    pthread_mutex_lock(&futex->lock);
    if (atomic_load(word) == value)
        pthread_cond_wait(&futex->changed, &futex->lock);
    pthread_mutex_unlock(&futex->lock);
}

void takt_futex_wake(takt_futex *futex, _Atomic uint32_t *word, int count)
{
    (void)word;
    (void)count; /* sleepers on other words share the condition: wake all */
    pthread_mutex_lock(&futex->lock);
    pthread_cond_broadcast(&futex->changed);
    pthread_mutex_unlock(&futex->lock);
}

#endif
