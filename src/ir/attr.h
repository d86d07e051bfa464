/* attr.h - making, comparing, hashing, copying and printing attribute values. */
#ifndef TAKT_IR_ATTR_H
#define TAKT_IR_ATTR_H

#include "ir/graph.h"

static inline takt_attr takt_attr_i64(int64_t v)
{
    return (takt_attr){.i64 = v, .is_set = true};
}
static inline takt_attr takt_attr_f64(double v)
{
    return (takt_attr){.f64 = v, .is_set = true};
}
static inline takt_attr takt_attr_bool(bool v)
{
    return (takt_attr){.boolean = v, .is_set = true};
}
static inline takt_attr takt_attr_dtype(takt_dtype v)
{
    return (takt_attr){.dtype = v, .is_set = true};
}
static inline takt_attr takt_attr_string(const char *v)
{
    return (takt_attr){.string = v, .is_set = true};
}
static inline takt_attr takt_attr_i64s(const int64_t *v, size_t n)
{
    return (takt_attr){.i64s = v, .count = (uint32_t)n, .is_set = true};
}
static inline takt_attr takt_attr_f64s(const double *v, size_t n)
{
    return (takt_attr){.f64s = v, .count = (uint32_t)n, .is_set = true};
}
static inline takt_attr takt_attr_shape(const takt_dim *v, size_t n)
{
    return (takt_attr){.dims = v, .count = (uint32_t)n, .is_set = true};
}
static inline takt_attr takt_attr_type_of(const takt_type *v)
{
    return (takt_attr){.type = v, .is_set = true};
}
static inline takt_attr takt_attr_graph(takt_graph *v)
{
    return (takt_attr){.graph = v, .is_set = true};
}

uint64_t takt_attr_hash(const takt_attr_def *def, const takt_attr *attr, uint64_t seed);
bool takt_attr_same(const takt_attr_def *def, const takt_attr *a, const takt_attr *b);
/* Deep copy into g's arena; holds references to tensors and subgraphs. */
TAKT_MUST_USE takt_status takt_attr_copy(takt_graph *g, const takt_attr_def *def,
                                         const takt_attr *from, takt_attr *to);
/* In quotes, with escapes, as the language reads it. */
void takt_string_print(const char *string, takt_text *text);
/* "[1, 1]", "relu", "f32": as the parser reads it. The printer handles TENSOR and GRAPH. */
void takt_attr_print(takt_dims *dims, const takt_attr_def *def, const takt_attr *attr,
                     takt_text *text);

#endif
