/* map_u32.c - checks the element-wise operations of u32. */
#include "check_map.h"

check_fn check_map_u32;

void check_map_u32(takt_check *c, const takt_kernel *reference)
{
    check_map(c, reference, MAP_I32);
}
