/* gemm_i8.h - contract of the product of 8-bit integers, exact in 32 bits, with requantisation.
 *
 *     acc[m,n] = sum over k of (A[m,k] - a_zero) * (B[k,n] - b_zero[n])      modulo 2^32
 *     C[m,n] = requant(acc)
 *
 *   A          u8 or s8, row-major; or in an image (below), where info says so
 *   B          s8, packed p16xg: [ceil(n/16)][ceil(k/g)][16][g], zero where there is no element;
 *              g is the kernel's `group`, 4 or 8 (takt_pack_i8 below)
 *   requant    acc = acc + bias[n]; then one of
 *              I32  C = acc
 *              S8, U8  x = (f32)acc * scale; r = x rounded half to even, 0 if x is NaN;
 *                      C = r + zero, saturated to [lo, hi]
 *                      with a multiplier and a shift instead of a scale: r = takt_fixed_scale of
 *                      acc and both (fixed.h); C as above
 *                      with a wide scale: r = (f64)acc * wide, rounded half away from zero
 *              F32  C = epilogue((f32)acc * scale)
 *   bits       every variant equals scalar
 *   reads      exactly A (with a_open up to TAKT_I8_OPEN bytes behind each row, whatever lies
 *              there), the panels of B, b_sum[n], and bias, scale or what stands in its place, and
 *              b_zero where given
 *   aliasing   C overlaps no other operand
 */
#ifndef TAKT_KERNEL_GEMM_I8_H
#define TAKT_KERNEL_GEMM_I8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/gemm_f32/gemm_f32.h"
#include "kernel/kernel.h"

typedef enum takt_requant_to {
    TAKT_REQUANT_I32,
    TAKT_REQUANT_S8,
    TAKT_REQUANT_U8,
    TAKT_REQUANT_F32,
} takt_requant_to;

typedef struct takt_requant {
    takt_requant_to to;
    const int32_t *bias; /* one per column, or NULL */
    const float *scale;  /* unused for I32 */
    /* For S8 and U8: fixed point instead of `scale`; or both NULL. */
    const int32_t *multiplier, *shift;
    bool goes_right; /* true only if takt_fixed_goes_right of these; known to be so once for all */
    const double *wide;                /* for S8 and U8: finite, in place of `scale`; or NULL */
    bool scale_per_column;             /* or its replacement */
    int32_t zero, lo, hi;              /* for S8 and U8; lo and hi inside the type */
    const takt_epilogue_f32 *epilogue; /* for F32; or NULL */
} takt_requant;

/* What a convolution multiplies, without its patches: every row of A is read from an image whose
 * positions have `channels` bytes each,
 *     A[r, t * channels + c] = data[(r / width * pitch + r % width) * channels + at[t] + c]
 * with k = taps * channels. If `run` is not 0, which only kernels that read runs may be given, it
 * takes the place of channels in t * channels and in k, and B's rows of each tap are padded to a
 * whole group. TAKT_I8_BEYOND positions behind the last one that a row needs may be read too,
 * whatever lies there. */
enum { TAKT_I8_BEYOND = 32 };
typedef struct takt_i8_image {
    const uint8_t *data;
    size_t width, pitch; /* positions of a row that count, and from one row to the next */
    size_t channels;
    const size_t *at; /* offset of each tap, in bytes */
    size_t run;       /* bytes of a tap; 0: channels */
} takt_i8_image;

enum { TAKT_I8_OPEN = 16 };
typedef struct takt_gemm_i8 {
    size_t m, n, k;
    const void *a;
    size_t a_row; /* bytes */
    bool a_open;  /* bytes behind a row may be read */
    bool a_unsigned;
    int32_t a_zero;
    const int8_t *b;
    size_t b_panel;        /* bytes from one panel to the next */
    const int32_t *b_sum;  /* sums of B's columns, as takt_pack_i8 gives them */
    const int32_t *b_zero; /* one per column, or NULL: all 0 */
    void *c;
    size_t ldc; /* elements of C */
    const takt_requant *requant;
    void *scratch;              /* 64-byte aligned, of the size in the kernel's info */
    const takt_i8_image *image; /* the address of A; then a and a_row are not read; or NULL */
    const takt_poll *poll;      /* polled once for a tile's columns of a block of rows; or NULL */
} takt_gemm_i8;

typedef void takt_gemm_i8_fn(const takt_gemm_i8 *g);

typedef struct takt_gemm_i8_info {
    size_t rows, columns; /* of a full tile */
    size_t group;         /* of B's layout */
    /* For these m, n and k, and whether there is an image; bounded by about 1 MiB, and 4 * m. */
    size_t (*scratch_bytes)(const takt_gemm_i8 *g);
    size_t image;          /* channels of an image are a multiple of this; 0: none is read */
    size_t few_image, few; /* the same for at most `few` columns */
    bool reads_runs;       /* images may have runs */
    bool wants_unsigned;   /* signed A costs more than the same bytes plus 128, taken as unsigned */
} takt_gemm_i8_info;

TAKT_KERNEL_FAMILY(gemm_i8, takt_gemm_i8_fn)

/* What the channels of an image are a multiple of, for n columns; 0: none is read. */
static inline size_t takt_i8_image_multiple(const takt_gemm_i8_info *info, size_t n)
{
    return n <= info->few ? info->few_image : info->image;
}

typedef struct takt_pack_i8_job {
    size_t k, n, group;
    const int8_t *src;
    size_t row, col;  /* elements between rows and between columns */
    size_t run;       /* rows after which a new group begins; 0: none */
    bool is_unsigned; /* src holds u8: 128 is taken away, from its zero points too */
    int8_t *dst;      /* ceil(n/16) * 16 * takt_i8_deep(k, run, group) bytes */
    int32_t *sums;    /* n column sums of the packed values, or NULL */
} takt_pack_i8_job;

/* The address of row r of A, without the offsets of taps. */
static inline const uint8_t *takt_i8_image_row(const takt_i8_image *m, size_t r)
{
    return m->data + (r / m->width * m->pitch + r % m->width) * m->channels;
}

/* Rows of packed B. */
static inline size_t takt_i8_deep(size_t k, size_t run, size_t group)
{
    const size_t each = run > 0 ? run : k;
    return each > 0 ? k / each * ((each + group - 1) / group * group) : 0;
}

void takt_pack_i8(const takt_pack_i8_job *p);
/* p16x4 (as files hold it) to p16x8. */
void takt_repack_i8(size_t k, size_t n, const int8_t *p16x4, int8_t *p16x8);

#endif
