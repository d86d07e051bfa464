/* reduce_u64.c - checks the reductions of u64. */
#include "check_reduce.h"

check_fn check_reduce_u64;

void check_reduce_u64(takt_check *c, const takt_kernel *reference)
{
    check_reduce(c, reference, REDUCE_I64);
}
