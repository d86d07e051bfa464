/* rnn_dx_f32_neon.c - gradients of recurrent cells, 128-bit vectors. */
#include "kernel/rnn_dx_f32/rnn_dx_f32_body.h"
