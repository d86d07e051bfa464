/* near.h - convolutions of few inputs for each output, which are read in place. */
#ifndef TAKT_BACKEND_CPU_CONV_NEAR_H
#define TAKT_BACKEND_CPU_CONV_NEAR_H

#include "backend/cpu/conv/shape.h"

/* So few channels of y that outputs of a line fill the lanes of the kernel instead. */
bool takt_conv_near_is_thin(const takt_conv_shape *s);
/* Whether the f32 convolution of `s` is faster this way than as a product. */
bool takt_conv_near_fits(const takt_planner *p, const takt_conv_shape *s);
/* And whether its gradient by x is, which is a convolution of dy. */
bool takt_conv_near_dx_fits(const takt_planner *p, const takt_conv_shape *s);
/* And whether it is faster on x with channels first than after a transpose. */
bool takt_conv_near_takes_planes(const takt_planner *p, const takt_conv_shape *s);
/* For p->group, whose first node is that convolution or gradient. `planes`: x with channels first,
 * whose transpose, the convolution's input, is not computed; or TAKT_NONE. `first`: the result with
 * channels first, which alone is made; or TAKT_NONE. */
TAKT_MUST_USE takt_status takt_conv_near_compile(takt_planner *p, takt_id planes, takt_id first);

#endif
