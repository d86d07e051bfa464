/* gemm_f32_stored.h - what checks of products share. */
#ifndef TAKT_TESTS_KERNEL_GEMM_F32_STORED_H
#define TAKT_TESTS_KERNEL_GEMM_F32_STORED_H

#include "check.h"
#include "kernel/gemm_f32/gemm_f32.h"

/* The part of check_gemm_f32 about weights in other forms than f32. */
void check_gemm_f32_stored(takt_check *c, const takt_kernel *reference);

/* A tail that counts its calls for each element, and marks it; its user is the product. */
takt_gemm_f32_tail_fn check_gemm_tail;

#endif
