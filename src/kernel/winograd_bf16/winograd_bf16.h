/* winograd_bf16.h - contract of a 3x3 convolution of bf16 by Winograd's F(2x2, 3x3), channels last.
 *
 *     s = bias + residual + At (sum over cin of (G w Gt) * (Bt x B)) A
 *     y = bf16(minimum(maximum(s, lo), hi))
 *
 *         [1  0 -1  0]        [ 1    0    0 ]
 *    Bt = [0  1  1  0]    G = [1/2  1/2  1/2]    At = [1  1  1  0]
 *         [0 -1  1  0]        [1/2 -1/2  1/2]         [0  1 -1 -1]
 *         [0  1  0 -1]        [ 0    0    1 ]
 *
 * Bt x B is computed in f32 and rounded to bf16; the products are summed in f32, and so is the
 * rest.
 *
 *   units      two tiles side by side: 2 x 4 outputs, of which some may not exist. Those of a
 *              sample are counted row by row
 *   error      before it is rounded to bf16, the result is within takt_winograd_bf16_bound(cin) of
 *              the sum of |bias|, |residual| and |At| (sum of |G w Gt| * (|Bt| |x| |B|)) |A|
 *   special    a NaN or an infinity among the inputs of a tile gives NaN or an infinity in it
 *   reads      exactly x, u, bias, residual and zeros[cin]; writes the outputs of its units and the
 *              scratch
 *   aliasing   y overlaps no operand
 */
#ifndef TAKT_KERNEL_WINOGRAD_BF16_H
#define TAKT_KERNEL_WINOGRAD_BF16_H

#include <stdint.h>

#include "kernel/gemm_bf16/gemm_bf16.h"

enum { TAKT_WINOGRAD_BF16_POINTS = 16, TAKT_WINOGRAD_BF16_CIN = 1024 };

typedef struct takt_winograd_bf16 {
    size_t cin, cout;                /* cin: at most TAKT_WINOGRAD_BF16_CIN */
    size_t in[2], out[2], before[2]; /* rows and columns of one sample, and padding */
    size_t first, count;             /* units */
    const uint16_t *x, *zeros;
    const uint16_t *u;        /* G w Gt: 16 matrices, each packed for the info's `pack` */
    const float *bias;        /* [cout], with 16 bits of 0 at the end of every NaN; or NULL */
    const uint16_t *residual; /* of the sample, or NULL */
    float lo, hi;
    uint16_t *y;
    void *scratch; /* info->scratch_bytes, aligned to 64 */
} takt_winograd_bf16;

typedef void takt_winograd_bf16_fn(const takt_winograd_bf16 *w);

/* takt_kernel.info of this family. */
typedef struct takt_winograd_bf16_info {
    takt_gemm_bf16_info pack; /* its scratch_bytes is NULL */
    size_t (*scratch_bytes)(size_t cin, size_t cout);
} takt_winograd_bf16_info;

TAKT_KERNEL_FAMILY(winograd_bf16, takt_winograd_bf16_fn)

/* The weights: w[out][in] of tap t at out * w_out + in * w_in + t * w_tap. */
typedef struct takt_winograd_bf16_weights {
    size_t cin, cout;
    const float *w;
    size_t w_out, w_tap, w_in;
} takt_winograd_bf16_weights;

/* Elements of G w Gt, all 16 points; and G w Gt itself, in double, rounded once. */
size_t takt_winograd_bf16_count(const takt_gemm_bf16_info *pack, size_t cin, size_t cout);
void takt_winograd_bf16_pack(const takt_gemm_bf16_info *pack, const takt_winograd_bf16_weights *w,
                             uint16_t *to);

static inline size_t takt_winograd_bf16_units(const size_t out[2])
{
    return (out[0] + 1) / 2 * ((out[1] + 3) / 4);
}

/* An error bound: rounding of Bt x B and G w Gt, and of the sums. */
static inline double takt_winograd_bf16_bound(size_t cin)
{
    return 1.01 / 128 + (double)(cin + 16) / (1 << 22);
}

#endif
