/* args.h - parameters of the device kernels, as host and device see them.
 *
 * Pointers are device addresses. Counts are 64 bits; what indexes inside a block, or is known to be
 * small, has 32.
 */
#ifndef TAKT_KERNEL_CUDA_ARGS_H
#define TAKT_KERNEL_CUDA_ARGS_H

#include <stdint.h>

/* ---- element-wise programs: map_f32_cuda.cu, map_cuda.cu ---- */

enum {
    TAKT_CUDA_MAP_CODE = 48,     /* instructions of a program: as many as are ever fused */
    TAKT_CUDA_MAP_OPERANDS = 98, /* a first one, and two more for each; within 4 KiB of all */
    TAKT_CUDA_MAP_DIMS = 5,      /* loops over the result, adjacent ones merged */
    TAKT_CUDA_MAP_THREADS = 128,
    TAKT_CUDA_MAP_EACH = 4, /* neighbouring elements that a thread computes */
    TAKT_CUDA_MAP_MANY = 16 /* elements of a thread of takt_cuda_map_one_f32_many */
};

/* How an operand is read for element i of the result. */
typedef enum takt_cuda_form {
    TAKT_CUDA_FULL,  /* data[i] */
    TAKT_CUDA_ONE,   /* data[0] */
    TAKT_CUDA_SPREAD /* by the strides of the loops */
} takt_cuda_form;

typedef struct takt_cuda_operand {
    const void *data;
    int32_t stride[TAKT_CUDA_MAP_DIMS]; /* in elements, one a loop */
    uint8_t form;                       /* takt_cuda_form */
    uint8_t is_byte;                    /* u8 instead of f32 */
    uint8_t dtype;                      /* takt_dtype, in programs of mixed types */
} takt_cuda_operand;

/* to = op(from ...). Sources below TAKT_CUDA_MAP_CODE are registers, the others operands. */
typedef struct takt_cuda_instruction {
    uint8_t op; /* takt_map_op */
    uint8_t to, from[3];
    uint8_t is_output; /* the result is written to out[] of this instruction */
    uint8_t is_byte;   /* the result is 0 or 1 */
    /* In programs of mixed types: */
    uint8_t dtype; /* of the result */
    uint8_t as;    /* the compute type of what is read: kernel/cuda/element.inc */
    uint8_t cast;  /* takt_cuda_cast */
} takt_cuda_instruction;

typedef enum takt_cuda_cast {
    TAKT_CUDA_NO_CAST,
    TAKT_CUDA_CAST,
    TAKT_CUDA_CAST_SATURATING /* to a type of 8 bits */
} takt_cuda_cast;

typedef struct takt_cuda_map {
    uint64_t count;
    uint32_t dims, code_count;
    uint32_t dim[TAKT_CUDA_MAP_DIMS];
    takt_cuda_instruction code[TAKT_CUDA_MAP_CODE];
    void *out[TAKT_CUDA_MAP_CODE];
    takt_cuda_operand in[TAKT_CUDA_MAP_OPERANDS];
    uint64_t *fault; /* the lowest element with a zero divisor; NULL: there can be none */
} takt_cuda_map;

/* dst = op(a, b), or op(a), of floats: map_f32_cuda_one.cu. */
typedef struct takt_cuda_map_one {
    float *dst;
    const float *a, *b; /* b: or NULL */
    uint64_t count;
    uint32_t op;          /* takt_map_op */
    uint8_t a_one, b_one; /* the operand is one float, for all elements */
} takt_cuda_map_one;

/* ---- rows: rows_f32_cuda.cu ---- */

enum {
    TAKT_CUDA_ROWS_THREADS = 256,
    TAKT_CUDA_ROWS_HELD = 12 /* elements of a row that a thread of takt_cuda_rows_f32_held holds */
};

/* Stride in floats between rows of n elements in shared memory: two rows that a warp reads are in
 * different banks. */
#define TAKT_CUDA_ROWS_LINE(n) (((n) + 31) / 32 * 32 + 16)

typedef struct takt_cuda_rows {
    float *dst;
    const float *src, *gamma, *beta; /* the last two may be NULL */
    uint64_t rows, n, dst_stride, src_stride;
    float epsilon;
    uint32_t op; /* takt_rows_op */
} takt_cuda_rows;

/* ---- reductions: reduce_f32_cuda.cu ---- */

