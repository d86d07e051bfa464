/* direct_f32_neon.c - products with a matrix that is read where it lies, four columns a vector. */
#include "kernel/direct_f32/direct_f32_body.h"
