/* rnn_f32_sve512.c - recurrent cells, scalable vectors of 512 bits. */
#include "kernel/rnn_f32/rnn_f32_body.h"
