/* index.h - iterating over the interpreter's dense arrays by coordinates. */
#ifndef TAKT_OP_UTIL_INDEX_H
#define TAKT_OP_UTIL_INDEX_H

#include "op/ops.h"

static inline void takt_index_at(const takt_array *a, size_t flat, int64_t index[TAKT_MAX_RANK])
{
    for (int d = a->rank - 1; d >= 0; d--) {
        index[d] = (int64_t)(flat % (size_t)a->dim[d]);
        flat /= (size_t)a->dim[d];
    }
}

static inline size_t takt_index_flat(const takt_array *a, const int64_t *index)
{
    size_t flat = 0;
    for (int d = 0; d < a->rank; d++)
        flat = flat * (size_t)a->dim[d] + (size_t)index[d];
    return flat;
}

/* The product of dimensions [from, to). */
static inline size_t takt_index_span(const takt_array *a, int from, int to)
{
    size_t count = 1;
    for (int d = from; d < to; d++)
        count *= (size_t)a->dim[d];
    return count;
}

/* to[i] = from[j]; both have one element type. */
static inline void takt_index_move(takt_array *to, size_t i, const takt_array *from, size_t j)
{
    if (takt_dtype_is_float(to->dtype))
        to->f[i] = from->f[j];
    else
        to->i[i] = from->i[j];
}

/* to[i] += a * b, integers wrapping. */
static inline void takt_index_add_product(takt_array *to, size_t i, const takt_array *a, size_t j,
                                          const takt_array *b, size_t k)
{
    if (takt_dtype_is_float(to->dtype))
        to->f[i] += a->f[j] * b->f[k];
    else
        to->i[i] = (int64_t)((uint64_t)to->i[i] + (uint64_t)a->i[j] * (uint64_t)b->i[k]);
}

void takt_index_copy(takt_array *to, const takt_array *from);
/* Element `element` of index input `input`, negative ones counted from the end of a dimension of
 * `size`; TAKT_E_INDEX if outside. */
TAKT_MUST_USE takt_status takt_index_read(const takt_eval *e, size_t input, size_t element,
                                          int64_t size, int64_t *out);

typedef enum takt_scatter { TAKT_SET, TAKT_ADD, TAKT_MUL, TAKT_MAX, TAKT_MIN } takt_scatter;
extern const char *const takt_scatter_names[];
/* to[i] = to[i] op from[j]; max and min propagate NaN. */
void takt_index_combine(takt_scatter how, takt_array *to, size_t i, const takt_array *from,
                        size_t j);

#endif
