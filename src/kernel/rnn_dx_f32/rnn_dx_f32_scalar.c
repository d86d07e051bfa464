/* rnn_dx_f32_scalar.c - gradients of recurrent cells, the definition: one unit at a time. */
#include "kernel/rnn_dx_f32/rnn_dx_f32_body.h"
