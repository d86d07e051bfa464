/* rnn_f32_sve256.c - recurrent cells, scalable vectors of 256 bits. */
#include "kernel/rnn_f32/rnn_f32_body.h"
