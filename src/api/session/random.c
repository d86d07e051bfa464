/* random.c - random inputs that a model can run on: indices stay within the tables they index. */
#include "api/session/random.h"

#include <takt/array.h>

#include "api/session/session.h"
#include "base/mem.h"
#include "op/ops.h"

/* ---- which numbers an input may hold ---- */

/* Sizes of axes [from, to) of the current table. */
static int64_t least_of(int64_t bound, const takt_graph *g, takt_id table, int64_t from, int64_t to)
{
    const takt_type *t = takt_type_of(g, table);
    for (int64_t i = from; i < to && i >= 0 && i < t->rank; i++) {
        takt_dim d = t->dim[i];
        if (takt_dim_resolve(g->dims, d, &d) == TAKT_OK && takt_dim_is_number(d) && d > 0)
            bound = d < bound ? d : bound;
    }
    return bound;
}

/* If `n` uses its second input as indices: `bound`, or less if its table has fewer rows. */
static int64_t bound_of(int64_t bound, const takt_graph *g, const takt_node *n)
{
    const takt_type *table = takt_type_of(g, n->in[0]), *index = takt_type_of(g, n->in[1]);
    const bool is_nd = n->op == &takt_op_gather_nd || n->op == &takt_op_scatter_nd;
    if (n->op == &takt_op_gather || n->op == &takt_op_gather_elements ||
        n->op == &takt_op_scatter_elements || n->op == &takt_op_index_add) {
        const int64_t given = takt_node_int(n, "axis"),
                      axis = given < 0 ? given + table->rank : given;
        return least_of(bound, g, n->in[0], axis, axis + 1);
    }
    if (is_nd && index->rank > 0) {
        const int64_t batch = takt_node_int(n, "batch"), last = index->dim[index->rank - 1];
        return least_of(bound, g, n->in[0], batch, last >= 0 ? batch + last : table->rank);
    }
    if (n->op == &takt_op_cross_entropy)
        return least_of(bound, g, n->in[0], table->rank - 1, table->rank);
    return bound;
}

/* Whether the node's elements are those of its inputs. */
static bool keeps_values(const takt_node *n)
{
    return (n->op->traits & TAKT_VIEW) != 0 || n->op == &takt_op_cast;
}

/* `holds`: for each node, whether its elements come from the input. */
static int64_t find_bound(const takt_graph *g, takt_id input, bool *holds)
{
    int64_t bound = INT64_MAX;
    holds[input] = true;
    for (takt_id id = input + 1; id < g->count; id++) {
        const takt_node *n = takt_node_at(g, id);
        if (n->in_count > 1 && n->in[0] != TAKT_NONE && n->in[1] != TAKT_NONE && holds[n->in[1]])
            bound = bound_of(bound, g, n);
        for (uint32_t i = 0; keeps_values(n) && i < n->in_count; i++)
            holds[id] = holds[id] || (n->in[i] != TAKT_NONE && holds[n->in[i]]);
    }
    return bound;
}

takt_status takt_index_bound(const takt_graph *g, takt_id input, int64_t *bound)
{
    void *block;
    *bound = INT64_MAX;
    const takt_dtype dtype = takt_type_of(g, input)->dtype;
    if (takt_dtype_is_float(dtype) || dtype == TAKT_BOOL)
        return TAKT_OK;
    TAKT_TRY(takt_mem_zero(g->ctx, g->count, sizeof(bool), "uses of an input", &block));
    *bound = find_bound(g, input, block);
    takt_mem_put(g->ctx, block, g->count * sizeof(bool));
    return TAKT_OK;
}

takt_status takt_session_random(takt_session *s, size_t index, const takt_tensor_view *view,
                                uint64_t seed, uint32_t stream)
{
    int64_t bound;
    if (s == NULL)
        return TAKT_ERR_ARGUMENT;
    if (index >= takt_session_input_count(s))
        return takt_fail(s->ctx, TAKT_E_ARGUMENT, "takt_session_random: there is no input %zu",
                         index);
    if (view == NULL)
        view = takt_session_input(s, index);
    if (view == NULL)
        return takt_fail_memory(s->ctx, "an input", s->inputs[index].own_bytes);
    const takt_graph *g = s->plan->graph;
    TAKT_TRY(takt_index_bound(g, g->inputs[index].id, &bound));
    return takt_view_random_below(s->ctx, view, seed, stream, bound);
}
