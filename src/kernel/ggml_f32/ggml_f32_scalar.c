/* ggml_f32_scalar.c - floats of ggml's block formats, compiled for scalar. */
#include "kernel/ggml_f32/ggml_f32_body.h"
