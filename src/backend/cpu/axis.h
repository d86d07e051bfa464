/* axis.h - sizes around an axis. */
#ifndef TAKT_BACKEND_CPU_AXIS_H
#define TAKT_BACKEND_CPU_AXIS_H

#include "ir/type.h"

/* x is [outer, size, inner]. */
typedef struct takt_axis_split {
    size_t outer, size, inner;
} takt_axis_split;

/* `axis` may count from the end. */
static inline takt_axis_split takt_axis_split_of(const takt_type *type, int64_t axis)
{
    takt_axis_split s = {1, 1, 1};
    axis += axis < 0 ? type->rank : 0;
    for (int d = 0; d < type->rank; d++)
        *(d < axis ? &s.outer : d == axis ? &s.size : &s.inner) *= (size_t)type->dim[d];
    return s;
}

#endif
