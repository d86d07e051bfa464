/* shorter.h - a row times the first rows of a packed matrix, with the bits of a shorter product. */
#ifndef TAKT_BACKEND_CPU_SHORTER_H
#define TAKT_BACKEND_CPU_SHORTER_H

#include "kernel/gemm_f32/gemm_f32.h"

typedef struct takt_shorter {
    takt_gemm_f32_fn *gemm;
    takt_panels panels;
    size_t k, n;                        /* of the packed matrix */
    const float *b;                     /* packed */
    float *scratch;                     /* for the kernel: of one row, and any k up to this */
    float *part;                        /* a panel of floats */
    const takt_gemm_blocking *blocking; /* or NULL */
} takt_shorter;

/* out[n] = row[limit] * the first `limit` rows of b; the others are not read. */
void takt_cpu_shorter(const takt_shorter *s, const float *row, size_t limit, float *out);

#endif
