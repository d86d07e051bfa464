/* direct_f32_avx512.c - products with a matrix that is read where it lies, sixteen columns a
 * vector. */
#include "kernel/direct_f32/direct_f32_body.h"
