/* sum_i8_scalar.c - the contract, word for word. */
#include "kernel/sum_i8/sum_i8.h"

#include "kernel/sum_i8/plain.inc"

static void run(const takt_sum_i8 *s)
{
    plain(s, 0);
}

TAKT_KERNELS(sum_i8, TAKT_KERNEL(sum_i8, "scalar", 0, run, NULL));
