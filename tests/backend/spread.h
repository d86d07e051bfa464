/* spread.h - inputs of a session bound as slices and in Fortran order instead of dense. */
#ifndef TAKT_TESTS_BACKEND_SPREAD_H
#define TAKT_TESTS_BACKEND_SPREAD_H

#include <stdlib.h>
#include <string.h>

#include "api/session/session.h"

/* Buffers that were bound, one per input. */
typedef struct spread_buffers {
    char *at[64];
    size_t views, moves; /* how they are read */
} spread_buffers;

/* Strides of input number `i`; distance in elements from the first to the last. */
static size_t spread_strides(takt_tensor_view *v, size_t i)
{
    const int last = v->rank - 1;
    int64_t stride = i % 3 == 2 ? 2 : 1, span = 1;
    for (int k = 0; k < v->rank; k++) {
        const int d = i % 3 == 0 ? k : last - k; /* the first axis innermost: Fortran order */
        v->strides[d] = stride;
        stride *= v->dims[d];
        if (i % 3 == 1 && d == last)
            stride += 3; /* a gap after every row */
        span += v->strides[d] * (v->dims[d] - 1);
    }
    return (size_t)span;
}

/* Moves the dense elements of the input to their positions. */
static void spread_copy(const takt_tensor_view *v, const char *dense, size_t count)
{
    const size_t size = (size_t)takt_dtype_bits(v->dtype) / 8;
    int64_t index[TAKT_MAX_RANK] = {0}, at = 0;
    for (size_t i = 0; i < count; i++) {
        memcpy((char *)v->data + at * (int64_t)size, dense + i * size, size);
        for (int d = v->rank - 1; d >= 0; d--) {
            at += v->strides[d];
            if (++index[d] < v->dims[d])
                break;
            at -= v->strides[d] * v->dims[d];
            index[d] = 0;
        }
    }
}

/* Binds input `i` with the values from its own memory. */
static bool spread_bind(takt_session *s, size_t i, spread_buffers *b)
{
    takt_tensor_view v = *takt_session_input(s, i);
    size_t count = 1;
    for (int d = 0; d < v.rank; d++)
        count *= (size_t)v.dims[d];
    if (v.rank == 0 || count == 0 || takt_dtype_bits(v.dtype) < 8 || i >= 64)
        return true;
    const char *dense = v.data;
    const size_t size = (size_t)takt_dtype_bits(v.dtype) / 8;
    b->at[i] = calloc(spread_strides(&v, i), size);
    if (b->at[i] == NULL)
        return false;
    v.data = b->at[i];
    spread_copy(&v, dense, count);
    const bool good = takt_session_bind(s, s->input_descs[i].name, &v) == TAKT_OK;
    b->views += good && s->inputs[i].is_view;
    b->moves += good && takt_port_moves(&s->inputs[i]);
    return good;
}

static void spread_free(spread_buffers *b)
{
    for (size_t i = 0; i < 64; i++)
        free(b->at[i]);
}

#endif
