/* ggml_f32_avx2.c - floats of ggml's block formats, compiled for avx2. */
#include "kernel/ggml_f32/ggml_f32_body.h"