enum {
    TAKT_CUDA_REDUCE_THREADS = 256,
    TAKT_CUDA_REDUCE_RESULTS = 16, /* of a block */
    TAKT_CUDA_REDUCE_ROW = 32768,  /* chunks that y counts; z counts rows of them */
    /* For very long rows: chunks that a block takes at a time, their stride in shared memory, the
     * number of such buffers, sums of chunks that are added at a time, and bytes of shared memory,
     * which has two more floats per lane. */
    TAKT_CUDA_REDUCE_EACH = 2,
    TAKT_CUDA_REDUCE_LINE = 4096 + 16,
    TAKT_CUDA_REDUCE_STAGES = 3,
    TAKT_CUDA_REDUCE_POSTS = 512,
    TAKT_CUDA_REDUCE_SHARED =
        4 * TAKT_CUDA_REDUCE_EACH * (TAKT_CUDA_REDUCE_STAGES * TAKT_CUDA_REDUCE_LINE + 2 * 16)
};

typedef struct takt_cuda_reduce {
    void *dst; /* float, or int64_t of arguments */
    const float *src;
    float *partial;    /* [chunk][result] of rows */
    uint32_t *tickets; /* a word of each result, or of very long rows two of each chunk */
    uint64_t count, across, n, run, run_stride, step;
    uint64_t inner,
        outer_stride; /* result r begins at r / inner * outer_stride + r % inner * across */
    uint32_t op;      /* takt_reduce_op */
    uint32_t is_row;  /* neighbouring threads take neighbouring elements, not results */
    uint32_t is_cut;  /* a block computes one chunk, to dst[chunk * count + result] */
    uint32_t blocks;  /* of very long rows: those that compute chunks; one more adds */
} takt_cuda_reduce;

/* dst[r] = src[0][r] op src[1][r] op ..., chunks in order. */
typedef struct takt_cuda_combine {
    float *dst;
    const float *src;
    uint64_t count, chunks;
    uint32_t op;
} takt_cuda_combine;

/* ---- what follows a product or a convolution: epilogue of gemm_f32.h ---- */

/* x + bias, x + residual, activation; with residual_last the residual comes after it. The
 * activation is relu or leaky relu, then max(x, *low), then min(x, *high). NULL leaves an operation
 * out. */
typedef struct takt_cuda_epilogue {
    const float *bias, *residual, *low, *high;
    int64_t residual_row;
    int64_t bias_batch, residual_batch; /* floats from one batch to the next */
    uint32_t residual_last, is_relu, is_leaky;
    float slope;
} takt_cuda_epilogue;

/* ---- products: gemm_f32_cuda.cu ---- */

enum {
    TAKT_CUDA_GEMM_CHUNK = 256,  /* of k: sums of chunks are added in order */
    TAKT_CUDA_GEMM_FEW = 8,      /* rows of a product that is taken column by column */
    TAKT_CUDA_GEMM_FEW_COLS = 32 /* columns of a block of it */
};

/* Floats of a row of A in cuda_whole.inc. */
#define TAKT_CUDA_GEMM_WHOLE_LINE(k) ((((k) + (k) / TAKT_CUDA_GEMM_CHUNK * 4 + 3) / 4 | 1) * 4)

/* C = epilogue(A * B). Blocks of x are tiles, row after row of C; z = batch * pieces + piece. */
typedef struct takt_cuda_gemm {
    const float *a, *b;
    float *c;
    float *partial;    /* chunks that pieces compute, tile by tile */
    uint32_t *tickets; /* one a tile and batch: pieces that are done */
    uint32_t m, n, k;
    uint32_t pieces;      /* 1, or the number of chunks: each is a block's */
    int64_t a_row, a_col; /* floats between rows and columns */
    int64_t b_row, b_col;
    int64_t c_row;
    /* Batch b = (b / inner, b % inner). */
    uint32_t inner, tiles; /* tiles: of a batch */
    int64_t a_outer, a_inner, b_outer, b_inner, c_outer, c_inner;
    takt_cuda_epilogue end;
    uint32_t is_conv;
    /* A of a convolution is gathered from x[batch, height, width, channels]: k = (kh, kw, ci). */
    uint32_t height, width, channels, pixel; /* pixel: floats from one to the next */
    uint32_t out_height, out_width, kernel_width;
    uint32_t stride_h, stride_w, dilation_h, dilation_w;
    int32_t pad_h, pad_w;
    uint32_t adds_zero;  /* to the last chunk: the bits of k that zeros follow */
    uint32_t image;      /* floats of one image */
    uint32_t keeps_b;    /* no kernel writes B: it is read before earlier kernels have ended */
    uint32_t is_aligned; /* A, B and their matrices begin at multiples of sixteen bytes */
    uint32_t is_softmax; /* of rows of C at the end: few rows, of at most TAKT_CUDA_GEMM_FEW_COLS */
} takt_cuda_gemm;

/* dst[pixel][4] = src[pixel][channels], then 0; channels < 4. */
typedef struct takt_cuda_fours {
    float *dst;
    const float *src;
    uint64_t count; /* of pixels */
    uint32_t channels;
} takt_cuda_fours;

/* ---- attention: rows_f32_cuda_weigh.cu ---- */

enum { TAKT_CUDA_WEIGH_THREADS = 256 };

