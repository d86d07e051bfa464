/* recheck_keep.c - data that the checker prepares once instead of in every box: weights in the
 * order in which sums read them, and the runs of every element. */
#include "op/ops.h"
#include "op/util/matrix.h"
#include "verify/recheck.h"

/* Weights [inner][columns] as [columns][inner]. */
static takt_status transpose(takt_recheck *k, uint32_t id)
{
    const takt_node *n = &k->graph->nodes[id];
    const takt_type *x = takt_type_of(k->graph, n->in[0]), *w = takt_type_of(k->graph, n->in[1]);
    const takt_matrix m = takt_matrix_of(x->rank, w->rank, n->attr[0].boolean, n->attr[1].boolean);
    const double *from = k->nodes[n->in[1]].known.f;
    if (w->rank != 2 || m.b_inner != 0 || from == NULL)
        return TAKT_OK;
    const size_t inner = (size_t)w->dim[0], columns = (size_t)w->dim[1];
    double *to = takt_arena_array(&k->arena, inner * columns, sizeof *to);
    if (to == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < inner; i++)
        for (size_t j = 0; j < columns; j++)
            to[j * inner + i] = from[i * columns + j];
    k->nodes[id].transposed = to;
    return TAKT_OK;
}

static takt_status keep(takt_recheck *k, uint32_t id)
{
    takt_check_node *c = &k->nodes[id];
    takt_run *runs = takt_arena_array(&k->arena, TAKT_CHECK_KEPT * c->count, sizeof *runs);
    double *bias = takt_arena_array(&k->arena, c->count, sizeof *bias);
    unsigned char *counts = takt_arena_array(&k->arena, c->count, 1);
    if (runs == NULL || bias == NULL || counts == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t j = 0; j < c->count; j++) {
        const size_t count = takt_recheck_runs(k, id, j, &bias[j]);
        if (count > TAKT_CHECK_KEPT)
            return TAKT_OK; /* they are computed each time */
        counts[j] = (unsigned char)count;
        for (size_t r = 0; r < count; r++)
            runs[TAKT_CHECK_KEPT * j + r] = k->found[r];
    }
    bool is_straight = c->count > 0;
    for (size_t j = 0; j < c->count && is_straight; j++) {
        const takt_run *run = &runs[TAKT_CHECK_KEPT * j];
        is_straight = counts[j] == 1 && run->w == NULL && run->count == 1 && run->first == j &&
                      run->node == runs[0].node;
    }
    c->is_straight = is_straight;
    c->source = is_straight ? runs[0].node : c->source;
    c->kept_bias = bias;
    c->kept_count = counts;
    c->kept = runs;
    return TAKT_OK;
}

takt_status takt_recheck_keep(takt_recheck *k)
{
    for (uint32_t i = 0; i < k->graph->count; i++) {
        if (k->nodes[i].kind != TAKT_CHECK_LINEAR)
            continue;
        if (k->graph->nodes[i].op == &takt_op_matmul)
            TAKT_TRY(transpose(k, i));
        if (k->graph->nodes[i].op != &takt_op_conv && k->graph->nodes[i].op != &takt_op_avg_pool)
            TAKT_TRY(keep(k, i));
    }
    return TAKT_OK;
}
