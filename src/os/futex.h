/* futex.h - sleeping until a word changes: the kernel's futex, or a condition variable elsewhere.
 *
 * The word is changed first, then takt_futex_wake is called: no wake-up can be lost.
 */
#ifndef TAKT_OS_FUTEX_H
#define TAKT_OS_FUTEX_H

#include <stdint.h>

#if defined(__linux__) && !defined(TAKT_FUTEX_PORTABLE)

typedef struct takt_futex {
    char unused_;
} takt_futex;

#else

#include <pthread.h>

typedef struct takt_futex {
    pthread_mutex_t lock;
    pthread_cond_t changed;
} takt_futex;

#endif

/* 0 or a positive errno. */
int takt_futex_init(takt_futex *futex);
void takt_futex_deinit(takt_futex *futex);
/* Returns some time after `*word` is no longer `value`; may return earlier. */
void takt_futex_wait(takt_futex *futex, _Atomic uint32_t *word, uint32_t value);
/* Wakes at least `count` of the threads that wait for `word`, or all. */
void takt_futex_wake(takt_futex *futex, _Atomic uint32_t *word, int count);

/* For spin loops: yields the core to its other hardware thread for a moment. */
static inline void takt_spin_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

#endif
