/* float_view.h - elements of a dense view of any float type, and values that all of them hold. */
#ifndef TAKT_TESTS_FLOAT_VIEW_H
#define TAKT_TESTS_FLOAT_VIEW_H

#include <takt/takt.h>

#include "base/half.h"

static inline double float_get(const takt_tensor_view *v, size_t i)
{
    switch (v->dtype) {
    case TAKT_F32: return (double)((const float *)v->data)[i];
    case TAKT_F64: return ((const double *)v->data)[i];
    case TAKT_F16: return takt_f16_to_f64(((const uint16_t *)v->data)[i]);
    default: return takt_bf16_to_f64(((const uint16_t *)v->data)[i]);
    }
}

static inline void float_put(const takt_tensor_view *v, size_t i, double x)
{
    switch (v->dtype) {
    case TAKT_F32: ((float *)v->data)[i] = (float)x; break;
    case TAKT_F64: ((double *)v->data)[i] = x; break;
    case TAKT_F16: ((uint16_t *)v->data)[i] = takt_f16_from_f64(x); break;
    default: ((uint16_t *)v->data)[i] = takt_bf16_from_f64(x);
    }
}

static inline size_t float_count(const takt_tensor_view *v)
{
    size_t count = 1;
    for (int i = 0; i < v->rank; i++)
        count *= (size_t)v->dims[i];
    return count;
}

/* A few values, exact in every type. */
static inline double float_value(size_t i, size_t salt)
{
    return (double)((int)((i * 2654435761u + salt * 40503u) >> 7 & 15) - 8) / 8;
}

#endif
