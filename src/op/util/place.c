/* place.c - the position of a part of an axis whose start is known only at run time. */
#include "op/util/place.h"

#include "op/util/index.h"

takt_status takt_place_find(const takt_eval *e, const takt_array *whole, const takt_array *part,
                            size_t start, int64_t axis, takt_place *place)
{
    const int at = (int)(axis < 0 ? axis + whole->rank : axis);
    const int64_t size = whole->dim[at], given = e->in[start].i[place->which];
    const int64_t first = given < 0 ? given + size : given;
    if (given < -size || given > size || part->dim[at] > size - first)
        return takt_fail(e->ctx, TAKT_E_INDEX,
                         "%s: %lld elements from start %lld do not lie in "
                         "axis %d of size %lld",
                         e->node->op->name, (long long)part->dim[at], (long long)given, at,
                         (long long)size);
    const size_t inner = takt_index_span(whole, at + 1, whole->rank);
    *place = (takt_place){.which = place->which,
                          .outer = takt_index_span(whole, 0, at),
                          .whole = (size_t)size * inner,
                          .part = (size_t)part->dim[at] * inner,
                          .offset = (size_t)first * inner};
    return TAKT_OK;
}
