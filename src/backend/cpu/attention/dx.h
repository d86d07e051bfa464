/* dx.h - gradients of one head of attention, by blocks and strips. */
#ifndef TAKT_BACKEND_CPU_ATTENTION_DX_H
#define TAKT_BACKEND_CPU_ATTENTION_DX_H

#include "backend/cpu/attention/attention.h"
#include "kernel/reduce/reduce.h"
#include "kernel/rows_dx_f32/rows_dx_f32.h"

/* Queries of a block; and queries or keys of a part, where a causal limit cuts a block. */
enum { TAKT_ATTENTION_DX_BLOCK = TAKT_GEMM_CHUNK, TAKT_ATTENTION_DX_STRIP = 32 };

typedef struct takt_attention_dx {
    takt_attention a; /* sizes and kernels; `block`: queries at a time */
    takt_rows_dx_f32_fn *softmax_dx;
    takt_reduce_fn *reduce;
    /* Floats from the start of a worker's scratch. */
    size_t k_transposed, v_transposed, k_packed; /* k', v' and k as right factors */
    size_t block_packed;                         /* a block of q or dy as one */
    size_t weights, slopes;                      /* P and D of a block */
    size_t part;                                 /* of dk or dv, of one block */
    size_t heads;                                /* dk and dv of every head that shares them */
    size_t scratch, end;
} takt_attention_dx;

/* A head of k and v, and the contribution of one head of q. */
typedef struct takt_attention_dx_job {
    const takt_attention_dx *f;
    float *own; /* the worker's scratch; k', v' and k are packed there */
    const float *q, *dy, *k;
    float *dq;
    size_t q_row, dy_row; /* floats from one query to the next */
    size_t k_row;         /* and from one key to the next */
    size_t k_rows;        /* number of rows that k was packed with */
    bool is_cut;
    float *dk, *dv;
    size_t dk_row, dv_row; /* floats from one key to the next */
    const takt_poll *poll;
} takt_attention_dx_job;

/* All queries of a head. */
void takt_attention_dx_run(takt_attention_dx_job *j);
/* Floats of scratch that the products need at most. */
size_t takt_attention_dx_scratch(const takt_attention_dx *f, const takt_gemm_f32_info *info);

#endif
