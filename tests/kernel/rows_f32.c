/* rows_f32.c - checks softmax and norms of f32. */
#include "check_rows.h"

check_fn check_rows_f32;

void check_rows_f32(takt_check *c, const takt_kernel *reference)
{
    check_rows(c, reference, sizeof(float));
}
