/* integer_image.h - convolutions of bytes that read a private image instead of patches. */
#ifndef TAKT_BACKEND_CPU_CONV_INTEGER_IMAGE_H
#define TAKT_BACKEND_CPU_CONV_INTEGER_IMAGE_H

#include "backend/cpu/conv/shape.h"
#include "backend/cpu/integer.h"

/* Whether the convolution is computed this way: its kernel reads images with this number of
 * channels, and --tile does not request patches in blocks. */
bool takt_integer_image_fits(const takt_planner *p, const takt_conv_shape *s,
                             const takt_gemm_i8_info *info);
/* For p->group, whose first node is that convolution; `n` as takt_integer_compile left it. */
TAKT_MUST_USE takt_status takt_integer_image_compile(takt_planner *p, const takt_conv_shape *s,
                                                     const takt_integer *n);

#endif
