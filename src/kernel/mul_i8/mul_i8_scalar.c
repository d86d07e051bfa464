/* mul_i8_scalar.c - the contract, word for word. */
#include "kernel/mul_i8/mul_i8.h"

#include "kernel/mul_i8/plain.inc"

static void run(const takt_mul_i8 *s)
{
    plain(s, 0);
}

TAKT_KERNELS(mul_i8, TAKT_KERNEL(mul_i8, "scalar", 0, run, NULL));
