/* ggml_few_neon.c - compiled for neon. */
#include "kernel/ggml_few/ggml_few_body.h"
