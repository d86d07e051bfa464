/* doze.h - sleeping until a word changes: the kernel's futex, or a condition variable elsewhere.
 *
 * The word is changed first, then takt_doze_wake is called: no wake-up can be lost.
 */
#ifndef TAKT_OS_DOZE_H
#define TAKT_OS_DOZE_H

#include <stdint.h>

#if defined(__linux__) && !defined(TAKT_DOZE_PORTABLE)

typedef struct takt_doze {
    char unused_;
} takt_doze;

#else

#include <pthread.h>

typedef struct takt_doze {
    pthread_mutex_t lock;
    pthread_cond_t changed;
} takt_doze;

#endif

/* 0 or a positive errno. */
int takt_doze_init(takt_doze *doze);
void takt_doze_deinit(takt_doze *doze);
/* Returns some time after `*word` is no longer `value`; may return earlier. */
void takt_doze_wait(takt_doze *doze, _Atomic uint32_t *word, uint32_t value);
/* Wakes at least `count` of the threads that wait for `word`, or all. */
void takt_doze_wake(takt_doze *doze, _Atomic uint32_t *word, int count);

/* For spin loops: yields the core to its other hardware thread for a moment. */
static inline void takt_doze_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

#endif
