/* ggml_fill_neon.c - compiled for neon. */
#include "kernel/ggml_fill/ggml_fill_body.h"
