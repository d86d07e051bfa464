/* rnn_f32_neon.c - recurrent cells, 128-bit vectors. */
#include "kernel/rnn_f32/rnn_f32_body.h"
