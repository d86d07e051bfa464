/* before.h - the values that a value is computed from. */
#ifndef TAKT_IR_BEFORE_H
#define TAKT_IR_BEFORE_H

#include <string.h>

#include "ir/graph.h"

/* Marks `id` and everything it is computed from; `before` has g->count bytes. */
static inline void takt_graph_before(const takt_graph *g, takt_id id, unsigned char *before)
{
    memset(before, 0, g->count);
    before[id] = 1;
    for (size_t i = (size_t)id + 1; i-- > 0;) /* inputs have smaller ids */
        for (uint32_t k = 0; before[i] && k < g->nodes[i].in_count; k++)
            if (g->nodes[i].in[k] != TAKT_NONE)
                before[g->nodes[i].in[k]] = 1;
}

#endif
