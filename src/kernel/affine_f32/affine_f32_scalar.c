/* affine_f32_scalar.c - the contract, word for word. */
#include "kernel/affine_f32/affine_f32.h"

#include "kernel/affine_f32/plain.inc"

static void run(const takt_affine_f32 *a)
{
    plain(a, 0);
}

TAKT_KERNELS(affine_f32, TAKT_KERNEL(affine_f32, "scalar", 0, run, NULL));
