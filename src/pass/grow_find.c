/* grow_find.c - caches that grow: inputs that outputs append rows to. */
#include "base/ctx.h"
#include "op/ops.h"
#include "pass/grow.h"

size_t takt_growth_input(const takt_graph *g, takt_id id)
{
    size_t i = 0;
    while (i < g->input_count && g->inputs[i].id != id)
        i++;
    return i;
}

/* A cast to the type that it has already, as exporters leave behind. */
static bool is_no_cast(const takt_graph *g, const takt_node *n)
{
    return n->op == &takt_op_cast && takt_type_of(g, n->in[0])->dtype == n->type->dtype;
}

/* The value that `id` is a transpose of, through any number of them. Axis i of `id` is axis perm[i]
 * of it. */
static takt_id untransposed(const takt_graph *g, takt_id id, int64_t *perm)
{
    const int rank = takt_type_of(g, id)->rank;
    const takt_node *n = &g->nodes[id];
    for (int d = 0; d < rank; d++)
        perm[d] = d;
    for (; n->op == &takt_op_transpose || is_no_cast(g, n); n = &g->nodes[id]) {
        const takt_attr *by = n->op == &takt_op_transpose ? takt_node_attr(n, "perm") : NULL;
        for (int d = 0; by != NULL && d < rank; d++)
            perm[d] = by->count == 0 ? rank - 1 - perm[d] : by->i64s[perm[d]];
        id = n->in[0];
    }
    return id;
}

static bool is_same_gate(const takt_growing *a, const takt_growing *b)
{
    return a->is_gated == b->is_gated &&
           (!a->is_gated ||
            (a->gate.choice == b->gate.choice && a->gate.is_inverted == b->gate.is_inverted));
}

/* Whether output `id` is an input with rows appended. */
static bool is_grown(takt_growth *w, takt_id id, takt_growing *out)
{
    const takt_graph *g = w->c.in;
    int64_t before[TAKT_MAX_RANK];
    size_t name;
    *out = (takt_growing){.output = id};
    out->all = untransposed(g, id, out->perm);
    out->is_gated = takt_gate_match(g, id, &out->gate);
    if (out->is_gated)
        out->all = out->gate.all;
    const takt_node *n = &g->nodes[out->all];
    if (n->op != &takt_op_concat || n->in_count != 2 || n->in[0] == n->in[1] ||
        (w->count > 0 && !is_same_gate(&w->list[0], out)))
        return false;
    const int64_t given = takt_node_int(n, "axis");
    out->past = untransposed(g, out->is_gated ? g->nodes[n->in[0]].in[0] : n->in[0], before);
    out->input = takt_growth_input(g, out->past);
    out->axis = (int)(given < 0 ? given + n->type->rank : given);
    const takt_type *type = takt_type_of(g, n->in[0]);
    for (int d = 0; d < type->rank; d++)
        if (before[out->perm[d]] != d)
            return false;
    if (out->input == g->input_count || takt_dtype_bits(type->dtype) < 8 ||
        !takt_dim_is_name(g->dims, type->dim[out->axis], &name) ||
        (w->count > 0 && name != w->name))
        return false;
    w->name = name;
    w->rows = type->dim[out->axis];
    return true;
}

takt_status takt_growth_find(takt_growth *w)
{
    const takt_graph *g = w->c.in;
    w->list = takt_arena_array(&w->c.arena, g->output_count + 1, sizeof *w->list);
    if (w->list == NULL)
        return TAKT_ERR_MEMORY;
    const takt_error before = g->ctx->error;
    g->ctx->error = (takt_error){0};
    for (size_t i = 0; i < g->output_count; i++) {
        takt_growing *next = &w->list[w->count];
        size_t k = 0;
        if (!is_grown(w, g->outputs[i].id, next))
            continue;
        while (k < w->count && w->list[k].past != next->past)
            k++;
        w->count += k == w->count;
    }
    /* What could not be compared for lack of memory looks like something else. */
    TAKT_TRY(takt_dims_blame(g->dims, TAKT_OK));
    if (g->ctx->error.status == TAKT_ERR_MEMORY)
        return TAKT_ERR_MEMORY;
    g->ctx->error = before;
    if (w->count > 0)
        return TAKT_OK;
    takt_fail(g->ctx, TAKT_E_ARGUMENT, "no output of the model is an input with rows appended");
    return takt_fail_hint(g->ctx, "an exporter's past_key_values and present have to be there");
}

bool takt_growth_has(const takt_growth *w, takt_id id)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->list[i].past == id || w->list[i].output == id)
            return true;
    return false;
}
