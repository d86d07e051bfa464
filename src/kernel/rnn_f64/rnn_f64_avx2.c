/* rnn_f64_avx2.c - recurrent cells, 256-bit vectors. */
#include "kernel/rnn_f64/rnn_f64_body.h"
