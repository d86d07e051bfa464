/* dx.h - the phases of the gradient of a convolution with respect to its input, and which of them
 * form one product.
 *
 * Stride divides the positions of x into phases: those of one phase are reached by the same taps.
 * Phases with equally many taps read the same patches of dy: they form one product, next to each
 * other.
 */
#ifndef TAKT_BACKEND_CPU_CONV_DX_H
#define TAKT_BACKEND_CPU_CONV_DX_H

#include "backend/cpu/conv/shape.h"
#include "kernel/gemm_f32/gemm_f32.h"

/* Along one axis: positions first, first + stride, ... and taps tap, tap + tap_step, ... */
typedef struct takt_dx_phase {
    size_t first[3], count[3], tap[3], tap_step[3], taps[3];
    ptrdiff_t from[3]; /* offset in dy of the first tap of the first position */
    size_t rows;       /* in one sample */
} takt_dx_phase;

/* Rows are positions of the first tap in dy; each phase has its columns. */
typedef struct takt_dx_bundle {
    size_t first_member, members; /* of `order` */
    const takt_dx_phase *like;    /* all members have its taps */
    ptrdiff_t low[3], step[3];    /* the first row; from tap to tap, backwards */
    size_t count[3], rows;        /* in one sample */
    size_t own;                   /* how many of these rows, summed over the members, are inside
                                   * x */
    size_t k, n;
    size_t packed;   /* offset of its weights in floats, within a group */
    bool reads_rows; /* a row of dy is a patch */
} takt_dx_bundle;

typedef struct takt_dx_phases {
    takt_dx_phase *phases;
    size_t phase_count;
    takt_dx_bundle *bundles;
    size_t bundle_count, *order; /* phases, bundle after bundle */
    size_t group_floats;         /* packed weights of a group */
} takt_dx_phases;

TAKT_MUST_USE takt_status takt_dx_phases_plan(takt_planner *planner, const takt_conv_shape *c,
                                              takt_panels panels, takt_dx_phases *f);
/* The flat tap of the convolution that is tap number `t` of the phase. */
size_t takt_dx_tap(const takt_conv_shape *c, const takt_dx_phase *p, size_t t);

#endif
