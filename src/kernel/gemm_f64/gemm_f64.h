/* gemm_f64.h - contract of the f64 matrix product with packed weights.
 *
 *     C[m,n] = epilogue(A[m,k] * B[k,n])
 *
 *   B          packed in the panels of the kernel's info (kernel/pack/pack.h)
 *   order      k in chunks of TAKT_GEMM_CHUNK; in a chunk acc = +0, then acc = fma(a, b, acc) with
 *              k ascending; the first chunk is stored, later ones are added in order. Bits depend
 *              on nothing else: a caller may cut m, and n where panels begin, anywhere
 *   alignment  none beyond that of double
 *   reads      exactly A, the panels of B, bias[n], residual[m,n]
 *   writes     exactly C[m,n] and the scratch
 *   aliasing   C overlaps no other operand: it holds partial sums until k is done
 *   k = 0      C = epilogue(+0)
 */
#ifndef TAKT_KERNEL_GEMM_F64_H
#define TAKT_KERNEL_GEMM_F64_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/gemm_f32/gemm_f32.h" /* takt_gemm_act, TAKT_GEMM_CHUNK */
#include "kernel/kernel.h"

/* Finishes a block of C that is still in a near cache: rows x cols elements at `tile`, whose first
 * one is C[row, col]. Called once for every element of C, after everything else. */
typedef void takt_gemm_f64_tail_fn(void *user, double *tile, size_t ld, size_t row, size_t col,
                                   size_t rows, size_t cols);

/* In this order, each operation rounded by itself:
 *   x = x + bias[col]; x = x + residual[row, col]; x = act(x)      residual_last = false
 *   x = x + bias[col]; x = act(x); x = x + residual[row, col]      residual_last = true
 *   tail(...)
 * A NULL pointer leaves its operation out. */
typedef struct takt_epilogue_f64 {
    const double *bias;
    const double *residual;
    size_t residual_stride; /* doubles from one row of the residual to the next */
    bool residual_last;
    takt_gemm_act act;
    double lo, hi, slope;
    takt_gemm_f64_tail_fn *tail;
    void *user;
} takt_epilogue_f64;

typedef struct takt_gemm_f64 {
    size_t m, n, k;
    const double *a;
    size_t a_row,
        a_col;    /* doubles between rows and between columns of A; (1, ld) is A transposed */
    bool reads_a; /* as in gemm_f32.h */
    const double *b;
    size_t b_n;     /* columns of the packed matrix */
    size_t b_first; /* the first column of C; a panel begins there */
    double *c;
    size_t ldc;
    const takt_epilogue_f64 *epilogue;  /* or NULL */
    double *scratch;                    /* 64-byte aligned, of the size in the kernel's info */
    const takt_gemm_blocking *blocking; /* or NULL */
    size_t ways;                        /* known associativity of L1; 0: low */
    const takt_poll *poll;              /* polled once a block of rows and chunk of k; or NULL */
} takt_gemm_f64;

typedef void takt_gemm_f64_fn(const takt_gemm_f64 *g);

/* takt_kernel.info of this family. */
typedef struct takt_gemm_f64_info {
    size_t rows;        /* of a full tile: cut m into multiples of this for speed */
    takt_panels panels; /* of packed B; a product may be cut wherever one begins */
    /* For these m, n, k, a_row, a_col and reads_a; reads no pointer; bounded by about 1 MiB + 8 *
     * k. */
    size_t (*scratch_bytes)(const takt_gemm_f64 *g);
    size_t broad, block_bytes; /* as in gemm_f32.h */
} takt_gemm_f64_info;

TAKT_KERNEL_FAMILY(gemm_f64, takt_gemm_f64_fn)

/* For k split over threads: chunks [first, last) of the product, each separately, to
 * partial[chunk - first][m][n]. Without the epilogue. */
void takt_gemm_f64_chunks(const takt_kernel *kernel, const takt_gemm_f64 *g, size_t first,
                          size_t last, double *partial);
/* C = epilogue(partial[0] + partial[1] + ...), `count` chunks of [m][n]: the same bits as the
 * kernel's own. Uses m, n, c, ldc and epilogue of `g`. */
void takt_gemm_f64_sum(const takt_gemm_f64 *g, const double *partial, size_t count);

#endif
