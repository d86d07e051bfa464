/* patch_copy.h - copies and coordinates that gathering patches needs. */
#ifndef TAKT_BACKEND_CPU_CONV_PATCH_COPY_H
#define TAKT_BACKEND_CPU_CONV_PATCH_COPY_H

#include <string.h>

#include "backend/cpu/conv/shape.h"

/* Short runs are the common case, and a call of memcpy costs more than they do. */
static inline void copy(float *to, const float *from, size_t n)
{
    if (n >= 64) {
        memcpy(to, from, n * sizeof *to);
        return;
    }
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        memcpy(to + i, from + i, 4 * sizeof *to);
    if (i < n && n >= 4) {
        memcpy(to + n - 4, from + n - 4, 4 * sizeof *to); /* some of them twice */
        return;
    }
    for (; i < n; i++)
        to[i] = from[i];
}

static inline void clear(float *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = 0;
}

/* The first input coordinate of a window, which padding may make negative. */
static inline ptrdiff_t start(const takt_conv_shape *s, int axis, size_t at)
{
    return (ptrdiff_t)(at * s->stride[axis]) - (ptrdiff_t)s->before[axis];
}

static inline bool inside(const takt_conv_shape *s, int axis, ptrdiff_t at)
{
    return at >= 0 && at < (ptrdiff_t)s->in[axis];
}

#endif
