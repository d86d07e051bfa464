/* reduce_i32.c - checks the reductions of i32. */
#include "check_reduce.h"

check_fn check_reduce_i32;

void check_reduce_i32(takt_check *c, const takt_kernel *reference)
{
    check_reduce(c, reference, REDUCE_I32);
}
