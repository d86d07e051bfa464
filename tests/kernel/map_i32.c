/* map_i32.c - checks the element-wise operations of i32. */
#include "check_map.h"

check_fn check_map_i32;

void check_map_i32(takt_check *c, const takt_kernel *reference)
{
    check_map(c, reference, MAP_I32);
}
