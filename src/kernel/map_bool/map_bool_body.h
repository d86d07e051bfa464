/* map_bool_body.h - element-wise operations on bytes that are 0 or 1; every variant is this,
 * compiled for its ISA. */
#include "kernel/simd/simd.h"

#define T uint8_t
#define U unsigned
#define BITS 8
#define IS_SIGNED 0

#include "kernel/map/int_body.h"

static inline uint8_t flip_of(uint8_t x)
{
    return !x;
}

static void map_FLIP(ARGS)
{
    (void)fault;
    unary(dst, src[0], is_scalar[0] != 0, n, flip_of);
}

/* Bools have no arithmetic; minimum and maximum are their AND and OR. */
static const takt_map_table bool_table = {{
    [TAKT_MAP_COPY] = map_COPY,
    [TAKT_MAP_NOT] = map_FLIP,
    [TAKT_MAP_AND] = map_AND,
    [TAKT_MAP_OR] = map_OR,
    [TAKT_MAP_XOR] = map_XOR,
    [TAKT_MAP_MIN] = map_MIN,
    [TAKT_MAP_MAX] = map_MAX,
    [TAKT_MAP_EQ] = map_EQ,
    [TAKT_MAP_NE] = map_NE,
    [TAKT_MAP_LT] = map_LT,
    [TAKT_MAP_LE] = map_LE,
    [TAKT_MAP_GT] = map_GT,
    [TAKT_MAP_GE] = map_GE,
    [TAKT_MAP_SELECT] = map_SELECT,
}};

TAKT_KERNELS(map_bool, TAKT_KERNEL(map_bool, SIMD_NAME, SIMD_RANK, map_COPY, &bool_table));
