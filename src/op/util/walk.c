/* walk.c - visits an array of the interpreter in another array's order. */
#include "op/util/walk.h"

static void start(takt_walk *walk, const takt_array *over)
{
    *walk = (takt_walk){.rank = over->rank};
    for (int i = 0; i < over->rank; i++)
        walk->dim[i] = over->dim[i];
}

void takt_walk_broadcast(takt_walk *walk, const takt_array *x, const takt_array *over)
{
    start(walk, over);
    const int lead = over->rank - x->rank;
    int64_t stride = 1;
    for (int i = x->rank - 1; i >= 0; i--) {
        walk->step[i + lead] = x->dim[i] == 1 ? 0 : stride;
        stride *= x->dim[i];
    }
}

void takt_walk_reduce(takt_walk *walk, const takt_array *over, const bool *is_reduced)
{
    start(walk, over);
    int64_t stride = 1;
    for (int i = over->rank - 1; i >= 0; i--) {
        walk->step[i] = is_reduced[i] ? 0 : stride;
        stride *= is_reduced[i] ? 1 : over->dim[i];
    }
}

void takt_walk_next(takt_walk *walk)
{
    int64_t at = (int64_t)walk->at;
    for (int i = walk->rank - 1; i >= 0; i--) {
        at += walk->step[i];
        if (++walk->index[i] < walk->dim[i])
            break;
        at -= walk->step[i] * walk->dim[i];
        walk->index[i] = 0;
    }
    walk->at = (size_t)at;
}

void takt_walk_axes(const takt_attr *axes, int rank, bool is_axis[static TAKT_MAX_RANK])
{
    for (int i = 0; i < TAKT_MAX_RANK; i++)
        is_axis[i] = axes->count == 0;
    for (uint32_t i = 0; i < axes->count; i++)
        is_axis[axes->i64s[i] < 0 ? axes->i64s[i] + rank : axes->i64s[i]] = true;
}

takt_rows takt_rows_of(const takt_array *x, int64_t axis)
{
    const int at = (int)(axis < 0 ? axis + x->rank : axis);
    takt_rows rows = {1, (size_t)x->dim[at], 1};
    for (int i = 0; i < at; i++)
        rows.outer *= (size_t)x->dim[i];
    for (int i = at + 1; i < x->rank; i++)
        rows.inner *= (size_t)x->dim[i];
    return rows;
}