/* scores[plane][query][key] become weights: times scale, plus the mask, softmax over the keys that
 * a query sees; 0 for the others. A plane is a head of a sequence, `first` the first one's number.
 */
typedef struct takt_cuda_weigh {
    float *scores;
    const float *mask; /* or NULL */
    int64_t mask_stride[4];
    uint32_t first, heads, queries, keys, is_causal;
    float scale;
} takt_cuda_weigh;

/* Attention with lengths, or over a cache of fewer bits: a block has a query of a head. */
typedef struct takt_cuda_attend {
    float *out;
    const float *q, *mask; /* mask: or NULL */
    const void *k, *v;
    const void *length; /* int64_t or int32_t of every sequence; NULL: all keys are present */
    uint64_t *fault;    /* the first sequence with an impossible length */
    int64_t mask_stride[4];
    uint32_t heads, group, queries, keys, dim, size;
    uint32_t is_causal, is_narrow;
    uint32_t k_dtype, v_dtype; /* u8: blocks of q8_0 */
    float scale;
} takt_cuda_attend;

/* Rows of the result that keys beyond a query's limit may have affected (0 * inf, -0 + 0) are
 * recomputed without them. */
typedef struct takt_cuda_recompute {
    float *out;               /* [sequence][query][head][size] */
    const float *weights, *v; /* v: [sequence][key][head of v][size] */
    uint32_t first, heads, group, queries, keys, size;
} takt_cuda_recompute;

/* ---- moves: move_cuda.cu ---- */

enum { TAKT_CUDA_MOVE_DIMS = 8, TAKT_CUDA_MOVE_THREADS = 256 };

/* dst(i) = src(i) for all i of the loops. */
typedef struct takt_cuda_move_args {
    void *dst;
    const void *src;
    uint64_t count;
    uint32_t dims, bytes; /* of an element: 1, 2, 4 or 8 */
    uint32_t dim[TAKT_CUDA_MOVE_DIMS];
    int64_t dst_stride[TAKT_CUDA_MOVE_DIMS], src_stride[TAKT_CUDA_MOVE_DIMS];
} takt_cuda_move_args;

/* dst[o, j, i] = src[o, index[j], i]: rows of a table. */
typedef struct takt_cuda_gather_args {
    void *dst;
    const void *src, *index;            /* int64_t, or int32_t */
    uint64_t outer, axis, inner, count; /* inner: in elements; count: of indices */
    uint32_t bytes, is_narrow;
    uint64_t *fault; /* the lowest index that is out of range; UINT64_MAX: none */
} takt_cuda_gather_args;

/* ---- picks: move_cuda_pick.cu ---- */

typedef enum takt_cuda_pick_kind {
    TAKT_CUDA_PAD,      /* src inside, `value` or other elements of src around it */
    TAKT_CUDA_IOTA,     /* first + place along the axis, as `dtype` */
    TAKT_CUDA_PIECE,    /* part of an axis, from index[0] on */
    TAKT_CUDA_UPDATE,   /* src, with `part` from index[...] on */
    TAKT_CUDA_APPEND,   /* the same where src is dst: an element of `part` each */
    TAKT_CUDA_ELEMENTS, /* src at an index for every element */
    TAKT_CUDA_BLOCKS,   /* blocks of src at rows of coordinates */
    TAKT_CUDA_PACK,     /* words of 64 bools of a row of `size`, `inner` words a row */
    TAKT_CUDA_UNPACK    /* the other way round */
} takt_cuda_pick_kind;

typedef struct takt_cuda_pick_args {
    void *dst;
    const void *src, *index, *part; /* index: int64_t, or int32_t */
    uint64_t *fault;                /* the lowest index that is out of range */
    uint64_t count;                 /* of threads that have work */
    uint64_t value;                 /* of PAD: the element's bits */
    int64_t first;                  /* of IOTA */
    uint64_t outer, size, inner;    /* src is [outer, size, inner] */
    uint64_t piece, starts;         /* along the axis; of UPDATE: indices */
    uint64_t rows_each, block;      /* of BLOCKS: rows that share leading axes; elements */
    uint32_t kind, bytes, is_narrow;
    uint32_t dtype;      /* of IOTA */
    uint32_t mode, dims; /* of PAD: as the op says; dims of PAD, ELEMENTS and coordinates */
    uint32_t axis;       /* of ELEMENTS */
    /* Sizes of the result or of the index; sizes of src; strides of src; elements before src. */
    int64_t dim[TAKT_CUDA_MOVE_DIMS], from[TAKT_CUDA_MOVE_DIMS], stride[TAKT_CUDA_MOVE_DIMS],
        before[TAKT_CUDA_MOVE_DIMS];
} takt_cuda_pick_args;

/* ---- weights in blocks: ggml_f32_cuda.cu ---- */

