/* rnn_f64.c - checks recurrent cells of f64. */
#include "check_rnn.h"

check_fn check_rnn_f64;

void check_rnn_f64(takt_check *c, const takt_kernel *reference)
{
    check_rnn(c, reference, sizeof(double));
}
