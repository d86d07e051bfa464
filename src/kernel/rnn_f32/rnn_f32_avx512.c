/* rnn_f32_avx512.c - recurrent cells, 512-bit vectors. */
#include "kernel/rnn_f32/rnn_f32_body.h"
