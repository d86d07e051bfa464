/* reduce_f64.c - checks the reductions of f64. */
#include "check_reduce.h"

check_fn check_reduce_f64;

void check_reduce_f64(takt_check *c, const takt_kernel *reference)
{
    check_reduce(c, reference, REDUCE_F64);
}
