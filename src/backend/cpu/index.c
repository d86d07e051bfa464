/* index.c - sizes around an axis, and integer attributes by name. */
#include "backend/cpu/index.h"

#include <string.h>

takt_axis_split takt_axis_split_of(const takt_type *type, int64_t axis)
{
    takt_axis_split s = {1, 1, 1};
    axis += axis < 0 ? type->rank : 0;
    for (int d = 0; d < type->rank; d++)
        *(d < axis ? &s.outer : d == axis ? &s.size : &s.inner) *= (size_t)type->dim[d];
    return s;
}

int64_t takt_node_int(const takt_node *n, const char *name)
{
    const int i = takt_op_attr_index(n->op, name, strlen(name));
    if (i < 0)
        return 0;
    return n->op->attrs[i].type == TAKT_ATTR_BOOL ? (int64_t)n->attr[i].boolean : n->attr[i].i64;
}
