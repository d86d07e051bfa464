/* rnn_f64_sve256.c - recurrent cells, scalable vectors of 256 bits. */
#include "kernel/rnn_f64/rnn_f64_body.h"
