/* matrix.c - a matmul node as strides. */
#include "backend/cpu/matrix.h"

#include <string.h>

/* Rows, columns and their strides of the last two axes (one axis: a row of the left factor, a
 * column of the right one). */
static void sides(const takt_type *t, bool transposed, bool is_left, size_t size[2],
                  size_t stride[2])
{
    if (t->rank == 1) {
        size[0] = is_left ? 1 : (size_t)t->dim[0];
        size[1] = is_left ? (size_t)t->dim[0] : 1;
        stride[0] = is_left ? (size_t)t->dim[0] : 1;
        stride[1] = 1;
        return;
    }
    const size_t rows = (size_t)t->dim[t->rank - 2], cols = (size_t)t->dim[t->rank - 1];
    size[0] = transposed ? cols : rows;
    size[1] = transposed ? rows : cols;
    stride[0] = transposed ? 1 : cols;
    stride[1] = transposed ? cols : 1;
}

/* Matrix strides of the leading axes of `t` along the result's `rank` leading axes. */
static size_t batches(const takt_type *t, int rank, int64_t *stride)
{
    int64_t matrices = 1;
    const int own = t->rank > 2 ? t->rank - 2 : 0;
    for (int d = 0; d < rank; d++)
        stride[d] = 0;
    for (int d = own - 1; d >= 0; d--) {
        stride[rank - own + d] = t->dim[d] == 1 ? 0 : matrices;
        matrices *= t->dim[d];
    }
    return (size_t)matrices;
}

takt_product takt_product_of(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    const takt_type *a = takt_type_of(g, n->in[0]), *b = takt_type_of(g, n->in[1]);
    takt_product mm = {.batch = 1};
    size_t size_a[2], size_b[2], stride_a[2], stride_b[2];
    const bool transpose_a = takt_node_int(n, "transpose_a") != 0;
    sides(a, transpose_a, true, size_a, stride_a);
    sides(b, takt_node_int(n, "transpose_b") != 0, false, size_b, stride_b);
    mm.m = size_a[0];
    mm.k = size_a[1];
    mm.n = size_b[1];
    mm.a_row = stride_a[0];
    mm.a_col = stride_a[1];
    mm.b_row = stride_b[0];
    mm.b_col = stride_b[1];
    const int lead_a = a->rank > 2 ? a->rank - 2 : 0, lead_b = b->rank > 2 ? b->rank - 2 : 0;
    mm.batch_rank = lead_a > lead_b ? lead_a : lead_b;
    const size_t matrices_a = batches(a, mm.batch_rank, mm.a_batch);
    mm.b_matrices = batches(b, mm.batch_rank, mm.b_batch);
    if (mm.b_matrices == 1 && !transpose_a) {
        mm.m *= matrices_a;
        mm.batch_rank = 0;
    }
    for (int d = 0; d < mm.batch_rank; d++) {
        const int64_t da = d < mm.batch_rank - lead_a ? 1 : a->dim[d - (mm.batch_rank - lead_a)];
        const int64_t db = d < mm.batch_rank - lead_b ? 1 : b->dim[d - (mm.batch_rank - lead_b)];
        mm.batch_dim[d] = da == 1 ? db : da;
        mm.batch *= (size_t)mm.batch_dim[d];
    }
    return mm;
}

void takt_product_pair(const takt_product *mm, size_t index, size_t *a, size_t *b)
{
    int64_t at_a = 0, at_b = 0;
    for (int d = mm->batch_rank - 1; d >= 0; d--) {
        const int64_t i = (int64_t)(index % (size_t)mm->batch_dim[d]);
        index /= (size_t)mm->batch_dim[d];
        at_a += i * mm->a_batch[d];
        at_b += i * mm->b_batch[d];
    }
    *a = (size_t)at_a;
    *b = (size_t)at_b;
}

/* Whether it reads rows of a table, which can be read from the panels of a product, too. */
static bool gathers_rows(const takt_node *n, uint32_t k)
{
    return n->op == &takt_op_gather && k == 0 && takt_node_int(n, "axis") == 0;
}

/* The constant in 16 bits that is widened to these weights; else they themselves. */
static takt_id stored_as(const takt_graph *g, takt_id weights)
{
    const takt_node *n = &g->nodes[weights];
    const bool is_widened = n->op == &takt_op_cast && n->type->dtype == TAKT_F32 &&
                            takt_dtype_bits(takt_type_of(g, n->in[0])->dtype) == 16 &&
                            takt_dtype_is_float(takt_type_of(g, n->in[0])->dtype);
    return is_widened ? n->in[0] : weights;
}

/* Whether the columns of a product are rows of `table`, in panels of its type. */
static bool has_rows(const takt_planner *p, const takt_node *n, takt_id table)
{
    const takt_dtype dtype = takt_type_of(p->graph, table)->dtype;
    return n->op == &takt_op_matmul && takt_node_int(n, "transpose_b") != 0 &&
           n->type->dtype != TAKT_F64 && stored_as(p->graph, n->in[1]) == table &&
           (n->in[1] != table || n->type->dtype == dtype) && !takt_product_keeps_one(p, n);
}

takt_id takt_product_of_rows(const takt_planner *p, takt_id table)
{
    const takt_graph *g = p->graph;
    const takt_type *t = takt_type_of(g, table);
    const bool is_shared = t->rank == 2 && p->uses[table] > 1 && takt_dtype_is_float(t->dtype) &&
                           takt_planner_is_constant(p, table) && !takt_planner_in_prologue(p) &&
                           !p->settings->is_fast && p->settings->backend == p->settings->fallback;
    for (size_t i = 0; is_shared && i < g->count; i++)
        if (p->uses[i] > 0 && !p->is_constant[i] && has_rows(p, &g->nodes[i], table))
            return (takt_id)i;
    return TAKT_NONE;
}

/* Whether steps would read the weights of a product in more than one form. */
static bool has_two_forms(const takt_planner *p, const takt_node *product)
{
    const takt_id weights = product->in[1];
    const int transposes = takt_op_attr_index(&takt_op_matmul, "transpose_b");
    const bool is_transposed = product->attr[transposes].boolean;
    if (p->uses[weights] < 2 || !takt_planner_is_constant(p, weights))
        return false;
    for (size_t i = 0; i < p->graph->count; i++) {
        const takt_node *n = &p->graph->nodes[i];
        for (uint32_t k = 0; k < n->in_count; k++)
            if (n->in[k] == weights && !(is_transposed && gathers_rows(n, k)) &&
                (n->op != &takt_op_matmul || k != 1 ||
                 n->attr[transposes].boolean != is_transposed))
                return true;
    }
    return false;
}

bool takt_product_keeps_one(const takt_planner *p, const takt_node *product)
{
    if (p->settings->hint != TAKT_HINT_MEMORY || !has_two_forms(p, product))
        return false;
    for (size_t i = 0; i < p->graph->count; i++) {
        const takt_node *n = &p->graph->nodes[i];
        if (n->op == &takt_op_matmul && n->in[1] != product->in[1] && has_two_forms(p, n))
            return true;
    }
    return false; /* the memory to pack the only one is as large as the saving */
}
