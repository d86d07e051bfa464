/* map_f64.c - checks the element-wise operations of f64. */
#include "check_map.h"

check_fn check_map_f64;

void check_map_f64(takt_check *c, const takt_kernel *reference)
{
    check_map(c, reference, MAP_F64);
}
