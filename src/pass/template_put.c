/* template_put.c - substitutes other sizes, in place, into a graph that takt_template_size made. */
#include <string.h>

#include "ir/tensor.h"
#include "pass/template.h"

void takt_template_write(const takt_template *t, const int64_t *cells, takt_graph *g)
{
    for (size_t i = 0; i < t->type_count; i++) {
        const takt_patch *p = &t->types[i];
        takt_type *types = (takt_type *)(uintptr_t)g->nodes[p->node].type; /* the graph's own */
        types[p->which].dim[p->index] = cells[p->cell];
    }
    for (size_t i = 0; i < t->shape_count; i++) {
        const takt_patch *p = &t->shapes[i];
        takt_dim *dims = (takt_dim *)(uintptr_t)g->nodes[p->node].attr[p->which].dims;
        dims[p->index] = cells[p->cell];
    }
    for (size_t i = 0; i < t->value_count; i++) {
        const takt_tensor *value = g->nodes[t->values[i].node].attr[0].tensor;
        memcpy(takt_tensor_data(value), &cells[t->values[i].cell], sizeof *cells);
    }
    for (size_t i = 0; i < g->slot_count; i++)
        g->slots[i].type = *takt_type_of(g, g->slots[i].value);
}

takt_status takt_template_put(const takt_template *t, const int64_t *cells, takt_graph *g)
{
    takt_template_write(t, cells, g);
    return takt_template_check_plain(t, g);
}
