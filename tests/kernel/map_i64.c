/* map_i64.c - checks the element-wise operations of i64. */
#include "check_map.h"

check_fn check_map_i64;

void check_map_i64(takt_check *c, const takt_kernel *reference)
{
    check_map(c, reference, MAP_I64);
}
