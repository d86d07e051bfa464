/* rnn_dx_f32_sve256.c - gradients of recurrent cells, scalable vectors of 256 bits. */
#include "kernel/rnn_dx_f32/rnn_dx_f32_body.h"
