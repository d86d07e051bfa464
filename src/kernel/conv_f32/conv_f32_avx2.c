/* conv_f32_avx2.c - lines of a convolution, up to sixteen columns at a time. */
#include "kernel/conv_f32/conv_f32_body.h"
