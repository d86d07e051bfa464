/* rnn_f64_avx512.c - recurrent cells, 512-bit vectors. */
#include "kernel/rnn_f64/rnn_f64_body.h"
