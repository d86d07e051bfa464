/* winograd.h - the weights of a 3x3 convolution in Winograd's form. */
#ifndef TAKT_BACKEND_CPU_CONV_WINOGRAD_H
#define TAKT_BACKEND_CPU_CONV_WINOGRAD_H

#include "backend/cpu/conv/shape.h"
#include "backend/cpu/narrow.h"
#include "kernel/pack/panels.h"
#include "kernel/winograd_f32/winograd_f32.h"
#include "kernel/winograd_w_f32/winograd_w_f32.h"

/* How weights are packed, and by which kernels. U = G w Gt is computed in double and rounded once;
 * where there are many pairs of channels in f32, as kernels do that transform while they multiply.
 */
typedef struct takt_winograd_packing {
    takt_panels panels;
    takt_winograd_w_f32_fn *exact;
    takt_winograd_f32_fn *rounded;
    bool keeps_taps; /* w as it is, for such a kernel */
} takt_winograd_packing;

/* Numbers for a pair of channels, and floats of all pairs for one of them: the 36 points, or the 9
 * taps. */
size_t takt_winograd_numbers(const takt_winograd_packing *k);
size_t takt_winograd_point_floats(const takt_conv_shape *s, takt_panels panels);
/* For each of the numbers, a packed matrix [cin][cout]. */
void takt_winograd_pack(const takt_conv_shape *s, const takt_winograd_packing *k, const float *w,
                        float *to);
/* The same for share[0] of share[1] parts of the input channels. */
void takt_winograd_pack_part(const takt_conv_shape *s, const takt_winograd_packing *k,
                             const float *w, float *to, const size_t share[2]);

#endif
