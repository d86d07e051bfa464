/* ggml_fill_avx2.c - compiled for avx2. */
#include "kernel/ggml_fill/ggml_fill_body.h"
