/* match.c - predicates on nodes for rules. */
#include "pass/match.h"

#include <math.h>
#include <string.h>

const takt_node *takt_match_op(const takt_graph *g, takt_id id, const takt_op *op)
{
    return id != TAKT_NONE && g->nodes[id].op == op ? &g->nodes[id] : NULL;
}

bool takt_match_is_constant(const takt_graph *g, takt_id id)
{
    return takt_match_op(g, id, &takt_op_constant) != NULL;
}

bool takt_match_value(const takt_graph *g, takt_id id, double value)
{
    const takt_node *n = takt_match_op(g, id, &takt_op_constant);
    const size_t count = n != NULL ? takt_tensor_count(n->attr[0].tensor) : 0;
    if (count == 0 || count > 64)
        return false;
    const takt_dtype dtype = n->type->dtype;
    const void *data = takt_tensor_data(n->attr[0].tensor);
    for (size_t i = 0; i < count; i++) {
        const double x = takt_dtype_is_float(dtype)
                             ? takt_dtype_get_f(dtype, data, i)
                             : takt_dtype_to_double(dtype, takt_dtype_get_i(dtype, data, i));
        if (x != value || (takt_dtype_is_float(dtype) && signbit(x) != signbit(value)))
            return false;
    }
    return true;
}

bool takt_match_is_fixed(const takt_graph *g, takt_id id)
{
    enum { NODES = 128 };
    takt_id stack[NODES] = {id};
    size_t count = 1, seen = 0;
    while (count > 0) {
        const takt_node *n = &g->nodes[stack[--count]];
        if (n->op == &takt_op_constant)
            continue;
        if (n->in_count == 0 || (n->op->traits & (TAKT_CONTROL | TAKT_UNIQUE)) != 0 ||
            ++seen == NODES)
            return false;
        for (uint32_t k = 0; k < n->in_count; k++) {
            if (n->in[k] == TAKT_NONE)
                continue;
            if (count == NODES)
                return false;
            stack[count++] = n->in[k];
        }
    }
    return true;
}

bool takt_match_type(const takt_graph *g, takt_id a, const takt_type *type)
{
    return takt_type_same(g->dims, takt_type_of(g, a), type);
}

bool takt_match_single(const takt_rewrite *r, uint32_t k)
{
    return r->uses[r->in->nodes[r->id].in[k]] == 1;
}

bool takt_match_is_scalar(const takt_graph *g, takt_id id)
{
    size_t count;
    return takt_type_count(takt_type_of(g, id), &count) && count == 1;
}
