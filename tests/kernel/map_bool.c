/* map_bool.c - checks the element-wise operations of bool. */
#include "check_map.h"

check_fn check_map_bool;

void check_map_bool(takt_check *c, const takt_kernel *reference)
{
    check_map(c, reference, MAP_BOOL);
}
