/* bf16_image.h - convolutions in bf16 that read a private image instead of patches. */
#ifndef TAKT_BACKEND_CPU_CONV_BF16_IMAGE_H
#define TAKT_BACKEND_CPU_CONV_BF16_IMAGE_H

#include "backend/cpu/conv/shape.h"
#include "backend/cpu/narrow.h"

/* Whether the convolution can be computed this way by a kernel with this info. */
bool takt_conv_image_fits(const takt_conv_shape *s, const takt_gemm_bf16_info *info);
/* For p->group, whose first node is that convolution; `n` as takt_narrow_fast left it. */
TAKT_MUST_USE takt_status takt_conv_image_compile(takt_planner *p, const takt_kernel *kernel,
                                                  const takt_narrow *n);

#endif
