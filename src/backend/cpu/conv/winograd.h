/* winograd.h - the weights of a 3x3 convolution in Winograd's form. */
#ifndef TAKT_BACKEND_CPU_CONV_WINOGRAD_H
#define TAKT_BACKEND_CPU_CONV_WINOGRAD_H

#include "backend/cpu/conv/shape.h"
#include "backend/cpu/narrow.h"
#include "kernel/pack/panels.h"
#include "kernel/winograd_w_f32/winograd_w_f32.h"

/* Floats of the weights of one of the 36 points. */
size_t takt_winograd_point_floats(const takt_conv_shape *s, takt_panels panels);
/* U = G w Gt in double by the kernel `by`, rounded once: for each point, a packed matrix
 * [cin][cout]. */
void takt_winograd_pack(const takt_conv_shape *s, takt_panels panels, takt_winograd_w_f32_fn *by,
                        const float *w, float *to);
/* The same for share[0] of share[1] parts of the input channels. */
void takt_winograd_pack_part(const takt_conv_shape *s, takt_panels panels,
                             takt_winograd_w_f32_fn *by, const float *w, float *to,
                             const size_t share[2]);

#endif
