/* math_f64.h - all elementary functions of doubles: name_f64(vd) for each. */
#ifndef TAKT_KERNEL_MATH_F64_MATH_F64_H
#define TAKT_KERNEL_MATH_F64_MATH_F64_H

#include "kernel/math_f64/atan_f64.h"
#include "kernel/math_f64/erf_f64.h"
#include "kernel/math_f64/exp_f64.h"
#include "kernel/math_f64/log_f64.h"
#include "kernel/math_f64/pow_f64.h"
#include "kernel/math_f64/trig_f64.h"

#endif
