/* check_map.h - one check for all element-wise families. */
#ifndef TAKT_TESTS_KERNEL_CHECK_MAP_H
#define TAKT_TESTS_KERNEL_CHECK_MAP_H

#include "check.h"
#include "kernel/map/map.h"

typedef enum map_type { MAP_F32, MAP_F64, MAP_I32, MAP_I64, MAP_BOOL } map_type;

/* `type` determines the size of elements and their values. */
void check_map(takt_check *c, const takt_kernel *reference, map_type type);

#endif
