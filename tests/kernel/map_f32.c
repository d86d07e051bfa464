/* map_f32.c - checks the element-wise operations of f32. */
#include "check_map.h"

check_fn check_map_f32;

void check_map_f32(takt_check *c, const takt_kernel *reference)
{
    check_map(c, reference, MAP_F32);
}
