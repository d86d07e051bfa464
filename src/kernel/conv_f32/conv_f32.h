/* conv_f32.h - contract of some lines of a convolution that reads its inputs in place.
 *
 *     y[l][q][o] = end(sum over i < k of x[l*line + q*step + at[i]] * w[i][o])
 *
 *   pick       unless NULL, x[l*line + q*step + at[i] + pick[i][o]] instead: columns of several
 *              groups, with channels that are adjacent; pick[i][o] / 8 == o / 8, and there are no
 *              more columns than a panel has
 *   order      acc = +0, then acc = fma(x, w, acc) with i ascending; then acc + 0 if `adds_zero`:
 *              the bits of gemm_f32 on rows of x that zeros follow; then y + acc if `adds`, for
 *              the chunks after the first
 *   k          at most TAKT_GEMM_CHUNK
 *   w          panels of TAKT_CONV_PANEL columns, each [k][TAKT_CONV_PANEL]; what is behind the
 *              last column is read, and does not matter
 *   end        x = x + bias[o] unless bias is NULL; then, if `relu`, x < 0 ? +0 : x and
 *              minimum(x, limit); or, if `clips`, minimum(maximum(x, lo), limit)
 *   alignment  none beyond that of float
 *   reads      exactly the elements of x that are summed, w, at, pick, bias; up to TAKT_CONV_ROOM
 *              floats behind them if `has_room`, which `pick` requires
 *   writes     exactly y[lines][columns][channels], outputs `ld` floats apart
 *   aliasing   y overlaps no operand
 */
#ifndef TAKT_KERNEL_CONV_F32_H
#define TAKT_KERNEL_CONV_F32_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/kernel.h"
#include "kernel/pack/panels.h"

enum { TAKT_CONV_PANEL = 16, TAKT_CONV_ROOM = 15 };

typedef struct takt_conv_f32 {
    size_t lines, columns, channels; /* of y */
    size_t ld;                       /* floats of y from one output to the next */
    size_t k;
    const size_t *at;    /* [k] floats from the first that an output reads */
    const int32_t *pick; /* [k][TAKT_CONV_PANEL], or NULL */
    size_t line, step;   /* floats of x from one line and from one output to the next */
    const float *x;
    const float *w;
    const float *bias; /* [channels], or NULL */
    bool has_room;     /* behind x, for vectors that its elements do not fill */
    bool adds_zero;
    bool adds;        /* y has the sums of the previous chunks */
    bool relu, clips; /* at most one of them */
    float limit;      /* infinite: none */
    float lo;         /* neither is NaN */
    float *y;
} takt_conv_f32;

typedef void takt_conv_f32_fn(const takt_conv_f32 *c);

/* takt_kernel.info of this family. */
typedef struct takt_conv_f32_info {
    size_t channels; /* most channels of y: beyond that a product of patches is faster */
    bool planes;     /* channels of x that are not adjacent cost less than a transpose */
    bool wide;       /* more than a panel costs no more than a product of patches */
    size_t picks;    /* columns of one group up to which `pick` is faster; 0: it cannot be given */
} takt_conv_f32_info;

TAKT_KERNEL_FAMILY(conv_f32, takt_conv_f32_fn)

#endif
