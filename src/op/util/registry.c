/* registry.c - the table of all ops, made from the list of files in src/op. */
#include <string.h>

#include "op/ops.h"

#define TAKT_OP(stem) extern const takt_op takt_op_##stem;
#include "op_list.inc"
#undef TAKT_OP

/* File names are sorted, and '.' sorts before every character of a name, so the table is too. */
const takt_op *const takt_ops[] = {
#define TAKT_OP(stem) &takt_op_##stem,
#include "op_list.inc"
#undef TAKT_OP
};

const size_t takt_op_count = sizeof takt_ops / sizeof *takt_ops;

static int compare(const char *name, size_t length, const char *with)
{
    const size_t other = strlen(with);
    const size_t shared = length < other ? length : other;
    const int order = shared > 0 ? memcmp(name, with, shared) : 0; /* no name may be NULL */
    return order != 0 ? order : (length > other) - (length < other);
}

const takt_op *takt_op_find(const char *name, size_t length)
{
    size_t low = 0, high = takt_op_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = compare(name, length, takt_ops[middle]->name);
        if (order == 0)
            return takt_ops[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const char *takt_op_nearest(const char *name)
{
    /* A short name with half of its letters wrong is not similar. */
    size_t best = strlen(name) / 2 < 3 ? strlen(name) / 2 : 3;
    const char *nearest = NULL;
    for (size_t i = 0; i < takt_op_count && best > 0; i++) {
        const size_t distance = takt_name_distance(name, takt_ops[i]->name, best);
        if (distance < best || (distance == best && nearest == NULL)) {
            best = distance;
            nearest = takt_ops[i]->name;
        }
    }
    return nearest;
}
