/* near_copy.h - how a convolution that does not gather patches reads x: where it is, or lines of it
 * copied with their padding. */
#ifndef TAKT_BACKEND_CPU_CONV_NEAR_COPY_H
#define TAKT_BACKEND_CPU_CONV_NEAR_COPY_H

#include "backend/cpu/conv/shape.h"

typedef struct takt_near_copy {
    takt_conv_shape shape;
    bool is_planar;     /* x has channels first */
    bool is_copied;     /* with padding */
    bool is_transposed; /* x has channels last, and its copy has them first */
    /* In floats, of the copy, or of x: */
    size_t pitch;   /* from one line to the next */
    size_t channel; /* from one channel to the next */
    size_t plane;   /* from one tap of depth to the next */
} takt_near_copy;

/* Positions of an axis that outputs read. */
size_t takt_near_extent(const takt_conv_shape *s, int axis, size_t outputs);

/* What `lines` lines of outputs of a sample read, from depth at[0] and line at[1] on. `copy` has
 * room for it. */
const float *takt_near_inputs(const takt_near_copy *f, const float *sample, const size_t at[2],
                              size_t lines, float *copy);

#endif
