/* direct_f32_avx2.c - products with a matrix that is read where it lies, eight columns a vector. */
#include "kernel/direct_f32/direct_f32_body.h"
