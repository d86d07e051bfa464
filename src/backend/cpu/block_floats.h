/* block_floats.h - products of many rows of floats with block-quantised weights. */
#ifndef TAKT_BACKEND_CPU_BLOCK_FLOATS_H
#define TAKT_BACKEND_CPU_BLOCK_FLOATS_H

#include "kernel/block_panels/block_panels.h"
#include "kernel/gemm_f32/gemm_f32.h"

typedef struct takt_block_floats {
    takt_block_panels_fn *panels;
    takt_gemm_f32_fn *gemm;
    const takt_gemm_f32_info *info;
    size_t sums_at, gemm_at; /* in scratch, behind packed floats */
} takt_block_floats;

/* The part of a product that one task computes: rows of A by a range of columns. */
typedef struct takt_block_part {
    const float *a, *bias; /* bias may be NULL */
    takt_blocks b;
    size_t m, ldc;
    float *c;
    void *scratch;
    const takt_poll *poll; /* or NULL */
} takt_block_part;

/* For up to m rows by these weights, whose pointers are not read. */
size_t takt_block_floats_scratch(takt_block_floats *f, size_t m, const takt_blocks *b);
void takt_block_floats_run(const takt_block_floats *f, const takt_block_part *o);

#endif
