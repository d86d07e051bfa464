/* ggml_fill_avx512.c - compiled for avx512. */
#include "kernel/ggml_fill/ggml_fill_body.h"
