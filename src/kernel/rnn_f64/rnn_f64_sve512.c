/* rnn_f64_sve512.c - recurrent cells, scalable vectors of 512 bits. */
#include "kernel/rnn_f64/rnn_f64_body.h"
