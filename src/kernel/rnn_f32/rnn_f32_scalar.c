/* rnn_f32_scalar.c - recurrent cells, the definition: one unit at a time. */
#include "kernel/rnn_f32/rnn_f32_body.h"
