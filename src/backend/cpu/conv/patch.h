/* patch.h - the elements of x that outputs of a convolution read, as rows of a matrix. */
#ifndef TAKT_BACKEND_CPU_CONV_PATCH_H
#define TAKT_BACKEND_CPU_CONV_PATCH_H

#include "backend/cpu/conv/shape.h"
#include "kernel/pack/panels.h"

/* Rows [first, first + count) of the batch * positions outputs: to[count][k_row] of one group,
 * padding as zeros, k in the order (taps, channels). */
void takt_conv_patches(const takt_conv_shape *s, const float *x, size_t group, size_t first,
                       size_t count, float *to);
/* Part of that matrix: rows as above, at most one chunk of them, columns [column, column + columns)
 * of k, as the right-hand side of a product. */
typedef struct takt_conv_part {
    size_t group, first, count, column, columns;
    takt_panels panels;
} takt_conv_part;
void takt_conv_panels(const takt_conv_shape *s, const float *x, const takt_conv_part *p, float *to);
/* Weights of one group after another, each packed as a matrix [k_row][cout]. */
void takt_conv_pack_weights(const takt_conv_shape *s, takt_panels panels, const float *w,
                            float *to);
/* The same for share[0] of share[1] parts of the panels. */
void takt_conv_pack_part(const takt_conv_shape *s, takt_panels panels, const float *w, float *to,
                         const size_t share[2]);
/* Weights of one group after another, each [cout][k_row] with k in the order (taps, channels). */
void takt_conv_order_weights(const takt_conv_shape *s, const float *w, float *to);
/* Floats that takt_conv_pack_weights writes; false if they do not fit a size. */
bool takt_conv_packed_floats(const takt_conv_shape *s, takt_panels panels, size_t *floats);

#endif
