/* conv_f32_avx512.c - lines of a convolution, sixteen columns at a time. */
#include "kernel/conv_f32/conv_f32_body.h"
