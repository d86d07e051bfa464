/* args_semiring.h - arguments of the device kernel of products over semirings. */
#ifndef TAKT_KERNEL_CUDA_ARGS_SEMIRING_H
#define TAKT_KERNEL_CUDA_ARGS_SEMIRING_H

#include <stdint.h>

enum { TAKT_CUDA_SEMIRING_THREADS = 128 };

/* c[batch, m, n] of a[batch, m, k] and b[batch, k, n]; or of words of bits, with a[batch, m, words]
 * and n words in a row of b and c. */
typedef struct takt_cuda_semiring_args {
    void *c;
    const void *a, *b;
    uint64_t count; /* elements of c */
    uint32_t m, n, k;
    uint32_t semiring, dtype; /* of takt_semiring; F32, F64, or U64 for bits */
} takt_cuda_semiring_args;

#endif
