/* fp.c - the control register of floating-point arithmetic. */
#include "os/fp.h"

#if defined(__x86_64__)

#include <stdbool.h>
#include <xmmintrin.h>

enum { STANDARD = 0x1F80, FLAGS = 0x3F }; /* all masked, nearest, neither FTZ nor DAZ */

/* Writing waits for all arithmetic before it and delays all after it: 12 ns of a short run. Flags
 * only record past events. */
static bool differs(unsigned state)
{
    return (state & ~(unsigned)FLAGS) != STANDARD;
}

uint64_t takt_fp_enter(void)
{
    const unsigned before = _mm_getcsr();
    if (!differs(before))
        return STANDARD;
    _mm_setcsr(STANDARD);
    return before;
}

void takt_fp_leave(uint64_t before)
{
    if (differs((unsigned)before))
        _mm_setcsr((unsigned)before);
}

#elif defined(__aarch64__)

static void set(uint64_t state)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(state) : "memory");
}

uint64_t takt_fp_enter(void)
{
    uint64_t before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    if (before != 0) /* writing is slow, and it is nearly always zero already */
        set(0);
    return before;
}

void takt_fp_leave(uint64_t before)
{
    if (before != 0)
        set(before);
}

#else

#include <fenv.h>

uint64_t takt_fp_enter(void)
{
    const int before = fegetround();
    fesetround(FE_TONEAREST);
    return (uint64_t)(unsigned)before;
}

void takt_fp_leave(uint64_t before)
{
    fesetround((int)before);
}

#endif
