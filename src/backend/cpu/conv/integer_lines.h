/* integer_lines.h - convolutions of bytes with few channels: patches from an image with its border.
 */
#ifndef TAKT_BACKEND_CPU_CONV_INTEGER_LINES_H
#define TAKT_BACKEND_CPU_CONV_INTEGER_LINES_H

#include "backend/cpu/conv/shape.h"
#include "backend/cpu/integer.h"

/* Whether the taps of a line are adjacent in a small image, and --tile does not request patches in
 * blocks. */
bool takt_integer_lines_fits(const takt_planner *p, const takt_conv_shape *s);
/* How many bytes of a line of a window the kernel reads in place, as runs of an image; 0: patches
 * are copied. */
size_t takt_integer_lines_run(const takt_conv_shape *s, const takt_gemm_i8_info *info);
/* For p->group, whose first node is that convolution; `n` as takt_integer_compile left it. */
TAKT_MUST_USE takt_status takt_integer_lines_compile(takt_planner *p, const takt_conv_shape *s,
                                                     const takt_integer *n);

#endif
