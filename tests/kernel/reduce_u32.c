/* reduce_u32.c - checks the reductions of u32. */
#include "check_reduce.h"

check_fn check_reduce_u32;

void check_reduce_u32(takt_check *c, const takt_kernel *reference)
{
    check_reduce(c, reference, REDUCE_I32);
}
