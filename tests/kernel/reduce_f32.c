/* reduce_f32.c - checks the reductions of f32. */
#include "check_reduce.h"

check_fn check_reduce_f32;

void check_reduce_f32(takt_check *c, const takt_kernel *reference)
{
    check_reduce(c, reference, REDUCE_F32);
}
