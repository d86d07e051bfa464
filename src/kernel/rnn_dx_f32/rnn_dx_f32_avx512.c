/* rnn_dx_f32_avx512.c - gradients of recurrent cells, 512-bit vectors. */
#include "kernel/rnn_dx_f32/rnn_dx_f32_body.h"
