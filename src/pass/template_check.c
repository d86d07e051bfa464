/* template_check.c - rules that only numbers can break.
 *
 * Inference runs again with the numbers of a size. Most nodes need no check: if the dimensions that
 * an operation compares have the same names, they have the same numbers, too. */
#include <string.h>

#include "base/mem.h"
#include "ir/infer.h"
#include "ir/leaves.h"
#include "op/ops.h"
#include "pass/template.h"

enum { MOST_INPUTS = 64 };

takt_status takt_template_check_node(takt_graph *g, takt_id id)
{
    const takt_node *n = &g->nodes[id];
    const takt_type *types[MOST_INPUTS];
    if (n->in_count > MOST_INPUTS || n->in_count == 0)
        return TAKT_OK;
    for (uint32_t k = 0; k < n->in_count; k++)
        types[k] = n->in[k] == TAKT_NONE ? NULL : takt_type_of(g, n->in[k]);
    if (n->op == &takt_op_get)
        types[0] = g->nodes[n->in[0]].type;
    takt_infer in = {.graph = g,
                     .ctx = g->ctx,
                     .dims = g->dims,
                     .op = n->op,
                     .attr = n->attr,
                     .in_count = n->in_count,
                     .in = n->in,
                     .type = types,
                     .out_count = n->op->out_count == 0 ? 1 : (size_t)n->op->out_count};
    TAKT_TRY(n->op->infer != NULL ? n->op->infer(&in) : takt_infer_elementwise(&in));
    for (size_t k = 0; k < in.out_count && k < n->out_count; k++)
        if (in.out[k].dtype != n->type[k].dtype || in.out[k].rank != n->type[k].rank ||
            memcmp(in.out[k].dim, n->type[k].dim,
                   (size_t)n->type[k].rank * sizeof *n->type[k].dim) != 0)
            return takt_fail(g->ctx, TAKT_E_DIM, "%s: its size is not what its name said",
                             n->op->name);
    return TAKT_OK;
}

/* ---- nodes that no number breaks ---- */

/* How a node's inputs are related. */
typedef enum meeting {
    SOMEHOW,  /* it is checked every time */
    ALONE,    /* sizes of one input go to the result, and nothing is compared */
    EVERYONE, /* all inputs, aligned at the last axis, are as the result or 1 */
    PRODUCT,  /* a matrix product */
    NORM,     /* of rows of a size that is a number */
    SAME,     /* the same number of elements in other dimensions */
    JOINED,   /* one axis is the sum of those of the inputs, the others are equal */
} meeting;

static meeting meeting_of(const takt_op *op)
{
    static const struct {
        const takt_op *op;
        meeting is;
    } some[] = {{&takt_op_transpose, ALONE}, {&takt_op_unsqueeze, ALONE},
                {&takt_op_softmax, ALONE},   {&takt_op_cast, ALONE},
                {&takt_op_matmul, PRODUCT},  {&takt_op_layer_norm, NORM},
                {&takt_op_rms_norm, NORM},   {&takt_op_reshape, SAME},
                {&takt_op_concat, JOINED},   {&takt_op_broadcast, EVERYONE}};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        if (some[i].op == op)
            return some[i].is;
    return op->infer == NULL ? EVERYONE : SOMEHOW;
}

/* Axes of `a` before the last `but` are those of `out`, or 1. */
static bool meets(const takt_graph *g, const takt_type *a, const takt_type *out, int but)
{
    for (int d = but + 1; d <= a->rank; d++)
        if (d > out->rank ||
            (a->dim[a->rank - d] != 1 &&
             !takt_dim_same(g->dims, a->dim[a->rank - d], out->dim[out->rank - d])))
            return false;
    return true;
}

static bool is_product(const takt_graph *g, const takt_node *n)
{
    const takt_type *a = takt_type_of(g, n->in[0]), *b = takt_type_of(g, n->in[1]);
    return n->in_count == 2 && a->rank >= 2 && b->rank >= 2 &&
           takt_dim_same(g->dims, a->dim[a->rank - 1], b->dim[b->rank - 2]) &&
           meets(g, a, n->type, 2) && meets(g, b, n->type, 2);
}

