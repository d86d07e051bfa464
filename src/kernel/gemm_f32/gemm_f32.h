/* gemm_f32.h - contract of the f32 matrix product with packed weights.
 *
 *     C[m,n] = epilogue(A[m,k] * B[k,n])
 *
 *   B          packed in the panels of the kernel's info (kernel/pack/pack.h), in f32 or in another
 *              form that the kernel converts to f32 a piece at a time
 *   order      k in chunks of TAKT_GEMM_CHUNK; in a chunk acc = +0, then acc = fma(a, b, acc) with
 *              k ascending; the first chunk is stored, later ones are added in order. Bits depend
 *              on nothing else: a caller may cut m, and n where panels begin, anywhere
 *   alignment  none beyond that of float
 *   reads      exactly A, the panels of B, bias[n], residual[m,n]
 *   writes     exactly C[m,n] and the scratch
 *   aliasing   C overlaps no other operand: it holds partial sums until k is done
 *   k = 0      C = epilogue(+0)
 */
#ifndef TAKT_KERNEL_GEMM_F32_H
#define TAKT_KERNEL_GEMM_F32_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/convert/convert.h"
#include "kernel/kernel.h"
#include "kernel/pack/panels.h"
#include "kernel/poll.h"

typedef enum takt_gemm_act {
    TAKT_GEMM_ACT_NONE,
    TAKT_GEMM_ACT_RELU,     /* x < 0 ? +0 : x */
    TAKT_GEMM_ACT_CLIP,     /* minimum(maximum(x, lo), hi) of IEEE 754-2019; bounds are not NaN */
    TAKT_GEMM_ACT_RELU_MIN, /* minimum(relu(x), hi): relu6 and its kin */
    TAKT_GEMM_ACT_LEAKY,    /* x > 0 ? x : slope * x */
} takt_gemm_act;

/* Finishes a block of C that is still in a near cache: rows x cols elements at `tile`, whose first
 * one is C[row, col]. Called once for every element of C, after everything else. */
typedef void takt_gemm_f32_tail_fn(void *user, float *tile, size_t ld, size_t row, size_t col,
                                   size_t rows, size_t cols);

/* In this order, each operation rounded by itself:
 *   x = x + bias[col]; x = x + residual[row, col]; x = act(x)      residual_last = false
 *   x = x + bias[col]; x = act(x); x = x + residual[row, col]      residual_last = true
 *   tail(...)
 * A NULL pointer leaves its operation out. */
typedef struct takt_epilogue_f32 {
    const float *bias;
    const float *residual;
    size_t residual_stride; /* floats from one row of the residual to the next */
    bool residual_last;
    takt_gemm_act act;
    float lo, hi, slope;
    takt_gemm_f32_tail_fn *tail;
    void *user;
    bool is_late; /* the tail costs as much for a few elements as for many: callers of kernels may
                   * call it themselves, for all of C */
} takt_epilogue_f32;

/* Blocking of a large product; it cannot change the bits. Zero: the kernel's default. */
typedef struct takt_gemm_blocking {
    size_t a_bytes;       /* of packed A at a time */
    size_t rows, k, cols; /* of a block; rounded up to whole tiles, chunks and panels */
    size_t line;          /* bytes from one prefetch of B to the next */
    size_t skip;          /* this many lines of the next panel are not prefetched */
    bool no_prefetch;     /* B is not prefetched */
    bool is_far;          /* as if B were too large for any cache */
} takt_gemm_blocking;

/* Rows [p, p + k) of B, all in one chunk, by `cols` columns: whole panels from column `col` on. */
typedef struct takt_gemm_piece {
    size_t p, k, col, cols;
} takt_gemm_piece;

/* B in a form other than f32. A product has the bits of one with the floats that `widen` gives. */
typedef struct takt_gemm_stored takt_gemm_stored;
/* Room for the piece as packed f32: cols * k of them. */
typedef void takt_gemm_widen_fn(const takt_gemm_stored *s, const takt_gemm_piece *piece, float *to);
struct takt_gemm_stored {
    takt_gemm_widen_fn *widen;
    const void *data;
    takt_dtype dtype; /* F16 or BF16: packed like f32, kernels may read it themselves; else F32 */
    size_t columns;   /* of the packed matrix, with padding */
    size_t first;     /* added to a piece's p */
    takt_convert_fn *convert; /* for takt_gemm_widen_half */
};

/* `widen` for the 16-bit types. Their elements are where the f32 ones would be. */
void takt_gemm_widen_half(const takt_gemm_stored *s, const takt_gemm_piece *piece, float *to);

typedef struct takt_gemm_f32 {
    size_t m, n, k;
    const float *a;
    size_t a_row, a_col; /* floats between rows and between columns of A; (1, ld) is A transposed */
    bool reads_a;        /* a_col is 1, and A is read in place by kernels that can: never packed */
    const float *b;
    const takt_gemm_stored *stored; /* B in another form, then `b` is not read; or NULL */
    size_t b_n;                     /* columns of the packed matrix */
    size_t b_first;                 /* the first column of C; a panel begins there */
    float *c;
    size_t ldc;
    const takt_epilogue_f32 *epilogue;   /* or NULL */
    float *scratch;                      /* 64-byte aligned, of the size in the kernel's info */
    const takt_gemm_blocking *blocking;  /* or NULL */
    size_t ways;                         /* known associativity of L1; 0: low */
    const struct takt_bf16_image *image; /* only gemm_bf16: the address of A; or NULL */
    const takt_poll *poll;               /* polled once a block of rows and chunk of k; or NULL */
} takt_gemm_f32;

typedef void takt_gemm_f32_fn(const takt_gemm_f32 *g);

/* takt_kernel.info of this family. */
typedef struct takt_gemm_f32_info {
    size_t rows;        /* of a full tile: cut m into multiples of this for speed */
    takt_panels panels; /* of packed B; a product may be cut wherever one begins */
    /* For these m, n, k, a_row, a_col, reads_a, blocking, and whether B is stored in another form;
     * bounded by about 1.7 MiB + 4 * k. */
    size_t (*scratch_bytes)(const takt_gemm_f32 *g);
    /* Rows of a tile of three panels, which products of more than four have, and bytes of rows that
     * weights pass by at a time; 0: there is no such tile. */
    size_t broad, block_bytes;
} takt_gemm_f32_info;

TAKT_KERNEL_FAMILY(gemm_f32, takt_gemm_f32_fn)

/* Whether rows of A that are `row_bytes` long and lie `apart` are a whole number of pages apart:
 * they share a few sets of L1, and packed they are multiplied faster. */
static inline bool takt_gemm_collides(size_t row_bytes, size_t apart)
{
    enum { PAGE = 4096, LINE_BYTES = 64 };
    const size_t rest = apart % PAGE;
    return apart > LINE_BYTES && row_bytes > LINE_BYTES &&
           (rest < LINE_BYTES || rest > PAGE - LINE_BYTES);
}

/* For k split over threads: chunks [first, last) of the product, each separately, to
 * partial[chunk - first][m][n]. Without the epilogue. */
void takt_gemm_f32_chunks(const takt_kernel *kernel, const takt_gemm_f32 *g, size_t first,
                          size_t last, float *partial);
/* C = epilogue(partial[0] + partial[1] + ...), `count` chunks of [m][n]: the same bits as the
 * kernel's own. Uses m, n, c, ldc and epilogue of `g`. */
void takt_gemm_f32_sum(const takt_gemm_f32 *g, const float *partial, size_t count);

#endif
