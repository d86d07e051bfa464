/* rnn_f64_scalar.c - recurrent cells, the definition: one unit at a time. */
#include "kernel/rnn_f64/rnn_f64_body.h"
