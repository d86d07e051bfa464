/* ggml_f32_avx512.c - floats of ggml's block formats, compiled for avx512. */
#include "kernel/ggml_f32/ggml_f32_body.h"
