/* rnn_dx_f32_avx2.c - gradients of recurrent cells, 256-bit vectors. */
#include "kernel/rnn_dx_f32/rnn_dx_f32_body.h"
