/* gemm_f32_stored.h - the part of check_gemm_f32 about weights in other forms than f32. */
#ifndef TAKT_TESTS_KERNEL_GEMM_F32_STORED_H
#define TAKT_TESTS_KERNEL_GEMM_F32_STORED_H

#include "check.h"

void check_gemm_f32_stored(takt_check *c, const takt_kernel *reference);

#endif
