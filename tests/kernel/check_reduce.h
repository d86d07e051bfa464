/* check_reduce.h - one check for all reductions. */
#ifndef TAKT_TESTS_KERNEL_CHECK_REDUCE_H
#define TAKT_TESTS_KERNEL_CHECK_REDUCE_H

#include "check.h"
#include "kernel/reduce/reduce.h"

typedef enum reduce_type { REDUCE_F32, REDUCE_F64, REDUCE_I32, REDUCE_I64 } reduce_type;

void check_reduce(takt_check *c, const takt_kernel *reference, reduce_type type);

#endif
