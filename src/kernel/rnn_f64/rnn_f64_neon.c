/* rnn_f64_neon.c - recurrent cells, 128-bit vectors. */
#include "kernel/rnn_f64/rnn_f64_body.h"
