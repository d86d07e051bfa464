/* NonZero.c - NonZero and Compress: the count is found at run time. */
#include "io/onnx/lengths.h"
#include "op/record/find_true.h"

static bool is_set(const takt_array *a, size_t i)
{
    return a->f != NULL ? a->f[i] != 0 : a->i[i] != 0;
}

/* One non-zero value everywhere: whatever the sizes are, all positions are found. Exporters wrote
 * 0, 1, … this way before Range existed. */
static bool is_everywhere(takt_call *c)
{
    const takt_id x = takt_onnx_in(c, 0);
    const takt_array *value = NULL;
    if (x == TAKT_NONE || takt_onnx_peek(c, 0) != NULL)
        return false;
    const takt_node *n = takt_node_at(c->g, x);
    if (n->op != &takt_op_broadcast || n->type[0].rank == 0)
        return false;
    const takt_status status = takt_fold_known(c->scope->room, n->in[0], &value);
    c->status = c->status == TAKT_OK ? status : c->status;
    return value != NULL && value->count == 1 && is_set(value, 0);
}

static takt_status every_position(takt_call *c)
{
    const takt_type t = *takt_onnx_type(c, 0);
    takt_id rows[TAKT_MAX_RANK];
    takt_dim all = 1;
    for (int i = 0; i < t.rank; i++)
        TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_MUL, all, t.dim[i], &all));
    for (int i = 0; i < t.rank; i++) {
        const takt_named_attr attrs[] = {{"shape", takt_attr_shape(t.dim, (size_t)t.rank)},
                                         {"axis", takt_attr_i64(i)}};
        rows[i] = takt_graph_call(c->g, &takt_op_iota, 0, NULL, 2, attrs);
        rows[i] = takt_reshape(c->g, rows[i], &all, 1);
    }
    return takt_onnx_done(c, takt_graph_call(c->g, &takt_op_stack, (size_t)t.rank, rows, 0, NULL));
}

/* Positions where a vector is true. */
static takt_id places(takt_call *c, takt_id is_true, takt_dim most)
{
    const takt_id found = takt_onnx_op1(c, &takt_op_find_true, is_true, 0, NULL);
    if (found == TAKT_NONE)
        return found;
    const takt_dim count =
        takt_onnx_length(c, takt_graph_get(c->g, found, 1), takt_onnx_at_most(most));
    return takt_onnx_sized(c, takt_graph_get(c->g, found, 0), count);
}

/* Row-major positions as the index along each axis. */
static takt_status non_zero(takt_call *c)
{
    if (is_everywhere(c))
        return every_position(c);
    takt_dim all;
    takt_id x = takt_onnx_in(c, 0), sizes[TAKT_MAX_RANK], rows[TAKT_MAX_RANK];
    const takt_type t = *takt_onnx_type(c, 0);
    if (c->status != TAKT_OK)
        return c->status;
    const takt_id is_true =
        t.dtype == TAKT_BOOL ? x : takt_binary(c->g, &takt_op_ne, x, takt_scalar_like(c->g, x, 0));
    takt_id at = takt_onnx_flat(c, is_true, &all);
    at = places(c, at, all);
    if (at == TAKT_NONE || c->status != TAKT_OK)
        return takt_onnx_done(c, at);
    takt_onnx_sizes(c, x, sizes);
    for (int d = t.rank - 1; d >= 0; d--) {
        rows[d] = d > 0 ? takt_binary(c->g, &takt_op_mod, at, sizes[d]) : at;
        at = d > 0 ? takt_div(c->g, at, sizes[d]) : at;
    }
    if (t.rank == 0) { /* no axis: [0, how many] */
        const takt_dim dims[2] = {0, takt_type_of(c->g, at)->dim[0]};
        return takt_onnx_done(c, takt_broadcast(c->g, takt_scalar_i64(c->g, 0), dims, 2));
    }
    return takt_onnx_done(c, takt_graph_call(c->g, &takt_op_stack, (size_t)t.rank, rows, 0, NULL));
}

static takt_status compress(takt_call *c)
{
    const bool has_axis = takt_onnx_attr(c, "axis") != NULL;
    takt_id x = takt_onnx_in(c, 0), keep = takt_onnx_in(c, 1);
    if (c->status != TAKT_OK || x == TAKT_NONE || keep == TAKT_NONE ||
        takt_type_of(c->g, keep)->dtype != TAKT_BOOL || takt_type_of(c->g, keep)->rank != 1)
        return takt_onnx_refuse(c, "the input is missing, or the condition no vector of bools");
    takt_dim all;
    if (!has_axis)
        x = takt_onnx_flat(c, x, &all);
    const takt_id at = places(c, keep, takt_type_of(c->g, keep)->dim[0]);
    return takt_onnx_done(c, takt_onnx_gather(c, x, at, takt_onnx_i(c, "axis", 0)));
}

static takt_status adapt(takt_call *c)
{
    return takt_span_is(c->node->op, "NonZero") ? non_zero(c) : compress(c);
}

const takt_onnx_op takt_onnx_NonZero = {.names = {"NonZero", "Compress"}, .adapt = adapt};
