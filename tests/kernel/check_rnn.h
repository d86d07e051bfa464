/* check_rnn.h - one check for the recurrent cells of both float types. */
#ifndef TAKT_TESTS_KERNEL_CHECK_RNN_H
#define TAKT_TESTS_KERNEL_CHECK_RNN_H

#include "check.h"
#include "kernel/rnn/rnn.h"

void check_rnn(takt_check *c, const takt_kernel *reference, size_t size);

#endif
