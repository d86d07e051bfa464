/* NonZero.c - NonZero and Compress: how many there are must be known when the model is loaded. */
#include "io/onnx/adapt.h"

static bool is_set(const takt_array *a, size_t i)
{
    return a->f != NULL ? a->f[i] != 0 : a->i[i] != 0;
}

/* One value, not 0, everywhere: whatever the sizes will be, all positions are found. Exporters
 * wrote 0, 1, … so before there was Range. */
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

static takt_status non_zero(takt_call *c)
{
    if (is_everywhere(c))
        return every_position(c);
    const takt_array *x = takt_onnx_known(c, 0);
    if (c->status != TAKT_OK)
        return c->status;
    int64_t count = 0;
    for (size_t i = 0; i < x->count; i++)
        count += is_set(x, i);
    int64_t *v = takt_onnx_get(c, (size_t)(count * x->rank), sizeof *v), at = 0;
    if (v == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < x->count; i++) {
        size_t flat = i;
        for (int d = x->rank - 1; d >= 0 && is_set(x, i); d--) {
            v[d * count + at] = (int64_t)(flat % (size_t)x->dim[d]);
            flat /= (size_t)x->dim[d];
        }
        at += is_set(x, i);
    }
    const takt_id list = takt_onnx_i64s(c, v, (size_t)(count * x->rank));
    return takt_onnx_done(c, takt_onnx_shape(c, list, (int64_t[]){x->rank, count}, 2));
}

static takt_status compress(takt_call *c)
{
    const takt_array *keep = takt_onnx_known(c, 1);
    const bool has_axis = takt_onnx_attr(c, "axis") != NULL;
    takt_id x = takt_onnx_in(c, 0);
    if (c->status != TAKT_OK || x == TAKT_NONE || (keep->i == NULL && keep->count > 0))
        return takt_onnx_refuse(c, "the input is missing, or the condition not bool");
    int64_t *v = takt_onnx_get(c, keep->count, sizeof *v);
    size_t count = 0;
    for (size_t i = 0; v != NULL && i < keep->count; i++)
        if (keep->i[i] != 0)
            v[count++] = (int64_t)i;
    if (!has_axis) {
        takt_dim all = 1;
        const takt_type *t = takt_type_of(c->g, x);
        for (int i = 0; i < t->rank; i++)
            TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_MUL, all, t->dim[i], &all));
        x = takt_reshape(c->g, x, &all, 1);
    }
    return takt_onnx_done(
        c, takt_onnx_gather(c, x, takt_onnx_i64s(c, v, count), takt_onnx_i(c, "axis", 0)));
}

static takt_status adapt(takt_call *c)
{
    return takt_span_is(c->node->op, "NonZero") ? non_zero(c) : compress(c);
}

const takt_onnx_op takt_onnx_NonZero = {.names = {"NonZero", "Compress"}, .adapt = adapt};
