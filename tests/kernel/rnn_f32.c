/* rnn_f32.c - checks recurrent cells of f32. */
#include "check_rnn.h"

check_fn check_rnn_f32;

void check_rnn_f32(takt_check *c, const takt_kernel *reference)
{
    check_rnn(c, reference, sizeof(float));
}
