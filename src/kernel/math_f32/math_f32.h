/* math_f32.h - all elementary functions of floats: name_f32(vf) for each. */
#ifndef TAKT_KERNEL_MATH_F32_MATH_F32_H
#define TAKT_KERNEL_MATH_F32_MATH_F32_H

#include "kernel/math_f32/erf_f32.h"
#include "kernel/math_f32/exp_f32.h"
#include "kernel/math_f32/log_f32.h"
#include "kernel/math_f32/trig_f32.h"
#include "kernel/math_f32/wide_f32.h"

#endif
