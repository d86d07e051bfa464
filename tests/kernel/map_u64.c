/* map_u64.c - checks the element-wise operations of u64. */
#include "check_map.h"

check_fn check_map_u64;

void check_map_u64(takt_check *c, const takt_kernel *reference)
{
    check_map(c, reference, MAP_I64);
}
