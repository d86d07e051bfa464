/* sum_i8_avx2.c - the scalar code, whose loop the compiler turns into vectors. */
#include "kernel/sum_i8/sum_i8.h"

#include "kernel/sum_i8/plain.h"

static void run(const takt_sum_i8 *s)
{
    const takt_sum_i8 here = *s;
    plain(&here, 0);
}

TAKT_KERNELS(sum_i8, TAKT_KERNEL(sum_i8, "avx2", 10, run, NULL));
