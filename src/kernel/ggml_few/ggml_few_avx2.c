/* ggml_few_avx2.c - compiled for avx2. */
#include "kernel/ggml_few/ggml_few_body.h"
