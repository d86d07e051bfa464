/* rows_f64.c - checks softmax and norms of f64. */
#include "check_rows.h"

check_fn check_rows_f64;

void check_rows_f64(takt_check *c, const takt_kernel *reference)
{
    check_rows(c, reference, sizeof(double));
}
