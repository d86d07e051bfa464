/* rnn_f32_avx2.c - recurrent cells, 256-bit vectors. */
#include "kernel/rnn_f32/rnn_f32_body.h"