enum { TAKT_CUDA_GGML_THREADS = 256, TAKT_CUDA_GGML_COLS = 32, TAKT_CUDA_GGML_ROWS = 8 };

/* Rows of a table as floats: all, or those at `index`. */
typedef struct takt_cuda_ggml_rows {
    float *dst;
    const uint8_t *src;
    const void *index; /* int64_t, or int32_t; NULL: all rows in order */
    uint64_t *fault;
    uint64_t count, n, width; /* floats to write; rows of the table; floats of a row */
    uint32_t format, weights, bytes, is_narrow;
} takt_cuda_ggml_rows;

/* C[m, n] = epilogue(A[m, k] times the floats of B[n, k], transposed). */
typedef struct takt_cuda_ggml {
    float *c;
    const float *a;
    const uint8_t *b;
    uint32_t m, n, k;
    uint32_t format, weights, bytes;
    takt_cuda_epilogue end;
} takt_cuda_ggml;

/* ---- any element type: reduce_cuda.cu, gemm_cuda.cu, lines_cuda.cu ---- */

/* Place of element i: by loops, the last one innermost. */
typedef struct takt_cuda_walk {
    uint32_t dims;
    int64_t dim[TAKT_CUDA_MOVE_DIMS], stride[TAKT_CUDA_MOVE_DIMS];
} takt_cuda_walk;

/* dst[r] = op over i < n of src(r, i), as reduce/reduce.h has it. */
typedef struct takt_cuda_reduce_any_args {
    void *dst; /* of type `to`, or int64_t of arguments */
    const void *src;
    uint64_t count, n;
    takt_cuda_walk results, reduced;
    uint32_t op, from, as, to; /* takt_reduce_op; types of elements, of sums, and of results */
} takt_cuda_reduce_any_args;

/* C = A * B, an element a thread: k in chunks, as gemm_f64/gemm_f64.h has it; integers wrap. */
typedef struct takt_cuda_gemm_any_args {
    const void *a, *b;
    void *c;
    uint64_t count; /* of elements of all batches */
    uint32_t m, n, k, inner, dtype;
    int64_t a_row, a_col, b_row, b_col;
    int64_t a_outer, a_inner, b_outer, b_inner;
} takt_cuda_gemm_any_args;

/* Lines along the middle of x[outer, size, inner]: running sums, or their order. */
typedef struct takt_cuda_lines_args {
    void *dst;
    int64_t *places; /* of an order */
    const void *src;
    uint64_t outer, size, inner, keep;
    uint32_t dtype, is_exclusive, is_reverse, is_descending;
} takt_cuda_lines_args;

/* ---- windows: pool_f32_cuda.cu ---- */

enum {
    TAKT_CUDA_WINDOW_THREADS = 256,
    TAKT_CUDA_DEPTHWISE_THREADS = 64, /* small blocks: then even a small image fills a device */
    TAKT_CUDA_WINOGRAD_THREADS = 64
};

/* A window of x[batch, height, width, channels] for every element of y, channels last. */
typedef struct takt_cuda_window {
    float *y;
    const float *x, *w; /* w: [channels][kernel_h][kernel_w] of a depthwise convolution */
    uint64_t count;     /* elements of y */
    uint32_t op;        /* takt_cuda_window_op */
    uint32_t height, width, channels, out_height, out_width;
    uint32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
    uint32_t before_h, before_w, after_h, after_w;
    uint32_t count_pad; /* an average divides by padding, too */
    uint32_t is_packed; /* channels are a multiple of four, w is [kernel_h][kernel_w][channels] */
    takt_cuda_epilogue end;
} takt_cuda_window;

typedef enum takt_cuda_window_op {
    TAKT_CUDA_DEPTHWISE,
    TAKT_CUDA_LARGEST,
    TAKT_CUDA_AVERAGE
} takt_cuda_window_op;

/* Transforms of Winograd's F(4x4, 3x3): winograd_f32_cuda.cu. */
typedef struct takt_cuda_winograd {
    const float *x; /* [batch, height, width, channels] */
    float *y;       /* [batch, out_height, out_width, outputs] */
    float *points;  /* [36][tiles][channels] of x, or [36][tiles][outputs] of the products */
    uint32_t tiles, across, down; /* of the batch; in a row of an image, and in a column */
    uint32_t channels, outputs, height, width, out_height, out_width, before_h, before_w;
    takt_cuda_epilogue end;
} takt_cuda_winograd;

/* The end of a segment: fault words go to the host and are reset, then the number of the run. */
typedef struct takt_cuda_done_args {
    uint32_t *run; /* of the device, and the one that the host polls */
    volatile uint32_t *seen;
    uint64_t *faults, *faults_seen;
    uint32_t fault_count;
} takt_cuda_done_args;

#include "kernel/cuda/args_any.h"
#include "kernel/cuda/args_rnn.h"

#endif
