/* ggml_few_avx512.c - compiled for avx512. */
#include "kernel/ggml_few/ggml_few_body.h"
