/* ggml_f32_neon.c - floats of ggml's block formats, compiled for neon. */
#include "kernel/ggml_f32/ggml_f32_body.h"