static bool count(const takt_graph *g, const takt_type *t, takt_dim *product)
{
    bool is_good = true;
    *product = 1;
    for (int d = 0; d < t->rank && is_good; d++)
        is_good = takt_dim_make(g->dims, TAKT_DIM_MUL, *product, t->dim[d], product) == TAKT_OK;
    return is_good;
}

static bool is_same(const takt_graph *g, const takt_node *n)
{
    takt_dim have, want;
    return count(g, takt_type_of(g, n->in[0]), &have) && count(g, n->type, &want) &&
           takt_dim_same(g->dims, have, want);
}

static bool is_joined(const takt_graph *g, const takt_node *n)
{
    const int64_t given = takt_node_int(n, "axis");
    const int axis = (int)(given < 0 ? given + n->type->rank : given);
    takt_dim sum = 0;
    for (uint32_t k = 0; k < n->in_count; k++) {
        const takt_type *in = takt_type_of(g, n->in[k]);
        if (in->rank != n->type->rank ||
            takt_dim_make(g->dims, TAKT_DIM_ADD, sum, in->dim[axis], &sum) != TAKT_OK)
            return false;
        for (int d = 0; d < in->rank; d++)
            if (d != axis && !takt_dim_same(g->dims, in->dim[d], n->type->dim[d]))
                return false;
    }
    return takt_dim_same(g->dims, sum, n->type->dim[axis]);
}

static bool is_settled(const takt_graph *g, const takt_node *n)
{
    const meeting way = meeting_of(n->op);
    bool is_good = way != SOMEHOW;
    for (uint32_t k = 0; k < n->in_count && is_good; k++)
        is_good = n->in[k] != TAKT_NONE;
    if (!is_good || way == ALONE)
        return is_good && n->in_count == 1;
    if (way == PRODUCT)
        return is_product(g, n);
    if (way == SAME || way == JOINED)
        return way == SAME ? is_same(g, n) : is_joined(g, n);
    for (uint32_t k = 0; k < n->in_count && is_good; k++) {
        const takt_type *in = takt_type_of(g, n->in[k]);
        if (way == EVERYONE)
            is_good = meets(g, in, n->type, 0);
        if (way == NORM) /* rows of x, and vectors as long */
            is_good = in->rank > 0 && (k == 0 || in->rank == 1) &&
                      takt_dim_is_number(in->dim[in->rank - 1]);
    }
    return is_good;
}

takt_status takt_template_list(takt_template *t)
{
    for (size_t i = 0; i < t->graph->count; i++) {
        void *list = t->checked;
        if (!t->is_sized[i] || t->graph->nodes[i].in_count == 0 ||
            is_settled(t->graph, &t->graph->nodes[i]))
            continue;
        const takt_status status = takt_mem_grow(t->ctx, &list, &t->checked_capacity,
                                                 t->checked_count + 1, sizeof *t->checked);
        t->checked = list;
        TAKT_TRY(status);
        t->checked[t->checked_count++] = (takt_id)i;
    }
    return TAKT_OK;
}

static bool has_subgraph(const takt_node *n)
{
    if ((n->op->traits & TAKT_CONTROL) == 0)
        return false;
    for (size_t k = 0; k < takt_op_attr_count(n->op); k++)
        if (n->attr[k].is_set && n->op->attrs[k].type == TAKT_ATTR_GRAPH)
            return true;
    return false;
}

static takt_status check(const takt_template *t, takt_graph *g, bool with_outer)
{
    for (size_t i = 0; i < t->checked_count; i++) {
        const takt_node *n = &g->nodes[t->checked[i]];
        if (!with_outer && has_subgraph(n))
            continue;
        const takt_status status =
            takt_dims_blame(g->dims, takt_template_check_node(g, t->checked[i]));
        if (status != TAKT_OK && (n->origin != NULL || n->name != NULL))
            (void)takt_fail_node(g->ctx, n->origin != NULL ? n->origin->name : n->name);
        TAKT_TRY(status);
    }
    return TAKT_OK;
}

takt_status takt_template_check(const takt_template *t, takt_graph *g)
{
    return check(t, g, true);
}

takt_status takt_template_check_plain(const takt_template *t, takt_graph *g)
{
    return check(t, g, false);
}
