/* planted.h - the lists of broken kernels that planted.c runs. */
#ifndef TAKT_TESTS_KERNEL_PLANTED_H
#define TAKT_TESTS_KERNEL_PLANTED_H

#include "kernel/map/map.h"

typedef struct planted_map {
    const char *name, *family; /* map_f32 or map_i32 */
    takt_map_op op;
    takt_map_fn *run;
} planted_map;

typedef struct planted_other {
    const char *name, *family; /* a family whose check planted.c knows */
    takt_kernel_fn *run;
} planted_other;

extern const planted_map planted_maps[];
extern const size_t planted_map_count;
extern const planted_other planted_reductions[];
extern const size_t planted_other_count;
extern const planted_other planted_products[];
extern const size_t planted_product_count;

#endif
